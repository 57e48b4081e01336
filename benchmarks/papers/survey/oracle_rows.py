"""Wang et al. 2020, Table 4: its rows, each with the mechanism, and the printed formulas as functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ldpstats.mechanisms import BLH, GRR, OUE, RAPPOR, RR, SS, SUE, Mechanism, OpenRAPPOR, OpenRR, SHist
from ldpstats.mechanisms.hadamard_response import HRR
from papers.survey.hashing_formulas import rounded_olh
from papers.survey.oracle_checks import blh_variance, grr_variance, lh_variance, oue_variance, sue_variance
from papers.survey.supports import rare_variance
from papers.survey.transform_formulas import SAMPLED

Make = Callable[[int, float], Mechanism]

SYMBOLS = 4
"""Those of O-RR."""


def _over_strings(k: int) -> list[str]:
    return [f"string {number}" for number in range(k)]


def _o_rr(k: int, epsilon: float) -> Mechanism:
    return OpenRR(epsilon, symbols=SYMBOLS).over(_over_strings(k))


def _o_rappor(k: int, epsilon: float) -> Mechanism:
    return OpenRAPPOR(epsilon, bits=k).over(_over_strings(k))


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table.

    Parameters
    ----------
    make : callable
        The mechanism of k and ε, as the paper describes it.
    variance : callable
        The printed variance.
    bits : callable
        What the printed order of communication says of k and ε.
    bound : callable
        What the printed order of the error bound says of k, without 1 / (ε √N).
    other : callable, optional
        n-fold variance, by k and ε, of what does have the printed variance.
    because : str, optional
        What that is, and why the mechanism has another variance.
    """

    make: Make
    variance: Callable[[int, float], float]
    bits: Callable[[int, float], float]
    bound: Callable[[int], float]
    other: Callable[[int, float], float] | None = None
    because: str = ""


def _of_root_log(k: int) -> float:
    return math.sqrt(math.log(k))


def _of_root_k_log(k: int) -> float:
    return math.sqrt(k * math.log(k))


def _log_k(k: int, _epsilon: float) -> float:
    return math.log2(k)


def _k(k: int, _epsilon: float) -> float:
    return k


_FILTER = (
    "It is the variance of one bit per value (SUE). Here hash functions put several values into one bit, {}so that "
    "the variance is larger."
)

ROWS: dict[str, Row] = {
    "BRR": Row(lambda _k, epsilon: RR(2, epsilon), lambda _k, e: grr_variance(2, e), lambda *_: 1, lambda _k: 1),
    "GRR": Row(GRR, grr_variance, _log_k, _of_root_k_log),
    "SUE": Row(SUE, sue_variance, _k, _of_root_log),
    "OUE": Row(OUE, oue_variance, _k, _of_root_log),
    "RAPPOR": Row(
        lambda k, epsilon: RAPPOR(k, epsilon, bits=k),
        sue_variance,
        _k,
        float,
        lambda k, epsilon: rare_variance(SUE(k, epsilon)),
        _FILTER.format("and two of them share ε, "),
    ),
    "O-RAPPOR": Row(
        _o_rappor,
        sue_variance,
        _k,
        float,
        lambda k, epsilon: rare_variance(SUE(k, epsilon)),
        _FILTER.format(""),
    ),
    "O-RR": Row(
        _o_rr,
        lambda _k, e: grr_variance(SYMBOLS, e),
        _log_k,
        _of_root_k_log,
        lambda _k, e: rare_variance(GRR(SYMBOLS, e)),
        "It is that of GRR for as many values as there are symbols; hashing more values to them adds to it.",
    ),
    "BLH": Row(BLH, blh_variance, _log_k, _of_root_log),
    "OLH": Row(
        rounded_olh,
        oue_variance,
        _log_k,
        _of_root_log,
        lambda _k, e: lh_variance(math.exp(e) + 1, e),
        "It is Eq. 39 at g = e^ε + 1, which is no whole number; ⌊e^ε + 1⌋ symbols have more variance.",
    ),
    "S-Hist": Row(
        SHist,
        lambda _k, e: grr_variance(2, e),
        lambda k, _epsilon: math.log2(4 * k),
        _of_root_log,
        lambda _k, e: rare_variance(RR(2, e)),
        "It is that of BRR, for a bit that is 0 or 1. One random sign of many says less: even with orthogonal columns "
        "the variance is (e^ε + 1)² / (N (e^ε - 1)²).",
    ),
    "HRR": Row(
        HRR,
        oue_variance,
        _log_k,
        _of_root_log,
        lambda k, e: float(np.asarray(HRR(k, e).variance(np.eye(k)[0], 1))[0]),
        SAMPLED,
    ),
    "ω-SM": Row(
        SS,
        grr_variance,
        lambda k, epsilon: SS(k, epsilon).omega or 1,
        _of_root_k_log,
        lambda k, e: rare_variance(GRR(k, e)),
        "It is that of GRR, which is ω-SM with ω = 1; the mechanism itself has less.",
    ),
}
