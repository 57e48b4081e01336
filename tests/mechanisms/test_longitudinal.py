"""Longitudinal mechanisms keep their levels exactly, in two rounds, over many reports, and while values change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product
from math import exp, inf, log
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from support.planted_bugs import ForgetfulMemo

from ldpstats.conformance import ConformanceError
from ldpstats.conformance.enumeration import Law, outcomes
from ldpstats.conformance.memory import (
    joint_law,
    permanent_law,
    reports_of_one_memo_share_their_permanent_answer,
    values_that_return_find_their_answer,
)
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import GRR, OUE, SUE, Longitudinal, Memo, mechanism
from ldpstats.mechanisms.dbitflip import DBitFlipPM
from ldpstats.mechanisms.local_hashing import OLH
from ldpstats.mechanisms.longitudinal_rounds import LBLH, LGRR, LOLH, LOSUE, LOUE, LSOUE, LSUE, LUE
from ldpstats.privacy import strict_epsilon, worst_ratio

Factory = Callable[[int, float], Any]

TWO_ROUNDS = (LGRR, LSUE, LOSUE, LOUE, LSOUE, LUE, LBLH, LOLH)


@pytest.mark.parametrize("make", [LGRR, LSUE, LBLH, DBitFlipPM])
def test_a_memo_that_draws_permanent_answers_again_is_caught(make: Factory) -> None:
    with pytest.raises(ConformanceError, match="share a permanent answer"):
        reports_of_one_memo_share_their_permanent_answer(make, ForgetfulMemo)
    with pytest.raises(ConformanceError, match="known values change the memo"):
        values_that_return_find_their_answer(make, ForgetfulMemo)


@pytest.mark.parametrize("first", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("level", [4.5, 8.0])
def test_a_report_does_not_depend_on_the_permanent_level(first: float, level: float) -> None:
    pairs = ((LGRR, GRR), (LSUE, SUE), (LOSUE, OUE), (LOLH, OLH))
    for twice, once in pairs:
        chained, single = twice(20, level, first_epsilon=first), once(20, first)
        assert chained.variance(0.1, 100) == pytest.approx(single.variance(0.1, 100), rel=1e-9)


@pytest.mark.parametrize("make", TWO_ROUNDS, ids=lambda kind: kind.__name__)
def test_levels_that_make_no_sense_are_refused(make: Any) -> None:
    for first in (2.0, 3.0, 0.0, -1.0, float("nan"), "1", True, 1e-30):
        with pytest.raises(LdpstatsError):
            make(4, 2.0, first_epsilon=first)
    with pytest.raises(LdpstatsError, match="below that of all reports"):
        make(4, 2.0, first_epsilon=2.0)


@pytest.mark.parametrize("k", [2, 3, 16, 100])
@pytest.mark.parametrize(("level", "first"), [(2.0, 1.0), (1.0, 0.9), (6.0, 0.5)])
def test_the_second_round_of_l_grr_is_the_solution_of_the_whole_chain(k: int, level: float, first: float) -> None:
    lgrr = LGRR(k, level, first)
    p1, once = exp(level) / (exp(level) + k - 1), exp(first) / (exp(first) + k - 1)
    assert lgrr.rounds.second / 2**64 == pytest.approx((once * (k - 1) - (1 - p1)) / (k * p1 - 1), rel=1e-12)
    assert lgrr.noise.mean(np.eye(k)[0])[0] == pytest.approx(once, rel=1e-12)
    assert lgrr.strict_epsilon() == pytest.approx(level, abs=1e-9)
    assert lgrr.privacy().unit == "all reports about one value, which never changes"


def printed_second_truth(k: int, level: float, first: float) -> float:
    """Return p2 as Arcolezi et al. print it for L-LH: with the exponent that is missing where they print L-GRR."""
    a, b = exp(level), exp(first)
    return (a * b - 1) / (-k * b + (k - 1) * a + b + a * b - 1)


@pytest.mark.parametrize(("k", "true_level"), [(2, 1.0), (3, 0.948001), (16, 0.573233)])
def test_the_printed_second_round_of_l_grr_misses_its_level_except_for_two_values(k: int, true_level: float) -> None:
    p1, p2 = exp(2) / (exp(2) + k - 1), printed_second_truth(k, 2.0, 1.0)
    q1, q2 = (1 - p1) / (k - 1), (1 - p2) / (k - 1)
    p, q = p1 * p2 + (k - 1) * q1 * q2, p1 * q2 + q1 * p2 + (k - 2) * q1 * q2
    assert p + (k - 1) * q == pytest.approx(1, rel=1e-12)
    assert log(p / q) == pytest.approx(true_level, abs=1e-6)
    # the printed chain believes that it is 1, but is no distribution
    p, q = p1 * p2 + q1 * q2, p1 * q2 + q1 * p2
    assert log(p / q) == pytest.approx(1, abs=1e-9)
    assert (p + (k - 1) * q == pytest.approx(1)) == (k == 2)


@pytest.mark.parametrize(("level", "first"), [(1.0, 0.5), (2.0, 1.0), (4.0, 2.0), (8.0, 4.0), (5.0, 4.5), (4.0, 1.0)])
def test_l_olh_takes_the_number_of_symbols_of_least_variance(level: float, first: float) -> None:
    def rare_variance(symbols: int, truth: float) -> float:
        return (1 - 1 / symbols) / symbols / (truth - 1 / symbols) ** 2

    likelihood, chosen = exp(first), LOLH(1000, level, first).hash_symbols
    searched = min(range(2, 500), key=lambda g: rare_variance(g, likelihood / (likelihood + g - 1)))
    assert chosen == searched
    a, b = exp(level), exp(first)
    root = a**4 - 14 * a**2 + 12 * a * b * (1 - a * b) + 12 * a**3 * b + 1
    printed = 1 + max(1, int((1 - a**2 + np.sqrt(root)) / (6 * (a - b))))
    p1, p2 = a / (a + printed - 1), printed_second_truth(printed, level, first)
    of_printed = rare_variance(printed, p1 * p2 + (1 - p1) * (1 - p2) / (printed - 1))
    assert rare_variance(chosen, likelihood / (likelihood + chosen - 1)) < of_printed


def test_half_of_the_lifetime_level_is_the_default_of_one_report() -> None:
    assert LGRR(4, 2.0) == LGRR(4, 2.0, 1.0)
    assert LGRR(4, 2.0) != LGRR(4, 2.0, 0.5)
    assert LOSUE(4, 3.0).to_dict() == {"name": "l-osue", "k": 4, "epsilon": 3.0, "first_epsilon": 1.5}


def test_the_printed_second_round_of_l_osue_is_right() -> None:
    a, b = exp(2), exp(1)
    losue = LOSUE(7, 2.0, 1.0)
    assert losue.rounds.show / 2**64 == pytest.approx((a * b - 1) / (a - b + a * b - 1), rel=1e-12)
    assert losue.noise.p == 0.5
    assert losue.noise.q == pytest.approx(1 / (b + 1), rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "limit"),
    [
        (LOUE, log((2 * exp(2) + 1) / 3)),
        (LSOUE, log(exp(1) * (2 * exp(1) + 1) / (exp(1) + 2))),
    ],
)
def test_an_optimized_second_round_cannot_reach_every_level(kind: Any, limit: float) -> None:
    assert kind(5, 2.0, limit - 1e-6).first_report_epsilon() == pytest.approx(limit - 1e-6, abs=1e-9)
    with pytest.raises(LdpstatsError, match=rf"levels below about {limit:.4g}"):
        kind(5, 2.0, limit + 1e-6)


@pytest.mark.parametrize(("f", "p", "q"), [(0.5, 0.5, 0.75), (0.25, 0.35, 0.65), (0.9, 0.01, 0.99)])
def test_rappor_has_the_levels_of_its_paper(f: float, p: float, q: float) -> None:
    rappor = LUE.from_rappor(6, f, p, q)
    set_bit, other = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
    assert rappor.strict_epsilon() == pytest.approx(2 * log((1 - f / 2) / (f / 2)), abs=1e-9)
    assert rappor.first_report_epsilon() == pytest.approx(
        log(set_bit * (1 - other) / (other * (1 - set_bit))), abs=1e-9
    )
    assert (rappor.noise.p, rappor.noise.q) == pytest.approx((set_bit, other), rel=1e-9)


@pytest.mark.parametrize(
    ("f", "p", "q"), [(0.5, 0.75, 0.5), (0, 0.5, 0.75), (1, 0.5, 0.75), (0.5, 0, 1), (0.5, 0.2, 1)]
)
def test_rappor_without_two_noisy_rounds_is_refused(f: float, p: float, q: float) -> None:
    with pytest.raises(LdpstatsError, match="q belongs to the set bits"):
        LUE.from_rappor(6, f, p, q)


def test_options_of_a_longitudinal_unary_encoding_are_checked() -> None:
    bad: tuple[Any, ...] = (0, 1, 1.5, True, "0.7")
    for show in bad:
        with pytest.raises(LdpstatsError, match="show ="):
            LUE(4, 2.0, show=show)
    with pytest.raises(LdpstatsError, match="keep ="):
        LUE(4, 2.0, keep=0)


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
    assert mechanism("dbitflip-pm", k=4, epsilon=1.0).changing_epsilon(2) == inf


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
