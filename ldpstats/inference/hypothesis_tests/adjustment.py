"""Adjustment of p-values for the number of tests: by which method, what it controls, and the level it leaves to one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.numbers.arrays import FloatArray

_ANY = "the chance that any dependence is shown where there is none is at most {:g}"
_ANY_INDEPENDENT = f"{_ANY}, if p-values are independent of each other, or depend positively"
_SHARE = "of the dependences that are shown, a share of at most {:g} is expected to be none"
_SHARE_INDEPENDENT = f"{_SHARE}, if p-values are independent of each other, or depend positively"
_ADJUSTMENTS = {
    "none": ("not adjusted", "each single test has level {:g}, and of many some reject where there is nothing"),
    "holm": ("Holm's method", _ANY),
    "bonferroni": ("Bonferroni's method", _ANY),
    "sidak": ("Šidák's method", _ANY_INDEPENDENT),
    "holm-sidak": ("Holm's method with Šidák's levels", _ANY_INDEPENDENT),
    "simes-hochberg": ("Hochberg's method", _ANY_INDEPENDENT),
    "hommel": ("Hommel's method", _ANY_INDEPENDENT),
    "fdr_bh": ("the method of Benjamini and Hochberg", _SHARE_INDEPENDENT),
    "fdr_by": ("the method of Benjamini and Yekutieli", _SHARE),
    "fdr_tsbh": ("the two-stage method of Benjamini and Hochberg", _SHARE_INDEPENDENT),
    "fdr_tsbky": ("the two-stage method of Benjamini, Krieger and Yekutieli", _SHARE_INDEPENDENT),
}


def adjusted_pvalues(pvalues: FloatArray, alpha: float, adjust: str) -> FloatArray:
    """Return p-values adjusted by statsmodels; by "none", as they are."""
    from statsmodels.stats.multitest import multipletests

    if not pvalues.size or adjust == "none":
        return pvalues
    try:
        with np.errstate(divide="ignore"):  # Šidák's level of a p-value of one
            adjusted: FloatArray = multipletests(pvalues, alpha, method=str(adjust))[1]
    except ValueError as error:
        raise LdpstatsError(
            f"adjust = {shortened(adjust)}",
            "'none' or a method of statsmodels' multipletests, such as 'holm' or 'fdr_bh'",
        ) from error
    return adjusted


@lru_cache(maxsize=64)  # statsmodels' function collects garbage whenever it is called
def first_step(tests: int, alpha: float, adjust: str) -> float:
    """Return the largest p-value by which one test would reject if no other showed anything."""
    from scipy.optimize import brentq

    if adjust in ("holm", "bonferroni"):
        return alpha / max(tests, 1)
    others = np.ones(max(tests, 1) - 1)

    def beyond(pvalue: float) -> float:
        return float(adjusted_pvalues(np.append(pvalue, others), alpha, adjust)[0]) - alpha

    if beyond(alpha) <= 0:
        return alpha
    largest: float = brentq(beyond, 0.0, alpha, xtol=1e-300, rtol=1e-12)
    return largest


def adjustment_in_words(adjust: str) -> str:
    """Name a method of adjustment."""
    return _ADJUSTMENTS[adjust][0] if adjust in _ADJUSTMENTS else f"statsmodels' {adjust!r}"


def controlled_in_words(adjust: str, alpha: float) -> str:
    """Say which error rate a method of adjustment controls, as a sentence."""
    words, controls = _ADJUSTMENTS.get(adjust, (adjustment_in_words(adjust), "as its documentation says, at {:g}"))
    said = "The p-values are not adjusted" if adjust == "none" else f"The p-values are adjusted by {words}"
    return f"{said}: {controls.format(alpha)}."
