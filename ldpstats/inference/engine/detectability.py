"""Noncentrality: the power that a test has against departures of stated size (Cohen's w, Cramér's V)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np

from ldpstats.confidence.confidence_sets import NoncentralSquare
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.inference.engine.evidence import Evidence
from ldpstats.inference.engine.families import LogLinear, ProductOfConditionals
from ldpstats.inference.engine.null_model import SMALLEST, NullModel, irregular, on_simplex
from ldpstats.noise import Information, NoiseModel, shortest
from ldpstats.numbers.arrays import FloatArray, IntArray, kronecker
from ldpstats.saving.registered import Count

_DIRECTIONS = 256
_MOST_RESPONDENTS = 10**12
_EVEN = 1e-12
# columns beside the diagonal of an information that has structure; cells up to which all eigenvalues are found
_FEW_COLUMNS, _MOST_EIGENVALUES = 4, 1 << 10
# the shares of directions that are seen less than the worst, and than the best, that are spoken of
_SEEN = (0.05, 0.95)

TestedAxes: TypeAlias = tuple[int, int] | None
"""The two axes of a table that are tested for independence given all others; None, if all are tested mutually."""


@lru_cache(maxsize=16)
def _directions(axes: int) -> FloatArray:
    """Return the squared parts of random directions along the principal axes, a row for each direction."""
    drawn = np.random.default_rng(0).standard_normal((_DIRECTIONS, axes))
    shares: FloatArray = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)) ** 2
    return shares


@dataclass(frozen=True, eq=False)
class NoncentralityProfile:
    """What a report, or all of one test, tell about deviations from its hypothesis: its power, at any level and size.

    The size of a deviation δ from π is √(Σ δ²/π), Cohen's w; its noncentrality is δᵀ J δ, J being the information.
    `principal` is that of a deviation of unit size in each principal direction; `extremes`, if there, are the same with
    rare categories as rare, and as frequent, as may be. Sizes of results are w / √(side - 1): Cramér's V, or w where
    `side` is 2. Not `proportional` is a curator's noise, which comes once, however many answered.
    """

    df: Count
    principal: FloatArray
    side: Count = 2
    proportional: bool = True
    extremes: tuple[FloatArray, ...] = ()

    def __post_init__(self) -> None:
        if len(self.extremes) not in (0, 2) or any(extreme.shape != self.principal.shape for extreme in self.extremes):
            raise LdpstatsError(f"{len(self.extremes)} extremes", "two of them, or none")
        if self.principal.ndim != 1 or not np.all(np.isfinite(self.principal) & (self.principal >= 0)):
            raise LdpstatsError(f"noncentralities {shortened(self.principal)}", "a row of numbers from 0 on")

    @cached_property
    def seen(self) -> FloatArray:
        """Noncentrality in fixed uniform directions; from sorted axes, so that the order of categories is nothing."""
        return _directions(self.principal.size) @ np.sort(self.principal)

    def powers(self, n: IntArray | int, w: FloatArray | float, alpha: float) -> FloatArray:
        """Return the power averaged over directions, of n times what is told and deviations of this w, broadcast."""
        from scipy.special import chdtri, chndtr

        noncentrality = np.asarray(n * np.square(w))[..., None] * self.seen
        averaged: FloatArray = (1 - chndtr(chdtri(self.df, alpha), self.df, noncentrality)).mean(axis=-1)
        return averaged

    def reports_needed(self, w: float, power: float, alpha: float) -> int:
        """Return the least number of reports with at least this power, if a single one tells this."""
        if self.powers(_MOST_RESPONDENTS, w, alpha) < power:
            raise LdpstatsError(
                f"a power of {power:g} against departures that the reports show too little of, or nothing",
                "departures that fewer than 10^12 reports can show",
                "Plan for a larger effect, or for another mechanism.",
            )
        below, enough = 0, 1
        while self.powers(enough, w, alpha) < power:
            below, enough = enough, 2 * enough
        while enough - below > 1:
            middle = (below + enough) // 2
            below, enough = (below, middle) if self.powers(middle, w, alpha) >= power else (middle, enough)
        return enough

    def power(self, size: float, alpha: float) -> float:
        """Return the approximate power: the level in directions that reports do not tell of."""
        return float(self.powers(1, size * math.sqrt(self.side - 1), alpha))

    def respondents(self, n: int, size: float, power: float, alpha: float) -> RespondentsNeeded:
        """Return how many respondents find a size with this power, if n tell this.

        Least and most are those of directions seen better, and worse, than 95 % are, at their own extremes: no
        confidence limits. All are None where no number is enough, or information is not proportional to it.
        """
        if not (self.proportional and size > 0):
            return NOT_KNOWN
        w = size * math.sqrt(self.side - 1)
        ends = [
            np.quantile(replace(self, principal=principal).seen, share)
            for principal, share in zip(self.extremes or (self.principal, self.principal), _SEEN, strict=True)
        ]
        most, least = (respondents_with(float(end) * w**2, self.df, n, power, alpha) for end in ends)
        number = None
        with suppress(LdpstatsError):  # no number is enough
            number = replace(self, principal=self.principal / n).reports_needed(w, power, alpha)
        if number is not None:  # an average over directions may lie beyond either of them
            least, most = min(number, least or number), None if most is None else max(number, most)
        return RespondentsNeeded(least, number, most)


class RespondentsNeeded(NamedTuple):
    """Least, likely and most respondents that find a deviation with the power asked for; None where no number does."""

    least: int | None
    needed: int | None
    most: int | None

    @classmethod
    def shown_by(
        cls, statistic: float, df: int, n: int, power: float, alpha: float, level: float = 0.95
    ) -> RespondentsNeeded:
        """Return how many respondents are needed, by the noncentrality that n of them showed.

        Margins, size and direction of the deviation are all in the statistic, which is noncentral χ². The number is by
        the median-unbiased noncentrality, the others by its confidence limits (Venables 1975).
        """
        seen = NoncentralSquare(np.array(statistic), np.array(float(df)), np.ones(()), 1.0, 1.0, math.inf)
        (low, high), (middle, _) = (*seen.limits(1 - level), *seen.limits(1.0))
        return cls(*(respondents_with(float(limit), df, n, power, alpha) for limit in (high, middle, low)))

    def __str__(self) -> str:
        least, needed, most = (None if number is None else f"{float(f'{number:.2g}'):,.0f}" for number in self)
        if least is None:
            return "—"
        return f"at least {least}" if needed is None or most is None else f"{needed} ({least} to {most})"


NOT_KNOWN = RespondentsNeeded(None, None, None)


def respondents_with(noncentrality: float, df: int, n: int, power: float, alpha: float) -> int | None:
    """Return how many respondents a test needs for a power, if this is its noncentrality with n; None: no number."""
    from scipy.special import chdtri, chndtrinc

    needed = float(chndtrinc(chdtri(df, alpha), df, 1 - power))
    enough = noncentrality > 0 and n * needed < _MOST_RESPONDENTS * noncentrality
    return max(math.ceil(n * needed / noncentrality), 1) if enough else None


def possible_shares(estimate: FloatArray, errors: FloatArray, level: float = 0.5) -> FloatArray:
    """Return estimated shares as proper ones: a quantile of what each may be, being no less than zero.

    That is x - s Φ⁻¹((1 - level) Φ(x / s)) for an estimate x with the standard error s: a normal posterior under a flat
    prior, the most frequent category being held at its median. All are then made to sum to one. At level ½ a share of
    some errors stays what it is, and one of zero becomes .67 errors. At low levels rare categories are rarer.
    """
    from scipy.special import log_ndtr, ndtri_exp

    known = np.maximum(errors, SMALLEST)
    levels = np.where(np.arange(estimate.size) == estimate.argmax(), 0.5, level)
    return on_simplex(estimate - known * ndtri_exp(np.log1p(-levels) + log_ndtr(estimate / known)))


def dependences_seen(margins: Sequence[FloatArray], evidence: Evidence) -> FloatArray:
    """Return the noncentrality of dependences of unit size by table (at its margins) and principal direction."""
    null = product_of(margins)
    _, information = evidence.score(null)
    if _is_wide(information):
        tangents = ProductOfConditionals.independent(tuple(margin.shape[-1] for margin in margins)).jacobian
        free = np.concatenate([margin[..., :-1] for margin in margins], axis=-1)
        return _principal_of_wide(information, null[0], tangents(free[0]))[None, :]
    return principal_information(_efficient(information, *departures(margins)))


def deviations_seen(model: NullModel, evidence: Evidence, null: FloatArray) -> FloatArray:
    """Return the noncentrality of one table's deviations of unit size from a null model, made steadier, by axis."""
    null = steadied(model, evidence, null)
    parameters = model.nearest(null)
    frequencies = on_simplex(model.frequencies(parameters))
    _, information = evidence.score(frequencies[None, :])
    if _is_wide(information):
        return _principal_of_wide(information, frequencies, model.jacobian(parameters))
    return principal_information(information_beyond(model, evidence, null))


def _is_wide(information: Information) -> bool:
    """Say whether an information is large, and structured enough for its diagonal to tell the eigenvalues."""
    columns = 0 if information.left is None else information.left.shape[-1]
    return bool(columns <= _FEW_COLUMNS and information.diagonal.shape[-1] > _MOST_EIGENVALUES)


def _principal_of_wide(information: Information, frequencies: FloatArray, tangents: FloatArray) -> FloatArray:
    """Return about what is seen in the principal directions beside the tangents, without a matrix between all cells.

    In units in which deviations have Cohen's w, the information is diag(w) plus a few columns, less what the tangents
    take. So its eigenvalues interlace with the sorted w, as many places off as there are tangents (Cauchy), and the
    average of so many directions knows little but their sum, which is exact.
    """
    root = np.sqrt(frequencies)[:, None]
    known = np.linalg.qr(np.hstack([root, tangents / root])).Q
    diagonal, weighted = information.diagonal[0] * frequencies, root * information.times(tangents)[0]
    total = float(diagonal.sum())
    if information.left is not None and information.core is not None:
        left = root * information.left[0]
        total += float(((left @ information.core[0]) * left).sum())
    taken = np.trace(information.between(root * known)[0])
    beside = weighted - known @ (known.T @ weighted)
    taken += (beside * (beside @ np.linalg.pinv(information.between(tangents)[0], hermitian=True))).sum()
    spare = known.shape[1]
    likely = np.sort(np.maximum(diagonal, 0))[spare // 2 : diagonal.size - spare + spare // 2]
    principal: FloatArray = likely * max(total - float(taken), 0.0) / likely.sum()
    return principal


def steadied(model: NullModel, evidence: Evidence, null: FloatArray) -> FloatArray:
    """Return a null model's fitted frequencies with none as rare as noise alone would make it."""
    parameters = model.nearest(null)
    if not parameters.size:
        return null
    tangents = model.jacobian(parameters)
    _, information = evidence.score(on_simplex(model.frequencies(parameters))[None, :])
    covariance = tangents @ shortest(information.between(tangents), np.eye(parameters.size))[0]
    return possible_shares(null, np.sqrt(np.maximum((covariance * tangents).sum(axis=1), 0)))


def information_beyond(model: NullModel, evidence: Evidence, null: FloatArray) -> FloatArray:
    """Return what all reports tell about deviations from a null model, its parameters being unknown."""
    parameters = model.nearest(null)
    # at the very frequencies that scale the deviations: reports cannot tell more than the cells themselves then
    _, information = evidence.score(on_simplex(model.frequencies(parameters))[None, :])
    beyond: FloatArray = _efficient(information, deviations(model, parameters), model.jacobian(parameters))[0]
    return beyond


def information_added(smaller: LogLinear, larger: LogLinear, evidence: Evidence, null: FloatArray) -> FloatArray:
    """Return what all reports tell about what a larger model adds to a smaller one, whose parameters are unknown.

    What it adds are the columns δ with Σ δ²/π = 1 that the larger one reaches from the smaller one's frequencies π,
    orthogonal to those that the smaller one reaches, and to each other in that sense.
    """
    frequencies = on_simplex(smaller.frequencies(smaller.nearest(null)))
    root = np.sqrt(frequencies)[:, None]
    own, further = (model.tangents(frequencies) / root for model in (smaller, larger))
    known = np.linalg.qr(own).Q
    left, sizes, _ = np.linalg.svd(further - known @ (known.T @ further), full_matrices=False)
    rank = int(np.count_nonzero(sizes > sizes.max() * root.size * np.finfo(float).eps))
    count = min(rank, larger.design.shape[1] - smaller.design.shape[1])
    _, information = evidence.score(frequencies[None, :])
    added: FloatArray = _efficient(information, root * left[:, :count], smaller.tangents(frequencies))[0]
    return added


def deviations(model: NullModel, parameters: FloatArray) -> FloatArray:
    """Return what a null model excludes, as columns δ with Σ δ²/π = 1, orthogonal to it and each other in that sense.

    For independence they are the dependences that leave the margins alone. The length of a sum of them, √(Σ δ²/π), is
    Cohen's w; for two attributes it is Cramér's V times √(min(r, c) − 1).
    """
    root = np.sqrt(on_simplex(model.frequencies(parameters)))
    tangents = np.column_stack([root, model.jacobian(parameters) / root[:, None]])
    left, sizes, _ = np.linalg.svd(tangents)
    rank = int(np.count_nonzero(sizes > sizes.max() * root.size * np.finfo(float).eps))
    excluded: FloatArray = root[:, None] * left[:, rank:]
    return excluded


def report_information(noise: NoiseModel, margins: Sequence[FloatArray], tested: TestedAxes = None) -> FloatArray:
    """Return what one report tells about departures from the product of the margins, these being unknown."""
    information: FloatArray = _efficient(_of_a_report(noise, product_of(margins)), *departures(margins, tested))[0]
    return information


def even_information(noise: NoiseModel, margins: Sequence[FloatArray]) -> float | None:
    """Return what one report tells about any contrast of equally frequent cells; None where contrasts differ.

    For noise alike and independent for all values it is a multiple of the identity; no matrix between cells is needed.
    """
    product = product_of(margins)
    if np.ptp(product) > _EVEN * product.max() or not noise.exchangeable:
        return None
    seen = _of_a_report(noise, np.full(product.size, 1 / product.size)).diagonal[0]
    return float(seen[0]) if np.ptp(seen) <= _EVEN * seen.max() else None


def degrees_of_freedom(noise: NoiseModel, shape: Sequence[int], tested: TestedAxes = None) -> int:
    """Return how many departures from independence reports identify, at irregular margins: symmetry may hide some."""
    proper = [irregular(side) for side in shape]
    information = _of_a_report(noise, product_of(proper))
    directions, tangents = departures(proper, tested)
    everything, free = (information.between(columns)[0] for columns in (np.hstack([directions, tangents]), tangents))
    return _rank(everything) - _rank(free)


def product_of(margins: Sequence[FloatArray]) -> FloatArray:
    """Return the frequencies of all cells if the attributes are independent, the last one varying fastest."""
    product: FloatArray = np.ones(1)
    for margin in margins:
        product = (product[..., :, None] * margin[..., None, :]).reshape(*margin.shape[:-1], -1)
    return product


def departures(margins: Sequence[FloatArray], tested: TestedAxes = None) -> tuple[FloatArray, FloatArray]:
    """Return what independence excludes and what it leaves free, as columns δ with Σ δ²/π = 1, all orthogonal so.

    These are the `deviations` of independence in closed form, for large tables. Every attribute has a basis that begins
    with its own margin. Of their tensor products those with one other factor move a margin; those with several are
    dependences. Independence of two attributes given all others excludes those in which both have another factor. The
    frequencies of a single attribute are a hypothesis themselves: nothing is free then.
    """
    basis: FloatArray = np.ones((1, 1))
    moved = np.zeros((1, 0), dtype=bool)
    for margin in margins:
        root = np.sqrt(margin)[..., None]
        basis = kronecker(basis, root * np.concatenate([root, orthogonal_to(root[..., 0])], axis=-1))
        own = np.tile(np.arange(margin.shape[-1]) > 0, len(moved))
        moved = np.column_stack([np.repeat(moved, margin.shape[-1], axis=0), own])
    if tested is not None:
        excluded = moved[:, list(tested)].all(axis=1)
    else:
        excluded = moved.sum(axis=1) > (1 if len(margins) > 1 else 0)
    return basis[..., excluded], basis[..., ~excluded & moved.any(axis=1)]


def _of_a_report(noise: NoiseModel, frequencies: FloatArray) -> Information:
    return noise.score(frequencies[None, :], np.zeros((1, noise.outputs)), 1)[1]


def _efficient(information: Information, directions: FloatArray, tangents: FloatArray) -> FloatArray:
    """Return the information about directions while the tangents are unknown: (tables, directions, directions)."""
    known = information.between(directions)
    if not tangents.shape[-1]:
        return known
    cross = np.swapaxes(directions, -1, -2) @ information.times(tangents)
    free = np.linalg.pinv(information.between(tangents), hermitian=True)
    remaining: FloatArray = known - cross @ free @ np.swapaxes(cross, -1, -2)
    return remaining


def principal_information(information: FloatArray) -> FloatArray:
    """Return the eigenvalues of an information in rising order, none negative by rounding."""
    values: FloatArray = np.maximum(np.linalg.eigvalsh(information), 0)
    return values


def _rank(information: FloatArray) -> int:
    return int(np.linalg.matrix_rank(information, hermitian=True)) if information.size else 0


def orthogonal_to(unit: FloatArray) -> FloatArray:
    """Return orthonormal columns that are orthogonal to a unit vector with positive entries."""
    rest = np.broadcast_to(np.eye(unit.shape[-1])[:, 1:], (*unit.shape, unit.shape[-1] - 1))
    return np.linalg.qr(np.concatenate([unit[..., None], rest], axis=-1)).Q[..., 1:]
