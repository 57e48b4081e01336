"""The draws are exact on their grid, and secure by default."""

from __future__ import annotations

import os
from collections import Counter
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st
from numpy.typing import NDArray
from scipy.special import chdtrc
from support.comparisons import FALSE_FAILURE_RATE
from support.scripted_bytes import Script

from ldpstats.errors import LdpstatsError
from ldpstats.numbers import randomness
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import _ByteDraws, client_draws, generator, permutation

TAIL = (1 << 48) - 1
THRESHOLDS = [base + step for base in (1, 1 << 48, 1 << 49, GRID // 2, 0xFFFF << 48, GRID - 2) for step in (-1, 0, 1)]


def bernoulli_of_words(words: list[int], numerator: int, junk: int = 0, shape: Any = None) -> NDArray[np.bool_]:
    """Feed words of the 64-bit grid: 16 bits of each at first, the other 48 where those tie with the numerator's."""
    first = [word >> 48 for word in words]
    rest = [(word & TAIL) << 16 | junk for word in words if word >> 48 == numerator >> 48]
    script = Script(np.array(first, dtype=np.uint16), np.array(rest, dtype=np.uint64))
    drawn = _ByteDraws(script, simulated=True).bernoulli(numerator, len(words) if shape is None else shape)
    assert script.left == b""
    return drawn


@pytest.mark.parametrize("junk", [0, 0xFFFF])
@pytest.mark.parametrize("numerator", THRESHOLDS)
def test_bernoulli_is_true_exactly_below_its_numerator(numerator: int, junk: int) -> None:
    # With the comparison exact at the threshold, just `numerator` of the 2^64 equally likely words are true.
    near = [numerator + step for step in (-(1 << 48), -2, -1, 0, 1, 1 << 48)]
    words = [word for word in [0, 1, TAIL, TAIL + 1, GRID - 1, *near] if 0 <= word < GRID]
    assert bernoulli_of_words(words, numerator, junk).tolist() == [word < numerator for word in words]


def test_certainty_takes_no_bytes() -> None:
    assert _ByteDraws(Script(), simulated=True).bernoulli(GRID, (2, 3)).tolist() == [[True] * 3] * 2


@given(st.integers(0, GRID - 1), st.lists(st.integers(0, GRID - 1), max_size=6), st.booleans())
def test_bernoulli_compares_whole_words(numerator: int, words: list[int], shifted: bool) -> None:
    near = [min(numerator ^ (word & TAIL), GRID - 1) for word in words] if shifted else words
    assert bernoulli_of_words(near, numerator).tolist() == [word < numerator for word in near]


def test_a_tie_of_a_single_draw_is_decided_by_its_other_bits() -> None:
    half_and_more = GRID // 2 + 5
    assert bernoulli_of_words([half_and_more - 1], half_and_more, shape=()).item() is True
    assert bernoulli_of_words([half_and_more], half_and_more, shape=(1, 1)).tolist() == [[False]]


@pytest.mark.parametrize("numerator", [-1, GRID + 1])
def test_what_is_no_probability_is_refused(numerator: int) -> None:
    with pytest.raises(LdpstatsError, match="numerators from 0"):
        client_draws(1).bernoulli(numerator, 3)


@given(st.integers(1, 1 << 31))
@example(1)
@example(3)
@example(1 << 31)
@example((1 << 31) - 1)
def test_uniform_rejects_exactly_the_words_beyond_the_last_full_round(bound: int) -> None:
    # Every result then has the same number of accepted words, 2^32 // bound.
    fair = (1 << 32) // bound * bound
    unfair = [word for word in (fair, (1 << 32) - 1) if fair <= word < 1 << 32]
    words = [0, bound - 1, fair - bound, fair - 1, *unfair]
    script = Script(np.array(words, dtype=np.uint32), np.array([bound // 2] * len(unfair), dtype=np.uint32))
    drawn = _ByteDraws(script, simulated=True).uniform(bound, len(words))
    assert drawn.tolist() == [0, bound - 1, 0, bound - 1] + [bound // 2] * len(unfair)
    assert script.left == b""


def test_uniform_redraws_until_every_word_is_fair() -> None:
    worst = (1 << 32) - 1
    script = Script(
        np.array([[7, worst], [worst, 8]], dtype=np.uint32), np.array([worst, 4, worst, 5], dtype=np.uint32)
    )
    assert _ByteDraws(script, simulated=True).uniform(3, (2, 2)).tolist() == [[1, 2], [1, 2]]


@pytest.mark.parametrize("bound", [0, -1, (1 << 63) + 1])
def test_uniform_refuses_bounds_it_cannot_serve(bound: int) -> None:
    with pytest.raises(LdpstatsError, match="uniform draw below"):
        client_draws(1).uniform(bound, 1)


class Keys:
    """Draws whose 62-bit keys are given."""

    simulated = True

    def __init__(self, *keys: tuple[int, ...]) -> None:
        self._halves = [half for key in keys for half in (np.array(key) >> 31, np.array(key) & ((1 << 31) - 1))]

    def uniform(self, bound: int, shape: object) -> NDArray[np.int64]:
        half = self._halves.pop(0)
        assert (bound, shape) == (1 << 31, half.size)
        return half


def test_each_order_of_the_keys_gives_its_own_permutation() -> None:
    keys = (3, 1 << 31, (1 << 31) + 1, (1 << 62) - 1)
    orders = {tuple(permutation(Keys(shuffled), 4).tolist()) for shuffled in permutations(keys)}
    assert orders == set(permutations(range(4)))


def test_equal_keys_are_drawn_again() -> None:
    assert permutation(Keys((5, 9, 5), (7, 7, 7), (2, 1, 0)), 3).tolist() == [2, 1, 0]
    assert permutation(client_draws(1), 0).tolist() == []


def test_permutations_of_four_are_equally_likely() -> None:
    draws, n = client_draws(4), 12_000
    seen = Counter(tuple(permutation(draws, 4).tolist()) for _ in range(n))
    statistic = sum((seen[order] - n / 24) ** 2 / (n / 24) for order in permutations(range(4)))
    assert chdtrc(23, statistic) > FALSE_FAILURE_RATE


def test_randomness_is_the_operating_systems_unless_a_seed_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    assert randomness.urandom is os.urandom
    monkeypatch.setattr(randomness, "urandom", lambda count: asked.append(count) or b"\0" * count)
    secure = client_draws()
    assert not secure.simulated
    assert secure.uniform(10, 5).tolist() == [0] * 5
    assert asked == [20]
    for seeded in (client_draws(0), client_draws(np.random.default_rng(1)), client_draws(np.random.SeedSequence(2))):
        assert seeded.simulated
        assert seeded.uniform(1 << 31, 4).any()
    assert asked == [20]


def test_seeds_reproduce_and_generators_move_on() -> None:
    assert np.array_equal(client_draws(3).uniform(1000, 9), client_draws(3).uniform(1000, 9))
    shared = np.random.default_rng(3)
    assert generator(shared) is shared
    assert not np.array_equal(client_draws(shared).uniform(1000, 9), client_draws(shared).uniform(1000, 9))
    assert generator().bit_generator.state != generator().bit_generator.state


@pytest.mark.parametrize("rng", [True, False, np.True_, -1, 1.5, "1", np.random, np.random.RandomState(1)])
def test_other_sources_of_chance_are_refused(rng: Any) -> None:
    for use in (generator, client_draws):
        with pytest.raises(LdpstatsError, match="rng = "):
            use(rng)
