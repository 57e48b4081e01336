"""The checks that certify a mechanism: each raises ConformanceError with what was found and what was claimed."""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import FloatArray
from ldpstats.conformance.enumeration import (
    Law,
    TooManyCoursesError,
    decoded,
    exact_channel,
    report_law,
    representatives,
)
from ldpstats.conformance.laws import counted, doubles, fit_pvalue, law_of_tally
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import GRID_LEVEL, Mechanism, Reports
from ldpstats.privacy import strict_epsilon, worst_ratio

Factory = Callable[[int, float], Mechanism]

FALSE_FAILURE_RATE = 1e-6
"""How often a check that draws random numbers would fail a correct mechanism, if its seed were not fixed."""

_SMALL = ((2, 1.0), (3, 0.5), (4, 2.0), (5, 0.5), (5, 4.0), (6, 0.2))
_EPSILONS = (0.01, 0.5, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 12.0)
_EXACT = 1e-12
_MOST_OUTCOMES = 30_000
_AT_LEAST = 2
"""The first cases of a check must be small enough to enumerate; a larger one counts where it is."""


class ConformanceError(AssertionError):
    """A mechanism that does not do what it claims."""


def privacy_is_exact(make: Factory) -> None:
    """Enumerate the sampler: its worst-case ratio is the one claimed, never above e^ε, and hardly below."""
    for mechanism, channel in _enumerated(make, *_SMALL, (9, 1.0), *((3, epsilon) for epsilon in _EPSILONS)):
        exact = worst_ratio(channel)
        require(exact is not None, f"{mechanism}: a report gives a value away with certainty")
        require(
            exact == mechanism.likelihood_ratio(),
            f"{mechanism}: the ratio is {exact}, claimed {mechanism.likelihood_ratio()}",
        )
        assert exact is not None  # required above
        require(_at_most_exp(exact, mechanism.epsilon), f"{mechanism}: the exact ratio {float(exact)} exceeds e^ε")
        _strict_level_is_close(mechanism)


def strict_level_is_close_for_large_alphabets(make: Factory) -> None:
    """The strict level is at most the one asked for, and within 1e-9 of it, for alphabets too large to enumerate."""
    for k, epsilon in product((2, 3, 17, 1000), (*_EPSILONS, 60.0)):
        _strict_level_is_close(_made(make, k, epsilon))


def noise_model_knows_its_level(make: Factory) -> None:
    """The level that the noise model derives from its doubles is the exact one, to nine digits."""
    for k, epsilon in product((2, 5, 17), (0.01, 0.5, 1.0, 4.0)):
        mechanism = _made(make, k, epsilon)
        exact, found = strict_epsilon(mechanism.likelihood_ratio()), mechanism.noise.epsilon
        near = abs(found - exact) <= 1e-9 * max(exact, 1)
        require(near, f"{mechanism}: the noise model has the level {found}, not {exact}")


def reports_of_several_respondents_are_independent(make: Factory) -> None:
    """Randomizing two values at once has the product of their laws."""
    mechanism = _made(make, 2, 1.0)
    for first, second in product(range(2), repeat=2):
        alone = [report_law(mechanism, [value]) for value in (first, second)]
        expected: Law = defaultdict(Fraction)
        for (one, p), (other, q) in product(alone[0].items(), alone[1].items()):
            expected[one + other] += p * q
        joint = report_law(mechanism, [first, second])
        require(
            joint == dict(expected), f"{mechanism}: reports of the values {first} and {second} depend on each other"
        )


def estimates_are_unbiased(make: Factory) -> None:
    """Averaged over the exact channel, the estimate from one report is the truth, for every truth."""
    for mechanism, channel in _enumerated(make):
        for value, law in enumerate(channel):
            mean = np.zeros(mechanism.k)
            for report, probability in law.items():
                mean += float(probability) * mechanism.estimate(Reports(mechanism, decoded(mechanism, report))).estimate
            _close(mean, np.eye(mechanism.k)[value], f"{mechanism}: mean estimate for the value {value}", mechanism)


def noise_model_is_exact(make: Factory) -> None:
    """Mean and covariance of one report's tally, under the exact channel, are those of the noise model."""
    for mechanism, channel in _enumerated(make):
        k, noise = mechanism.k, mechanism.noise
        tallies = [_exact_tallies(mechanism, law) for law in channel]
        for frequencies in (np.full(k, 1 / k), np.arange(k) * 2.0 / (k * (k - 1)), np.eye(k)[0]):
            mean, second = _moments(tallies, frequencies)
            covariance = second - np.outer(mean, mean)
            _close(noise.mean(frequencies), mean, f"{mechanism}: mean of the tally", mechanism)
            _close(noise.report_covariance(frequencies), covariance, f"{mechanism}: covariance of the tally", mechanism)
            debias = noise.debias(np.eye(noise.outputs)) - noise.debias(np.zeros((1, noise.outputs)))
            _close(
                noise.covariance(frequencies),
                debias.T @ covariance @ debias,
                f"{mechanism}: covariance of the estimate",
                mechanism,
            )
            _close(
                np.asarray(mechanism.variance(frequencies, 10)) * 10,
                np.diagonal(debias.T @ covariance @ debias),
                f"{mechanism}: variance",
                mechanism,
            )


def covariance_estimate_is_unbiased(make: Factory) -> None:
    """Averaged over the exact law of two reports, the estimated covariance is the true one."""
    mechanism = _made(make, 2, 1.0)
    frequencies = np.array([0.7, 0.3])
    mean = np.zeros((2, 2))
    for values in product(range(2), repeat=2):
        weight = float(np.prod(frequencies[list(values)]))
        for report, probability in report_law(mechanism, list(values)).items():
            estimate = mechanism.estimate(Reports(mechanism, decoded(mechanism, report)))
            mean += weight * float(probability) * estimate.covariance
    _close(
        mean, mechanism.noise.covariance(frequencies) / 2, f"{mechanism}: mean of the estimated covariance", mechanism
    )


def likelihoods_are_exact(make: Factory) -> None:
    """The noise model's log-likelihoods of single reports are those of the exact channel, up to a constant each."""
    for mechanism, channel in _enumerated(make):
        for report in set().union(*channel):
            tally = mechanism.contributions(decoded(mechanism, report))
            claimed = mechanism.noise.log_likelihoods(tally)[0]
            exact = np.log([float(law[report]) for law in channel])
            _close(claimed - claimed[0], exact - exact[0], f"{mechanism}: likelihood of a report", mechanism)


def score_and_information_are_exact(make: Factory) -> None:
    """The score at some frequencies has, on contrasts, the mean that other frequencies give it and its own information.

    Under frequencies f + d the score at f has mean J d, and under f its covariance is J, per report.
    """
    for mechanism, channel in _enumerated(make):
        k, noise = mechanism.k, mechanism.noise
        tallies = [_exact_tallies(mechanism, law) for law in channel]
        here, there = np.arange(1, k + 1) * 2.0 / (k * (k + 1)), np.full(k, 1 / k)
        information = noise.score(here, np.zeros(noise.outputs), 1)[1].dense()
        scored = [[(noise.score(here, counts, 1)[0], p) for counts, p in value] for value in tallies]
        centred = np.eye(k) - 1 / k
        expected = centred @ information @ centred
        mean, second = _moments(scored, here)
        covariance = centred @ (second - np.outer(mean, mean)) @ centred
        _close(centred @ mean, np.zeros(k), f"{mechanism}: mean of the score", mechanism)
        _close(covariance, expected, f"{mechanism}: covariance of the score", mechanism)
        moved, _ = _moments(scored, there)
        _close(centred @ moved, expected @ (there - here), f"{mechanism}: mean of the score elsewhere", mechanism)


def public_sampler_follows_the_channel(make: Factory) -> None:
    """What `privatize` really sends in a mixed batch has the exact law for every value (χ² test, seed fixed)."""
    for mechanism, channel in _enumerated(make, (2, 1.0), (3, 0.5), (5, 0.5)):
        values = np.arange(200_000 * mechanism.k) % mechanism.k
        reports = representatives(mechanism, mechanism.privatize(values, rng=20_000).data)
        for value, law in enumerate(channel):
            _fits(counted(reports[values == value]), doubles(law), f"{mechanism}: privatize, at the value {value}")


def neighbours_in_a_batch_are_independent(make: Factory) -> None:
    """The reports of neighbours in a large batch have the product of their laws (χ² test, seed fixed)."""
    mechanism = _made(make, 2, 1.0)
    channel = exact_channel(mechanism)
    for first, second in product(range(2), repeat=2):
        reports = mechanism.privatize(np.tile([first, second], 200_000), rng=30_000 + 2 * first + second).data
        pairs = representatives(mechanism, reports).reshape(200_000, -1)
        expected = {
            one + other: float(p * q)
            for (one, p), (other, q) in product(channel[first].items(), channel[second].items())
        }
        _fits(counted(pairs), expected, f"{mechanism}: neighbours with the values {first} and {second}")


def batches_of_every_size_follow_the_channel(make: Factory) -> None:
    """Small batches of every size up to 32 have the law of single reports (χ² test, seed fixed)."""
    mechanism, rng = _made(make, 2, 1.0), np.random.default_rng(50_000)
    law = doubles(exact_channel(mechanism)[0])
    for size in range(1, 33):
        enough = max(200, 20 * len(law) // size)
        batches = [mechanism.privatize(np.zeros(size, dtype=int), rng).data for _ in range(enough)]
        _fits(counted(representatives(mechanism, np.concatenate(batches))), law, f"{mechanism}: batches of {size}")


def large_alphabets_follow_the_noise_model(make: Factory) -> None:
    """Counts of privatized reports stay within normal bounds of the noise model's mean, for alphabets of any width."""
    for k, epsilon in ((17, 1.0), (17, 8.0), (300, 1.0), (1000, 1.0)):
        mechanism = _made(make, k, epsilon)
        some = np.arange(5_000) % mechanism.k
        values = np.concatenate([np.zeros(10_000, dtype=int), np.full(5_000, mechanism.k - 1), some])
        true_counts = np.bincount(values, minlength=mechanism.k)
        counts = mechanism.count(mechanism.privatize(values, rng=40_000)).counts
        frequencies, n = true_counts / values.size, values.size
        mean = mechanism.noise.mean(frequencies)
        deviation = np.abs(counts - n * mean)
        spread = mean * (1 - mean) if mechanism.noise.largest == 1 else _variances_of_a_report(mechanism, frequencies)
        # 6.5 standard deviations of random respondents, who vary more: a probability below 1e-6 for all outputs
        bound = 6.5 * np.sqrt(n * spread)
        require(bool(np.all(deviation <= bound + 1)), f"{mechanism}: counts far from the noise model")


def values_within_a_large_report_are_as_dependent_as_claimed(make: Factory) -> None:
    """Products of two entries of a single report's tally have the mean that the noise model gives them (k = 17)."""
    mechanism, n = _made(make, 17, 1.0), 4000
    reports = mechanism.privatize(np.ones(n, dtype=int), rng=60_000).data
    tallies = mechanism.contributions(reports).astype(float)
    truth = np.eye(mechanism.k)[1]
    claimed = mechanism.noise.report_covariance(truth)
    centred = tallies - mechanism.noise.mean(truth)
    found = centred.T @ centred / n
    spread = np.sqrt(np.maximum((centred**2).T @ centred**2 / n - found**2, 0) / n)
    # 6.5 standard errors as above, and one report more or less
    far = np.abs(found - claimed) > 6.5 * spread + 1 / n
    require(not far.any(), f"{mechanism}: entries of one report depend on each other otherwise than claimed")


def tallies_merge(make: Factory) -> None:
    """Counting two parts and adding is counting the whole, in any order; other parameters are refused."""
    mechanism = _made(make, 5, 1.0)
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
    other = _made(make, 5, 2.0)
    foreign = other.count(other.privatize(values, rng=1))
    _refuses(f"{mechanism}: merges with a tally of {other}", operator.add, first, foreign)


def aggregate_simulation_has_the_law_of_the_reports(make: Factory) -> None:
    """Tallies drawn at the level of counts, of known or random respondents, have the exact law of counted reports."""
    for mechanism, channel in _enumerated(make, (2, 1.0), (3, 0.5), (5, 0.5)):
        k, single = mechanism.k, [_exact_tallies(mechanism, law) for law in channel]
        frequencies = np.arange(1, k + 1) * 2.0 / (k * (k + 1))
        anyone = [(counts, w * p) for w, value in zip(frequencies, single, strict=True) for counts, p in value]
        values = [0, 0, 1][-_respondents(len(single[0])) :]
        true_counts = np.bincount(values, minlength=k)
        tallies = mechanism.simulate(true_counts, size=100_000, rng=31).counts
        law = law_of_tally([single[value] for value in values])
        _fits(counted(tallies), law, f"{mechanism}: simulate({true_counts.tolist()})")
        n = min(_respondents(len(anyone)), 2)
        drawn = mechanism.noise.draw(frequencies, n, 100_000, np.random.default_rng(32))
        _fits(counted(drawn), law_of_tally([anyone] * n), f"{mechanism}: draw from {frequencies}")


def _respondents(outcomes: int) -> int:
    """Return how many respondents with so many outcomes each can be taken together, from 1 to 3."""
    return max(n for n in (1, 2, 3) if n == 1 or outcomes**n <= _MOST_OUTCOMES)


def bad_values_are_refused(make: Factory) -> None:
    """Nothing outside the alphabet is randomized, let alone sent."""
    mechanism = _made(make, 4, 1.0)
    bad: tuple[Any, ...] = ([4], [-1], [0, 1, 17], [0.5], [1.0], [np.nan], [None], ["1"], [True], [[0, 1]], 2)
    for values in bad:
        _refuses(f"{mechanism}: randomizes {values!r}", mechanism.privatize, values)


def bad_reports_are_refused(make: Factory) -> None:
    """Reports that the mechanism cannot have sent are not counted: wrong width, dtype, alphabet or mechanism."""
    mechanism = _made(make, 5, 1.0)
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
        _refuses(f"{mechanism}: counts {reports!r}", mechanism.count, reports)
    foreign = _made(make, 5, 2.0).privatize([0], rng=1)
    _refuses(f"{mechanism}: counts reports of {foreign.mechanism}", mechanism.count, foreign)
    _refuses(f"{mechanism}: takes a bare array for an estimate", mechanism.estimate, good)


def bad_parameters_are_refused(make: Factory) -> None:
    """No mechanism exists for fewer than two values or without a finite, positive ε."""
    bad: Sequence[tuple[Any, Any]] = ((1, 1.0), (0, 1.0), (2.5, 1.0), (True, 1.0), (3, 0.0), (3, -1.0))
    for k, epsilon in (*bad, (3, np.inf), (3, np.nan), (3, "1"), (3, None), (3, 1e-30)):
        _refuses(f"a mechanism with k = {k!r}, epsilon = {epsilon!r} exists", make, k, epsilon)


def default_randomness_is_secure(make: Factory) -> None:
    """Without a seed, reports depend on the operating system's bytes and nothing else, and do not say simulated."""
    mechanism = _made(make, 3, 1.0)
    values = np.zeros(500, dtype=int)
    before = _global_generator()
    first, second = mechanism.privatize(values), mechanism.privatize(values)
    require(not first.simulated, f"{mechanism}: calls secure reports simulated")
    require(not np.array_equal(first.data, second.data), f"{mechanism}: two secure runs are equal")
    scripted = []
    for seed in (1, 1, 2):
        with patch("ldpstats.randomness.urandom", np.random.default_rng(seed).bytes):
            scripted.append(mechanism.privatize(values).data)
    require(np.array_equal(scripted[0], scripted[1]), f"{mechanism}: reports depend on more than secure bytes")
    require(not np.array_equal(scripted[0], scripted[2]), f"{mechanism}: reports do not depend on the secure bytes")
    require(before == _global_generator(), f"{mechanism}: moved numpy's global generator")


def seeds_reproduce(make: Factory) -> None:
    """One seed gives one result, another seed another, and the result says that it is simulated."""
    mechanism = _made(make, 3, 1.0)
    values = np.zeros(500, dtype=int)
    first, again, other = (mechanism.privatize(values, rng=seed) for seed in (7, 7, 8))
    require(np.array_equal(first.data, again.data), f"{mechanism}: the same seed gives different reports")
    require(not np.array_equal(first.data, other.data), f"{mechanism}: different seeds give the same reports")
    require(first.simulated and mechanism.count(first).simulated, f"{mechanism}: seeded reports do not say simulated")
    tallies = [mechanism.simulate([50] * mechanism.k, rng=seed).counts for seed in (7, 7)]
    require(np.array_equal(tallies[0], tallies[1]), f"{mechanism}: the same seed simulates different tallies")


CHECKS: tuple[Callable[[Factory], None], ...] = (
    privacy_is_exact,
    strict_level_is_close_for_large_alphabets,
    noise_model_knows_its_level,
    reports_of_several_respondents_are_independent,
    estimates_are_unbiased,
    noise_model_is_exact,
    likelihoods_are_exact,
    score_and_information_are_exact,
    covariance_estimate_is_unbiased,
    public_sampler_follows_the_channel,
    neighbours_in_a_batch_are_independent,
    batches_of_every_size_follow_the_channel,
    large_alphabets_follow_the_noise_model,
    values_within_a_large_report_are_as_dependent_as_claimed,
    tallies_merge,
    aggregate_simulation_has_the_law_of_the_reports,
    bad_values_are_refused,
    bad_reports_are_refused,
    bad_parameters_are_refused,
    default_randomness_is_secure,
    seeds_reproduce,
)


def _variances_of_a_report(mechanism: Mechanism, frequencies: FloatArray) -> FloatArray:
    found: FloatArray = np.diagonal(mechanism.noise.report_covariance(frequencies))
    return found


def require(holds: bool, message: str) -> None:
    """Raise ConformanceError unless it holds."""
    if not holds:
        raise ConformanceError(message)


def _close(found: FloatArray, claimed: FloatArray, what: str, mechanism: Mechanism) -> None:
    """Compare up to rounding, relative to the size that debiasing gives a single report."""
    scale = max(
        1.0,
        float(np.abs(claimed).max()),
        float(np.abs(mechanism.noise.debias(np.eye(mechanism.noise.outputs))).max()) ** 2,
    )
    difference = float(np.abs(found - claimed).max())
    require(difference <= _EXACT * scale, f"{what} is off by {difference:.3g}")


def _refuses(message: str, action: Callable[..., object], *arguments: object) -> None:
    try:
        action(*arguments)
    except LdpstatsError:
        return
    raise ConformanceError(message)


def _at_most_exp(ratio: Fraction, epsilon: float) -> bool:
    bound = Decimal(epsilon).exp()
    return ratio <= Fraction(bound) * (1 + Fraction(1, 10**24))


def _strict_level_is_close(mechanism: Mechanism) -> None:
    strict = mechanism.strict_epsilon()
    require(strict <= mechanism.epsilon, f"{mechanism}: the strict level {strict} is above the one asked for")
    near = strict > mechanism.epsilon - 1e-9
    wasted = f"{mechanism}: the level {strict} wastes budget without a reason"
    if type(mechanism).slack_reason is not Mechanism.slack_reason:
        require(near or bool(mechanism.slack_reason), wasted)
        return
    # the grid of 2^-64 is the only excuse that all mechanisms share, and this is what it costs at most
    grid = mechanism.epsilon > GRID_LEVEL and strict > min(mechanism.epsilon, 40.0) - 0.02
    require(near or grid, wasted)


def _exact_tallies(mechanism: Mechanism, law: Law) -> list[tuple[FloatArray, float]]:
    """Return the distinct tallies of single reports, with their probabilities."""
    reports = np.concatenate([decoded(mechanism, report) for report in law])
    together: dict[bytes, Fraction] = defaultdict(Fraction)
    for counts, probability in zip(mechanism.contributions(reports).astype(float), law.values(), strict=True):
        together[counts.tobytes()] += probability
    return [(np.frombuffer(counts), float(probability)) for counts, probability in together.items()]


def _made(make: Factory, k: int, epsilon: float) -> Mechanism:
    """Make a mechanism for k values, or for the only number of values that it is for."""
    return make(getattr(make, "only_k", None) or k, epsilon)


def _enumerated(make: Factory, *cases: tuple[int, float]) -> Iterator[tuple[Mechanism, list[Law]]]:
    """Yield the mechanisms of these cases (or of the usual ones) that are small enough to enumerate."""
    for index, (k, epsilon) in enumerate(cases or _SMALL):
        mechanism = _made(make, k, epsilon)
        try:
            yield mechanism, exact_channel(mechanism)
        except TooManyCoursesError:
            require(index >= _AT_LEAST, f"{mechanism}: takes too many courses to enumerate")


def _moments(tallies: list[list[tuple[FloatArray, float]]], frequencies: FloatArray) -> tuple[FloatArray, FloatArray]:
    weighted = [(w * p, c) for w, value in zip(frequencies, tallies, strict=True) for c, p in value]
    mean = sum((weight * counts for weight, counts in weighted), np.zeros_like(weighted[0][1]))
    second = sum((weight * np.outer(counts, counts) for weight, counts in weighted), np.zeros((mean.size, mean.size)))
    return mean, second


def _global_generator() -> str:
    return str(np.random.get_state(legacy=False))  # noqa: NPY002  # only read


def _fits(seen: dict[bytes, int], law: dict[bytes, float], what: str) -> None:
    pvalue = fit_pvalue(seen, law)
    require(pvalue > FALSE_FAILURE_RATE, f"{what} does not have its exact law: p = {pvalue:.2g}")
