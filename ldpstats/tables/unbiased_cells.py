"""Unbiased cells: what intervals of quantities of a table start from, whatever the table's method of estimation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation import Estimate
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.measured import steadied as shares_of
from ldpstats.estimation.rare import FEW
from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables.provenance import assuming_briefly
from ldpstats.tables.table import Table

_ROUNDING = 1e-9


def unbiased_cells(table: Table) -> Estimate | str:
    """Return the table's linear, unbiased estimate, or why there is none.

    Effects start from it, as they take its noise; where reports leave cells open, it is that under the assumption.
    """
    if table.provenance.refused:
        return table.provenance.refused
    try:
        cells = table.cells if table.assumption else table.unbiased
    except NotIdentifiedError as error:
        return error.came
    return cells if table.n > 1 else "a single report does not show how much reports vary"


def own_reports(table: Table) -> tuple[Block, ...]:
    """Return the blocks behind the unbiased estimate; none where it rests on an assumption, or on sums."""
    return () if table.assumption else tuple(block for block in table.blocks if block.n)


def assuming(table: Table) -> str:
    """Say in a few words what a table assumes, to follow a title; empty if nothing."""
    return assuming_briefly(table.assumption)


def bound_of(table: Table) -> str:
    """Say why the covariance of a table without reports is an upper bound; empty if it is none."""
    return table.measured.bound if table.figures and not own_reports(table) and not table.assumption else ""


def provenance_in_words(table: Table) -> list[str]:
    """Say where a table comes from and what it assumes; nothing of one that was simply collected."""
    words, assumption = table.provenance.words, table.assumption
    return [*([words] if words else []), *([f"Assumes: {assumption}."] if assumption else [])]


def improper_in_words(proportions: FloatArray) -> list[str]:
    """Say how many proportions are below 0 or above 1, if any are."""
    beyond = int(((proportions < -_ROUNDING) | (proportions > 1 + _ROUNDING)).sum())
    words = "1 proportion is" if beyond == 1 else f"{beyond:,} proportions are"
    return [f"{words} estimated below 0 or above 1, as the noise exceeds them"] if beyond else []


def is_sparse(table: Table) -> bool:
    """Say whether blocks that ask the same counted some report fewer than 20 times: too few for a normal law."""
    counted: dict[object, FloatArray] = {}
    for block in (one.by_value for one in own_reports(table)):
        alike = (block.question, block.noise.outputs)
        counted[alike] = counted.get(alike, np.zeros(block.noise.outputs)) + block.tally.counts
    return any(bool(counts.min() < FEW) for counts in counted.values())


def never_certain(table: Table, cells: Estimate) -> FloatArray:
    """Return the cells' covariance; of a table without own reports with every variance at least 1/n²."""
    if own_reports(table):
        return cells.covariance
    missing = np.maximum(1 / cells.n**2 - np.diagonal(cells.covariance), 0)
    return cells.covariance + np.diag(missing)


def steadied(table: Table, cells: Estimate) -> Estimate:
    """Return the estimate with half a respondent more in every cell, none below zero; its covariance never vanishes."""
    shares = shares_of(cells)
    spread = UnbiasedPooling(own_reports(table)).covariance(shares)
    return replace(cells, estimate=shares, spread=spread, bounds=None, own=None)
