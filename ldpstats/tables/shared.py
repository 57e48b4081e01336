"""Shared respondents: which tables have reports, rows of answers, or nothing but respondents in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np

from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError
from ldpstats.estimation.unbiased_estimates import unbiased_weights
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.tables.parts import Parts
from ldpstats.tables.provenance import Consistent, Reconstructed
from ldpstats.tables.rows import CrossedRows
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
    numbers: dict[Parts, int] = {}
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
        own = members[0].n if len(members) == 1 else Parts.different(one.parts for one in members)
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
