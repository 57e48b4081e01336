"""Wide panels: figures with their errors as texts, and as many columns beside each other as can be read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from ldpstats.numbers.arrays import FloatArray
from ldpstats.presentation import Panel, panel_of_figures

# letters that the columns of one panel may take together
_WIDTH = 84
_GAP = 2
# how many digits of an error are shown, and of a share at least
_OF_ERRORS, _LEAST = 2, 3
# the root of what rounding leaves of a variance of zero
_NO_ERROR = 1e-7


def with_errors(shares: FloatArray, errors: FloatArray, *, percent: bool) -> list[list[str]]:
    """Return shares as texts, each with its standard error where it has one; a dash where the share is nan."""
    known = errors[np.isfinite(errors) & (errors > _NO_ERROR)]
    # a table of many cells has small ones, whose digits count
    fine = _OF_ERRORS - 1 - math.floor(math.log10(float(np.median(known)))) if known.size else _LEAST
    digits = min(max(fine, _LEAST), 6) - (2 if percent else 0)
    scale, unit = (100, " %") if percent else (1, "")

    def text(share: float, error: float) -> str:
        if math.isnan(share):
            return "-"
        shown = f"{scale * share:z.{digits}f}{unit}"
        return f"{shown} ± {scale * error:.{digits}f}" if error > _NO_ERROR else shown

    return [[text(*pair) for pair in zip(*row, strict=True)] for row in zip(shares, errors, strict=True)]


def wide_panels(
    title: str,
    heads: Sequence[str],
    labels: Sequence[Sequence[str]],
    beside: Sequence[str],
    texts: Sequence[Sequence[str]],
) -> list[Panel]:
    """Return panels with the same labelled rows, as many as it takes for all columns; `beside` labels the columns."""
    found = []
    parts = list(_parts([max(map(len, column)) for column in zip(beside, *texts, strict=True)]))
    for part in parts:
        which = f", from {beside[part][0]} to {beside[part][-1]}" if len(parts) > 1 else ""
        rows = [[*label, *row[part]] for label, row in zip(labels, texts, strict=True)]
        found.append(panel_of_figures([*heads, *beside[part]], rows, f"{title}{which}"))
    return found


def _parts(widths: Sequence[int]) -> Iterator[slice]:
    """Yield runs of columns that have room beside each other."""
    first, taken = 0, 0
    for place, width in enumerate(widths):
        if taken + width > _WIDTH and place > first:
            yield slice(first, place)
            first, taken = place, 0
        taken += width + _GAP
    yield slice(first, len(widths))
