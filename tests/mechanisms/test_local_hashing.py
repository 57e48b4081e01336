"""Local hashing: the hash family keeps its law, and the mechanisms count, choose and send what they say."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import chdtrc
from support.comparisons import FALSE_FAILURE_RATE

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.local_hashing import LH, OLH, best_symbols
from ldpstats.numbers import kernels
from ldpstats.numbers.hashing import LARGEST_SYMBOLS, support_counts, symbols_of

SEEDS = np.random.default_rng(1).integers(0, (1 << 64) - 1, size=(1 << 18, 2), dtype=np.uint64, endpoint=True)
WORD, HASH = 1 << 64, 1 << 32
E = math.e

Words = NDArray[np.uint64]


def symbols(value: int, g: int, seeds: Words = SEEDS) -> NDArray[np.int64]:
    return symbols_of(seeds, np.full(len(seeds), value), g)


def uniform_pvalue(seen: NDArray[np.int64], cells: int) -> float:
    counts, expected = np.bincount(seen, minlength=cells), seen.size / cells
    return float(chdtrc(cells - 1, float(((counts - expected) ** 2 / expected).sum())))


def scattered(bits: int) -> int:
    """Scatter 32 bits as the kernel says it does, in whole numbers that cannot wrap by accident."""
    bits ^= bits >> 16
    bits = bits * 0x7FEB352D % HASH
    bits ^= bits >> 15
    bits = bits * 0x846CA68B % HASH
    return bits ^ bits >> 16


def gathered(bits: int) -> int:
    """Undo `scattered`; that this can be done makes it a bijection."""
    bits ^= bits >> 16
    bits = bits * pow(0x846CA68B, -1, HASH) % HASH
    bits ^= bits >> 15 ^ bits >> 30
    bits = bits * pow(0x7FEB352D, -1, HASH) % HASH
    return bits ^ bits >> 16


@pytest.mark.parametrize("value", [0, 1, 2, 999, (1 << 31) - 1])
def test_a_hash_value_is_the_scattered_upper_half_of_an_affine_map(value: int) -> None:
    found = np.empty(1000, dtype=np.uint32)
    kernels.hash_values(SEEDS[:1000], np.full(1000, value), found)
    expected = [scattered((int(factor) * value + int(offset)) % WORD >> 32) for factor, offset in SEEDS[:1000]]
    assert found.tolist() == expected
    assert [scattered(gathered(bits)) for bits in expected] == expected


@pytest.mark.parametrize("g", [2, 3, 4, 7, 1000, LARGEST_SYMBOLS - 1, LARGEST_SYMBOLS])
def test_client_and_server_agree_on_the_first_and_last_hash_of_a_symbol(g: int) -> None:
    answers = np.array([0, 1, g // 2, g - 1])
    first = [-(-int(one) * HASH // g) for one in answers]
    last = [-(-int(one + 1) * HASH // g) - 1 for one in answers]
    for edge in (first, last):
        # of the value 0 the hash is the scattered upper half of the offset
        seeds = np.array([[0, gathered(bits) << 32] for bits in edge], dtype=np.uint64)
        assert symbols(0, g, seeds).tolist() == answers.tolist()
        assert support_counts(seeds, answers.astype(np.uint64), 1, g).tolist() == [4]
        others = ((answers + 1) % g).astype(np.uint64)
        assert support_counts(seeds, others, 1, g).tolist() == [0]


@pytest.mark.parametrize("g", [2, 3, 5, 6, 149, LARGEST_SYMBOLS - 1, LARGEST_SYMBOLS])
def test_two_values_collide_once_in_g_up_to_the_stated_excess(g: int) -> None:
    edges = [-(-symbol * HASH // g) for symbol in range(g + 1)]
    collision = Fraction(sum((upper - lower) ** 2 for lower, upper in pairwise(edges)), HASH**2)
    assert 0 <= collision - Fraction(1, g) <= Fraction(g, WORD)


def scaled_down(value: int) -> NDArray[np.int64]:
    """Return the upper 4 of 8 bits of all the affine maps of a value, as the hash has the upper 32 of 64."""
    factor, offset = np.indices((256, 256)).reshape(2, -1)
    return (factor * value + offset) % 256 >> 4


def test_a_scaled_down_affine_map_makes_any_two_values_exactly_independent() -> None:
    # the theorem covers values below 2^(8 - 4 + 1) here, and below 2^(64 - 32 + 1) in the hash
    for one, other in combinations([scaled_down(value) for value in range(32)], 2):
        assert set(np.bincount(16 * one + other, minlength=256)) == {256}


def test_the_scaled_down_affine_map_fails_just_beyond_its_theorem() -> None:
    assert set(np.bincount(16 * scaled_down(0) + scaled_down(32), minlength=256)) == {0, 512}


PAIRS = [(0, 1), (1, 2), (998, 999), (0, 2), (0, 64), (5, 5 + (1 << 10)), (0, 1 << 16), (3, 3 + (1 << 20))]
TRIPLES = [(0, 1, 2), (1, 2, 3), (0, 1, 3), (1, 2, 4), (0, 500, 999), (0, 1, 1 << 10), (0, 1 << 16, 1 << 17)]
TRIPLES += [(7, 7 + (1 << 20), 7 + (2 << 20))]


@pytest.mark.parametrize(("g", "values"), [*product([2, 3, 4, 17], PAIRS), *product([2, 3, 4, 8], TRIPLES)], ids=str)
def test_symbols_of_two_and_three_values_are_uniform_and_independent(g: int, values: tuple[int, ...]) -> None:
    together = sum(g**place * symbols(value, g) for place, value in enumerate(values))
    assert uniform_pvalue(together, g ** len(values)) > FALSE_FAILURE_RATE


def test_without_scattering_three_values_in_a_row_would_depend_on_each_other() -> None:
    upper = [(SEEDS[:, 0] * np.uint64(value) + SEEDS[:, 1]) >> np.uint64(62) for value in range(3)]
    assert uniform_pvalue((16 * upper[0] + 4 * upper[1] + upper[2]).astype(np.int64), 64) < FALSE_FAILURE_RATE


def rare_variance(epsilon: float, g: int) -> float:
    return (math.exp(epsilon) + g - 1) ** 2 / ((g - 1) * math.expm1(epsilon) ** 2)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, 4.7, 6.0])
def test_no_number_of_symbols_has_less_variance_for_rare_values(epsilon: float) -> None:
    g = best_symbols(epsilon)
    assert min(range(2, 1000), key=lambda one: rare_variance(epsilon, one)) == g
    assert g - math.floor(math.exp(epsilon) + 1) in (0, 1)
    assert OLH(7, epsilon).variance(0, 10) == pytest.approx(rare_variance(epsilon, g) / 10, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "excess"), [(0.5, 0.0094), (1.0, 0.0025), (2.0, 0.0008), (4.0, 0.0001)])
def test_the_variance_is_hardly_above_that_of_a_fractional_number_of_symbols(epsilon: float, excess: float) -> None:
    ideal = 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2
    assert 0 <= OLH(1000, epsilon).variance(0, 1) / ideal - 1 < excess


def test_the_number_of_symbols_has_a_limit() -> None:
    assert best_symbols(11.0) == round(math.exp(11) + 1)
    assert best_symbols(12.0) == best_symbols(1e6) == LARGEST_SYMBOLS
    assert OLH(3, 60.0).report_bits == 128 + 16


def test_the_estimate_is_the_surveys_for_any_number_of_symbols_and_not_its_formula_for_olh() -> None:
    mechanism, n = LH(20, 1.0, symbols=3), 1000
    tally = mechanism.simulate(np.full(20, n // 20), rng=6)
    any_g = (3 * tally.counts / n - 1) * (E + 2) / (3 * E - E - 3 + 1)
    np.testing.assert_allclose(mechanism.estimate(tally).estimate, any_g, rtol=1e-12)
    printed = 2 * (3 * tally.counts - n) / (n * (E - 1))
    np.testing.assert_allclose(printed / any_g, 4 / (E + 2), rtol=1e-12)
    assert round(4 / (E + 2), 3) == 0.848


def test_without_symbols_lh_is_olh() -> None:
    assert LH(9, 1.0).symbols == 4
    assert LH(9, 1.0).noise == OLH(9, 1.0).noise


@pytest.mark.parametrize("g", [0, 1, 2.0, True, "3", LARGEST_SYMBOLS + 1])
def test_impossible_numbers_of_symbols_are_refused(g: Any) -> None:
    with pytest.raises(LdpstatsError, match="symbols"):
        LH(4, 1.0, symbols=g)
