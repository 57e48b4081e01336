"""Array types and the few argument checks that every layer shares."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from inspect import signature
from numbers import Real
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.limits import LEAST_EPSILON, refuse_too_many_cells

FloatArray: TypeAlias = NDArray[np.floating[Any]]
IntArray: TypeAlias = NDArray[np.integer[Any]]
BoolArray: TypeAlias = NDArray[np.bool_]


_ROUNDING = 1e-6

LARGEST_WHOLE = (1 << 63) - 1
"""The largest whole number that an array of 64 bits holds."""

_CLUSTERS = frozenset(["cluster", "clusters", "psu", "psus", "ssu", "id", "ids", "deff"])
_WEIGHTS = frozenset(["w", "wt", "wts", "fpc", "strata", "stratum", "design", "survey_design", "replicate_weights"]) | {
    *("weight", "weights", "sample_weight", "sample_weights", "survey_weights", "pweights", "aweights", "fweights"),
    *("probability_weights", "sampling_weights", "var_weights", "freq_weights", "frequency_weights"),
}
_DESIGNS = _WEIGHTS | _CLUSTERS
"""What other packages call the weights, strata and clusters of a survey."""
NO_WEIGHTS = (
    "Survey weights cannot be taken: a randomized answer counts for one respondent. Collect without them, and weigh "
    "strata that were collected one by one: with shares W of the population, the sum of W * table.estimate has the "
    "covariance sum of W**2 * table.covariance."
)
_NO_CLUSTERS = (
    "Respondents of one cluster who are alike make intervals too short and p-values too small. Ask one respondent of "
    "each cluster, or multiply standard errors by the square root of a design effect that you know."
)
_COUNTED = " Of a frequency table counts='column' says how many respondents a row stands for."
Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def unweighted(function: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Refuse survey weights, strata and clusters in keyword arguments, and say what to do instead."""

    @wraps(function)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        for name in kwargs:
            if name.lower() in _DESIGNS:
                of_clusters = name.lower() in _CLUSTERS
                counted = _COUNTED if "counts" in signature(function).parameters else ""
                raise LdpstatsError(
                    f"{name}= for {function.__name__}",
                    f"respondents who {'are independent of each other' if of_clusters else 'count alike, once each'}",
                    _NO_CLUSTERS if of_clusters else f"{NO_WEIGHTS}{counted}",
                )
        return function(*args, **kwargs)

    return called


def as_array(values: ArrayLike, what: str) -> NDArray[Any]:
    """Return `values` as an array; rows of different lengths, and masked entries, are refused."""
    parts = values if isinstance(values, (list, tuple)) else ()
    if np.ma.is_masked(values) or any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise LdpstatsError(
            f"{what} came with masked entries",
            "arrays in which nothing is masked",
            "Leave the masked ones out (compressed()), or give missing answers a category of their own.",
        )
    try:
        return np.asarray(values)
    except (ValueError, OverflowError) as error:
        raise LdpstatsError(
            f"{what} came with rows of different lengths, or numbers that no array holds", "rows of one length"
        ) from error


def real_array(values: ArrayLike, what: str) -> NDArray[np.float64]:
    """Return `values` as doubles; what is no number, or too large for one, is refused."""
    array = as_array(values, what)
    if array.size and array.dtype.kind not in "iuf":
        raise LdpstatsError(f"{what} = {shortened(values)}", "numbers")
    return array.astype(np.float64)


def integers_below(values: ArrayLike, bound: int, what: str) -> NDArray[np.int64]:
    """Return a flat array of integers in [0, bound), or say which position holds something else."""
    array = as_array(values, what)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise LdpstatsError(
            f"{what} came as an array of dtype {array.dtype} and shape {array.shape}",
            f"a flat array of integers from 0 to {bound - 1}",
            "Domain.encode turns categories into such integers.",
        )
    if array.size and not 0 <= array.min() <= array.max() < bound:
        wrong = np.flatnonzero((array < 0) | (array >= bound))
        raise LdpstatsError(
            f"{what} holds {array[wrong[0]]} at position {wrong[0]} ({wrong.size} such values)",
            f"integers from 0 to {bound - 1}",
        )
    return array.astype(np.int64, copy=False)


def counts_array(values: ArrayLike, cells: int, what: str) -> NDArray[np.int64]:
    """Return whole, nonnegative counts whose last axis has `cells` entries."""
    array = as_array(values, what)
    allowed = f"nonnegative whole counts below 2**63 with {cells} entries on the last axis"
    if array.ndim == 0 or array.shape[-1] != cells or array.dtype.kind not in "iuf":
        raise LdpstatsError(f"{what} came with dtype {array.dtype} and shape {array.shape}", allowed)
    usable = array >= 0
    if array.dtype.kind != "i":
        usable &= (array < 2.0**63) & (array == np.round(array))
    if not usable.all():
        wrong = np.argwhere(~usable)
        position = tuple(wrong[0].tolist())
        raise LdpstatsError(
            f"{what} holds {array[position]} at position {position} ({len(wrong)} such values)", allowed
        )
    return array.astype(np.int64)


def at_least(value: object, least: int, what: str, most: int = LARGEST_WHOLE) -> int:
    """Return `value` as an int from `least` to `most`; bool and fractions are refused."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < least:
        raise LdpstatsError(f"{what} = {shortened(value)}", f"a whole number, at least {least}")
    if value > most:
        raise LdpstatsError(f"{what} = {shortened(value)}", f"a whole number from {least} to {most}")
    return int(value)


def refuse_no_covariance(covariance: NDArray[Any], cells: int, what: str) -> None:
    """Refuse what is no covariance matrix, or stack of them, of so many cells: another shape, not symmetric, or NaN.

    Variances may be infinite, as those of a single report are, and unbiased estimates of them negative.
    """
    proper = np.shape(covariance)[-2:] == (cells, cells)
    other = np.swapaxes(covariance, -1, -2) if proper else covariance
    # most are symmetric to the last digit, which is seen sooner; nan equals nothing
    if proper and not np.array_equal(covariance, other):
        largest = np.abs(np.where(np.isfinite(covariance), covariance, 0)).max(initial=0.0)
        proper = np.allclose(covariance, other, rtol=_ROUNDING, atol=_ROUNDING * largest)
    if not proper:
        raise LdpstatsError(
            f"the covariance of {what}, of shape {np.shape(covariance)}",
            f"a symmetric matrix of {cells} rows of numbers",
        )


def whole_cells(value: object, what: str = "a table") -> int:
    """Return a number of cells: at least two, and not more than can be worked with."""
    cells = at_least(value, 2, f"the cells of {what}")
    refuse_too_many_cells(cells, what)
    return cells


def real_number(value: object) -> float:
    """Return a number as a double, infinite where it is too large for one, and NaN for what is no number at all."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return -math.inf if value < 0 else math.inf


def positive_epsilon(value: object, what: str = "epsilon") -> float:
    """Return a finite privacy level that is large enough for doubles to estimate anything."""
    number = real_number(value)
    if not 0 < number < math.inf:
        raise LdpstatsError(
            f"{what} = {shortened(value)}", "a finite number above 0", "Common choices lie between 0.5 and 4."
        )
    if number < LEAST_EPSILON:
        raise LdpstatsError(
            f"{what} = {shortened(value)}",
            f"levels from {LEAST_EPSILON:g} up, large enough to show in probabilities that are doubles",
            "Common choices lie between 0.5 and 4.",
        )
    return number


def probability(value: object, what: str) -> float:
    """Return a number from 0 to 1."""
    number = real_number(value)
    if not 0 <= number <= 1:  # written so that a NaN fails
        raise LdpstatsError(f"{what} = {shortened(value)}", "a number from 0 to 1")
    return number


def are_shares(values: FloatArray, axis: int | None = None) -> bool:
    """Say whether numbers are not negative and add up to one but for rounding, along an axis or all together."""
    with np.errstate(over="ignore"):
        sums = np.asarray(values.sum(axis=axis))
    # written so that a NaN fails
    return bool(np.all(values >= 0) and np.all(np.abs(sums - 1) <= _ROUNDING))


def significance(value: object, what: str = "alpha") -> float:
    """Return a level strictly between 0 and 1."""
    number = real_number(value)
    if not 0 < number < 1:
        raise LdpstatsError(f"{what} = {shortened(value)}", "a number strictly between 0 and 1")
    return number


def places_onto(shape: Sequence[int], axes: Sequence[int]) -> IntArray:
    """Return the place of every cell of a table in the table of some of its axes, the last one varying fastest.

    >>> places_onto((2, 3), (1,))
    array([0, 1, 2, 0, 1, 2])
    """
    positions = np.indices(shape).reshape(len(shape), -1)
    cells = np.zeros(positions.shape[1], dtype=np.int64)
    for axis in axes:
        cells = cells * shape[axis] + positions[axis]
    return cells


def kronecker(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the Kronecker product of two matrices, or of two stacks of them, shape (..., rows, columns)."""
    blocks = np.einsum("...ij,...kl->...ikjl", first, second)
    rows, columns = first.shape[-2] * second.shape[-2], first.shape[-1] * second.shape[-1]
    product: FloatArray = blocks.reshape(*blocks.shape[:-4], rows, columns)
    return product
