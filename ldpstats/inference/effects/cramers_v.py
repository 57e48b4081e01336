"""Cramér's V and mutual information, corrected for the randomization noise that inflates every such measure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

import numpy as np

from ldpstats.confidence.confidence_sets import IntervalHull, NoncentralSquare, PossibleRange
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import Estimate
from ldpstats.inference.effects.effect_size import Effect
from ldpstats.numbers.arrays import BoolArray, FloatArray, unweighted
from ldpstats.tables import Table, checked_table
from ldpstats.tables.unbiased_cells import (
    assuming,
    covariance_of_interactions,
    is_sparse,
    never_certain,
    steadied,
    unbiased_cells,
)

_LARGE_NOISE = 0.3
_ABSENT = 1e-3
_TINY = 1e-12
_CLEARLY, _HARDLY = 2.0, 0.1
Kept: TypeAlias = tuple[BoolArray, BoolArray]
"""Masks of the categories of rows and of columns that are kept."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class Association(Effect):
    """Cramér's V: how strongly two attributes are associated, from 0 for independence to 1.

    Parameters
    ----------
    name, estimate, why_not, n, privacy, simulated, alpha, inversion, table, without, quantity
        As of every `Effect`; the estimate is V, corrected for what noise adds to it.
    plug_in : float
        V of the estimated table as it stands; noise alone makes it positive.
    noise : float
        What the uncorrected V would average with no association (root mean square).

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([700, 300, 300, 700], rng=1)
    >>> effect = ldp.association(tables["sex", "car"])
    >>> effect
    <Association: Cramér's V of sex and car = 0.4127; 95 % interval from 0.3453 to 0.4832 (simulated)>
    >>> round(effect.plug_in, 2), round(effect.noise, 2)
    (0.41, 0.04)
    """

    plug_in: float
    noise: float

    @property
    def cramers_v(self) -> float:
        """Cramér's V without the bias that noise adds; nan where it is not estimable."""
        return self.estimate

    @property
    def correction(self) -> str:
        """What V was corrected for, in words that follow it."""
        return f" (corrected for noise: with no association the uncorrected V would average {self.noise:.3f})"

    @property
    def lines(self) -> list[str]:
        """V, and what it was corrected for, or why it is not estimable."""
        if self.why_not:
            return [f"Cramér's V is not estimable: {self.why_not}"]
        return [
            f"Cramér's V{self.without}{assuming(self.table)} = {self.cramers_v:.3f} (corrected for noise)",
            f"with no association the uncorrected V would average {self.noise:.3f}",
        ]


@dataclass(frozen=True, slots=True, eq=False)
class AssociationMeasures:
    """Squared lengths of the dependence in one or many estimated tables, and what noise adds to them.

    With E the product of the estimated margins, g the deviations from it, V their covariance and M = E⁻¹V, `pearson` is
    φ² = Σ g²/E and `likelihood` twice the mutual information in nats; noise adds tr M (`added`) to either on average.
    The stretch w of a length L is ∇Lᵀ Σ ∇L / 4L. In a strong dependence that makes the variance 4wL, by the delta
    method; where there is nothing but noise it is tr M² / tr M on average, the scale of the χ² with the mean and the
    variance of Σ g²/E. `side` is the number of categories on the smaller side. Where not `possible`, as a category's
    share is not above zero, all else is that of some other table.
    """

    pearson: FloatArray
    likelihood: FloatArray
    added: FloatArray
    pearson_stretch: FloatArray
    likelihood_stretch: FloatArray
    possible: BoolArray
    side: int

    @classmethod
    def of(cls, table: FloatArray, covariance: FloatArray) -> AssociationMeasures:
        """Measure tables, shape (..., rows, columns), with the covariance of their flattened cells.

        Cells not above zero add nothing to the information; its slope takes them as .001 of what independence expects.
        """
        possible = (table.sum(axis=-1).min(axis=-1) > _TINY) & (table.sum(axis=-2).min(axis=-1) > _TINY)
        table = np.where(possible[..., None, None], table, 1 / math.prod(table.shape[-2:]))  # any other will do
        total = table.sum(axis=(-1, -2), keepdims=True)
        row, column = table.sum(axis=-1, keepdims=True) / total, table.sum(axis=-2, keepdims=True) / total
        expected = total * row * column
        excess = (table - expected) / expected
        relative = covariance_of_interactions(covariance, row, column)
        relative /= expected.reshape(*table.shape[:-2], -1, 1)
        added = np.maximum(np.trace(relative, axis1=-2, axis2=-1), 0)
        alone = np.einsum("...ij,...ji->...", relative, relative) / np.where(added > 0, added, 1.0)
        pearson = (excess**2 * expected).sum(axis=(-1, -2))
        # both derivatives in terms of g / E, so that no digits are lost where there is hardly any dependence
        slope = 2 * excess + (pearson / total[..., 0, 0])[..., None, None]
        slope = slope - (excess**2 * column).sum(axis=-1, keepdims=True) - (excess**2 * row).sum(-2, keepdims=True)
        logarithm = np.log1p(np.maximum(excess, _ABSENT - 1))
        terms = np.where(excess > -1, (1 + excess) * logarithm, 0) - excess
        likelihood = 2 * (expected * terms).sum(axis=(-1, -2))
        return cls(
            pearson,
            likelihood,
            added,
            _stretch(pearson, slope, covariance, alone),
            _stretch(likelihood, 2 * logarithm, covariance, alone),
            possible,
            min(table.shape[-2:]),
        )

    def of_table(self, index: int) -> AssociationMeasures:
        """Return the measures of one of the tables."""
        names = [field.name for field in fields(self) if field.name != "side"]
        return replace(self, **{name: getattr(self, name)[index] for name in names})

    @property
    def cramers_v(self) -> NoncentralSquare:
        """Confidence sets of Cramér's V."""
        return NoncentralSquare(self.pearson, self.added, self.pearson_stretch, self.side - 1, 0.5, 1.0)

    @property
    def mutual_information(self) -> NoncentralSquare:
        """Confidence sets of the mutual information."""
        return NoncentralSquare(self.likelihood, self.added, self.likelihood_stretch, 2.0, 1.0, math.log(self.side))

    @property
    def uncorrected(self) -> FloatArray:
        """Squared Cramér's V of the estimated table, before the correction for noise."""
        return self.pearson / (self.side - 1)

    @property
    def noise(self) -> FloatArray:
        """Squared Cramér's V that noise alone would show on average."""
        return self.added / (self.side - 1)

    @property
    def problems(self) -> tuple[BoolArray, BoolArray]:
        """Masks of tables in which noise alone would show a V of .3 or more, and of those too far from any possible."""
        return self.noise >= _LARGE_NOISE**2, self.uncorrected - self.noise > (1 + 2 * np.sqrt(self.noise)) ** 2

    @property
    def estimable(self) -> BoolArray:
        """Mask of tables whose association is estimable."""
        drowned, beyond = self.problems
        return self.possible & ~drowned & ~beyond

    @property
    def why_not(self) -> str:
        """Why one table's association is not estimable; empty if it is."""
        drowned, beyond = self.problems
        if drowned:
            return f"with no association the uncorrected V would average {math.sqrt(self.noise):.2f}"
        return "the estimated table is too far from any possible one" if beyond else ""


@unweighted
def association(table: Table, alpha: float = 0.05) -> Association:
    """Return the bias-corrected Cramér's V of a two-way table.

    With E the product of the estimated margins, g the deviations from it and V their covariance,
    φ² = Σ g²/E − Σ V_vv/E, and Cramér's V is the root of max(φ², 0) / (min(r, c) − 1), at most 1. Where noise
    alone would show a V of .3 or more, V is called not estimable, and the interval is all from 0 to 1. It always
    starts from the table's "unbiased" estimate, whatever its method: what is taken off is the excess of a linear,
    unbiased estimate. Of a reconstructed table whose reports leave cells open it is V under the table's assumption,
    which it names; where what fills them in is no model that could be true, V is not estimable.

    Categories whose estimated share is not above zero are left out, and named: V is that of the others. If noise still
    drowns it, so are those that hold no more than a tenth together and are not clearly above zero, by two standard
    errors. Put them together with others by `table.collapse({...})` to keep them.

    The interval inverts a noncentral χ², see `NoncentralSquare`. Near V = 0, where hardly any lower limit is missed, it
    covers more often than asked: .97 to .99 where .95 are (measured for tables from 2 by 2 to 4 by 4). Where some
    report was counted fewer than 20 times the covariance is that of a table with half a respondent more in every cell,
    and what follows from that table itself is in the interval as well. Cramér's V is also written Cramer's V. For a
    2-by-2 contingency table it is the absolute phi coefficient.

    Parameters
    ----------
    table : Table
        A two-way table.
    alpha : float
        One minus the level of the interval.

    Returns
    -------
    Association
        V as `cramers_v`, nan where it is not estimable, and its interval by `conf_int`.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, association
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 100, 100, 400]) * 100, rng=1)
    >>> round(association(tables["sex", "car"]).cramers_v, 2)
    0.6
    """
    pair = _measured_pair(table)
    squares = (math.nan, math.nan) if pair.measures is None else (pair.measures.uncorrected, pair.measures.noise)
    plug_in, noise = (math.sqrt(float(square)) for square in squares)
    estimate = pair.cramers_v
    sets = tuple(measured.cramers_v for measured in pair.sets(table))
    name = f"Cramér's V of {' and '.join(table.attributes)}{pair.without}"
    more = {"plug_in": plug_in, "noise": noise, "without": pair.without, "quantity": "Cramér's V"}
    inversion = IntervalHull(sets) if sets else PossibleRange(0.0, 1.0)
    return Association.of(table, name, estimate, inversion, pair.why_not, alpha, **more)


@unweighted
def mutual_information(table: Table, alpha: float = 0.05) -> Effect:
    """Return the mutual information of two attributes in nats, without the bias that noise adds to first order.

    It is Σ π ln(π / E) − ½ Σ V_vv/E, at least 0 and at most the logarithm of the smaller number of categories, with
    E, V and the unbiased estimate as in `association`, and not estimable where Cramér's V is not. Cells that are
    not estimated above zero add nothing. Where noise makes small cells uncertain the estimate is somewhat too large
    nevertheless, as the correction is of first order, and the interval covers more than asked.

    Parameters
    ----------
    table : Table
        A two-way table.
    alpha : float
        One minus the level of the interval.

    Returns
    -------
    Effect
        The mutual information in nats, with its interval by `conf_int`.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, mutual_information
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 100, 100, 400]) * 100, rng=1)
    >>> mutual_information(tables["sex", "car"]).headline
    'mutual information of sex and car in nats = 0.1936; 95 % interval from 0.1898 to 0.1975 (simulated)'
    """
    pair, estimate = _measured_pair(table), math.nan
    measures = pair.sets(table)
    highest = math.log(measures[0].side if measures else min(table.shape))
    if pair.measures is not None and not pair.why_not:
        estimate = min(max(float(pair.measures.likelihood - pair.measures.added) / 2, 0.0), highest)
    sets = tuple(measured.mutual_information for measured in measures)
    name = f"mutual information of {' and '.join(table.attributes)}{pair.without} in nats"
    inversion = IntervalHull(sets) if sets else PossibleRange(0.0, highest)
    more = {"without": pair.without, "quantity": "mutual information in nats"}
    return Effect.of(table, name, estimate, inversion, pair.why_not, alpha, **more)


def measured_categories(table: Table) -> Kept:
    """Return which rows, and which columns, of a two-way table V is that of; none where it is not estimated."""
    rows, columns = (np.zeros(size, dtype=bool) for size in two_way_shape(table))
    return _measured_pair(table).kept or (rows, columns)


def expected_association(
    cells: FloatArray, seen: FloatArray, moved: FloatArray
) -> tuple[AssociationMeasures, AssociationMeasures] | None:
    """Measure an expected table as `association` would, among the categories it would keep; None if not estimable.

    One measure has the covariance (cells, cells) that is estimated, `seen`, the other that of estimates, `moved`.
    """
    for errors in (0.0, _CLEARLY):
        kept = _kept(cells, seen, errors)
        if min(map(np.count_nonzero, kept)) >= 2 and (not errors or cells[np.outer(*kept)].sum() >= 1 - _HARDLY):
            measures = _measures_among(kept, cells, seen)
            if not measures.why_not:
                return measures, _measures_among(kept, cells, moved)
    return None


def measured_pairs(tables: Sequence[Table]) -> list[MeasuredPair]:
    """Measure the association in tables of one shape as `association` does, those of full size at once."""
    every = [unbiased_cells(table) for table in tables]
    known = {index: cells for index, cells in enumerate(every) if not isinstance(cells, str)}
    if not known:
        return [_measured_pair(table) for table in tables]
    estimates = np.stack([cells.estimate for cells in known.values()])
    covariances = np.stack([never_certain(tables[index], cells) for index, cells in known.items()])
    measures = AssociationMeasures.of(estimates.reshape(-1, *tables[0].shape), covariances)
    whole = {index: measures.of_table(row) for row, index in enumerate(known) if measures.estimable[row]}
    return [
        MeasuredPair("", whole[index]) if index in whole else _measured_pair(table)
        for index, table in enumerate(tables)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredPair:
    """Association among the categories of a table that are there, or why there is none; `missing` names the others."""

    why_not: str
    measures: AssociationMeasures | None = None
    missing: str = ""
    kept: Kept | None = None

    @property
    def cramers_v(self) -> float:
        """Cramér's V, corrected for noise; nan where it is not estimable."""
        if self.why_not or self.measures is None:
            return math.nan
        plug_in, noise = (math.sqrt(float(square)) for square in (self.measures.uncorrected, self.measures.noise))
        return math.sqrt(min(max(plug_in**2 - noise**2, 0.0), 1.0))

    @property
    def without(self) -> str:
        """Which categories are left out, in words that follow the name."""
        return f" (without {self.missing}, hardly or not at all seen)" if self.missing else ""

    def sets(self, table: Table) -> tuple[AssociationMeasures, ...]:
        """Return the measures whose confidence sets an interval holds: two (see `steadied`) where a report is rare."""
        if self.why_not or self.measures is None or self.kept is None:
            return ()
        cells = unbiased_cells(table)
        if isinstance(cells, str) or not is_sparse(table):
            return (self.measures,)
        moved = steadied(table, cells)
        both = (estimate.reshape(table.shape) for estimate in (cells.estimate, moved.estimate))
        return tuple(_measures_among(self.kept, shares, moved.covariance) for shares in both)


def _kept(cells: FloatArray, covariance: FloatArray, errors: float) -> Kept:
    """Keep categories with a share more than so many standard errors above zero, given the others that are kept."""
    axes = (np.ones(cells.shape[0], dtype=bool), np.ones(cells.shape[1], dtype=bool))
    for _ in range(sum(cells.shape)):
        chosen = np.outer(*axes)
        below = []
        for axis in (0, 1):
            share = np.where(chosen, cells, 0).sum(axis=1 - axis)
            needed = errors * _standard_errors(chosen, covariance, axis) if errors else 0.0
            below.append(axes[axis] & (share <= np.maximum(needed, _TINY)))
        if not any(mask.any() for mask in below):
            break
        axes = (axes[0] & ~below[0], axes[1] & ~below[1])
    return axes


def _measures_among(kept: Kept, cells: FloatArray, covariance: FloatArray) -> AssociationMeasures:
    """Return the association among what is kept, with shares rescaled to sum to one if anything is left out."""
    chosen = np.outer(*kept)
    if chosen.all():
        return AssociationMeasures.of(cells, covariance)
    part = cells[chosen]
    total = part.sum()
    of_part = covariance[np.ix_(chosen.ravel(), chosen.ravel())]
    of_part /= total**2
    return AssociationMeasures.of((part / total).reshape(kept[0].sum(), -1), of_part)


def _measured_pair(table: Table) -> MeasuredPair:
    """Measure the association between the categories that are there, or say why it is not estimable."""
    two_way_shape(table)
    cells = unbiased_cells(table)
    if isinstance(cells, str):
        return MeasuredPair(cells)
    first = _measured(table, cells, 0.0)
    if not first.why_not:
        return first
    second = _measured(table, cells, _CLEARLY)
    shares = cells.estimate.reshape(table.shape)
    if not second.why_not and 1 - shares[np.outer(*_kept(shares, cells.covariance, _CLEARLY))].sum() <= _HARDLY:
        return second
    rare = second.missing or first.missing
    advice = f"; hardly or not at all seen: {rare}; table.collapse({{...}}) puts categories together" if rare else ""
    return replace(first, why_not=f"{first.why_not}{advice}")


def _measured(table: Table, cells: Estimate, errors: float) -> MeasuredPair:
    """Measure the association among the categories that are so many standard errors above zero."""
    shares, covariance = cells.estimate.reshape(table.shape), never_certain(table, cells)
    kept = _kept(shares, covariance, errors)
    named = [
        (attribute, [str(table.domain.categories[attribute][index]) for index in np.flatnonzero(~own)])
        for attribute, own in zip(table.attributes, kept, strict=True)
    ]
    missing = " and ".join(f"{attribute} {one_line(categories)}" for attribute, categories in named if categories)
    sizes = [int(own.sum()) for own in kept]
    if min(sizes) < 2:
        few = table.attributes[int(np.argmin(sizes))]
        why = f"fewer than two categories of {few} have an estimated share above zero"
        return MeasuredPair(why, missing=missing, kept=kept)
    measures = _measures_among(kept, shares, covariance)
    return MeasuredPair(measures.why_not, measures, missing, kept)


def _standard_errors(chosen: BoolArray, covariance: FloatArray, axis: int) -> FloatArray:
    index = np.indices(chosen.shape)[axis]
    lines = np.stack([(chosen & (index == category)).ravel() for category in range(chosen.shape[axis])])
    errors: FloatArray = np.sqrt(np.maximum(((lines @ covariance) * lines).sum(axis=1), 0))
    return errors


def _stretch(length: FloatArray, slope: FloatArray, covariance: FloatArray, alone: FloatArray) -> FloatArray:
    flat = slope.reshape(*length.shape, 1, -1)
    variance = (flat @ covariance @ np.swapaxes(flat, -1, -2))[..., 0, 0]
    return np.where(length > _TINY, variance / 4 / np.where(length > _TINY, length, 1.0), alone)


def two_way_shape(table: Table) -> tuple[int, int]:
    """Return rows and columns of a two-way table; refuse anything else."""
    checked_table(table)
    if len(table.shape) != 2:
        raise LdpstatsError(
            f"a table of {len(table.shape)} attributes {table.attributes!r}",
            "a two-way table",
            "Take one with table.marginal([...]).",
        )
    return table.shape[0], table.shape[1]
