"""Checks by samples of fixed seed: large alphabets, batches of any size, secure randomness."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from ldpstats.conformance.enumeration import (
    NotOneByOneError,
    TooManyCoursesError,
    decoded,
    law_of_courses,
)
from ldpstats.conformance.events import Sample, best_event, level_of
from ldpstats.conformance.requirements import (
    EPSILONS,
    FALSE_FAILURE_RATE,
    CodedChannel,
    Factory,
    enumerated,
    fit_pvalue_of,
    fits,
    level_is_close,
    made,
    require,
    smallest,
    states_its_level,
)
from ldpstats.mechanisms import Mechanism
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.randomness import seeded_bytes
from ldpstats.privacy import strict_epsilon, worst_ratio
from ldpstats.protocols.wire import from_bytes, from_column, to_bytes, to_column

_LARGE = ((300, 1.0), (300, 11.0), (1000, 2.0))
_MOST_COURSES = 1 << 17
_MOST_ENTRIES = 1 << 22
_COMPARED = 200
_SURE = 1 - 1e-7
"""The confidence with which reports may accuse a correct mechanism, if their seed were not fixed."""


def some_values(k: int) -> list[int]:
    """Return the first two values, the middle and the last one."""
    return sorted({0, 1, k // 2, k - 1})


def large_alphabets_are_exact(make: Factory) -> None:
    """Where they fit, enumerated reports about 0, 1, k/2 and k - 1 have the claimed ratio, likelihoods and means."""

    def few_functions(_k: int, _symbols: int) -> NDArray[np.uint64]:
        # given any hash function, reports must keep their level and likelihoods
        return np.random.default_rng(0).integers(0, 1 << 64, size=(5, 2), dtype=np.uint64)

    for k, epsilon in _LARGE:
        mechanism = made(make, k, epsilon)
        noise, laws = mechanism.noise, {}
        try:
            for value in some_values(mechanism.k):
                sampler = partial(_of_one_value, mechanism, value)
                laws[value] = law_of_courses(sampler, mechanism.report_format.dtype, few_functions, _MOST_COURSES)
        except (TooManyCoursesError, NotOneByOneError):
            continue
        exact, claimed = worst_ratio(laws.values()), mechanism.likelihood_ratio()
        known = exact is not None and claimed is not None and exact <= claimed
        require(known, f"{mechanism}: enumeration gives the level {strict_epsilon(exact)}, claimed {claimed}")
        sent = sorted(set().union(*laws.values()))
        reports = np.concatenate([decoded(mechanism, report) for report in sent])
        require(bool(mechanism.possible(reports).all()), f"{mechanism}: sends reports that it refuses")
        chances = np.array([[float(law.get(report, 0)) for law in laws.values()] for report in sent])
        some = slice(None, None, -(-len(sent) // _COMPARED))
        likelihoods = noise.log_likelihoods(mechanism.contributions(reports[some]))[:, list(laws)]
        logarithms = np.log(chances[some])
        off = np.abs((likelihoods - likelihoods[:, :1]) - (logarithms - logarithms[:, :1])).max()
        require(bool(off <= 1e-9), f"{mechanism}: log-likelihoods of reports are off by {off:.3g}")
        if mechanism.hash_symbols is not None or len(sent) * noise.outputs > _MOST_ENTRIES:
            continue  # a few functions do not stand for all
        tallies = mechanism.contributions(reports)
        for value, chance in zip(laws, chances.T, strict=True):
            off = np.abs(chance @ tallies - noise.mean(np.eye(mechanism.k)[value])).max()
            require(bool(off <= 1e-12), f"{mechanism}: the mean tally of the value {value} is off by {off:.3g}")


def _of_one_value(mechanism: Mechanism, value: int, count: int, draws: Any) -> NDArray[Any]:
    return mechanism.randomize(np.full(count, value), draws)


def large_reports_tell_no_more_than_claimed(make: Factory) -> None:
    """No likelihood ratio and no byte of reports about 300 or 1000 values shows a level above the claimed one."""
    for k, epsilon, n in ((300, 1.0, 8_000), (1000, 1.0, 1_000)):
        mechanism = made(make, k, epsilon)
        values = some_values(mechanism.k)
        first, second = (Sample.drawn(mechanism, values, n, np.random.default_rng(seed)) for seed in (71, 72))
        event = best_event(first)
        shown = level_of(event, second, _SURE)[0]
        claimed = strict_epsilon(mechanism.likelihood_ratio())
        require(shown <= claimed, f"{mechanism}: reports show the level {shown}, claimed {claimed}: they {event}")


def large_likelihoods_are_proper(make: Factory) -> None:
    """Likelihood ratios of 300 values stay within the claimed level, and have the mean 1 under the true value."""
    mechanism, n = made(make, 300, 1.0), 3_000
    claimed = strict_epsilon(mechanism.likelihood_ratio())
    for value in some_values(mechanism.k):
        sample = Sample.drawn(mechanism, [value], n, np.random.default_rng(80 + value))
        said = sample.log_likelihoods(range(mechanism.k))
        widest = float(np.ptp(said, axis=1).max())
        require(widest <= claimed + 1e-9, f"{mechanism}: likelihoods differ by {widest}, claimed {claimed}")
        ratios = np.exp(said - said[:, [value]])
        standard_errors = ratios.std(axis=0) / np.sqrt(n)
        # 6.5 standard errors: a probability below 1e-6 for all values together; one report more or less
        far = np.abs(ratios.mean(axis=0) - 1) > 6.5 * standard_errors + np.exp(claimed) / n
        require(not far.any(), f"{mechanism}: likelihoods of reports about {value} are not those of what it sends")


def large_tallies_add_up(make: Factory) -> None:
    """Counts of reports about 17 and 300 values are the sum of single contributions, and vary as claimed."""
    for k, n in ((17, 4_000), (300, 700)):
        mechanism = made(make, k, 1.0)
        values = np.arange(n) % mechanism.k
        reports = mechanism.privatize(values, rng=90).data
        tallies = mechanism.contributions(reports)
        require(
            np.array_equal(tallies.sum(axis=0), mechanism.count_reports(reports)),
            f"{mechanism}: contributions of single reports do not add up to their count",
        )
        frequencies = np.bincount(values, minlength=mechanism.k) / n
        covariance = mechanism.noise.report_covariance(frequencies)
        for seed in range(3):
            direction = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0, 1.0], mechanism.noise.outputs)
            scores = (tallies - mechanism.noise.mean(frequencies)) @ direction
            claimed, squares = float(direction @ covariance @ direction), scores**2
            # 6.5 standard errors of a variance from n scores
            near = abs(squares.mean() - claimed) <= 6.5 * squares.std() / np.sqrt(n) + 1e-9 * claimed
            require(near, f"{mechanism}: a sum of the tally varies by {squares.mean():.4g}, claimed {claimed:.4g}")


def simulation_at_scale_varies_as_claimed(make: Factory) -> None:
    """Simulated tallies of ten thousand respondents have the mean and the variance of counted reports."""
    for k, size in ((5, 2_000), (40, 200)):
        mechanism, n = made(make, k, 1.0), 10_000
        noise, last = mechanism.noise, mechanism.k - 1
        true_counts = np.zeros(mechanism.k, dtype=np.int64)
        true_counts[[0, last]] = 7_000, 3_000
        frequencies = true_counts / n
        of_first, of_last = (noise.report_covariance(np.eye(mechanism.k)[value]) for value in (0, last))
        within = 0.7 * of_first + 0.3 * of_last
        known = mechanism.simulate(true_counts, size=size, rng=91).counts
        _has_moments(known, n * noise.mean(frequencies), n * within, f"{mechanism}: simulate")
        drawn = noise.draw(frequencies, n, size, np.random.default_rng(92))
        covariance = n * noise.report_covariance(frequencies)
        _has_moments(drawn, n * noise.mean(frequencies), covariance, f"{mechanism}: draw")


def _has_moments(counts: NDArray[Any], mean: FloatArray, covariance: FloatArray, what: str) -> None:
    """Compare mean and variance of every output and of the sum of every other one, at 6.5 standard errors."""
    size, half = len(counts), (np.arange(mean.size) % 2).astype(float)
    deviations = np.column_stack([counts - mean, (counts - mean) @ half])
    variances = np.maximum(np.append(np.diagonal(covariance), half @ covariance @ half), 0)
    far = np.abs(deviations.mean(axis=0)) > 6.5 * np.sqrt(variances / size) + 1e-9 * (1 + mean.max())
    require(not far.any(), f"{what}: tallies of many respondents have another mean than reports that are counted")
    squares = deviations**2
    standard_errors = np.sqrt(np.maximum((squares**2).mean(axis=0), 3 * variances**2) / size)
    rounding = 1e-12 * np.abs(covariance).sum()  # a sum that never varies does so by rounding
    far = np.abs(squares.mean(axis=0) - variances) > 6.5 * standard_errors + rounding
    require(not far.any(), f"{what}: tallies of many respondents vary otherwise than reports that are counted")


def strict_level_is_close_for_large_alphabets(make: Factory) -> None:
    """The strict level is at most the one asked for, and within 1e-9 of it, for alphabets too large to enumerate."""
    for k, epsilon in product((2, 3, 17, 1000), (*EPSILONS, 60.0)):
        mechanism = made(make, k, epsilon)
        level_is_close(mechanism)
        states_its_level(mechanism, mechanism.lifetime_ratio())


def large_alphabets_follow_the_noise_model(make: Factory) -> None:
    """Counts of privatized reports stay within normal bounds of the noise model's mean, for alphabets of any width."""
    for k, epsilon in ((17, 1.0), (17, 8.0), (300, 1.0), (1000, 1.0)):
        mechanism = made(make, k, epsilon)
        some = np.arange(5_000) % mechanism.k
        values = np.concatenate([np.zeros(10_000, dtype=int), np.full(5_000, mechanism.k - 1), some])
        true_counts = np.bincount(values, minlength=mechanism.k)
        counts = mechanism.count(mechanism.privatize(values, rng=40_000)).counts
        frequencies, n = true_counts / values.size, values.size
        mean = mechanism.noise.mean(frequencies)
        deviation = np.abs(counts - n * mean)
        variances = (
            mean * (1 - mean)
            if mechanism.noise.largest == 1
            else np.diagonal(mechanism.noise.report_covariance(frequencies))
        )
        # 6.5 standard deviations of random respondents, who vary more: a probability below 1e-6 for all outputs
        bound = 6.5 * np.sqrt(n * variances)
        require(bool(np.all(deviation <= bound + 1)), f"{mechanism}: counts far from the noise model")


_LAGS = (1, 2, 3, 7, 8, 64, 4096, 1 << 16)
_BORDER = 1 << 16


def public_sampler_follows_the_channel(make: Factory) -> None:
    """Reports that `privatize` sends in a mixed batch have the exact law for every value (exact tails, seed fixed)."""
    for mechanism, _ in enumerated(make, (2, 1.0), (3, 0.5), (5, 0.5)):
        channel = CodedChannel.of(mechanism)
        values = np.arange(100_000 * mechanism.k) % mechanism.k
        drawn = channel.outcomes_of(mechanism.privatize(values, rng=20_000).data)
        for value, law in enumerate(channel.laws):
            fits(fit_pvalue_of(drawn[values == value], law), f"{mechanism}: privatize, at the value {value}")


def neighbours_in_a_batch_are_independent(make: Factory) -> None:
    """The reports of neighbours in a large batch have the product of their laws (exact tails, seed fixed).

    Of three neighbours likelihood ratios of two values are compared: these have few outcomes.
    """
    mechanism = smallest(make)
    channel = CodedChannel.of(mechanism)
    for first, second in product(range(2), repeat=2):
        reports = mechanism.privatize(np.tile([first, second], 200_000), rng=30_000 + 2 * first + second).data
        pairs = _together(channel.outcomes_of(reports).reshape(-1, 2), channel.outcomes)
        expected = np.multiply.outer(channel.laws[first], channel.laws[second]).ravel()
        fits(fit_pvalue_of(pairs, expected), f"{mechanism}: neighbours with the values {first} and {second}")
    coded, values = channel.by_likelihood_ratio(), np.tile([0, 1, 1], 100_000)
    drawn = coded.outcomes_of(mechanism.privatize(values, rng=33_000).data)
    for start in range(3):
        triples = _together(drawn[start : start + 299_997].reshape(-1, 3), coded.outcomes)
        expected = np.einsum("i,j,k->ijk", *coded.laws[values[start : start + 3]]).ravel()
        fits(fit_pvalue_of(triples, expected), f"{mechanism}: three neighbours, from place {start} on")


def _together(rows: NDArray[np.int64], outcomes: int) -> NDArray[np.int64]:
    """Number rows of outcomes, each as one joint outcome; negative where one of them is impossible."""
    together: NDArray[np.int64] = rows @ outcomes ** np.arange(rows.shape[1])[::-1]
    return np.where((rows < 0).any(axis=1), -1, together)


def large_batches_are_like_small_ones(make: Factory) -> None:
    """A million reports, those at the borders of 2^16, and pairs at any distance have the law of single ones."""
    mechanism = smallest(make, 0.5)
    coded = CodedChannel.of(mechanism).by_likelihood_ratio()
    drawn = coded.outcomes_of(mechanism.privatize(np.zeros((1 << 20) + 2, dtype=int), rng=35_000).data)
    law, n = coded.laws[0], len(drawn)
    fits(fit_pvalue_of(drawn, law), f"{mechanism}: a million reports at once")
    borders = np.arange(_BORDER, n, _BORDER)
    for name, at in (("before", borders - 1), ("at", borders), ("after", borders + 1)):
        require(
            fit_pvalue_of(drawn[at], law) > FALSE_FAILURE_RATE / len(borders),
            f"{mechanism}: reports {name} the borders of a large batch have another law",
        )
    expected = np.multiply.outer(law, law).ravel()
    for lag in _LAGS:
        first = np.flatnonzero(np.arange(n - lag) // lag % 2 == 0)
        pairs = _together(np.column_stack([drawn[first], drawn[first + lag]]), coded.outcomes)
        fits(fit_pvalue_of(pairs, expected), f"{mechanism}: reports at the distance {lag} in a large batch")


def batches_of_every_size_follow_the_channel(make: Factory) -> None:
    """Small batches of every size up to 32 have the law of single reports (seed fixed)."""
    mechanism, rng = smallest(make), np.random.default_rng(50_000)
    channel = CodedChannel.of(mechanism)
    for size in range(1, 33):
        enough = max(100, 12 * channel.outcomes // size)
        batches = [mechanism.privatize(np.zeros(size, dtype=int), rng).data for _ in range(enough)]
        pvalue = fit_pvalue_of(channel.outcomes_of(np.concatenate(batches)), channel.laws[0])
        fits(pvalue, f"{mechanism}: batches of {size}")


def chance_comes_from_secure_bytes_or_a_seed(make: Factory) -> None:
    """Given the same words, secure and seeded reports are the same, bit by bit; only the latter are called simulated.

    So they depend on these words and nothing else. Simulated tallies follow their seed, too.
    """
    for k, n in ((3, 1_500), (300, 300)):
        mechanism = made(make, k, 1.0)
        values, before = np.arange(n) % mechanism.k, _global_generator()
        with patch("ldpstats.numbers.randomness.urandom", seeded_bytes(np.random.default_rng(61))):
            secure = mechanism.privatize(values)
        seeded, other = (mechanism.privatize(values, rng=seed) for seed in (61, 62))
        require(
            secure.data.dtype == seeded.data.dtype and np.array_equal(secure.data, seeded.data),
            f"{mechanism}: reports from secure randomness are made otherwise than seeded ones",
        )
        require(not np.array_equal(seeded.data, other.data), f"{mechanism}: different seeds give the same reports")
        first, second = (mechanism.privatize(values).data for _ in range(2))
        require(not np.array_equal(first, second), f"{mechanism}: two secure runs are equal")
        require(before == _global_generator(), f"{mechanism}: moved numpy's global generator")
        require(not secure.simulated, f"{mechanism}: calls secure reports simulated")
        marked = seeded.simulated and mechanism.count(seeded).simulated == n
        require(marked, f"{mechanism}: seeded reports do not say simulated")
        tally, again = (mechanism.simulate([50] * mechanism.k, rng=7).counts for _ in range(2))
        require(np.array_equal(tally, again), f"{mechanism}: the same seed simulates different tallies")


def reports_travel_as_they_are(make: Factory) -> None:
    """Reports are the same after they were written as bytes, as texts and as numbers, and read again."""
    for k, epsilon in ((2, 1.0), (9, 1.0), (300, 6.0)):
        mechanism = made(make, k, epsilon)
        data, form = mechanism.privatize(np.arange(mechanism.k).repeat(3), rng=5).data, mechanism.report_format
        column = to_column(data, form)
        read, unread = from_column([str(report) for report in column.tolist()], form)
        require(not unread, f"{mechanism}: reports that were written as text cannot be read")
        require(np.array_equal(read, data), f"{mechanism}: reports that were written as text are others")
        if form.width is not None:
            same = np.array_equal(from_bytes(to_bytes(data, form), form), data)
            require(same, f"{mechanism}: reports that were written as bytes are others")


def _global_generator() -> str:
    return str(np.random.get_state(legacy=False))  # noqa: NPY002  # only read
