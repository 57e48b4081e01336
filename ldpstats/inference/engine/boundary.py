"""Fits at a boundary: where scoring does not converge, the likeliest member of a log-linear model is found by EM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import most_likely
from ldpstats.estimation.likelihood import HierarchicalEM, seen_in_blocks
from ldpstats.inference.engine.block_evidence import BlockEvidence
from ldpstats.inference.engine.evidence import Evidence
from ldpstats.inference.engine.families import LogLinear
from ldpstats.inference.engine.null_model import NullFit, NullModel, on_simplex
from ldpstats.numbers.arrays import FloatArray, places_onto

_ITERATIONS = 20_000
# the χ² distances of steps at which climbs end: to see which are the highest, and of these
_ROUGH, _PRECISE, _FINALISTS = 1e-6, 1e-14, 3
_DECREASE = 1e-6
_MOST_CORNERS = 64
_TOWARDS_CORNER = 0.9


def likeliest(model: NullModel, evidence: Evidence, fit: NullFit, within: FloatArray | None = None) -> NullFit:
    """Replace fits that did not converge by the frequencies of highest likelihood, found by EM.

    They still do not count as converged: at a boundary likelihood ratios are not χ². Models without a boundary keep
    their fits: what these left is allowed for. `within`, a smaller model's fit, bounds the likelihood below.
    """
    lost = np.flatnonzero(~fit.converged)
    if not model.bounded or not lost.size:
        return fit
    if not isinstance(model, LogLinear) or model.covariate is not None or not isinstance(evidence, BlockEvidence):
        raise _not_found("it ran to a boundary")
    frequencies, statistic = fit.frequencies.copy(), fit.statistic.copy()
    for table in lost:
        known = [fit.frequencies[table], *([] if within is None else [within[table]])]
        frequencies[table] = _highest(model, evidence.subset(np.array([table])), known)
        statistic[table] = 0  # nothing is left to explain
    return replace(fit, parameters=model.nearest(frequencies), frequencies=frequencies, statistic=statistic)


def likeliest_nested(
    smaller: NullModel, larger: NullModel, evidence: Evidence, small: NullFit, large: NullFit
) -> tuple[NullFit, NullFit]:
    """Climb by EM where fits of nested models did not converge, or the larger one fell short of the smaller one."""
    if isinstance(smaller, LogLinear):
        gained = evidence.log_likelihood(large.frequencies) - evidence.log_likelihood(small.frequencies)
        both = small.converged & large.converged & (gained > -_DECREASE)
        small, large = replace(small, converged=both), replace(large, converged=both)
    small = likeliest(smaller, evidence, small)
    return small, likeliest(larger, evidence, large, within=small.frequencies)


def _highest(model: LogLinear, evidence: BlockEvidence, known: list[FloatArray]) -> FloatArray:
    """Climb from several starts, and return the frequencies of the highest likelihood reached."""
    blocks = [
        replace(block, tally=replace(block.tally, counts=counts[0]))
        for block, counts in zip(evidence.blocks, evidence.counts, strict=True)
    ]
    cells = blocks[0].question.cells
    places = np.arange(cells) if model.possible is None else np.array(model.possible)
    partitions = [places_onto(model.shape, axes)[places] for axes in model.generators]
    em = HierarchicalEM(seen_in_blocks(blocks), partitions, places, cells)
    evidence.log_likelihood(known[0][None, :])  # reports that are impossible without the zeros are refused
    free = on_simplex(most_likely(blocks).frequencies[places])
    starts = [*known, *(model.frequencies(model.nearest(near)) for near in _spread_out(free))]
    climbs = sorted((em.climbed(start, _ITERATIONS, _ROUGH)[0] for start in starts), key=em.log_likelihood)
    best = np.stack(climbs[-_FINALISTS:])
    # a leap may have taken a cell near nothing that belongs elsewhere
    revived = model.frequencies(model.nearest(0.99 * best + 0.01 / free.size))
    ends = [em.climbed(climb, _ITERATIONS, _PRECISE) for climb in (*best, *revived)]
    found, ended = max(ends, key=lambda end: em.log_likelihood(end[0]))
    if not ended:
        raise _not_found(f"{_ITERATIONS:,} steps of EM did not end")
    return found


def _spread_out(free: FloatArray) -> Iterator[FloatArray]:
    """Yield tables between the likeliest one and even frequencies, and near the corners of its frequent cells."""
    even = np.full(free.size, 1 / free.size)
    for share in (1.0, 0.9, 0.5, 0.0):
        yield share * free + (1 - share) * even
    for corner in np.argsort(-free, kind="stable")[:_MOST_CORNERS]:
        yield _TOWARDS_CORNER * np.eye(free.size)[corner] + (1 - _TOWARDS_CORNER) * even


def _not_found(why: str) -> LdpstatsError:
    return LdpstatsError(
        f"a likelihood ratio of a fit that did not converge: {why}",
        "fits that converge, or log-linear models of generators alone, whose boundary is known",
        'method="score" allows for what the fit left, with a p-value from drawn tables.',
    )
