"""Consistency reports: every figure by its definition, what they refuse, and what changes nothing."""

from __future__ import annotations

import dataclasses
from functools import cache
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from support.noisy_tables import implausible
from support.spoken import spoken

import ldpstats as ldp
from ldpstats import LdpstatsError
from ldpstats.consistency.marginals import Marginal

DOMAIN = ldp.Domain({"sex": ["F", "M"], "$x$ | <b>": [1, 2, 3], "age\n%": [True, False]})
PEOPLE = np.array([400, 30, 20, 250, 10, 300, 0, 120, 260, 40, 500, 70]).reshape(DOMAIN.shape)


@cache
def collected(epsilon: float = 1.0) -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, k=2, epsilon=epsilon).simulate(PEOPLE, rng=3)


@cache
def report() -> ldp.ConsistencyReport:
    return ldp.consistency_report(ldp.make_consistent(collected()))


def test_figures_of_a_table_are_what_they_are_called():
    tables, fitted = collected(), ldp.make_consistent(collected())
    frame = report().to_frame()
    for row, before, after in zip(frame.itertuples(), tables, fitted, strict=True):
        moved = after.estimate - before.unbiased.estimate.reshape(before.shape)
        assert row.table == " × ".join(before.attributes)
        assert (row.n, row.cells) == (before.n, before.domain.size())
        assert row.moved == pytest.approx(np.abs(moved).sum() / 2)
        assert row.negative == (before.estimate < 0).sum()
        assert row.negative_mass == pytest.approx(np.minimum(before.estimate, 0).sum())
        assert (row.negative_after, row.negative_mass_after) == (0, 0)
        spread = np.sqrt(np.diagonal(Marginal.of(before).covariance)).reshape(before.shape)
        assert row.moved_std_err == pytest.approx((np.abs(moved) / spread).max())


def test_apart_is_the_largest_difference_in_its_standard_errors():
    expected = dict.fromkeys((table.attributes for table in collected()), 0.0)
    for one, other in combinations(collected(), 2):
        (shared,) = {*one.attributes} & {*other.attributes}
        first, second = (Marginal.of(table).added_up((shared,)) for table in (one, other))
        spread = np.sqrt(np.diagonal(first.covariance) + np.diagonal(second.covariance))
        gap = float((np.abs(first.estimate - second.estimate) / spread).max())
        for table in (one, other):
            expected[table.attributes] = max(expected[table.attributes], gap)
    assert report().to_frame()["apart"].tolist() == pytest.approx(list(expected.values()))
    assert report().apart == pytest.approx(max(expected.values()))
    assert report().apart_after < 1e-9


def test_margins_hold_what_every_table_says_of_every_category():
    margins = report().margins
    assert len(margins) == 2 * sum(DOMAIN.shape)
    assert margins["attribute"].drop_duplicates().tolist() == list(DOMAIN.names)
    for row in margins.itertuples():
        table = next(one for one in collected() if " × ".join(one.attributes) == row.table)
        place = list(map(str, DOMAIN.categories[row.attribute])).index(row.category)
        assert row.before == pytest.approx(table.marginal(row.attribute).estimate[place])
    assert margins.groupby(["attribute", "category"])["after"].agg(np.ptp).max() < 1e-9


def test_the_picture_shows_every_category_before_and_after():
    picture = report().picture()
    assert len(picture.labels) == sum(DOMAIN.shape)
    assert {len(values) for values in picture.others} == {2}
    sums = pd.Series(picture.estimates).groupby([label.split(":")[0] for label in picture.labels]).sum()
    assert sums.tolist() == pytest.approx([1.0, 1.0, 1.0])
    assert picture.title == "Consistency of 3 tables (simulated)"


def test_of_many_categories_those_are_drawn_that_tables_disagreed_about():
    domain = ldp.Domain({name: list(range(9)) for name in "abcde"})
    people = domain.decode(np.random.default_rng(1).integers(9, size=(3000, 5)))
    found = ldp.consistency_report(ldp.make_consistent(ldp.SampledGroups(domain, epsilon=2.0).simulate(people, rng=1)))
    picture = found.picture()
    assert len(picture.labels) == 30
    assert picture.notes[0].startswith("the 30 of 45 categories")
    assert list(picture.labels) == sorted(picture.labels)
    spread = found.margins.groupby(["attribute", "category"]).agg({"before": np.ptp, "std_err": "mean"})
    furthest = (spread["before"] / spread["std_err"]).idxmax()
    assert ": ".join(furthest) in picture.labels


def test_it_says_what_the_test_says():
    said = str(report())
    assert "does not reject that noise explains" in said
    assert "df = 4" in said
    assert f"{report().n:,} reports; epsilon = 1 (strict" in said
    protocols = [ldp.SampledGroups(DOMAIN, epsilon=4.0, groups=[("sex", name)]) for name in DOMAIN.names[1:]]
    men = PEOPLE * np.array([0, 1])[:, None, None]
    apart = protocols[0].simulate(PEOPLE, rng=1) + protocols[1].simulate(men, rng=1)
    assert "more than noise explains" in str(ldp.consistency_report(ldp.make_consistent(apart)))


def test_common_respondents_make_it_cautious_and_it_says_so():
    domain = ldp.Domain({name: [0, 1] for name in "abcd"})
    whole = ldp.WholeView(domain, k=2, epsilon=6.0).simulate(np.full(16, 50), rng=1)
    found = ldp.consistency_report(ldp.make_consistent(whole))
    assert found.bound
    assert "the test is conservative" in str(found)
    crossed = ldp.PerAttribute(DOMAIN, k=2, epsilon=8.0).simulate(PEOPLE, rng=1)
    assert "they cannot disagree" in spoken(ldp.consistency_report(ldp.make_consistent(crossed)))


def test_tables_that_share_nothing_have_nothing_to_disagree_about():
    alone = ldp.SampledGroups(DOMAIN, epsilon=1.0, groups=[("sex",), ("age\n%",)]).simulate(PEOPLE, rng=1)
    found = ldp.consistency_report(ldp.make_consistent(alone))
    assert (found.apart, found.furthest, found.df) == (0.0, "", 0)
    assert "no two tables share an attribute" in str(found)
    found.plot().figure.canvas.draw()


def test_other_tables_are_reported_with_those_before():
    tables = collected()
    assert_same(ldp.consistency_report(ldp.make_consistent(tables), tables), report())
    filled = [ldp.reconstruct(tables, table.attributes) for table in tables]
    found = ldp.consistency_report(ldp.TableSet(DOMAIN, filled, tables.privacy), tables)
    # tables of maximum entropy are margins of one distribution
    assert found.apart_after < 1e-6
    assert found.apart == report().apart


def assert_same(one: ldp.ConsistencyReport, other: ldp.ConsistencyReport) -> None:
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    pd.testing.assert_frame_equal(one.margins, other.margins)
    assert str(one) == str(other)


def test_what_was_not_made_consistent_is_refused():
    with pytest.raises(LdpstatsError, match="tables that were not made consistent"):
        ldp.consistency_report(collected())
    for wrong in (7, None, list(collected()), collected()["sex", "age\n%"]):
        with pytest.raises(LdpstatsError, match="a TableSet"):
            ldp.consistency_report(wrong)
    reconstructed = ldp.TableSet(DOMAIN, [ldp.reconstruct(collected(), ["sex"])], collected().privacy)
    with pytest.raises(LdpstatsError, match="tables that were not made consistent"):
        ldp.consistency_report(reconstructed)
    with pytest.raises(LdpstatsError, match="among those before"):
        ldp.consistency_report(ldp.make_consistent(collected()), reconstructed)
    empty = ldp.TableSet(DOMAIN, [], collected().privacy)
    with pytest.raises(LdpstatsError, match="consistent"):
        ldp.consistency_report(empty)


def test_reports_that_do_not_fit_their_channel_are_named_in_words_and_in_plain_values():
    protocol = ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0, mechanism="grr")
    first, *others = protocol.simulate(PEOPLE * 10, rng=3)
    tables = ldp.TableSet(DOMAIN, [implausible(first), *others], protocol.privacy())
    found = ldp.consistency_report(ldp.make_consistent(tables))
    warning = " ".join(found.to_dict()["warning"])
    assert "channel" in warning
    assert warning in spoken(found)
    assert report().to_dict()["warning"] == []


def test_reports_that_cannot_be_are_refused():
    frame = report().tables
    for wrong in (frame.drop(columns="moved"), frame.assign(moved=np.nan), frame.assign(n=-1), frame.iloc[:0]):
        with pytest.raises(LdpstatsError):
            dataclasses.replace(report(), tables=wrong)
    with pytest.raises(LdpstatsError, match="simulated"):
        dataclasses.replace(report(), simulated=report().n + 1)
