"""Noise models agree with brute force: every outcome enumerated, every matrix written out."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.channel_definitions import COHORTS as CODED, HADAMARD
from support.comparisons import close, fits, on_contrasts, some_frequencies
from support.report_laws import has_enumerated_moments, report_law
from support.revealed_bits import BLOOM, REVEALED, SOME_OF_A_COHORT as SOME

from ldpstats.conformance.requirements import counted, law_of_tally
from ldpstats.errors import NotIdentifiedError
from ldpstats.noise import (
    AdditiveNoise,
    DenseChannel,
    DiscreteLaplace,
    NoiseModel,
    NoisyCounts,
    RevealedBits,
    SummedSupport,
    SupportNoise,
    TruthOrFake,
)
from ldpstats.noise.pattern_channel import pattern_channel, patterns_of
from ldpstats.saving.codec import decoded, encoded

SUBSETS = [SupportNoise.subset(*one) for one in [(2, 0.7, 1), (3, 0.8, 2), (4, 0.6, 2), (6, 0.75, 3), (4, 1.0, 2)]]
BITS = [SupportNoise.independent(*one) for one in [(2, 0.5, 0.1), (4, 0.5, 0.2), (3, 1.0, 0.0)]]
FAKES = [TruthOrFake(*one) for one in [(0.4, (0.25,) * 4), (0.3, (0.7, 0.1, 0.2)), (1.0, (1.0, 0.0))]]
TALL = DenseChannel(((0.5, 0.2, 0.2, 0.1), (0.1, 0.6, 0.2, 0.1), (0.1, 0.1, 0.1, 0.7)))
FLAT = DenseChannel(((0.7, 0.3), (0.4, 0.6), (0.2, 0.8), (0.25, 0.75)))
WRITTEN_OUT = [DenseChannel(tuple(map(tuple, one.matrix()))) for one in FAKES]
SUMS = [SummedSupport(SUBSETS[3], (3, 1, 2)), SummedSupport(SUBSETS[0], (1, 1)), SummedSupport(SUBSETS[2], (1, 3))]
SUMS += [SummedSupport(BITS[1], (1, 3)), SummedSupport(SupportNoise.independent(5, 0.8, 0.3), (2, 1, 2))]
SUMS += [SummedSupport(BITS[2], (1, 2))]
SKEW = AdditiveNoise(3, (0.4, 0.3, 0.2, 0.1))
ADDED = [
    AdditiveNoise(2, (0.6, 0.05, 0.25, 0.1)),
    SKEW,
    AdditiveNoise(4, (0.5, 0.3, 0.2)),
    AdditiveNoise(3, (0.7, 0.3)),
]
RELEASES = [NoisyCounts(3, 100, DiscreteLaplace(2.5))]
PATTERNS = [pattern_channel(noise) for noise in (SUBSETS[3], BITS[1])]
NAMED = HADAMARD | CODED | REVEALED
ALL = [*SUBSETS, *BITS, *SUMS, *FAKES, TALL, FLAT, *WRITTEN_OUT, *ADDED, *PATTERNS, *NAMED.values()]

NAMES = [*map(str, ALL[: -len(NAMED)]), *NAMED]
each_noise = pytest.mark.parametrize("noise", ALL, ids=NAMES)


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
    assert noise.exchangeable == any(noise in alike for alike in (FAKES, SUBSETS, BITS, ADDED))
    assert (noise.by_value is noise) == (noise.members is None) == (noise not in PATTERNS)


@pytest.mark.parametrize("noise", [*SUBSETS, *BITS], ids=str)
def test_whole_reports_are_counted_by_value_through_their_members(noise: SupportNoise) -> None:
    channel = patterns_of(noise)
    assert channel is not None
    assert channel.by_value == noise
    assert close(channel.mean(np.eye(noise.cells)) @ channel.members, noise.mean(np.eye(noise.cells)))


@pytest.mark.parametrize(
    "noise",
    [one for one in ALL if one not in SUMS and report_law(one)[1].min() > 0],
    ids=lambda one: type(one).__name__,
)
def test_log_likelihoods_and_the_level_are_those_of_the_enumerated_reports(noise: NoiseModel) -> None:
    rows, law = report_law(noise)
    said = noise.log_likelihoods(rows)
    assert close(said - said[:, :1], np.log(law) - np.log(law[:, :1]))
    assert noise.epsilon == pytest.approx(np.log((law.max(axis=1) / law.min(axis=1)).max()), rel=1e-12)


@each_noise
def test_tallies_of_few_respondents_have_their_exact_law(noise: NoiseModel) -> None:
    rows, law = report_law(noise)

    def contributions(frequencies: Any) -> list[tuple[Any, float]]:
        return list(zip(rows, (law @ frequencies).tolist(), strict=True))

    known = np.bincount([0, 0, noise.cells - 1], minlength=noise.cells)
    given = noise.simulate(np.tile(known, (40_000, 1)), np.random.default_rng(1))
    expected = law_of_tally([contributions(np.eye(noise.cells)[value]) for value in (0, 0, -1)])
    assert fits(counted(given), expected)
    frequencies = some_frequencies(noise.cells)[0]
    random = noise.draw(frequencies, 3, 40_000, np.random.default_rng(2))
    assert fits(counted(random), law_of_tally([contributions(frequencies)] * 3))


def test_the_test_of_a_law_sees_a_flip_that_is_off_by_a_twentieth() -> None:
    off = RevealedBits(BLOOM.encoding, BLOOM.keep, BLOOM.flip * 0.95, cohorts=2)
    tallies = off.simulate(np.tile([1, 0, 0], (100_000, 1)), np.random.default_rng(5))
    rows, law = report_law(BLOOM)
    expected = law_of_tally([list(zip(rows, law[:, 0].tolist(), strict=True))])
    assert fits(counted(BLOOM.simulate(np.tile([1, 0, 0], (100_000, 1)), np.random.default_rng(5))), expected)
    assert not fits(counted(tallies), expected)


@pytest.mark.parametrize("noise", [*ALL, *RELEASES], ids=str)
def test_models_are_saved_and_pickled_as_they_are(noise: NoiseModel) -> None:
    for again in (decoded(json.loads(json.dumps(encoded(noise)))), pickle.loads(pickle.dumps(noise))):  # noqa: S301  # made here
        assert again == noise
        assert hash(again) == hash(noise)


def has_moments(tallies: NDArray[np.int64], mean: NDArray[np.float64], covariance: NDArray[np.float64]) -> bool:
    """Compare sample moments with exact ones; six standard errors each, so below 1e-6 for all entries together."""
    variance = np.diagonal(covariance)
    centred = (tallies - mean) / np.sqrt(variance)
    correlation = covariance / np.sqrt(np.outer(variance, variance))
    error = np.abs(centred.T @ centred / len(tallies) - correlation) / np.sqrt((1 + correlation**2) / len(tallies))
    return bool(np.abs(centred.mean(axis=0)).max() * np.sqrt(len(tallies)) < 6 and error.max() < 6)


# Beyond 1e9 respondents the subset sampler has to split them.
@pytest.mark.parametrize("n", [10**6, 35 * 10**8])
@pytest.mark.parametrize(
    "noise", [SUBSETS[2], SUBSETS[3], BITS[1], FAKES[0], FAKES[1], TALL, FLAT, SKEW, SOME], ids=str
)
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
def test_score_and_information_are_those_of_the_moments(noise: NoiseModel) -> None:
    """Of a channel they are those of the likelihood, which has the same: a multinomial law is an exponential family."""
    n, frequencies = 1000, some_frequencies(noise.cells)
    counts = noise.draw(frequencies[0], n, 3, np.random.default_rng(5))
    score, information = noise.score(frequencies, counts, n)
    matrix, _ = noise.design()
    inverse = np.linalg.pinv(noise.report_covariance(frequencies), hermitian=True, rtol=1e-10)
    dense = n * matrix.T @ inverse @ matrix
    slope = (matrix.T @ inverse @ (counts - n * noise.mean(frequencies))[..., None])[..., 0]
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
