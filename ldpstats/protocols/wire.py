"""Serialization of reports: rows of values that JSON and CSV can carry, and back."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_integer_dtype

from ldpstats.arrays import BoolArray
from ldpstats.errors import ReportError, one_line, shortened
from ldpstats.mechanisms import ReportFormat
from ldpstats.parts import LARGEST_PLACE, Parts, are_identities
from ldpstats.presentation import progress

_LETTER = "c"
"""What a collection begins with in rows: it keeps a file reader from taking its digits for a number."""


def to_wire(data: NDArray[Any]) -> list[str]:
    """Write every report as text: a number, or a JSON list of numbers."""
    return [json.dumps(report) for report in progress(data.tolist(), "writing rows", unit="row")]


class Sendable(Protocol):
    """What can be sent: reports of one form, of which some are possible. A mechanism is such."""

    @property
    def report_format(self) -> ReportFormat:
        """How the reports are stored."""

    def possible(self, reports: NDArray[Any], /) -> BoolArray:
        """Say which reports, already of the right form, can have been sent."""


def from_wire(column: pd.Series[str], mechanism: Sendable) -> NDArray[np.integer[Any]]:
    """Read reports written by `to_wire`, naming the row of one that cannot be read or sent."""
    expected = mechanism.report_format
    rows = progress(column.items(), "reading rows", len(column), "row")
    parsed = [_parsed(row, text, expected) for row, text in rows]
    data = np.array(parsed, dtype=expected.dtype).reshape(expected.shape(len(parsed)))
    impossible = np.flatnonzero(~mechanism.possible(data))
    if impossible.size:
        raise ReportError(
            f"the report {parsed[impossible[0]]!r} in {_row(column, impossible)}",
            f"reports that {mechanism} can send",
            "Check that client and server use the same protocol.",
        )
    return data


def refuse_foreign_rows(reports: pd.DataFrame, fingerprint: str, labels: Sequence[str]) -> None:
    """Refuse rows that a protocol with this fingerprint and these groups did not make."""
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
    unclear = np.flatnonzero(~reports["simulated"].astype(str).isin(["True", "False"]))
    if unclear.size:
        raise ReportError(f"{_row(reports, unclear)} does not say whether it is simulated", "True or False")
    _refuse_unnumbered(reports)


def simulated_rows(reports: pd.DataFrame) -> BoolArray:
    """Say which rows are simulated, also where a file reader left the words as text."""
    return np.asarray(reports["simulated"].astype(str) == "True", dtype=np.bool_)


def numbered(identity: str, numbers: NDArray[np.int64]) -> dict[str, Any]:
    """Return the columns that say whose the rows are: the collection, and the respondent's place in it.

    The place is that among all who were asked the same groups, in random order.
    """
    return {"collection": f"{_LETTER}{identity}", "number": numbers}


def parts_of(rows: pd.DataFrame, unit: int) -> Parts:
    """Return the respondents behind rows about one group of a unit."""
    return Parts.numbered(rows["collection"].str[len(_LETTER) :], unit, rows["number"].to_numpy(np.int64))


def _refuse_unnumbered(reports: pd.DataFrame) -> None:
    """Refuse rows that do not say whose they are, or that stand twice."""
    names = reports["collection"].astype(str)
    wrong = np.flatnonzero(~(names.str.startswith(_LETTER) & are_identities(names.str[len(_LETTER) :])))
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
    key = ["collection", "number", "group"]
    again = np.flatnonzero(reports.duplicated(key))
    if again.size:
        twin = np.flatnonzero((reports[key] == reports[key].iloc[again[0]]).all(axis=1))
        raise ReportError(
            f"{_row(reports, again)}, which is of the same respondent and group as {_row(reports, twin)} "
            f"({again.size} such rows)",
            "one row per respondent and group",
            "Drop rows that were sent or read twice.",
        )


def _whole_numbers(column: pd.Series[Any], bound: int) -> BoolArray:
    """Say which values of a column are whole numbers from 0 to below a bound: none if it is no column of such."""
    plain = column.infer_objects()
    if not is_integer_dtype(plain):
        return np.zeros(len(column), dtype=np.bool_)
    return np.asarray(plain.between(0, bound - 1).fillna(value=False), dtype=np.bool_)


def refuse_impossible_cells(reports: pd.DataFrame, cells: Mapping[str, int]) -> None:
    """Refuse rows whose report is no cell of their group's table, or whose block is no whole number."""
    for column in ("report", "block"):
        if list(reports.columns).count(column) != 1:
            raise ReportError(f"reports without a column {column!r}", "the rows as they were sent")
    limits = reports["group"].astype(object).map(cells).astype(np.int64)
    # a block number is below the number of rows, whatever was asked
    fits = _whole_numbers(reports["block"], len(reports)) & _whole_numbers(reports["report"], max(cells.values()))
    reported = reports["report"].where(fits, -1).to_numpy(np.int64)
    wrong = np.flatnonzero(~fits | (reported >= limits.to_numpy()))
    if wrong.size:
        row = reports.iloc[wrong[0]]
        raise ReportError(
            f"the report {shortened(row['report'])} in block {shortened(row['block'])} in {_row(reports, wrong)}",
            f"cells of {row['group']!r} below {limits.iloc[wrong[0]]}, in blocks numbered from 0: whole numbers",
            "Check that client and server use the same protocol, and that the columns were read as they were sent.",
        )


def block_counts(rows: pd.DataFrame, cells: int) -> NDArray[np.int64]:
    """Count reported cells, a row for every block up to the last."""
    blocks = int(rows["block"].max()) + 1 if len(rows) else 0
    if blocks > len(rows):
        raise ReportError(f"{len(rows)} rows in {blocks} blocks", "no empty block", "Rows are missing.")
    reported, places = (rows[column].to_numpy(np.int64) for column in ("report", "block"))
    flat = np.bincount(places * cells + reported, minlength=blocks * cells)
    return flat.reshape(blocks, cells)


def _row(rows: pd.DataFrame | pd.Series[Any], positions: NDArray[np.intp]) -> str:
    return f"row {rows.index[positions[:1]].tolist()[0]!r}"


def _parsed(row: object, text: object, expected: ReportFormat) -> int | list[int]:
    try:
        report = json.loads(str(text))
    except (ValueError, RecursionError):
        report = None
    largest = np.iinfo(expected.dtype).max
    numbers: list[Any] = report if isinstance(report, list) else [report]
    whole = all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= largest for one in numbers)
    width = len(report) if isinstance(report, list) else None
    if not whole or width != expected.width:
        wanted = f"a whole number up to {largest}"
        wanted = wanted if expected.width is None else f"a list of {expected.width} of them: {wanted}"
        raise ReportError(
            f"the report {shortened(text)} in row {row!r}", wanted, "The file may be cut off, or of another protocol."
        )
    plain: int | list[int] = report
    return plain
