"""The paper's fourteen mechanisms: as its text describes them, and as the authors' package multi-freq-ldpy has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import ldpstats as ldp
from ldpstats.extend import Mechanism, NoiseModel
from ldpstats.noise import MultinomialNoise, SupportNoise, TruthOrFake

LEVELS = (1.0, 2.0, 4.0)
"""ε of one report; all reports together of a longitudinal mechanism spend twice that, ε∞."""


@dataclass(frozen=True, slots=True)
class Reports:
    """What reports are drawn from and inverted with, and the matrix with which they are updated.

    Parameters
    ----------
    noise : NoiseModel
        The exact law of the reports.
    own, common : float
        The matrix has `own` + `common` on its diagonal and `common` elsewhere. Its scale does not matter.
    """

    noise: NoiseModel
    own: float
    common: float


Column = Callable[[int, float], Reports]


@dataclass(frozen=True, slots=True)
class Reading:
    """How the paper is read: its bins, and its mechanisms in the order of the table's columns."""

    last_two_bins_made_one: bool
    columns: Mapping[str, Column]


def sound(mechanism: Mechanism) -> Reports:
    """Update with the same matrix that the reports are drawn from."""
    both = mechanism.noise.own_and_common
    assert both is not None  # all of the paper's mechanisms treat all values alike
    return Reports(mechanism.noise, both[0], float(both[1][0]))


def named(name: str, **options: int) -> Column:
    """Return a mechanism of the package; a longitudinal one spends half of ε∞ on one report."""
    rounds = 2 if name.startswith("l-") else 1
    return lambda k, level: sound(ldp.mechanism(name, k=k, epsilon=rounds * level, **options))


def subset(rounded: Callable[[float], int]) -> Column:
    """Select subsets of k / (e^ε + 1) values, rounded so, and one at least."""

    def reports(k: int, level: float) -> Reports:
        size = max(1, rounded(k / (math.exp(level) + 1)))
        return sound(ldp.mechanism("ss", k=k, epsilon=level, omega=size))

    return reports


def hashing(symbols: Callable[[float], int]) -> Column:
    """Hash to so many symbols: a report of OLH, and just as well one of a sound chain over them, spends the level."""
    return lambda k, level: sound(ldp.mechanism("lh", k=k, epsilon=level, symbols=symbols(level)))


def published_second_round(symbols: int, level: float) -> tuple[float, float, float, float]:
    """Return p1, q1, p2, q2 of the published L-GRR: the level would be right if a report had p* and q* as printed.

    This is the p2 that is printed for L-LH; the one for L-GRR lacks an ε₁ in an exponent.
    """
    lasting, single = math.exp(2 * level), math.exp(level)
    first = lasting / (lasting + symbols - 1)
    lowest = -symbols * single + (symbols - 1) * lasting + single + lasting * single - 1
    second = (lasting * single - 1) / lowest
    return first, (1 - first) / (symbols - 1), second, (1 - second) / (symbols - 1)


def chained_truth(symbols: int, level: float) -> float:
    """Return how often both rounds of the published L-GRR end where they began."""
    p1, q1, p2, q2 = published_second_round(symbols, level)
    return p1 * p2 + (symbols - 1) * q1 * q2


def published_response(k: int, level: float) -> Reports:
    """Return the published L-GRR: its matrix has p1 q2 + q1 p2 where a report has (k - 2) q1 q2 more."""
    p1, q1, p2, q2 = published_second_round(k, level)
    truth = chained_truth(k, level)
    other = p1 * q2 + q1 * p2
    return Reports(MultinomialNoise(TruthOrFake.uniform(k, truth)), truth - other, other)


def printed_symbols(level: float, rounded: Callable[[float], int]) -> int:
    """Return the number of symbols that is printed for L-OLH, rounded down there; the package rounds to the nearest."""
    a, b = math.exp(2 * level), math.exp(level)
    root = math.sqrt(a**4 - 14 * a**2 + 12 * a * b * (1 - a * b) + 12 * a**3 * b + 1)
    return 1 + max(1, rounded((1 - a**2 + root) / (6 * (a - b))))


def published_hashing(symbols: Callable[[float], int]) -> Column:
    """Return the published L-LH: its matrix has p1 q2 + p2 / g where a report has 1 / g."""

    def reports(k: int, level: float) -> Reports:
        g = symbols(level)
        p1, _, p2, q2 = published_second_round(g, level)
        truth, other = chained_truth(g, level), p1 * q2 + p2 / g
        return Reports(SupportNoise.independent(k, truth, 1 / g), truth - other, other)

    return reports


ONE_TIME = Reading(
    last_two_bins_made_one=False,
    columns={
        **{name.upper(): named(name) for name in ("grr", "sue", "oue")},
        "SS": subset(math.floor),
        **{name.upper(): named(name) for name in ("the", "blh")},
        "OLH": hashing(lambda level: math.floor(math.exp(level) + 1)),
    },
)
"""One-time collection by the paper's text, with bins of equal width."""

ONE_TIME_PUBLISHED = Reading(
    last_two_bins_made_one=True,
    columns={**ONE_TIME.columns, "SS": subset(round), "OLH": hashing(lambda level: round(math.exp(level) + 1))},
)
"""As the authors' notebook 5_IBU_Utility_Gain_Single_Frequency_Estimation has it."""

LONGITUDINAL = Reading(
    last_two_bins_made_one=False,
    columns={
        **{name.upper(): named(name) for name in ("l-grr", "l-sue", "l-oue", "l-soue", "l-osue", "l-blh")},
        "L-OLH": hashing(lambda level: printed_symbols(level, math.floor)),
    },
)
"""Multiple collections by the text: sound chains of two rounds at the levels that it asks for, bins of equal width."""

LONGITUDINAL_PUBLISHED = Reading(
    last_two_bins_made_one=True,
    columns={
        **LONGITUDINAL.columns,
        "L-GRR": published_response,
        "L-BLH": published_hashing(lambda _: 2),
        "L-OLH": published_hashing(lambda level: printed_symbols(level, round)),
    },
)
"""As the authors' package has it: its L-UE are sound, as exactly as doubles are."""

LONGITUDINAL_SOUND = Reading(
    last_two_bins_made_one=True, columns={name: LONGITUDINAL.columns[name] for name in ("L-GRR", "L-BLH", "L-OLH")}
)
"""Sound chains in the authors' bins: what is left if only the bins are theirs."""
