"""Consistent tables: what they agree on, what becomes of their order and names, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy
import numpy as np
import pandas as pd
import pytest
from consistency_speed import disagreement
from scipy.stats import t as student
from support.overlapping_tables import FOUR, GROUPS, Array, assert_consistent, collected, each_group, flat, people

from ldpstats import GRR, Domain, LdpstatsError, PrivacyStatement, SampledGroups, Table, TableSet
from ldpstats.consistency.consistent import LimitsOfTheFit, make_consistent
from ldpstats.estimation import Estimate
from ldpstats.tables import Figures

METHODS = ("l2", "l1", "elastic-net")
PROMISE = PrivacyStatement(1.0, "a respondent's whole record")

each_method = pytest.mark.parametrize("method", METHODS)


def derived(domain: Domain, estimates: dict[tuple[str, ...], Array], variances: float = 1e-4, n: int = 100) -> TableSet:
    """Return tables that bring their estimates along."""
    tables = []
    for group, estimate in estimates.items():
        covariance = variances * np.eye(estimate.size)
        cells = Estimate(estimate.ravel(), covariance, n, PROMISE)
        tables.append(Table(domain.project(group), (), PROMISE, figures=Figures(cells)))
    return TableSet(domain, tables, PROMISE)


@each_group
@each_method
@pytest.mark.parametrize("mechanism", ["grr", "oue"])
def test_tables_become_proper_and_agree_on_all_they_share(groups: str, method: Any, mechanism: str) -> None:
    tables = collected(GROUPS[groups], mechanism=mechanism)
    assert flat(tables).min() < 0
    assert disagreement(tables) > 0.01
    assert_consistent(make_consistent(tables, method))


@each_method
def test_a_table_of_a_part_pulls_the_whole_as_far_as_its_reports_reach(method: Any) -> None:
    pair = np.array([[0.3, 0.2], [0.2, 0.3]])
    single, domain = np.array([0.7, 0.3]), Domain({"a": [0, 1], "b": [0, 1]})
    both = [*derived(domain, {("a", "b"): pair}, 1e-4), *derived(domain, {("a",): single}, 1e-8)]
    fitted = make_consistent(TableSet(domain, both, PROMISE), method)
    assert_consistent(fitted)
    assert fitted["a"].estimate == pytest.approx(single, abs=1e-3)
    # equally precise cells share the change
    expected = [[0.4, 0.3], [0.1, 0.2]]
    if method != "l1":
        assert fitted["a", "b"].estimate == pytest.approx(np.array(expected), abs=1e-3)


@pytest.mark.parametrize("method", METHODS)
@each_group
def test_what_agrees_already_comes_back_unchanged(groups: str, method: Any) -> None:
    joint = people(FOUR, 10**6, seed=2, concentration=1.0).ravel() / 10**6
    exact = {group: np.bincount(FOUR.onto(group), joint).reshape(FOUR.project(group).shape) for group in GROUPS[groups]}
    tables = derived(FOUR, exact)
    assert flat(make_consistent(tables, method)) == pytest.approx(flat(tables), abs=1e-9)


@each_method
@each_group
def test_the_order_of_tables_and_of_attributes_does_not_matter(groups: str, method: Any) -> None:
    tables = collected(GROUPS[groups], mechanism="oue")
    turned = [table.reordered(table.attributes[::-1]) for table in tables]
    expected, fitted = make_consistent(tables, method), make_consistent(TableSet(FOUR, turned[::-1], PROMISE), method)
    assert [table.attributes for table in fitted] == [table.attributes for table in turned[::-1]]
    for table in expected:
        other = fitted[table.attributes]
        assert other.estimate == pytest.approx(table.estimate, abs=1e-6)
        assert other.covariance == pytest.approx(table.covariance, rel=1e-9, abs=1e-15)


def test_what_tables_share_is_more_precise_than_in_any_of_them_and_equally_so_in_all() -> None:
    tables = collected(GROUPS["pairs"])
    fitted = make_consistent(tables)
    for name in FOUR.names:
        before = [table.marginal(name).covariance for table in tables if name in table.attributes]
        first, *others = [table.marginal(name).covariance for table in fitted if name in table.attributes]
        for covariance in others:
            assert covariance == pytest.approx(first, abs=1e-15)
        assert np.all(np.diagonal(first) < np.diagonal(before, axis1=1, axis2=2).min(axis=0))


def test_tables_keep_their_attributes_reports_promises_and_origin() -> None:
    protocol = SampledGroups(FOUR, epsilon=1.0, groups=[("c", "a"), ("b", "c"), ("d",)])
    codes = np.stack(np.unravel_index(np.arange(72), FOUR.shape), axis=1)
    frame: pd.DataFrame = FOUR.decode(np.tile(codes, (5, 1)))
    secret, simulated = protocol.collect(frame), protocol.collect(frame, rng=1)
    for tables in (secret, simulated):
        fitted = make_consistent(tables)
        assert fitted.privacy == tables.privacy
        assert fitted.domain == tables.domain
        for table, other in zip(tables, fitted, strict=True):
            kept = (table.attributes, table.shape, table.n, table.privacy)
            assert (other.attributes, other.shape, other.n, other.privacy) == kept
            assert other.simulated == (table.n if tables is simulated else 0)
            assert other.method == "consistent (l2)"
            assert "Made consistent with the other tables of its set (l2)" in str(other.summary())
            assert other.conf_int().shape == (*table.shape, 2)


def test_the_given_tables_are_left_as_they_were() -> None:
    tables = collected(GROUPS["pairs"])
    before, text = flat(tables).tolist(), tables.to_json()
    make_consistent(tables)
    assert flat(tables).tolist() == before
    assert tables.to_json() == text


def test_other_estimates_of_the_same_reports_change_nothing() -> None:
    tables = collected(GROUPS["a chain"])
    assert flat(make_consistent(tables.estimated_by("mle"))).tolist() == flat(make_consistent(tables)).tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "l3"}, r"method = 'l3'. Allowed: 'l2', 'l1', 'elastic-net'"),
        ({"method": None}, "method = None"),
        ({"method": ["l2"]}, r"method = \['l2'\]"),
        *[
            ({"method": "elastic-net", "gamma": gamma}, "a number from 0 to 1")
            for gamma in (-0.1, 1.1, np.nan, np.inf, True, "0.5", None)
        ],
        ({"method": "l1", "gamma": 0.3}, "gamma with method = 'elastic-net' only"),
        ({"gamma": 2}, "gamma = 2. Allowed: a number from 0 to 1"),
    ],
)
def test_unknown_methods_and_weights_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(LdpstatsError, match=words):
        make_consistent(collected([("a",)]), **options)


def test_what_are_no_tables_is_refused() -> None:
    tables = collected([("a", "b")])
    for given in (tables["a", "b"], [tables["a", "b"]], None, GRR(3, 1.0)):
        with pytest.raises(LdpstatsError, match="a TableSet"):
            make_consistent(given)
    with pytest.raises(LdpstatsError, match="no tables"):
        make_consistent(TableSet(FOUR, [], PROMISE))


def test_tables_without_reports_are_named() -> None:
    tables = SampledGroups(FOUR, groups=[("a", "b"), ("c",), ("d", "a")], epsilon=1.0).simulate(
        np.zeros(FOUR.shape, int), rng=1
    )
    with pytest.raises(LdpstatsError, match=r"without a single report: \('a', 'b'\), \('c',\), \('d', 'a'\)"):
        make_consistent(tables)
    single = SampledGroups(FOUR, groups=[("a", "b")], epsilon=1.0).simulate(
        np.eye(1, 72, dtype=int).reshape(FOUR.shape), rng=1
    )
    with pytest.raises(LdpstatsError, match="a table of a and b without finite variances"):
        make_consistent(single)


@each_method
def test_a_solver_that_gives_up_is_heard(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(*_: Any, **_options: Any) -> None:
        raise cvxpy.SolverError("no luck")

    tables = collected(GROUPS["pairs"])
    monkeypatch.setattr(cvxpy.Problem, "solve", gives_up)
    with pytest.raises(LdpstatsError, match="no luck"):
        make_consistent(tables, method)


def test_what_is_shown_is_in_its_interval() -> None:
    domain = Domain({"a": ["x", "y", "z"], "b": ["u", "v"]})
    protocol = SampledGroups(domain, epsilon=1.0, groups=[("a", "b"), ("b",)], mechanism="hr")
    table = make_consistent(protocol.simulate(np.array([150, 50, 0, 0, 0, 100]), rng=6))["a", "b"]
    limits = table.conf_int()
    # the fit before the bound at zero is so far below it that its normal interval ends there
    assert np.any(table.unbiased.estimate + 2 * table.unbiased.std_err < 0)
    assert np.all((limits[..., 0] <= table.estimate) & (table.estimate <= limits[..., 1]))


def test_intervals_of_few_reports_are_students_with_one_degree_of_freedom_less() -> None:
    domain = Domain({"a": ["x", "y"], "b": ["u", "v"], "c": ["p", "q"]})
    protocol = SampledGroups(domain, epsilon=6.0, groups=[("a", "b"), ("b", "c")], mechanism="hr")
    for table in make_consistent(protocol.simulate(np.full(8, 10), rng=1)):
        assert table.n == 40
        assert table.figures is not None
        fit = table.figures.shown.limits
        assert isinstance(fit, LimitsOfTheFit)
        limits = replace(fit, blocks=()).limits(0.05)
        length = 2 * student.isf(0.025, table.n - 1) * table.std_err.ravel()
        assert limits[:, 1] - limits[:, 0] == pytest.approx(length)
