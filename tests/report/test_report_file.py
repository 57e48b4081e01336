"""The report as a file: one page, the same for the same tables, and never over anything else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import LdpstatsError, SampledGroups, TableSet
from ldpstats.report import report_page


@pytest.fixture(name="tables")
def collected(domain: ldp.Domain, people: pd.DataFrame) -> TableSet:
    return SampledGroups(domain, epsilon=3.0).simulate(people, rng=1)


def test_the_same_tables_make_the_same_page(tables: TableSet) -> None:
    page = report_page(tables)
    assert report_page(TableSet.from_json(tables.to_json())) == page
    assert "://" not in page.replace("http://www.w3.org/", "")


def test_an_older_report_is_replaced_and_nothing_else(tables: TableSet, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
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
def test_what_is_no_path_is_refused(tables: TableSet, path: object) -> None:
    with pytest.raises(LdpstatsError, match="the name of a file"):
        tables.report(path)  # type: ignore[arg-type]  # that is what is tested


def test_a_single_attribute_has_a_report() -> None:
    domain = ldp.Domain({"sex": ["F", "M"]})
    tables = SampledGroups(domain, k=1, epsilon=1.0).simulate(np.array([400, 600]), rng=1)
    assert "nothing can be said about dependence" in report_page(tables)
