"""Possible tables: all that reports, or their means, allow; extremes over them, and over means that are plausible."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from ldpstats.identification.identified import Identified, radius
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray
from ldpstats.presentation import progress

Cone = Literal["zero", "nonnegative", "second order"]

# of what is minimized, and of the constraints, which are of the size of proportions
_TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class ConicSolution:
    """The solution of a conic programme, with its dual certificate."""

    point: FloatArray
    multipliers: FloatArray  # per row of the constraints; zeros where the solver found none
    bound: float  # lower bound of the objective by the multipliers; else -inf


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """The points v with M v + w = r for some w in a product of cones."""

    matrix: Any  # sparse; M
    right: FloatArray  # r
    cones: tuple[tuple[Cone, int], ...]  # from the first row on, each with its number of rows

    @classmethod
    def of(cls, *parts: tuple[Cone, Any, FloatArray]) -> Constraints:
        """Stack constraints; those without rows are left out."""
        from scipy.sparse import csc_array, vstack

        filled = [part for part in parts if part[2].size]
        matrix = csc_array(vstack([rows for _, rows, _ in filled]))
        return cls(matrix, np.concatenate([right for *_, right in filled]), tuple((c, r.size) for c, _, r in filled))

    def widened(self, columns: int, *parts: tuple[Cone, Any, FloatArray]) -> Constraints:
        """Append variables, and constraints on all variables."""
        from scipy.sparse import csc_array, hstack, vstack

        padded = hstack([self.matrix, csc_array((self.right.size, columns))])
        more = Constraints.of(*parts)
        matrix = csc_array(vstack([padded, more.matrix]))
        return Constraints(matrix, np.concatenate([self.right, more.right]), self.cones + more.cones)

    def minimized(self, costs: Iterable[FloatArray], curvature: FloatArray | None = None) -> Iterator[ConicSolution]:
        """Minimize ½ Σ h v² + c·v for every c of the costs; without a curvature h, c·v."""
        import clarabel
        from scipy.sparse import csc_array, diags_array

        kinds = {
            "zero": clarabel.ZeroConeT,
            "nonnegative": clarabel.NonnegativeConeT,
            "second order": clarabel.SecondOrderConeT,
        }
        many = self.matrix.shape[1]
        curved = csc_array((many, many)) if curvature is None else csc_array(diags_array(curvature))
        cones = [kinds[kind](rows) for kind, rows in self.cones]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        # so that constraints can be set up once for many costs
        settings.presolve_enable = False
        settings.direct_solve_method = "qdldl"
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
        solver = clarabel.DefaultSolver(curved, np.zeros(many), self.matrix, self.right, cones, settings)
        for cost in progress(costs, "bounds", unit="programme"):
            solver.update(q=cost)
            solution = solver.solve()
            multipliers = np.asarray(solution.z)
            sound = bool(np.isfinite(multipliers).all()) and np.isfinite(solution.obj_val_dual)
            yield ConicSolution(
                np.asarray(solution.x),
                multipliers if sound else np.zeros(self.right.size),
                float(solution.obj_val_dual) if sound else -np.inf,
            )


# below this share a cell counts as empty: far more than the solver misses
_EMPTY = 1e-7
# below this eigenvalue of the products of rows of length one, these depend on each other
_DEPENDENT = 1e-9
# below this share of the table a condition may be impossible, and nothing is known of what is given it
_VANISHING = 1e-6
# how far a value may be from what its multipliers prove
_MISSED = 1e-8
_EXCHANGES_AT_ONCE, _WRONG, _FLAT = 20, 1e-10, 1e-10


@dataclass(frozen=True, slots=True, eq=False)
class PossibleTables:
    """The tables p ≥ 0 with Σ p = 1 whose sums A p are known, or lie in an ellipsoid x + {R u : ‖u‖ ≤ 1}.

    The rows of A and the total are linearly independent. `whole` is the same set where these tell every cell.
    """

    sums: Any  # sparse; A, shape (sums, cells)
    values: FloatArray  # x
    root: FloatArray | None = None  # R
    whole: WholeTable | None = None

    @property
    def cells(self) -> int:
        """Number of cells."""
        return int(self.sums.shape[1])

    def constraints(self, given: FloatArray | None = None) -> Constraints:
        """Constraints on p / d·p, s = 1 / d·p and s u, in this order; d is `given`, all ones by default.

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
        """Least value of c·p, or of c·p / d·p with d `given`, in these tables, for every row c of the objectives.

        It is the least value up to the solver's tolerance, and a lower bound whatever the solver does: p is proper, so
        that c·p ≥ min(c + Aᵀλ) − λ·x − ‖Rᵀλ‖ for any λ. The solver's multipliers make that nearly as large as it can
        be. d is of zeros and ones; where d·p may vanish no quotient is bounded: that is minus infinity.
        """
        return np.array([value for value, _ in self.solved(objectives, given)])

    def least_and_held(self, objectives: FloatArray, given: FloatArray | None = None) -> tuple[FloatArray, IntArray]:
        """Values of `least`, and how many contrasts are held fast where each value is attained.

        The sums A p of all tables with c·p = β, or c·p = β d·p, are a polytope: this is the number of its independent
        inequalities that hold with equality at the sums in question. All contrasts are held fast but those in which
        tables with the same empty cells differ.
        """
        values, held = np.zeros(len(objectives)), np.zeros(len(objectives), dtype=np.int64)
        normal, whole = np.zeros(self.cells) if given is None else given, np.ones(self.cells)
        for index, (value, there) in enumerate(self.solved(objectives, given)):
            values[index] = value
            if there is not None:
                fixed = np.vstack([whole, objectives[index] - value * normal])
                held[index] = _held_fast(self.sums, fixed, there)
        return values, held

    def solved(self, objectives: FloatArray, given: FloatArray | None) -> Iterator[tuple[float, BoolArray | None]]:
        """Yield a lower bound for every objective, and which cells are not empty there; None if not known."""
        if given is None and self.whole is not None:
            yield from self._solved_whole(objectives, self.whole)
            return
        smallest = 1.0 if given is None else float(self.least(given[None])[0])
        if smallest <= _VANISHING:
            yield from ((-np.inf, None) for _ in objectives)
            return
        constraints = self.constraints(given)
        costs = np.zeros((len(objectives), constraints.matrix.shape[1]))
        costs[:, : self.cells] = objectives
        for objective, solution in zip(objectives, constraints.minimized(costs), strict=True):
            multipliers = solution.multipliers[2 : 2 + self.values.size]
            there = _there(solution, 2 + self.values.size, self.cells)
            yield self._certified(objective, multipliers, given, smallest), there

    def _solved_whole(self, objectives: FloatArray, whole: WholeTable) -> Iterator[tuple[float, BoolArray | None]]:
        """The same where all contrasts are known: by exchanges of empty cells, else by the solver."""
        if self.root is None:
            yield from ((float(objective @ whole.table), None) for objective in objectives)
            return
        for objective in progress(objectives, "bounds", unit="programme"):
            table, slopes = whole.least(objective)
            value = self._certified(objective, whole.inverse.T @ (slopes - objective), None, 1.0)
            # written so that a NaN fails
            if float(objective @ table) - value <= _MISSED:
                yield value, table > np.maximum(slopes, _EMPTY)
            else:
                yield from replace(self, whole=None).solved(objective[None], None)

    def _certified(
        self, objective: FloatArray, multipliers: FloatArray, given: FloatArray | None, smallest: float
    ) -> float:
        """Lower bound that multipliers prove; for quotients, less the solver's infeasibility.

        The reduced costs r have Σ r p ≤ c·p in all these tables. If they are β at least where d = 1 and −η where d = 0,
        then c·p ≥ β d·p − η (1 − d·p), and the quotient is no less than β − η (1 / min d·p − 1).
        """
        slack = 0.0 if self.root is None else float(np.linalg.norm(self.root.T @ multipliers))
        reduced = objective + self.sums.T @ multipliers - multipliers @ self.values - slack
        if given is None:
            return float(reduced.min())
        missed = max(0.0, -float(reduced[given == 0].min(initial=0.0)))
        return float(reduced[given == 1].min()) - missed * (1 / smallest - 1)


@dataclass(frozen=True, slots=True, eq=False)
class WholeTable:
    """A table with all contrasts identified, known to be in p + {G u : ‖u‖ ≤ 1}; finds proper tables in that set.

    By an active-set search: cells that come out negative are held at zero, which moves the others as the covariance
    G Gᵀ says, and those that should be released are let go, as in `nearest_in_information`: no system is larger than
    the number of empty cells.
    """

    table: FloatArray  # p
    inverse: FloatArray  # derivative of the cells in the contrasts, shape (cells, contrasts)
    covariance: FloatArray  # G Gᵀ

    @classmethod
    def of(cls, identified: Identified) -> WholeTable | None:
        """Solve for the cells, with G that of standard errors; None where some contrast is open."""
        sums = identified.sums.toarray()
        if sums.shape[0] != sums.shape[1] - 1:
            return None
        inverse = np.linalg.inv(np.vstack([np.ones(sums.shape[1]), sums]))
        gains = inverse[:, 1:] @ identified.root
        return cls(inverse[:, 0] + inverse[:, 1:] @ identified.values, inverse[:, 1:], gains @ gains.T)

    def least(self, objective: FloatArray) -> tuple[FloatArray, FloatArray]:
        """A proper table with the least value of an objective, and the slopes at which it would rise in empty cells.

        A single cell that is to be the least is emptied last: if it comes out negative where all others are proper, it
        is zero in some table. Should exchanges not end, the slopes prove no bound.
        """
        alone = objective > objective.min()
        last = alone & (np.count_nonzero(alone) == 1)
        toward, total = self.covariance @ objective, float(objective @ self.covariance @ objective)
        table, slopes, empty = self.table, np.zeros(objective.size), np.zeros(objective.size, dtype=np.bool_)
        for exchange in range(_EXCHANGES_AT_ONCE + objective.size):
            pulled, across = self._held(empty, np.stack([self.table, toward], axis=1)).T
            room, along = 1 - float(pulled @ self.table[empty]), toward - self.covariance[:, empty] @ across
            length = float(objective @ along)
            # where all that the objective sees is empty nothing moves it, and where too much is, no table is left
            price = np.sqrt(length / room) if room > 0 and length > _FLAT * total else math.nan
            table = self.table - self.covariance[:, empty] @ pulled - along / price
            slopes = np.zeros(objective.size)
            slopes[empty], table[empty] = across - price * pulled, 0.0
            wrong = np.where(empty, slopes < -_WRONG * np.abs(slopes).max(initial=0.0), table < -_WRONG) & ~last
            if not wrong.any():
                break
            empty = empty ^ (wrong if exchange < _EXCHANGES_AT_ONCE else np.arange(wrong.size) == wrong.argmax())
        if (table[last] < 0).any():
            return np.where(last, 0.0, table), objective
        return table, slopes

    def nearest(self, possible: BoolArray) -> tuple[FloatArray, float] | None:
        """Nearest proper table with only these cells, and its squared distance; None if none is found."""
        empty = ~possible
        for _ in range(_EXCHANGES_AT_ONCE):
            pulled = self._held(empty, self.table[:, None])[:, 0]
            table, slopes = self.table - self.covariance[:, empty] @ pulled, np.zeros(empty.size)
            table[empty], slopes[empty] = 0.0, -pulled
            wrong = np.where(empty, slopes < -_WRONG * np.abs(slopes).max(initial=0.0), table < -_WRONG) & possible
            if not wrong.any():
                return table, float(pulled @ self.table[empty])
            empty = empty ^ wrong
        return None

    def _held(self, empty: BoolArray, columns: FloatArray) -> FloatArray:
        """Solve for the multipliers of the empty cells; nan where the system is singular."""
        try:
            return np.linalg.solve(self.covariance[np.ix_(empty, empty)], columns[empty])
        except np.linalg.LinAlgError:
            return np.full((int(empty.sum()), columns.shape[1]), np.nan)


class NearestTable(NamedTuple):
    """A proper table nearest to the identified contrasts, in the metric of their covariance."""

    table: FloatArray
    distance: float  # squared, of its contrasts, in standard errors
    held: int  # contrasts in which tables with the same empty cells cannot differ


def confidence_set(
    identified: Identified, alpha: float, df: int | None = None, whole: WholeTable | None = None
) -> PossibleTables:
    """The proper tables whose contrasts lie in the joint confidence set of the identified ones.

    Its radius is that of all contrasts together; with a smaller `df` it is for parts of them only.
    """
    reach = radius(identified.df if df is None else df, alpha)
    scaled = whole and replace(whole, covariance=reach**2 * whole.covariance)
    return PossibleTables(
        identified.sums, identified.values, reach * identified.root if identified.df else None, scaled
    )


def nearest_table(identified: Identified) -> NearestTable:
    """A proper table with the most likely contrasts: the nearest to the estimated ones (Silvapulle & Sen 2005).

    The distance is zero where the estimated contrasts are those of a proper table.
    """
    from scipy.sparse import eye_array

    cells = identified.sums.shape[1]
    if identified.df == 0:
        return NearestTable(np.full(cells, 1 / cells), 0.0, 0)
    around = PossibleTables(identified.sums, identified.values, identified.root)
    equations = _equations(around, np.ones(cells))
    first, variables = equations.shape
    constraints = Constraints.of(
        ("zero", equations, np.r_[1.0, np.zeros(first - 1)]),
        ("nonnegative", -eye_array(cells, variables), np.zeros(cells)),
    )
    moved = np.r_[np.zeros(cells + 1), np.ones(identified.df)]
    solution = next(constraints.minimized([np.zeros(variables)], moved))
    table = np.maximum(solution.point[:cells], 0.0)
    held = _held_fast(identified.sums, np.ones((1, cells)), _there(solution, first, cells))
    return NearestTable(table / table.sum(), max(2 * solution.bound, 0.0), held)


def nearest_among(identified: Identified, possible: BoolArray, whole: WholeTable | None) -> NearestTable:
    """As `nearest_table`, of the proper tables with only these cells."""
    nearest = whole and whole.nearest(possible)
    if not nearest:
        return nearest_table(replace(identified, sums=identified.sums[:, np.flatnonzero(possible)]))
    return NearestTable(*nearest, _held_fast(identified.sums, np.ones((1, possible.size)), nearest[0] > _EMPTY))


def same_sums(identified: Identified, table: FloatArray, whole: WholeTable | None = None) -> PossibleTables:
    """The proper tables with the same identified contrasts as this one."""
    return PossibleTables(identified.sums, identified.sums @ table, whole=whole and replace(whole, table=table))


def _there(solution: ConicSolution, first: int, cells: int) -> BoolArray:
    """Mask of cells that are not empty: those that the solver leaves with more than their multiplier."""
    return solution.point[:cells] > np.maximum(solution.multipliers[first : first + cells], _EMPTY)


def _held_fast(sums: Any, fixed: FloatArray, there: BoolArray) -> int:
    """Number of sums in which tables cannot differ, if only these cells may, and none of what is fixed."""
    from scipy.sparse import csc_array, vstack

    if sums.shape[0] == there.size - 1:
        # with the total, the sums tell the cells one by one
        seen = np.asarray(fixed)[:, there]
        return int(sums.shape[0] - np.count_nonzero(there) + _rank(seen @ seen.T))
    rows = vstack([csc_array(fixed), sums], format="csc")[:, np.flatnonzero(there)]
    products = (rows @ rows.T).toarray()
    return int(sums.shape[0] - _rank(products) + _rank(products[: len(fixed), : len(fixed)]))


def _rank(products: FloatArray) -> int:
    """Rank of a matrix from the products of its rows (Gram matrix)."""
    lengths = np.sqrt(np.diagonal(products))
    unit = np.where(lengths > 0, lengths, 1.0)
    return int(np.count_nonzero(np.linalg.eigvalsh(products / np.outer(unit, unit)) > _DEPENDENT))


def _equations(tables: PossibleTables, normal: FloatArray) -> Any:
    """Rows of d·p = 1, Σ p − s = 0 and A p − s x − s R u = 0."""
    from scipy.sparse import csc_array, hstack, vstack

    free = 0 if tables.root is None else tables.values.size
    root = csc_array((tables.values.size, 0)) if tables.root is None else csc_array(-tables.root)
    zero, none = csc_array((1, 1)), csc_array((1, free))
    return vstack(
        [
            hstack([csc_array(normal[None]), zero, none]),
            hstack([csc_array(np.ones((1, tables.cells))), csc_array([[-1.0]]), none]),
            hstack([tables.sums, csc_array(-tables.values[:, None]), root]),
        ]
    )


# how much wider than the distance to the nearest proper table a confidence set must be, for a solver to find its inside
_WIDER, _ROOM = 1.05, 0.01
# how near to the end of its range a value is at the end, in proportions
_AT_THE_END = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class Pointwise:
    """Confidence limits of single sums of cells, or quotients, by inversion of the conditional χ² test.

    That a sum c·p has a value is the hypothesis that the identified contrasts are those of some proper table with it:
    that they lie in a polytope. It is rejected if their estimate is farther away than the root of the quantile of χ²
    with as many degrees of freedom as independent inequalities of the polytope hold with equality at its nearest point.
    This conditional test has its level wherever the contrasts are, for normal estimates with known covariance (Cox &
    Shi 2023, Theorem 1). A confidence set for everything at once needs the degrees of freedom of all contrasts.
    """

    identified: Identified
    alpha: float
    distance: float  # squared, of the nearest proper table
    whole: WholeTable | None = None

    def least(self, objectives: FloatArray, given: FloatArray | None = None) -> FloatArray:
        """Least value of c·p, or of c·p / d·p with d `given`, that is not rejected, for every row c of the objectives.

        Objectives are zeros and ones, or zeros and minus ones; d is zeros and ones. At the least value within the
        radius of k degrees of freedom the distance is that radius. It is not rejected if at least k inequalities hold
        with equality there. So k falls from the number of all contrasts to that number, until it is no longer larger.
        The end of the range, 0 for a cell, is tested by itself.
        """
        normal = np.ones(objectives.shape[1]) if given is None else given
        tried = np.full(len(objectives), self.identified.df)
        values, held = self._within(self.identified.df).least_and_held(objectives, given)
        for row in np.flatnonzero(values <= objectives.min(axis=1) + _AT_THE_END):
            values[row] = objectives[row].min()
            # where to go on if a value at the end, with only these cells, is rejected
            ended = nearest_among(self.identified, objectives[row] == values[row] * normal, self.whole)
            rejecting = self._rejecting(ended.distance)
            held[row] = rejecting if rejecting >= max(ended.held, 1) else 0
            tried[row] = held[row] + 1
        while (falling := np.flatnonzero(np.maximum(held, self._fewest) < tried)).size:
            tried[falling] = np.maximum(held[falling], self._fewest)
            for degrees in np.unique(tried[falling]):
                rows = falling[tried[falling] == degrees]
                nearer, held[rows] = self._within(int(degrees)).least_and_held(objectives[rows], given)
                values[rows] = np.where(held[rows] <= degrees, np.maximum(nearer, values[rows]), values[rows])
        return values

    @property
    def _fewest(self) -> int:
        """The fewest degrees of freedom within whose radius there are proper tables."""
        return min(self._rejecting(_WIDER * self.distance + _ROOM) + 1, self.identified.df)

    def _within(self, df: int) -> PossibleTables:
        return confidence_set(self.identified, self.alpha, df, self.whole)

    def _rejecting(self, distance: float) -> int:
        """The most degrees of freedom with which this squared distance is too far; 0 if there are none."""
        from scipy.special import chdtrc

        return int(np.count_nonzero(chdtrc(np.arange(1, self.identified.df + 1), distance) < self.alpha))
