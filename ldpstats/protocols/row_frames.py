"""Rows in data frames: reports as protocols write them and as file readers leave them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_integer_dtype

from ldpstats.errors import ReportError, one_line, shortened
from ldpstats.numbers.arrays import BoolArray, IntArray
from ldpstats.presentation import progress
from ldpstats.protocols.counting import Counting, Layout, SentRows, by_row
from ldpstats.protocols.wire import Reason, from_column
from ldpstats.tables.respondents import LARGEST_PLACE, are_identities

_LETTER = "c"
"""What a collection begins with in rows: it keeps a file reader from taking its digits for a number."""
_BLOCK = "block"
_LARGEST_BLOCK = (1 << 31) - 1
_BYTES = 1 << 26
"""The most bytes of reports that are counted at once."""


def numbered(identity: str, numbers: NDArray[np.int64]) -> dict[str, Any]:
    """Return the columns of the collection and of the respondents' places, random among those asked the same."""
    return {"collection": f"{_LETTER}{identity}", "number": numbers}


def take_frame(counting: Counting, reports: pd.DataFrame, fingerprint: str, layout: Layout) -> None:
    """Count all rows of a data frame, or refuse the first that the protocol cannot have produced."""
    for part, rows, places, bad in rows_of_frame(reports, fingerprint, layout):
        bad |= {int(places[position]): reason for position, reason in counting.bad_rows(rows).items()}
        if bad:
            first = min(bad)
            raise bad[first].error(_row(part, np.array([first])))
        counting.take(rows)


def rows_of_frame(
    reports: pd.DataFrame, fingerprint: str, layout: Layout
) -> Iterator[tuple[pd.DataFrame, SentRows, NDArray[np.intp], dict[int, Reason]]]:
    """Yield parts of a data frame: in each the rows that can be read, their places in it, and why others are none.

    There is more than one part where the column of reports would take much memory.
    """
    labels = {row.label: number for number, row in enumerate(layout.rows)}
    refuse_foreign_rows(reports, fingerprint, list(labels))
    if list(reports.columns).count(_BLOCK) > 1:
        raise ReportError(f"reports with several columns {_BLOCK!r}", "the rows as they were sent")
    groups, known = pd.factorize(reports["group"])
    of_row = np.array([labels[label] for label in known], dtype=np.int64)[groups]
    codes, names = pd.factorize(reports["collection"])
    identities = np.array([str(name)[len(_LETTER) :] for name in names], dtype=object)
    numbers, simulated = reports["number"].to_numpy(np.int64), _words(reports["simulated"]).to_numpy() == "True"
    step = _BYTES // max(layout.width, 1)
    for start in range(0, len(reports), step):
        part = slice(start, start + step)
        frame, rows = reports.iloc[part], of_row[part]
        blocks, reasons = _blocks(frame[_BLOCK]) if _BLOCK in frame.columns else (None, {})
        column = layout.column(len(frame))
        for row, places in progress(list(by_row(rows)), "reading rows", unit="group"):
            own = frame["report"].iloc[places]
            plain = isinstance(own.dtype, np.dtype) and own.dtype.kind in "iu"
            data, wrong = from_column(own.to_numpy() if plain else own.tolist(), layout.rows[row].wire.report_format)
            reasons |= {int(places[position]): reason for position, reason in wrong.items()}
            layout.put(column, places, row, data)
        identity = identities[0] if len(identities) == 1 else identities[codes[part]]
        sent = SentRows(identity, rows, column, numbers[part], simulated[part], blocks)
        fine = np.delete(np.arange(len(frame)), list(reasons))
        yield frame, sent if not reasons else sent.taken(fine), fine, dict(sorted(reasons.items()))


def _blocks(column: pd.Series[Any]) -> tuple[NDArray[np.int64], dict[int, Reason]]:
    """Return a column of block numbers, and by their places why some are none."""
    fits = _whole_numbers(column, _LARGEST_BLOCK)
    blocks = column.where(fits, 0).to_numpy(np.int64)
    allowed = "blocks numbered from 0: whole numbers, read as they were sent"
    return blocks, {
        int(position): Reason(f"the block {shortened(column.tolist()[int(position)])}", allowed)
        for position in np.flatnonzero(~fits)
    }


def refuse_foreign_rows(reports: pd.DataFrame, fingerprint: str, labels: Sequence[str]) -> None:
    """Refuse rows of another fingerprint or group, or in another form."""
    columns = ["collection", "group", "number", "protocol", "report", "simulated"]
    names = list(reports.columns) if isinstance(reports, pd.DataFrame) else type(reports).__name__
    if any(names.count(column) != 1 for column in columns) or not all(isinstance(name, Hashable) for name in names):
        raise ReportError(f"reports with {one_line(names)}", f"a data frame with {one_line(columns)}, each once")
    # by position: frames put one below the other repeat their row labels
    foreign = np.flatnonzero(~reports["protocol"].isin([fingerprint]))
    if foreign.size:
        raise ReportError(
            f"{foreign.size} rows of another protocol, the first of them {_row(reports, foreign)}",
            f"rows of the protocol {fingerprint!r}",
            "Domain, groups, mechanism and epsilon must be those of the collection.",
        )
    unknown = np.flatnonzero(~reports["group"].isin(labels))
    if unknown.size:
        group = reports["group"].iloc[unknown[:1]].tolist()[0]
        raise ReportError(f"{_row(reports, unknown)} answers the group {group!r}", one_line(labels))
    unclear = np.flatnonzero(~_words(reports["simulated"]).isin(["True", "False"]))
    if unclear.size:
        raise ReportError(f"{_row(reports, unclear)} does not say whether it is simulated", "True or False")
    _refuse_unnumbered(reports)


def _words(column: pd.Series[Any]) -> pd.Series[Any]:
    codes, texts = _texts(column)
    return pd.Series(pd.Index(texts, dtype=object)[codes])


def _texts(column: pd.Series[Any]) -> tuple[IntArray, list[str]]:
    """Return each row's code and the coded texts, one for each different value, missing ones included."""
    try:
        codes, kinds = pd.factorize(column, use_na_sentinel=False)
    except TypeError:  # a list in a cell has no hash
        codes, kinds = pd.factorize(column.map(str))
    return codes, [str(kind) for kind in kinds]


def _refuse_unnumbered(reports: pd.DataFrame) -> None:
    """Refuse rows that do not say whose they are, or that stand twice."""
    codes, names = _texts(reports["collection"])
    texts = pd.Series(names, dtype=object)
    proper = texts.str.startswith(_LETTER) & are_identities(texts.str[len(_LETTER) :])
    wrong = np.flatnonzero(~proper.to_numpy(dtype=bool)[codes])
    if wrong.size:
        raise ReportError(
            f"the collection {shortened(reports['collection'].iloc[wrong[0]])} in {_row(reports, wrong)}",
            f"{_LETTER!r} and 32 hexadecimal digits, as they were sent",
        )
    wrong = np.flatnonzero(~_whole_numbers(reports["number"], LARGEST_PLACE))
    if wrong.size:
        number = reports["number"].iloc[wrong[:1]].tolist()[0]
        raise ReportError(
            f"the respondent's number {shortened(number)} in {_row(reports, wrong)}",
            f"whole numbers below {LARGEST_PLACE}, in a column of whole numbers",
            "Read and write the rows as they were sent: a column with gaps, or read as text, has become another.",
        )
    # by numbers, which are compared faster than texts
    keys = pd.DataFrame(
        {"row": codes, "number": reports["number"].to_numpy(), "group": pd.factorize(reports["group"])[0]}
    )
    again = np.flatnonzero(keys.duplicated())
    if again.size:
        twin = np.flatnonzero((keys == keys.iloc[again[0]]).all(axis=1))
        raise ReportError(
            f"{_row(reports, again)}, which is of the same respondent and group as {_row(reports, twin)} "
            f"({again.size} such rows)",
            "one row per respondent and group",
            "Drop rows that were sent or read twice.",
        )


def _whole_numbers(column: pd.Series[Any], bound: int) -> BoolArray:
    """Mask of the whole numbers from 0 to below a bound; none in a column of another type."""
    plain = column.infer_objects()
    if not is_integer_dtype(plain):
        return np.zeros(len(column), dtype=np.bool_)
    return np.asarray(plain.between(0, bound - 1).fillna(value=False), dtype=np.bool_)


def _row(rows: pd.DataFrame | pd.Series[Any], positions: NDArray[np.intp]) -> str:
    return f"row {rows.index[positions[:1]].tolist()[0]!r}"
