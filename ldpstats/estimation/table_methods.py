"""Estimators of one table from several blocks, by name: unbiased, least squares, likelihood, and as published."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import Estimate
from ldpstats.estimation.least_squares import generalized_least_squares, maximum_likelihood
from ldpstats.estimation.unbiased_estimates import closed_form, two_blocks, unbiased


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
