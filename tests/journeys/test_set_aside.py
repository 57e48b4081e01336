"""Rows that were set aside are said in every result of the others, each once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saving import test_files as examples

import ldpstats as ldp


def without_rows(tables: ldp.TableSet, number: int = 12) -> ldp.TableSet:
    """Return tables as they are counted where so many rows were set aside."""
    marked = [with_rows_aside(one, number) for one in tables]
    return ldp.TableSet(tables.domain, marked, replace(tables.privacy, set_aside=number))


def with_rows_aside(table: ldp.Table, number: int = 12) -> ldp.Table:
    return replace(table, privacy=replace(table.privacy, set_aside=number))


TABLES, OVERLAPPING, CROSSED = (
    without_rows(one()) for one in (examples.tables, examples.overlapping, examples.crossed)
)
TABLE, BLOCKS = TABLES["a", "b"], with_rows_aside(examples.blocks())
COLLECTORS = [without_rows(examples.collectors()[0]), examples.collectors()[1]]


@pytest.fixture
def _rows_were_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let examples of results be of reports of which some were set aside."""
    aside = {"tables": TABLES, "overlapping": OVERLAPPING, "blocks": BLOCKS, "collectors": COLLECTORS}
    for name, collected in aside.items():
        monkeypatch.setattr(examples, name, lambda collected=collected: collected)


RESULTS = [
    *("Association", "Bounds", "Classifier", "CollectorComparison", "Conditional", "ConsistencyReport", "Convergence"),
    *("Crosstab", "Effect", "ExpectedAccuracy", "FittedParameters", "Functional", "HypothesisResult"),
    *("IndependenceTests", "LearnedNetwork", "LogLinearFit", "PrivacyStatement", "PublishedResult"),
    *("QueryResult", "Table"),
]
MORE: dict[str, Callable[[], Any]] = {
    "TableSet": lambda: TABLES,
    "an estimate": lambda: TABLE.cells,
    "a quantile": lambda: TABLES["a", "c"].quantile("c", given="a"),
    "a marginal": lambda: TABLE.marginal("a"),
    "a pooled table": lambda: TABLES.pooled("a"),
    "a collapsed table": lambda: TABLE.collapse({"b": {"other": ["q", "r"]}}),
    "a consistent table": lambda: ldp.make_consistent(OVERLAPPING)["a", "b"],
    **{
        f"reconstructed by {method}": lambda method=method: ldp.reconstruct(OVERLAPPING, ["a", "c"], method)
        for method in ("max-entropy", "l2")
    },
    "the bounds of a reconstruction": lambda: ldp.reconstruct(OVERLAPPING, ["a", "c"]).bounds(),
    "fit to given frequencies": lambda: ldp.goodness_of_fit_test(TABLE.marginal("a"), [0.5, 0.5]),
    "a Monte Carlo test": lambda: ldp.independence_test(TABLES["a", "c"], pvalue=ldp.MonteCarlo(99, rng=1)),
    "a test of a reconstruction": lambda: ldp.independence_test(ldp.reconstruct(CROSSED, ["a", "b"])),
    "a saved test": lambda: ldp.HypothesisResult.from_json(ldp.independence_test(TABLE).to_json()),
}


@pytest.mark.usefixtures("_rows_were_set_aside")
@pytest.mark.parametrize("name", [*RESULTS, *MORE])
def test_every_result_says_how_many_rows_were_set_aside(name: str) -> None:
    result = {**examples.EXAMPLES, **MORE}[name]()
    said = re.findall(r"(\S+) rows were set\s+aside, being no\s+valid reports", str(result.summary()))
    assert said == ["12"], str(result.summary())
    assert "12 rows were set aside" in result._repr_html_()
    plain = json.dumps(result.to_dict())
    assert set(re.findall(r'"set_aside": (\d+)', plain)) == {"12"}


def test_every_kind_of_result_with_a_statement_is_looked_at() -> None:
    def states(made: Callable[[], Any]) -> bool:
        result = made()
        return hasattr(result, "to_dict") and "privacy" in result.to_dict()

    # of a data frame of reports, which sets none aside; of one mechanism's counts, which no collection made
    # and of a table of its own
    without = {"Estimate", "LoPubModel", "ProcessedEstimate", "Quantile"}
    assert {name for name, made in examples.EXAMPLES.items() if states(made)} <= {*RESULTS, *MORE, *without}


def test_merged_sets_add_up_what_was_set_aside() -> None:
    other = without_rows(examples.collectors()[0], 3)
    both = TABLES + other
    assert both.privacy.set_aside == 15
    assert {one.privacy.set_aside for one in both} == {15}
    assert "15 rows were set aside" in str(both["a", "b"])
    groups = {"one": TABLE, "other": other["a", "b"]}
    assert "15 rows were set aside" in str(ldp.homogeneity_test(groups))


def test_reports_say_it(tmp_path: Path) -> None:
    TABLES.report(tmp_path / "report.html")
    assert "12 rows were set aside" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("save", [ldp.TableSet.to_json, lambda one: ldp.independence_test(one["a", "b"]).to_json()])
def test_files_say_how_many_were_set_aside(save: Callable[[ldp.TableSet], str]) -> None:
    without = examples.tables()
    assert '"set_aside": 12' not in save(without)
    assert "set_aside" not in str(without.to_dict())
    assert '"set_aside": 12' in save(without_rows(without)).replace('":12', '": 12')


@pytest.mark.parametrize("number", [-1, True, 1.0, "12", 1 << 80, None])
def test_only_numbers_of_rows_are_taken(number: Any) -> None:
    with pytest.raises(ldp.LdpstatsError, match="set_aside"):
        replace(TABLE.privacy, set_aside=number)


def test_statements_are_equal_only_where_as_many_rows_were_set_aside() -> None:
    statement = TABLE.privacy
    assert statement != replace(statement, set_aside=0)
    assert replace(statement, set_aside=1).lines()[-1].startswith("1 row was set aside")
    assert np.all([replace(statement, set_aside=2).for_group("a × b").set_aside == 2])
