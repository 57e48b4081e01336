"""Separators: what stands between the cells of a line, decided by what makes all lines equally long."""

from __future__ import annotations

import csv
import io
from itertools import islice

from ldpstats.errors import LdpstatsError

SEPARATORS = ",;\t|"
_SAMPLE, _ROWS = 1 << 16, 500
_STATED = "sep="


def separator_of(text: str) -> str:
    r"""Detect the separator that gives most lines as many cells as the first one; a comma where none does.

    Examples
    --------
    >>> separator_of('sex,note\nF,"yes; no; maybe"\n')
    ','
    """
    fits = {one: _fit(text, one) for one in SEPARATORS}
    best = max(SEPARATORS, key=lambda one: fits[one])
    return best if fits[best][1] > 1 else SEPARATORS[0]


def stated_separator(text: str) -> str | None:
    """Separator stated by a first line such as `sep=;`, as Excel writes it; None without one."""
    first = text[: len(_STATED) + 3].splitlines()[:1]
    stated = first[0][-1] if first and len(first[0]) == len(_STATED) + 1 and first[0].startswith(_STATED) else None
    if stated == '"':
        raise LdpstatsError("a first line that says that quotation marks separate cells", "a mark of its own")
    return stated


def _fit(text: str, separator: str) -> tuple[float, int]:
    """Share of lines with as many cells as the first one, and that number of cells."""
    sample = text[:_SAMPLE]
    try:
        rows = list(islice(filter(None, csv.reader(io.StringIO(sample, newline=""), delimiter=separator)), _ROWS))
    except csv.Error:  # a cell as long as a file, as an open quote makes it
        return 0.0, 1
    if len(sample) < len(text) and len(rows) < _ROWS and len(rows) > 1:
        rows.pop()  # which the sample may cut
    width = len(rows[0]) if rows else 1
    return (sum(len(row) == width for row in rows) / len(rows), width) if width > 1 else (0.0, 1)
