"""What reports tell about a value that changes: exact levels against enumerations of the memo itself."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import lru_cache, partial
from itertools import pairwise, product
from math import inf, log
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from ldpstats.conformance.enumeration import Law, outcomes
from ldpstats.conformance.memory import joint_law, permanent_law
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import Longitudinal, Memo, mechanism
from ldpstats.mechanisms.longitudinal import _courses, _exact_ratio
from ldpstats.mechanisms.longitudinal_rounds import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE, LUE
from ldpstats.privacy import strict_epsilon, worst_ratio

UNARY = ("l-sue", "l-oue", "l-soue", "l-osue", "l-ue")


def law_of_a_memo(used: Longitudinal, values: tuple[int, ...]) -> Law:
    """Enumerate what a memo reports, round by round, about one respondent with these values."""

    def sampler(draws: Any) -> bytes:
        with patch("ldpstats.mechanisms.memo.client_draws", lambda _: draws):
            kept = Memo(used)
            return b"".join(kept.reports([7], [value]).data.tobytes() for value in values)

    law: Law = defaultdict(Fraction)
    for reports, probability in outcomes(sampler):
        law[reports] += probability
    return dict(law)


@lru_cache(maxsize=64)
def law_of_one_value(used: Longitudinal, value: int, rounds: int) -> Law:
    return joint_law(used, permanent_law(used, value), rounds)


def law_of_independent_answers(used: Longitudinal, values: tuple[int, ...]) -> Law:
    """Multiply the laws of the reports about each value, where permanent answers have nothing in common."""
    width, law = used.report_format.bits // 8, {(b"",) * len(values): Fraction(1)}
    for value in dict.fromkeys(values):
        places, own = [i for i, one in enumerate(values) if one == value], values.count(value)
        further: dict[tuple[bytes, ...], Fraction] = {}
        for (known, chance), (reports, probability) in product(law.items(), law_of_one_value(used, value, own).items()):
            written = list(known)
            for i, place in enumerate(places):
                written[place] = reports[i * width : (i + 1) * width]
            further[tuple(written)] = chance * probability
        law = further
    return {b"".join(reports): chance for reports, chance in law.items()}


def changes_of(values: tuple[int, ...]) -> int:
    return sum(one != other for one, other in pairwise(values))


@pytest.mark.parametrize(
    ("name", "k", "rounds"),
    [
        *((name, 2, 2) for name in (*UNARY, "dbitflip-pm")),
        *(("l-sue", 3, 2), ("l-grr", 2, 4), ("l-grr", 3, 3), ("l-blh", 2, 3), ("dbitflip-pm", 3, 2)),
    ],
)
def test_levels_are_the_largest_over_all_pairs_of_sequences(name: str, k: int, rounds: int) -> None:
    used: Any = mechanism(name, k=k, epsilon=1.0)
    law = law_of_a_memo if name in ("l-blh", "dbitflip-pm") else law_of_independent_answers
    laws = {values: law(used, values) for values in product(range(k), repeat=rounds)}
    ratios = {pair: worst_ratio([laws[one] for one in pair]) for pair in product(laws, repeat=2)}
    for changes, others in product(range(rounds), repeat=2):
        pairs = [pair for pair in ratios if all(map(int.__le__, map(changes_of, pair), (changes, others)))]
        known = [ratio for ratio in map(ratios.__getitem__, pairs) if ratio is not None]
        expected = max(known) if len(known) == len(pairs) else None
        assert used.changing_ratio(rounds, changes, others) == expected


def test_a_change_shows_ever_more_plainly() -> None:
    lgrr = LGRR(2, epsilon=1.0)
    found = [lgrr.changing_epsilon(rounds, others=0) for rounds in (4, 8, 16, 64)]
    assert [round(level, 2) for level in found] == [1.80, 4.10, 8.82, 37.14]
    # after two rounds two values that never change differ more than a change from none does
    assert round(lgrr.changing_epsilon(2, others=0), 2) == round(lgrr.changing_epsilon(2, 0), 2) == 0.81
    assert round(log(once_against_never(lgrr, 2)), 2) == 0.77
    assert mechanism("dbitflip-pm", k=4, epsilon=1.0).changing_epsilon(2) == inf


def once_against_never(used: LGRR, rounds: int) -> Fraction:
    """Compare sequences with a change with those without one, and no sequences without any with each other."""
    courses = [course for course in _courses(used.k, rounds, 1, 0) if len(course) == 2]
    return max(_exact_ratio(partial(used.rounds.parts, used.k), course) for course in courses)


@pytest.mark.parametrize("kind", [LGRR, LSUE, LOUE, LSOUE, LOSUE, LUE, LBLH, LOLH])
def test_without_changes_the_level_rises_to_that_of_the_permanent_answer(kind: type[Longitudinal]) -> None:
    used: Any = kind(3, 2.0)  # type: ignore[call-arg]  # every kind takes k and epsilon
    levels = [used.changing_epsilon(rounds, 0) for rounds in (1, 2, 5, 12)]
    assert levels == sorted(levels)
    assert levels[0] == used.first_report_epsilon()
    assert levels[-1] < used.strict_epsilon()
    # one report cannot show a change, and more changes, on either side, never show less
    assert used.changing_epsilon(1, 7, 3) == levels[0]
    assert levels[1] <= used.changing_epsilon(2, 1, 0) <= used.changing_epsilon(2, 1, 1)
    assert used.changing_epsilon(2, 1) == used.changing_epsilon(2, 1, 1) == used.changing_epsilon(2, 9)


def test_a_change_shows_in_bits_that_belong_to_neither_value() -> None:
    few, many = (LSUE(k, epsilon=1.0).changing_epsilon(6, others=0) for k in (3, 300))
    assert many > 20 * few


def test_statements_about_changing_values_say_what_they_cover() -> None:
    lgrr = LGRR(2, epsilon=1.0)
    assert lgrr.privacy().headline == "epsilon = 1 (strict; unit: all reports about one value, which never changes)"
    changing = lgrr.privacy(rounds=4, changes=1)
    assert changing.epsilon == lgrr.changing_epsilon(4, 1) > lgrr.epsilon
    assert changing.unit == "all reports in 4 rounds about a value that changes at most once"
    assert lgrr.privacy(rounds=4).unit == "all reports in 4 rounds about a value that never changes"
    assert lgrr.privacy(rounds=4).epsilon == strict_epsilon(lgrr.changing_ratio(4, 0, 0)) < lgrr.epsilon
    with pytest.raises(LdpstatsError, match="changes = 2 without rounds"):
        lgrr.privacy(changes=2)


@pytest.mark.parametrize("course", [(0, 1, None), (2, -1, None), (2, 1, -1), (2.5, 1, 0), (True, 1, 0)])
def test_courses_that_cannot_be_are_refused(course: tuple[Any, Any, Any]) -> None:
    with pytest.raises(LdpstatsError, match=r"rounds|changes|others"):
        LGRR(2, epsilon=1.0).changing_epsilon(*course)


def test_more_than_can_be_enumerated_is_refused_at_once() -> None:
    with pytest.raises(LdpstatsError, match="combinations of sequences and reports"):
        LGRR(20, epsilon=1.0).changing_epsilon(64, 1)
    with pytest.raises(LdpstatsError, match="combinations of sequences and reports"):
        LGRR(2, epsilon=1.0).changing_epsilon(64, 5)
    assert np.isfinite(LGRR(20, epsilon=1.0).changing_epsilon(3, 1))
