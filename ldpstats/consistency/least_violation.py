"""Least violation of noisy marginals by one joint table (least squares, least absolute deviations), then least norm."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.consistency.marginals import Marginal, overlapping
from ldpstats.consistency.violation import absolute_share
from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import FloatArray

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
    """The flat table that violates the marginals least and, among all such tables, has the smallest norm.

    Noisy marginals contradict one another, so that a table with all of them, as Imran & Meo (2024, Section 4.3) ask
    for, does not exist. Their problem is therefore solved in two steps, over the proper tables p (p ≥ 0, Σ p = 1).

    1. Find the least violation. With M_t p the marginal t of p, π̂_t its estimate and σ_t² the mean variance of the
       cells of π̂_t, the residuals r = (M_t p − π̂_t) / σ_t of all marginals together count as Σ r² by "l2", as Σ |r|
       by "l1", and as γ Σ |r| + (1 − γ) Σ r² by "elastic-net". No marginal counts as more than a hundred times as
       precise as another.
    2. Of the tables that violate no more than that, take the one with the least Σ p². There is only one, so that the
       result depends neither on the solver nor on the order of anything.

    The smallest norm spreads what no marginal tells, which invents interactions: where there is little noise, the
    table of maximum entropy with the same marginals (`proportionally_fitted`) is much nearer to the truth.
    """
    share = absolute_share(method, gamma)
    data = StandardizedResiduals.of(overlapping(marginals, target), target)
    return _shortest(data, _least_violating(data, share), share)


@dataclass(frozen=True, slots=True, eq=False)
class StandardizedResiduals:
    """Residuals of marginals in standard errors, as (`matrix` @ table - `observed`) / `unit`.

    `scales` is what the marginals' estimates are multiplied by. The unit is the standard error of the most precise
    marginal, so that the numbers that a solver sees are of the size of proportions, which its tolerances are made for.
    """

    matrix: Any  # sparse
    observed: FloatArray
    scales: tuple[float, ...]
    unit: float

    @classmethod
    def of(cls, marginals: Sequence[Marginal], target: Domain) -> StandardizedResiduals:
        """Stack the marginals."""
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
        """Scale other estimates of the same marginals as `observed` is; a row for every set of them."""
        parts = [scale * one for scale, one in zip(self.scales, estimates, strict=True)]
        return np.concatenate(parts, axis=1)

    def missed(self, table: Any) -> Any:
        """Residuals times the unit: of an array of cells, or of a variable of cvxpy."""
        return self.matrix @ table - self.observed

    def variable(self) -> Any:
        """Nonnegative variable of cvxpy for the cells."""
        from cvxpy import Variable

        return Variable(self.matrix.shape[1], nonneg=True)


def _least_violating(data: StandardizedResiduals, share: float) -> FloatArray:
    """A table with the least violation, given the share of absolute values in it."""
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
    """The table of the smallest norm among those that violate the marginals no more than this one.

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
