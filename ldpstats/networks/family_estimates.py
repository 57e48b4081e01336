"""Families of a network: the cells of an attribute and its parents, from what tables measure, and smoothed rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.consistency.marginals import Marginal, as_collected, refuse_untold
from ldpstats.consistency.maximum_entropy import weighed_together
from ldpstats.consistency.profile_limits import ProfileLikelihood
from ldpstats.consistency.reconstruction_methods import RECONSTRUCTION_METHODS
from ldpstats.consistency.relevant_marginals import relevant_marginals
from ldpstats.errors import NotIdentifiedError, one_line
from ldpstats.estimation.simplex import nearest_in_information, nearest_proper
from ldpstats.limits import refuse_too_large, refuse_too_many_cells
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.presentation import progress
from ldpstats.tables import Table, TableSet
from ldpstats.tables.pooled import pooled_table, solving
from ldpstats.tables.shared import Contribution, Stacked, overlapping

_EMPTY = 1e-12
_HALVINGS = 60
_LEAST_SPREAD = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class SmoothedRows:
    """The proportions of an attribute's categories given its parents, and how well they are known.

    How well is said in respondents: so many of them, asked without noise, would leave the same variance.
    """

    # shape (..., categories, rows), a row for each combination of parents' categories; even where nobody has it
    proportions: FloatArray
    # summed over each row, shape (..., rows); infinite where nobody has these parents' categories
    variances: FloatArray

    @classmethod
    def of(cls, cells: FloatArray, covariance: FloatArray) -> SmoothedRows:
        """Divide proper cells, shape (..., categories, rows), by their rows' sums; variances by the delta method."""
        own, many = cells.shape[-2:]
        within = np.einsum("icjc->cij", covariance.reshape(own, many, own, many))
        totals = cells.sum(axis=-2)
        held = totals > _EMPTY
        shares = np.divide(cells, totals[..., None, :], out=np.full(cells.shape, 1 / own), where=held[..., None, :])
        # of the cells less the proportions of their sum, which is what the proportions vary by
        crossed = np.einsum("...ic,cij->...c", shares, within)
        left = np.einsum("cii->c", within) - 2 * crossed + (shares**2).sum(axis=-2) * within.sum(axis=(1, 2))
        variances = np.divide(np.maximum(left, 0), totals**2, out=np.full(totals.shape, np.inf), where=held)
        return cls(shares, variances)

    def respondents(self, spread: float | FloatArray) -> FloatArray:
        """Return how many respondents without noise leave the same variances, if one's answer varies by `spread`."""
        wide = np.broadcast_to(np.asarray(spread, dtype=float)[..., None], self.variances.shape)
        known: FloatArray = np.divide(wide, self.variances, out=np.full(wide.shape, np.inf), where=self.variances > 0)
        return known

    def towards(self, others: FloatArray, weight: float | FloatArray, spread: float | FloatArray) -> FloatArray:
        """Return the proportions averaged with others, which count for `weight` respondents; see `respondents`."""
        known, added = self.respondents(spread), np.asarray(weight, dtype=float)[..., None]
        total = known + added
        # nothing known, and nothing to be added: there the others are all that there is
        share = np.divide(added, total, out=np.ones_like(total), where=total > 0)[..., None, :]
        return np.asarray((1 - share) * self.proportions + share * others)

    def weight_of_margin(self, margin: FloatArray, least: float) -> FloatArray:
        """Return how many respondents the margin counts for in each row, at least `least`: an empirical-Bayes estimate.

        It belongs to the variance τ² of true rows around the margin, which is found as Paule & Mandel (1982) do: the
        squared distances of the rows, each over its expectation τ² + variance, add up to one less than there are rows.
        As of a Dirichlet prior with these parameters in all, τ² = spread / (weight + 1).
        """
        told = np.isfinite(self.variances)
        distances = ((self.proportions - margin[..., None]) ** 2).sum(axis=-2)
        variances = np.where(told, np.maximum(self.variances, np.finfo(float).tiny), 1.0)
        spread = spread_of(margin)
        low, high = np.zeros(spread.shape), np.full(spread.shape, 2.0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            ratios = np.where(told, distances / (variances + middle[..., None]), 0).sum(axis=-1)
            more = ratios > told.sum(axis=-1) - 1
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        return np.asarray(np.maximum(spread / np.maximum(high, _LEAST_SPREAD) - 1, least))


def spread_of(margin: FloatArray) -> FloatArray:
    """Return the variance of one respondent's answer, Σ p (1 − p) over the categories."""
    return np.asarray((margin * (1 - margin)).sum(axis=-1))


MAXIMUM_ENTROPY = "max-entropy"
"""The method by which families are reconstructed that nobody was asked about together."""
LARGEST_FAMILY = 1 << 10
"""The most cells of an attribute and its parents: making 1,024 of them proper in their covariance takes seconds."""
_FEWER = "Fit a network of fewer attributes: those that a query is about, and their ancestors."
# so few reports show how far they scatter
_TO_SPREAD = 2
# directions in which estimates have no more than this share of the largest variance are known
_KNOWN = 1e-12
_MANY = 128
# so many numbers of equations of projections are handled at once
_AT_ONCE = 1 << 23


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """The estimated cells of an attribute and its parents, which follow it in the domain by name."""

    domain: Domain
    cells: FloatArray  # unbiased, so that some may be negative; proper under an assumption
    # by the place of a table: what its cells are multiplied by, shape (cells, cells of that table)
    operators: Mapping[int, FloatArray]
    assumption: str = ""  # what must hold beside the reports; empty where these identify all cells

    @property
    def attribute(self) -> str:
        """The attribute that the others are parents of."""
        return self.domain.names[0]

    @property
    def parents(self) -> tuple[str, ...]:
        """Its parents, by name."""
        return self.domain.names[1:]

    @property
    def rows(self) -> tuple[int, int]:
        """The numbers of its categories, and of combinations of its parents' categories."""
        own = self.domain.shape[0]
        return own, self.cells.size // own

    def proper(self, estimates: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return proper cells near to estimates of them, shape (tables, cells).

        Where reports identify the cells, these are nearest in the covariance, so that what is known well is moved
        least: all but the maximum likelihood. Else those that no group tells apart would be moved at no cost at all,
        and they are nearest by squares; so are many estimates of very many cells, which would take minutes.
        """
        found = np.array(estimates, dtype=float)
        improper = np.flatnonzero((found < 0).any(axis=1))
        if self.assumption or (improper.size > 1 and self.cells.size > _MANY):
            return nearest_proper(found)
        values, directions = np.linalg.eigh(covariance)
        known = values > _KNOWN * values.max()
        information = (directions[:, known] / values[known]) @ directions[:, known].T
        step = max(1, _AT_ONCE // self.cells.size**2)
        for first in range(0, improper.size, step):
            places = improper[first : first + step]
            scores = (found[places] - self.cells) @ information
            found[places] = nearest_in_information(scores, information, self.cells).frequencies
        proper: FloatArray = found / found.sum(axis=1, keepdims=True)
        return proper


@dataclass(frozen=True, eq=False)
class FamilyEstimates:
    """The estimated families of a network, in the order of the attributes' names, and the covariance of their cells."""

    units: tuple[Table, ...]
    families: tuple[Family, ...]
    _within: dict[int, FloatArray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, tables: TableSet, parents: Mapping[str, Sequence[str]]) -> FamilyEstimates:
        """Estimate the families of a network from all tables that tell something about them."""
        domains = [tables.domain.project((name, *sorted(parents[name]))) for name in sorted(parents)]
        for domain in domains:
            refuse_too_many_cells(domain.size(), f"{' and '.join(domain.names)} together: a table", LARGEST_FAMILY)
        collected = [table for table in as_collected(tables) if table.n >= _TO_SPREAD]
        _refuse_hardly_asked(collected, domains)
        estimator = _Estimator(_telling(collected, domains), tables)
        families = tuple(estimator.family(domain) for domain in progress(domains, "fitting", unit="attribute"))
        return cls(tuple(estimator.units), families)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where the cells of each family stand in the rows and columns of the covariance."""
        ends = np.cumsum([0, *(one.cells.size for one in self.families)]).tolist()
        return tuple(slice(start, end) for start, end in pairwise(ends))

    @cached_property
    def bound(self) -> str:
        """Why the covariance is an upper bound, in words; empty if it is the covariance itself."""
        return self._stacked.bound if self._stacked else ""

    @cached_property
    def covariance(self) -> FloatArray:
        """The covariance of the cells of all families."""
        size = self.places[-1].stop
        refuse_too_large((size, size), "the covariance of the cells of all families: a matrix", _FEWER)
        return self._covariance_of(self.families)

    def covariance_within(self, place: int) -> FloatArray:
        """Return the covariance of the cells of the family at one place."""
        if place not in self._within:
            self._within[place] = self._covariance_of(self.families[place : place + 1])
        return self._within[place]

    def _covariance_of(self, families: Sequence[Family]) -> FloatArray:
        starts = np.cumsum([0, *(one.cells.size for one in families)]).tolist()
        size, parts = starts[-1], []
        for place, table in enumerate(self.units):
            # which cells one table tells about, and the matrix that takes its cells to them
            shown = [(start, one) for start, one in zip(starts, families, strict=False) if place in one.operators]
            cells = [np.arange(start, start + one.cells.size) for start, one in shown]
            matrices = [np.zeros((0, table.domain.size())), *(one.operators[place] for _, one in shown)]
            parts.append(Contribution(np.concatenate([np.arange(0), *cells]), np.vstack(matrices)))
        if self._stacked:
            return self._stacked.covariance_of(parts, size)
        total = np.zeros((size, size))
        for table, (places, matrix) in zip(self.units, parts, strict=True):
            if places.size:
                total[np.ix_(places, places)] += matrix @ table.linear[1] @ matrix.T
        return total

    @cached_property
    def _stacked(self) -> Stacked | None:
        """The joint covariance of tables that share respondents; None, if none do."""
        return Stacked.of(self.units) if overlapping(self.units) else None

    def deviations(self, size: int, rng: np.random.Generator) -> list[FloatArray]:
        """Draw normal errors of the cells of all families, shape (size, cells) for each, with the reports' covariance.

        The symmetric root of it, and random numbers that belong to categories by name, make them the same in whatever
        order tables, attributes and categories stand.
        """
        numbers = rng.standard_normal((size, self.places[-1].stop))
        for at, one in zip(self.places, self.families, strict=True):
            numbers[:, at] = numbers[:, at][:, by_name(one.domain)]
        moved = numbers @ self._root
        return [moved[:, at] for at in self.places]

    @cached_property
    def _root(self) -> FloatArray:
        """The symmetric root of the covariance."""
        values, directions = np.linalg.eigh(self.covariance)
        return np.asarray((directions * np.sqrt(np.maximum(values, 0))) @ directions.T)


def by_name(domain: Domain) -> IntArray:
    """Return the place that every cell would have, were the categories of each attribute ordered by name."""
    ranks = []
    for values in domain.categories.values():
        order = sorted(range(len(values)), key=lambda place: (type(values[place]).__name__, repr(values[place])))
        ranks.append(np.argsort(order))
    return np.ravel_multi_index(np.ix_(*ranks), domain.shape).ravel()


class _Estimator:
    """Estimates families from tables that are read once for all of them."""

    def __init__(self, units: Sequence[Table], tables: TableSet) -> None:
        self.units, self._privacy = list(units), tables.privacy
        self._marginals: dict[int, Marginal] = {}
        for place, table in enumerate(units):
            # where cells are left open, blocks may still tell something together with others
            with suppress(NotIdentifiedError):
                self._marginals[place] = Marginal.of(table)
        self._place_of = {id(one.table): place for place, one in self._marginals.items()}

    def family(self, domain: Domain) -> Family:
        """Estimate a family, by maximum entropy where reports leave cells open."""
        with suppress(NotIdentifiedError):
            return self._identified(domain)
        if not self._may_be_counted_together(domain):
            return self._assumed(domain)
        try:
            pooled = pooled_table(self.units, domain, self._privacy)
        except NotIdentifiedError:
            return self._assumed(domain)
        self.units.append(pooled)
        cells = pooled.linear[0]
        return Family(domain, cells, {len(self.units) - 1: np.eye(cells.size)})

    def _identified(self, domain: Domain) -> Family:
        """Pool the margins of all tables within the family, weighed by their variances at what all say together.

        Weighed by its own estimate, a table in which something rare was counted too seldom would count for more.
        """
        margins = {}
        for place, one in self._marginals.items():
            kept = tuple(name for name in domain.names if name in one.attributes)
            if kept:
                margins[place] = one.added_up(kept)
        refuse_untold(domain.names, [one.attributes for one in margins.values()])
        sums = np.vstack([np.eye(one.estimate.size)[:, domain.onto(one.attributes)] for one in margins.values()])
        values = np.concatenate([one.estimate for one in margins.values()])
        even, n = np.full(domain.size(), 1 / domain.size()), sum(one.n for one in margins.values())
        ends = np.cumsum([one.estimate.size for one in margins.values()])[:-1]
        given, cells = list(margins.values()), even
        for _ in range(2):
            inverse = solving(sums, np.concatenate([1 / one.precision for one in given]), n)
            cells = even + inverse @ (values - sums @ even)
            expected = np.split(sums @ cells, ends)
            given = [replace(one, expected=own) for one, own in zip(given, expected, strict=True)]
        parts = zip(margins.items(), np.split(inverse, ends, axis=1), strict=True)
        return Family(domain, cells, {place: own @ one.sums for (place, one), own in parts})

    def _may_be_counted_together(self, domain: Domain) -> bool:
        """Say whether there are rows of answers about all attributes, or blocks that tell more than their tables do."""
        asked = (rows.domain.names for table in self.units for rows in table.rows)
        return len(self._marginals) < len(self.units) or any(set(domain.names).issubset(names) for names in asked)

    def _assumed(self, domain: Domain) -> Family:
        """Reconstruct the family as `reconstruct` does; its operators are those of the linear approximation."""
        chosen = relevant_marginals(self._marginals.values(), domain.names)
        marginals = weighed_together(chosen.marginals)
        profile = ProfileLikelihood(tuple(marginals), domain.names)
        model = profile.model
        response = profile.response @ model.known.inverse
        operators: dict[int, FloatArray] = {}
        for one, (places, matrix) in zip(marginals, model.known.contributions, strict=True):
            place = self._place_of[id(one.table)]
            operators[place] = operators.get(place, 0) + response[:, places] @ matrix
        groups = sorted({tuple(sorted(one.attributes)) for one in chosen.marginals})
        assumption = RECONSTRUCTION_METHODS[MAXIMUM_ENTROPY].assumption(tuple(groups), domain.names)
        return Family(domain, model.marginal(domain.names), operators, assumption)


def _refuse_hardly_asked(tables: Iterable[Table], domains: Iterable[Domain]) -> None:
    known = {name for table in tables for name in table.attributes}
    lacking = [name for name in sorted({name for one in domains for name in one.names}) if name not in known]
    if lacking:
        raise NotIdentifiedError(
            f"no table with two reports or more about {one_line(lacking)}",
            "attributes that respondents were asked about",
            "Leave these out, or collect more respondents.",
        )


def _telling(tables: Sequence[Table], domains: Sequence[Domain]) -> list[Table]:
    """Return the tables that families are estimated from, in an order that does not depend on the set's.

    These are all, unless respondents are behind several: then only those about two attributes of a family, or about an
    attribute that no other tells of. Further margins add little, and what all have in common would take long.
    """
    named = sorted(tables, key=lambda table: sorted(table.attributes))
    if not overlapping(named):
        return named
    kept = [table for table in named if any(len(set(table.attributes).intersection(one.names)) > 1 for one in domains)]
    known = {name for table in kept for name in table.attributes}
    missing = {domain.names[0] for domain in domains} - known
    return kept + [table for table in named if not missing.isdisjoint(table.attributes)]
