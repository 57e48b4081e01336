"""Tables that nobody collected: what is estimated, what is assumed and said, what is bounded, and what is refused."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.spoken import spoken

import ldpstats as ldp
from ldpstats import Domain, NotIdentifiedError, SampledGroups, TableSet, make_consistent, reconstruct
from ldpstats.tables import Consistent, Figures, Reconstructed, Summed

Array = np.ndarray[Any, Any]

ABC = Domain({name: ["x", "y", "z"] for name in "abc"})
CHAIN = [("a", "b"), ("b", "c")]
NAMES = "no interaction beyond the groups that were asked about: log-linear model [a b] [b c]"


def independent(n: int = 100_000) -> Array:
    """Three independent attributes with uneven categories."""
    margins = np.array([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2], [0.2, 0.3, 0.5]])
    return np.round(n * np.einsum("i,j,k->ijk", *margins)).astype(int)


def both_causes(n: int = 100_000) -> Array:
    """Two independent attributes a and c that both drive b: the chain a - b - c is false."""
    people = np.zeros((3, 3, 3))
    for a, c in product(range(3), repeat=2):
        people[a, :, c] = np.array([0.1, 0.1, 0.1]) + 0.7 * (np.arange(3) == (a + c) // 2)
    return np.round(n * people / people.sum()).astype(int)


def asked(people: Array, seed: int = 1, mechanism: str = "grr") -> TableSet:
    return SampledGroups(ABC, epsilon=3.0, mechanism=mechanism, groups=CHAIN).simulate(people, rng=seed)


def test_the_smallest_norm_shows_proportions_and_claims_nothing_about_them() -> None:
    made = reconstruct(asked(independent()), ["a", "c"], "l2", n_resamples=3)
    with pytest.raises(NotIdentifiedError, match=r"no model.*bounds\(\)"):
        made.conf_int()
    assert made.to_dict()["intervals"] is made.to_dict()["std_err"] is None
    assert TableSet(ABC, [made], made.privacy).to_frame()["mean std_err"].isna().all()
    assert made.to_frame()[["std_err", "lower", "upper"]].isna().all(axis=None)
    text = str(made.summary())
    assert "assuming what the reports leave open is filled in by the smallest norm" in text
    assert "Intervals: none: the smallest norm is no model" in text


def test_what_a_table_assumes_stands_wherever_its_figures_do() -> None:
    made = reconstruct(asked(both_causes()), ["a", "c"])
    kinds: tuple[Any, ...] = ("mosaic", "intervals", "residuals")
    titles = [one.summary().title for one in (made, made.crosstab(), made.conditional("c", given="a"))]
    for text in (*titles, *(" ".join(made.picture(kind).notes) for kind in kinds)):
        assert "assuming no interaction beyond the groups that were asked about" in text
    assert f"Assumes: {NAMES}." in str(made.summary()).splitlines()
    assert f"a × c assumes: {NAMES}." in TableSet(ABC, [made], made.privacy).summary().sentences
    assert repr(made).startswith("<Table: a × c, reconstructed: 3 × 3 cells, n = 99,999 (simulated), assuming no inter")
    assert made.assumption == made.to_dict()["provenance"]["assumption"] == NAMES
    assert isinstance(made.provenance, Reconstructed)


@pytest.mark.parametrize("method", ["auto", "em", "l2", "shrinkage"])
def test_what_the_reports_identify_assumes_nothing(method: Any) -> None:
    tables = asked(independent())
    whole = reconstruct(tables, ["a", "b", "c"], method, n_resamples=3)
    pair, collected = whole.marginal(["b", "a"]), tables["b", "a"]
    assert whole.assumption
    assert (pair.assumption, pair.to_dict()["provenance"]["assumption"]) == ("", None)
    assert "Assumes: no" not in str(pair.summary())
    # the reports about b and c tell the margin of b, and make the cells a little surer
    widths = [np.ptp(one.conf_int(), axis=-1).mean() for one in (pair, collected)]
    assert 0.8 * widths[1] < widths[0] < widths[1]
    close = np.abs(pair.conf_int() - collected.conf_int()).max()
    assert close < 0.01


@pytest.mark.parametrize("mechanism", ["grr", "oue", "hr"])
def test_bounds_hold_where_the_assumption_is_false(mechanism: str) -> None:
    """All cells at once, and V, in one collection with a fixed seed: simultaneous limits miss in one of twenty."""
    people = both_causes()
    made = reconstruct(asked(people, mechanism=mechanism), ["a", "c"])
    truth = people.sum(axis=1) / people.sum()
    limits = made.bounds(simultaneous=True)
    assert np.all((limits.lower <= truth) & (truth <= limits.upper))
    low, high, _ = limits.cramers_v()
    assert low == 0
    assert high > 0.3
    # the interval under the assumption is far from the truth, as the assumption is
    assert not np.all((made.conf_int()[..., 0] <= truth) & (truth <= made.conf_int()[..., 1]))
    assert limits.to_dict()["assumption"] is None


def test_bounds_of_a_collected_table_are_those_of_its_reports() -> None:
    table = asked(independent())["a", "b"]
    limits = table.bounds()
    assert np.allclose(limits.point_lower, table.estimate, atol=1e-5)
    assert np.allclose(limits.point_upper, table.estimate, atol=1e-5)
    assert np.all(limits.lower < table.estimate)
    assert np.all(limits.upper > table.estimate)


def test_bounds_of_figures_without_a_source_are_refused() -> None:
    table = asked(independent())["a", "b"]
    by_hand = ldp.Table(table.domain, (), table.privacy, figures=Figures(table.cells))
    with pytest.raises(NotIdentifiedError, match="made by hand, with figures alone"):
        by_hand.bounds()
    assert by_hand.holds_the_same(by_hand)
    assert not by_hand.holds_the_same(table)


def test_bounds_follow_the_axes_the_margins_and_the_classes() -> None:
    made = reconstruct(asked(both_causes()), ["a", "c"])
    limits = made.bounds()
    assert np.allclose(made.reordered(["c", "a"]).bounds().upper.T, limits.upper, atol=1e-5)
    margin = made.marginal("a")
    assert margin.assumption == ""
    assert np.ptp([margin.bounds().point_lower, margin.bounds().point_upper], axis=0).max() < 1e-4
    classes = {"a": {"x or y": ["x", "y"]}, "c": {"x or y": ["x", "y"]}}
    together = made.collapse(classes).bounds()
    assert together.upper[0, 0] >= limits.upper[:2, :2].max() - 1e-5
    assert together.point_upper[1, 1] == pytest.approx(limits.point_upper[2, 2], abs=0.01)


def test_a_table_that_was_not_collected_travels_to_another_process() -> None:
    made = reconstruct(asked(both_causes()), ["a", "c"]).collapse({"a": {"x or y": ["x", "y"]}})
    sent = pickle.loads(pickle.dumps(made))  # noqa: S301  # written one line before
    assert np.array_equal(sent.estimate, made.estimate)
    assert np.array_equal(sent.bounds().point_upper, made.bounds().point_upper)


def test_a_table_knows_where_it_comes_from() -> None:
    tables = asked(both_causes())
    kinds = {
        "collected": tables["a", "b"],
        "summed": tables["a", "b"].marginal("a"),
        "made consistent": make_consistent(tables)["a", "b"],
        "reconstructed": reconstruct(tables, ["a", "c"]),
    }
    for kind, table in kinds.items():
        assert table.provenance.kind == table.to_dict()["provenance"]["kind"] == kind
    assert isinstance(kinds["summed"].provenance, Summed)
    assert kinds["summed"].provenance.of == ("a", "b")
    assert "Added up from the table of a and b" in str(kinds["summed"].summary())
    assert isinstance(kinds["made consistent"].provenance, Consistent)


def test_methods_that_draw_tables_again_know_who_is_behind_several() -> None:
    domain = Domain({name: ["x", "y"] for name in "abcd"})
    people = np.random.default_rng(1).multinomial(20_000, np.full(16, 1 / 16))
    views = ldp.WholeView(domain, epsilon=4.0, mechanism="grr").simulate(people, rng=1)
    likely, least = (reconstruct(views, list("abcd"), method, n_resamples=3) for method in ("em", "l1"))
    assert "respondents stand behind several tables" in str(likely.provenance.refused)
    with pytest.raises(NotIdentifiedError, match="respondents stand behind several tables"):
        likely.conf_int()
    assert "an upper bound of their covariance" in least.provenance.words
    crossed = ldp.PerAttribute(domain, epsilon=8.0, k=2).simulate(people, rng=1)
    whole = reconstruct(crossed, list("abcd"), "l1", n_resamples=3)
    assert "bound" not in whole.provenance.words
    assert whole.n == 20_000


def test_bounds_take_tables_of_a_single_report() -> None:
    people = np.zeros((3, 3, 3), dtype=int)
    people[0, 1, 2] = 2
    tables = asked(people)
    assert [table.n for table in tables] == [1, 1]
    limits = reconstruct(tables, ["a", "b", "c"], "em", n_resamples=2).bounds()
    assert np.all(limits.lower == 0)
    assert limits.n == 2


def test_what_a_model_shows_is_assumed_also_where_the_reports_would_tell_it() -> None:
    """Everyone answered all three attributes; maximum entropy takes the pairs, EM the answers as they are."""
    domain = Domain({name: ["x", "y"] for name in "abc"})
    people = np.array([40, 10, 10, 40, 10, 40, 40, 10]) * 1000  # an interaction of all three
    tables = ldp.PerAttribute(domain, epsilon=9.0, k=2).simulate(people, rng=1)
    model, likely = (reconstruct(tables, list("abc"), method, n_resamples=3) for method in ("auto", "em"))
    assert model.assumption.endswith("[a b] [a c] [b c]")
    assert "pooled view of the set shows them without an assumption" in str(model.summary())
    assert likely.assumption == ""
    assert np.abs(model.estimate.ravel() - people / people.sum()).max() > 0.05
    for table in (likely, tables.pooled(["a", "b", "c"])):
        limits = table.conf_int(0.001)
        assert np.all(
            (limits[..., 0].ravel() < people / people.sum()) & (people / people.sum() < limits[..., 1].ravel())
        )
    assert ldp.no_three_way_interaction_test(model).pvalue < 1e-6


def test_models_of_what_nobody_was_asked_together_are_not_fitted() -> None:
    made = reconstruct(asked(both_causes()), ["a", "b", "c"])
    for formula in ("a*c + b", "a*b*c"):
        with pytest.raises(NotIdentifiedError, match="some of whose parameters the reports tell nothing"):
            ldp.log_linear_model(made, formula).to_frame()
    chain = ldp.log_linear_model(made, "a*b + b*c").to_frame()
    assert chain["fitted"].to_numpy() == pytest.approx(chain["estimate"].to_numpy(), abs=2e-3)
    shortest = reconstruct(asked(both_causes()), ["a", "c"], "l2", n_resamples=3)
    assert ldp.log_linear_model(shortest, "a + c").to_frame()["std_err"].isna().all()


def test_bounds_of_what_was_asked_together_leave_other_attributes_out() -> None:
    pairs = SampledGroups(ABC, epsilon=3.0, mechanism="grr").simulate(both_causes(), rng=1)
    made = reconstruct(pairs, ["a", "b", "c"])
    assert made.marginal(["a", "c"]).bounds().df == 8
    assert made.bounds().df == 18


def test_a_comparison_of_groups_says_what_any_of_them_assumes() -> None:
    made = reconstruct(asked(both_causes()), ["a", "c"])
    collected = SampledGroups(ABC, epsilon=3.0, groups=[("a", "c")]).simulate(both_causes(), rng=2)["a", "c"]
    for groups in ([made, collected], [collected, made]):
        result = ldp.homogeneity_test(groups)
        assert f"Assumes: {NAMES}." in str(result.summary())
        assert result.to_dict()["provenance"]["assumption"] == NAMES
    with pytest.raises(ldp.LdpstatsError, match="a single Table"):
        ldp.homogeneity_test(made)  # type: ignore[arg-type]  # what is refused


def test_tables_that_contradict_each_other_are_said_to() -> None:
    """Two collections of different populations; with one population it happens once in a thousand."""
    other = np.roll(both_causes(), 1, axis=1)
    groups = [("a", "b")], [("b", "c")]
    mixed, alike = (
        sum(
            SampledGroups(ABC, epsilon=3.0, mechanism="grr", groups=group).simulate(people, rng=seed)
            for group, people, seed in zip(groups, populations, (1, 2), strict=True)
        )
        for populations in ((both_causes(), other), (both_causes(), both_causes()))
    )
    assert "The tables contradict each other (p = " in spoken(reconstruct(mixed, ["a", "c"]).summary())
    assert "contradict" not in str(reconstruct(alike, ["a", "c"]).summary())
