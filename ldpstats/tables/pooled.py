"""Pooled reports: everything that the reports of several tables tell about one, each report counted once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ldpstats.arrays import IntArray, places_onto
from ldpstats.blocks import Block
from ldpstats.domain import Domain
from ldpstats.errors import NotIdentifiedError, one_line
from ldpstats.estimation import Measured
from ldpstats.tables.table import Table


def pooled_blocks(tables: Sequence[Table], target: Domain) -> tuple[Block, ...] | None:
    """Return the reports of tables as reports about a target; None where some cannot be added up to it.

    Those that tell nothing about it are left out.
    """
    found = []
    for table, kept, of_cell in _onto(tables, target):
        telling = [block for block in table.blocks if block.n and block.tells(of_cell, kept.size())]
        added = [block.onto(kept, of_cell) for block in telling]
        if not table.blocks or any(block is None for block in added):
            return None
        found += [(table, block.widened(target)) for block in added if block is not None]
    once = [
        block
        for place, (table, block) in enumerate(found)
        if not any(_same_reports(one, (table, block)) for one in found[:place])
    ]
    return tuple(once)


def pooled_measured(tables: Sequence[Table], target: Domain) -> Measured:
    """Return the sums of a target's cells that tables tell, as they were estimated without bias."""
    from scipy.linalg import block_diag

    sums, estimates, spreads, n = [], [], [], 0
    for table, kept, of_cell in _onto(tables, target):
        own = table.measured.onto(of_cell, kept.size())
        axes = [target.names.index(name) for name in kept.names]
        sums.append(own.sums[:, places_onto(target.shape, axes)])
        estimates.append(own.estimate)
        spreads.append(own.covariance)
        n += own.n
    return Measured(np.vstack(sums), np.concatenate(estimates), block_diag(*spreads), n)


def _onto(tables: Sequence[Table], target: Domain) -> Iterator[tuple[Table, Domain, IntArray]]:
    """Yield the tables that bear upon a target, what they have in common with it, and the sum of each cell there."""
    telling = [table for table in tables if table.n and not set(table.attributes).isdisjoint(target.names)]
    if not telling:
        raise NotIdentifiedError(
            f"no reports about {one_line(target.names)}", f"tables about {one_line(target.names)}, or some of them"
        )
    for table in telling:
        kept = target.project([name for name in target.names if name in table.attributes])
        yield table, kept, places_onto(table.shape, [table.attributes.index(name) for name in kept.names])


def _same_reports(one: tuple[Table, Block], other: tuple[Table, Block]) -> bool:
    """Say whether two tables count the same answers of the same respondents."""
    (first, block), (second, again) = one, other
    return first is not second and block.answers == again.answers and first.parts.overlap(second.parts)
