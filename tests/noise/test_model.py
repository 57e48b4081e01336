"""Noise models agree with brute force: every outcome enumerated, every matrix written out."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import chdtrc
from support.comparisons import FALSE_FAILURE_RATE, close, on_contrasts, some_frequencies
from support.report_laws import has_enumerated_moments, report_law

from ldpstats.errors import NotIdentifiedError
from ldpstats.noise import DenseChannel, MultinomialNoise, NoiseModel, SummedSupport, SupportNoise, TruthOrFake
from ldpstats.noise.pattern_channel import patterns_of

SUBSETS = [SupportNoise.subset(*one) for one in [(2, 0.7, 1), (3, 0.8, 2), (4, 0.6, 2), (6, 0.75, 3), (4, 1.0, 2)]]
BITS = [SupportNoise.independent(*one) for one in [(2, 0.5, 0.1), (4, 0.5, 0.2), (3, 1.0, 0.0)]]
FAKES = [MultinomialNoise(TruthOrFake(*one)) for one in [(0.4, (0.25,) * 4), (0.3, (0.7, 0.1, 0.2)), (1.0, (1.0, 0.0))]]
TALL = MultinomialNoise(DenseChannel(((0.5, 0.2, 0.2, 0.1), (0.1, 0.6, 0.2, 0.1), (0.1, 0.1, 0.1, 0.7))))
FLAT = MultinomialNoise(DenseChannel(((0.7, 0.3), (0.4, 0.6), (0.2, 0.8), (0.25, 0.75))))
WRITTEN_OUT = [MultinomialNoise(DenseChannel(tuple(map(tuple, one.channel.matrix())))) for one in FAKES]
SUMS = [SummedSupport(SUBSETS[3], (3, 1, 2)), SummedSupport(SUBSETS[0], (1, 1)), SummedSupport(SUBSETS[2], (1, 3))]
SUMS += [SummedSupport(BITS[1], (1, 3)), SummedSupport(SupportNoise.independent(5, 0.8, 0.3), (2, 1, 2))]
SUMS += [SummedSupport(BITS[2], (1, 2))]
ALL = [*SUBSETS, *BITS, *SUMS, *FAKES, TALL, FLAT, *WRITTEN_OUT]

each_noise = pytest.mark.parametrize("noise", ALL, ids=str)


@pytest.mark.parametrize("noise", [*SUBSETS, *BITS], ids=str)
def test_the_four_numbers_are_support_probabilities(noise: SupportNoise) -> None:
    rows, law = report_law(noise)
    both = [(law[:, x] * rows[:, 0] * rows[:, 1]).sum() for x in range(noise.cells)]
    assert close(rows[:, 0] @ law, [noise.p] + [noise.q] * (noise.cells - 1))
    assert close(both, ([noise.r1] * 2 + [noise.r2] * noise.cells)[: noise.cells])


@each_noise
def test_moments_are_those_of_the_enumerated_reports(noise: NoiseModel) -> None:
    assert has_enumerated_moments(noise, *report_law(noise))


def test_cells_that_the_outputs_do_not_tell_apart_have_no_estimate() -> None:
    frequencies = some_frequencies(FLAT.cells)
    for question, asked in ((FLAT.debias, FLAT.mean(frequencies)), (FLAT.covariance, frequencies)):
        with pytest.raises(NotIdentifiedError, match="rank 2 for 4 values"):
            question(asked)


@each_noise
def test_what_a_model_is_like_is_what_its_reports_are_like(noise: NoiseModel) -> None:
    rows, law = report_law(noise)
    single = bool(np.all(rows.sum(axis=1) == 1) and rows.max() == 1 and rows.shape[0] == noise.outputs)
    assert noise.has_likelihood == (noise.channel is not None)
    assert noise.channel is None or single
    if noise.own_and_common is not None:
        own, common = noise.own_and_common
        assert close(rows.T @ law, own * np.eye(noise.cells) + np.asarray(common)[:, None])
    assert (noise.truth_or_fake is not None) == (noise in FAKES)
    assert noise.exchangeable == (noise in FAKES or noise in SUBSETS or noise in BITS)
    assert noise.by_value is noise
    assert noise.members is None


@pytest.mark.parametrize("noise", [*SUBSETS, *BITS], ids=str)
def test_whole_reports_are_counted_by_value_through_their_members(noise: SupportNoise) -> None:
    channel = patterns_of(noise)
    assert channel is not None
    whole = MultinomialNoise(channel)
    assert whole.by_value == noise
    assert whole.has_likelihood
    assert not whole.exchangeable
    assert whole.members is not None
    assert close(whole.mean(np.eye(noise.cells)) @ whole.members, noise.mean(np.eye(noise.cells)))


def fits(seen: Counter[tuple[int, ...]], law: dict[tuple[int, ...], float]) -> bool:
    """Pearson's test against an exact law, whose rare outcomes are taken together; the impossible never fits."""
    n = sum(seen.values())
    pooled: dict[Any, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for outcome, chance in law.items():
        where = pooled[outcome if n * chance >= 10 else "rare"]
        where[0] += seen[outcome]
        where[1] += n * chance
    statistic = sum((found - expected) ** 2 / expected for found, expected in pooled.values() if expected > 0)
    return (
        set(seen) <= {one for one in law if law[one] > 0}
        and chdtrc(max(len(pooled) - 1, 1), statistic) > FALSE_FAILURE_RATE
    )


def tally_law(noise: NoiseModel, respondents: list[NDArray[np.float64]]) -> dict[tuple[int, ...], float]:
    """Add up independent reports of respondents whose values have the given frequencies."""
    rows, law = report_law(noise)
    total: dict[tuple[int, ...], float] = {(0,) * noise.outputs: 1.0}
    for frequencies in respondents:
        following: dict[tuple[int, ...], float] = defaultdict(float)
        for (counts, chance), (row, more) in product(total.items(), zip(rows, law @ frequencies, strict=True)):
            following[tuple((np.array(counts) + row).tolist())] += chance * more
        total = following
    return total


@each_noise
def test_tallies_of_few_respondents_have_their_exact_law(noise: NoiseModel) -> None:
    known = np.bincount([0, 0, noise.cells - 1], minlength=noise.cells)
    given = noise.simulate(np.tile(known, (40_000, 1)), np.random.default_rng(1))
    assert fits(Counter(map(tuple, given.tolist())), tally_law(noise, [np.eye(noise.cells)[x] for x in (0, 0, -1)]))
    frequencies = some_frequencies(noise.cells)[0]
    random = noise.draw(frequencies, 3, 40_000, np.random.default_rng(2))
    assert fits(Counter(map(tuple, random.tolist())), tally_law(noise, [frequencies] * 3))


def has_moments(tallies: NDArray[np.int64], mean: NDArray[np.float64], covariance: NDArray[np.float64]) -> bool:
    """Compare sample moments with exact ones; six standard errors each, so below 1e-6 for all entries together."""
    variance = np.diagonal(covariance)
    centred = (tallies - mean) / np.sqrt(variance)
    correlation = covariance / np.sqrt(np.outer(variance, variance))
    error = np.abs(centred.T @ centred / len(tallies) - correlation) / np.sqrt((1 + correlation**2) / len(tallies))
    return bool(np.abs(centred.mean(axis=0)).max() * np.sqrt(len(tallies)) < 6 and error.max() < 6)


# Beyond 1e9 respondents the subset sampler has to split them.
@pytest.mark.parametrize("n", [10**6, 35 * 10**8])
@pytest.mark.parametrize("noise", [SUBSETS[2], SUBSETS[3], BITS[1], FAKES[0], FAKES[1], TALL, FLAT], ids=str)
def test_tallies_of_many_respondents_have_the_exact_moments(noise: NoiseModel, n: int) -> None:
    frequencies = np.arange(noise.cells) / (noise.cells * (noise.cells - 1) / 2)
    known = np.round(n * frequencies).astype(np.int64)
    known[-1] += n - known.sum()
    given = noise.simulate(np.tile(known, (3000, 1)), np.random.default_rng(3))
    of_each = noise.report_covariance(np.eye(noise.cells))
    assert has_moments(given, n * noise.mean(known / n), np.tensordot(known, of_each, axes=1))
    random = noise.draw(frequencies, n, 3000, np.random.default_rng(4))
    assert has_moments(random, n * noise.mean(frequencies), n * noise.report_covariance(frequencies))
    if noise.size is not None:
        assert np.all(np.concatenate([given, random]).sum(axis=1) == n * noise.size)


@each_noise
def test_score_and_information_are_the_dense_ones(noise: NoiseModel) -> None:
    n, frequencies = 1000, some_frequencies(noise.cells)
    counts = noise.draw(frequencies[0], n, 3, np.random.default_rng(5))
    score, information = noise.score(frequencies, counts, n)
    if isinstance(noise, MultinomialNoise):
        channel, mean = noise.channel.matrix(), noise.mean(frequencies)
        dense = np.einsum("xy,ty,zy->txz", channel, n / mean, channel)
        slope = (counts / mean) @ channel.T
    else:
        dense = np.linalg.pinv(noise.covariance(frequencies) / n, hermitian=True, rtol=1e-10)
        slope = (dense @ (noise.debias(counts / n) - frequencies)[..., None])[..., 0]
    assert close(on_contrasts(information.dense()), on_contrasts(dense))
    centre = slope.mean(axis=-1, keepdims=True)
    assert close(score - score.mean(axis=-1, keepdims=True), slope - centre)
    shared = noise.score(frequencies[:1], counts, n)[0]
    assert close(shared[0], score[0])
    assert shared.shape == score.shape
    if np.all(information.diagonal > 0):
        norm = np.einsum(
            "ti,tij,tj->t", slope - centre, np.linalg.pinv(on_contrasts(dense), rtol=1e-10), slope - centre
        )
        assert close(information.contrast_norm(score), norm)


@pytest.mark.parametrize(("fake", "dense"), list(zip(FAKES, WRITTEN_OUT, strict=True)))
def test_a_channel_written_out_says_the_same_as_its_structure(fake: NoiseModel, dense: NoiseModel) -> None:
    frequencies = some_frequencies(fake.cells)
    proportions = some_frequencies(fake.cells + 1)[:, 1:]
    assert close(dense.covariance(frequencies), fake.covariance(frequencies))
    proportions /= proportions.sum(axis=1, keepdims=True)
    assert close(dense.debias(proportions), fake.debias(proportions))


def test_randomized_response_is_selection_of_subsets_of_one() -> None:
    truth, cells, n = 0.4, 5, 300
    fake = MultinomialNoise(TruthOrFake(truth, (1 / cells,) * cells))
    subset = SupportNoise.subset(cells, truth + (1 - truth) / cells, 1)
    frequencies = some_frequencies(cells)
    counts = fake.draw(frequencies[0], n, 3, np.random.default_rng(6))
    (first, of_first), (second, of_second) = (one.score(frequencies, counts, n) for one in (fake, subset))
    assert close(subset.covariance(frequencies), fake.covariance(frequencies))
    assert close(subset.debias(counts / n), fake.debias(counts / n))
    assert close(on_contrasts(of_first.dense()), on_contrasts(of_second.dense()))
    assert close(first - first.mean(axis=-1, keepdims=True), second - second.mean(axis=-1, keepdims=True))


@pytest.mark.parametrize(("m", "level"), [(2, 1.10), (4, 1.61), (9, 2.30), (16, 2.83), (36, 3.61), (81, 4.41)])
def test_truth_or_fake_has_the_level_of_its_rarest_fake(m: int, level: float) -> None:
    uniform = TruthOrFake(0.5, (1 / m,) * m)
    assert round(uniform.epsilon, 2) == level
    dense = DenseChannel(tuple(map(tuple, uniform.matrix().tolist())))
    assert dense.epsilon == pytest.approx(uniform.epsilon, rel=1e-12)
    assert TruthOrFake(0.5, (0.0, *(1 / (m - 1),) * (m - 1))).epsilon == float("inf")
