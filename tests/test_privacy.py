"""Privacy levels are the exact worst case of a channel, and statements keep their unit."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import permutations
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import GRR, REGISTRY, Mechanism
from ldpstats.pictures.lines import Posterior
from ldpstats.privacy import PrivacyStatement, strict_epsilon, times_as_likely, worst_ratio

Channel = list[dict[Any, Fraction]]


@st.composite
def channels(draw: st.DrawFn, least: int) -> Channel:
    """Draw rational channels; with `least` = 0 some reports may be impossible under some values."""
    values, reports = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    weights = st.lists(st.integers(least, 9), min_size=reports, max_size=reports).filter(any)
    rows = draw(st.lists(weights, min_size=values, max_size=values))
    return [{report: Fraction(weight, sum(row)) for report, weight in enumerate(row)} for row in rows]


def ratios(channel: Channel) -> list[Fraction]:
    return [a[y] / b[y] for a, b in permutations(channel, 2) for y in a if b[y] > 0]


@given(channels(least=1))
def test_worst_ratio_is_the_largest_over_all_pairs_and_reports(channel: Channel) -> None:
    assert worst_ratio(channel) == max([*ratios(channel), Fraction(1)])


@given(channels(least=0))
def test_a_report_that_excludes_a_value_makes_the_ratio_unbounded(channel: Channel) -> None:
    excludes = any(a[y] > 0 == b[y] for a, b in permutations(channel, 2) for y in a)
    assert worst_ratio(channel) == (None if excludes else max([*ratios(channel), Fraction(1)]))


@given(channels(least=0))
def test_an_absent_report_is_an_impossible_one(channel: Channel) -> None:
    thinned = [{report: chance for report, chance in row.items() if chance > 0} for row in channel]
    assert worst_ratio(thinned) == worst_ratio(channel)


def test_unbounded_ratios_have_infinite_epsilon_and_constant_channels_none() -> None:
    assert strict_epsilon(worst_ratio([{"a": Fraction(1)}, {"b": Fraction(1)}])) == math.inf
    assert strict_epsilon(worst_ratio([{"a": Fraction(1), "b": Fraction(0)}] * 3)) == 0.0


@pytest.mark.parametrize("k", [2, 17])
@pytest.mark.parametrize("kind", REGISTRY)
def test_mechanisms_spend_what_was_asked_for_and_never_more(kind: type[Mechanism], k: int) -> None:
    """Larger alphabets are a check of the conformance suite."""
    for epsilon in (0.01, 0.5, 1.0, 4.0, 12.0):
        mechanism = kind(k=kind.only_k or k, epsilon=epsilon)
        strict = mechanism.strict_epsilon()
        assert strict <= epsilon
        assert strict > epsilon - 1e-9 or mechanism.slack_reason


def test_levels_beyond_the_grid_stay_finite() -> None:
    assert GRR(4, 1000.0).strict_epsilon() == pytest.approx(math.log(3 * (2**64 - 1)), rel=1e-15)


def test_statements_say_their_unit_and_a_papers_own_accounting() -> None:
    assert PrivacyStatement(math.log(3), "one attribute").headline == "epsilon = 1.099 (strict; unit: one attribute)"
    paper = PrivacyStatement(1.6094, "one group", nominal_epsilon=0.6931, delta_at_nominal=0.375)
    assert paper.headline == (
        "epsilon = 1.61 (strict; unit: one group); nominal epsilon = 0.6931 (holds with delta = 0.375)"
    )
    drawn = paper.picture()
    assert isinstance(drawn, Posterior)
    assert (list(drawn.levels.values()), list(drawn.others.values())) == ([1.6094], [0.6931]), "guaranteed, and not"
    assert PrivacyStatement(1.0, "one group", nominal_epsilon=0.5).headline.endswith("nominal epsilon = 0.5")
    assert PrivacyStatement(math.inf, "one group").headline == "epsilon = inf (strict; unit: one group)"


def test_joined_statements_promise_the_weaker_guarantee() -> None:
    one = PrivacyStatement(1.0, "a record", {"a": 1.0, "b": 0.5})
    other = PrivacyStatement(2.0, "a record", {"b": 2.0, "c": 0.25})
    assert one.joined(other) == PrivacyStatement(2.0, "a record", {"a": 1.0, "b": 2.0, "c": 0.25})
    assert one.joined(other) == other.joined(one)
    assert one.joined(one) == one
    with pytest.raises(LdpstatsError, match="units 'a record' and 'one attribute'"):
        one.joined(PrivacyStatement(1.0, "one attribute"))


def test_the_statement_for_a_group_keeps_the_respondents_level() -> None:
    whole = PrivacyStatement(3.0, "a record", {"a": 1.0, "b": 2.0})
    assert whole.for_group("b") == PrivacyStatement(3.0, "a record", {"b": 2.0})


@pytest.mark.parametrize(
    "statement",
    [
        PrivacyStatement(0.1 + 0.2, "a record", {"a": 1 / 7}),
        PrivacyStatement(math.inf, "a record", MappingProxyType({"a × b": 1.0}), 0.5, 0.125),
        PrivacyStatement(1.0, "a record", substitutes=True),
    ],
)
def test_statements_survive_json(statement: PrivacyStatement) -> None:
    assert PrivacyStatement(**json.loads(json.dumps(statement.to_dict()))) == statement


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"epsilon": math.nan}, "epsilon = nan"),
        ({"epsilon": 10**400}, "epsilon = 1000"),
        ({"delta_at_nominal": 5, "nominal_epsilon": 0.5}, "delta_at_nominal = 5"),
        ({"delta_at_nominal": "infinite", "nominal_epsilon": 0.5}, "delta_at_nominal = 'infinite'"),
        ({"delta_at_nominal": 0.5}, "delta_at_nominal = 0.5 alone"),
        ({"provably_true": 7, "epsilon": math.inf}, "provably_true = 7"),
        ({"provably_true": True, "epsilon": math.inf}, "provably_true = True"),
        ({"provably_true": 0.5}, "provably_true = 0.5 with epsilon = 1.0"),
        ({"nominal_epsilon": -1}, "nominal_epsilon = -1"),
        ({"per_group": {"a": 1.5}}, "the level 1.5 of 'a'"),
    ],
)
def test_statements_that_cannot_be_true_are_refused(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(LdpstatsError, match=told):
        PrivacyStatement(**{"epsilon": 1.0, "unit": "a record", **fields})


def text(statement: PrivacyStatement) -> str:
    return " ".join(str(statement).split())


class TestShown:
    """What a statement shows: never less than it is, with its unit, and in words."""

    def test_the_summary_has_every_level_with_its_unit_and_says_what_it_means(self) -> None:
        statement = PrivacyStatement(2.0, "a respondent's whole record", {"a": 0.5, "b": 2.0})
        rows = statement.summary().panels[0].rows
        assert rows == (
            ("a respondent's whole record", "2", "strict", "7.39"),
            ("a report about a", "0.5", "strict", "1.649"),
            ("a report about b", "2", "strict", "7.39"),
        )
        assert "whatever becomes known, no record makes that more than 7.39 times as likely" in text(statement)
        assert "\n" not in statement.headline
        assert repr(statement) == "<PrivacyStatement: epsilon = 2 (strict; unit: a respondent's whole record)>"

    def test_a_papers_own_accounting_is_marked_wherever_it_is_shown(self) -> None:
        paper = PrivacyStatement(1.5, "one group", nominal_epsilon=0.5, delta_at_nominal=0.375)
        assert "what is guaranteed is the strict level" in text(paper)
        assert paper.to_frame()["kind"].tolist() == ["strict", "nominal"]
        assert paper.to_frame()["delta"].tolist() == [0.0, 0.375]
        assert "not what is guaranteed" in paper.picture().described()
        assert "nominal, delta = 0.375" in text(paper)

    def test_where_nothing_is_guaranteed_that_is_said_and_drawn(self) -> None:
        paper = PrivacyStatement(math.inf, "one group", provably_true=0.25, substitutes=True)
        assert "Nothing is strictly guaranteed" in text(paper)
        assert "25 % of the reports are provably true: whoever sees one of these knows the answer." in text(paper)
        assert "estimates and tests are of that mixture" in text(paper)
        picture = paper.picture()
        assert "no strict guarantee: what becomes known may settle it" in picture.notes
        inside = picture.to_frame().query("0 < before < 1")
        assert set(inside["least"]) == {0.0}
        assert set(inside["most"]) == {1.0}
        paper.plot().figure.canvas.draw()

    def test_a_level_of_zero_says_that_nothing_is_learnt(self) -> None:
        nothing = PrivacyStatement(0.0, "one group")
        assert "equally likely under every answer" in text(nothing)
        frame = nothing.picture().to_frame()
        assert (frame["least"] == frame["before"]).all()

    def test_a_group_that_tells_less_has_an_area_of_its_own(self) -> None:
        def levels(groups: dict[str, float]) -> list[tuple[str, float]]:
            picture = PrivacyStatement(2.0, "a record", groups).picture()
            assert isinstance(picture, Posterior)
            return [*picture.levels.items()]

        whole = ("strict epsilon = 2", 2.0)
        assert levels({}) == levels({"a": 2.0, "b": 1.0}) == [whole]
        assert levels({"a": 0.5}) == [whole, ("a report about a: epsilon = 0.5", 0.5)]
        assert levels({"a": 0.5, "b": 1.0}) == [whole, ("a report about any one group: epsilon = 1", 1.0)]

    def test_many_groups_with_few_levels_have_a_row_for_each_level(self) -> None:
        statement = PrivacyStatement(3.0, "a record", {f"g{place}": 1.0 + place % 2 for place in range(40)})
        about = [row[0] for row in statement.summary().panels[0].rows]
        assert about == ["a record", "a report about each of 20 groups", "a report about each of 20 other groups"]
        assert len(statement.to_frame()) == 41

    @given(st.floats(0, 700))
    def test_the_ratio_that_is_shown_is_not_below_what_it_is(self, epsilon: float) -> None:
        # the doubles e^ε and what is printed of it may each be off in their last digits
        assert float(times_as_likely(epsilon).replace(",", "")) >= math.exp(epsilon) * (1 - 2e-12)
