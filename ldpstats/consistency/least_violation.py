"""Least violation of noisy marginals by one joint table: least squares, least absolute deviations, or both."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.consistency.marginals import Marginal, overlapping
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.numbers.arrays import FloatArray, real_number
from ldpstats.presentation import progress
from ldpstats.workers import each

Violation: TypeAlias = Literal["l2", "l1", "elastic-net"]
GAMMA = 0.5


def absolute_share(method: object, gamma: object) -> float:
    """Weight of absolute deviations in a violation; the squared ones have the rest."""
    shares = {"l2": 0.0, "l1": 1.0, "elastic-net": GAMMA}
    if not isinstance(method, str) or method not in shares:
        raise LdpstatsError(f"method = {method!r}", one_line(list(shares)))
    if not 0 <= (share := real_number(gamma)) <= 1:
        raise LdpstatsError(f"gamma = {gamma!r}", "a number from 0 to 1")
    if method == "elastic-net":
        return share
    if gamma != GAMMA:
        raise LdpstatsError(f"gamma = {gamma!r} with method = {method!r}", "gamma with method = 'elastic-net' only")
    return shares[method]


# by how much a marginal may count as more precise than another: it then has its way, and solvers keep their digits
_PRECISER = 100
# what the solver may lose of the least sum of absolute violations, which are of the size of proportions
_LOST = 1e-8


def fitted_joint(
    marginals: Iterable[Marginal],
    target: Domain,
    method: str = "l2",
    gamma: float = GAMMA,
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
    from cvxpy import Variable
    from cvxpy.atoms.norm1 import norm1
    from cvxpy.atoms.sum_squares import sum_squares

    share = absolute_share(method, gamma)
    data = StandardizedResiduals.of(overlapping(marginals, target), target)
    table: Any = Variable(target.size(), nonneg=True)
    # in units: all is multiplied by that of the residuals
    missed = data.matrix @ table - data.observed
    least = _proper(table, deviation(missed, share, data.unit), [], "HIGHS" if share == 1 else "CLARABEL")
    reached = data.matrix @ least - data.observed
    attained = np.abs(reached).sum()
    # squares are strictly convex in the marginals: where they count, tables that are as near have the same marginals
    as_near = missed == reached if share < 1 else norm1(missed) <= attained + _LOST * (1 + attained)
    return _proper(table, sum_squares(table), [as_near], "CLARABEL")


def _proper(table: Any, objective: Any, constraints: list[Any], solver: str) -> FloatArray:
    """Minimize over the proper tables."""

    def failed(_why: str) -> LdpstatsError:
        return LdpstatsError(
            f"marginals whose joint table {solver} cannot find",
            "marginals of which none is a hundred times as precise as another",
            "method = 'l2' is the easiest to solve.",
        )

    value = minimized(table, objective, [table.sum() == 1, *constraints], failed, solver=solver)
    nonnegative: FloatArray = np.maximum(value, 0)
    return np.asarray(nonnegative / nonnegative.sum())


def deviation(residuals: Any, share: float, unit: float = 1.0) -> Any:
    """The share of absolute values and the rest of squares of an expression of cvxpy, times the unit it is in."""
    from cvxpy.atoms.norm1 import norm1
    from cvxpy.atoms.sum_squares import sum_squares

    parts = ((share, norm1), ((1 - share) / unit, sum_squares))
    return sum(weight * size(residuals) for weight, size in parts if weight > 0)


def minimized(
    variable: Any, objective: Any, constraints: list[Any], failed: Callable[[str], LdpstatsError], **settings: Any
) -> FloatArray:
    """Solve a linear or quadratic programme with cvxpy; `failed` makes an error of why that is impossible.

    That a solution may be inaccurate, in cvxpy's words, is to some digits less than asked for: still beyond what noise
    lets anybody know.
    """
    from cvxpy import Minimize, Problem, SolverError

    problem: Any = Problem(Minimize(objective), constraints)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            problem.solve(**settings)
    except SolverError as error:
        raise failed(str(error)) from error
    if variable.value is None:
        raise failed(f"status {problem.status!r}")
    value: FloatArray = variable.value
    return value


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

        errors = np.sqrt([np.mean(1 / marginal.precision) for marginal in marginals])
        errors = np.maximum(errors, errors.max() / _PRECISER)
        unit, cells = float(errors.min()), np.arange(target.size())
        rows = []
        for marginal, error in zip(marginals, errors, strict=True):
            scale = np.full(cells.size, unit / error)
            rows.append(csr_array((scale, (target.onto(marginal.attributes), cells))))
        observed = [unit / error * marginal.estimate for marginal, error in zip(marginals, errors, strict=True)]
        return cls(vstack(rows, format="csr"), np.concatenate(observed), tuple(unit / errors), unit)

    def scaled(self, estimates: Sequence[FloatArray]) -> FloatArray:
        """Scale other estimates of the same marginals as `observed` is; a row for every set of them."""
        parts = [scale * estimate for scale, estimate in zip(self.scales, estimates, strict=True)]
        return np.concatenate(parts, axis=1)


# the penalties of the method of multipliers, in units of one over the standard error of the most precise marginal:
# where absolute values alone count, and else; and how far its steps go
_FLAT, _CURVED, _RELAXED = 0.1, 3.0, 1.6
# what the norm counts against absolute violations alone: so little that it decides only between equal ones
_EVEN = 0.03
# proportions have standard errors of a thousandth at least where anybody would draw them again
_NEAR, _MOST_STEPS, _BETWEEN_LOOKS = 1e-6, 3000, 50
# the weight of the norm against violations by squares, where these leave it open, and that of the total
_NORM, _TOTAL = 1e-7, 1e3


def shortest_refits(marginals: Sequence[Marginal], estimates: Sequence[FloatArray], target: Domain) -> FloatArray:
    """For every row of the estimates, the table of least squares with the smallest norm: see `fitted_joint`.

    The norm counts for so little that it decides only what squares leave open; one problem of nonnegative least squares
    does both.
    """
    from scipy.optimize import nnls

    data, cells = StandardizedResiduals.of(marginals, target), target.size()
    rotation, triangle = np.linalg.qr(data.matrix.toarray())
    observed = data.scaled(estimates) @ rotation
    matrix = np.vstack([triangle, np.full(cells, _TOTAL), math.sqrt(_NORM) * np.eye(cells)])
    ends = np.concatenate([[_TOTAL], np.zeros(cells)])
    tables = np.array(each(lambda row: nnls(matrix, np.concatenate([row, ends]))[0], observed, "fitting again", "set"))
    shares: FloatArray = tables / tables.sum(axis=1, keepdims=True)
    return shares


def least_violating_refits(
    marginals: Sequence[Marginal],
    estimates: Sequence[FloatArray],
    target: Domain,
    share: float,
    start: FloatArray,
) -> FloatArray:
    """For every row of the estimates, a table of least violation with this share of absolute values.

    By the alternating direction method of multipliers (Boyd et al. 2011), from one table for all: residuals r and
    nonnegative cells z are copies of what the table x gives, and all sets share one factorization.
    """
    data = StandardizedResiduals.of(marginals, target)
    matrix, observed = data.matrix.toarray(), data.scaled(estimates)
    penalty, even = (_FLAT / data.unit, _EVEN) if share == 1 else (_CURVED / data.unit, 0.0)
    inverse = np.linalg.inv(matrix.T @ matrix + (1 + 2 * even / penalty) * np.eye(matrix.shape[1]))
    weight = inverse.sum(axis=0) / inverse.sum()
    z = np.tile(start, (len(observed), 1))
    r, u, v = z @ matrix.T - observed, np.zeros_like(observed), np.zeros_like(z)
    for step in progress(range(1, _MOST_STEPS + 1), "fitting again", unit="step"):
        x = ((observed + r - u) @ matrix + z - v) @ inverse
        x = x - (x.sum(axis=1, keepdims=True) - 1) * weight
        before, missed = z, x @ matrix.T - observed
        relaxed_missed, relaxed_x = _RELAXED * missed + (1 - _RELAXED) * r, _RELAXED * x + (1 - _RELAXED) * z
        r = _nearer(relaxed_missed + u, share / penalty, 2 * (1 - share) / data.unit / penalty)
        z = np.maximum(relaxed_x + v, 0)
        u, v = u + relaxed_missed - r, v + relaxed_x - z
        if step % _BETWEEN_LOOKS == 0 and max(np.abs(z - before).max(), np.abs(x - z).max()) < _NEAR:
            break
    tables: FloatArray = z / z.sum(axis=1, keepdims=True)
    return tables


def _nearer(residuals: FloatArray, threshold: float, curvature: float) -> FloatArray:
    """Proximal step: residuals that balance their violation against their distance from these (soft threshold)."""
    return np.sign(residuals) * np.maximum(np.abs(residuals) - threshold, 0) / (1 + curvature)
