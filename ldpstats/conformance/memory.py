"""Checks of longitudinal mechanisms: permanent answers are kept, and all reports reveal no more than these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product, starmap
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from ldpstats.conformance.enumeration import (
    Law,
    TooManyCoursesError,
    decoded,
    exact_channel,
    law_one_by_one,
    outcomes,
    representatives,
)
from ldpstats.conformance.requirements import (
    FALSE_FAILURE_RATE,
    CodedChannel,
    counted,
    fit_pvalue,
    fit_pvalue_of,
    require,
    states_its_level,
)
from ldpstats.mechanisms import GRID_LEVEL, Longitudinal, Memo
from ldpstats.numbers.grid import exp_below
from ldpstats.numbers.randomness import Draws, seeded_bytes
from ldpstats.privacy import worst_ratio

Factory = Callable[[int, float], Longitudinal]

_CASES = ((2, 1.0), (3, 0.5), (3, 2.0))
_FEW_COURSES = 600


def permanent_answers_are_exact(make: Factory) -> None:
    """The permanent answer has exactly the claimed lifetime ratio, and single reports follow from its law."""
    for mechanism in starmap(make, _CASES):
        permanent = [permanent_law(mechanism, value) for value in range(mechanism.k)]
        exact = worst_ratio(permanent)
        require(
            exact == mechanism.lifetime_ratio(),
            f"{mechanism}: the permanent answer's ratio is {exact}, claimed {mechanism.lifetime_ratio()}",
        )
        enough = exact is not None and exact <= exp_below(mechanism.epsilon) * (1 + Fraction(1, 10**90))
        require(enough, f"{mechanism}: the permanent answer exceeds e^ε")
        states_its_level(mechanism, exact)
        for value, law in enumerate(permanent):
            require(
                joint_law(mechanism, law, 1) == exact_channel(mechanism)[value],
                f"{mechanism}: a single report about {value} is not one of a permanent answer",
            )


def reports_of_one_memo_share_their_permanent_answer(make: Factory, memo: type[Memo] = Memo) -> None:
    """Two reports from one memo are independent given one permanent answer, by enumerating the memo itself.

    Where that takes too many courses, 20,000 respondents are compared with the joint law (exact tails, seed fixed).
    """
    mechanism = make(2, 1.0)
    for value in range(mechanism.k):
        expected = joint_law(mechanism, permanent_law(mechanism, value), 2)
        actual: Law = defaultdict(Fraction)
        try:
            for pair, probability in outcomes(_two_reports(mechanism, value, memo), _FEW_COURSES):
                actual[pair.tobytes()] += probability
            share = dict(actual) == expected
        except TooManyCoursesError:
            law = {sent: float(chance) for sent, chance in expected.items()}
            share = fit_pvalue(counted(_many_pairs(mechanism, value, memo)), law) > FALSE_FAILURE_RATE
        require(share, f"{mechanism}: reports about {value} do not share a permanent answer")


def all_reports_tell_at_most_the_permanent_answer(make: Factory) -> None:
    """The exact ratio of one, two and three reports of a permanent answer rises, and stays within the lifetime's."""
    for mechanism in starmap(make, ((2, 1.0), (3, 2.0))):
        permanent = [permanent_law(mechanism, value) for value in range(mechanism.k)]
        most = 3 if mechanism.k == 2 else 2
        ratios = [
            worst_ratio([joint_law(mechanism, law, number) for law in permanent]) for number in range(1, most + 1)
        ]
        lifetime = mechanism.lifetime_ratio()
        levels = [float("inf") if ratio is None else ratio for ratio in (*ratios, lifetime)]
        require(ratios[0] == mechanism.likelihood_ratio(), f"{mechanism}: the first report has the ratio {ratios[0]}")
        require(levels == sorted(levels), f"{mechanism}: the ratios of more and more reports are {levels}")


def first_reports_keep_their_level(make: Factory) -> None:
    """One report's strict level is at most the first level asked for, and within 1e-9 of it."""
    for k, epsilon in product((2, 3, 17, 1000), (0.01, 0.5, 1.0, 2.0, 4.0, 8.0, 12.0, 40.0)):
        mechanism = make(k, epsilon)
        asked, strict = mechanism.first_level, mechanism.first_report_epsilon()
        require(strict <= asked, f"{mechanism}: one report has the level {strict}")
        require(strict > asked - 1e-9 or asked > GRID_LEVEL, f"{mechanism}: the level {strict} wastes budget")


def values_of_one_class_share_a_permanent_answer_rightly(make: Factory) -> None:
    """Further permanent answers have the law and the classes of first ones; in a class all values have one law."""
    for mechanism in starmap(make, ((2, 1.0), (3, 0.5))):
        laws = [permanent_law(mechanism, value) for value in range(mechanism.k)]
        for first, second in product(range(mechanism.k), repeat=2):
            for answer, probability in laws[first].items():
                shared = _classes(mechanism, answer)[first] == _classes(mechanism, answer)[second]
                require(
                    not shared or laws[second][answer] == probability,
                    f"{mechanism}: {first} and {second} share answers that have another probability for each",
                )
            law: Law = defaultdict(Fraction)
            for (earlier, another), probability in outcomes(_two_answers(mechanism, first, second)):
                law[another] += probability
                same = np.array_equal(_classes(mechanism, earlier), _classes(mechanism, another))
                require(same, f"{mechanism}: a respondent's further answer belongs to other classes of values")
            require(dict(law) == laws[second], f"{mechanism}: answers about {second} after one about {first}")


def another_value_has_an_answer_of_its_own(make: Factory, memo: type[Memo] = Memo) -> None:
    """Reports after a change of value have the law of the new value (exact tails, seed fixed)."""
    for mechanism in starmap(make, ((2, 1.0), (3, 2.0))):
        channel, users = CodedChannel.of(mechanism), np.arange(20_000)
        kept = memo(mechanism)
        for round_, value in enumerate((0, mechanism.k - 1, 0)):
            sent = kept.reports(users, np.full(users.size, value), rng=70 + round_).data
            pvalue = fit_pvalue_of(channel.outcomes_of(sent), channel.laws[value])
            require(pvalue > FALSE_FAILURE_RATE, f"{mechanism}: round {round_} is not about the value {value}")


def memos_draw_securely_as_from_a_seed(make: Factory, memo: type[Memo] = Memo) -> None:
    """Given the same words, a memo from secure randomness and one from a seed report the same, bit by bit."""
    mechanism = make(3, 1.0)
    users, values, said = np.arange(300), np.arange(300) % mechanism.k, []
    with patch("ldpstats.numbers.randomness.urandom", seeded_bytes(np.random.default_rng(62))):
        said.append(memo(mechanism).reports(users, values))
    said.append(memo(mechanism).reports(users, values, rng=62))
    same = np.array_equal(said[0].data, said[1].data) and not said[0].simulated and said[1].simulated
    require(same, f"{mechanism}: a memo draws otherwise from secure randomness than from a seed")


def values_that_return_find_their_answer(make: Factory, memo: type[Memo] = Memo) -> None:
    """A memo changes only where a new answer is needed, and a restored one goes on as if never saved."""
    for mechanism in starmap(make, ((2, 1.0), (5, 1.0))):
        users, values = np.arange(40), np.arange(40) % mechanism.k
        kept = memo(mechanism)
        kept.reports(users, values, rng=1)
        kept.reports(users[::-1], values, rng=2)
        text = kept.to_json()
        again = [kept.reports(users, values, rng=3), kept.reports(users[::-1], values, rng=3)]
        require(kept.to_json() == text, f"{mechanism}: known values change the memo")
        restored = memo.from_json(text, mechanism)
        require(restored.to_json() == text, f"{mechanism}: a restored memo is another one")
        for before, order in zip(again, (users, users[::-1]), strict=True):
            after = restored.reports(order, values, rng=3)
            require(np.array_equal(before.data, after.data), f"{mechanism}: a restored memo reports otherwise")


def permanent_law(mechanism: Longitudinal, value: int) -> Law:
    """Return the exact law of the permanent answer about a value."""
    return law_one_by_one(mechanism, lambda count, draws: mechanism.remember(np.full(count, value), draws))


def joint_law(mechanism: Longitudinal, permanent: Law, number: int) -> Law:
    """Return the joint law of several reports that are independent given one permanent answer."""
    law: Law = defaultdict(Fraction)
    for answer, probability in permanent.items():
        single = law_one_by_one(mechanism, partial(_reports, mechanism, decoded(mechanism, answer)))
        for reports in product(single.items(), repeat=number):
            joint = probability
            for _, chance in reports:
                joint *= chance
            law[b"".join(report for report, _ in reports)] += joint
    return dict(law)


def _reports(mechanism: Longitudinal, answer: NDArray[Any], count: int, draws: Draws) -> NDArray[Any]:
    return mechanism.report(np.repeat(answer, count, axis=0), draws)


def _two_reports(mechanism: Longitudinal, value: int, memo: type[Memo]) -> Callable[[Any], NDArray[Any]]:
    def sampler(draws: Any) -> NDArray[Any]:
        with patch("ldpstats.mechanisms.memo.client_draws", lambda _: draws):
            kept = memo(mechanism)
            return np.concatenate([kept.reports([7], [value]).data for _ in range(2)])

    return sampler


def _many_pairs(mechanism: Longitudinal, value: int, memo: type[Memo]) -> NDArray[Any]:
    kept, users = memo(mechanism), np.arange(20_000)
    sent = [kept.reports(users, np.full(users.size, value), rng=80 + round_).data for round_ in range(2)]
    return np.concatenate([representatives(mechanism, reports).reshape(users.size, -1) for reports in sent], axis=1)


def _two_answers(mechanism: Longitudinal, first: int, second: int) -> Callable[[Any], Any]:
    def sampler(draws: Any) -> tuple[bytes, bytes]:
        earlier = mechanism.remember(np.array([first]), draws).astype(mechanism.report_format.dtype)
        another = mechanism.remember_another(earlier, np.array([second]), draws).astype(earlier.dtype)
        return earlier.tobytes(), another.tobytes()

    return sampler


def _classes(mechanism: Longitudinal, answer: bytes) -> NDArray[np.int64]:
    """Return the class of every value for the respondent who gave this permanent answer."""
    rows = np.repeat(decoded(mechanism, answer), mechanism.k, axis=0)
    return mechanism.classes(rows, np.arange(mechanism.k))


MEMO_CHECKS: tuple[Callable[..., None], ...] = (
    permanent_answers_are_exact,
    reports_of_one_memo_share_their_permanent_answer,
    all_reports_tell_at_most_the_permanent_answer,
    first_reports_keep_their_level,
    values_of_one_class_share_a_permanent_answer_rightly,
    another_value_has_an_answer_of_its_own,
    memos_draw_securely_as_from_a_seed,
    values_that_return_find_their_answer,
)
