"""Revealed bits agree with brute force: every set of slots and every answer written out."""

from __future__ import annotations

import pickle
import tracemalloc
from collections import Counter
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import chdtrc
from support.comparisons import FALSE_FAILURE_RATE, close, some_frequencies

from ldpstats.errors import LdpstatsError, NotIdentifiedError, ReportError
from ldpstats.noise import SupportNoise, Tally
from ldpstats.noise.revealed import RevealedBits, differing_bits
from ldpstats.noise.subsets import uniform_subset_counts
from ldpstats.saving.codec import decoded, encoded

SKETCH = np.array([[1, 0, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [0, 0, 1], [1, 1, 0]])
FILTERS = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1], [1, 1, 1], [1, 0, 0]])
DEPENDENT = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 1]])

UNARY = RevealedBits(np.eye(3), 0.75, 0.2)
DBITFLIP = RevealedBits(np.eye(4), 0.7, 0.3, revealed=2)
ONE_BIT = RevealedBits(np.eye(3), 0.9, 0.4, revealed=1)
COHORTS = RevealedBits(SKETCH, 0.8, 0.3, cohorts=3)
BLOOM = RevealedBits(FILTERS, 0.6, 0.4, cohorts=2)
SOME_OF_A_COHORT = RevealedBits(FILTERS, 0.65, 0.1, cohorts=2, revealed=2)
SINGLE_SLOTS = RevealedBits(FILTERS, 0.65, 0.1, cohorts=6)
UNIDENTIFIED = RevealedBits(DEPENDENT, 0.8, 0.3, cohorts=2)
IDENTIFIED = [UNARY, DBITFLIP, ONE_BIT, COHORTS, BLOOM, SOME_OF_A_COHORT, SINGLE_SLOTS]
NAMES = ["unary", "dbitflip", "one bit", "cohorts", "bloom", "some of a cohort", "single slots"]

each_noise = pytest.mark.parametrize("noise", [*IDENTIFIED, UNIDENTIFIED], ids=[*NAMES, "unidentified"])
each_identified = pytest.mark.parametrize("noise", IDENTIFIED, ids=NAMES)


def report_law(noise: RevealedBits) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return what one report can add to a tally, a row each, and its chance given each value, from scratch."""
    width = len(noise.encoding) // noise.cohorts
    rows, chances = [], []
    for cohort, shown in product(range(noise.cohorts), combinations(range(width), noise.size)):
        for bits in product((0, 1), repeat=noise.size):
            row = np.zeros((noise.cohorts, 2, width), dtype=int)
            chance = np.full(noise.cells, 1 / noise.cohorts / len(list(combinations(range(width), noise.size))))
            for slot, bit in zip(shown, bits, strict=True):
                row[cohort, 0 if bit else 1, slot] = 1
                sent = np.where(noise.encoding[cohort * width + slot], noise.keep, noise.flip)
                chance *= sent if bit else 1 - sent
            rows.append(row.ravel())
            chances.append(chance)
    return np.array(rows), np.array(chances)


def moments(noise: RevealedBits, frequencies: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    rows, chances = report_law(noise)
    law = frequencies @ chances.T
    mean = law @ rows
    second = np.einsum("...r,ri,rj->...ij", law, rows, rows)
    return mean, second - mean[..., :, None] * mean[..., None, :]


@each_noise
def test_mean_and_covariance_of_a_tally_are_exact(noise: RevealedBits) -> None:
    frequencies = some_frequencies(noise.cells)
    mean, covariance = moments(noise, frequencies)
    assert close(noise.mean(frequencies), mean)
    assert close(noise.mean(frequencies[1]), mean[1])
    assert close(noise.report_covariance(frequencies), covariance)
    matrix, offset = noise.design()
    assert close(frequencies @ matrix.T + offset, mean)


@each_identified
def test_estimates_are_unbiased_and_their_covariance_is_exact(noise: RevealedBits) -> None:
    frequencies = some_frequencies(noise.cells)
    mean, covariance = moments(noise, frequencies)
    assert close(noise.debias(mean), frequencies)
    linear = noise.debias(np.eye(noise.outputs))
    exact = linear.T @ covariance @ linear
    assert close(noise.covariance(frequencies), exact)
    assert close(noise.covariance(frequencies[2]), exact[2])
    assert close(noise.slot_estimates(mean), frequencies @ noise.encoding.T)


@each_noise
def test_likelihoods_and_the_level_are_exact(noise: RevealedBits) -> None:
    rows, chances = report_law(noise)
    claimed = noise.log_likelihoods(rows)
    assert close(claimed - claimed[:, :1], np.log(chances) - np.log(chances[:, :1]))
    assert noise.epsilon == pytest.approx(np.log((chances.max(axis=1) / chances.min(axis=1)).max()), rel=1e-12)
    assert not noise.has_likelihood


@each_noise
def test_the_score_is_generalized_least_squares_with_the_exact_covariance(noise: RevealedBits) -> None:
    frequencies = some_frequencies(noise.cells)
    mean, covariance = moments(noise, frequencies)
    matrix, _ = noise.design()
    inverse = np.linalg.pinv(covariance, rcond=1e-10, hermitian=True)
    counts = noise.draw(frequencies[0], 50, 3, np.random.default_rng(1))
    score, information = noise.score(frequencies, counts, 50)
    centre = np.eye(noise.cells) - 1 / noise.cells
    exact = (matrix.T @ inverse @ (counts - 50 * mean)[..., None])[..., 0]
    assert close(score @ centre, exact @ centre, 1e-10)
    assert close(centre @ information.dense() @ centre, 50 * centre @ matrix.T @ inverse @ matrix @ centre, 1e-10)


def test_the_identity_is_not_solved_for_and_plain_unary_encoding_is_support_noise() -> None:
    frequencies = some_frequencies(3)
    support = SupportNoise.independent(3, UNARY.keep, UNARY.flip)
    assert close(UNARY.covariance(frequencies), support.covariance(frequencies))
    shares = np.random.default_rng(2).random((4, 6))
    assert np.array_equal(UNARY.debias(shares), UNARY.slot_estimates(shares))
    sent = np.array([0.3, 0.5, 0.4])
    assert close(UNARY.debias(np.concatenate([sent, 1 - sent])), support.debias(sent))


def test_the_estimate_for_dbitflip_is_the_paper_formula_with_its_misprint_corrected() -> None:
    k, revealed, epsilon, n = 4, 2, 1.3, 1000
    likelihood = np.exp(epsilon / 2)
    noise = RevealedBits(np.eye(k), likelihood / (likelihood + 1), 1 / (likelihood + 1), revealed=revealed)
    counts = noise.simulate(np.array([700, 200, 100, 0]), np.random.default_rng(3))
    sent, unset = counts[:k], counts[k:]
    # the sum over all bits b for a value of (b (e^(ε/2) + 1) - 1) / (e^(ε/2) - 1)
    sums = (sent * (likelihood + 1) - (sent + unset)) / (likelihood - 1)
    assert close(noise.debias(counts / n), k / (n * revealed) * sums)
    as_printed = k / (n * revealed) * (sent * likelihood - 1) / (likelihood - 1)
    assert np.abs(as_printed - noise.debias(counts / n)).max() > 0.1


@pytest.mark.parametrize(
    "noise", [ONE_BIT, DBITFLIP, BLOOM, SOME_OF_A_COHORT], ids=["one bit", "dbitflip", "bloom", "some of a cohort"]
)
def test_simulation_at_the_level_of_counts_has_the_law_of_counted_reports(noise: RevealedBits) -> None:
    rows, chances = report_law(noise)
    frequencies = np.arange(1, noise.cells + 1) / np.arange(1, noise.cells + 1).sum()
    pairs = rows[:, None, :] + rows[None, :, :]
    someone = chances @ frequencies
    one_of_each = np.eye(noise.cells, dtype=int)[0] + np.eye(noise.cells, dtype=int)[-1]
    rng = np.random.default_rng(4)
    simulated = noise.simulate(np.tile(one_of_each, (100_000, 1)), rng)
    assert follows(simulated, pairs, np.multiply.outer(chances[:, 0], chances[:, -1]))
    assert follows(noise.draw(frequencies, 2, 100_000, rng), pairs, np.multiply.outer(someone, someone))


def follows(tallies: NDArray[Any], outcomes: NDArray[Any], chances: NDArray[Any]) -> bool:
    """Pearson's χ² of tallies against their law; outcomes expected fewer than ten times are taken together."""
    law: Counter[bytes] = Counter()
    for outcome, chance in zip(outcomes.reshape(-1, outcomes.shape[-1]), chances.ravel(), strict=True):
        law[outcome.astype(np.int64).tobytes()] += chance
    distinct, counts = np.unique(tallies, axis=0, return_counts=True)
    seen = {row.tobytes(): int(count) for row, count in zip(distinct, counts, strict=True)}
    if not set(seen) <= set(law):
        return False
    common = [key for key, chance in law.items() if len(tallies) * chance >= 10]
    expected = np.array([len(tallies) * law[key] for key in common])
    observed = np.array([seen.get(key, 0) for key in common])
    rare = len(tallies) - expected.sum()
    terms = (observed - expected) ** 2 / expected
    statistic = terms.sum() + ((len(tallies) - observed.sum() - rare) ** 2 / rare if rare >= 10 else 0)
    return bool(chdtrc(len(common) - (rare < 10), statistic) > FALSE_FAILURE_RATE)


def test_the_test_of_a_law_sees_a_flip_that_is_off_by_a_twentieth() -> None:
    rows, chances = report_law(BLOOM)
    off = RevealedBits(FILTERS, BLOOM.keep, BLOOM.flip * 0.95, cohorts=2)
    tallies = off.simulate(np.tile([1, 0, 0], (100_000, 1)), np.random.default_rng(5))
    assert not follows(tallies, rows, chances[:, 0])


def test_each_respondent_reveals_a_uniform_set() -> None:
    sets = uniform_subset_counts(np.ones(60_000, dtype=np.int64), 5, 2, np.random.default_rng(6))
    distinct, counts = np.unique(sets, axis=0, return_counts=True)
    assert len(distinct) == 10
    assert set(sets.sum(axis=1)) == {2}
    assert chdtrc(9, ((counts - 6000) ** 2 / 6000).sum()) > FALSE_FAILURE_RATE
    crowd = uniform_subset_counts(np.array([10**12, 0]), 4, 4, np.random.default_rng(7))
    assert crowd.tolist() == [[10**12] * 4, [0] * 4]


def test_a_million_million_respondents_are_simulated_at_once() -> None:
    counts = SOME_OF_A_COHORT.simulate(np.array([6, 3, 1]) * 10**11, np.random.default_rng(8))
    estimate = SOME_OF_A_COHORT.debias(counts / 10**12)
    deviation = 6 * np.sqrt(np.diagonal(SOME_OF_A_COHORT.covariance(np.array([0.6, 0.3, 0.1]))) / 1e12)
    assert np.all(np.abs(estimate - [0.6, 0.3, 0.1]) < deviation)


def test_differences_are_counted_within_cohorts_and_up_to_what_is_revealed() -> None:
    whole = differing_bits(FILTERS, 2, 3)
    expected = set()
    for bits, (v, w) in product(np.split(FILTERS, 2), product(range(3), repeat=2)):
        expected.add((int((bits[:, v] > bits[:, w]).sum()), int((bits[:, w] > bits[:, v]).sum())))
    assert whole == expected
    assert max(map(sum, differing_bits(FILTERS, 2, 1))) == 1
    assert differing_bits(np.eye(4), 1, 1) == {(0, 0), (1, 0), (0, 1)}


def test_covariances_of_thousands_of_slots_take_no_matrix_of_slots_by_slots() -> None:
    rng = np.random.default_rng(9)
    noise = RevealedBits((rng.random((4096, 20)) < 0.1).astype(int), 0.6, 0.4, cohorts=64)
    tracemalloc.start()
    covariance = noise.covariance(np.full(20, 0.05))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert covariance.shape == (20, 20)
    assert peak < 4096 * 4096 * 8 / 4


def test_models_compare_by_content_and_travel() -> None:
    for noise in (COHORTS, DBITFLIP):
        again = decoded(encoded(noise))
        assert noise == again == pickle.loads(pickle.dumps(noise))  # noqa: S301  # made here
        assert hash(noise) == hash(again)
        assert not pickle.loads(pickle.dumps(noise)).encoding.flags.writeable  # noqa: S301  # made here
    turned = RevealedBits(SKETCH[::-1], COHORTS.keep, COHORTS.flip, cohorts=3)
    others = [turned, RevealedBits(SKETCH, 0.8, 0.3), RevealedBits(SKETCH, 0.8, 0.3, cohorts=3, revealed=1), UNARY]
    assert all(other != COHORTS for other in others)
    assert COHORTS != "a string"
    with pytest.raises(ValueError, match="read-only"):
        COHORTS.encoding[0, 0] = 0


def test_tallies_that_cannot_be_are_refused() -> None:
    fits = np.array([1, 2, 3, 4, 3, 2])
    assert Tally(UNARY, fits, 5).n == 5
    with pytest.raises(ReportError, match="every report counts for 3"):
        Tally(UNARY, np.array([2, 2, 3, 4, 3, 2]), 5)
    with pytest.raises(ReportError, match="at most 1"):
        Tally(UNARY, np.array([6, 2, 3, 0, 2, 2]), 5)


def test_frequencies_outside_the_simplex_may_give_no_law() -> None:
    usual, far = np.array([0.5, 0.5, 0.0]), np.array([3.0, -2.0, 0.0])
    assert COHORTS.supports(np.stack([usual, far])).tolist() == [True, False]


def test_dependent_bits_identify_nothing_and_say_so() -> None:
    with pytest.raises(NotIdentifiedError, match="linearly dependent"):
        UNIDENTIFIED.debias(np.full(8, 0.25))
    with pytest.raises(NotIdentifiedError, match="linearly dependent"):
        RevealedBits(np.ones((2, 4)), 0.8, 0.3).covariance(np.full(4, 0.25))


@pytest.mark.parametrize(
    ("encoding", "options"),
    [
        (np.eye(3) * 2, {}),
        (np.eye(3)[:, :1], {}),
        (np.ones(3), {}),
        (np.zeros((0, 3)), {}),
        (np.eye(3), {"cohorts": 2}),
        (np.eye(3), {"cohorts": 0}),
        (np.eye(3), {"revealed": 4}),
        (np.eye(4), {"cohorts": 2, "revealed": 3}),
        (np.eye(3), {"keep": 1.0}),
        (np.eye(3), {"flip": 0.0}),
        (np.eye(3), {"keep": 0.3, "flip": 0.7}),
        (np.eye(3), {"keep": float("nan")}),
    ],
)
def test_parameters_that_make_no_sense_are_refused(encoding: Any, options: dict[str, Any]) -> None:
    with pytest.raises(LdpstatsError):
        RevealedBits(encoding, **({"keep": 0.8, "flip": 0.3} | options))
