"""Exact checks of small alphabets: each raises ConformanceError with what was found and what was claimed."""

from __future__ import annotations

import json
import operator
import pickle
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import fields
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import nextafter, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.conformance.enumeration import (
    MOST_COURSES,
    Law,
    ScriptedDraws,
    TooManyCoursesError,
    decoded,
    exact_channel,
    report_law,
)
from ldpstats.conformance.requirements import (
    EPSILONS,
    SMALL,
    Factory,
    close,
    counted,
    enumerated,
    exact_tallies,
    fit_pvalue,
    fits,
    law_of_tally,
    level_is_close,
    made,
    moments,
    refuses,
    require,
    smallest,
    states_its_level,
)
from ldpstats.mechanisms import Reports, plain_mechanism
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import Shape, WeightedRows
from ldpstats.privacy import strict_epsilon, worst_ratio

_MOST_OUTCOMES = 30_000
_ESTIMATED = 200
"""From how many reports the estimate is made as users make it."""
_MOST_COURSES = (MOST_COURSES, 2_500, 600)
"""Of one, two and three respondents at once."""
_ALTERED = 60
"""Of how many reports that are sent the neighbours are tried."""


def privacy_is_exact(make: Factory) -> None:
    """The enumerated worst-case ratio of the sampler is the one claimed, at most e^ε, and its level hardly below ε.

    Every statement of the level is that of this ratio.
    """
    for mechanism, channel in enumerated(make, *SMALL, (9, 1.0), *((3, epsilon) for epsilon in EPSILONS)):
        exact = worst_ratio(channel)
        require(exact is not None, f"{mechanism}: a report gives a value away with certainty")
        require(
            exact == mechanism.likelihood_ratio(),
            f"{mechanism}: the ratio is {exact}, claimed {mechanism.likelihood_ratio()}",
        )
        assert exact is not None  # required above
        bound = Decimal(mechanism.epsilon).exp()
        at_most_exp = exact <= Fraction(bound) * (1 + Fraction(1, 10**24))
        require(at_most_exp, f"{mechanism}: the exact ratio {float(exact)} exceeds e^ε")
        level_is_close(mechanism)
        if not mechanism.longitudinal:  # else the level is that of all reports, which the checks of memories enumerate
            require(mechanism.lifetime_ratio() == exact, f"{mechanism}: all reports have another ratio than one")
            states_its_level(mechanism, exact)


def noise_model_knows_its_level(make: Factory) -> None:
    """The level that the noise model derives from its doubles is the exact one, to nine digits."""
    for k, epsilon in product((2, 5, 17), (0.01, 0.5, 1.0, 4.0)):
        mechanism = made(make, k, epsilon)
        exact, derived = strict_epsilon(mechanism.likelihood_ratio()), mechanism.noise.epsilon
        near = abs(derived - exact) <= 1e-9 * max(exact, 1)
        require(near, f"{mechanism}: the noise model has the level {derived}, not {exact}")


def reports_of_several_respondents_are_independent(make: Factory) -> None:
    """Randomizing one value alone has the enumerated law, and two or three at once have the product of their laws.

    Several are enumerated where their courses are few; neighbours are compared in large batches, too.
    """
    mechanism = smallest(make)
    channel = exact_channel(mechanism)
    for values in ((0,), (1,), (0, 1), (1, 1), *product(range(2), repeat=3)):
        most = _MOST_COURSES[len(values) - 1]
        if len(channel[0]) ** len(values) > most:
            continue
        expected: Law = defaultdict(Fraction)
        for alone in product(*(channel[value].items() for value in values)):
            expected[b"".join(report for report, _ in alone)] += prod(chance for _, chance in alone)
        try:
            joint = report_law(mechanism, list(values), most)
        except TooManyCoursesError:
            require(len(values) > 1, f"{mechanism}: takes too many courses to enumerate")
            continue
        require(joint == dict(expected), f"{mechanism}: reports of the values {values} depend on each other")


def estimates_are_unbiased(make: Factory) -> None:
    """Averaged over the exact channel, the estimate from one report is the true value; it carries the stated level."""
    for mechanism, channel in enumerated(make):
        together: dict[bytes, tuple[Reports, list[Fraction]]] = {}
        for report in set().union(*channel):
            single = Reports(mechanism, decoded(mechanism, report))
            tally = mechanism.count(single).counts.tobytes()
            _, weights = together.setdefault(tally, (single, [Fraction(0)] * mechanism.k))
            for value, law in enumerate(channel):
                weights[value] += law.get(report, Fraction(0))
        mean = np.zeros((mechanism.k, mechanism.k))
        for index, (single, weights) in enumerate(together.values()):
            estimated = mechanism.noise.debias(mechanism.count(single).counts.astype(float))
            if index % -(-len(together) // _ESTIMATED) == 0:  # linear as the estimator is, some tell for all
                estimate = mechanism.estimate(single)
                close(estimate.estimate, estimated, f"{mechanism}: the estimate from {single.data}", mechanism)
                carried = estimate.privacy
                require(carried == mechanism.privacy(), f"{mechanism}: an estimate carries the statement {carried}")
            mean += np.outer(list(map(float, weights)), estimated)
        for value in range(mechanism.k):
            close(
                mean[value], np.eye(mechanism.k)[value], f"{mechanism}: mean estimate for the value {value}", mechanism
            )


def noise_model_is_exact(make: Factory) -> None:
    """Mean and covariance of one report's tally, under the exact channel, are those of the noise model."""
    for mechanism, _ in enumerated(make):
        k, noise = mechanism.k, mechanism.noise
        tallies = exact_tallies(mechanism)
        for frequencies in (np.full(k, 1 / k), np.arange(k) * 2.0 / (k * (k - 1)), np.eye(k)[0]):
            mean, second = moments(tallies, frequencies)
            covariance = second - np.outer(mean, mean)
            close(noise.mean(frequencies), mean, f"{mechanism}: mean of the tally", mechanism)
            close(noise.report_covariance(frequencies), covariance, f"{mechanism}: covariance of the tally", mechanism)
            debias = noise.debias(np.eye(noise.outputs)) - noise.debias(np.zeros((1, noise.outputs)))
            close(
                noise.covariance(frequencies),
                debias.T @ covariance @ debias,
                f"{mechanism}: covariance of the estimate",
                mechanism,
            )
            close(
                np.asarray(mechanism.variance(frequencies, 10)) * 10,
                np.diagonal(debias.T @ covariance @ debias),
                f"{mechanism}: variance",
                mechanism,
            )


def covariance_estimate_is_unbiased(make: Factory) -> None:
    """Averaged over the exact law of two reports, the estimated covariance is the true one."""
    mechanism = smallest(make)
    frequencies, single = np.array([0.7, 0.3]), exact_tallies(mechanism)
    weights: dict[bytes, float] = defaultdict(float)
    for values in product(range(2), repeat=2):
        weight = float(np.prod(frequencies[list(values)]))
        for counts, probability in law_of_tally([single[value] for value in values]).items():
            weights[counts] += weight * probability
    mean = np.zeros((2, 2))
    for counts, weight in weights.items():
        tally = Tally(mechanism.noise, np.frombuffer(counts, dtype=np.int64), 2)
        mean += weight * mechanism.estimate(tally).covariance
    close(
        mean, mechanism.noise.covariance(frequencies) / 2, f"{mechanism}: mean of the estimated covariance", mechanism
    )


def likelihoods_are_exact(make: Factory) -> None:
    """The noise model's log-likelihoods of single reports are those of the exact channel, up to a constant each."""
    for mechanism, channel in enumerated(make):
        for report in set().union(*channel):
            tally = mechanism.contributions(decoded(mechanism, report))
            claimed = mechanism.noise.log_likelihoods(tally)[0]
            exact = np.log([float(law[report]) for law in channel])
            close(claimed - claimed[0], exact - exact[0], f"{mechanism}: likelihood of a report", mechanism)


def score_and_information_are_exact(make: Factory) -> None:
    """Per report and on contrasts, the score at f has covariance J under f, and mean J d under f + d."""
    for mechanism, _ in enumerated(make):
        k, noise = mechanism.k, mechanism.noise
        tallies = exact_tallies(mechanism)
        here, there = np.arange(1, k + 1) * 2.0 / (k * (k + 1)), np.full(k, 1 / k)
        information = noise.score(here, np.zeros(noise.outputs), 1)[1].dense()
        distinct = {counts.tobytes(): counts for value in tallies for counts, _ in value}
        scores = {key: noise.score(here, counts, 1)[0] for key, counts in distinct.items()}
        scored = [[(scores[counts.tobytes()], p) for counts, p in value] for value in tallies]
        centred = np.eye(k) - 1 / k
        expected = centred @ information @ centred
        mean, second = moments(scored, here)
        covariance = centred @ (second - np.outer(mean, mean)) @ centred
        close(centred @ mean, np.zeros(k), f"{mechanism}: mean of the score", mechanism)
        close(covariance, expected, f"{mechanism}: covariance of the score", mechanism)
        moved, _ = moments(scored, there)
        close(centred @ moved, expected @ (there - here), f"{mechanism}: mean of the score elsewhere", mechanism)


def tallies_merge(make: Factory) -> None:
    """Counting two parts and adding is counting the whole, in any order; other parameters are refused."""
    mechanism = made(make, 5, 1.0)
    values = np.arange(200) % mechanism.k
    reports = mechanism.privatize(values, rng=1).data
    whole, first, second = (mechanism.count(part) for part in (reports, reports[:63], reports[63:]))
    for merged in (first + second, second + first):
        same = np.array_equal(merged.counts, whole.counts) and merged.n == whole.n == 200
        require(same, f"{mechanism}: two parts do not add up to the whole")
    many = mechanism.privatize(np.zeros(200_000, dtype=int), rng=2).data
    parts = np.sum([mechanism.count(part).counts for part in np.split(many, 20)], axis=0)
    equal = np.array_equal(mechanism.count(many).counts, parts)
    require(equal, f"{mechanism}: the counts of many reports differ from those of their parts")
    few = reports[:50]
    alone = mechanism.contributions(few)
    require(
        alone.shape == (50, mechanism.noise.outputs) and np.array_equal(alone.sum(axis=0), mechanism.count(few).counts),
        f"{mechanism}: contributions of single reports do not add up to their count",
    )
    other = made(make, 5, 2.0)
    foreign = other.count(other.privatize(values, rng=1))
    refuses(f"{mechanism}: merges with a tally of {other}", operator.add, first, foreign)


def aggregate_simulation_has_the_law_of_the_reports(make: Factory) -> None:
    """Tallies simulated at the level of counts, for known or random values, have the exact law of counted reports."""
    for mechanism, _ in enumerated(make, (2, 1.0), (3, 0.5), (5, 0.5)):
        k, single = mechanism.k, exact_tallies(mechanism)
        frequencies = np.arange(1, k + 1) * 2.0 / (k * (k + 1))
        anyone = [(counts, w * p) for w, value in zip(frequencies, single, strict=True) for counts, p in value]
        values = [0, 0, 1][-_respondents(len(single[0])) :]
        true_counts = np.bincount(values, minlength=k)
        tallies = mechanism.simulate(true_counts, size=50_000, rng=31).counts
        law = law_of_tally([single[value] for value in values])
        fits(fit_pvalue(counted(tallies), law), f"{mechanism}: simulate({true_counts.tolist()})")
        n = min(_respondents(len(anyone)), 2)
        drawn = mechanism.noise.draw(frequencies, n, 50_000, np.random.default_rng(32))
        expected = law_of_tally([anyone] * n)
        fits(fit_pvalue(counted(drawn), expected), f"{mechanism}: draw from {frequencies}")


def _respondents(outcomes: int) -> int:
    """Return how many respondents, from 1 to 3, can be enumerated together if each has so many outcomes."""
    return max(n for n in (1, 2, 3) if n == 1 or outcomes**n <= _MOST_OUTCOMES)


def possible_reports_are_those_that_are_sent(make: Factory) -> None:
    """Sent reports are possible, and those that differ from one in a single number only if they are sent, too."""
    for mechanism, channel in enumerated(make, (2, 1.0), (3, 0.5), (5, 2.0)):
        sent = set().union(*channel)
        limits = np.iinfo(mechanism.report_format.dtype)
        first = 0 if mechanism.hash_symbols is None else 2
        for report in sorted(sent)[:: -(-len(sent) // _ALTERED)]:
            rows = decoded(mechanism, report).reshape(1, -1)
            for column in range(first, rows.shape[1]):
                number = int(rows[0, column])
                others = {limits.min, limits.max, number - 1, number + 1, *(number ^ 1 << bit for bit in range(8))}
                for other in (value for value in others if limits.min <= value <= limits.max):
                    altered = rows.copy()
                    altered[0, column] = other
                    possible = bool(mechanism.possible(altered.reshape(mechanism.report_format.shape(1)))[0])
                    known = altered.tobytes() in sent
                    require(
                        possible == known, f"{mechanism}: takes {altered} for possible: {possible}, sends it: {known}"
                    )


def parameters_tell_mechanisms_apart(make: Factory) -> None:
    """Mechanisms are equal exactly if their parameters are, and these survive saving and pickling."""
    mechanism = made(make, 5, 0.1234567890123456)
    parameters = mechanism.to_dict()
    written = json.dumps(parameters)
    parameters.pop("name")
    again = type(mechanism)(**parameters)
    same = again == mechanism and hash(again) == hash(mechanism) and json.dumps(again.to_dict()) == written
    require(same, f"{mechanism}: written down it is {again}")
    copied = pickle.loads(pickle.dumps(mechanism)) if "<locals>" not in type(mechanism).__qualname__ else again  # noqa: S301  # our own
    require(copied == mechanism, f"{mechanism}: pickled it is {copied}")
    for other in (made(make, 5, nextafter(mechanism.epsilon, 1.0)), made(make, 6, mechanism.epsilon)):
        names = [field.name for field in fields(mechanism)]
        differ = {name for name in names if getattr(mechanism, name) != getattr(other, name)}
        if differ:
            mistaken = other == mechanism or other.to_dict() == mechanism.to_dict()
            require(not mistaken, f"{mechanism} and {other} pass for the same, and differ in {sorted(differ)}")


def bad_values_are_refused(make: Factory) -> None:
    """Nothing outside the alphabet is randomized, let alone sent."""
    mechanism = made(make, 4, 1.0)
    bad: tuple[Any, ...] = ([4], [-1], [0, 1, 17], [0.5], [1.0], [np.nan], [None], ["1"], [True], [[0, 1]], 2)
    for values in bad:
        refuses(f"{mechanism}: randomizes {values!r}", mechanism.privatize, values)


def bad_reports_are_refused(make: Factory) -> None:
    """Reports that the mechanism cannot have sent are not counted: wrong width, dtype, alphabet or mechanism."""
    mechanism = made(make, 5, 1.0)
    good = mechanism.privatize(np.arange(5) % mechanism.k, rng=1).data
    largest = np.iinfo(good.dtype).max
    bad: tuple[NDArray[Any], ...] = (
        good.astype(float),
        good.astype(str),
        good[:, None],
        good[None, ...],
        np.full(good.shape, largest),
        good.astype(np.int64) - 1000,
    )
    for reports in bad:
        refuses(f"{mechanism}: counts {reports!r}", mechanism.count, reports)
    foreign = made(make, 5, 2.0).privatize([0], rng=1)
    refuses(f"{mechanism}: counts reports of {foreign.mechanism}", mechanism.count, foreign)
    refuses(f"{mechanism}: takes a bare array for an estimate", mechanism.estimate, good)


def bad_parameters_are_refused(make: Factory) -> None:
    """No mechanism exists for fewer than two values or without a finite, positive ε."""
    bad: Sequence[tuple[Any, Any]] = ((1, 1.0), (0, 1.0), (2.5, 1.0), (True, 1.0), (3, 0.0), (3, -1.0))
    for k, epsilon in (*bad, (3, np.inf), (3, np.nan), (3, "1"), (3, None), (3, 1e-30)):
        refuses(f"a mechanism with k = {k!r}, epsilon = {epsilon!r} exists", make, k, epsilon)


_CASES = ((2, 0.5), (3, 1.0))


def _flat(numerators: object) -> Iterator[Any]:
    if not isinstance(numerators, list):
        yield numerators
        return
    for part in numerators:
        yield from _flat(part)


class _NotedDraws(ScriptedDraws):
    """Draws that note every probability that they are asked for."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked: set[int] = set()

    def bernoulli(self, numerator: int, shape: Shape) -> BoolArray:
        self.asked.add(numerator)
        return super().bernoulli(numerator, shape)

    def pick(self, weights: tuple[int, ...], shape: Shape) -> NDArray[np.int64]:
        self.asked.update(weights)
        return super().pick(weights, shape)

    def pick_of(self, rows: WeightedRows, values: NDArray[np.int64]) -> NDArray[np.int64]:
        self.asked.update(entry for row in rows.rows for entry in row)
        return super().pick_of(rows, values)

    def respond(self, values: NDArray[np.int64], k: int, truth: int) -> NDArray[np.int64]:
        self.asked.add(truth)
        return super().respond(values, k, truth)


def probabilities_are_those_that_are_drawn_with(make: Factory) -> None:
    """Mechanisms that state probabilities draw with no others; they are whole GRID-ths, and can be written as JSON."""
    for k, epsilon in _CASES:
        mechanism, draws = made(make, k, epsilon), _NotedDraws()
        said = [*_flat(list(mechanism.probabilities.values()))]
        require(
            all(type(numerator) is int and 0 <= numerator <= GRID for numerator in said),
            f"{mechanism}: says the probabilities {mechanism.probabilities}, not whole numbers of GRID-ths",
        )
        mechanism.randomize(np.zeros(2, dtype=np.int64), draws)
        others = draws.asked - {*said}
        require(not said or not others, f"{mechanism}: draws with {sorted(others)}, and says {said}")
        written = plain_mechanism(mechanism)
        require(json.loads(json.dumps(written)) == written, f"{mechanism}: is written down as {written}")
