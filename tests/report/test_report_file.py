"""The report as a file: one page, the same for the same tables, and never over anything else."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import LdpstatsError, SampledGroups, TableSet
from ldpstats.datasets import true_cramers_v
from ldpstats.noise import Tally
from ldpstats.report import content, report_page
from ldpstats.report.content import Figure
from ldpstats.report.estimates import raw_and_private
from ldpstats.report.studied_tables import StudiedTables
from ldpstats.report.trust import trust


@pytest.fixture(autouse=True)
def nothing_is_drawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take most of the time, and most tests read words."""
    if "drawn" not in request.node.name:
        monkeypatch.setattr(content, "find_spec", lambda _: None)


@pytest.fixture(name="tables")
def collected(domain: ldp.Domain, people: pd.DataFrame) -> TableSet:
    return SampledGroups(domain, epsilon=3.0).simulate(people, rng=1)


def single() -> TableSet:
    """Return the answers about one attribute, whose page is soon made."""
    return SampledGroups(ldp.Domain({"sex": ["F", "M"]}), k=1, epsilon=1.0).simulate(np.array([400, 600]), rng=1)


def test_the_same_tables_make_the_same_page(tables: TableSet) -> None:
    page = report_page(tables)
    assert report_page(TableSet.from_json(tables.to_json())) == page
    assert "://" not in page.replace("http://www.w3.org/", "")


def test_an_older_report_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    tables, path = single(), tmp_path / "report.html"
    tables.report(path, title="First")
    tables.report(str(path), title="Second")
    assert "<h1>Second</h1>" in path.read_text("utf-8")
    quoted = tmp_path / "notes.html"
    quoted.write_text("<p>My notes on a report:</p>" + path.read_text("utf-8"), "utf-8")
    saved = tmp_path / "tables.json"
    tables.save(saved)
    for other in (quoted, saved, tmp_path):
        before = other.read_bytes() if other.is_file() else b""
        with pytest.raises(LdpstatsError, match=r"holds something else|no file"):
            tables.report(other)
        assert not before or other.read_bytes() == before
    with pytest.raises(LdpstatsError, match="holds something else"):
        tables.save(path)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["notes.html", "report.html", "tables.json"]


@pytest.mark.parametrize("path", ["", "a\0b", None, 3])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(LdpstatsError, match="the name of a file"):
        single().report(path)  # type: ignore[arg-type]  # that is what is tested


@pytest.mark.parametrize("title", [5, ["a"], b"a", "\udcfc"])
def test_a_title_is_a_text(tables: TableSet, title: object) -> None:
    with pytest.raises(LdpstatsError, match="a text"):
        report_page(tables, title)  # type: ignore[arg-type]  # that is what is tested


def test_a_private_v_is_compared_where_it_is_that_of_the_whole_table(domain: ldp.Domain, people: pd.DataFrame) -> None:
    few = people.head(60)
    section = list(raw_and_private(StudiedTables(SampledGroups(domain, epsilon=1.0).simulate(few, rng=1)), few))
    assert [part.name for part in section if isinstance(part, Figure)] == ["raw-shares"]
    assert str(section[-1]).startswith("Without 3 pairs whose V is not estimable")
    section = list(raw_and_private(StudiedTables(SampledGroups(domain, epsilon=6.0).simulate(people, rng=1)), people))
    assert [part.name for part in section if isinstance(part, Figure)] == ["raw-shares", "raw-effects"]


def test_what_is_said_of_forged_reports_does_not_depend_on_the_order_of_tables() -> None:
    domain = ldp.Domain({name: ["yes", "no"] for name in "abcdef"})
    tables = SampledGroups(domain, epsilon=2.0).simulate(np.full(64, 30), rng=1)
    turned = TableSet(domain, tables.tables[::-1], tables.privacy)
    assert len(tables) > 10
    for one, other in zip(trust(StudiedTables(tables)), trust(StudiedTables(turned)), strict=True):
        assert one == other or "agreement" in str(one)[:60]


def test_a_single_attribute_has_a_report() -> None:
    assert "nothing can be said about dependence" in report_page(single())


def test_simulated_reports_are_called_so_and_their_share_is_said(tables: TableSet, people: pd.DataFrame) -> None:
    assert "All reports were simulated" in report_page(tables)
    protocol = SampledGroups(tables.domain, epsilon=3.0)
    real = protocol.collect(people)
    assert "simulated:" not in report_page(real)
    assert "3,000 of the 6,000 reports were simulated" in report_page(real + tables)
    with pytest.raises(LdpstatsError, match="3,000 of 3,000 reports that respondents sent"):
        report_page(real, truth=people)


def test_raw_answers_stand_beside_private_ones(tables: TableSet, people: pd.DataFrame) -> None:
    page = report_page(tables, truth=people)
    joint = pd.crosstab(people["sex"], people["car"]).to_numpy() / len(people)
    assert f'<td class="figures">{true_cramers_v(joint):.3f}</td>' in page
    names = list(tables.domain.names)
    counts = people.groupby(names).size().reindex(tables.domain.index(), fill_value=0).to_numpy()
    assert report_page(tables, truth=counts) == page


def test_reports_that_do_not_fit_their_channel_are_not_believed(tables: TableSet) -> None:
    first, *others = tables
    (block,) = first.blocks
    counts = np.zeros_like(block.tally.counts)
    counts[0] = block.n
    forged = replace(first, blocks=(replace(block, tally=Tally(block.noise, counts, block.n, block.n)),))
    page = report_page(TableSet(tables.domain, [forged, *others], tables.privacy))
    assert "IMPLAUSIBLE" in page
    assert "reports of 1 pair do not fit their channel" in page


def test_nothing_is_not_a_number_and_nominal_levels_are_marked(domain: ldp.Domain) -> None:
    gaussian = ldp.CentralGaussian(domain, epsilon=1.0, delta=1e-6)
    page = report_page(gaussian.simulate(np.full(12, 2), rng=1))
    assert "nominal, delta = 0.000001" in page
    assert "Nothing is strictly guaranteed" in page
    assert ">nan" not in page
    assert "= nan" not in page
    assert "trusted curator counted" in page
    assert "own device" not in page
    assert "draw from a public channel" not in page


def test_what_is_drawn_is_described_where_nothing_can_be_drawn(
    tables: TableSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = report_page(tables)
    assert report_page(TableSet.from_json(tables.to_json())) == drawn
    assert "<svg" in drawn
    assert "without pictures" not in drawn
    monkeypatch.setattr(content, "find_spec", lambda _: None)
    plain = report_page(tables)
    assert "<svg" not in plain
    assert "without pictures, as matplotlib is not installed" in plain
    assert "How far a suspicion can move" in plain


@pytest.mark.parametrize("n", [0, 3])
def test_tables_without_reports_say_so(domain: ldp.Domain, n: int) -> None:
    people = np.zeros(12, dtype=int)
    people[:n] = 1
    page = report_page(SampledGroups(domain, epsilon=1.0).simulate(people, rng=1))
    assert f"{n} reports about 3 attributes" in page
    assert "nan" not in page.partition("</style>")[2]


def test_methods_are_those_that_were_used_and_one_is_no_plural() -> None:
    domain = ldp.Domain({"a": ["x", "y"], "b": ["p", "q"]})
    protocol = ldp.SampledGroups(domain, epsilon=20.0)
    untested, one = (protocol.simulate(np.array([n, 0, 0, 0]), rng=1) for n in (4000, 1))
    page, tested = (report_page(one) for one in (untested, protocol.simulate(np.array([400, 100, 100, 400]), rng=1)))
    assert "nothing can be said about dependence" in page
    for unused in ("Rao", "Holm&#39;s (1979)", "Haberman"):
        assert unused not in page
        assert unused in tested
    assert "1 report about 2 attributes" in report_page(one)
    assert repr(one) == "<TableSet: 1 table, n = 1 (simulated)>"


def test_pictures_of_many_attributes_miss_none_that_another_one_shows() -> None:
    many = ldp.Domain({f"a{place:02}": list(range(6)) for place in range(12)} | {"town": list(range(150))})
    protocol = SampledGroups(many, k=1, epsilon=4.0)
    people = pd.DataFrame({name: np.arange(600) % len(values) for name, values in many.categories.items()})
    page = report_page(protocol.simulate(people, rng=1))
    assert "Proportions of 6 attributes" in page
    assert "not shown" not in page
    assert ">149</td>" in page
