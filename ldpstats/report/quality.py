"""Data quality in a report: whether reports fit their channels, and what forged ones could do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpstats.blocks import Block
from ldpstats.consistency import consistency_report, make_consistent
from ldpstats.errors import LdpstatsError
from ldpstats.identification.bounds import LEVEL
from ldpstats.noise import NoisyCounts
from ldpstats.presentation import panel_of_figures
from ldpstats.protocols.groups import label
from ldpstats.report.content import Drawn, Entry, Folded, Part, Rows, Section, Warned
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.tables import Table

_FORGED = 0.01
_WORST = 10


def quality(studied: StudiedTables) -> Section:
    """Say whether the reports can be what they are said to be, and what forged ones could have done.

    Parameters
    ----------
    studied : StudiedTables
    """
    fit = studied.fit
    judged: list[Part] = [Warned(one) for one in fit.warning]
    judged = judged or [fit.words]
    return Section.of("quality", "Data quality", *judged, *_agreement(studied), *_forged(studied))


def _agreement(studied: StudiedTables) -> list[Part]:
    """Say how far tables disagree about what they share."""
    made = all(table.provenance.kind == "made consistent" for table in studied.tables)
    try:
        found = consistency_report(studied.tables if made else make_consistent(studied.tables))
    except LdpstatsError as error:
        return [f"Whether the tables agree with each other is not known: {error}"]
    summary = found.summary()
    facts, moved = summary.panels
    verdict, *units = summary.sentences[:2]
    contradicted = bool(found.df) and found.pvalue is not None and found.pvalue < LEVEL
    title = "As reported, and after they are made to agree"
    told: tuple[Part, ...] = (Rows(moved), Drawn(found.picture(), "agreement-picture"), *units)
    parts = (
        Warned(verdict) if contradicted else verdict,
        Rows(replace(facts, title=title)),
        Folded("Table by table, and category by category", told, printed=False),
    )
    return [Entry("agreement", "Do the tables agree?", parts)]


def _forged(studied: StudiedTables) -> list[Part]:
    """Say how far forged reports could move tables with a tally of their own."""
    known = [(table, shift) for table in studied.tables if (shift := _worst_shift(table)) is not None]
    names = studied.tables.domain.names
    # of tables that can be moved equally far the first of the domain, whatever the order of the set
    shifts = sorted(known, key=lambda one: (-round(one[1], 12), list(map(names.index, one[0].attributes))))
    if not shifts:
        return []
    rows = [[label(table.attributes), f"{shift:.3f}", _in_errors(table, shift)] for table, shift in shifts[:_WORST]]
    headers = ["table", "shift of a proportion", "in standard errors (the largest of the table)"]
    said = (
        f"If {100 * _FORGED:g} % of the reports about a table were forged, one of its proportions could move by this "
        "much on average, and nothing in the reports need show it: the noise that protects respondents protects "
        "forgers, too."
    )
    return [said, Rows(panel_of_figures(headers, rows, "The tables that forged reports can move farthest"))]


def _in_errors(table: Table, shift: float) -> str:
    most = float(table.std_err.max())
    return f"{shift / most:.1f}" if most else "—"


def _worst_shift(table: Table) -> float | None:
    """Return the most that forged reports move a proportion on average; None where reports are not those of people."""
    blocks = [block for block in table.blocks if block.n]
    if table.figures or len(blocks) != 1 or not _alone(blocks[0]):
        return None
    lowest, highest = blocks[0].noise.influence()
    return _FORGED * float(np.maximum(highest, 1 - lowest).max())


def _alone(block: Block) -> bool:
    return block.question.is_bijection and not isinstance(block.noise, NoisyCounts)
