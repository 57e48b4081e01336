"""Linear and quadratic programming: the proper tables nearest to noisy ones that agree on all they share."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpstats.consistency.agreement import AgreeingFit, SharedQuantities
from ldpstats.consistency.marginals import Marginal
from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import FloatArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# in standard errors of a cell: what Clarabel is asked for, and what is still good enough where it gets no further
_ASKED, _ACCEPTED = 1e-10, 1e-6
_SETTINGS: dict[str, Any] = {
    f"{prefix}tol_{name}": tolerance
    for prefix, tolerance in (("", _ASKED), ("reduced_", _ACCEPTED))
    for name in ("gap_abs", "gap_rel", "feas")
}
# 4,950 tables of 4 by 4 take 1.1 s, by what Clarabel chooses 2.8; fewer tables about as long
_SETTINGS["direct_solve_method"] = "qdldl"
# in proportions: how far from proper tables that agree a solution may be
_REPAIRED = 1e-6


def nearest_agreeing(
    marginals: Sequence[Marginal], shared: Sequence[SharedQuantities], gamma: float
) -> list[FloatArray]:
    """Proper tables that agree on all they share, with the least γ Σ |r| + (1 − γ) Σ r², r = (x − π̂) / standard error.

    The estimates themselves do not agree, for they are noisy: they enter by their distance only.
    """
    from scipy.sparse import block_diag, csr_array, vstack

    estimates = np.concatenate([one.estimate for one in marginals])
    spread = 1 / np.sqrt(np.concatenate([one.precision for one in marginals]))
    sums = csr_array(block_diag([csr_array(own.sums) for own in shared]))
    places = np.concatenate([own.places for own in shared])
    _, first = np.unique(places, return_index=True)
    again = np.setdiff1d(np.flatnonzero(places), first)
    totals, differences = sums[places == 0], sums[again] - sums[first[places[again]]]
    # A and a of A x = a: totals are one, common quantities are those of the first table that has them
    equations, values = csr_array(vstack([totals, differences])), np.repeat([1.0, 0.0], [len(shared), again.size])
    # cells and equations in standard errors, so that the solver's tolerances are, too
    unit = np.median(spread)
    open_values = (values - equations @ estimates) / unit
    moves = _least_moves(equations.multiply(spread / unit), open_values, -estimates / spread, gamma)
    ends = np.cumsum([one.estimate.size for one in marginals])[:-1]
    return _repaired(np.split(estimates + spread * moves, ends), AgreeingFit(marginals, shared))


def _least_moves(equations: csr_array, values: FloatArray, least: FloatArray, gamma: float) -> FloatArray:
    """Minimize γ Σ |u| + (1 − γ) Σ u² for A u = values and u ≥ least: by Clarabel, or by HiGHS if it is linear."""
    import cvxpy
    from cvxpy.atoms.norm1 import norm1
    from cvxpy.atoms.sum_squares import sum_squares

    moves: Any = cvxpy.Variable(least.size)
    sizes = ((gamma, norm1), (1 - gamma, sum_squares))
    cost = sum(weight * size(moves) for weight, size in sizes if weight > 0)
    problem: Any = cvxpy.Problem(cvxpy.Minimize(cost), [equations @ moves == values, moves >= least])
    try:
        with warnings.catch_warnings():
            # that a solution may be inaccurate, in cvxpy's words, is what the accepted tolerances are about
            warnings.simplefilter("ignore", UserWarning)
            problem.solve(**({"solver": cvxpy.HIGHS} if gamma == 1 else {"solver": cvxpy.CLARABEL, **_SETTINGS}))
    except cvxpy.SolverError as error:
        raise _unsolved(str(error)) from error
    if problem.status not in {cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE}:
        raise _unsolved(f"status {problem.status!r}")
    solution: FloatArray = moves.value
    return solution


def _repaired(solution: Sequence[FloatArray], fit: AgreeingFit) -> list[FloatArray]:
    """Make a solution proper and agreeing to the last digits.

    The linear fit makes it agree. Uniform tables agree and are positive: mixed with as little of them as it takes, no
    cell is negative, and all still agree.
    """
    agreeing = fit.tables(solution)
    least = np.array([min(one.min(), 0.0) for one in agreeing])
    uniform = np.array([1 / one.size for one in agreeing])
    share = float((least / (least - uniform)).max())
    proper = [np.maximum((1 - share) * one + share / one.size, 0) for one in agreeing]
    moved = max(float(np.abs(one - other).max()) for one, other in zip(proper, solution, strict=True))
    # written so that a NaN fails
    if not moved <= _REPAIRED:
        raise _unsolved(f"its solution is {moved:.1g} away from proper tables that agree")
    return proper


def _unsolved(why: str) -> LdpstatsError:
    return LdpstatsError(
        f"tables for which the solver finds no consistent ones ({why})",
        "tables whose variances are not too many orders of magnitude apart",
        "Leave out the tables with the least or the largest variances, or take another method.",
    )
