"""Rows that were set aside are said in every result of the others, each once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from saving.test_files import DOMAIN, EXAMPLES, PEOPLE, RATIO

import ldpstats as ldp
from ldpstats.networks import fit_parameters
from ldpstats.protocols.rrba.stopping import convergence


def without_rows(tables: ldp.TableSet, number: int = 12) -> ldp.TableSet:
    """Return tables as they are counted where so many rows were set aside."""
    marked = [replace(one, privacy=replace(one.privacy, set_aside=number)) for one in tables]
    return ldp.TableSet(tables.domain, marked, replace(tables.privacy, set_aside=number))


@cache
def tables(rng: int = 1) -> ldp.TableSet:
    return without_rows(ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0, mechanism="grr").simulate(PEOPLE, rng=rng))


@cache
def overlapping() -> ldp.TableSet:
    groups = [("a", "b"), ("b", "c")]
    protocol = ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr", groups=groups)
    return without_rows(protocol.simulate(PEOPLE * 10, rng=1))


def crossed() -> ldp.TableSet:
    return without_rows(ldp.PerAttribute(DOMAIN, epsilon=6.0, k=2).simulate(PEOPLE, rng=1))


def blocks() -> ldp.Table:
    protocol = ldp.RRBA(DOMAIN, k=2, epsilon=2.0, block_size=100)
    return without_rows(protocol.simulate(PEOPLE, rng=1))["a", "c"]


def table() -> ldp.Table:
    return tables()["a", "b"]


def square() -> ldp.Table:
    return tables()["a", "c"]


def learnt() -> ldp.LearnedNetwork:
    return ldp.learn_network(tables(), required=[("a", "b")], n_resamples=5)


RESULTS: dict[str, Callable[[], Any]] = {
    "Association": lambda: ldp.association(table()),
    "Bounds": lambda: square().bounds(),
    "Classifier": lambda: ldp.naive_bayes(tables(), "a"),
    "CollectorComparison": lambda: ldp.compare_collectors([tables(), without_rows(tables(rng=2), 0)]),
    "Conditional": lambda: table().conditional("b", given="a"),
    "ConsistencyReport": lambda: ldp.consistency_report(ldp.make_consistent(overlapping())),
    "Convergence": lambda: convergence(blocks()),
    "Crosstab": lambda: table().crosstab(normalize="rows"),
    "Effect": lambda: ldp.odds_ratio(square(), **RATIO),
    "Estimate": lambda: table().cells,
    "ExpectedAccuracy": lambda: ldp.naive_bayes(tables(), "a").expected_accuracy(n_resamples=5),
    "FittedParameters": lambda: fit_parameters(tables(), {"a": ["b", "c"]}),
    "HypothesisResult": lambda: ldp.independence_test(table()),
    "IndependenceTests": lambda: ldp.independence_tests(tables()),
    "LearnedNetwork": learnt,
    "LogLinearFit": lambda: ldp.log_linear_model(table(), "a + b"),
    "PrivacyStatement": lambda: tables().privacy,
    "PublishedResult": lambda: ldp.two_step_test(table(), rng=1),
    "QueryResult": lambda: fit_parameters(tables(), {"a": ["b", "c"]}).query("a", {"c": 1}),
    "Table": table,
    "TableSet": tables,
}
MORE: dict[str, Callable[[], Any]] = {
    "a marginal": lambda: table().marginal("a"),
    "a pooled table": lambda: tables().pooled("a"),
    "a collapsed table": lambda: table().collapse({"b": {"other": ["q", "r"]}}),
    "a consistent table": lambda: ldp.make_consistent(overlapping())["a", "b"],
    **{
        f"reconstructed by {method}": lambda method=method: ldp.reconstruct(overlapping(), ["a", "c"], method)
        for method in ("max-entropy", "l2")
    },
    "the bounds of a reconstruction": lambda: ldp.reconstruct(overlapping(), ["a", "c"]).bounds(),
    "fit to given frequencies": lambda: ldp.goodness_of_fit_test(table().marginal("a"), [0.5, 0.5]),
    "a Monte Carlo test": lambda: ldp.independence_test(square(), pvalue=ldp.MonteCarlo(99, rng=1)),
    "a test of a reconstruction": lambda: ldp.independence_test(ldp.reconstruct(crossed(), ["a", "b"])),
    "a saved test": lambda: ldp.HypothesisResult.from_json(ldp.independence_test(table()).to_json()),
}


@pytest.mark.parametrize("name", [*RESULTS, *MORE])
def test_every_result_says_how_many_rows_were_set_aside(name: str) -> None:
    result = {**RESULTS, **MORE}[name]()
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
    without = {"LoPubModel", "ProcessedEstimate"}
    assert {name for name, made in EXAMPLES.items() if states(made)} <= {*RESULTS, *without}


def test_merged_sets_add_up_what_was_set_aside() -> None:
    other = without_rows(tables(rng=2), 3)
    both = tables() + other
    assert both.privacy.set_aside == 15
    assert {one.privacy.set_aside for one in both} == {15}
    assert "15 rows were set aside" in str(both["a", "b"])
    groups = {"one": table(), "other": other["a", "b"]}
    assert "15 rows were set aside" in str(ldp.homogeneity_test(groups))


def test_reports_say_it(tmp_path: Path) -> None:
    tables().report(tmp_path / "report.html")
    assert "12 rows were set aside" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("save", [ldp.TableSet.to_json, lambda one: ldp.independence_test(one["a", "b"]).to_json()])
def test_files_say_how_many_were_set_aside(save: Callable[[ldp.TableSet], str]) -> None:
    without = ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0, mechanism="grr").simulate(PEOPLE, rng=1)
    assert '"set_aside": 12' not in save(without)
    assert "set_aside" not in str(without.to_dict())
    assert '"set_aside": 12' in save(without_rows(without)).replace('":12', '": 12')


@pytest.mark.parametrize("number", [-1, True, 1.0, "12", 1 << 80, None])
def test_only_numbers_of_rows_are_taken(number: Any) -> None:
    with pytest.raises(ldp.LdpstatsError, match="set_aside"):
        replace(table().privacy, set_aside=number)


def test_statements_are_equal_only_where_as_many_rows_were_set_aside() -> None:
    statement = table().privacy
    assert statement != replace(statement, set_aside=0)
    assert replace(statement, set_aside=1).lines()[-1].startswith("1 row was set aside")
    assert np.all([replace(statement, set_aside=2).for_group("a × b").set_aside == 2])
