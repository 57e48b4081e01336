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
from ldpstats.estimation.measured import positive_shares
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
    for index, table in enumerate(tables):
        for unit in table.parts.asked:
            asked[unit].append(index)
    pairs = sorted({pair for places in asked.values() for pair in combinations(places, 2)})
    numbers: dict[RespondentSet, int] = {}
    number = [numbers.setdefault(table.parts, len(numbers)) for table in tables]
    known: dict[tuple[int, int], int] = {}
    common = {}
    for first, second in pairs:
        both = number[first], number[second]
        if both not in known:
            known[both] = tables[first].parts.common(tables[second].parts)
        if known[both]:
            common[first, second] = known[both]
    return common


def labels(table: Table) -> frozenset[str]:
    """Return the labels of the answers that a table's blocks count, or those of the tables that it was made of."""
    waiting, seen = [table], {id(table): table}
    while waiting:
        more = {id(source): source for source in waiting.pop().sources if id(source) not in seen}
        seen |= more
        waiting += more.values()
    return frozenset(label for table in seen.values() for block in table.blocks for label in block.answers)


def common_to(behind: Sequence[TableReports]) -> dict[tuple[int, int], SharedReports]:
    """Return what every two tables with common respondents have in common."""
    respondents = overlapping([reports.table for reports in behind])
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
        members = [tables[index] for index in component]
        own = members[0].n if len(members) == 1 else RespondentSet.different(table.parts for table in members)
        n, simulated = n + own, simulated + _simulated(members, own)
    return n, simulated


def _simulated(tables: Sequence[Table], n: int) -> int:
    """Return how many of the n reports behind tables that share them were simulated."""
    # a table of all of them says it; else blocks that count different answers do
    counts = [(table.n, table.simulated) for table in tables]
    blocks = sorted((block for table in tables for block in table.blocks), key=lambda block: block.n)
    different = {block.answers: block for block in blocks}
    once = different.values()
    counts.append((sum(block.n for block in once), sum(block.tally.simulated for block in once)))
    known = [simulated for reports, simulated in counts if reports == n]
    if known:
        return known[0]
    counted, drawn = (int(sum(numbers)) for numbers in zip(*counts, strict=True))
    return -(-n * drawn // counted)


def sharing_in_words(tables: Sequence[Table]) -> list[str]:
    """Say how many tables share reports, or respondents; reconstructed ones are left out, whose own words say it."""
    collected = [table for table in tables if not isinstance(table.provenance, Reconstructed)]
    tables = [table.sources[0] if isinstance(table.provenance, Consistent) else table for table in collected]
    common = overlapping(tables)
    reports = {index for pair in common if _share_reports(tables[pair[0]], tables[pair[1]]) for index in pair}
    others = {index for pair in common for index in pair} - reports
    said = []
    if reports:
        counted = all(tables[index].rows for index in reports)
        how = "these were kept" if counted else "blocks that count the same are known"
        said.append(f"{len(reports)} tables share reports: {how}, which gives the covariance of their errors.")
    if others:
        said.append(f"{len(others)} tables share respondents, who answered about each by itself.")
    return said


def _share_reports(table: Table, other: Table) -> bool:
    """Say whether tables with common respondents count the same answers of theirs, or answers of the same rows."""
    rows = {id(crossed) for crossed in table.rows}.intersection(map(id, other.rows))
    return bool(rows) or not labels(table).isdisjoint(labels(other))


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
        numbered = enumerate(self.blocks)
        return {(block.answers, block.noise, _function(block.question)): index for index, block in numbered}

    @cached_property
    def rows(self) -> list[tuple[int, CrossedRows]]:
        """Indices of the blocks that count answers of rows, with these rows."""
        numbered = enumerate(self.blocks)
        return [(index, rows) for index, block in numbered for rows in self.table.rows if rows.are_behind(block)]

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
    def of(cls, own: TableReports, other: TableReports, respondents: int) -> SharedReports:
        """Compare the blocks of two tables that have so many respondents in common."""
        rows = tuple(_common_rows(own, other)) if own.table.rows and other.table.rows else ()
        alike = not rows and not own.labels.isdisjoint(other.labels)
        blocks = tuple(_common_blocks(own, other)) if alike else ()
        covered = sum(n for _, _, n in blocks) + sum(shared.n for _, _, shared in rows)
        if covered == respondents:
            return cls(blocks, rows, "")
        different = own.labels and other.labels and own.labels.isdisjoint(other.labels)
        return cls((), (), SAMPLING if different else REPORTS)


def _common_rows(own: TableReports, other: TableReports) -> Iterator[tuple[int, int, CrossedRows]]:
    """Yield blocks that count answers of the same rows, or of rows of which the one are among the other."""
    for (i, rows), (j, more) in product(own.rows, other.rows):
        common = rows.n if rows is more else rows.parts.common(more.parts)
        if common and common in (rows.n, more.n):
            yield i, j, rows if common == rows.n else more


def _common_blocks(own: TableReports, other: TableReports) -> Iterator[tuple[int, int, int]]:
    """Yield blocks that count the same reports, and how many: those that the smaller one has."""
    for reports, i in own.reports.items():
        j = other.reports.get(reports)
        if j is not None:
            yield i, j, min(own.blocks[i].n, other.blocks[j].n)


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
    """Tables, by index, with errors of unknown dependence; `covariances` are the parts of theirs that may depend."""

    members: tuple[int, ...]
    covariances: tuple[FloatArray, ...]

    def slack(self, parts: Sequence[Contribution], size: int) -> FloatArray:
        """Return by how much, at most, the covariance of a sum exceeds that of independent errors."""
        added = [parts[index].matrix @ covariance @ parts[index].matrix.T for index, covariance in self]
        weights = shares([float(np.trace(covariance)) for covariance in added])
        total = np.zeros((size, size))
        for (index, _), own, weight in zip(self, added, weights, strict=True):
            if weight > 0:
                total[np.ix_(parts[index].places, parts[index].places)] += (1 / weight - 1) * own
        return total

    def __iter__(self) -> Iterator[tuple[int, FloatArray]]:
        return zip(self.members, self.covariances, strict=True)


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
        sums = {index: np.zeros((weights.shape[1], size)) for index, weights in self.weights.items()}
        for first in range(0, many, step):
            chunk = slice(first, first + step)
            copies = self.rows.copies[chunk]
            summed = np.zeros((copies.size, size))
            for index, weights in self.weights.items():
                summed[:, parts[index].places] += (parts[index].matrix @ weights)[:, self.sent[index][chunk]].T
            for index, sent in self.sent.items():
                shape = (len(sums[index]), copies.size)
                by_output = csr_array((copies, (sent[chunk], np.arange(copies.size))), shape)
                sums[index] = sums[index] + np.asarray(by_output @ summed)
        covariances = {}
        for index, total in sums.items():
            outputs = total / n - np.outer(self.counts(index) / n, total.sum(axis=0) / n)
            covariances[index] = over_degrees_of_freedom(self.weights[index] @ outputs, n)
        return covariances

    def counts(self, index: int) -> FloatArray:
        """Return how often each output of a table was sent."""
        many = self.weights[index].shape[1]
        return np.bincount(self.sent[index], weights=self.rows.copies, minlength=many).astype(float)

    def own(self, index: int) -> FloatArray:
        """Return the covariance of one table's estimate, as far as the rows are behind it."""
        weights = self.weights[index]
        covariance = multinomial_covariance(self.counts(index) / self.rows.n)
        return over_degrees_of_freedom(weights @ covariance @ weights.T, self.rows.n)


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
        for index in {index for pair, shared in known.items() if shared.blocks for index in pair}:
            own[index] = _covariance_by_blocks(behind[index])
        counted = _counted(behind, known)
        for group in counted:
            for index in group.weights:
                only = len(behind[index].blocks) == 1
                # no cell is known better than to one report, where all rows are alike
                floor = np.diag(np.maximum(1 / group.rows.n**2 - np.diagonal(group.own(index)), 0))
                own[index] = floor if only else own[index] - group.own(index)
        pairs = {
            (first, second): _covariance_of_pair(shared, behind[first], behind[second])
            for (first, second), shared in known.items()
            if not any({first, second} <= group.weights.keys() for group in counted)
        }
        return cls(tuple(own), pairs, counted, clusters, bound)

    def with_sum(self, parts: Sequence[Contribution], size: int) -> list[FloatArray]:
        """Return the covariance of every table's cells with a sum of all tables, but for what clusters may add."""
        covariances: list[FloatArray] = [np.zeros((len(own), size)) for own in self.own]
        for total, own, (places, matrix) in zip(covariances, self.own, parts, strict=True):
            total[:, places] += own @ matrix.T
        for (first, second), covariance in self.pairs.items():
            covariances[first][:, parts[second].places] += covariance @ parts[second].matrix.T
            covariances[second][:, parts[first].places] += covariance.T @ parts[first].matrix.T
        for group in self.counted:
            for index, more in group.with_sum(parts, size).items():
                covariances[index] += more
        return covariances

    def covariance(self, index: int) -> FloatArray:
        """Return the covariance of one table by itself."""
        return sum((group.own(index) for group in self.counted if index in group.weights), self.own[index])

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


def _covariance_by_blocks(reports: TableReports) -> FloatArray:
    """Return the covariance of a table's estimate, each block's at its own tally, as for the covariance of a pair.

    So tables of the same blocks do not vary from each other. No cell is known better than to one report.
    """
    alone = next((block for block in reports.blocks if block.n == 1), None)
    if alone is not None:
        raise NotIdentifiedError(
            f"a single report to a question about {' and '.join(alone.question.about)}, which does not show how far "
            "reports scatter",
            "at least two reports to every question",
            "Collect more respondents, or ask fewer questions.",
        )
    covariances = [over_degrees_of_freedom(_report_covariance(block), block.n) for block in reports.blocks]
    pairs = zip(reports.weights, covariances, strict=True)
    own = np.sum([weights @ covariance @ weights.T for weights, covariance in pairs], axis=0)
    return np.asarray(own + np.diag(np.maximum(1 / reports.table.n**2 - np.diagonal(own), 0)))


def _covariance_of_pair(common: SharedReports, own: TableReports, other: TableReports) -> FloatArray:
    total = np.zeros((own.table.domain.size(), other.table.domain.size()))
    for i, j, n in common.blocks:
        block, again = own.blocks[i], other.blocks[j]
        covariance = over_degrees_of_freedom(block.n * _report_covariance(block), block.n)
        total += n / (block.n * again.n) * (own.weights[i] @ covariance @ other.weights[j].T)
    for i, j, rows in common.rows:
        sent = {0: own.sent(i, rows), 1: other.sent(j, rows)}
        pair = SharedRows(rows, {0: own.weights[i], 1: other.weights[j]}, sent)
        size = total.shape[1]
        second = [Contribution(np.arange(0), np.zeros((0, len(total)))), Contribution(np.arange(size), np.eye(size))]
        share = rows.n**2 / (own.blocks[i].n * other.blocks[j].n)
        total += share * pair.with_sum(second, size)[0]
    return total


def _report_covariance(block: Block) -> FloatArray:
    """Return the covariance of one report, at the frequencies of its own tally."""
    if block.noise.has_likelihood:
        return multinomial_covariance(block.tally.proportions)
    return block.noise.report_covariance(positive_shares(block.noise.debias(block.tally.proportions)))


def _clusters(
    tables: Sequence[Table], own: Sequence[FloatArray], common: Mapping[tuple[int, int], SharedReports]
) -> tuple[tuple[Cluster, ...], dict[tuple[int, int], SharedReports], str]:
    """Return tables whose dependence is unknown, the pairs whose covariance is known, and why others are bounds."""
    import networkx as nx

    graph: nx.Graph[int] = nx.Graph(pair for pair, shared in common.items() if shared.unknown)
    clusters, covered, worst = [], set(), ""
    for component in nx.connected_components(graph):
        members = tuple(sorted(component))
        inside = [shared for pair, shared in common.items() if component.issuperset(pair)]
        dependent = any(shared.unknown == REPORTS for shared in inside)
        covariances = [own[index] if dependent else _sampling(tables[index]) for index in members]
        clusters.append(Cluster(members, tuple(covariances)))
        covered |= component if dependent else set()
        worst = REPORTS if dependent else worst or SAMPLING
    known = {pair: shared for pair, shared in common.items() if not shared.unknown and not covered.issuperset(pair)}
    return tuple(clusters), known, worst


def _counted(behind: Sequence[TableReports], known: Mapping[tuple[int, int], SharedReports]) -> tuple[SharedRows, ...]:
    """Group tables that count answers of the same rows, and have nothing else in common."""
    groups: dict[int, tuple[CrossedRows, dict[int, int]]] = {}
    for (first, second), shared in known.items():
        for i, j, rows in shared.rows if len(shared.rows) == 1 else ():
            if (i, rows) in behind[first].rows and (j, rows) in behind[second].rows:
                groups.setdefault(id(rows), (rows, {}))[1].update({first: i, second: j})
    return tuple(
        SharedRows(
            rows,
            {index: behind[index].weights[number] for index, number in numbers.items()},
            {index: behind[index].sent(number, rows) for index, number in numbers.items()},
        )
        for rows, numbers in groups.values()
        if all(pair in known for pair in combinations(sorted(numbers), 2))
    )


def _sampling(table: Table) -> FloatArray:
    """Return the part of a table's covariance that is due to the sampling of its respondents."""
    covariance = multinomial_covariance(positive_shares(table.linear[0]))
    blocks = [block for block in table.blocks if block.n]
    if not blocks or (len(blocks) == 1 and blocks[0].question.is_bijection):
        return over_degrees_of_freedom(covariance, table.n)
    if all_truth_or_fake(blocks):
        stack = TruthOrFakeStack.of(blocks)
        truthful = stack.n * stack.truth**2
        return np.asarray(covariance * (truthful**2 / stack.n).sum() / truthful.sum() ** 2)
    moved = [weight @ block.design()[0] for weight, block in zip(unbiased_weights(blocks), blocks, strict=True)]
    pairs = zip(moved, blocks, strict=True)
    return np.asarray(sum(matrix @ covariance @ matrix.T / block.n for matrix, block in pairs))
