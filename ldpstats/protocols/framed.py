"""Frames of rows: reports as data frames, as protocols write them and as file readers leave them."""

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
from ldpstats.protocols.counting import Counting, SentRow, SentRows, by_row
from ldpstats.protocols.wire import Reason, from_column, report_size, to_bytes
from ldpstats.tables.parts import LARGEST_PLACE, are_identities

_LETTER = "c"
"""What a collection begins with in rows: it keeps a file reader from taking its digits for a number."""
_BLOCK = "block"
_LARGEST_BLOCK = (1 << 31) - 1


def numbered(identity: str, numbers: NDArray[np.int64]) -> dict[str, Any]:
    """Return the columns of the collection and of the respondents' places, random among those asked the same."""
    return {"collection": f"{_LETTER}{identity}", "number": numbers}


def take_frame(counting: Counting, reports: pd.DataFrame, fingerprint: str, kinds: Sequence[SentRow]) -> None:
    """Count all rows of a data frame, or refuse the first that the protocol cannot have produced."""
    refuse_foreign_rows(reports, fingerprint, [one.label for one in kinds])
    refused: dict[int, Reason] = {}
    found = []
    for places, rows, reasons in sent_of_frame(reports, kinds):
        bad = reasons or counting.bad_rows(rows)
        refused |= {int(places[place]): reason for place, reason in bad.items()}
        found.append(rows)
    if refused:
        first = min(refused)
        raise refused[first].error(_row(reports, np.array([first])))
    for rows in found:
        counting.take(rows)


def sent_of_frame(
    reports: pd.DataFrame, kinds: Sequence[SentRow]
) -> Iterator[tuple[NDArray[np.intp], SentRows, dict[int, Reason]]]:
    """Yield each collection's rows: their places in the frame, the rows as arrays, and why some in these are none.

    Foreign rows must have been refused before.
    """
    if list(reports.columns).count(_BLOCK) > 1:
        raise ReportError(f"reports with several columns {_BLOCK!r}", "the rows as they were sent")
    labels = {one.label: number for number, one in enumerate(kinds)}
    groups, known = pd.factorize(reports["group"])
    rows = np.array([labels[one] for one in known], dtype=np.int64)[groups]
    numbers, simulated = reports["number"].to_numpy(np.int64), simulated_rows(reports)
    codes, names = pd.factorize(reports["collection"])
    for code, name in enumerate(names):
        places = np.flatnonzero(codes == code)
        own = rows[places]
        sent, reasons = _reports_as_sent(reports["report"].iloc[places], own, kinds)
        blocks = None
        if _BLOCK in reports.columns:
            blocks, wrong = _blocks(reports[_BLOCK].iloc[places])
            reasons = dict(sorted({**wrong, **reasons}.items()))
        yield (
            places,
            SentRows(str(name)[len(_LETTER) :], own, sent, numbers[places], simulated[places], blocks),
            reasons,
        )


def _reports_as_sent(
    column: pd.Series[Any], rows: IntArray, kinds: Sequence[SentRow]
) -> tuple[NDArray[Any], dict[int, Reason]]:
    """Return a column of reports as in `SentRows`, and by their places why some are none."""
    present = list(by_row(rows))
    sizes = {report_size(kinds[row].wire.report_format) for row, _ in present}
    size = next(iter(sizes)) if len(sizes) == 1 else None
    shape, dtype = ((len(rows), size), np.uint8) if size else (len(rows), np.int64 if sizes == {None} else object)
    sent: NDArray[Any] = np.zeros(shape, dtype=dtype)
    reasons: dict[int, Reason] = {}
    for row, places in progress(present, "reading rows", unit="group"):
        own, form = column.iloc[places], kinds[row].wire.report_format
        plain = isinstance(own.dtype, np.dtype) and own.dtype.kind in "iu"
        data, wrong = from_column(own.to_numpy() if plain else own.tolist(), form)
        reasons |= {int(places[place]): reason for place, reason in wrong.items()}
        if report_size(form) is None:
            sent[places] = data
        elif size:
            sent[places] = to_bytes(data, form)
        else:
            sent[places] = [one.tobytes() for one in to_bytes(data, form)]
    return sent, dict(sorted(reasons.items()))


def _blocks(column: pd.Series[Any]) -> tuple[NDArray[np.int64], dict[int, Reason]]:
    """Return a column of block numbers, and by their places why some are none."""
    fits = _whole_numbers(column, _LARGEST_BLOCK)
    blocks = column.where(fits, 0).to_numpy(np.int64)
    allowed = "blocks numbered from 0: whole numbers, read as they were sent"
    return blocks, {
        int(place): Reason(f"the block {shortened(column.tolist()[int(place)])}", allowed)
        for place in np.flatnonzero(~fits)
    }


def refuse_foreign_rows(reports: pd.DataFrame, fingerprint: str, labels: Sequence[str]) -> None:
    """Refuse rows of another fingerprint or group, or in another form."""
    columns = ["collection", "group", "number", "protocol", "report", "simulated"]
    found = list(reports.columns) if isinstance(reports, pd.DataFrame) else type(reports).__name__
    if any(found.count(column) != 1 for column in columns) or not all(isinstance(one, Hashable) for one in found):
        raise ReportError(f"reports with {one_line(found)}", f"a data frame with {one_line(columns)}, each once")
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


def simulated_rows(reports: pd.DataFrame) -> BoolArray:
    """Mask of the simulated rows, also where a file reader left True and False as text."""
    return np.asarray(_words(reports["simulated"]) == "True", dtype=np.bool_)


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
