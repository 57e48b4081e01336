"""Draws of whole reports: compiled kernels do exactly what their definition says, word by word."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import chdtrc
from support.comparisons import FALSE_FAILURE_RATE
from support.scripted_bytes import Script

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.unary import bit_counts, clean_padding, set_bits
from ldpstats.numbers import kernels
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import _FRACTION_BITS, _REST_BITS, _ByteDraws, _bytewise, client_draws

NUMERATORS = [0, 1, GRID // 2, GRID // 3, (1 << 48) + 1, GRID - 1, 0x44D86A5A1B2C3D4E]


def uniform_pvalue(seen: list[int]) -> float:
    expected = sum(seen) / len(seen)
    return float(chdtrc(len(seen) - 1, sum((one - expected) ** 2 / expected for one in seen)))


@pytest.mark.parametrize("k", [2, 3, 4, 8, 17, 200, 257])
def test_lies_are_uniform_over_all_integers_that_decide_them(k: int) -> None:
    lies = np.arange(1 << 16, dtype=np.uint16)
    values = np.full(lies.size, k // 2)
    answers, undecided = np.empty(lies.size, dtype=np.uint16), np.empty(lies.size, dtype=np.int64)
    found = kernels.respond(values, np.full(lies.size, 9, np.uint16), lies, 16, k, 8, answers, undecided)
    assert found == (1 << 16) % (k - 1)
    decided = np.delete(answers, undecided[:found])
    counts = np.bincount(decided, minlength=k)
    assert counts[k // 2] == 0
    assert set(np.delete(counts, k // 2).tolist()) == {(1 << 16) // (k - 1)}


def test_coins_below_the_truth_are_true_and_only_the_equal_one_is_undecided() -> None:
    coins = np.arange(1 << 16, dtype=np.uint16)
    values, lies = np.full(coins.size, 3), np.full(coins.size, 1 << 15, dtype=np.uint16)
    answers, undecided = np.empty(coins.size, dtype=np.uint8), np.empty(coins.size, dtype=np.int64)
    found = kernels.respond(values, coins, lies, 16, 5, 41_000, answers, undecided)
    assert undecided[:found].tolist() == [41_000]
    assert np.flatnonzero(answers == 3)[-1] == 40_999
    assert np.count_nonzero(answers == 3) == 41_000


@pytest.mark.parametrize(("tail", "answer"), [(4, 1), (5, 0), (6, 0)])
def test_a_tied_coin_is_decided_by_its_other_bits(tail: int, answer: int) -> None:
    coin, lie = np.array([1 << 15], np.uint16), np.array([0], np.uint16)
    rest, other = np.array([tail << 16], np.uint64), np.array([0], np.uint32)
    script = Script(coin, lie, rest, other)
    draws = _ByteDraws(script, simulated=True)
    assert draws.respond(np.array([1]), 2, GRID // 2 + 5).tolist() == [answer]
    assert script.left == b""


def test_an_unfair_lie_is_drawn_again() -> None:
    # 2^16 = 3 · 21845 + 1: of the integers times three, only 0 ends below 1
    coin, lie = np.array([0xFFFF], np.uint16), np.array([0], np.uint16)
    script = Script(coin, lie, np.array([0], np.uint64), np.array([2], np.uint32))
    assert _ByteDraws(script, simulated=True).respond(np.array([1]), 4, GRID // 2).tolist() == [3]


MANY = [(1 << 31) + 1, (1 << 31) + 2, (1 << 32) - 1, 1 << 32, (1 << 32) + 1]


@pytest.mark.parametrize("k", [1 << 31, *MANY])
def test_every_lie_among_billions_has_one_word_and_the_others_are_drawn_with_64_bits(k: int) -> None:
    lies, unfair = k - 1, (1 << 32) % (k - 1)
    for lie in (0, 1, lies // 2, lies - 2, lies - 1):
        first = -(-((lie << 32) + unfair) // lies)  # the smallest word whose product with the lies is fair there
        words = [word for word in range(first, first + 3) if word * lies >> 32 == lie and word < 1 << 32]
        assert len(words) == (1 << 32) // lies
        for word in words:
            script = Script(np.array([0xFFFF], np.uint16), np.array([word], np.uint32))
            assert _ByteDraws(script, simulated=True).respond(np.array([lies]), k, GRID // 2).tolist() == [lie]
            assert script.left == b""
    if unfair:
        rest, again = np.array([0], np.uint64), np.array([lies - 1], np.uint64 if lies > 1 << 31 else np.uint32)
        script = Script(np.array([0xFFFF], np.uint16), np.array([0], np.uint32), rest, again)
        assert _ByteDraws(script, simulated=True).respond(np.array([0]), k, GRID // 2).tolist() == [lies]
        assert script.left == b""


@pytest.mark.parametrize("bound", [1 << 31, *MANY, 1 << 62, (1 << 62) + 1, 1 << 63])
def test_uniform_draws_take_as_many_words_for_every_result(bound: int) -> None:
    bits = 32 if bound <= 1 << 31 else 64
    word, fair = np.dtype(f"u{bits // 8}"), (1 << bits) // bound * bound
    for words, expected in (([0], 0), ([bound - 1], bound - 1), ([fair - 1], bound - 1), ([bound % fair], 0)):
        script = Script(np.array(words, word))
        assert _ByteDraws(script, simulated=True).uniform(bound, 1).tolist() == [expected]
        assert script.left == b""
    if fair < 1 << bits:
        script = Script(np.array([fair], word), np.array([(1 << bits) - 1], word), np.array([7], word))
        assert _ByteDraws(script, simulated=True).uniform(bound, 1).tolist() == [7]
        assert script.left == b""


def test_draws_that_no_word_reaches_are_refused_before_a_coin_is_tossed() -> None:
    draws, nobody = _ByteDraws(Script(), simulated=True), np.zeros(1, dtype=np.int64)
    for k in (1, (1 << 32) + 2, 1 << 62):
        with pytest.raises(LdpstatsError, match="a response out of"):
            draws.respond(nobody, k, GRID // 2)
    with pytest.raises(LdpstatsError, match="a set out of"):
        draws.subsets(nobody, (1 << 32) + 1, 2, nobody > 0)


@pytest.mark.parametrize("numerator", NUMERATORS)
def test_bytes_have_exactly_the_law_of_eight_independent_bits(numerator: int) -> None:
    bytewise = _bytewise(numerator)
    lengths = np.diff([0, *bytewise.uppers])
    entries = np.bincount(bytewise.table, minlength=256)
    for byte in range(256):
        ones = byte.bit_count()
        measure = int(entries[byte]) * (1 << _FRACTION_BITS) + int(lengths[byte])
        assert measure == numerator**ones * (GRID - numerator) ** (8 - ones)
    assert bytewise.uppers[-1] == (1 << 16) - bytewise.decided << _FRACTION_BITS


def test_undecided_bytes_are_looked_up_among_the_uppers_to_the_last_bit() -> None:
    bytewise = _bytewise(GRID // 3)
    byte = next(i for i in range(20, 256) if bytewise.uppers[i] - bytewise.uppers[i - 1] > 1 << _REST_BITS)
    upper = bytewise.uppers[byte]
    for place, expected in ((upper - 1, byte), (upper, byte + 1)):
        cell, fraction = divmod(place, 1 << _FRACTION_BITS)
        first, rest = divmod(fraction, 1 << _REST_BITS)
        tie = rest.to_bytes(_REST_BITS // 8, "big") if first == upper >> _REST_BITS & (1 << 48) - 1 else b""
        draw = np.array([bytewise.decided + cell], np.uint16)
        script = Script(draw, np.array([first << 16], np.uint64), tie)
        assert _ByteDraws(script, simulated=True).bits(GRID // 3, 1, 8).tolist() == [[expected]]
        assert script.left == b""


@pytest.mark.parametrize("width", [1, 3, 8, 13, 64, 100])
def test_rows_of_bits_are_packed_without_padding(width: int) -> None:
    rows = client_draws(3).bits(GRID - 1, 50, width)
    assert rows.shape == (50, -(-width // 8))
    assert clean_padding(rows, width).all()
    assert bit_counts(rows, width).tolist() == [50] * width


def test_neighbouring_bits_are_independent() -> None:
    rows = client_draws(4).bits(GRID // 2, 100_000, 16)
    patterns = np.bincount(rows[:, 0].astype(int) << 8 | rows[:, 1], minlength=1 << 16)
    assert uniform_pvalue(patterns.tolist()) > FALSE_FAILURE_RATE


@given(st.integers(1, 300), st.integers(0, 700), st.integers(0, 2**32))
def test_bit_counts_are_those_of_unpacked_bits(width: int, n: int, seed: int) -> None:
    bits = np.random.default_rng(seed).random((n, width)) < 0.3
    assert np.array_equal(bit_counts(np.packbits(bits, axis=1), width), bits.sum(axis=0))


def test_one_bit_of_each_row_is_set_and_the_others_stay() -> None:
    rng = np.random.default_rng(5)
    bits = rng.random((400, 21)) < 0.5
    places, own = rng.integers(0, 21, 400), rng.random(400) < 0.5
    rows = np.packbits(bits, axis=1)
    set_bits(rows, places, own)
    bits[np.arange(400), places] = own
    assert np.array_equal(rows, np.packbits(bits, axis=1))


@pytest.mark.parametrize(("k", "size"), [(2, 1), (5, 2), (6, 5), (7, 3), (8, 7)])
def test_sets_are_uniform_given_whether_they_hold_their_own_value(k: int, size: int) -> None:
    n, own = 60_000, k // 2
    holds = np.arange(n) % 2 == 0
    sets = client_draws(6).subsets(np.full(n, own), k, size, holds)
    others = [value for value in range(k) if value != own]
    for held in (True, False):
        seen = Counter(map(tuple, sets[holds == held].tolist()))
        possible = [tuple(sorted([*some, *[own] * held])) for some in combinations(others, size - held)]
        assert set(seen) <= set(possible)
        if len(possible) > 1:
            assert uniform_pvalue([seen[one] for one in possible]) > FALSE_FAILURE_RATE


@pytest.mark.parametrize(("k", "size"), [(64, 20), (65, 64), (1000, 3), (1000, 990), (1024, 275), (1024, 900)])
def test_pairs_of_members_of_large_sets_are_equally_frequent(k: int, size: int) -> None:
    n = 4000
    sets = client_draws(7).subsets(np.full(n, 5), k, size, np.zeros(n, dtype=bool))
    assert np.all(np.diff(sets.astype(int), axis=1) > 0)
    assert not np.any(sets == 5)
    share = comb(k - 2, size - 1) / comb(k - 1, size)
    counts = np.delete(np.bincount(sets.ravel(), minlength=k), 5)
    # 7 standard deviations: below 1e-8 for all values together
    assert np.all(np.abs(counts - n * share) <= 7 * np.sqrt(n * share * (1 - share)) + 1)
    first, last = np.any(sets == 0, axis=1), np.any(sets == k - 1, axis=1)
    both = share * (size - 1) / (k - 2)
    assert abs(np.count_nonzero(first & last) - n * both) <= 5 * np.sqrt(n * both) + 1


def test_a_shortage_of_words_only_delays_a_set() -> None:
    words = np.random.default_rng(8).integers(0, GRID - 1, size=400, dtype=np.uint64, endpoint=True)
    own, sizes, digits = np.zeros(40, dtype=np.int64), np.full(40, 30), np.array([1], dtype=np.int64)
    rows = np.zeros((40, 1), dtype=np.uint64)
    filled = kernels.fill_subsets(own, sizes, 64, digits, words[:60], rows, 0)
    assert 0 < filled < 40
    assert kernels.fill_subsets(own, sizes, 64, digits, words[60:], rows, filled) == 40
    assert bit_counts(rows.view(np.uint8), 64).sum() == 40 * 30


def test_picks_follow_the_cumulated_weights_to_the_last_word() -> None:
    weights = (5, GRID - 12, 0, 7)
    words = np.array([0, 4, 5, GRID - 8, GRID - 7, GRID - 1], dtype=np.uint64)
    draws = _ByteDraws(Script(words), simulated=True)
    assert draws.pick(weights, 6).tolist() == [0, 0, 1, 1, 3, 3]
    assert _ByteDraws(Script(words), simulated=True).pick((0, GRID), 6).tolist() == [1] * 6


@pytest.mark.parametrize("weights", [(1, 2), (-1, GRID + 1), (GRID, 1)])
def test_weights_that_are_no_law_are_refused(weights: tuple[int, ...]) -> None:
    with pytest.raises(LdpstatsError, match="weights"):
        client_draws(1).pick(weights, 3)


def test_no_respondents_take_no_draws() -> None:
    draws = _ByteDraws(Script(), simulated=True)
    nobody = np.zeros(0, dtype=np.int64)
    assert draws.respond(nobody, 5, 9).shape == (0,)
    assert draws.bits(9, 0, 12).shape == (0, 2)
    assert draws.subsets(nobody, 6, 2, nobody > 0).shape == (0, 2)
    assert draws.hash_seeds(0, 6, 2).shape == (0, 2)


def test_kernels_work_where_nothing_can_be_written() -> None:
    nowhere = """
from numba.core import caching
caching.CompileResultCacheImpl._locator_classes = []
from ldpstats.mechanisms import GRR
assert GRR(4, 60.0).privatize([0, 1, 2, 3], rng=1).data.tolist() == [0, 1, 2, 3]
"""
    done = subprocess.run([sys.executable, "-c", nowhere], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("size", [0, 1, 5, 63, 64, 70, 200, 1001])
def test_ends_of_windows_are_those_that_the_definition_chooses(size: int) -> None:
    words = np.random.default_rng(size).integers(0, 1 << 64, size, dtype=np.uint64)
    below = (1 << 64) - 1 >> 2

    def rolled(end: int) -> int:
        return sum(int(words[end - age]) << age for age in range(min(64, end + 1))) % (1 << 64)

    for start in sorted({0, min(3, size), size // 2, size}):
        ends = np.zeros(size, dtype=np.int64)
        number = kernels.find_ends(words, start, np.uint64(below), ends)
        wanted = [end for end in range(start, size) if rolled(end) <= below]
        assert sorted(ends[:number].tolist()) == wanted
        found = np.zeros((number, 3), dtype=np.uint64)
        kernels.hash_windows(words, ends[:number], 1, found)
        assert [int(one) for one in found[:, 2]] == [rolled(end) for end in ends[:number].tolist()]


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_fields_are_those_between_commas(columns: int) -> None:
    rng = np.random.default_rng(columns)
    lines = ["".join(rng.choice(list("ab,,1"), rng.integers(0, 9))) for _ in range(400)]
    text = np.frombuffer("".join(f"{line}\n" for line in lines).encode(), dtype=np.uint8)
    bounds = np.zeros((len(lines), columns + 1), dtype=np.int64)
    assert kernels.find_fields(text, bounds) == len(lines)
    for line, (start, *ends) in zip(lines, bounds.tolist(), strict=True):
        fields = line.split(",")
        if len(fields) == columns:
            places = [start, *ends]
            found = [bytes(text[places[i] : places[i + 1] - 1]).decode() for i in range(columns)]
            assert found == fields
        else:
            assert ends[0] == -1 or columns == 1


def test_whole_numbers_are_read_as_they_are_written() -> None:
    texts = ["0", "7", "10", "007", "", "-1", "1.0", " 1", "9" * 18, "9" * 19, "1e3", "x", "１"]
    ends = np.cumsum([len(text.encode()) for text in texts])
    found = np.zeros(len(texts), dtype=np.int64)
    data = np.frombuffer("".join(texts).encode(), dtype=np.uint8)
    kernels.read_numbers(data, np.append(0, ends[:-1]), ends, found)
    assert found.tolist() == [0, 7, 10, -1, -1, -1, -1, -1, 10**18 - 1, -1, -1, -1, -1]


def test_bytes_are_read_as_they_are_written_and_nothing_else_is() -> None:
    texts = ["x0a1b2c", "x0A1b2c", "0a1b2c0", "x0a1b2", "x0a1b2c3", "x0a1b2g", "", "x0a 1b2"]
    ends = np.cumsum([len(text) for text in texts])
    found, fine = np.zeros((len(texts), 3), dtype=np.uint8), np.zeros(len(texts), dtype=np.bool_)
    data = np.frombuffer("".join(texts).encode(), dtype=np.uint8)
    kernels.read_bytes(data, np.append(0, ends[:-1]), ends, np.full(len(texts), 3), found, fine)
    assert fine.tolist() == [True] + [False] * 7
    assert found[0].tolist() == [0x0A, 0x1B, 0x2C]


def test_pieces_are_copied_from_where_they_begin() -> None:
    data, starts, ends = np.arange(100, dtype=np.uint8), np.array([3, 0, 95]), np.array([8, 2, 95])
    out = np.full((3, 5), 255, dtype=np.uint8)
    kernels.copy_pieces(data, starts, ends, out)
    assert out.tolist() == [[3, 4, 5, 6, 7], [0, 1, 255, 255, 255], [255] * 5]


def test_keys_keep_their_first_value() -> None:
    rng = np.random.default_rng(2)
    table, values = np.zeros((256, 2), dtype=np.uint64), np.zeros(256, dtype=np.uint32)
    known: dict[tuple[int, int], int] = {}
    for _ in range(20):
        keys = rng.integers(1, 12, (30, 2), dtype=np.uint64)
        own, found = rng.integers(0, 9, 30, dtype=np.uint32), np.zeros(30, dtype=np.int64)
        before = len(known)
        new = kernels.insert_keys(table, values, keys, own, found)
        for key, value, was in zip(map(tuple, keys.tolist()), own.tolist(), found.tolist(), strict=True):
            assert was == known.get(key, -1)
            known.setdefault(key, value)
        assert new == len(known) - before
