"""Parameters of a network: exact without noise, proper with it, and a named assumption where it needs one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from support.comparisons import refused
from support.spoken import spoken

import ldpstats as ldp
from ldpstats import Domain, LdpstatsError, NotIdentifiedError
from ldpstats.datasets import network
from ldpstats.networks.parameters import FittedParameters, fit_parameters

ASIA = network("asia")
TREE = {name: own[:1] for name, own in ASIA.parents.items()}


@cache
def collected(k: int = 2) -> ldp.TableSet:
    return ldp.SampledGroups(ASIA.domain, k=k, epsilon=4.0).simulate(ASIA.sample(100_000, rng=1), rng=2)


@cache
def fitted(k: int = 3) -> FittedParameters:
    return fit_parameters(collected(k), ASIA.parents)


@pytest.mark.parametrize("name", ["survey", "asia"])
def test_without_noise_they_are_those_that_pgmpy_counts_in_the_raw_records(name: str) -> None:
    """The same people answer every question, and lie once in e^60 times."""
    known = network(name)
    frame = known.sample(5_000, rng=3)
    tables = ldp.ProductDomain(known.domain, epsilon=60.0).simulate(frame, rng=4)
    model = nx.DiGraph(known.edges)
    found = fit_parameters(tables, model, smoothing=0).network
    assert found == fit_parameters(tables, known, smoothing=0).network
    raw = known.to_pgmpy()
    raw.fit(frame)
    counted = ldp.BayesianNetwork.from_pgmpy(raw)
    for attribute, own in known.parents.items():
        seen: set[tuple[str, ...]] = set(map(tuple, frame[list(own)].to_numpy())) if own else {()}
        names = [attribute, *own]
        ours, theirs = (_given(one, names, seen) for one in (found, counted))
        np.testing.assert_allclose(ours, theirs, atol=1e-9)


def _given(one: ldp.BayesianNetwork, names: list[str], seen: set[tuple[str, ...]]) -> list[list[float]]:
    """Return the table of an attribute for the parents' categories that somebody has, in alphabetical order."""
    attribute, *own = names
    categories = one.domain.categories
    rows = []
    for labels in sorted(seen):
        given = dict(zip(own, labels, strict=True))
        at = tuple(categories[parent].index(given[parent]) for parent in one.parents[attribute])
        rows.append([float(one.tables[attribute][(place, *at)]) for place in _alphabetical(categories[attribute])])
    return rows


def _alphabetical(categories: tuple[Any, ...]) -> list[int]:
    return sorted(range(len(categories)), key=lambda place: categories[place])


def test_with_noise_they_are_near_the_truth_and_never_zero() -> None:
    for attribute, own in fitted().network.parents.items():
        table = fitted().network.tables[attribute]
        np.testing.assert_allclose(table.sum(axis=0), 1, atol=1e-12)
        assert (table > 0).all()
        truth = ASIA.joint([attribute, *own])
        # 100,000 people in 56 groups at ε = 4: cells have standard errors of about .01
        np.testing.assert_allclose(fitted().network.joint([attribute, *own]), truth, atol=0.06)
    assert np.isfinite(fitted().network.log_likelihood(ASIA.sample(1000, rng=5))).all()


def test_an_assumption_is_named_where_parents_were_not_asked_together_and_nowhere_else() -> None:
    assert fitted(3).assumptions == {}
    assert set(fitted(2).assumptions) == {name for name, own in ASIA.parents.items() if len(own) > 1}
    assert "[bronc dysp] [bronc either] [dysp either]" in fitted(2).assumptions["dysp"]
    frame = fitted(2).to_frame()
    assert set(frame.attribute[frame.assumption != ""]) == set(fitted(2).assumptions)
    assert fitted(2).assumptions["dysp"] in spoken(fitted(2))
    assert "Assumes: no interaction" in str(fitted(2).query("dysp"))
    assert "no interaction" not in str(fitted(2).query("lung"))


def test_crossed_answers_identify_what_no_table_is_about() -> None:
    """Everyone answers every attribute, so that all three can be counted together, whatever the tables are about."""
    tables = ldp.PerAttribute(ASIA.domain, epsilon=24.0, k=2).simulate(ASIA.sample(5_000, rng=6), rng=7)
    found = fit_parameters(tables, {"dysp": ["bronc", "either"]})
    assert found.assumptions == {}
    np.testing.assert_allclose(
        found.network.joint(["dysp", "bronc", "either"]), ASIA.joint(["dysp", "bronc", "either"]), atol=0.08
    )
    low, high = found.query("dysp", {"bronc": "no"}).conf_int()[0]
    assert 0 < high - low < 0.3


def test_the_frame_has_a_row_for_every_parameter_with_the_interval_of_its_reports() -> None:
    frame = fitted().to_frame()
    assert len(frame) == sum(table.size for table in fitted().network.tables.values())
    assert frame.groupby(["attribute", "given"]).probability.sum().sub(1).abs().max() < 1e-12
    table = collected(3).pooled(["lung", "smoke"]).conditional("lung", given=["smoke"])
    found = frame[(frame.attribute == "lung") & (frame.given == "smoke = no")].set_index("category")
    np.testing.assert_allclose(found.loc[["yes", "no"], ["lower", "upper"]], table.conf_int()[1], atol=1e-12)
    alone = frame[frame.attribute == "smoke"]
    np.testing.assert_allclose(alone[["lower", "upper"]], collected(3).pooled("smoke").conf_int(), atol=1e-12)
    assert (fitted().to_frame(alpha=0.5).upper <= frame.upper).all()


def test_smoothing_counts_for_so_many_respondents() -> None:
    frame = fitted().to_frame()
    row = frame[(frame.attribute == "lung") & (frame.given == "smoke = yes")].set_index("category").loc["yes"]
    raw, heavy = (fit_parameters(collected(3), ASIA.parents, smoothing=weight) for weight in (0, 1000.0))
    plain = raw.network.tables["lung"][0, 0]
    margin = heavy.to_frame().pipe(lambda one: one[(one.attribute == "lung") & (one.given == "smoke = yes")])
    assert float(margin.weight.iloc[0]) == 1000
    share = 1000 / (1000 + row.respondents)
    own = fit_parameters(collected(3), {"lung": ["smoke"]}, smoothing=1e12).network.tables["lung"][0, 0]
    assert heavy.network.tables["lung"][0, 0] == pytest.approx((1 - share) * plain + share * own, abs=1e-6)
    assert "1000 respondents" in str(heavy)
    assert "none, but for rows" in str(raw)


def test_a_category_that_nobody_seems_to_have_gets_a_row_all_the_same() -> None:
    domain = Domain({"a": ["x", "y", "never"], "b": ["p", "q"]})
    people = np.array([[300, 100], [100, 300], [0, 0]]) * 20
    tables = ldp.SampledGroups(domain, epsilon=3.0).simulate(people.ravel(), rng=1)
    for weight in (None, 0):
        table = fit_parameters(tables, {"b": ["a"]}, smoothing=weight).network.tables["b"]
        np.testing.assert_allclose(table.sum(axis=0), 1)
        assert np.isfinite(table).all()


@pytest.mark.parametrize("k", [2, 3])
def test_the_order_of_tables_attributes_and_categories_changes_nothing(k: int) -> None:
    names = ["smoke", "lung", "either", "tub", "xray"]
    frame = ASIA.sample(20_000, rng=8)[names]
    domain = ASIA.domain.project(names)
    turned = Domain({name: domain.categories[name][::-1] for name in names[::-1]})
    parents = {name: ASIA.parents[name] for name in names if name not in ("smoke", "tub")}
    asked = ldp.SampledGroups(domain, k=k, epsilon=3.0, mechanism="grr").simulate(frame, rng=9)
    one, other = fit_parameters(asked, parents), fit_parameters(_turned(asked, turned), parents)
    for name in names:
        pair = [each.network.joint([name, "xray"] if name != "xray" else [name]) for each in (one, other)]
        np.testing.assert_allclose(pair[0], pair[1][(slice(None, None, -1),) * pair[1].ndim], atol=1e-7)
    given = {"xray": "yes"}
    intervals = [each.query("lung", given).conf_int() for each in (one, other)]
    np.testing.assert_allclose(intervals[0], intervals[1][::-1], atol=1e-6)


def _turned(tables: ldp.TableSet, domain: Domain) -> ldp.TableSet:
    """Return the same reports with tables, attributes and categories the other way round."""
    from ldpstats.answers.questions import Question
    from ldpstats.estimation.blocks import Block
    from ldpstats.noise import Tally

    made = []
    for table in tables:
        own = domain.project(table.attributes[::-1])
        (block,) = table.blocks
        counts = np.flip(block.tally.counts.reshape(table.shape)).T.ravel()
        question = Question(own.names, own.shape, tuple(range(counts.size)))
        tally = Tally(block.noise, counts, block.n, block.tally.simulated)
        made.append(ldp.Table(own, (Block(question, tally),), table.privacy, parts=table.parts))
    return ldp.TableSet(domain, made[::-1], tables.privacy)


def test_redrawn_networks_scatter_around_the_fitted_one() -> None:
    found = fit_parameters(collected(), TREE)
    redrawn = np.array([one.joint(["lung", "smoke"]) for one in found.redrawn(200, rng=1)])
    shown, errors = found.network.joint(["lung", "smoke"]), redrawn.std(axis=0)
    assert (np.abs(redrawn.mean(axis=0) - shown) < 0.5 * errors + 1e-3).all()
    again = next(found.redrawn(1, rng=7))
    assert again == next(found.redrawn(1, rng=7)) != next(found.redrawn(1, rng=8))


def test_errors_are_drawn_with_a_covariance_like_that_of_pooled_tables() -> None:
    families = fit_parameters(collected(), TREE).families
    for place, one in enumerate(families.families):
        pooled = collected().pooled(one.domain.names)
        errors = np.sqrt(np.diagonal(families.covariance_within(place)))
        # those pool by the designs alone, and so a little less well
        assert np.all((0.5 * pooled.cells.std_err < errors) & (errors < 1.02 * pooled.cells.std_err))
        assert np.all(np.abs(one.cells - pooled.cells.estimate) < pooled.cells.std_err)
    drawn = np.hstack(families.deviations(20_000, np.random.default_rng(1)))
    scale = np.sqrt(np.diagonal(families.covariance))
    # a correlation of 20,000 draws has a standard error of .007 at most: 6 of them
    np.testing.assert_allclose(
        np.cov(drawn, rowvar=False) / np.outer(scale, scale), families.covariance / np.outer(scale, scale), atol=0.06
    )


@pytest.mark.parametrize("kind", ["WholeView", "HadamardCoefficients", "PerAttribute", "CentralLaplace"])
def test_tables_with_the_same_respondents_and_those_of_a_curator_are_fitted(kind: str) -> None:
    names = ["smoke", "lung", "bronc"]
    domain = ASIA.domain.project(names)
    protocol = getattr(ldp, kind)(domain, epsilon=6.0, k=2)
    tables = protocol.simulate(ASIA.sample(50_000, rng=1)[names], rng=1)
    found = fit_parameters(tables, {"lung": ["smoke"], "bronc": ["smoke"]})
    np.testing.assert_allclose(found.network.joint(names), ASIA.joint(names), atol=0.05)
    low, high = found.query("lung", {"smoke": "yes"}).conf_int()[0]
    assert low <= found.query("lung", {"smoke": "yes"}).estimate[0] <= high
    assert found.families.bound == "" or found.families.bound in spoken(found)


REFUSED: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "TableSet": ("tables", TREE, {}),
    "DiGraph": (None, [("smoke", "lung")], {}),
    "fever": (None, {"lung": ["fever"]}, {}),
    "at least one": (None, {}, {}),
    "cycle": (None, {"lung": ["smoke"], "smoke": ["lung"]}, {}),
    "different names": (None, {"lung": ["lung"]}, {}),
    "smoothing = -1": (None, TREE, {"smoothing": -1}),
    "smoothing = nan": (None, TREE, {"smoothing": float("nan")}),
    "smoothing = 'much'": (None, TREE, {"smoothing": "much"}),
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_makes_no_network_is_refused(said: str) -> None:
    tables, dag, options = REFUSED[said]
    with refused(LdpstatsError, said):
        fit_parameters(tables or collected(), dag, **options)


@pytest.mark.parametrize("mechanism", ["olh", "hr"])
def test_hardly_any_reports_leave_everything_possible(mechanism: str) -> None:
    """All cells of a table may be estimated below zero then."""
    domain = Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1], "d": ["u", "v", "w", "z"]})
    rng = np.random.default_rng(1)
    protocol = ldp.SampledGroups(domain, epsilon=4.0, mechanism=mechanism)
    for _ in range(5):
        tables = protocol.simulate(rng.multinomial(30, rng.dirichlet(np.ones(48))), rng=rng)
        found = fit_parameters(tables, {"a": ["b", "c"], "c": ["d"]})
        assert np.isfinite(found.to_frame()[["probability", "lower", "upper"]]).all(axis=None)
        low, high = found.query("a", {"d": "u"}).conf_int()[0]
        assert high - low > 0.5


def test_reports_that_do_not_show_how_they_scatter_are_refused() -> None:
    domain = Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1]})
    alone = ldp.SampledGroups(domain, epsilon=1.0, groups=[("a", "b")]).simulate(np.eye(12, dtype=int)[0], rng=1)
    wide = Domain({**domain.categories, "d": ["u", "v", "w", "z"]})
    few = ldp.HadamardCoefficients(wide, epsilon=4.0).simulate(np.repeat([1, 0], [20, 28]), rng=3)
    for tables, said in ((alone, "no table with two reports"), (few, "a single report to a question")):
        with refused(NotIdentifiedError, said):
            fit_parameters(tables, {"a": ["b", "c"], "d": ["b"]} if len(tables) > 1 else {"a": ["b"]})


def test_attributes_that_no_table_is_about_and_families_that_are_too_large_are_refused() -> None:
    tables = collected()
    few = ldp.TableSet(tables.domain, [tables["lung", "smoke"]], tables.privacy)
    with refused(NotIdentifiedError, "xray"):
        fit_parameters(few, {"xray": ["lung"]})
    wide = Domain({"a": list(range(40)), "b": list(range(40))})
    large = ldp.SampledGroups(wide, epsilon=4.0, mechanism="grr").simulate(np.ones(1600, dtype=np.int64), rng=1)
    with refused(LdpstatsError, "1,600 cells"):
        fit_parameters(large, {"a": ["b"]})


def test_attributes_that_hardly_anybody_was_asked_about_are_named():
    domain = Domain({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"]})
    groups = [("a", "b"), ("b", "c")]
    few = ldp.SampledGroups(domain, epsilon=2.0, groups=groups).simulate([1, 0, 0, 2, 0, 0, 0, 0], rng=1)
    asked = {table.attributes: table.n for table in few}
    lacking = "a" if asked["a", "b"] == 1 else "c"
    with pytest.raises(NotIdentifiedError, match=f"no table with two reports or more about '{lacking}'"):
        fit_parameters(few, {"b": ["a", "c"]})


def test_more_networks_than_memory_holds_are_refused():
    domain = Domain({"a": ["x", "y"], "b": ["x", "y"]})
    tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([10, 20, 30, 40], rng=1)
    with pytest.raises(LdpstatsError, match="from 1 to 10000"):
        next(fit_parameters(tables, {"b": ["a"]}).redrawn(10**12))
    with pytest.raises(LdpstatsError, match="from 2 to 10000"):
        ldp.naive_bayes(tables, "a").expected_accuracy(n_resamples=10**12)


def test_parents_may_stand_in_any_order_in_the_network() -> None:
    found = fitted()
    known = found.network
    turned = {name: own[::-1] for name, own in known.parents.items()}
    tables = {
        name: np.moveaxis(table, range(1, table.ndim), range(table.ndim - 1, 0, -1))
        for name, table in known.tables.items()
    }
    again = replace(found, network=ldp.BayesianNetwork(known.domain, turned, tables))
    assert again.network == known
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())


def test_the_picture_sets_apart_what_rests_on_an_assumption() -> None:
    apart = fitted(2)
    kinds = {(edge.first, edge.second): edge.kind for edge in apart.picture().edges}
    assert set(kinds) == set(apart.network.edges)
    assert {child for (_, child), kind in kinds.items() if "assumption" in kind} == {*apart.assumptions} - {
        name for name, own in apart.network.parents.items() if not own
    }
    assert {edge.kind for edge in fitted(3).picture().edges} == {"all edges"}
