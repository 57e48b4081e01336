"""The wire: one report as a whole number or as bytes, in files, in messages and in columns of data frames."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import ReportError, shortened
from ldpstats.mechanisms import ReportFormat
from ldpstats.numbers.arrays import BoolArray

_LETTER = "x"
"""What bytes begin with as text: it keeps a file reader from taking their digits for a number."""
_SHOWN = 80
_DIGITS = 20
"""Those of the largest number of 64 bits."""
_WHOLE = re.compile("0|[1-9][0-9]*")


class Sendable(Protocol):
    """Set of possible reports of one form, such as a mechanism's."""

    @property
    def report_format(self) -> ReportFormat:
        """How the reports are stored."""

    def possible(self, reports: NDArray[Any], /) -> BoolArray:
        """Mask of the reports, already of the right form, that can have been sent."""


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a row cannot be counted: an `LdpstatsError` without the place of the row."""

    came: str
    allowed: str
    advice: str = ""

    def error(self, where: str) -> ReportError:
        """Return the error about the row in this place, such as "row 17"."""
        return ReportError(f"{self.came} in {where}", self.allowed, self.advice)


def report_size(form: ReportFormat) -> int:
    """Number of bytes of a report on the wire."""
    last = form.dtype if form.last is None else form.last
    return ((form.width or 1) - 1) * form.dtype.itemsize + last.itemsize


def to_bytes(data: NDArray[Any], form: ReportFormat) -> NDArray[np.uint8]:
    """Return reports as rows of bytes: number after number, lowest byte first."""
    table = data.reshape(len(data), form.width or 1)
    if form.last is None:
        return _bytes_of(table, form.dtype)
    return np.hstack([_bytes_of(table[:, :-1], form.dtype), _bytes_of(table[:, -1:], form.last)])


def _bytes_of(table: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[np.uint8]:
    raw = np.ascontiguousarray(table, dtype=dtype.newbyteorder("<")).view(np.uint8)
    return raw.reshape(len(table), table.shape[1] * dtype.itemsize)


def from_bytes(raw: NDArray[np.uint8], form: ReportFormat) -> NDArray[Any]:
    """Return the numbers that `to_bytes` wrote."""
    first = raw.shape[1] if form.last is None else raw.shape[1] - form.last.itemsize
    data = np.ascontiguousarray(raw[:, :first]).view(form.dtype.newbyteorder("<")).astype(form.dtype, copy=False)
    if form.last is not None:
        last = np.ascontiguousarray(raw[:, first:]).view(form.last.newbyteorder("<"))
        data = np.hstack([data, last.astype(form.dtype)])
    return data.reshape(form.shape(len(raw)))


def to_column(data: NDArray[Any], form: ReportFormat) -> NDArray[Any]:
    """Return reports as a column of a data frame: whole numbers, or hexadecimal texts such as "x01000201"."""
    if form.width is None:
        return data
    digits, step = to_bytes(data, form).tobytes().hex(), 2 * report_size(form)
    texts = [_LETTER + digits[start : start + step] for start in range(0, len(digits), step)]
    return np.array(texts, dtype=object)


def from_column(values: Sequence[Any] | NDArray[Any], form: ReportFormat) -> tuple[NDArray[Any], dict[int, Reason]]:
    """Return the reports in a column, and by their places why some are none; there the array holds zeros.

    A file reader may have left numbers as texts.
    """
    at_once = _numbers_at_once(values, form) if form.width is None else _bytes_at_once(values, form)
    if at_once is not None:
        return at_once, {}
    data, reasons = np.zeros(form.shape(len(values)), dtype=form.dtype), {}
    for position, value in enumerate(values):
        read = parsed_report(value, form)
        if isinstance(read, Reason):
            reasons[position] = read
        else:
            data[position] = read
    return data, reasons


def _numbers_at_once(values: Sequence[Any] | NDArray[Any], form: ReportFormat) -> NDArray[Any] | None:
    """Read a column of whole numbers, or of texts as these are written, if all fit; else return None."""
    if isinstance(values, np.ndarray) and values.dtype != object:
        column = values
    else:
        listed = list(values)
        kinds = {type(value) for value in listed}
        # an array of texts drops zero bytes at their ends
        short = kinds == {str} and all(len(text) <= _DIGITS and text[-1:] != "\0" for text in listed)
        column = np.array(listed, dtype=None if short or kinds == {int} else object)
    if column.dtype.kind == "U":
        try:
            texts, column = column, column.astype(np.uint64)
        except (ValueError, OverflowError):
            return None
        if not np.array_equal(column.astype(texts.dtype), texts):  # such as 01, or +1
            return None
    if column.dtype.kind not in "iu" or (column.size and (column.min() < 0 or column.max() > np.iinfo(form.dtype).max)):
        return None
    return column.astype(form.dtype)


def _bytes_at_once(values: Sequence[Any] | NDArray[Any], form: ReportFormat) -> NDArray[Any] | None:
    """Read a column of hexadecimal texts of the right length, if all are; else return None."""
    size = report_size(form)
    if not all(type(value) is str and len(value) == 2 * size + 1 and value[0] == _LETTER for value in values):
        return None
    try:
        raw = bytes.fromhex("".join([text[1:] for text in values]))
    except ValueError:
        return None
    # blanks are skipped in hexadecimal texts: they would be too short
    if len(raw) != size * len(values):
        return None
    return from_bytes(np.frombuffer(raw, dtype=np.uint8).reshape(len(values), size), form)


def parsed_report(value: object, form: ReportFormat) -> NDArray[Any] | Reason:
    """Return one report, a number or a text of digits or of bytes, as an array; or why it is none."""
    size, most = report_size(form), int(np.iinfo(form.dtype).max)
    plain: Any = value.item() if isinstance(value, np.generic) else value
    if form.width is None:
        # no number is longer, and Python takes long for long ones
        known = type(plain) is int or (isinstance(plain, str) and len(plain) <= _DIGITS and _WHOLE.fullmatch(plain))
        if known and 0 <= int(plain) <= most:
            return np.array(int(plain), dtype=form.dtype)
    elif isinstance(plain, str):
        digits = plain.removeprefix(_LETTER)
        if len(digits) == 2 * size and set(digits) <= set("0123456789abcdef"):
            report: NDArray[Any] = from_bytes(np.frombuffer(bytes.fromhex(digits), np.uint8)[None], form)[0]
            return report
    wanted = f"a whole number up to {most}" if form.width is None else f"{size} bytes in hexadecimal digits"
    return Reason(f"the report {shortened(plain, _SHOWN)}", wanted, "The file may be cut off, or of another protocol.")
