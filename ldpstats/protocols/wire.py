"""The wire: reports as values that JSON and CSV can carry, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.errors import ReportError, one_line
from ldpstats.mechanisms import ReportFormat


def to_wire(data: NDArray[Any]) -> list[str]:
    """Write every report as text: a number, or a JSON list of numbers."""
    return [json.dumps(report) for report in data.tolist()]


def from_wire(column: pd.Series[str], expected: ReportFormat) -> NDArray[np.int64]:
    """Read reports written by `to_wire`, naming the row of one that cannot be read."""
    return np.array([_parsed(row, text, expected) for row, text in column.items()], dtype=np.int64)


def refuse_foreign_rows(reports: pd.DataFrame, fingerprint: str, labels: Sequence[str]) -> None:
    """Refuse rows that a protocol with this fingerprint and these groups did not make."""
    columns = {"protocol", "group", "report", "simulated"}
    if not isinstance(reports, pd.DataFrame) or not columns <= set(reports.columns):
        found = one_line(list(reports.columns)) if isinstance(reports, pd.DataFrame) else type(reports).__name__
        raise ReportError(f"reports with {found}", f"a data frame with the columns {one_line(sorted(columns))}")
    foreign = reports.index[reports["protocol"] != fingerprint]
    if len(foreign):
        raise ReportError(
            f"{len(foreign)} rows of another protocol, the first of them {foreign[0]!r}",
            f"rows of the protocol {fingerprint!r}",
            "Domain, groups, mechanism and epsilon must be those of the collection.",
        )
    unknown = reports.index[~reports["group"].isin(labels)]
    if len(unknown):
        group = reports["group"].loc[unknown[:1]].tolist()[0]
        raise ReportError(f"row {unknown[0]!r} answers the group {group!r}", one_line(labels))
    unclear = reports.index[~reports["simulated"].isin([True, False])]
    if len(unclear):
        raise ReportError(f"row {unclear[0]!r} does not say whether it is simulated", "True or False")


def _parsed(row: object, text: object, expected: ReportFormat) -> int | list[int]:
    try:
        report = json.loads(str(text))
    except json.JSONDecodeError:
        report = None
    numbers: Iterable[Any] = report if isinstance(report, list) else [report]
    whole = all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
    width = len(report) if isinstance(report, list) else None
    if not whole or width != expected.width:
        wanted = "a whole number" if expected.width is None else f"a list of {expected.width} whole numbers"
        raise ReportError(
            f"the report {text!r} in row {row!r}", wanted, "The file may be cut off, or of another protocol."
        )
    return report
