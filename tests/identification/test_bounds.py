"""Bounds: what makes them wider or narrower, what contradicts them, and what they say."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from support.measured_sums import ABC, BITS, CHAIN, MANY, PAIRS, measured, some_joint, xor
from support.spoken import spoken

import ldpstats as ldp
from ldpstats import Domain, DomainError, LdpstatsError, NotIdentifiedError, PrivacyStatement
from ldpstats.estimation import Measured
from ldpstats.extend import Block, Question
from ldpstats.identification import Bounds, bounds_of
from ldpstats.noise import Tally
from ldpstats.noise.channels import CohortChannel


def test_order_of_cells_sums_and_attributes_changes_nothing() -> None:
    one = measured(ABC, CHAIN, some_joint(ABC, 8), 3000, seed=2)
    found = bounds_of(ABC, one, ["a", "c"])
    for order in permutations("abc"):
        other = ABC.project(order)
        moved = np.arange(ABC.size()).reshape(ABC.shape).transpose([ABC.names.index(name) for name in order]).ravel()
        shuffle = np.random.default_rng(len(order)).permutation(len(one.estimate))
        same = Measured(
            one.sums[shuffle][:, moved], one.estimate[shuffle], one.covariance[np.ix_(shuffle, shuffle)], one.n
        )
        again = bounds_of(other, same, ["c", "a"])
        np.testing.assert_allclose(again.lower.T, found.lower, atol=1e-6)
        np.testing.assert_allclose(again.point_upper.T, found.point_upper, atol=1e-6)
        np.testing.assert_allclose(again.cramers_v().high, found.cramers_v().high, atol=1e-5)


def test_combined_sums_tell_the_same() -> None:
    """Any invertible mixture of the sums, shifted by multiples of the known total, is the same measurement.

    But for what is added for rare cells, which depends on the sums as they are given, and vanishes with many reports.
    """
    one = replace(measured(ABC, CHAIN, some_joint(ABC, 8), 3000, seed=2), n=MANY)
    rng = np.random.default_rng(3)
    mix, shift = rng.standard_normal((len(one.estimate),) * 2), rng.standard_normal(len(one.estimate))
    mixed = Measured(mix @ one.sums + shift[:, None], mix @ one.estimate + shift, mix @ one.covariance @ mix.T, one.n)
    found, again = (bounds_of(ABC, each, ["a", "c"]) for each in (one, mixed))
    assert found.df == again.df
    np.testing.assert_allclose(again.to_frame(), found.to_frame(), atol=1e-5)


def contradictory(strength: float) -> Measured:
    """Return pairs of which any two can be had together, but not all three: a = b, b = c, and a ≠ c."""
    same = np.array([1, 0, 0, 1]) * strength / 2 + (1 - strength) / 4
    other = np.array([0, 1, 1, 0]) * strength / 2 + (1 - strength) / 4
    one = measured(BITS, PAIRS, np.full(8, 1 / 8), 1000)
    return replace(one, estimate=np.concatenate([same, same, other]))


def test_pairs_that_no_joint_table_has_are_a_finding() -> None:
    found = bounds_of(BITS, contradictory(0.9), ["a", "b", "c"])
    assert "no table without negative cells" in found.why_not
    assert found.pvalue < 1e-6
    assert np.isnan(found.lower).all()
    assert np.isnan(found.point_upper).all()
    assert np.isnan(found.conditional(["a"], given=["b"]).to_numpy()).all()
    assert np.isnan(bounds_of(BITS, contradictory(0.9), ["a", "b"]).cramers_v().high)
    assert found.to_dict()["lower"] is None
    assert "No bounds: the reports contradict each other" in str(found)
    assert not bounds_of(BITS, contradictory(0.2), ["a", "b", "c"]).why_not


def test_margins_that_differ_beyond_chance_are_a_finding() -> None:
    joint = some_joint(ABC, 11, 3.0)
    one = measured(ABC, CHAIN, joint, 5000)
    moved = one.estimate + np.concatenate([np.zeros(6), [0.04, 0, -0.02, 0, -0.02, 0]])
    found = bounds_of(ABC, replace(one, estimate=moved), ["a", "c"])
    assert "sums that must agree differ beyond chance" in found.why_not
    assert found.pvalue < 0.002


def test_wrong_input_is_refused() -> None:
    one = measured(BITS, CHAIN, xor(0.5))
    with pytest.raises(DomainError, match="different names"):
        bounds_of(BITS, one, ["a", "d"])
    with pytest.raises(LdpstatsError, match="a column for every cell"):
        bounds_of(ABC, one, ["a", "c"])
    with pytest.raises(LdpstatsError, match="not finite"):
        bounds_of(BITS, replace(one, estimate=one.estimate * np.nan), ["a", "c"])
    with pytest.raises(LdpstatsError, match="a symmetric matrix"):
        bounds_of(BITS, replace(one, covariance=one.covariance[:2]), ["a", "c"])
    with pytest.raises(NotIdentifiedError, match="at least one report"):
        bounds_of(BITS, replace(one, n=0), ["a", "c"])
    with pytest.raises(LdpstatsError, match=r"known for sure and 0\.1 apart"):
        bounds_of(BITS, replace(one, estimate=one.estimate + np.eye(8)[0] * 0.2), ["a", "c"])
    large = Domain({f"x{place}": [0, 1] for place in range(13)})
    with pytest.raises(LdpstatsError, match="up to 4,096 cells"):
        bounds_of(large, one, ["x0"])
    with pytest.raises(LdpstatsError, match="two attributes"):
        bounds_of(BITS, one, ["a", "b", "c"]).cramers_v()


def test_too_many_contrasts_are_refused() -> None:
    domain = Domain({"a": range(24), "b": range(24)})
    one = Measured(np.eye(576), np.full(576, 1 / 576), np.eye(576) / 1e6, 1000)
    with pytest.raises(LdpstatsError, match="575 contrasts"):
        bounds_of(domain, one, ["a"])


def some_bounds(**more: object) -> Bounds:
    privacy = PrivacyStatement(1.0, "a respondent's whole record")
    one = replace(measured(ABC, CHAIN, some_joint(ABC, 12)), **more)
    return bounds_of(ABC, one, ["a", "c"], 0.1, privacy=privacy, simulated=one.n)


def test_bounds_say_what_they_are() -> None:
    found = some_bounds(bound="two tables share respondents")
    plain = found.to_dict()
    assert plain["level"] == 0.9
    assert plain["simultaneous"]  # as the covariance is a bound
    assert plain["assumption"] is None
    assert plain["privacy"]["epsilon"] == 1.0
    assert "upper bound, as two tables share respondents" in plain["covers"]
    assert "upper bound" not in some_bounds().covers
    text = spoken(found)
    for words in (
        "Bounds without an assumption: a and c (simulated)",
        "90 % from",
        "whole record",
        "limits of all cells",
    ):
        assert words in text
    assert found.to_frame().index.names == ["a", "c"]
    assert repr(found) == "<Bounds: a × c, 2 × 2 cells, n = 6,000 (simulated)>"
    np.testing.assert_array_equal(found.to_frame()["upper"], found.upper.ravel())


def test_what_is_drawn_are_both_layers_of_every_cell_in_the_order_of_the_table() -> None:
    found = some_bounds()
    picture = found.picture()
    frame = picture.to_frame()
    assert frame["label"].tolist() == [", ".join(map(str, one)) for one in found.domain.index()]
    np.testing.assert_array_equal(frame[["lower", "upper", "inner_lower", "inner_upper"]], found.to_frame())
    assert picture.notes[0] == "simulated"
    assert "with confidence of at least 90 %, pointwise" in picture.notes[1]
    drawn = found.plot()
    assert sum(line.get_linewidth() > 5 for line in drawn.lines) == 4
    drawn.figure.canvas.draw()


def test_bounds_of_v_say_of_which_table_and_how_many_reports() -> None:
    found = some_bounds().cramers_v()
    assert "of a and c (simulated)" in found.headline
    assert found.to_dict()["level"] == 0.9
    assert found.to_frame().loc["cramers_v"].tolist() == [found.low, found.high, found.point_low, found.point_high]
    rows = [[float(one) for one in row[1:]] for row in found.summary().panels[0].rows]
    np.testing.assert_allclose(rows, [(found.point_low, found.point_high), (found.low, found.high)], atol=5e-5)
    text = spoken(found)
    for words in ("6,000 reports", "whole record", "joint confidence set", "Nothing is assumed"):
        assert words in text
    assert found.picture().to_frame().iloc[0, 2:].tolist() == [found.low, found.high, found.point_low, found.point_high]
    older = replace(found, of=None)
    assert "Cramér's V from" in older.headline
    older.plot().figure.canvas.draw()


def test_where_there_are_none_that_is_said_and_drawn() -> None:
    found = bounds_of(BITS, contradictory(0.9), ["a", "b"])
    for one in (found, found.cramers_v()):
        assert "no bounds" in one.headline
        assert any("no bounds" in note for note in one.picture().notes)
        assert "No bounds: " in str(one)
        assert "not estimable" in {text.get_text() for text in one.plot().texts}


class TestTablesThatLeaveCellsOpen:
    """Bounds of a table that was asked by a coarser question, or through a channel of low rank."""

    def test_a_bit_that_tells_a_mean(self) -> None:
        """A share is largest where everybody else is at one end, such that the mean is what it is."""
        domain = ldp.Domain({"x": [0, 1, 2, 3, 4]})
        bit = ldp.Channel([[0.5 + 0.1 * (place - 2), 0.5 - 0.1 * (place - 2)] for place in range(5)])
        people = np.array([1, 2, 3, 2, 2]) * 1_000
        protocol = ldp.SampledGroups(domain, epsilon=bit.epsilon, mechanism=[bit], k=1)
        table = protocol.simulate(people, rng=1)["x"]
        mean, limits = table.mean("x").estimate, table.bounds()
        largest = [min((4 - mean) / (4 - place) if place <= mean else mean / place, 1.0) for place in range(5)]
        assert limits.point_upper == pytest.approx(largest, abs=1e-4)
        assert limits.point_lower == pytest.approx(np.zeros(5), abs=1e-4)
        assert ((limits.lower <= people / 10_000) & (people / 10_000 <= limits.upper)).all()
        assert limits.df == 1

    def test_a_coarser_question(self) -> None:
        domain, mechanism = ldp.Domain({"x": [0, 1, 2, 3, 4]}), ldp.GRR(2, epsilon=1.0)
        block = Block(Question(("x",), (5,), (0, 0, 1, 1, 1)), mechanism.simulate([3_000, 7_000], rng=1))
        limits = ldp.Table(domain, (block,), mechanism.privacy()).bounds()
        first = mechanism.estimate(block.tally).estimate[0]
        assert limits.point_upper == pytest.approx([first] * 2 + [1 - first] * 3, abs=1e-4)
        assert limits.point_lower == pytest.approx(np.zeros(5), abs=1e-4)

    def test_beside_a_block_that_tells_the_cells(self) -> None:
        """What a channel of low rank tells is added to it: by least squares, and to bounds that then are intervals."""
        domain, mechanism = ldp.Domain({"x": [0, 1, 2]}), ldp.GRR(3, epsilon=1.0)
        whole = Block(Question(("x",), (3,), (0, 1, 2)), mechanism.simulate([3_000, 4_000, 3_000], rng=1))
        bit = ldp.Channel([[0.7, 0.3], [0.5, 0.5], [0.3, 0.7]])
        more = Block(Question(("x",), (3,), (0, 1, 2)), bit.simulate([3_000, 4_000, 3_000], rng=2))
        alone, both = (ldp.Table(domain, blocks, mechanism.privacy()) for blocks in ((whole,), (whole, more)))
        assert (np.diag(both.covariance) < np.diag(alone.covariance)).all()
        limits = both.bounds()
        assert limits.point_lower == pytest.approx(limits.point_upper, abs=1e-4)
        assert both.mean("x").std_err < alone.mean("x").std_err

    def test_a_cohort_that_hashes_two_values_alike(self) -> None:
        channel = CohortChannel(np.array([[0, 0, 1]]), 2, 0.8)
        counts = np.array([380, 620])
        block = Block(Question(("x",), (3,), (0, 1, 2)), Tally(channel, counts, 1_000))
        promised = ldp.GRR(2, epsilon=math.log(4) + 1e-9).privacy()
        table = ldp.Table(ldp.Domain({"x": [0, 1, 2]}), (block,), promised)
        first = (0.38 - 0.2) / 0.6
        assert table.bounds().point_upper == pytest.approx([first, first, 1 - first], abs=1e-4)
        assert table.share({"x": 2}).estimate == pytest.approx(1 - first)

    def test_a_channel_that_tells_nothing(self) -> None:
        nothing = ldp.Channel([[0.5, 0.5]] * 3)
        block = Block(Question(("x",), (3,), (0, 1, 2)), nothing.simulate([30, 40, 30], rng=1))
        table = ldp.Table(ldp.Domain({"x": [0, 1, 2]}), (block,), nothing.privacy())
        assert table.bounds().upper == pytest.approx(np.ones(3), abs=1e-6)
        with pytest.raises(NotIdentifiedError, match="bounds"):
            table.mean("x")
