"""Kernels: the hot loops, compiled with numba; random words, or the generator of a simulation, are handed to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray


def compiled(kernel: Callable[..., Any]) -> Any:
    """Compile a kernel to run without the GIL, and keep that for later runs where there is a place to write it to.

    Kernels must touch nothing but arrays: other threads go on meanwhile.
    """
    try:
        return njit(cache=True, nogil=True)(kernel)
    except RuntimeError:  # numba found no such place
        return njit(nogil=True)(kernel)


_BLOCK = 1 << 12
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little")
_PLACES = np.argsort(1 - _BITS, axis=1, kind="stable").astype(np.uint8)
"""For every byte, the places of its set bits in increasing order, then those of the others."""
_NUMBER = _BITS.sum(axis=1, dtype=np.uint8)
"""For every byte, how many bits are set."""
_FEW = 16
"""So many subsets are sooner drawn one by one than split by binomial draws."""
FEWEST_CHANGES = 16
"""Windows in which fewer words differ from the next have no order of their own, as where they are sorted."""


@compiled
def respond(
    values: NDArray[np.int64],
    coins: NDArray[np.uint16],
    lies: NDArray[Any],
    lie_bits: int,
    k: int,
    truth: int,
    out: NDArray[Any],
    undecided: NDArray[np.int64],
) -> int:
    """Randomized response: answer truly where the coin is below `truth`, else with one of the k - 1 other values.

    A lie is the product of a random integer of `lie_bits` bits with k - 1, without its last `lie_bits` bits (Lemire
    2019). Returns how many answers this leaves undecided, and which: a coin that equals `truth`, or a lie from the part
    of the integers that would favour some values.
    """
    unfair, mask, left_open = (1 << lie_bits) % (k - 1), np.uint64((1 << lie_bits) - 1), 0
    for start in range(0, values.size, _BLOCK):
        stop = min(start + _BLOCK, values.size)
        block, coin, lie = values[start:stop], coins[start:stop], lies[start:stop]
        if _respond_at_once(block, coin, lie, lie_bits, k, truth, out[start:stop]):
            for i in range(block.size):
                skewed = (np.uint64(lie[i]) * np.uint64(k - 1) & mask) < unfair
                if coin[i] == truth or (skewed and coin[i] > truth):
                    undecided[left_open] = start + i
                    left_open += 1
    return left_open


@compiled
def _respond_at_once(
    values: NDArray[np.int64],
    coins: NDArray[np.uint16],
    lies: NDArray[Any],
    lie_bits: int,
    k: int,
    truth: int,
    out: NDArray[Any],
) -> int:
    """Answer without branches, which compiles to vector instructions; return how many may be undecided."""
    others, mask = np.uint64(k - 1), np.uint64((1 << lie_bits) - 1)
    unfair, shift, doubtful = np.uint64((1 << lie_bits) % (k - 1)), np.uint64(lie_bits), np.int64(0)
    for i in range(values.size):
        product = np.uint64(lies[i]) * others
        lie = np.int64(product >> shift)
        lie += np.int64(lie >= values[i])
        doubtful += np.int64((coins[i] == truth) | ((product & mask) < unfair))
        out[i] = values[i] if coins[i] < truth else lie
    return int(doubtful)


@compiled
def look_up(
    draws: NDArray[np.uint16],
    table: NDArray[np.uint8],
    decided: int,
    out: NDArray[np.uint8],
    undecided: NDArray[np.int64],
) -> int:
    """Translate draws below `decided` by the table; return how many others there are, and write which."""
    left_open = 0
    for i in range(draws.size):
        if draws[i] < decided:
            out[i] = table[draws[i]]
        else:
            undecided[left_open] = i
            left_open += 1
    return left_open


@compiled
def fill_subsets(
    values: NDArray[np.int64],
    sizes: NDArray[np.int64],
    k: int,
    digits: NDArray[np.int64],
    words: NDArray[np.uint64],
    rows: NDArray[np.uint64],
    first: int,
) -> int:
    """Fill bit rows, from row `first` on, with uniformly random sets of the k values but the row's own one.

    Each bit is set with the probability whose binary `digits` are given, the last one first; then random values are put
    in, or taken out, until the size is right. All steps treat the other values alike, so the set is uniform given its
    size. Returns the first row that is not filled, for want of words.
    """
    used = 0
    for i in range(first, values.size):
        if used + digits.size * rows.shape[1] > words.size:
            return i
        used, ones = _scatter(rows[i], k, values[i], digits, words, used)
        used = _complete(rows[i], k, values[i], sizes[i] - ones, words, used)
        if used < 0:
            return i
    return values.size


@compiled
def _scatter(
    row: NDArray[np.uint64], k: int, own: int, digits: NDArray[np.int64], words: NDArray[np.uint64], used: int
) -> tuple[int, int]:
    """Set bits with the probability of these binary digits; return the next word and how many are set."""
    ones = 0
    for w in range(row.size):
        bits = np.uint64(0)
        for digit in digits:
            bits = bits | words[used] if digit else bits & words[used]
            used += 1
        if w == row.size - 1:
            bits &= np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 * row.size - k)
        if w == own >> 6:
            bits &= ~(np.uint64(1) << np.uint64(own & 63))
        row[w] = bits
        ones += _ones(bits)
    return used, ones


@compiled
def _complete(row: NDArray[np.uint64], k: int, own: int, missing: int, words: NDArray[np.uint64], used: int) -> int:
    """Put `missing` random values in, or take them out if it is negative; return the next word, -1 if none is left.

    A word gives two candidates: 32 bits times k, without the last 32 bits, where these do not favour it.
    """
    low, unfair = np.uint64(0xFFFFFFFF), np.uint64((1 << 32) % k)
    halves = 2 * used
    while missing:
        if halves == 2 * words.size:
            return -1
        product = (words[halves >> 1] >> np.uint64(32 * (halves & 1)) & low) * np.uint64(k)
        halves += 1
        candidate = np.int64(product >> np.uint64(32))
        if (product & low) < unfair or candidate == own:
            continue
        bit = np.uint64(1) << np.uint64(candidate & 63)
        present = (row[candidate >> 6] & bit) != 0
        if present != (missing > 0):
            row[candidate >> 6] ^= bit
            missing += 1 if present else -1
    return (halves + 1) >> 1


@compiled
def split_subsets(
    subsets: NDArray[np.int64],
    near: NDArray[np.int64],
    far: NDArray[np.int64],
    rng: np.random.Generator,
    here: NDArray[np.int64],
    there: NDArray[np.int64],
) -> None:
    """Draw how many members of random subsets fall on the `near` places of a part, and on the `far` other ones.

    The counts of subsets come by part, size and table, and are added to `here` and `there` in the same way.
    """
    for part in range(subsets.shape[0]):
        for size in range(subsets.shape[1]):
            if not subsets[part, size].any():
                continue
            numbers, rest = _hypergeometric(near[part], far[part], size)
            for table in range(subsets.shape[2]):
                left, step = subsets[part, size, table], 0
                while left:
                    index = step
                    if left < _FEW:
                        taken, draw = np.int64(1), rng.random() * rest[step]
                        while draw < rest[index + 1]:
                            index += 1
                    else:
                        step += 1
                        taken = rng.binomial(left, 1 - rest[step] / rest[index])
                    here[part, numbers[index], table] += taken
                    there[part, size - numbers[index], table] += taken
                    left -= taken


@compiled
def _hypergeometric(near: int, far: int, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return how many of `size` random places may be near ones, and multiples of P(this number or a later one).

    The likeliest number comes first.
    """
    first, last = max(0, size - far), min(near, size)
    x = np.arange(first, last)
    rise = (near - x) * (size - x) / ((x + 1) * (far - size + x + 1))
    likeliest = np.sum(rise >= 1)
    before = np.cumprod(1 / rise[:likeliest][::-1])[::-1]
    chances = np.concatenate((before, np.ones(1), np.cumprod(rise[likeliest:])))
    order = np.argsort(-chances)
    return first + order, np.append(np.cumsum(chances[order][::-1])[::-1], 0.0)


@compiled
def _ones(bits: np.uint64) -> int:
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((bits * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def list_members(rows: NDArray[np.uint8], out: NDArray[Any]) -> None:
    """Write the places of each row's set bits in increasing order; all rows have as many as `out` has columns."""
    members = np.empty(out.shape[1] + 8, dtype=out.dtype)  # a byte writes eight places, however many count
    for i in range(rows.shape[0]):
        written = 0
        for byte in range(rows.shape[1]):
            bits = rows[i, byte]
            for j in range(8):
                members[written + j] = 8 * byte + _PLACES[bits, j]
            written += _NUMBER[bits]
        for j in range(out.shape[1]):
            out[i, j] = members[j]


@compiled
def count_bits(rows: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
    """Add how often each bit of a row is set, by eight bit planes that hold the counts of 255 rows."""
    width = rows.shape[1]
    planes = np.zeros((8, width), dtype=np.uint64)
    for start in range(0, rows.shape[0], 255):
        stop = min(start + 255, rows.shape[0])
        planes[:] = 0
        for i in range(start, stop):
            for w in range(width):
                carry = rows[i, w]
                for plane in range(8):
                    both = planes[plane, w] & carry
                    planes[plane, w] ^= carry
                    carry = both
        for plane in range(8):
            for w in range(width):
                bits = planes[plane, w]
                for bit in range(64):
                    counts[64 * w + bit] += np.int64((bits >> np.uint64(bit)) & np.uint64(1)) << plane


@compiled
def count_numbers(
    rows: NDArray[Any],
    reports: NDArray[Any],
    starts: NDArray[np.int64],
    outputs: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> int:
    """Count reports that are whole numbers, those of each protocol row from its start on; return how many do not fit.

    Reports beyond the row's number of outputs, and of rows that do not exist, are not counted.
    """
    unfit = 0
    for i in range(rows.size):
        row, report = np.int64(rows[i]), np.int64(reports[i])
        if 0 <= row < starts.size and 0 <= report < outputs[row]:
            counts[starts[row] + report] += 1
        else:
            unfit += 1
    return unfit


@compiled
def count_hashed(
    seeds: NDArray[np.uint64], lowest: NDArray[np.uint32], widths: NDArray[np.uint32], counts: NDArray[np.int64]
) -> None:
    """Add how many reports' hash functions send each value into the report's interval of hash values."""
    for i in range(seeds.shape[0]):
        factor, offset, low, span = seeds[i, 0], seeds[i, 1], lowest[i], widths[i]
        for value in range(counts.size):
            counts[value] += np.uint32(hash_value(factor, offset, value) - low) < span


@compiled
def hash_values(seeds: NDArray[np.uint64], values: NDArray[np.int64], out: NDArray[np.uint32]) -> None:
    """Hash each row's value by the row's function."""
    for i in range(values.size):
        out[i] = hash_value(seeds[i, 0], seeds[i, 1], values[i])


@compiled
def hash_value(factor: np.uint64, offset: np.uint64, value: int) -> np.uint32:
    """Return 32 hash bits: the upper half of an affine map modulo 2^64, then a bijection that scatters them.

    The affine map makes two values' bits independent and uniform when factor and offset are (Dietzfelbinger
    1996), and a bijection keeps that; the scattering makes more than two values behave independently, too.
    """
    bits = np.uint32((factor * np.uint64(value) + offset) >> np.uint64(32))
    bits ^= bits >> np.uint32(16)
    bits = np.uint32(bits * np.uint32(0x7FEB352D))
    bits ^= bits >> np.uint32(15)
    bits = np.uint32(bits * np.uint32(0x846CA68B))
    return np.uint32(bits ^ (bits >> np.uint32(16)))


@compiled
def mix_numbers(rows: NDArray[Any], reports: NDArray[Any], out: NDArray[np.uint64]) -> None:
    """Write a 64-bit hash of row and report, a whole number, in which every bit depends on both."""
    for i in range(rows.size):
        word = np.uint64(rows[i]) * np.uint64(0xD6E8FEB86659FD93) + np.uint64(reports[i])
        word = (word ^ word >> np.uint64(32)) * np.uint64(0x9E3779B97F4A7C15)
        out[i] = (word ^ word >> np.uint64(29)) * np.uint64(0xBF58476D1CE4E5B9)


@compiled
def mix_bytes(rows: NDArray[Any], reports: NDArray[np.uint8], out: NDArray[np.uint64]) -> None:
    """Write a 64-bit hash of row and report in bytes, in which every bit depends on the row and on all bytes."""
    for i in range(rows.size):
        word = np.uint64(rows[i]) + np.uint64(1)
        for start in range(0, reports.shape[1], 8):
            part = np.uint64(0)
            for j in range(start, min(start + 8, reports.shape[1])):
                part = part << np.uint64(8) | np.uint64(reports[i, j])
            word = (word ^ part) * np.uint64(0x9E3779B97F4A7C15)
            word ^= word >> np.uint64(32)
        out[i] = word * np.uint64(0xBF58476D1CE4E5B9)


@compiled
def find_ends(words: NDArray[np.uint64], start: int, below: np.uint64, ends: NDArray[np.int64]) -> int:
    """Note the places from `start` on where a rolling hash of the last 64 words is at most a bound; return how many.

    They come in any order: four parts of the words take turns, so that no hash waits for the one before.
    """
    one_bit, part, number = np.uint64(1), (words.size - start) // 4, 0
    last = start + 3 * part
    first, second = words[start : start + part], words[start + part : start + 2 * part]
    third, fourth = words[start + 2 * part : last], words[last : last + part]
    a, b = _rolled(words, start), _rolled(words, start + part)
    c, d = _rolled(words, start + 2 * part), _rolled(words, last)
    for i in range(part):
        a, b = (a << one_bit) + first[i], (b << one_bit) + second[i]
        c, d = (c << one_bit) + third[i], (d << one_bit) + fourth[i]
        if min(a, b, c, d) <= below:
            for rolled, begin in ((a, start), (b, start + part), (c, start + 2 * part), (d, last)):
                if rolled <= below:
                    ends[number] = begin + i
                    number += 1
    for i in range(last + part, words.size):
        d = (d << one_bit) + words[i]
        if d <= below:
            ends[number] = i
            number += 1
    return number


@compiled
def _rolled(words: NDArray[np.uint64], end: int) -> np.uint64:
    """Return the hash of the 64 words before an end; older ones are shifted out."""
    rolled = np.uint64(0)
    for i in range(max(0, end - 64), end):
        rolled = (rolled << np.uint64(1)) + words[i]
    return rolled


@compiled
def hash_windows(words: NDArray[np.uint64], ends: NDArray[np.int64], window: int, out: NDArray[np.uint64]) -> None:
    """Write two hashes of the window before each end, 0 if few words differ from the next, and that of the last 64."""
    for index in range(ends.size):
        end, first, second, changes = ends[index], np.uint64(0), np.uint64(0), 0
        for i in range(end + 1 - window, end + 1):
            first = (first + words[i]) * np.uint64(0x9E3779B97F4A7C15)
            second = (second ^ words[i]) * np.uint64(0xD6E8FEB86659FD93)
            second ^= second >> np.uint64(32)
            changes += i < end and words[i] != words[i + 1]
        telling = changes >= FEWEST_CHANGES
        out[index, 0], out[index, 1] = first if telling else np.uint64(0), second if telling else np.uint64(0)
        out[index, 2] = _rolled(words, end + 1)


@compiled
def folded(words: NDArray[np.uint64], start: np.uint64) -> np.uint64:
    """Fold words into one checksum against accidents, which depends on every word and on their order.

    Every fourth word goes to one of four lanes, by a bijection of the lane and one of the word.
    """
    factor, odd = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
    a, b, c, d = start, start ^ odd, start + factor, start * odd + factor
    whole = words.size - words.size % 4
    for i in range(0, whole, 4):
        a, b = (a ^ words[i]) * factor, (b ^ words[i + 1]) * factor
        c, d = (c ^ words[i + 2]) * factor, (d ^ words[i + 3]) * factor
        # the highest bits of a product depend on all bits, the lowest on few
        a, b, c, d = a ^ a >> np.uint64(32), b ^ b >> np.uint64(32), c ^ c >> np.uint64(32), d ^ d >> np.uint64(32)
    for i in range(whole, words.size):
        a = (a ^ words[i]) * factor
        a ^= a >> np.uint64(32)
    for lane in (b, c, d):
        a *= odd
        a ^= a >> np.uint64(32) ^ lane
    a *= odd
    return a ^ a >> np.uint64(32)


@compiled
def copy_pieces(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], out: NDArray[np.uint8]
) -> None:
    """Copy the pieces between `starts` and `ends`, each to the beginning of a row of the result."""
    for i in range(out.shape[0]):
        for j in range(ends[i] - starts[i]):
            out[i, j] = data[starts[i] + j]


@compiled
def find_fields(text: NDArray[np.uint8], bounds: NDArray[np.int64]) -> int:
    """Find the comma-separated fields of lines: where each begins, last where the line ends; return how many lines.

    Of a line that has fewer or more fields than there should be the second number is -1.
    """
    line, column, columns = 0, 0, bounds.shape[1] - 1
    bounds[0, 0] = 0
    for i in range(text.size):
        if text[i] == 44:
            column += 1
            if column < columns:
                bounds[line, column] = i + 1
        elif text[i] == 10:
            bounds[line, columns] = i + 1
            if column != columns - 1:
                bounds[line, 1] = -1
            line, column = line + 1, 0
            if line < bounds.shape[0]:
                bounds[line, 0] = i + 1
    return line


@compiled
def read_numbers(
    text: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64], out: NDArray[np.int64]
) -> None:
    """Read whole numbers of up to 18 digits, written as they usually are; -1 stands for anything else."""
    for i in range(starts.size):
        digits, number = ends[i] - starts[i], np.int64(0)
        fine = 0 < digits < 19 and (digits == 1 or text[starts[i]] != 48)
        for position in range(starts[i], ends[i] if fine else starts[i]):
            digit = np.int64(text[position]) - 48
            fine = fine and 0 <= digit < 10
            number = 10 * number + digit
        out[i] = number if fine else -1


@compiled
def read_bytes(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    sizes: NDArray[np.int64],
    out: NDArray[np.uint8],
    fine: NDArray[np.bool_],
) -> None:
    """Read so many bytes, written as x and two lower-case hexadecimal digits each; say in `fine` which texts are so."""
    for i in range(starts.size):
        good = ends[i] - starts[i] == 2 * sizes[i] + 1 and text[starts[i]] == 120
        for j in range(sizes[i] if good else 0):
            high, low = text[starts[i] + 2 * j + 1], text[starts[i] + 2 * j + 2]
            good = good and _is_digit(high) and _is_digit(low)
            out[i, j] = _digit(high) << 4 | _digit(low)
        fine[i] = good


@compiled
def _is_digit(letter: int) -> bool:
    return 48 <= letter < 58 or 97 <= letter < 103


@compiled
def _digit(letter: int) -> int:
    return (letter - 48 if letter < 58 else letter - 87) & 15


@compiled
def hash_texts(
    data: NDArray[np.uint8],
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    salts: NDArray[np.uint64],
    keys: NDArray[np.uint64],
    out: NDArray[np.uint64],
) -> None:
    """Hash texts to 128 bits: in four lanes, each the upper half of a random linear form of length, salt and words.

    With random `keys` any two different texts agree with probability 2^-128 (Dietzfelbinger 1996, over 32-bit words): a
    row of keys for each lane, one for every four bytes and three more.
    """
    for i in range(starts.size):
        for lane in range(4):
            key = keys[lane]
            total = key[0] + key[1] * np.uint64(ends[i] - starts[i]) + key[2] * salts[i]
            word, length = np.uint64(0), ends[i] - starts[i]
            for j in range(length):
                word |= np.uint64(data[starts[i] + j]) << np.uint64(8 * (j & 3))
                if j & 3 == 3 or j == length - 1:
                    total += key[3 + (j >> 2)] * word
                    word = np.uint64(0)
            half = total >> np.uint64(32)
            if lane & 1:
                out[i, lane >> 1] |= half
            else:
                out[i, lane >> 1] = half << np.uint64(32)


@compiled
def insert_keys(
    table: NDArray[np.uint64],
    values: NDArray[np.uint32],
    keys: NDArray[np.uint64],
    own: NDArray[np.uint32],
    earlier: NDArray[np.int64],
) -> int:
    """Put keys of two words, each with its own value, into an open hash table whose size is a power of two.

    For a key that is there already, its value stays, and is written to `earlier`; -1 stands for a new one. A place is
    free where both words are 0. Returns how many were put in.
    """
    mask, inserted = np.uint64(table.shape[0] - 1), 0
    for i in range(keys.shape[0]):
        slot = keys[i, 0] & mask
        while (table[slot, 0] | table[slot, 1]) and (table[slot, 0] != keys[i, 0] or table[slot, 1] != keys[i, 1]):
            slot = (slot + np.uint64(1)) & mask
        earlier[i] = -1
        if table[slot, 0] | table[slot, 1]:
            earlier[i] = values[slot]
        else:
            table[slot, 0], table[slot, 1], values[slot] = keys[i, 0], keys[i, 1], own[i]
            inserted += 1
    return inserted
