"""Families of a network: the cells of an attribute and its parents, from what tables measure, and smoothed rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from ldpstats.privacy import PrivacyStatement
from ldpstats.tables import Table, TableSet
from ldpstats.tables.pooled import pooled_table, solving
from ldpstats.tables.shared import Contribution, Stacked, overlapping

_EMPTY = 1e-12
_HALVINGS = 60
_LEAST_VARIANCE = 1e-9


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

    def respondents(self, variance: float | FloatArray) -> FloatArray:
        """Return how many respondents without noise leave the same variances, if one's answer has this variance."""
        wide = np.broadcast_to(np.asarray(variance, dtype=float)[..., None], self.variances.shape)
        known: FloatArray = np.divide(wide, self.variances, out=np.full(wide.shape, np.inf), where=self.variances > 0)
        return known

    def towards(self, others: FloatArray, weight: float | FloatArray, variance: float | FloatArray) -> FloatArray:
        """Return the proportions averaged with others, which count for `weight` respondents; see `respondents`."""
        known, added = self.respondents(variance), np.asarray(weight, dtype=float)[..., None]
        total = known + added
        # nothing known, and nothing to be added: there the others are all that there is
        share = np.divide(added, total, out=np.ones_like(total), where=total > 0)[..., None, :]
        return np.asarray((1 - share) * self.proportions + share * others)

    def weight_of_margin(self, margin: FloatArray, least: float) -> FloatArray:
        """Return how many respondents the margin counts for in each row, at least `least`: an empirical-Bayes estimate.

        It belongs to the variance τ² of true rows around the margin, which is found as Paule & Mandel (1982) do: the
        squared distances of the rows, each over its expectation τ² + variance, add up to one less than there are rows.
        As of a Dirichlet prior with these parameters in all, τ² = variance of an answer / (weight + 1).
        """
        told = np.isfinite(self.variances)
        distances = ((self.proportions - margin[..., None]) ** 2).sum(axis=-2)
        variances = np.where(told, np.maximum(self.variances, np.finfo(float).tiny), 1.0)
        variance = answer_variance(margin)
        low, high = np.zeros(variance.shape), np.full(variance.shape, 2.0)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            ratios = np.where(told, distances / (variances + middle[..., None]), 0).sum(axis=-1)
            more = ratios > told.sum(axis=-1) - 1
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        return np.asarray(np.maximum(variance / np.maximum(high, _LEAST_VARIANCE) - 1, least))


def answer_variance(margin: FloatArray) -> FloatArray:
    """Return the variance of one respondent's answer, Σ p (1 − p) over the categories."""
    return np.asarray((margin * (1 - margin)).sum(axis=-1))


MAXIMUM_ENTROPY = "max-entropy"
"""The method by which families are reconstructed that nobody was asked about together."""
LARGEST_FAMILY = 1 << 10
"""The most cells of an attribute and its parents: making 1,024 of them proper in their covariance takes seconds."""
_FEWER = "Fit a network of fewer attributes: those that a query is about, and their ancestors."
# so few reports show how far they scatter
_LEAST_REPORTS = 2
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
    # by the index of a table: what its cells are multiplied by, shape (cells, cells of that table)
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
        cells = np.array(estimates, dtype=float)
        improper = np.flatnonzero((cells < 0).any(axis=1))
        if self.assumption or (improper.size > 1 and self.cells.size > _MANY):
            return nearest_proper(cells)
        values, directions = np.linalg.eigh(covariance)
        known = values > _KNOWN * values.max()
        information = (directions[:, known] / values[known]) @ directions[:, known].T
        step = max(1, _AT_ONCE // self.cells.size**2)
        for first in range(0, improper.size, step):
            rows = improper[first : first + step]
            scores = (cells[rows] - self.cells) @ information
            cells[rows] = nearest_in_information(scores, information, self.cells).frequencies
        proper: FloatArray = cells / cells.sum(axis=1, keepdims=True)
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
        collected = [table for table in as_collected(tables) if table.n >= _LEAST_REPORTS]
        known = {name for table in collected for name in table.attributes}
        if lacking := sorted({name for domain in domains for name in domain.names} - known):
            raise NotIdentifiedError(
                f"no table with two reports or more about {one_line(lacking)}",
                "attributes that respondents were asked about",
                "Leave these out, or collect more respondents.",
            )
        units, marginals = _telling(collected, domains), dict[int, Marginal]()
        for index, table in enumerate(units):
            # where cells are left open, blocks may still tell something together with others
            with suppress(NotIdentifiedError):
                marginals[index] = Marginal.of(table)
        shown = progress(domains, "fitting", unit="attribute")
        families = tuple(_family(domain, units, marginals, tables.privacy) for domain in shown)
        return cls(tuple(units), families)

    @cached_property
    def places(self) -> tuple[slice, ...]:
        """Where the cells of each family stand in the rows and columns of the covariance."""
        ends = np.cumsum([0, *(family.cells.size for family in self.families)]).tolist()
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

    def covariance_within(self, position: int) -> FloatArray:
        """Return the covariance of the cells of the family at one position."""
        if position not in self._within:
            self._within[position] = self._covariance_of(self.families[position : position + 1])
        return self._within[position]

    def _covariance_of(self, families: Sequence[Family]) -> FloatArray:
        starts = np.cumsum([0, *(family.cells.size for family in families)]).tolist()
        size, parts = starts[-1], []
        for index, table in enumerate(self.units):
            # which cells one table tells about, and the matrix that takes its cells to them
            shown = [
                (start, family) for start, family in zip(starts, families, strict=False) if index in family.operators
            ]
            cells = [np.arange(start, start + family.cells.size) for start, family in shown]
            matrices = [np.zeros((0, table.domain.size())), *(family.operators[index] for _, family in shown)]
            parts.append(Contribution(np.concatenate([np.arange(0), *cells]), np.vstack(matrices)))
        if self._stacked:
            return self._stacked.covariance_of(parts, size)
        total = np.zeros((size, size))
        for table, (at, matrix) in zip(self.units, parts, strict=True):
            if at.size:
                total[np.ix_(at, at)] += matrix @ table.linear[1] @ matrix.T
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
        for at, family in zip(self.places, self.families, strict=True):
            numbers[:, at] = numbers[:, at][:, by_name(family.domain)]
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
        order = sorted(range(len(values)), key=lambda code: (type(values[code]).__name__, repr(values[code])))
        ranks.append(np.argsort(order))
    return np.ravel_multi_index(np.ix_(*ranks), domain.shape).ravel()


def _family(domain: Domain, units: list[Table], marginals: Mapping[int, Marginal], privacy: PrivacyStatement) -> Family:
    """Estimate a family, by maximum entropy where reports leave cells open; a table made for it joins the units."""
    with suppress(NotIdentifiedError):
        return _identified(domain, marginals)
    # there may be rows of answers about all attributes, or blocks that tell more than their tables do
    asked = (rows.domain.names for table in units for rows in table.rows)
    if len(marginals) < len(units) or any(set(domain.names).issubset(names) for names in asked):
        with suppress(NotIdentifiedError):
            units.append(pooled_table(units, domain, privacy))
            cells = units[-1].linear[0]
            return Family(domain, cells, {len(units) - 1: np.eye(cells.size)})
    return _assumed(domain, marginals)


def _identified(domain: Domain, marginals: Mapping[int, Marginal]) -> Family:
    """Pool the margins of all tables within the family, weighed by their variances at what all say together.

    Weighed by its own estimate, a table in which something rare was counted too seldom would count for more.
    """
    margins = {}
    for index, marginal in marginals.items():
        kept = tuple(name for name in domain.names if name in marginal.attributes)
        if kept:
            margins[index] = marginal.added_up(kept)
    given = list(margins.values())
    refuse_untold(domain.names, [margin.attributes for margin in given])
    sums = np.vstack([np.eye(margin.estimate.size)[:, domain.onto(margin.attributes)] for margin in given])
    values = np.concatenate([margin.estimate for margin in given])
    even, n = np.full(domain.size(), 1 / domain.size()), sum(margin.n for margin in given)
    ends = np.cumsum([margin.estimate.size for margin in given])[:-1]
    cells = even
    for _ in range(2):
        inverse = solving(sums, np.concatenate([1 / margin.precision for margin in given]), n)
        cells = even + inverse @ (values - sums @ even)
        expected = np.split(sums @ cells, ends)
        given = [replace(margin, expected=own) for margin, own in zip(given, expected, strict=True)]
    parts = zip(margins.items(), np.split(inverse, ends, axis=1), strict=True)
    return Family(domain, cells, {index: own @ margin.sums for (index, margin), own in parts})


def _assumed(domain: Domain, marginals: Mapping[int, Marginal]) -> Family:
    """Reconstruct the family as `reconstruct` does; its operators are those of the linear approximation."""
    chosen = relevant_marginals(marginals.values(), domain.names)
    weighed = weighed_together(chosen.marginals)
    index_of = {id(marginal.table): at for at, marginal in marginals.items()}
    profile = ProfileLikelihood(tuple(weighed), domain.names)
    model = profile.model
    response = profile.response @ model.known.inverse
    operators: dict[int, FloatArray] = {}
    for marginal, (columns, matrix) in zip(weighed, model.known.contributions, strict=True):
        index = index_of[id(marginal.table)]
        operators[index] = operators.get(index, 0) + response[:, columns] @ matrix
    groups = sorted({tuple(sorted(marginal.attributes)) for marginal in chosen.marginals})
    assumption = RECONSTRUCTION_METHODS[MAXIMUM_ENTROPY].assumption(tuple(groups), domain.names)
    return Family(domain, model.marginal(domain.names), operators, assumption)


def _telling(tables: Sequence[Table], domains: Sequence[Domain]) -> list[Table]:
    """Return the tables that families are estimated from, in an order that does not depend on the set's.

    These are all, unless respondents are behind several: then only those about two attributes of a family, or about an
    attribute that no other tells of. Further margins add little, and what all have in common would take long.
    """
    named = sorted(tables, key=lambda table: sorted(table.attributes))
    if not overlapping(named):
        return named
    kept = [table for table in named if any(len({*table.attributes} & {*domain.names}) > 1 for domain in domains)]
    known = {name for table in kept for name in table.attributes}
    missing = {domain.names[0] for domain in domains} - known
    return kept + [table for table in named if not missing.isdisjoint(table.attributes)]
