"""Plots of raw data against private reports: what they are read from, and whose answers they refuse."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

import ldpstats as ldp
from ldpstats import LdpstatsError
from ldpstats.inference.effects.effect_size import forest_picture
from ldpstats.plots import raw_against_private_picture
from ldpstats.protocols.population import raw_proportions

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [1, 0]})
PEOPLE = np.arange(12).reshape(2, 3, 2) * 50


def tables() -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0).simulate(PEOPLE, rng=1)


def records() -> pd.DataFrame:
    return DOMAIN.decode(np.repeat(np.argwhere(PEOPLE >= 0), PEOPLE.ravel(), axis=0))


def test_raw_figures_are_the_proportions_of_the_population_in_the_tables_own_order():
    table = tables()["a", "b"].reordered(["b", "a"])
    joint = PEOPLE.sum(axis=2).T / PEOPLE.sum()
    for picture in (
        raw_against_private_picture(table, records()),
        raw_against_private_picture(table, PEOPLE.sum(axis=2).T),
    ):
        np.testing.assert_allclose(picture.raw, joint.ravel())
        np.testing.assert_allclose(picture.private, table.estimate.ravel())
        np.testing.assert_allclose(picture.lower, table.conf_int()[..., 0].ravel())
        assert picture.labels[1] == "p, y"


def test_raw_proportions_of_records_and_counts_are_the_same_in_any_order():
    for size in (1, 2, 3):
        for names in permutations(DOMAIN.names, size):
            axes = [DOMAIN.names.index(name) for name in names]
            others = tuple(axis for axis in range(3) if axis not in axes)
            expected = PEOPLE.sum(axis=others, keepdims=True).transpose([*axes, *others])
            for truth in (PEOPLE, PEOPLE.ravel(), records()):
                shown = raw_proportions(tables(), truth)(names)
                np.testing.assert_allclose(shown, expected.reshape(shown.shape) / PEOPLE.sum())
                assert shown.shape == tuple(DOMAIN.shape[axis] for axis in axes)


def test_fewer_respondents_than_reports_are_no_truth_of_them():
    few = records().iloc[::50]
    for wrong in (tables(), tables()["a", "b"]):
        with pytest.raises(LdpstatsError, match=r"a truth of 66 respondents for a table of 1,100 reports"):
            raw_proportions(wrong, few[list(wrong.domain.names)])


def test_all_tables_of_a_set_are_drawn_together():
    by_counts, by_records = (raw_against_private_picture(tables(), truth) for truth in (PEOPLE, records()))
    assert by_counts == by_records
    frame = by_counts.to_frame().set_index("label")
    assert len(frame) == 6 + 4 + 6
    expected = PEOPLE.sum(axis=0)[2, 1] / PEOPLE.sum()
    assert frame.loc["b, c: r, 0", "raw"] == pytest.approx(expected)


def test_it_says_that_all_is_simulated_and_what_is_assumed():
    reconstructed = ldp.reconstruct(tables(), ["a", "b", "c"])
    figure, ax = plt.subplots()
    assert ldp.plots.raw_against_private(reconstructed, PEOPLE, ax=ax) is ax
    assert figure.axes == [ax]
    picture = raw_against_private_picture(reconstructed, PEOPLE, alpha=0.1)
    assert picture.notes[0] == "simulated: 3,300 reports; pointwise 90 % intervals"
    assert picture.notes[1].startswith("assumes: no interaction beyond")


def test_answers_that_nobody_knows_are_refused():
    asked = ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0).collect(records())
    assert not asked.simulated
    with pytest.raises(LdpstatsError, match="reports that respondents sent"):
        ldp.plots.raw_against_private(asked, records())
    with pytest.raises(LdpstatsError, match="reports that respondents sent"):
        ldp.plots.raw_against_private(asked + tables(), records())


@pytest.mark.parametrize("wrong", [records, 7, None, [1, 2]])
def test_anything_but_tables_is_refused(wrong: object):
    with pytest.raises(LdpstatsError, match="a Table or a TableSet"):
        ldp.plots.raw_against_private(wrong, PEOPLE)


def test_a_truth_of_nobody_or_of_another_shape_is_refused():
    with pytest.raises(LdpstatsError, match="a truth of 0 respondents"):
        ldp.plots.raw_against_private(tables(), 0 * PEOPLE)
    with pytest.raises(LdpstatsError, match="shape"):
        ldp.plots.raw_against_private(tables()["a", "b"], PEOPLE)
    empty = ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0).simulate(0 * PEOPLE, rng=1)
    with pytest.raises(LdpstatsError, match="without a single report"):
        ldp.plots.raw_against_private(empty, PEOPLE)


def test_reports_that_do_not_fit_their_channel_have_no_intervals_and_it_says_so():
    domain = ldp.Domain({"a": ["x", "y", "z"], "b": ["p", "q", "r"]})
    table = ldp.SampledGroups(domain, epsilon=1.0, mechanism="grr").simulate(np.full((3, 3), 100), rng=1)["a", "b"]
    (block,) = table.blocks
    alike = np.where(np.arange(block.tally.counts.size) == 0, block.n, 0)
    spoilt = replace(table, blocks=(replace(block, tally=replace(block.tally, counts=alike)),))
    picture = raw_against_private_picture(spoilt, np.full((3, 3), 100))
    assert np.isnan(picture.lower).all()
    assert picture.notes[0] == "simulated: 900 reports"
    assert "IMPLAUSIBLE" in picture.notes[1]
    assert "intervals hold" not in picture.described()
    effects = [ldp.association(spoilt), ldp.association(table)]
    forest = forest_picture(effects)
    assert np.isnan([forest.lower[0], forest.upper[0]]).all()
    assert (forest.lower[1], forest.upper[1]) == effects[1].conf_int()
    assert any("IMPLAUSIBLE" in note for note in forest.notes)
