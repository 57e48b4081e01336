"""Checks of what is really sent: batches of any size, from secure randomness and from seeds."""

from __future__ import annotations

from itertools import product
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from ldpstats.conformance.courses import TooManyCoursesError
from ldpstats.conformance.enumeration import exact_channel, report_law
from ldpstats.conformance.laws import CodedChannel, fit_pvalue_of
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE, Factory, enumerated, made, require, smallest
from ldpstats.mechanisms import Mechanism
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.randomness import seeded_bytes
from ldpstats.protocols.wire import from_bytes, from_column, to_bytes, to_column

UNSEEDED_FALSE_FAILURE_RATE = 1e-9
"""How often, at most, one comparison of securely drawn reports fails a correct mechanism.

It is exact: binomial tails, added up over the outcomes. A certification makes two, so that those of a hundred
mechanisms together fail in less than one of a million runs.
"""
_FEW_COURSES = 600
_LAGS = (1, 2, 3, 7, 8, 64, 4096, 1 << 16)
_BORDER = 1 << 16


def public_sampler_follows_the_channel(make: Factory) -> None:
    """Reports that `privatize` sends in a mixed batch have the exact law for every value (exact tails, seed fixed)."""
    for mechanism, _ in enumerated(make, (2, 1.0), (3, 0.5), (5, 0.5)):
        channel = CodedChannel.of(mechanism)
        values = np.arange(100_000 * mechanism.k) % mechanism.k
        places = channel.places(mechanism.privatize(values, rng=20_000).data)
        for value, law in enumerate(channel.laws):
            _fits_law(places[values == value], law, f"{mechanism}: privatize, at the value {value}")


def neighbours_in_a_batch_are_independent(make: Factory) -> None:
    """The reports of neighbours in a large batch have the product of their laws (exact tails, seed fixed)."""
    mechanism = smallest(make)
    channel = CodedChannel.of(mechanism)
    for first, second in product(range(2), repeat=2):
        reports = mechanism.privatize(np.tile([first, second], 200_000), rng=30_000 + 2 * first + second).data
        one, other = channel.places(reports).reshape(-1, 2).T
        expected = np.multiply.outer(channel.laws[first], channel.laws[second]).ravel()
        impossible = (one < 0) | (other < 0)
        pairs = np.where(impossible, -1, one * channel.outcomes + other)
        _fits_law(pairs, expected, f"{mechanism}: neighbours with the values {first} and {second}")


def three_respondents_are_independent(make: Factory) -> None:
    """Reports of three neighbours have the product of their laws: exactly where that fits, and in a batch.

    In a large batch likelihood ratios of two values are compared (exact tails, seed fixed): these have few outcomes.
    """
    mechanism = smallest(make)
    channel = exact_channel(mechanism)
    if len(channel[0]) ** 3 <= _FEW_COURSES:
        for asked in product(range(2), repeat=3):
            expected = {
                one + two + three: p * q * r
                for (one, p), (two, q), (three, r) in product(*(channel[value].items() for value in asked))
            }
            _require_equal_laws(mechanism, list(asked), expected)
    coded = CodedChannel.of(mechanism).by_likelihood_ratio()
    values, size = np.tile([0, 1, 1], 100_000), coded.outcomes
    places = coded.places(mechanism.privatize(values, rng=33_000).data)
    for start in range(3):
        triples = places[start : start + 299_997].reshape(-1, 3)
        laws = [coded.laws[values[start + i]] for i in range(3)]
        expected_triples = np.einsum("i,j,k->ijk", *laws).ravel()
        together = triples @ np.array([size**2, size, 1])
        _fits_law(
            np.where((triples < 0).any(axis=1), -1, together),
            expected_triples,
            f"{mechanism}: three neighbours, from place {start} on",
        )


def _require_equal_laws(mechanism: Mechanism, values: list[int], expected: object) -> None:
    try:
        joint = report_law(mechanism, values, _FEW_COURSES)
    except TooManyCoursesError:
        return
    require(joint == expected, f"{mechanism}: reports of the values {values} depend on each other")


def large_batches_are_like_small_ones(make: Factory) -> None:
    """A million reports, those at the borders of 2^16, and pairs at any distance have the law of single ones."""
    mechanism = smallest(make, 0.5)
    coded = CodedChannel.of(mechanism).by_likelihood_ratio()
    places = coded.places(mechanism.privatize(np.zeros((1 << 20) + 2, dtype=int), rng=35_000).data)
    law, n = coded.laws[0], len(places)
    _fits_law(places, law, f"{mechanism}: a million reports at once")
    borders = np.arange(_BORDER, n, _BORDER)
    for name, at in (("before", borders - 1), ("at", borders), ("after", borders + 1)):
        require(
            fit_pvalue_of(places[at], law) > FALSE_FAILURE_RATE / len(borders),
            f"{mechanism}: reports {name} the borders of a large batch have another law",
        )
    expected = np.multiply.outer(law, law).ravel()
    for lag in _LAGS:
        first = np.flatnonzero(np.arange(n - lag) // lag % 2 == 0)
        pairs = np.where((places < 0).any(), -1, places[first] * coded.outcomes + places[first + lag])
        _fits_law(pairs, expected, f"{mechanism}: reports at the distance {lag} in a large batch")


def batches_of_every_size_follow_the_channel(make: Factory) -> None:
    """Small batches of every size up to 32 have the law of single reports (seed fixed)."""
    mechanism, rng = smallest(make), np.random.default_rng(50_000)
    channel = CodedChannel.of(mechanism)
    for size in range(1, 33):
        enough = max(100, 12 * channel.outcomes // size)
        batches = [mechanism.privatize(np.zeros(size, dtype=int), rng).data for _ in range(enough)]
        _fits_law(channel.places(np.concatenate(batches)), channel.laws[0], f"{mechanism}: batches of {size}")


def secure_reports_are_made_as_seeded_ones(make: Factory) -> None:
    """Given the same words, reports from secure randomness and from a seed are the same, bit by bit."""
    for k, n in ((3, 1_500), (300, 300)):
        mechanism = made(make, k, 1.0)
        values = np.arange(n) % mechanism.k
        with patch("ldpstats.numbers.randomness.urandom", seeded_bytes(np.random.default_rng(61))):
            secure = mechanism.privatize(values)
        seeded = mechanism.privatize(values, rng=61)
        require(
            secure.data.dtype == seeded.data.dtype and np.array_equal(secure.data, seeded.data),
            f"{mechanism}: reports from secure randomness are made otherwise than seeded ones",
        )


def secure_reports_follow_the_channel(make: Factory) -> None:
    """Reports without a seed have the exact law (exact tails)."""
    mechanism = smallest(make)
    channel = CodedChannel.of(mechanism)
    values = np.arange(100_000) % 2
    places = channel.places(mechanism.privatize(values).data)
    for value, law in enumerate(channel.laws):
        probable = fit_pvalue_of(places[values == value], law)
        require(
            probable > UNSEEDED_FALSE_FAILURE_RATE,
            f"{mechanism}: secure reports of the value {value} do not have their law: p <= {probable:.2g}",
        )


def default_randomness_is_secure(make: Factory) -> None:
    """Without a seed, reports depend on the operating system's bytes and nothing else, and are not called simulated."""
    mechanism = made(make, 3, 1.0)
    values = np.zeros(500, dtype=int)
    before = _global_generator()
    first, second = mechanism.privatize(values), mechanism.privatize(values)
    require(not first.simulated, f"{mechanism}: calls secure reports simulated")
    require(not np.array_equal(first.data, second.data), f"{mechanism}: two secure runs are equal")
    scripted = []
    for seed in (1, 1, 2):
        with patch("ldpstats.numbers.randomness.urandom", np.random.default_rng(seed).bytes):
            scripted.append(mechanism.privatize(values).data)
    require(np.array_equal(scripted[0], scripted[1]), f"{mechanism}: reports depend on more than secure bytes")
    require(not np.array_equal(scripted[0], scripted[2]), f"{mechanism}: reports do not depend on the secure bytes")
    require(before == _global_generator(), f"{mechanism}: moved numpy's global generator")


def seeds_reproduce(make: Factory) -> None:
    """One seed gives one result, another seed another, and both are called simulated."""
    mechanism = made(make, 3, 1.0)
    values = np.zeros(500, dtype=int)
    first, again, other = (mechanism.privatize(values, rng=seed) for seed in (7, 7, 8))
    require(np.array_equal(first.data, again.data), f"{mechanism}: the same seed gives different reports")
    require(not np.array_equal(first.data, other.data), f"{mechanism}: different seeds give the same reports")
    marked = first.simulated and mechanism.count(first).simulated == len(first)
    require(marked, f"{mechanism}: seeded reports do not say simulated")
    tallies = [mechanism.simulate([50] * mechanism.k, rng=seed).counts for seed in (7, 7)]
    require(np.array_equal(tallies[0], tallies[1]), f"{mechanism}: the same seed simulates different tallies")


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


def _fits_law(places: NDArray[np.int64], law: FloatArray, what: str) -> None:
    pvalue = fit_pvalue_of(places, law)
    require(pvalue > FALSE_FAILURE_RATE, f"{what} does not have its exact law: p = {pvalue:.2g}")
