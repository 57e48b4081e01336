"""Pooled tables: all that the reports of several tables say about one, by generalized least squares, each once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

import numpy as np

from ldpstats.answers.domain import Classes, Domain
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation import Estimate, Measured
from ldpstats.estimation.blocks import Block
from ldpstats.numbers.arrays import FloatArray, IntArray, integers_below
from ldpstats.privacy import PrivacyStatement
from ldpstats.tables.provenance import Figures, Summed
from ldpstats.tables.respondents import LARGEST_CROSSED, CrossedRows, RespondentSet
from ldpstats.tables.shared import (
    REPORTS,
    Contribution,
    SharedReports,
    Stacked,
    TableReports,
    as_reported,
    common_to,
    overlapping,
    reports_once,
)
from ldpstats.tables.table import Table

# singular values below this share of the largest are rounding
_SAME = 1e-9
# so few reports show how far they scatter
_TO_SPREAD = 2

Placed: TypeAlias = tuple[int | None, Block]
"""A block, and the number of the table that it is of; None, if rows of several tables were counted anew."""


@dataclass(frozen=True, slots=True, eq=False)
class JointReports:
    """What the reports of several tables tell about a larger one, pooled when it is asked for.

    `joint` has the categories of these tables, `domain` those put together since; `of_cell` takes cells to the latter.
    """

    tables: tuple[Table, ...]
    joint: Domain
    domain: Domain
    of_cell: IntArray

    def __post_init__(self) -> None:
        places = integers_below(self.of_cell, self.domain.size(), "the cells of a joint table")
        if places.size != self.joint.size() or self.domain.names != self.joint.names:
            raise LdpstatsError(f"the places of {places.size} cells", f"those of {self.joint.size()}")

    @classmethod
    def of(cls, tables: Sequence[Table], joint: Domain) -> JointReports:
        """Pool tables onto a joint table with their own categories."""
        return cls(tuple(tables), joint, joint, np.arange(joint.size()))

    def measured(self) -> Measured:
        """Return the sums of the joint table's cells that were estimated without bias."""
        measured = pooled_measured(self.tables, self.joint)
        return measured if self.domain == self.joint else measured.onto(self.of_cell, self.domain.size())

    def collapsed(self, classes: Classes) -> JointReports:
        """Put categories of its attributes together."""
        domain, of_cell = self.domain.collapsed_cells(classes)
        return replace(self, domain=domain, of_cell=of_cell[self.of_cell])


def pooled_table(tables: Sequence[Table], target: Domain, privacy: PrivacyStatement) -> Table:
    """Return the table of all that reports tell about a target; refused where they leave cells open."""
    about = _about(tables, target)
    blocks, parts = pooled_blocks(about, target), RespondentSet.either(table.parts for table in about)
    groups = tuple(table.attributes for table in about)
    try:
        if blocks is not None:
            made = Table(
                target,
                blocks,
                privacy,
                parts=parts,
                provenance=Summed(target.names, groups),
                sources=tuple(about),
                rows=_rows(about),
            )
            # worked out at once: it refuses reports that leave cells open
            _ = made.unbiased
            return made
        measured = solved(pooled_measured(about, target))
    except NotIdentifiedError as error:
        raise NotIdentifiedError(
            f"reports about {one_line(groups)} that leave cells of {' and '.join(target.names)} open",
            "reports that together identify every cell",
            "Collect these attributes together; reconstruct() fills in what a model says, and its bounds() say what is "
            "known without one.",
        ) from error
    simulated = reports_once(about)[1]
    shown = Estimate(measured.estimate, measured.covariance, measured.n, privacy, simulated)
    provenance = Summed(target.names, groups, measured.bound)
    figures = Figures(shown, measured)
    return Table(
        target, (), privacy, parts=parts, provenance=provenance, figures=figures, sources=tuple(about), method="pooled"
    )


def pooled_blocks(tables: Sequence[Table], target: Domain) -> tuple[Block, ...] | None:
    """Return the reports of tables as reports about a target, each once; None where that cannot be done.

    Rows are counted together as far as they are about it, and blocks that tell nothing are left out. None where reports
    cannot be added up, or respondents stand behind several blocks that were not counted together.

    Parameters
    ----------
    tables : sequence of Table
    target : Domain
        With the categories of the tables.
    """
    telling = list(onto(tables, target))
    about = [table for table, _, _ in telling]
    if not all(table.blocks for table in about):
        return None
    common = common_to(list(map(TableReports, about)))
    together = _counted_together(about, target)
    placed: list[Placed] = [(None, rows.block(_asked(rows, target)).widened(target)) for rows in together]
    for number, (table, kept, of_cell) in enumerate(telling):
        for block in table.blocks:
            if block.n and block.is_informative_about(of_cell, kept.size()) and not _among(block, table, together):
                added = None if _may_be_among(block, table, together) else block.onto(kept, of_cell)
                if added is None:
                    return None
                placed.append((number, added.widened(target)))
    once = _each_once(placed, common)
    if once is None or not _are_alone(once, common, together):
        return None
    return tuple(block for _, block in once)


def pooled_measured(tables: Sequence[Table], target: Domain) -> Measured:
    """Return a target's sums of cells as tables tell them without bias; their covariance may be a bound.

    Parameters
    ----------
    tables : sequence of Table
    target : Domain
        With the categories of the tables.
    """
    telling = list(onto(tables, target))
    about = [table for table, _, _ in telling]
    n = reports_once(about)[0]
    if min(table.n for table in about) < _TO_SPREAD:
        return _measured_apart(telling, target, n)
    try:
        stacked = Stacked.of(about)
    except NotIdentifiedError:
        return _measured_apart(telling, target, n)
    sizes = [kept.size() for _, kept, _ in telling]
    ends = np.cumsum([0, *sizes])
    parts = [
        Contribution(np.arange(start, start + size), np.eye(size)[:, of_cell])
        for start, size, (_, _, of_cell) in zip(ends, sizes, telling, strict=False)
    ]
    estimates = [matrix @ table.linear[0] for (_, matrix), table in zip(parts, about, strict=True)]
    sums = [np.eye(kept.size())[:, target.onto(kept.names)] for _, kept, _ in telling]
    covariance = stacked.covariance_of(parts, int(ends[-1]))
    return Measured(np.vstack(sums), np.concatenate(estimates), covariance, n, stacked.bound)


def solved(measured: Measured) -> Measured:
    """Return the cells of a table, by least squares with the sums' variances, where sums and total identify them."""
    inverse = solving(measured.sums, np.diagonal(measured.covariance), measured.n)
    even = np.full(len(inverse), 1 / len(inverse))
    estimate = even + inverse @ (measured.estimate - measured.sums @ even)
    return Measured.of_cells(estimate, inverse @ measured.covariance @ inverse.T, measured.n, measured.bound)


def solving(sums: FloatArray, variances: FloatArray, n: int) -> FloatArray:
    """Return the matrix (cells, sums) of weighted least squares that takes deviations of sums to those of cells.

    Deviations are from an even table. Sums, shape (sums, cells), that leave cells open even with the total are refused.
    """
    from scipy.linalg import helmert

    cells = sums.shape[1]
    weights = 1 / np.sqrt(np.maximum(variances, variances.mean() / max(n, 1)))
    contrasts = np.asarray(helmert(cells).T)
    rows = weights[:, None] * (sums @ contrasts)
    if np.linalg.matrix_rank(rows, tol=_SAME * np.abs(rows).max(initial=1.0)) < cells - 1:
        raise NotIdentifiedError(f"sums that identify only some contrasts of {cells} cells", "sums that identify all")
    return np.asarray(contrasts @ np.linalg.pinv(rows) * weights)


def _measured_apart(telling: Sequence[tuple[Table, Domain, IntArray]], target: Domain, n: int) -> Measured:
    """Stack what tables measure, some of which leave cells open; a bound, where anybody is behind two of them."""
    from scipy.linalg import block_diag

    measured = [table.measured.onto(of_cell, kept.size()) for table, kept, of_cell in telling]
    sums = [own.sums[:, target.onto(kept.names)] for own, (_, kept, _) in zip(measured, telling, strict=True)]
    shared = bool(overlapping([table for table, _, _ in telling]))
    covariance = block_diag(*(own.covariance for own in measured)) * (len(measured) if shared else 1)
    bounds = [own.bound for own in measured if own.bound]
    bound = REPORTS if shared else next(iter(bounds), "")
    return Measured(np.vstack(sums), np.concatenate([own.estimate for own in measured]), covariance, n, bound)


def onto(tables: Sequence[Table], target: Domain) -> Iterator[tuple[Table, Domain, IntArray]]:
    """Yield the tables that bear upon a target, the attributes they have in common, and the sum of each cell there."""
    for table in _about(tables, target):
        kept = target.project([name for name in target.names if name in table.attributes])
        yield table, kept, table.domain.onto(kept.names)


def _about(tables: Sequence[Table], target: Domain) -> list[Table]:
    names = target.categories.keys()
    telling = [table for table in tables if not names.isdisjoint(table.domain.categories) and table.n]
    if not telling:
        raise NotIdentifiedError(
            f"no reports about {one_line(target.names)}", f"tables about {one_line(target.names)}, or some of them"
        )
    return list(map(as_reported, telling))


def _asked(rows: CrossedRows, target: Domain) -> tuple[str, ...]:
    return tuple(name for name in target.names if name in rows.domain.categories)


def _counted_together(tables: Sequence[Table], target: Domain) -> list[CrossedRows]:
    """Return the rows whose answers about a target can be counted together, those with most respondents first."""
    kept: list[CrossedRows] = []
    for rows in sorted(_rows(tables), key=lambda rows: -rows.n):
        names = _asked(rows, target)
        same = rows.domain.project(names) == target.project(names)
        affordable = same and rows.n and rows.outputs_to(names) <= LARGEST_CROSSED
        if affordable and not any(rows.parts.common(other.parts) for other in kept):
            kept.append(rows)
    return kept


def _among(block: Block, table: Table, together: Sequence[CrossedRows]) -> bool:
    """Say whether a block counts rows, or some of the rows, that are counted together."""
    return any(
        rows is other or rows.parts.common(other.parts) == rows.n
        for rows in table.rows
        if rows.are_behind(block)
        for other in together
    )


def _may_be_among(block: Block, table: Table, together: Sequence[CrossedRows]) -> bool:
    """Say whether a block may count respondents whose rows are counted together, as one of merged answers may."""
    known = [rows.parts for rows in table.rows if rows.are_behind(block)] or [table.parts]
    return any(rows.parts.common(parts) for rows in together for parts in known)


def _each_once(placed: Sequence[Placed], common: Mapping[tuple[int, int], SharedReports]) -> list[Placed] | None:
    """Leave out blocks of answers that a block of more reports in another table counts too; None if that tells less."""
    once: list[Placed] = []
    for number, block in sorted(placed, key=lambda entry: (-entry[1].n, -entry[1].question.answers)):
        again = [
            other
            for known, other in once
            if block.answers == other.answers and number is not None and known is not None
            if (min(number, known), max(number, known)) in common
        ]
        if not again:
            once.append((number, block))
        elif not any(_follows(block, other) for other in again):
            return None
    # in the order in which they came
    return [entry for entry in placed if any(entry[1] is block for _, block in once)]


def _follows(block: Block, other: Block) -> bool:
    """Say whether the answer to one question about a table follows from that to the other."""
    together = np.unique(np.column_stack([block.classes, other.classes]), axis=0)
    return len(together) == other.question.answers


def _are_alone(
    blocks: Sequence[Placed], common: Mapping[tuple[int, int], SharedReports], together: Sequence[CrossedRows]
) -> bool:
    """Say whether no respondent is behind two blocks."""
    numbers = sorted({number for number, _ in blocks if number is not None})
    pairs = [common[pair] for pair in combinations(numbers, 2) if pair in common]
    return all(
        not shared.unknown and all(any(rows is other for other in together) for _, _, rows in shared.rows)
        for shared in pairs
    )


def _rows(tables: Sequence[Table]) -> tuple[CrossedRows, ...]:
    return tuple({id(rows): rows for table in tables for rows in table.rows}.values())
