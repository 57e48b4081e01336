"""Counts of random subsets: the law of a split, to the last digits, and of the tallies that are made of it."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.special import chdtrc
from scipy.stats import multinomial

import ldpstats as ldp
from ldpstats.noise import SupportNoise
from ldpstats.numbers import kernels

FALSE_FAILURE_RATE = 1e-7


@pytest.mark.parametrize(
    ("near", "far", "size"),
    [(1, 1, 1), (0, 3, 2), (3, 0, 2), (5, 7, 12), (31, 32, 32), (512, 512, 122), (2048, 2048, 1546), (2047, 2048, 74)],
)
def test_members_on_one_side_are_hypergeometric_to_the_last_digits(near: int, far: int, size: int) -> None:
    numbers, rest = kernels._hypergeometric(near, far, size)
    assert sorted(numbers) == list(range(max(0, size - far), min(near, size) + 1))
    tail = Fraction(0)
    for number, later in zip(numbers[::-1].tolist(), (rest[-2::-1] / rest[0]).tolist(), strict=True):
        tail += Fraction(comb(near, number) * comb(far, size - number), comb(near + far, size))
        assert tail < 1e-200 or later == pytest.approx(float(tail), rel=1e-14)


def test_compiled_draws_are_those_of_numpy() -> None:
    """The compiled binomial sampler is another one: in numba 0.60 and before it was wrong."""
    counts = np.random.default_rng(1).integers(0, 10 ** np.arange(1, 10)[:, None], size=(5, 9, 9, 20)).max(axis=2)
    counts[:, ::2] %= 50
    near, far = np.array([1, 4, 8, 20, 30]), np.array([9, 5, 8, 20, 31])
    drawn = []
    for split in (kernels.split_subsets, kernels.split_subsets.py_func):
        rng, here, there = np.random.default_rng(2), np.zeros((5, 9, 20), np.int64), np.zeros((5, 10, 20), np.int64)
        split(counts, near, far, rng, here, there)
        drawn.append((here, there, rng.bit_generator.state["state"]["state"]))
    for compiled, interpreted in zip(*drawn, strict=True):
        np.testing.assert_array_equal(compiled, interpreted)
    sizes = np.arange(9)[:, None]
    here, there, _ = drawn[0]
    np.testing.assert_array_equal(here.sum(axis=1), counts.sum(axis=1))
    members = (here * sizes).sum(axis=1) + (there * np.arange(10)[:, None]).sum(axis=1)
    np.testing.assert_array_equal(members, (counts * sizes).sum(axis=1))


def test_what_all_values_but_one_miss_is_multinomial() -> None:
    noise, frequencies, n = SupportNoise.subset(3, 0.8, 2), np.array([0.5, 0.5, 0.0]), 40
    missed = n - noise.draw(frequencies, n, 100_000, np.random.default_rng(3))
    outcomes, seen = np.unique(missed, axis=0, return_counts=True)
    expected = len(missed) * multinomial.pmf(outcomes, n, 1 - noise.mean(frequencies))
    common = expected >= 10
    rest = len(missed) - expected[common].sum()
    statistic = ((seen - expected) ** 2 / expected)[common].sum() + (seen[~common].sum() - rest) ** 2 / rest
    assert chdtrc(common.sum(), statistic) > FALSE_FAILURE_RATE


def test_no_tables_are_drawn_where_none_are_asked_for() -> None:
    assert ldp.SS(8, 1.0).noise.draw(np.full(8, 1 / 8), 10, 0, np.random.default_rng(1)).shape == (0, 8)
