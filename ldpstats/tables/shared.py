"""Shared reports: what several tables have in common, and the joint covariance of their estimates that follows.

Tables of which nobody is behind two are independent. Where the same reports enter two tables, their covariance follows
from those reports; where a respondent's answers were counted together (rows), from the rows. Different reports of one
respondent are independent given the truth: what their errors have in common is the sampling of the respondents, whose
covariance S_ij needs a joint table that nobody may have counted. But whatever it is (Cauchy & Schwarz),

    Σ_ij L_i S_ij L_jᵀ  ≤  Σ_i L_i S_i L_iᵀ / w_i    for all positive weights w_i with the sum one,

and weights proportional to the standard deviations √tr(L_i S_i L_iᵀ) make the trace of the bound the least.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation.block_stack import TruthOrFakeStack, all_truth_or_fake
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import over_degrees_of_freedom
from ldpstats.estimation.unbiased_estimates import unbiased_weights
from ldpstats.noise.channels import multinomial_covariance
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.tables.provenance import Consistent, Reconstructed
from ldpstats.tables.respondents import CrossedRows, RespondentSet
from ldpstats.tables.table import Table

SAMPLING = (
    "respondents stand behind several tables, and what they answered was not counted together: the covariance is an "
    "upper bound, whatever their answers have to do with each other"
)
REPORTS = (
    "reports stand behind several tables, and what these have in common was not counted: the covariance is an upper "
    "bound, as if they were as dependent as can be"
)


def as_reported(table: Table) -> Table:
    """Return the table of the reports behind a consistent one; refuse a reconstructed one."""
    if isinstance(table.provenance, Reconstructed):
        raise LdpstatsError(
            f"a reconstructed table of {' and '.join(table.attributes)}",
            "tables that were collected, or made consistent",
            "Its reports are those of the tables that it was made of: take these.",
        )
    if not isinstance(table.provenance, Consistent):
        return table
    source = source_of(table)
    if source is None:
        raise LdpstatsError(
            f"a consistent table of {' and '.join(table.attributes)} whose categories were put together since",
            "categories as they were when the tables were made consistent",
            "Collapse the collected tables first.",
        )
    return source


def source_of(table: Table) -> Table | None:
    """Return the collected table, or its margin, behind a consistent one; None where categories were merged since."""
    if not isinstance(table.provenance, Consistent):
        return None
    (source,) = table.sources
    same = source.domain.project(table.attributes) == table.domain
    return source.marginal(table.attributes) if same else None


def overlapping(tables: Sequence[Table]) -> dict[tuple[int, int], int]:
    """Return how many respondents two tables have in common, by the indices of every two that have any."""
    asked: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, table in enumerate(tables):
        for unit in table.parts.asked:
            asked[unit].append(place)
    pairs = sorted({pair for places in asked.values() for pair in combinations(places, 2)})
    numbers: dict[RespondentSet, int] = {}
    number = [numbers.setdefault(table.parts, len(numbers)) for table in tables]
    known: dict[tuple[int, int], int] = {}
    found = {}
    for one, other in pairs:
        both = number[one], number[other]
        if both not in known:
            known[both] = tables[one].parts.common(tables[other].parts)
        if known[both]:
            found[one, other] = known[both]
    return found


def labels(table: Table) -> frozenset[str]:
    """Return the labels of the answers that a table's blocks count, or those of the tables that it was made of."""
    waiting, seen = [table], {id(table): table}
    while waiting:
        more = {id(one): one for one in waiting.pop().sources if id(one) not in seen}
        seen |= more
        waiting += more.values()
    return frozenset(label for one in seen.values() for block in one.blocks for label in block.answers)


def common_to(behind: Sequence[TableReports]) -> dict[tuple[int, int], SharedReports]:
    """Return what every two tables with common respondents have in common."""
    respondents = overlapping([one.table for one in behind])
    return {pair: SharedReports.of(behind[pair[0]], behind[pair[1]], n) for pair, n in respondents.items()}


def reports_once(tables: Sequence[Table]) -> tuple[int, int]:
    """Return how many reports are behind tables, each counted once, and how many of these are simulated."""
    import networkx as nx

    tables = tables if len(tables) == 1 else list(dict.fromkeys(leaf for table in tables for leaf in table.made_of))
    common = overlapping(tables)
    graph: nx.Graph[int] = nx.Graph(pair for pair in common if _share_reports(tables[pair[0]], tables[pair[1]]))
    graph.add_nodes_from(range(len(tables)))
    n = simulated = 0
    for component in nx.connected_components(graph):
        members = [tables[one] for one in component]
        own = members[0].n if len(members) == 1 else RespondentSet.different(one.parts for one in members)
        n, simulated = n + own, simulated + _simulated(members, own)
    return n, simulated


def _simulated(tables: Sequence[Table], n: int) -> int:
    """Return how many of the n reports behind tables that share them were simulated."""
    # a table of all of them says it; else blocks that count different answers do
    found = [(one.n, one.simulated) for one in tables]
    blocks = sorted((block for one in tables for block in one.blocks), key=lambda block: block.n)
    different = {block.answers: block for block in blocks}
    found.append((sum(one.n for one in different.values()), sum(one.tally.simulated for one in different.values())))
    known = [simulated for reports, simulated in found if reports == n]
    if known:
        return known[0]
    counted, drawn = (int(sum(numbers)) for numbers in zip(*found, strict=True))
    return -(-n * drawn // counted)


def sharing_in_words(tables: Sequence[Table]) -> list[str]:
    """Say how many tables share reports, or respondents; reconstructed ones are left out, whose own words say it."""
    collected = [table for table in tables if not isinstance(table.provenance, Reconstructed)]
    tables = [table.sources[0] if isinstance(table.provenance, Consistent) else table for table in collected]
    common = overlapping(tables)
    reports = {one for pair in common if _share_reports(tables[pair[0]], tables[pair[1]]) for one in pair}
    others = {one for pair in common for one in pair} - reports
    said = []
    if reports:
        counted = all(tables[one].rows for one in reports)
        how = "these were kept" if counted else "blocks that count the same are known"
        said.append(f"{len(reports)} tables share reports: {how}, which gives the covariance of their errors.")
    if others:
        said.append(f"{len(others)} tables share respondents, who answered about each by itself.")
    return said


def _share_reports(one: Table, other: Table) -> bool:
    """Say whether tables with common respondents count the same answers of theirs, or answers of the same rows."""
    rows = {id(found) for found in one.rows}.intersection(map(id, other.rows))
    return bool(rows) or not labels(one).isdisjoint(labels(other))


class TableReports:
    """The reports behind one table, by what they count; worked out only where others share respondents."""

    def __init__(self, table: Table) -> None:
        self.table, self.blocks = table, [block for block in table.blocks if block.n]

    @cached_property
    def labels(self) -> frozenset[str]:
        """Labels of the respondents' answers that are counted."""
        return labels(self.table)

    @cached_property
    def reports(self) -> dict[Hashable, int]:
        """Index of each block by what it counts: answers, to one question, through one noise."""
        return {(one.answers, one.noise, _function(one.question)): place for place, one in enumerate(self.blocks)}

    @cached_property
    def rows(self) -> list[tuple[int, CrossedRows]]:
        """Indices of the blocks that count answers of rows, with these rows."""
        numbered = enumerate(self.blocks)
        return [(place, rows) for place, block in numbered for rows in self.table.rows if rows.are_behind(block)]

    @cached_property
    def weights(self) -> list[FloatArray]:
        """For each block, the matrix that the unbiased estimate multiplies its proportions by."""
        return unbiased_weights(self.blocks)

    def sent(self, number: int, rows: CrossedRows) -> IntArray:
        """Return the output of every row, as block `number` counts it."""
        return rows.sent(rows.numbering(self.blocks[number]))


@dataclass(frozen=True, slots=True, eq=False)
class SharedReports:
    """What two tables have in common, and why that is not all (`unknown`; empty if it is).

    `blocks` has indices of two blocks of the same reports, and how many; `rows` those of rows, and the rows in common.
    """

    blocks: tuple[tuple[int, int, int], ...]
    rows: tuple[tuple[int, int, CrossedRows], ...]
    unknown: str

    @classmethod
    def of(cls, one: TableReports, other: TableReports, respondents: int) -> SharedReports:
        """Compare the blocks of two tables that have so many respondents in common."""
        rows = tuple(_common_rows(one, other)) if one.table.rows and other.table.rows else ()
        alike = not rows and not one.labels.isdisjoint(other.labels)
        blocks = tuple(_common_blocks(one, other)) if alike else ()
        covered = sum(n for _, _, n in blocks) + sum(found.n for _, _, found in rows)
        if covered == respondents:
            return cls(blocks, rows, "")
        different = one.labels and other.labels and one.labels.isdisjoint(other.labels)
        return cls((), (), SAMPLING if different else REPORTS)


def _common_rows(one: TableReports, other: TableReports) -> Iterator[tuple[int, int, CrossedRows]]:
    """Yield blocks that count answers of the same rows, or of rows of which the one are among the other."""
    for (i, rows), (j, more) in product(one.rows, other.rows):
        common = rows.n if rows is more else rows.parts.common(more.parts)
        if common and common in (rows.n, more.n):
            yield i, j, rows if common == rows.n else more


def _common_blocks(one: TableReports, other: TableReports) -> Iterator[tuple[int, int, int]]:
    """Yield blocks that count the same reports, and how many: those that the smaller one has."""
    for reports, i in one.reports.items():
        j = other.reports.get(reports)
        if j is not None:
            yield i, j, min(one.blocks[i].n, other.blocks[j].n)


def _function(question: Question) -> Hashable:
    """Return a question as a function of the attributes that its answer depends on."""
    classes = np.asarray(question.classes).reshape(question.shape)
    names: list[str] = []
    for name in question.attributes:
        axis = len(names)
        if np.all(classes == classes.take([0], axis=axis)):
            classes = classes.take(0, axis=axis)
        else:
            names.append(name)
    order = sorted(range(len(names)), key=names.__getitem__)
    turned = classes.transpose(order)
    return tuple(names[axis] for axis in order), turned.shape, tuple(turned.ravel().tolist())


# so many numbers of the contributions of rows are handled at once
_AT_ONCE = 1 << 22


class Contribution(NamedTuple):
    """Matrix that takes a table's cells to a sum of tables, and the indices of the sum that it adds to."""

    places: IntArray
    matrix: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """Tables, by index, with errors of unknown dependence; `spreads` are the parts of covariances that may depend."""

    members: tuple[int, ...]
    spreads: tuple[FloatArray, ...]

    def slack(self, parts: Sequence[Contribution], size: int) -> FloatArray:
        """Return by how much, at most, the covariance of a sum exceeds that of independent errors."""
        added = [parts[one].matrix @ spread @ parts[one].matrix.T for one, spread in self]
        weights = shares([float(np.trace(one)) for one in added])
        total = np.zeros((size, size))
        for (one, _), own, weight in zip(self, added, weights, strict=True):
            if weight > 0:
                total[np.ix_(parts[one].places, parts[one].places)] += (1 / weight - 1) * own
        return total

    def __iter__(self) -> Iterator[tuple[int, FloatArray]]:
        return zip(self.members, self.spreads, strict=True)


def shares(variances: Sequence[float]) -> FloatArray:
    """Return weights proportional to standard deviations, with the sum one; zeros, if there is no variance at all."""
    deviations = np.sqrt(np.maximum(variances, 0))
    total = deviations.sum()
    return np.asarray(deviations / total if total > 0 else deviations)


@dataclass(frozen=True, slots=True, eq=False)
class SharedRows:
    """Tables, by index, whose blocks count the answers of the same rows.

    `weights` (cells, outputs) multiply the shares of outputs in a table's estimate; `sent` is the output of every row.
    """

    rows: CrossedRows
    weights: Mapping[int, FloatArray]
    sent: Mapping[int, IntArray]

    def with_sum(self, parts: Sequence[Contribution], size: int) -> dict[int, FloatArray]:
        """Return the covariance of each table's estimate with a sum of all tables, as far as rows are behind both."""
        from scipy.sparse import csr_array

        many, n = self.rows.copies.size, self.rows.n
        step = max(1, _AT_ONCE // max(size, 1))
        sums = {one: np.zeros((weights.shape[1], size)) for one, weights in self.weights.items()}
        for first in range(0, many, step):
            chunk = slice(first, first + step)
            copies = self.rows.copies[chunk]
            summed = np.zeros((copies.size, size))
            for one, weights in self.weights.items():
                summed[:, parts[one].places] += (parts[one].matrix @ weights)[:, self.sent[one][chunk]].T
            for one, sent in self.sent.items():
                shape = (len(sums[one]), copies.size)
                by_output = csr_array((copies, (sent[chunk], np.arange(copies.size))), shape)
                sums[one] = sums[one] + np.asarray(by_output @ summed)
        found = {}
        for one, total in sums.items():
            outputs = total / n - np.outer(self.counts(one) / n, total.sum(axis=0) / n)
            found[one] = over_degrees_of_freedom(self.weights[one] @ outputs, n)
        return found

    def counts(self, one: int) -> FloatArray:
        """Return how often each output of a table was sent."""
        many = self.weights[one].shape[1]
        return np.bincount(self.sent[one], weights=self.rows.copies, minlength=many).astype(float)

    def own(self, one: int) -> FloatArray:
        """Return the covariance of one table's estimate, as far as the rows are behind it."""
        weights = self.weights[one]
        spread = multinomial_covariance(self.counts(one) / self.rows.n)
        return over_degrees_of_freedom(weights @ spread @ weights.T, self.rows.n)


@dataclass(frozen=True, slots=True, eq=False)
class Stacked:
    """Unbiased linear estimates of several tables, one below the other, and the covariance of sums of them.

    `own` is each table's covariance without what follows from rows, and `pairs` that of two tables, by their indices,
    the lower one first. `bound` says why covariances are upper bounds; empty where they are known.
    """

    own: tuple[FloatArray, ...]
    pairs: Mapping[tuple[int, int], FloatArray]
    counted: tuple[SharedRows, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    bound: str = ""

    @classmethod
    def independent(cls, covariances: Sequence[FloatArray]) -> Stacked:
        """Return tables that have nothing in common, given the covariance of each."""
        return cls(tuple(covariances), {})

    @classmethod
    def of(cls, tables: Sequence[Table]) -> Stacked:
        """Find out what tables have in common, and the covariance that follows."""
        behind = list(map(TableReports, tables))
        common = common_to(behind)
        own = [table.linear[1] for table in tables]
        if not common:
            return cls.independent(own)
        clusters, known, bound = _clusters(tables, own, common)
        for place in {place for pair, found in known.items() if found.blocks for place in pair}:
            own[place] = _covariance_by_blocks(behind[place])
        counted = _counted(behind, known)
        for group in counted:
            for place in group.weights:
                only = len(behind[place].blocks) == 1
                # no cell is known better than to one report, where all rows are alike
                floor = np.diag(np.maximum(1 / group.rows.n**2 - np.diagonal(group.own(place)), 0))
                own[place] = floor if only else own[place] - group.own(place)
        pairs = {
            (one, other): _covariance_of_pair(found, behind[one], behind[other])
            for (one, other), found in known.items()
            if not any({one, other} <= group.weights.keys() for group in counted)
        }
        return cls(tuple(own), pairs, counted, clusters, bound)

    def with_sum(self, parts: Sequence[Contribution], size: int) -> list[FloatArray]:
        """Return the covariance of every table's cells with a sum of all tables, but for what clusters may add."""
        found: list[FloatArray] = [np.zeros((len(own), size)) for own in self.own]
        for total, own, (places, matrix) in zip(found, self.own, parts, strict=True):
            total[:, places] += own @ matrix.T
        for (one, other), covariance in self.pairs.items():
            found[one][:, parts[other].places] += covariance @ parts[other].matrix.T
            found[other][:, parts[one].places] += covariance.T @ parts[one].matrix.T
        for group in self.counted:
            for one, more in group.with_sum(parts, size).items():
                found[one] += more
        return found

    def covariance(self, place: int) -> FloatArray:
        """Return the covariance of one table by itself."""
        return sum((group.own(place) for group in self.counted if place in group.weights), self.own[place])

    def covariance_of(self, parts: Sequence[Contribution], size: int) -> FloatArray:
        """Return the covariance of a sum of all tables, shape (size, size); an upper bound, where `bound` says so."""
        total = sum_at(parts, self.with_sum(parts, size), size)
        for cluster in self.clusters:
            total += cluster.slack(parts, size)
        return (total + total.T) / 2


def sum_at(parts: Sequence[Contribution], covariances: Sequence[FloatArray], size: int) -> FloatArray:
    """Return the covariance of a sum of tables, given that of each table with this sum."""
    total = np.zeros((size, size))
    for (places, matrix), with_sum in zip(parts, covariances, strict=True):
        np.add.at(total, places, matrix @ with_sum)
    return total


def _covariance_by_blocks(one: TableReports) -> FloatArray:
    """Return the covariance of a table's estimate, each block's at its own tally, as for the covariance of a pair.

    So tables of the same blocks do not vary from each other. No cell is known better than to one report.
    """
    alone = next((block for block in one.blocks if block.n == 1), None)
    if alone is not None:
        raise NotIdentifiedError(
            f"a single report to a question about {' and '.join(alone.question.about)}, which does not show how far "
            "reports scatter",
            "at least two reports to every question",
            "Collect more respondents, or ask fewer questions.",
        )
    spreads = [over_degrees_of_freedom(_report_covariance(block), block.n) for block in one.blocks]
    own = np.sum([weight @ spread @ weight.T for weight, spread in zip(one.weights, spreads, strict=True)], axis=0)
    return np.asarray(own + np.diag(np.maximum(1 / one.table.n**2 - np.diagonal(own), 0)))


def _covariance_of_pair(common: SharedReports, one: TableReports, other: TableReports) -> FloatArray:
    total = np.zeros((one.table.domain.size(), other.table.domain.size()))
    for i, j, n in common.blocks:
        block, again = one.blocks[i], other.blocks[j]
        spread = over_degrees_of_freedom(block.n * _report_covariance(block), block.n)
        total += n / (block.n * again.n) * (one.weights[i] @ spread @ other.weights[j].T)
    for i, j, rows in common.rows:
        sent = {0: one.sent(i, rows), 1: other.sent(j, rows)}
        pair = SharedRows(rows, {0: one.weights[i], 1: other.weights[j]}, sent)
        size = total.shape[1]
        second = [Contribution(np.arange(0), np.zeros((0, len(total)))), Contribution(np.arange(size), np.eye(size))]
        share = rows.n**2 / (one.blocks[i].n * other.blocks[j].n)
        total += share * pair.with_sum(second, size)[0]
    return total


def _report_covariance(block: Block) -> FloatArray:
    """Return the covariance of one report, at the frequencies of its own tally."""
    if block.noise.has_likelihood:
        return multinomial_covariance(block.tally.proportions)
    return block.noise.report_covariance(_proper(block.noise.debias(block.tally.proportions)))


def _clusters(
    tables: Sequence[Table], own: Sequence[FloatArray], common: Mapping[tuple[int, int], SharedReports]
) -> tuple[tuple[Cluster, ...], dict[tuple[int, int], SharedReports], str]:
    """Return tables whose dependence is unknown, the pairs whose covariance is known, and why others are bounds."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph(pair for pair, found in common.items() if found.unknown)
    clusters, covered, worst = [], set(), ""
    for component in nx.connected_components(graph):
        members = tuple(sorted(component))
        inside = [found for pair, found in common.items() if component.issuperset(pair)]
        dependent = any(found.unknown == REPORTS for found in inside)
        spreads = [own[one] if dependent else _sampling(tables[one]) for one in members]
        clusters.append(Cluster(members, tuple(spreads)))
        covered |= component if dependent else set()
        worst = REPORTS if dependent else worst or SAMPLING
    known = {pair: found for pair, found in common.items() if not found.unknown and not covered.issuperset(pair)}
    return tuple(clusters), known, worst


def _counted(behind: Sequence[TableReports], known: Mapping[tuple[int, int], SharedReports]) -> tuple[SharedRows, ...]:
    """Group tables that count answers of the same rows, and have nothing else in common."""
    groups: dict[int, tuple[CrossedRows, dict[int, int]]] = {}
    for (one, other), found in known.items():
        for i, j, rows in found.rows if len(found.rows) == 1 else ():
            if (i, rows) in behind[one].rows and (j, rows) in behind[other].rows:
                groups.setdefault(id(rows), (rows, {}))[1].update({one: i, other: j})
    return tuple(
        SharedRows(
            rows,
            {one: behind[one].weights[number] for one, number in numbers.items()},
            {one: behind[one].sent(number, rows) for one, number in numbers.items()},
        )
        for rows, numbers in groups.values()
        if all(pair in known for pair in combinations(sorted(numbers), 2))
    )


def _sampling(table: Table) -> FloatArray:
    """Return the part of a table's covariance that is due to the sampling of its respondents."""
    spread = multinomial_covariance(_proper(table.linear[0]))
    blocks = [block for block in table.blocks if block.n]
    if not blocks or (len(blocks) == 1 and blocks[0].question.is_bijection):
        return over_degrees_of_freedom(spread, table.n)
    if all_truth_or_fake(blocks):
        stack = TruthOrFakeStack.of(blocks)
        truthful = stack.n * stack.truth**2
        return np.asarray(spread * (truthful**2 / stack.n).sum() / truthful.sum() ** 2)
    moved = [weight @ block.design()[0] for weight, block in zip(unbiased_weights(blocks), blocks, strict=True)]
    return np.asarray(sum(one @ spread @ one.T / block.n for one, block in zip(moved, blocks, strict=True)))


def _proper(frequencies: FloatArray) -> FloatArray:
    positive = np.maximum(frequencies, np.finfo(float).tiny)  # not zero: if all are cut, they are equal
    return np.asarray(positive / positive.sum())
