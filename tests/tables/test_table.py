"""Tables: estimates with covariance in any order of attributes, marginals, merging, and saved files."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint
from support.comparisons import assert_close as close
from support.forged_files import forged

from ldpstats import DomainError, LdpstatsError, NotIdentifiedError, SampledGroups, Table, TableSet
from ldpstats.answers.domain import Domain
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.mechanisms import GRR

ALL = ("age", "sex", "car")
KINDS = ["grr", "oue", "ss", "grr and oue", "derived"]


def triple(domain: Domain, people: pd.DataFrame, kind: str) -> Table:
    """Return a table of all three attributes, of one of the kinds that a table can be."""

    def collected(mechanism: str, half: slice) -> TableSet:
        return SampledGroups(domain, epsilon=1.0, mechanism=mechanism, groups=[ALL]).collect(people[half], rng=3)

    if kind == "grr and oue":
        return (collected("grr", slice(None, 1000)) + collected("oue", slice(1000, None)))[ALL]
    if kind == "derived":
        wide = domain.categories | {"own": ["no", "yes"]}
        protocol = SampledGroups(Domain(wide), epsilon=1.0, mechanism="hr", groups=[(*ALL, "own")])
        return protocol.collect(people.assign(own="no"), rng=3)[(*ALL, "own")].marginal(ALL)
    return collected(kind, slice(None))[ALL]


def of_counted_sets() -> tuple[TableSet, Table]:
    """Return a set and its table by Hadamard response, whose margins cannot be counted."""
    domain = Domain({"sex": ["F", "M"], "age": ["young", "middle", "old"]})
    tables = SampledGroups(domain, epsilon=1.0, mechanism="hr").simulate(np.full(6, 20), rng=1)
    return tables, tables["sex", "age"]


def added_up(table: Table, names: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Return the matrix that adds the flattened table up, built label by label."""
    cells, kept = table.domain.index().to_frame(index=False), table.domain.index(names)
    return np.array([[float(tuple(row[list(names)]) == target) for _, row in cells.iterrows()] for target in kept])


@pytest.mark.parametrize("kind", KINDS)
def test_every_face_of_a_table_tells_the_same(domain: Domain, people: pd.DataFrame, kind: str) -> None:
    table = triple(domain, people, kind)
    deviations = np.sqrt(np.diag(table.covariance))
    frame = table.to_frame(alpha=0.1)
    assert (table.shape, table.n, table.simulated) == ((3, 2, 2), 3000, 3000)
    close(table.estimate.sum(), 1 if kind in {"grr", "ss"} else table.estimate.sum())
    close(table.std_err.ravel(), deviations)
    limits = table.conf_int(0.1).reshape(-1, 2).T
    if len(table.blocks) == 1:
        tally = table.blocks[0].by_value.tally
        wilson = np.stack(proportion_confint(tally.counts, tally.n, alpha=0.1, method="wilson"))
        close(limits, tally.noise.debias(wilson))
    else:
        margin = norm.isf(0.05) * deviations
        close(limits, np.stack([table.cells.estimate - margin, table.cells.estimate + margin]))
    close(frame[["lower", "upper"]], table.conf_int(0.1).reshape(-1, 2))
    assert frame.index.equals(domain.index(ALL))
    assert frame.loc[("adult", "M", "yes"), "estimate"] == table.estimate[1, 1, 0]
    text = table.summary(alpha=0.1).as_text()
    assert [f"{value:.4f}" for value in frame.to_numpy().ravel() if f"{value:.4f}" not in text] == []
    assert [part for part in ("simulated", "3,000", "a respondent's whole record", "90 %") if part not in text] == []
    assert table.cells.privacy == table.privacy


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", list(permutations(ALL)), ids=" ".join)
def test_reordering_commutes_with_everything(
    domain: Domain, people: pd.DataFrame, kind: str, order: tuple[str, ...]
) -> None:
    table = triple(domain, people, kind)
    other = table.reordered(order)
    cells = added_up(table, order).argmax(axis=1)
    axes = [ALL.index(name) for name in order]
    close(other.estimate, table.estimate.transpose(axes))
    close(other.covariance, table.covariance[np.ix_(cells, cells)])
    close(other.conf_int(), table.conf_int().transpose([*axes, 3]))
    pd.testing.assert_frame_equal(other.to_frame(), table.to_frame().reorder_levels(order).loc[domain.index(order)])
    assert (other.n, other.privacy, other.attributes) == (table.n, table.privacy, order)
    close(other.reordered(ALL).covariance, table.covariance)
    marginal, direct = other.marginal(["car", "age"]), table.marginal(["car", "age"])
    close(marginal.estimate, direct.estimate)
    close(marginal.covariance, direct.covariance)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", [("age",), ("car", "age"), ("sex", "car")], ids=" ".join)
def test_marginals_are_linear_maps_of_the_table(
    domain: Domain, people: pd.DataFrame, kind: str, names: tuple[str, ...]
) -> None:
    table = triple(domain, people, kind)
    matrix, marginal = added_up(table, names), table.marginal(names)
    if kind == "grr and oue":
        # pooled anew: what a mechanism is worth beside another is not the same for sums
        errors = np.sqrt(np.diag(matrix @ table.covariance @ matrix.T))
        assert np.all(np.abs(marginal.estimate.ravel() - matrix @ table.estimate.ravel()) < 0.5 * errors)
        np.testing.assert_allclose(marginal.std_err.ravel(), errors, rtol=0.1)
    else:
        close(marginal.estimate.ravel(), matrix @ table.estimate.ravel())
        # both divide by n - 1, so the map is exact and not only asymptotic
        close(marginal.covariance, matrix @ table.covariance @ matrix.T)
    assert bool(marginal.blocks) == (kind != "derived")
    assert (marginal.n, marginal.simulated, marginal.privacy) == (3000, 3000, table.privacy)


def test_marginals_of_randomized_response_are_its_formula(domain: Domain, people: pd.DataFrame) -> None:
    table = triple(domain, people, "grr").marginal("age")
    truth = (np.e - 1) / (np.e + 11)
    seen = table.blocks[0].tally.counts / 3000
    close(table.estimate, (seen - (1 - truth) / 3) / truth)
    close(table.covariance, (np.diag(seen) - np.outer(seen, seen)) / truth**2 / 2999)
    with pytest.raises(DomainError, match="different names"):
        table.marginal([])


def test_estimates_are_not_clipped(domain: Domain, people: pd.DataFrame) -> None:
    table = SampledGroups(domain, epsilon=0.2, mechanism="grr").collect(people.head(60), rng=1)["sex", "car"]
    assert table.estimate.min() < 0
    assert table.estimate.max() > 1
    assert table.conf_int().min() < table.to_frame()["estimate"].min() == table.estimate.min()
    close(table.estimate.sum(), 1)


@pytest.mark.parametrize("mechanism", ["grr", "oue", "ss"])
def test_tables_that_few_or_none_answered(domain: Domain, people: pd.DataFrame, mechanism: str) -> None:
    tables = SampledGroups(domain, epsilon=1.0, mechanism=mechanism).collect(people.head(2), rng=1)
    assert sorted(tables.to_frame()["reports"]) == [0, 1, 1]
    errors = tables.to_frame().set_index("reports")["mean std_err"]
    assert np.isposinf(errors[1]).all()
    assert np.isnan(errors[0])
    assert "3 tables over 3 attributes from 2 reports (simulated)" in tables.summary().title
    *answered, nobodys = sorted(tables, key=lambda table: -table.n)
    assert all(np.isposinf(table.marginal([name]).std_err).all() for table in answered for name in table.attributes)
    told = f"no reports behind the table of {' and '.join(nobodys.attributes)}"
    for ask in (lambda: nobodys.estimate, nobodys.conf_int, nobodys.to_frame, nobodys.crosstab, nobodys.plot):
        with pytest.raises(NotIdentifiedError, match=told):
            ask()
    # what is printed, and shown in a notebook, says so
    assert told in str(nobodys)
    assert told in nobodys._repr_html_()
    assert all(one["why_not"] == told for one in tables.to_dict()["tables"] if not one["n"])


def test_blocks_that_tell_only_a_contrast_do_not_break_the_overview(domain: Domain) -> None:
    pair = domain.project(["sex", "car"])
    question = Question.of(pair, pair.names).coarsened([0, 1, 1, 0])
    privacy = GRR(2, 1.0).privacy()
    tables = TableSet(
        domain, [Table(pair, (Block(question, GRR(2, 1.0).simulate([50, 30], rng=1)),), privacy)], privacy
    )
    assert tables.to_frame()["mean std_err"].isna().all()
    with pytest.raises(NotIdentifiedError, match="only some contrasts"):
        _ = tables["sex", "car"].estimate


def test_tables_refuse_blocks_about_something_else(domain: Domain, people: pd.DataFrame) -> None:
    table = SampledGroups(domain, epsilon=1.0).collect(people, rng=1)["sex", "car"]
    for other in (domain.project(["car", "sex"]), domain.project(["age", "sex"])):
        with pytest.raises(LdpstatsError, match="a block about"):
            Table(other, table.blocks, table.privacy)
    with pytest.raises(LdpstatsError, match="one table per group"):
        TableSet(domain, [table, table.reordered(["car", "sex"])], table.privacy)


@pytest.mark.parametrize("mechanism", ["grr", "oue", "ss"])
def test_a_statement_that_promises_more_than_the_reports_keep_is_refused(
    domain: Domain, people: pd.DataFrame, mechanism: str
) -> None:
    tables = SampledGroups(domain, epsilon=1.0, mechanism=mechanism).collect(people, rng=1)
    honest, saved = tables["age", "sex"], tables.to_json()
    assert Table(honest.domain, honest.blocks, replace(honest.privacy, epsilon=3.0)).n == honest.n
    for epsilon in (0.0, 0.1, 0.999):
        with pytest.raises(LdpstatsError, match=r"for 1\.0|for 1, |for 0\.9|covers every report|in a statement of"):
            Table(honest.domain, honest.blocks, replace(honest.privacy, epsilon=epsilon))
        with pytest.raises(LdpstatsError, match=r"for 1\.0|for 1, |for 0\.9|covers every report|in a statement of"):
            TableSet.from_json(forged(saved, "tables 0 privacy epsilon", epsilon))


def test_statements_of_groups_and_of_derived_tables_promise_no_more_either() -> None:
    (tables, table), less = of_counted_sets(), {"sex × age": 0.1, "age × sex": 0.1}
    with pytest.raises(LdpstatsError, match=r"a statement of epsilon = 0\.2 for"):
        replace(table, privacy=replace(table.privacy, per_group=less))
    with pytest.raises(LdpstatsError, match="covers the table of sex × age"):
        tables.replaced(tables=[table], privacy=replace(table.privacy, per_group=less))
    made = table.marginal("age")
    assert made.figures
    with pytest.raises(LdpstatsError, match="covers every table that it was made of"):
        replace(made, privacy=replace(made.privacy, epsilon=0.5, per_group={}))


@pytest.mark.parametrize("mechanism", ["grr", "oue", "ss"])
@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 5.0, 12.5, 25.0, 30.0, 37.0, 70.0])
def test_honest_statements_are_accepted_at_every_level(domain: Domain, mechanism: str, epsilon: float) -> None:
    protocol = SampledGroups(domain, epsilon=epsilon, mechanism=mechanism)
    tables = protocol.simulate(np.full(12, 100), rng=1)
    assert TableSet.from_json(tables.to_json()).privacy.epsilon == protocol.privacy().epsilon <= epsilon


def test_what_a_table_was_made_of_counts_once_on_however_many_ways() -> None:
    tables, table = of_counted_sets()
    made = table.marginal("age")
    twice = made
    for _ in range(60):
        twice = replace(made, sources=(twice, replace(twice)))
    assert twice.made_of == made.made_of == (table,)
    assert twice.channel_fit() == made.channel_fit() == table.channel_fit()
    assert tables.replaced(tables=[twice]).n == 120


def test_a_derived_table_says_that_it_has_no_blocks() -> None:
    _, table = of_counted_sets()
    with pytest.raises(
        LdpstatsError, match=r"blocks of a table .* not estimated from them.*Ask the table that it was made of"
    ):
        table.collapse({"age": {"not old": ["young", "middle"]}}).by_block()
