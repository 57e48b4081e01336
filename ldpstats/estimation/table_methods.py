"""Estimators of one table from several blocks, by name: unbiased, least squares, likelihood, and as published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ldpstats.estimation.block_stack import above_zero, total_score
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import Estimate, over_degrees_of_freedom
from ldpstats.estimation.likelihood import most_likely
from ldpstats.estimation.unbiased_estimates import LinearPooling, closed_form, two_blocks, unbiased
from ldpstats.numbers.arrays import FloatArray


def generalized_least_squares(blocks: Sequence[Block]) -> Estimate:
    """Weigh every block by the inverse covariance of its reports, as estimated; frequencies sum to one.

    The covariances are those at a first, unbiased estimate; given them, one solution is exact: π = π₀ + M⁻ s with the
    score s and the information M of all blocks at π₀, inverted over the contrasts. For truth-or-fake blocks, with the
    distribution μ_b of the reports of block b,

        π_v = (Σ_b w_bv π̂_bv − λ) / Σ_b w_bv,    w_bv = n_b p_b² / μ_bv,

    where π̂_b inverts block b and λ makes the sum one. These weights are the full multinomial covariance;
    n_b p_b² / (μ_bv (1 − μ_bv)), its diagonal alone, would not use that the counts of a block have a known sum.
    As the weights are estimated, the result has a bias of smaller order than its standard error. It may be negative.
    The covariance is M⁻ times n / (n - 1): what an inversion divides by, so that one block gives the same.
    """
    n = sum(block.n for block in blocks)
    start = above_zero(LinearPooling(blocks).estimate([block.tally.counts for block in blocks]), n)
    score, information = total_score(blocks, start)
    inverse = _inverse_on_contrasts(information)
    return Estimate(start + inverse @ score, over_degrees_of_freedom(n * inverse, n), n)


def maximum_likelihood(blocks: Sequence[Block]) -> Estimate:
    """Find the proper frequencies under which the reports of all blocks together are most likely.

    The covariance is the inverse of the expected information over the contrasts, times n / (n - 1) like every other.
    Where some frequencies are estimated as zero or nearly so it is an approximation only: there the estimate is biased,
    and its errors are not normal.

    Parameters
    ----------
    blocks : sequence of Block
        Blocks of one table, with reports that are one output of a channel each.
    """
    n, fitted = sum(block.n for block in blocks), most_likely(blocks)
    LinearPooling(blocks)  # refuses blocks that leave a contrast open, of which many frequencies were most likely
    fitted.warn_unless_converged(n)
    _, information = total_score(blocks, above_zero(fitted.frequencies, n))
    return Estimate(fitted.frequencies, over_degrees_of_freedom(n * _inverse_on_contrasts(information), n), n)


def _inverse_on_contrasts(information: FloatArray) -> FloatArray:
    """Invert an information matrix over the vectors that sum to zero; along the ones it tells nothing.

    This is the leading part of the inverse of the matrix, bordered by ones: the equations of a minimum whose variables
    have a given sum. Scaling the diagonal to one first keeps digits where some cells are rare.
    """
    scale = 1 / np.sqrt(np.diagonal(information))
    border = scale / np.linalg.norm(scale)
    bordered = np.block([[information * np.outer(scale, scale), border[:, None]], [border, np.zeros(1)]])
    inverse = np.linalg.inv(bordered)[:-1, :-1] * np.outer(scale, scale)
    return (inverse + inverse.T) / 2


@dataclass(frozen=True, slots=True)
class TableMethod:
    """How a table may be estimated, and what readers of the estimate must know.

    Parameters
    ----------
    estimated : callable
        From blocks to an `Estimate`.
    words : str
        What readers of the estimate must know, in a sentence.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> from ldpstats.extend import TABLE_METHODS
    >>> domain = ldp.Domain({"car": ["yes", "no"]})
    >>> table = ldp.SampledGroups(domain, k=1, epsilon=1.0).simulate([600, 400], rng=1)["car"]
    >>> TABLE_METHODS["mle"].estimated(table.blocks).estimate.round(2)
    array([0.61, 0.39])
    """

    estimated: Callable[[Sequence[Block]], Estimate]
    words: str


TABLE_METHODS: dict[str, TableMethod] = {
    "unbiased": TableMethod(unbiased, "Unbiased estimates: cells may be negative when the noise exceeds them."),
    "gls": TableMethod(
        generalized_least_squares,
        "Generalized least squares (gls), with estimated weights: cells may be negative when the noise exceeds them, "
        "and intervals of rare ones are rough.",
    ),
    "mle": TableMethod(
        maximum_likelihood,
        "Maximum likelihood (mle): proper proportions; near zero they are biased, and their intervals rough.",
    ),
    "closed form": TableMethod(
        closed_form,
        "Unbiased estimates (closed form over all blocks): cells may be negative when the noise exceeds them.",
    ),
    "two blocks": TableMethod(
        two_blocks,
        "Unbiased estimates (average of the last two blocks; does not converge): cells may be negative.",
    ),
}
