"""Statements about channels value by value are what enumeration of all pairs, events and guessers gives."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ldpstats as ldp
from ldpstats.errors import LdpstatsError
from ldpstats.limits import LARGEST_JOINT
from ldpstats.mechanisms.channel_privacy import ChannelPrivacy, PairPrivacy
from ldpstats.numbers.grid import GRID
from ldpstats.privacy import PrivacyStatement

UNIT = "the one value that a respondent reports"


@st.composite
def channels(draw: st.DrawFn) -> ldp.Channel:
    """Draw channels of up to five values and outputs, with impossible outputs, and with rows that are alike."""
    k, outputs = draw(st.integers(2, 5)), draw(st.integers(1, 5))
    weights = st.lists(st.integers(0, 6), min_size=outputs, max_size=outputs).filter(any)
    rows = draw(st.lists(weights, min_size=k, max_size=k))
    used = [column for column in zip(*rows, strict=True) if any(column)]
    return ldp.Channel([[Fraction(weight, sum(row)) for weight in row] for row in zip(*used, strict=True)])


def log_of(own: int, beside: int) -> float:
    """Return the level of an event that is so likely under two values."""
    return math.inf if beside == 0 < own else max(math.log(own / beside), 0.0) if own else 0.0


def pickled(one: Any) -> Any:
    return pickle.loads(pickle.dumps(one))  # noqa: S301  # pickled in this very line


def events(outputs: int) -> list[tuple[int, ...]]:
    return [chosen for size in range(1, outputs + 1) for chosen in combinations(range(outputs), size)]


@settings(max_examples=60)
@given(channels())
def test_levels_of_pairs_are_those_of_all_events(channel: ldp.Channel) -> None:
    statement, worst = channel.privacy(), {}
    for value, against in permutations(range(channel.k), 2):
        own, beside = channel.rows[value], channel.rows[against]
        levels = []
        for event in events(len(own)):
            numbers = sum(own[output] for output in event), sum(beside[output] for output in event)
            found = statement.between(value, against, event).epsilon
            levels.append(log_of(*numbers))
            assert found == pytest.approx(levels[-1], abs=1e-12)
            if 0 < found < math.inf:  # rounded up: as rational numbers, e^epsilon is not below
                assert Fraction(math.nextafter(math.exp(found), math.inf)) >= Fraction(*numbers) * (
                    1 - Fraction(1, 2**50)
                )
        worst[value, against] = statement.between(value, against).epsilon
        assert worst[value, against] == pytest.approx(max(levels), abs=1e-12)
    pairs = statement.pairs().to_numpy()
    assert {pair: pairs[pair] for pair in worst} == worst
    assert np.diag(pairs).tolist() == [0.0] * channel.k
    frame = statement.per_value()
    assert frame["for"].tolist() == pairs.max(axis=1).tolist()
    assert frame["against"].tolist() == pairs.max(axis=0).tolist()
    assert frame["epsilon"].max() == statement.epsilon == max(worst.values())


@settings(max_examples=60)
@given(channels())
def test_levels_per_value_are_the_least_of_input_discriminative_privacy(channel: ldp.Channel) -> None:
    """No pair is above the smaller one of its levels; with any of them lowered, one is."""
    pairs, levels = channel.privacy().pairs().to_numpy(), channel.privacy().per_value()["epsilon"].to_numpy()
    assert np.all(pairs <= np.minimum.outer(levels, levels))
    for value, level in enumerate(levels):
        lower = levels.copy()
        lower[value] = 0.0 if level == math.inf else math.nextafter(level, -1)
        assert level == 0 or not np.all(pairs <= np.minimum.outer(lower, lower))


@settings(max_examples=40)
@given(channels())
def test_the_level_per_distance_is_the_least(channel: ldp.Channel) -> None:
    def distance(value: int, against: int) -> float:
        return abs(value - against) / 3

    statement = channel.privacy()
    level, pairs = statement.per_distance(distance), statement.pairs().to_numpy()
    for value, against in permutations(range(channel.k), 2):
        bound = math.inf if level == math.inf else Fraction(level) * Fraction(distance(value, against))
        assert pairs[value, against] <= bound
    lower = math.nextafter(level, -1) if level < math.inf else 1e300
    assert level == 0 or any(
        pairs[value, against] == math.inf
        or Fraction(pairs[value, against]) > Fraction(lower) * Fraction(distance(value, against))
        for value, against in permutations(range(channel.k), 2)
    )


@settings(max_examples=60)
@given(channels(), st.lists(st.integers(1, 9), min_size=5, max_size=5))
def test_the_best_guess_is_the_best_of_all_guessers(channel: ldp.Channel, weights: list[int]) -> None:
    """A guesser names a value for every output: as many as there are ways to do so."""
    own = np.array(weights[: channel.k]) / sum(weights[: channel.k])
    exact = [Fraction(share) / sum(map(Fraction, own.tolist())) for share in own.tolist()]
    frame = channel.privacy().guess(own)
    for name, prior in (("uniform", [Fraction(1, channel.k)] * channel.k), ("prior", exact)):
        best = max(
            sum(prior[value] * channel.rows[value][output] for output, value in enumerate(guesses))
            for guesses in product(range(channel.k), repeat=len(channel.rows[0]))
        )
        assert frame.loc[name].tolist() == [float(max(prior)), float(best / GRID)]


@settings(max_examples=60)
@given(channels())
def test_what_is_certain_is_what_single_outputs_exclude(channel: ldp.Channel) -> None:
    told = []
    for output, column in enumerate(zip(*channel.rows, strict=True)):
        possible = [value for value, entry in enumerate(column) if entry]
        excluded = [str(value) for value, entry in enumerate(column) if not entry]
        if len(possible) == 1:
            told.append(f"a report of {output} shows that {possible[0]} is true")
        elif excluded:
            told.append(f"a report of {output} rules out {', '.join(excluded)}")
    assert list(channel.privacy().certain) == told
    assert bool(told) == (channel.epsilon == math.inf)


ONE_SIDED = ldp.Channel(
    [[0.5, 0.5, 0], [0.25, 0.25, 0.5], [0, 1, 0]], values=["none", "some", "much"], outputs=["a", "b", ("c", 1)]
)


def test_a_pair_says_its_order_and_nothing_of_others() -> None:
    """The words of a level over all values would be wrong of one pair."""
    statement = ldp.designs.mangat(0.75).privacy()
    yes, no = statement.between("yes", "no"), statement.between("no", "yes")
    assert yes.guarantee() == "What is sent is at most 4 times as likely under 'yes' as under 'no'."
    assert no.guarantee() == "What is sent may rule out 'yes' for certain, where 'no' is true."
    assert statement.between("yes", "no", ["no"]).guarantee() == (
        "A report of 'no' is never likelier under 'yes' than under 'no'."
    )
    assert statement.between("no", "yes", "no").guarantee() == (
        "A report of 'no' rules out 'yes' for certain, where 'no' is true."
    )
    assert statement.between("no", "yes", ["yes", "no"]).epsilon == 0
    assert "The other order is another statement." in str(yes)
    assert yes.headline == "epsilon = 1.387 (of what is sent, for 'yes' against 'no')"
    assert yes.to_dict() == {"epsilon": yes.epsilon, "value": "yes", "against": "no", "event": None}
    assert no.to_dict()["epsilon"] == "infinite"
    assert no.to_frame()["times_as_likely"].tolist() == [math.inf]
    with pytest.raises(LdpstatsError, match="a picture of a PairPrivacy"):
        yes.plot()


@pytest.mark.parametrize(
    "statement", [ONE_SIDED.privacy(), ldp.designs.warner(0.7).privacy(), ldp.Channel([[1], [1]]).privacy()]
)
def test_statements_survive_pickling_and_files(statement: ChannelPrivacy, tmp_path: Path) -> None:
    statement.save(tmp_path / "statement.json")
    for again in (pickled(statement), ldp.load(tmp_path / "statement.json")):
        assert again == statement
        assert type(again) is ChannelPrivacy
        assert hash(again) == hash(statement)
        assert again.pairs().equals(statement.pairs())
        assert str(again) == str(statement)
    pair = statement.between(*statement._value_names[:2], statement._output_names[:1])
    pair.save(tmp_path / "pair.json")
    assert ldp.load(tmp_path / "pair.json") == pickled(pair) == pair
    assert isinstance(pair, PairPrivacy)


def test_names_that_are_tuples_stay_names() -> None:
    statement = ONE_SIDED.privacy()
    assert statement.between("some", "none", [("c", 1)]).epsilon == math.inf
    assert statement.pairs().loc["none", "some"] == statement.between("none", "some").epsilon
    design = ldp.designs.unrelated_question(0.7).privacy()
    assert design.pairs().index.tolist() == design.pairs().columns.tolist() == list(design.values or ())
    assert design.between(("no", "no"), ("yes", "yes")).epsilon == math.inf


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda one: one.between("none", "nobody"), "the value 'nobody'. Allowed: 'none', 'some', 'much'"),
        (lambda one: one.between("none", ["some"]), r"the value \['some'\]"),
        (lambda one: one.between("none", np.array([1, 2])), "the value array"),
        (lambda one: one.between("none", "some", ["z"]), "the output 'z'. Allowed: 'a', 'b', "),
        (lambda one: one.between("none", "some", []), "an event of no outputs"),
        (lambda one: one.between("none", "some", {"a", "b"}), "the set"),
        (lambda one: one.per_distance(lambda *_: 0), "the distance 0.0"),
        (lambda one: one.per_distance(lambda *_: math.inf), "the distance inf"),
        (lambda one: one.per_distance(lambda *_: "far"), "the distance nan"),
        (lambda one: one.guess([0.5, 0.5]), "3 frequencies that sum to 1"),
        (lambda one: one.guess([0.5, 0.6, -0.1]), "3 frequencies that sum to 1"),
        (lambda one: one.guess([math.nan, 0.5, 0.5]), "3 frequencies that sum to 1"),
        (lambda one: one.guess({"none": 1}), "prior = .*Allowed: numbers"),
        (lambda one: one.guess([0.5, 0.3, 0.1]), "3 frequencies that sum to 1"),
    ],
)
def test_questions_about_other_things_are_refused_kindly(asked: Any, said: str) -> None:
    with pytest.raises(LdpstatsError, match=said):
        asked(ONE_SIDED.privacy())


@pytest.mark.parametrize(
    "changed",
    [
        {"epsilon": 1.0, "certain": ()},
        {"rows": ()},
        {"rows": ((GRID, 0), (0, GRID - 1))},
        {"rows": ((GRID, 0), (GRID + 1, -1))},
        {"rows": ((GRID, 0), (GRID,))},
        {"values": ("a",)},
        {"outputs": ("a", "b", "c")},
        {"certain": "a report of 0 shows that 0 is true"},
        {"certain": (1,)},
    ],
)
def test_altered_statements_are_refused(changed: dict[str, Any]) -> None:
    """A file may be altered so that a level stands beside rows that have another one."""
    proper: dict[str, Any] = {"epsilon": math.inf, "unit": UNIT, "rows": ((GRID, 0), (0, GRID))}
    assert ChannelPrivacy(**proper).epsilon == math.inf
    with pytest.raises(LdpstatsError):
        ChannelPrivacy(**{**proper, **changed})


def test_statements_are_joined_and_told_as_any_other() -> None:
    first, second = ldp.designs.mangat(0.7).privacy(), ldp.designs.warner(0.7).privacy()
    joined = second.joined(first)
    assert (type(joined), joined.epsilon, joined.certain) == (PrivacyStatement, math.inf, first.certain)
    assert first.joined(first).certain == first.certain
    assert first.to_dict()["certain"] == ["a report of 'no' shows that 'no' is true"]
    assert "certain" not in second.to_dict()
    assert "rows" not in first.to_dict()
    assert "a report of 'no' shows that 'no' is true" in first.headline
    text = " ".join(str(first).split())
    assert "A report of 'no' shows that 'no' is true." in text
    assert "Against any other value what is sent can speak for 'yes' with epsilon = 1.204 at most." in text
    assert "for 'no' with" not in text
    assert "the best guess is right in 85 % with the report, 50 % without." in text
    with pytest.raises(LdpstatsError, match="level is infinite alone"):
        PrivacyStatement(1.0, UNIT, certain=("a report of 0 shows that 0 is true",))


def test_large_channels_are_summed_up_and_their_pairs_refused() -> None:
    """All pairs of 4,096 values are sixteen million: nothing that is always shown looks at them."""
    k = LARGEST_JOINT
    statement = ldp.Channel([[(value + 1) / (k + 2), (k + 1 - value) / (k + 2)] for value in range(k)]).privacy()
    levels = statement.per_value()
    assert len(levels) == k
    assert statement.between(k - 1, 0).epsilon == levels["for"].iloc[-1] == statement.epsilon
    assert f"the best guess is right in {100 * 2 * k / (k + 2) / k:.3g} % with the report" in " ".join(
        str(statement).split()
    )
    for asked in (statement.pairs, lambda: statement.per_distance(lambda *_: 1)):
        with pytest.raises(LdpstatsError, match="`between` compares two values"):
            asked()
    one_sided = ldp.mechanism("urr", k=300, epsilon=1.0, sensitive=range(100)).privacy()
    assert len(one_sided.certain) == 200
    assert "194 more reports show something for certain." in str(one_sided)
