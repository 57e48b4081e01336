"""Colophon of a report: which tables it is about, and which programs made it."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version

from ldpstats.presentation import panel_of_facts
from ldpstats.report.content import Folded, Rows, Section
from ldpstats.report.page import can_draw
from ldpstats.report.studied_tables import StudiedTables


def colophon(studied: StudiedTables) -> Section:
    """Section that names the reports and the programs, so that the page can be made again."""
    programs = ("ldpstats", "numpy", "scipy", "pandas", "statsmodels", *(["matplotlib"] if can_draw() else []))
    facts = {
        "Programs": ", ".join(
            [*(f"{name} {version(name)}" for name in programs), f"Python {platform.python_version()}"]
        ),
        "SHA-256 of the tables": hashlib.sha256(studied.tables.to_json().encode()).hexdigest(),
        "Collections": f"{len(studied.tables.collections):,}",
    }
    rows = {str(place): identity for place, identity in enumerate(studied.tables.collections, 1)}
    table = Rows(panel_of_facts(rows, "Collections whose reports are in these tables"))
    return Section.of(
        "colophon",
        "How to make this page again",
        "The same tables make the same page, to the letter, with these versions. The digest is that of the file which "
        "tables.save() writes.",
        Rows(panel_of_facts(facts, "Made of, and with")),
        *([Folded("Identities of the collections", (table,))] if rows else []),
    )
