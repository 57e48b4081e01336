"""Wang et al. 2020, Sections 3.1.4 to 3.7: transformations, subsets, PrivSet and ωBitFlip."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from ldpstats.mechanisms import SS, DBitFlip, Mechanism, SHist
from ldpstats.mechanisms.hadamard_response import HRR
from papers.comparisons import Comparison
from papers.formulas import LEVELS, Floats, Place, claimed, matched, shapes
from papers.survey.oracle_checks import Check, estimator, hrr_variance, oue_variance, rare
from papers.survey.supports import channel_of, expected_tally

_SIGNS = np.array([[(-1) ** (row & value).bit_count() for value in range(4)] for row in range(4)])
"""The Hadamard matrix of order 4, whose columns are orthogonal."""


def _orthogonal(place: Place) -> Comparison:
    signs = 1.0 - 2.0 * SHist(16, 1.0, rows=256).codes.single
    products = np.abs(signs.T @ signs / len(signs) - np.eye(16))
    words = f"inner products of up to {products.max():.2g} among 16 random columns of length 256"
    because = "Random signs are orthogonal on average only: given the matrix, Eq. 45 is biased by these products."
    return claimed(place, words, holds=bool(products.max() < 1e-9), unless=because)


def _eq_45(place: Place) -> Comparison:
    n, printed, wanted = 1000, [], []
    for epsilon in LEVELS:
        contrast = (math.exp(epsilon) + 1) / math.expm1(epsilon)
        for p in shapes(4):
            # with orthogonal columns, as the paper has them, a report is one of HRR: here b = k = 4
            tally = n * expected_tally(HRR(4, epsilon), p)
            printed.append(contrast * _SIGNS @ (tally[::2] - tally[1::2]))
            wanted.append(p)
    because = "The division by N is missing: it is an estimate of the count N f."
    found = np.array(printed)
    return matched(place, found, np.array(wanted), f"15 cases of N = {n}", because=because, mended=found / n)


def _eq_46(place: Place) -> Comparison:
    n, printed, mended, wanted = 1000, [], [], []
    for epsilon in LEVELS:
        p = math.exp(epsilon) / (math.exp(epsilon) + 1)
        for frequencies in shapes(4):
            tally = n * expected_tally(HRR(4, epsilon), frequencies)
            sums, numbers = tally[::2] - tally[1::2], tally[::2] + tally[1::2]
            printed.append(sums / (2 * (2 * p - 1)))
            mended.append(sums / numbers / (2 * (2 * p - 1)))
            wanted.append(_SIGNS @ frequencies / 2)
    because = "The sum must be divided by the number of reports about that coefficient."
    cases = f"15 cases of k = 2 (4 values) and N = {n}, over all reports"
    return matched(place, np.array(printed), np.array(wanted), cases, because=because, mended=np.array(mended))


SAMPLED = (
    "It leaves out that a coefficient is sampled: it is the variance of a value that everybody has, and for one that "
    "nobody has it is (e^ε + 1)² / (N (e^ε - 1)²)."
)


def _eq_47_formula(_k: int, epsilon: float) -> float:
    p = math.exp(epsilon) / (math.exp(epsilon) + 1)
    return 4 * p * (1 - p) / (2 * p - 1) ** 2


_SETS = [(k, size, epsilon) for k, size in ((4, 2), (5, 2), (6, 3)) for epsilon in LEVELS]


def _eq_48(place: Place) -> Comparison:
    printed, mended, exact = [], [], []
    for k, size, epsilon in _SETS:
        probabilities, tallies = channel_of(SS(k, epsilon, omega=size))
        base = size * math.exp(epsilon) + k - size
        favoured = np.where(tallies[:, 0] > 0, math.exp(epsilon), 1.0) / base / math.comb(k, size)
        printed.append(size * favoured)
        mended.append(k * favoured)
        exact.append(probabilities[0])
    because = "The numerators must be k e^ε and k: as printed, all probabilities sum to ω / k."
    cases = f"all sets, {len(_SETS)} combinations of k, ω and ε"
    return matched(
        place, np.concatenate(printed), np.concatenate(exact), cases, because=because, mended=np.concatenate(mended)
    )


def _eq_49(one: Mechanism, shares: Floats) -> Floats:
    assert isinstance(one, SS)
    assert one.omega is not None
    size, k, e = one.omega, one.k, math.exp(one.epsilon)
    base = size * e + k - size
    true = size * e / base
    false = true * (size - 1) / (k - 1) + (k - size) / base * size / (k - 1)
    return (shares - false) / (true - false)


def _eq_50(place: Place) -> Comparison:
    printed, exact = [], []
    for k, size, sent in ((4, 2, 2), (5, 2, 3), (6, 3, 2)):
        for epsilon in LEVELS:
            own = set(range(size))
            weights = [math.exp(epsilon) if own & set(one) else 1.0 for one in combinations(range(k + size), sent)]
            exact.append(sum(weights))
            hidden = math.comb(k, sent)
            printed.append(hidden + math.exp(epsilon) * (math.comb(k + size, sent) - hidden))
    return matched(place, printed, exact, f"{len(exact)} combinations of k, l, l' and ε, over all sets")


def printed_bit_flip(one: Mechanism, shares: Floats) -> Floats:
    """Return the estimate of Eq. 54 with ω = 2, from the tally of ones and zeros about each value."""
    return _bit_flip(one, shares, math.exp(one.epsilon / 2))


def _eq_54_mended(one: Mechanism, shares: Floats) -> Floats:
    return _bit_flip(one, shares, math.exp(one.epsilon / 2) + 1)


def _bit_flip(one: Mechanism, shares: Floats, weight: float) -> Floats:
    true, false = shares.reshape(2, -1)
    return one.k / 2 * (true * (weight - 1) - false) / math.expm1(one.epsilon / 2)


TRANSFORMS: dict[tuple[str, str, str], Check] = {
    ("Eq. 45", "S-Hist", "estimator"): _eq_45,
    ("Section 3.1.4", "S-Hist", "statement"): _orthogonal,
    ("Eq. 46", "HRR", "estimator"): _eq_46,
    ("Eq. 47", "HRR", "variance"): rare(HRR, _eq_47_formula, because=SAMPLED, mended=hrr_variance),
    ("Section 3.1.4", "HRR", "variance at p = e^ε / (e^ε + 1)"): rare(
        HRR, oue_variance, because=SAMPLED, mended=hrr_variance
    ),
    ("Eq. 48", "ω-SM", "probability"): _eq_48,
    ("Eq. 49", "ω-SM", "estimator"): estimator(lambda k, epsilon: SS(k, epsilon, omega=2), _eq_49, sizes=(4, 6)),
    ("Eq. 50", "PrivSet", "normalizer"): _eq_50,
    ("Eq. 54", "ωBitFlip", "estimator"): estimator(
        lambda k, epsilon: DBitFlip(k, epsilon, d=2),
        printed_bit_flip,
        because="It must be b (e^(ε/2) + 1) - 1: a one is missing inside the brackets.",
        mended=_eq_54_mended,
        sizes=(4, 6),
    ),
}
