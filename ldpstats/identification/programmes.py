"""Programmes: the extremes of sums and of their quotients over all proper tables that reports do not contradict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.identification.conic import Constraints
from ldpstats.identification.identified import Identified, radius

# below this share of the table a condition may be impossible, and nothing is known of what is given it
_VANISHING = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class PossibleTables:
    """The tables p ≥ 0 with Σ p = 1 whose sums A p are known, or lie in an ellipsoid x + {R u : ‖u‖ ≤ 1}.

    Parameters
    ----------
    sums : sparse array, shape (sums, cells)
        A, whose rows and the total are linearly independent.
    values : array, shape (sums,)
        x.
    root : array, shape (sums, sums), optional
        R.

    Examples
    --------
    The first cell of a table of 2 by 2 with the margins (.6, .4) and (.7, .3), as Fréchet (1951) bounds it:

    >>> from scipy.sparse import csc_array
    >>> tables = PossibleTables(csc_array([[1.0, 1, 0, 0], [1, 0, 1, 0]]), np.array([0.6, 0.7]))
    >>> first = np.array([[1.0, 0, 0, 0]])
    >>> tables.least(first).round(6), -tables.least(-first).round(6)
    (array([0.3]), array([0.6]))
    """

    sums: Any  # sparse
    values: FloatArray
    root: FloatArray | None = None

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.sums.shape[1])

    def constraints(self, given: FloatArray | None = None) -> Constraints:
        """Return the constraints on p / d·p, s = 1 / d·p and s u, in this order; d is all ones by default.

        So a quotient c·p / d·p is linear (Charnes & Cooper 1962). The rows begin with d·p = 1 and Σ p = s, and go on
        with those of A p = s x + s R u.
        """
        from scipy.sparse import eye_array

        equations = _equations(self, np.ones(self.cells) if given is None else given)
        variables = equations.shape[1]
        ball = variables - self.cells if self.root is not None else 0
        return Constraints.of(
            ("zero", equations, np.r_[1.0, np.zeros(equations.shape[0] - 1)]),
            ("nonnegative", -eye_array(self.cells, variables), np.zeros(self.cells)),
            ("second order", -eye_array(ball, variables, k=self.cells), np.zeros(ball)),
        )

    def least(self, objectives: FloatArray, given: FloatArray | None = None) -> FloatArray:
        """Return what c·p, or c·p / d·p, is at least in these tables, for every row c of the objectives.

        It is the least value up to the solver's tolerance, and a bound whatever the solver does: p is proper, so that
        c·p ≥ min(c + Aᵀλ) − λ·x − ‖Rᵀλ‖ for any λ. The solver's multipliers make that nearly as large as it can be.

        Parameters
        ----------
        objectives : array, shape (rows, cells)
        given : array, shape (cells,), optional
            d, of zeros and ones. Where it may vanish no quotient is bounded: that is minus infinity.
        """
        smallest = 1.0 if given is None else float(self.least(given[None])[0])
        if smallest <= _VANISHING:
            return np.full(len(objectives), -np.inf)
        constraints = self.constraints(given)
        costs = np.zeros((len(objectives), constraints.matrix.shape[1]))
        costs[:, : self.cells] = objectives
        rows = slice(2, 2 + self.values.size)
        return np.array(
            [
                self._certified(cost[: self.cells], solution.multipliers[rows], given, smallest)
                for cost, solution in zip(costs, constraints.minimized(costs), strict=True)
            ]
        )

    def _certified(
        self, objective: FloatArray, multipliers: FloatArray, given: FloatArray | None, smallest: float
    ) -> float:
        """Return the bound that multipliers prove; with ones for c·p, with a tolerance taken off for quotients.

        The reduced costs r have Σ r p ≤ c·p in all these tables. If they are β at least where d = 1 and −η where d = 0,
        then c·p ≥ β d·p − η (1 − d·p), and the quotient is no less than β − η (1 / min d·p − 1).
        """
        slack = 0.0 if self.root is None else float(np.linalg.norm(self.root.T @ multipliers))
        reduced = objective + self.sums.T @ multipliers - multipliers @ self.values - slack
        if given is None:
            return float(reduced.min())
        missed = max(0.0, -float(reduced[given == 0].min(initial=0.0)))
        return float(reduced[given == 1].min()) - missed * (1 / smallest - 1)


def confidence_set(identified: Identified, alpha: float) -> PossibleTables:
    """Return the proper tables whose contrasts lie in the joint confidence set of those that reports identify."""
    root = radius(identified.df, alpha) * identified.root if identified.df else None
    return PossibleTables(identified.sums, identified.values, root)


def nearest_table(identified: Identified) -> tuple[FloatArray, float]:
    """Return a proper table with the most likely contrasts, and their squared distance, in standard errors.

    Of all proper tables these have the contrasts that are nearest to the estimated ones, in the metric of their
    covariance (Silvapulle & Sen 2005); where the estimated ones are those of a proper table, the distance is zero.
    """
    from scipy.sparse import eye_array

    if identified.df == 0:
        cells = identified.sums.shape[1]
        return np.full(cells, 1 / cells), 0.0
    around = PossibleTables(identified.sums, identified.values, identified.root)
    equations = _equations(around, np.ones(around.cells))
    variables = equations.shape[1]
    constraints = Constraints.of(
        ("zero", equations, np.r_[1.0, np.zeros(equations.shape[0] - 1)]),
        ("nonnegative", -eye_array(around.cells, variables), np.zeros(around.cells)),
    )
    moved = np.r_[np.zeros(around.cells + 1), np.ones(identified.df)]
    solution = next(constraints.minimized([np.zeros(variables)], moved))
    table = np.maximum(solution.point[: around.cells], 0.0)
    return table / table.sum(), max(2 * solution.bound, 0.0)


def same_sums(identified: Identified, table: FloatArray) -> PossibleTables:
    """Return the proper tables that have the same contrasts, of those that reports identify, as this one."""
    return PossibleTables(identified.sums, identified.sums @ table)


def _equations(tables: PossibleTables, normal: FloatArray) -> Any:
    """Return the rows of d·p = 1, Σ p − s = 0 and A p − s x − s R u = 0."""
    from scipy.sparse import csc_array, hstack, vstack

    free = 0 if tables.root is None else tables.values.size
    spread = csc_array((tables.values.size, 0)) if tables.root is None else csc_array(-tables.root)
    one, none = csc_array((1, 1)), csc_array((1, free))
    return vstack(
        [
            hstack([csc_array(normal[None]), one, none]),
            hstack([csc_array(np.ones((1, tables.cells))), csc_array([[-1.0]]), none]),
            hstack([tables.sums, csc_array(-tables.values[:, None]), spread]),
        ]
    )
