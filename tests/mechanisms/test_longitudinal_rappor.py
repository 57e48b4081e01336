"""RAPPOR as deployed has the levels of its paper, by enumeration of its cohorts, filters and two rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import log, prod
from typing import Any

import numpy as np
import pytest
from support.planted_bugs import ForgetfulMemo

from ldpstats.conformance import ConformanceError
from ldpstats.conformance.enumeration import Law, exact_channel
from ldpstats.conformance.memory import (
    permanent_law,
    reports_of_one_memo_share_their_permanent_answer,
    values_of_one_class_share_a_permanent_answer_rightly,
)
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import LRAPPOR, RAPPOR, Memo, mechanism, mechanisms
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import Draws
from ldpstats.privacy import strict_epsilon, worst_ratio

PUBLISHED = [(0.5, 0.5, 0.75), (0.25, 0.35, 0.65), (0.9, 0.01, 0.99)]


def rounds_of_a_bit(f: float, p: float, q: float) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Return P(permanent | bit of the filter) and P(shown | permanent), literally as the paper has them."""
    coin, low, high = (Fraction(one) for one in (f, p, q))
    permanent = [[1 - coin / 2, coin / 2], [coin / 2, 1 - coin / 2]]
    return permanent, [[1 - low, low], [1 - high, high]]


@pytest.mark.parametrize(("f", "p", "q"), PUBLISHED)
@pytest.mark.parametrize("hashes", [1, 2, 3])
def test_it_has_the_levels_of_its_paper_where_filters_have_no_common_bit(
    f: float, p: float, q: float, hashes: int
) -> None:
    rappor = LRAPPOR.deployed(6, f, p, q, bits=64, hashes=hashes, cohorts=8)
    high, low = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
    assert rappor.strict_epsilon() == pytest.approx(2 * hashes * log((1 - f / 2) / (f / 2)), abs=1e-9)
    printed = hashes * log(high * (1 - low) / (low * (1 - high)))
    assert rappor.first_report_epsilon() == pytest.approx(printed, abs=1e-9)
    assert (rappor.noise.keep, rappor.noise.flip) == pytest.approx((high, low), rel=1e-9)
    assert (rappor.bits, rappor.cohorts, rappor.hashes, rappor.show) == (64, 8, hashes, q)
    assert rappor.probabilities["pretend"] / 2**64 == pytest.approx(p, rel=1e-9)  # type: ignore[operator]  # a number


@pytest.mark.parametrize(("f", "p", "q"), PUBLISHED)
@pytest.mark.parametrize(("k", "bits", "cohorts", "seed"), [(3, 4, 2, 0), (4, 3, 3, 1), (2, 2, 3, 4)])
def test_levels_are_those_of_the_enumerated_filters(
    f: float, p: float, q: float, k: int, bits: int, cohorts: int, seed: int
) -> None:
    """One report and one permanent filter of every value, in every cohort, from the paper's own words."""
    rappor = LRAPPOR.deployed(k, f, p, q, bits=bits, hashes=2, cohorts=cohorts, seed=seed)
    first, second = rounds_of_a_bit(f, p, q)
    chain = [[sum(first[bit][own] * second[own][out] for own in (0, 1)) for out in (0, 1)] for bit in (0, 1)]
    filters = rappor.permanent.codes.filters().reshape(cohorts, bits, k)
    for rounds, level in ((first, rappor.strict_epsilon()), (chain, rappor.first_report_epsilon())):
        laws = [
            {
                (cohort, sent): Fraction(1, cohorts)
                * prod(rounds[bit][one] for bit, one in zip(own, sent, strict=True))
                for cohort in range(cohorts)
                for own in [filters[cohort, :, value].tolist()]
                for sent in product((0, 1), repeat=bits)
            }
            for value in range(k)
        ]
        assert level == pytest.approx(strict_epsilon(worst_ratio(laws)), abs=1e-9)


def test_its_channel_is_the_one_of_its_noise_model_and_no_more_than_claimed() -> None:
    rappor = LRAPPOR(3, 2.0, bits=3, cohorts=2, seed=1)
    laws = exact_channel(rappor)
    assert worst_ratio(laws) == rappor.likelihood_ratio()
    for value, law in enumerate(laws):
        mean: Any = sum(
            float(chance) * rappor.contributions(np.frombuffer(sent, dtype=np.uint8)[None])[0]
            for sent, chance in law.items()
        )
        assert mean == pytest.approx(rappor.noise.mean(np.eye(3)[value]), abs=1e-12)


class FreshCohort(LRAPPOR):
    """A planted mistake: a further value has a cohort of its own."""

    __slots__ = ()

    def remember_another(self, earlier: Any, values: Any, draws: Draws) -> Any:
        del earlier
        return self.remember(values, draws)


class SharedFilter(LRAPPOR):
    """A planted mistake: all values share the permanent filter of the first."""

    __slots__ = ()

    @property
    def most_classes(self) -> int:
        return 1

    def classes(self, permanent: Any, values: Any) -> Any:
        del permanent
        return np.zeros_like(values)


def test_a_cohort_is_kept_for_all_values() -> None:
    rappor = LRAPPOR(50, 4.0, bits=16, cohorts=40)
    memo, users = Memo(rappor), np.arange(400)
    cohorts = [memo.reports(users, (users + round_) % 50, rng=round_).data[:, 0] for round_ in range(3)]
    assert np.array_equal(cohorts[0], cohorts[1])
    assert np.array_equal(cohorts[0], cohorts[2])
    assert len(np.unique(cohorts[0])) == 40
    assert len(memo) == 1200
    fresh = Memo(FreshCohort(50, 4.0, bits=16, cohorts=40))
    first, second = (fresh.reports(users, (users + round_) % 50, rng=round_).data[:, 0] for round_ in range(2))
    assert not np.array_equal(first, second)


def test_planted_mistakes_in_what_is_kept_are_caught() -> None:
    with pytest.raises(ConformanceError, match="share answers that have another probability"):
        values_of_one_class_share_a_permanent_answer_rightly(SharedFilter)
    with pytest.raises(ConformanceError, match="share a permanent answer"):
        reports_of_one_memo_share_their_permanent_answer(LRAPPOR, ForgetfulMemo)


def laws_of_sequences(rappor: LRAPPOR, rounds: int) -> dict[tuple[int, ...], Law]:
    """Enumerate, for every sequence of values, the reports of a cohort in all rounds, by the memo's rules."""
    codes, (first, second) = rappor.permanent.codes, both_rounds(rappor)
    filters = codes.filters().reshape(codes.cohorts, codes.width, rappor.k)

    @cache
    def of_a_bit(bits: tuple[tuple[int, int], ...], shown: tuple[int, ...]) -> Fraction:
        """Return the chance of what a bit shows, given for every round its value's name and whether that sets it."""
        chance = Fraction(1)
        for value, bit in dict.fromkeys(bits):
            places = [place for place, (own, _) in enumerate(bits) if own == value]
            chance *= sum(first[bit][kept] * prod(second[kept][shown[place]] for place in places) for kept in (0, 1))
        return chance

    laws: dict[tuple[int, ...], Law] = {}
    for values in product(range(rappor.k), repeat=rounds):
        law: Law = defaultdict(Fraction)
        for cohort in range(codes.cohorts):
            of_bits = [
                {
                    shown: of_a_bit(tuple((value, int(own[value])) for value in values), shown)
                    for shown in product((0, 1), repeat=rounds)
                }
                for own in filters[cohort]
            ]
            for sent in product(product((0, 1), repeat=rounds), repeat=codes.width):
                law[cohort, sent] = prod(of_bits[bit][one] for bit, one in enumerate(sent))  # type: ignore[index]  # any name
        laws[values] = dict(law)
    return laws


def both_rounds(rappor: LRAPPOR) -> tuple[list[list[Fraction]], list[list[Fraction]]]:
    """Return the two rounds as they are drawn, on the grid."""
    of: Callable[[int], list[Fraction]] = lambda often: [Fraction(GRID - often, GRID), Fraction(often, GRID)]  # noqa: E731
    rounds: Any = rappor.rounds
    return [of(rounds.other), of(rounds.true)], [of(rounds.pretend), of(rounds.show)]


@pytest.mark.parametrize(("k", "bits", "seed", "rounds"), [(2, 2, 0, 3), (3, 3, 1, 2), (3, 2, 0, 2)])
def test_levels_of_changing_values_are_the_largest_over_all_pairs_of_sequences(
    k: int, bits: int, seed: int, rounds: int
) -> None:
    rappor = LRAPPOR(k, 2.0, bits=bits, hashes=1, cohorts=2, seed=seed)
    laws = laws_of_sequences(rappor, rounds)
    ratios = {pair: worst_ratio([laws[one] for one in pair]) for pair in product(laws, repeat=2)}
    for changes, others in product(range(rounds), repeat=2):
        within = [
            ratio
            for pair, ratio in ratios.items()
            if all(
                sum(one != other for one, other in pairwise(own)) <= most
                for own, most in zip(pair, (changes, others), strict=True)
            )
        ]
        assert rappor.changing_ratio(rounds, changes, others) == max(filter(None, within))


def test_without_changes_the_level_rises_to_that_of_the_permanent_filter() -> None:
    rappor = LRAPPOR(5, 2.0, bits=4, cohorts=3)
    levels = [rappor.changing_epsilon(rounds, 0) for rounds in (1, 2, 5, 12)]
    assert levels == sorted(levels)
    assert levels[0] == rappor.first_report_epsilon()
    assert levels[-1] < rappor.strict_epsilon()
    with pytest.raises(LdpstatsError, match="looked at one by one"):
        LRAPPOR(100, 2.0).changing_epsilon(4, 2)
    assert LRAPPOR(100, 2.0).changing_epsilon(1, 0) == LRAPPOR(100, 2.0).first_report_epsilon()


def test_it_is_registered_saved_and_remembered() -> None:
    assert mechanism("RAPPOR as deployed", k=9, epsilon=2.0) == LRAPPOR(9, 2.0)
    row = mechanisms(k=9, epsilon=2.0).set_index("name").loc["l-rappor"]
    assert (row["purpose"], row["epsilon"]) == ("repeated answers", LRAPPOR(9, 2.0).strict_epsilon())
    rappor = LRAPPOR.deployed(9, 0.5, 0.5, 0.75, bits=8, cohorts=6)
    memo = Memo(rappor)
    memo.reports(["ann", "bob"], [3, 8], rng=1)
    assert Memo.from_json(memo.to_json()).to_json() == memo.to_json()
    estimate = rappor.estimate(rappor.privatize(np.repeat(np.arange(9), 4000), rng=1))
    assert np.abs(estimate.estimate - 1 / 9).max() < 5.5 * estimate.std_err.max()


@pytest.mark.parametrize(
    "options",
    [
        *({name: value} for name in ("f", "p", "q") for value in (0.0, 1.0, -1.0, float("nan"), "x", None, True)),
        {"p": 0.75, "q": 0.5},
        *({name: value} for name in ("bits", "hashes", "cohorts") for value in (0, -1, "x", 1.5, True)),
        {"k": 1},
        {"k": 10_000},
    ],
    ids=repr,
)
def test_parameters_that_make_no_rappor_are_refused(options: Any) -> None:
    with pytest.raises(LdpstatsError):
        LRAPPOR.deployed(**{"k": 5, "f": 0.5, "p": 0.5, "q": 0.75, "bits": 16, "hashes": 2, "cohorts": 4, **options})


@pytest.mark.parametrize("show", [0, 1, True, "0.7", None])
def test_certain_second_rounds_are_refused(show: Any) -> None:
    with pytest.raises(LdpstatsError, match="show ="):
        LRAPPOR(5, 2.0, show=show)


def test_permanent_filters_are_those_of_rappor() -> None:
    with pytest.raises(LdpstatsError, match=r"first_epsilon = 1\.0\. Allowed: levels below about 0\.796"):
        LRAPPOR(3, 2.0, bits=3, cohorts=2, seed=3)  # filters that differ in a single bit
    rappor = LRAPPOR(3, 2.0, bits=3, cohorts=2, seed=3, first_epsilon=0.5)
    assert rappor.permanent == RAPPOR(3, 2.0, 3, 2, 2, 3)
    assert permanent_law(rappor, 1) == exact_channel(rappor.permanent)[1]
