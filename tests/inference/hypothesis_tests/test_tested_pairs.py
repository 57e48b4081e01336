"""Tests of all pairs as a result: what is rejected, what would be needed, and what is said and drawn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

import ldpstats as ldp
from ldpstats.estimation import pvalue_in_words

DOMAIN = ldp.Domain({"car": ["yes", "no"], "sex": ["F", "M"], "<b>$a_b$\n": [1, 2, 3]})
PEOPLE = np.multiply.outer([[400, 100], [200, 300]], [2, 3, 5])


@pytest.fixture(scope="module")
def tables() -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, epsilon=3.0, mechanism="grr").simulate(PEOPLE, rng=1)


@pytest.fixture(scope="module")
def tests(tables: ldp.TableSet) -> ldp.IndependenceTests:
    return ldp.independence_tests(tables)


@pytest.fixture(autouse=True)
def no_figure_is_left() -> Iterator[None]:
    yield
    plt.close("all")


def test_one_pair_is_found_in_any_order(tests: ldp.IndependenceTests, tables: ldp.TableSet) -> None:
    statistic, pvalue = tests["sex", "car"]
    alone = ldp.independence_test(tables["car", "sex"])
    assert (statistic, pvalue) == tuple(alone) == tuple(tests[["car", "sex"]])
    assert next(pair.attributes for pair in tests) == ("car", "sex")
    assert len(tests) == 3
    for wrong in (
        "verdict",
        ("car",),
        ("car", "car"),
        ("car", "dog"),
        ("car", "sex", "dog"),
        5,
        None,
        [["car"], "sex"],
    ):
        with pytest.raises(ldp.LdpstatsError, match="to_frame"):
            tests[wrong]  # type: ignore[index]  # this is what is refused


def test_the_order_of_tables_plays_no_part(tests: ldp.IndependenceTests, tables: ldp.TableSet) -> None:
    turned = ldp.TableSet(tables.domain, list(tables)[::-1], tables.privacy)
    pd.testing.assert_frame_equal(ldp.independence_tests(turned).to_frame(), tests.to_frame())
    assert str(ldp.independence_tests(turned)) == str(tests)


def test_what_is_significant_depends_on_the_level(tests: ldp.IndependenceTests) -> None:
    frame = tests.to_frame()
    assert len(tests.significant()) == (frame["verdict"] == "dependent").sum() == 1
    assert len(tests.significant(0.999)) == (frame["adjusted"] <= 0.999).sum()
    assert tests.significant(1e-300).empty
    with pytest.raises(ldp.LdpstatsError, match="alpha"):
        tests.significant(2)


def test_respondents_needed_give_the_power_asked_for(tables: ldp.TableSet) -> None:
    """As many reports as are needed, instead of those that there are, have that power at the adjusted level."""
    tests = ldp.independence_tests(tables)
    needed = tests.respondents_needed(0.8, [0.1, 0.2, 0.0])["needed"]
    assert needed.isna().tolist() == [False, False, True]
    for pair, number, size in zip(tests, needed[:2].tolist(), (0.1, 0.2), strict=False):
        told = pair.sensitivity
        assert told is not None
        # noncentrality is proportional to the reports
        assert told.power(size * np.sqrt(number / tests.n), tests.level) == pytest.approx(0.8, abs=1e-3)
    for wrong in ([0.1], [0.1] * 4, "abc", [None] * 3, [2, 0.1, 0.1], [-0.1] * 3, 5):
        with pytest.raises(ldp.LdpstatsError, match="to_frame"):
            tests.respondents_needed(0.8, wrong)  # type: ignore[arg-type]  # this is what is refused
    with pytest.raises(ldp.LdpstatsError, match="power"):
        tests.respondents_needed(0.01)


def test_what_reports_show_asks_for_as_many_as_multiply_its_noncentrality(tests: ldp.IndependenceTests) -> None:
    """Limits are those noncentralities under which such a statistic is at a tail; without one, no number is enough."""
    needed, (first, *_) = tests.respondents_needed(0.8), tests.pairs
    critical = chi2.isf(tests.level, first.df)
    required = brentq(lambda one: ncx2.sf(critical, first.df, one) - 0.8, 1e-3, 100)
    for column, tail in (("least", 0.025), ("needed", 0.5), ("most", 0.975)):
        found = brentq(lambda one, tail=tail: ncx2.cdf(first.statistic, first.df, one) - tail, 1, 1000)
        assert needed[column][0] == np.ceil(tests.n * required / found)
    assert needed[[pair.verdict == "dependent" for pair in tests]].notna().all(axis=None)
    assert needed["most"][1:].isna().all()
    assert needed["least"].notna().all()


def test_margins_of_small_tables_are_pooled_and_rare_categories_steadied() -> None:
    """Of its own seven reports a table's margins may be anything: 10^14 respondents were asked for."""
    domain = ldp.Domain({f"a{place}": ["no", "yes"] for place in range(10)})
    shares = np.linspace(0.05, 0.5, 10)
    people = domain.decode((np.random.default_rng(1).random((315, 10)) < shares).astype(int))
    tables = ldp.SampledGroups(domain, epsilon=2.0, mechanism="grr").collect(people, rng=1)
    tests = ldp.independence_tests(tables, pvalue="asymptotic")
    needed = tests.respondents_needed(0.8, [0.1] * len(tests))
    places = [[domain.names.index(name) for name in pair.attributes] for pair in tests]
    true = [
        45 * ldp.sample_size("grr", (2, 2), epsilon=2.0, alpha=tests.level, margins=[[1 - a, a], [1 - b, b]])
        for a, b in shares[places]
    ]
    ratios = needed["needed"].astype(float) / true
    assert 0.5 < ratios.median() < 2
    assert 0.05 < ratios.min() < ratios.max() < 20
    assert ((needed["least"] <= true) & (true <= needed["most"])).mean() > 0.8


@pytest.mark.parametrize("seed", [0, 4, 8])
def test_limits_stand_in_their_order_where_margins_may_be_anything(seed: int) -> None:
    """Of twenty reports the rarer category may be the more frequent one: the least was larger than the number."""
    rng, domain = np.random.default_rng(seed), ldp.Domain({"a": [0, 1], "b": [0, 1]})
    people = rng.multinomial(20, [0.4, 0.3, 0.2, 0.1])
    tests = ldp.independence_tests(ldp.SampledGroups(domain, epsilon=0.3, mechanism="grr").simulate(people, rng=rng))
    least, needed, most = tests.respondents_needed(0.8, [0.1]).iloc[0]
    assert least <= needed <= most


def test_needed_respondents_are_those_of_a_plan() -> None:
    """Where margins are even, a plan for all pairs asks for as many, up to the estimated margins."""
    domain = ldp.Domain({name: [0, 1] for name in "abc"})
    even = ldp.SampledGroups(domain, epsilon=2.0, mechanism="grr").simulate(np.full((2, 2, 2), 40_000), rng=1)
    planned = ldp.plan("grr", domain, epsilon=2.0, effect=0.1).best["n"]
    needed = ldp.independence_tests(even).respondents_needed(0.8, [0.1] * 3)["needed"]
    assert np.allclose(needed.astype(float), planned, rtol=0.02)


def test_whoever_sends_several_reports_is_one_respondent() -> None:
    """Each answers about half of the disjoint pairs of a view, at half the level: a plan for one pair, three times."""
    domain = ldp.Domain({name: [0, 1] for name in "abcd"})
    people = np.full((2,) * 4, 5_000)
    tests = ldp.independence_tests(ldp.WholeView(domain, k=2, epsilon=4.0, mechanism="grr").simulate(people, rng=1))
    assert tests.respondents == people.sum() == tests.n / 2
    planned = 3 * ldp.sample_size("grr", (2, 2), epsilon=2.0, effect=0.1, alpha=tests.level)
    assert np.allclose(tests.respondents_needed(0.8, [0.1] * 6)["needed"].astype(float), planned, rtol=0.02)


def test_noise_that_comes_once_says_nothing_about_other_numbers_of_respondents() -> None:
    """Half as many respondents of a curator tell a quarter, not half: the noise stays."""
    domain = ldp.Domain({name: [0, 1] for name in "abc"})
    central = ldp.CentralLaplace(domain, k=2, epsilon=0.05).simulate(np.full((2, 2, 2), 25_000), rng=1)
    for tables in (
        central,
        ldp.make_consistent(central),
        ldp.TableSet(domain, [central.pooled(["a", "b"])], central.privacy),
    ):
        tests = ldp.independence_tests(tables)
        assert tests.respondents == 200_000
        assert tests.respondents_needed(0.8, [0.1] * len(tests)).isna().all(axis=None)
        assert tests.respondents_needed().isna().all(axis=None)
        with pytest.raises(ldp.LdpstatsError, match="curator"):
            ldp.independence_test(tables["a", "b"]).respondents_needed(0.1)


def test_the_summary_shows_every_column(tests: ldp.IndependenceTests) -> None:
    text = str(tests)
    assert "..." not in text
    for said in (
        "car × sex",
        "power*",
        "Holm's method",
        "epsilon = 3 (strict",
        "(simulated)",
        "does not show independence",
    ):
        assert said in text
    assert f"{tests.level:.2g}" in text
    (panel,) = tests.summary().panels
    shown = [dict(zip(panel.headers, row, strict=True)) for row in panel.rows]
    for row, pair in zip(shown, tests, strict=True):
        figures = (pvalue_in_words(pair.pvalue, 3), pvalue_in_words(pair.adjusted, 3), f"{pair.power:.2f}")
        assert (row["p-value"], row["adjusted p"], row["power*"]) == figures
    assert any(row["p-value"] != row["adjusted p"] for row in shown)
    assert repr(tests) == f"<IndependenceTests: {tests.headline}>"


def test_many_pairs_are_shortened_but_not_forgotten() -> None:
    domain = ldp.Domain({f"a{place}": [0, 1] for place in range(10)})
    people = np.random.default_rng(1).integers(0, 2, (4000, 10))
    tests = ldp.independence_tests(ldp.SampledGroups(domain, epsilon=4.0).collect(domain.decode(people), rng=1))
    assert len(tests) == len(tests.to_frame()) == len(tests.to_dict()["pairs"]) == 45
    assert len(tests.summary().panels[0].rows) == 40
    assert "5 more with larger p-values are in to_frame()" in str(tests)


def test_the_picture_has_the_order_of_the_domain(tests: ldp.IndependenceTests) -> None:
    picture = tests.picture()
    frame = picture.to_frame()
    assert list(zip(frame["first"], frame["second"], strict=True)) == [
        (one, other) for place, one in enumerate(DOMAIN.names) for other in DOMAIN.names[place + 1 :]
    ]
    assert frame["decided"].sum() == len(tests.significant())
    assert frame["value"].tolist() == [
        tests[pair].cramers_v for pair in zip(frame["first"], frame["second"], strict=True)
    ]
    assert "(simulated)" in picture.notes[0]
    tests.plot().figure.canvas.draw()


def test_what_v_assumes_or_leaves_out_is_said_where_it_is_shown() -> None:
    names = {name: [0, 1] for name in "abc"}
    domain = ldp.Domain(names | {"d": [0, 1, 2]})
    people = np.zeros((2, 2, 2, 3), dtype=int)
    people[..., :2] = np.arange(1, 17).reshape(2, 2, 2, 2) * 300
    tables = ldp.SampledGroups(domain, epsilon=3.0, mechanism="grr").simulate(people, rng=3)
    tests = ldp.independence_tests(tables)
    left_out = [pair for pair in tests if pair.without]
    assert left_out
    assert f"V of {left_out[0].name}" in str(tests)
    assert any("leaves out" in note for note in tests.picture().notes)
    assert tests.to_frame()["caveat"].str.contains("without d").any()
