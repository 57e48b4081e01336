"""Least violation of noisy marginals by one joint table (least squares, least absolute deviations), then least norm."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.consistency.marginals import Marginal, overlapping
from ldpstats.consistency.violation import absolute_share
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError

# by how much a marginal may count as more precise than another: it then has its way, and solvers keep their digits
_PRECISER = 100
# what the solver may lose of the least sum of absolute violations, which are of the size of proportions
_LOST = 1e-8


def fitted_joint(
    marginals: Iterable[Marginal],
    target: Domain,
    method: str = "l2",
    gamma: float = 0.5,
) -> FloatArray:
    """Return the flat table that violates the marginals least and, among all such tables, has the smallest norm.

    Noisy marginals contradict one another, so that a table with all of them, as Imran & Meo (2024, Section 4.3) ask
    for, does not exist. Their problem is therefore solved in two steps, over the proper tables p (p ≥ 0, Σ p = 1).

    1. Find the least violation. With M_t p the marginal t of p, π̂_t its estimate and σ_t² the mean variance of the
       cells of π̂_t, the residuals r = (M_t p − π̂_t) / σ_t of all the marginals together count as Σ r² by "l2", as
       Σ |r| by "l1", and as γ Σ |r| + (1 − γ) Σ r² by "elastic-net". (No marginal counts as more than a hundred times
       as precise as another.)
    2. Of the tables that violate no more than that, take the one with the least Σ p², which is also the nearest to
       the uniform table. There is only one.

    All tables of the second step have the same marginals M_t p wherever squares count. Where absolute values alone
    do, different marginals may violate equally much; the norm is then the least over all of them, so that the result
    depends neither on the solver nor on the order of anything.

    The smallest norm spreads what no marginal tells, which invents interactions: where there is little noise, the
    table of maximum entropy with the same marginals (`most_even`) is much nearer to the truth.

    Parameters
    ----------
    marginals : iterable of Marginal
        Each is added up to the target first.
    target : Domain
    method : {"l2", "l1", "elastic-net"}
    gamma : float
        The share γ of the absolute values in "elastic-net", from 0 to 1.

    Examples
    --------
    >>> sex = Marginal(("sex",), (2,), np.array([0.6, 0.4]), np.eye(2) / 100, 100)
    >>> car = Marginal(("car",), (2,), np.array([0.7, 0.3]), np.eye(2) / 100, 100)
    >>> fitted_joint([sex, car], Domain({"sex": ["F", "M"], "car": ["yes", "no"]})).round(3)
    array([0.4, 0.2, 0.3, 0.1])
    """
    share = absolute_share(method, gamma)
    data = StandardizedResiduals.of(overlapping(marginals, target), target)
    return _shortest(data, _least_violating(data, share), share)


@dataclass(frozen=True, slots=True, eq=False)
class StandardizedResiduals:
    """What the marginals of a table miss, in standard errors: (`matrix` @ table - `observed`) / `unit`.

    `scales` is what the marginals' estimates are multiplied by, one behind the other.

    The unit is the standard error of the most precise marginal. So the numbers that a solver sees are of the size of
    proportions, which its tolerances are made for.
    """

    matrix: Any  # sparse
    observed: FloatArray
    scales: tuple[float, ...]
    unit: float

    @classmethod
    def of(cls, marginals: Sequence[Marginal], target: Domain) -> StandardizedResiduals:
        """Put the marginals one behind the other."""
        from scipy.sparse import csr_array, vstack

        spread = np.sqrt([np.mean(1 / one.precision) for one in marginals])
        spread = np.maximum(spread, spread.max() / _PRECISER)
        unit, cells = float(spread.min()), np.arange(target.size())
        rows = []
        for one, own in zip(marginals, spread, strict=True):
            scale = np.full(cells.size, unit / own)
            rows.append(csr_array((scale, (target.onto(one.attributes), cells))))
        observed = [unit / own * one.estimate for one, own in zip(marginals, spread, strict=True)]
        return cls(vstack(rows, format="csr"), np.concatenate(observed), tuple(unit / spread), unit)

    def scaled(self, estimates: Sequence[FloatArray]) -> FloatArray:
        """Return other estimates of the same marginals as this one's are observed: a row for every set of them."""
        parts = [scale * one for scale, one in zip(self.scales, estimates, strict=True)]
        return np.concatenate(parts, axis=1)

    def missed(self, table: Any) -> Any:
        """Return the residuals times the unit: of an array of cells, or of a variable that stands for it."""
        return self.matrix @ table - self.observed

    def variable(self) -> Any:
        """Return a variable that stands for the cells."""
        from cvxpy import Variable

        return Variable(self.matrix.shape[1], nonneg=True)


def _least_violating(data: StandardizedResiduals, share: float) -> FloatArray:
    """Return a table with the least violation, given the share of absolute values in it."""
    from cvxpy.atoms.norm1 import norm1
    from cvxpy.atoms.sum_squares import sum_squares

    table = data.variable()
    violation: Any = 0
    if share > 0:
        violation += share * norm1(data.missed(table))
    if share < 1:  # all is multiplied by the unit
        violation += (1 - share) / data.unit * sum_squares(data.missed(table))
    return _proper(table, violation, [], "HIGHS" if share == 1 else "CLARABEL")


def _shortest(data: StandardizedResiduals, least: FloatArray, share: float) -> FloatArray:
    """Return the table of the smallest norm among those that violate the marginals no more than this one.

    Squares are strictly convex in the marginals: where they count, these are the tables with the same marginals.
    """
    from cvxpy.atoms.norm1 import norm1
    from cvxpy.atoms.sum_squares import sum_squares

    table, attained = data.variable(), np.abs(data.missed(least)).sum()
    as_near = (
        data.missed(table) == data.missed(least)
        if share < 1
        else norm1(data.missed(table)) <= attained + _LOST * (1 + attained)
    )
    return _proper(table, sum_squares(table), [as_near], "CLARABEL")


def _proper(table: Any, objective: Any, constraints: list[Any], solver: str) -> FloatArray:
    """Minimize over the proper tables."""
    from cvxpy import Minimize, Problem, SolverError

    problem: Any = Problem(Minimize(objective), [table.sum() == 1, *constraints])
    with warnings.catch_warnings(), suppress(SolverError):
        # "inaccurate" is to four digits instead of eight: still beyond what noisy marginals tell
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        problem.solve(solver=solver)
    if table.value is None:
        raise LdpstatsError(
            f"marginals whose joint table {solver} cannot find",
            "marginals of which none is a hundred times as precise as another",
            "method = 'l2' is the easiest to solve.",
        )
    found: FloatArray = np.maximum(table.value, 0)
    return np.asarray(found / found.sum())
