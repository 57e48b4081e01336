"""Trust in a report: what fits its channel, what was set aside, what was checked, and what forged reports could do."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.doubted_tables import DOMAIN, PEOPLE, collected, doubted, merged

import ldpstats as ldp
from ldpstats.protocols.repeated_rows import RepeatedRows
from ldpstats.report import content, report_page
from ldpstats.report.content import Entry, Rows
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.report.trust import trust


@pytest.fixture(autouse=True)
def nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take most of the time, and these tests read words."""
    monkeypatch.setattr(content, "find_spec", lambda _: None)


def said(tables: ldp.TableSet) -> str:
    return re.sub(r"\s+", " ", report_page(tables))


def test_every_table_is_judged_the_most_doubtful_first() -> None:
    section = trust(StudiedTables(collected()))
    table = next(part for part in section if isinstance(part, Rows))
    assert {row[0] for row in table.panel.rows} == {"sex × car", "sex × age", "car × age"}
    pvalues = [float(row[2]) for row in table.panel.rows]
    assert pvalues == sorted(pvalues)
    assert {row[-1] for row in table.panel.rows} == {"fits"}


def test_what_was_not_checked_is_said() -> None:
    assert "With these tables nothing of either is kept." in said(collected())
    assert "nothing of either is kept" not in said(merged())


def test_what_was_found_stands_on_top_and_in_its_section() -> None:
    page = said(doubted())
    for words in (
        "A DIFFERENT COLLECTOR: &lt;west&gt; differs from the others",
        "REPEATED ROWS: at least 8,500 of rows 1 to 9,000 come again from row 40,001 on.",
    ):
        assert page.count(words) == 2
    assert "They are 1,234 of " in page
    assert "3 collectors, each against the others" in page


def test_checks_without_a_finding_warn_of_nothing() -> None:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr")
    alike = ldp.merge([protocol.simulate(PEOPLE, rng=seed) for seed in (1, 2)])
    found = ldp.TableSet(DOMAIN, alike, alike.privacy, (*alike.checks, RepeatedRows(9, None)))
    page = said(found)
    assert "No collector is shown to differ" in page
    assert "nothing was looked at" in page
    assert "DIFFERENT COLLECTOR" not in page
    assert "REPEATED ROWS" not in page


def test_the_share_that_would_explain_the_strongest_finding_is_named() -> None:
    (entry,) = [part for part in trust(StudiedTables(collected())) if isinstance(part, Entry)][-1:]
    assert entry.title == "What could forged reports do?"
    words, assumed = map(str, entry.parts[-2:])
    assert "honest respondents who have the margins that were estimated" in assumed
    assert re.search(r"The strongest dependence that is shown is that of .+, V = 0\.\d\d\.", words)
    needed = re.search(r"about ([\d.]+) % of the reports about this table would have to be forged", words)
    assert needed is not None
    assert 1 < float(needed[1]) < 50


def test_where_none_is_dependent_nothing_is_explained() -> None:
    tables = ldp.SampledGroups(DOMAIN, epsilon=1.0, mechanism="grr").simulate(np.full((2, 2, 3), 20), rng=1)
    assert "would have to be forged" not in said(tables)


def test_of_a_dependence_without_a_v_no_share_is_named() -> None:
    """Two of twenty differ from all others in both: that is no chance, and V is drowned. "V = nan" was said."""
    domain = ldp.Domain({"a": ["x", "y"], "b": ["x", "y"]})
    shown = said(ldp.SampledGroups(domain, epsilon=8.0).simulate(np.array([[18, 0], [0, 2]]), rng=1))
    assert "a dependence is shown, but no V that a share of forged reports could explain" in shown
    assert "V = nan" not in shown
