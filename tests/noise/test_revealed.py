"""Revealed bits agree with brute force: every set of slots and every answer written out."""

from __future__ import annotations

import pickle
import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import chdtrc
from support.comparisons import FALSE_FAILURE_RATE, close, some_frequencies
from support.revealed_bits import COHORTS, FILTERS, REVEALED, SKETCH, UNARY, UNIDENTIFIED

from ldpstats.errors import LdpstatsError, NotIdentifiedError, ReportError
from ldpstats.noise import SupportNoise, Tally
from ldpstats.noise.revealed import RevealedBits, differing_bits
from ldpstats.noise.subsets import uniform_subset_counts


@pytest.mark.parametrize("noise", [one for name, one in REVEALED.items() if name != "unidentified"], ids=str)
def test_slots_estimate_the_shares_that_set_them(noise: RevealedBits) -> None:
    frequencies = some_frequencies(noise.cells)
    assert close(noise.slot_estimates(noise.mean(frequencies)), frequencies @ noise.encoding.T)
    assert not noise.has_likelihood


def test_the_identity_is_not_solved_for_and_plain_unary_encoding_is_support_noise() -> None:
    frequencies = some_frequencies(3)
    support = SupportNoise.independent(3, UNARY.keep, UNARY.flip)
    assert close(UNARY.covariance(frequencies), support.covariance(frequencies))
    shares = np.random.default_rng(2).random((4, 6))
    assert np.array_equal(UNARY.debias(shares), UNARY.slot_estimates(shares))
    sent = np.array([0.3, 0.5, 0.4])
    assert close(UNARY.debias(np.concatenate([sent, 1 - sent])), support.debias(sent))


def test_each_respondent_reveals_a_uniform_set() -> None:
    sets = uniform_subset_counts(np.ones(60_000, dtype=np.int64), 5, 2, np.random.default_rng(6))
    distinct, counts = np.unique(sets, axis=0, return_counts=True)
    assert len(distinct) == 10
    assert set(sets.sum(axis=1)) == {2}
    assert chdtrc(9, ((counts - 6000) ** 2 / 6000).sum()) > FALSE_FAILURE_RATE
    crowd = uniform_subset_counts(np.array([10**12, 0]), 4, 4, np.random.default_rng(7))
    assert crowd.tolist() == [[10**12] * 4, [0] * 4]


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


def test_models_compare_by_content_and_cannot_be_changed() -> None:
    assert not pickle.loads(pickle.dumps(COHORTS)).encoding.flags.writeable  # noqa: S301  # made here
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
