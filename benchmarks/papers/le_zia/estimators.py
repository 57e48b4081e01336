"""Section II: what the printed estimators expect, beside the frequencies."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import hadamard

from ldpstats.mechanisms import HR, RR, SS, UE, Mechanism, OneHotCMS
from papers.comparisons import Comparison, printed_figures
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import LEVELS, Floats, Place, matched
from papers.survey.oracle_checks import Check, estimator
from papers.survey.supports import expected_tally, own_and_other

_NAME = "le-zia-2020-section-2"
_HALF = (
    "Every bit is flipped at half the level, so that c needs e^(ε/2) where e^ε is printed. (The printed estimate is "
    "also a count, not a proportion: here it is divided by n.)"
)


def _of_rr(one: Mechanism, shares: Floats) -> Floats:
    p = math.exp(one.epsilon) / (math.exp(one.epsilon) + 1)
    return (shares + p - 1) / (2 * p - 1)


def _of_k_subset(one: Mechanism, shares: Floats) -> Floats:
    assert isinstance(one, SS)
    assert one.omega is not None
    d, k = one.k, one.omega
    total = k * math.exp(one.epsilon) + d - k
    own = k * math.exp(one.epsilon) / total
    other = own * (k - 1) / (d - 1) + (d - k) / total * k / (d - 1)
    return (shares - other) / (own - other)


def _of_basic_rappor(one: Mechanism, shares: Floats) -> Floats:
    q, p = own_and_other(one)  # q is the probability of a bit that is set in the one-hot vector
    return (shares - p) / (q - p)


def with_c_of(level: float, shares: Floats) -> Floats:
    """Return the printed estimate of CMS, divided by n, with the c of a level."""
    c = (math.exp(level) + 1) / math.expm1(level)
    return shares * (c + 1) / 2 + (shares - 1) * (c - 1) / 2


def _of_hr(one: Mechanism, shares: Floats) -> Floats:
    in_set = (hadamard(len(shares))[1 : one.k + 1] == 1) @ shares
    return 2 * (math.exp(one.epsilon) + 1) / math.expm1(one.epsilon) * (in_set - 1 / 2)


def _cms(place: Place) -> Comparison:
    check = estimator(
        OneHotCMS,
        lambda one, shares: with_c_of(one.epsilon, shares),
        because=_HALF,
        mended=lambda one, shares: with_c_of(one.epsilon / 2, shares),
    )
    judged = check(place)
    shares = expected_tally(OneHotCMS(2, 1.0), np.array([0.3, 0.7]))
    printed, mended = (with_c_of(level, shares)[0] for level in (1.0, 1 / 2))
    words = f"for a true .3 at ε = 1 the printed c expects {printed:.3f}, the c of ε/2 {mended:.3f}"
    return replace(judged, ours=f"{words}; {judged.ours}")


def _cms_level(place: Place) -> Comparison:
    levels = [OneHotCMS(4, epsilon).strict_epsilon() for epsilon in LEVELS]
    return matched(place, LEVELS, levels, f"{len(LEVELS)} ε (0.1 to 4): the exact level")


_FOUND: dict[tuple[str, str], Check] = {
    ("RR", "estimator"): estimator(RR, _of_rr, sizes=(2,)),
    ("k-subset", "estimator"): estimator(lambda d, epsilon: SS(d, epsilon, omega=d // 2), _of_k_subset),
    ("Basic RAPPOR", "estimator"): estimator(lambda d, epsilon: UE(d, epsilon, keep=0.75), _of_basic_rappor),
    ("CMS", "level"): _cms_level,
    ("CMS", "estimator"): _cms,
    ("HR", "estimator"): estimator(lambda d, epsilon: HR(d, epsilon, blocks=1), _of_hr),
}


def _section_2(_effort: Effort) -> Measured:
    places = printed_figures(_NAME).itertuples(index=False, name=None)
    return Measured([_FOUND[place[1:3]](place) for place in places])


EXHIBITS = (
    Exhibit(
        _NAME,
        "Le & Zia, Section II: the printed estimators",
        "What an estimator expects is found by going through all reports of a mechanism with all their probabilities. "
        "That of CMS is wrong; with half the level in its c it is the estimator of Basic RAPPOR with p + q = 1, which "
        "is what the package estimates by. The maximum likelihood estimator of k-RR is printed as words only.",
        _section_2,
    ),
)
