"""The wire: one report as a whole number or as bytes, in files, in messages and in columns of data frames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
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


def report_size(form: ReportFormat) -> int | None:
    """Number of bytes of a report on the wire; None where it is one whole number."""
    if form.width is None:
        return None
    last = form.dtype if form.last is None else form.last
    return (form.width - 1) * form.dtype.itemsize + last.itemsize


def to_bytes(data: NDArray[Any], form: ReportFormat) -> NDArray[np.uint8]:
    """Return rows of numbers as rows of bytes: number after number, lowest byte first."""
    size = report_size(form)
    assert size is not None  # one whole number is no bytes
    raw = np.empty((len(data), size), dtype=np.uint8)
    for columns, places, dtype in _fields(form, size):
        part = np.ascontiguousarray(data[:, columns], dtype=dtype)
        raw[:, places] = part.view(np.uint8).reshape(len(data), places.stop - places.start)
    return raw


def from_bytes(raw: NDArray[np.uint8], form: ReportFormat) -> NDArray[Any]:
    """Return the numbers that `to_bytes` wrote."""
    size = report_size(form)
    assert size is not None  # one whole number is no bytes
    if form.dtype.itemsize == 1 and form.last is None:
        return raw
    data = np.empty(form.shape(len(raw)), dtype=form.dtype)
    for columns, places, dtype in _fields(form, size):
        part = np.ascontiguousarray(raw[:, places]).view(dtype)
        data[:, columns] = part.reshape(len(raw), columns.stop - columns.start)
    return data


def _fields(form: ReportFormat, size: int) -> list[tuple[slice, slice, np.dtype[Any]]]:
    """Return, for numbers of each type, their columns and their places among the bytes."""
    assert form.width is not None
    if form.last is None:
        return [(slice(0, form.width), slice(0, size), form.dtype.newbyteorder("<"))]
    first = (form.width - 1) * form.dtype.itemsize
    return [
        (slice(0, form.width - 1), slice(0, first), form.dtype.newbyteorder("<")),
        (slice(form.width - 1, form.width), slice(first, size), form.last.newbyteorder("<")),
    ]


def to_column(data: NDArray[Any], form: ReportFormat) -> NDArray[Any]:
    """Return reports as a column of a data frame: whole numbers, or hexadecimal texts such as "x01000201"."""
    size = report_size(form)
    if size is None:
        return data
    digits, step = to_bytes(data, form).tobytes().hex(), 2 * size
    texts = [_LETTER + digits[start : start + step] for start in range(0, len(digits), step)]
    return np.array(texts, dtype=object)


def from_column(values: Sequence[Any] | NDArray[Any], form: ReportFormat) -> tuple[NDArray[Any], dict[int, Reason]]:
    """Return the reports in a column, and by their places why some are none; there the array holds zeros.

    A file reader may have left numbers as texts; older versions wrote bytes as lists of numbers in JSON.
    """
    found = _numbers_at_once(values, form) if form.width is None else _bytes_at_once(values, form)
    if found is not None:
        return found, {}
    data, reasons = np.zeros(form.shape(len(values)), dtype=form.dtype), {}
    for place, value in enumerate(values):
        read = _parsed(value, form)
        if isinstance(read, Reason):
            reasons[place] = read
        else:
            data[place] = read
    return data, reasons


def _numbers_at_once(values: Sequence[Any] | NDArray[Any], form: ReportFormat) -> NDArray[Any] | None:
    """Read a column of whole numbers, or of texts as these are written, if all fit; else return None."""
    column = values if isinstance(values, np.ndarray) and values.dtype != object else _typed(values)
    if column.dtype.kind == "U":
        try:
            texts, column = column, column.astype(np.uint64)
        except (ValueError, OverflowError):
            return None
        if not np.array_equal(column.astype(texts.dtype), texts):  # such as 01, or +1
            return None
    if column.dtype.kind not in "iu" or (column.size and (column.min() < 0 or column.max() > _largest(form))):
        return None
    return column.astype(form.dtype)


def _typed(values: Iterable[Any]) -> NDArray[Any]:
    """Return an array of whole numbers or short texts in their own type, and of anything else as objects."""
    listed = list(values)
    kinds = {type(one) for one in listed}
    # an array of texts drops zero bytes at their ends
    short = kinds == {str} and all(len(one) <= _DIGITS and one[-1:] != "\0" for one in listed)
    return np.array(listed, dtype=None if short or kinds == {int} else object)


def _bytes_at_once(values: Sequence[Any] | NDArray[Any], form: ReportFormat) -> NDArray[Any] | None:
    """Read a column of hexadecimal texts of the right length, if all are; else return None."""
    size = report_size(form)
    assert size is not None
    if not all(type(one) is str and len(one) == 2 * size + 1 and one[0] == _LETTER for one in values):
        return None
    try:
        raw = bytes.fromhex("".join([one[1:] for one in values]))
    except ValueError:
        return None
    # blanks are skipped in hexadecimal texts: they would be too short
    if len(raw) != size * len(values):
        return None
    return from_bytes(np.frombuffer(raw, dtype=np.uint8).reshape(len(values), size), form)


def parsed_report(value: object, form: ReportFormat) -> NDArray[Any] | Reason:
    """Return one report, a number or a text of digits or of bytes, as an array; or why it is none."""
    read = _parsed(value, form)
    return read if isinstance(read, Reason) else np.array(read, dtype=form.dtype)


def _parsed(value: object, form: ReportFormat) -> int | list[int] | Reason:
    size, text = report_size(form), str(value)
    if size is not None and isinstance(value, str) and not value.startswith("["):
        digits = value.removeprefix(_LETTER)
        if len(digits) == 2 * size and set(digits) <= set("0123456789abcdef"):
            plain: list[int] = from_bytes(np.frombuffer(bytes.fromhex(digits), np.uint8)[None], form)[0].tolist()
            return plain
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):
        report = None
    numbers: list[Any] = report if isinstance(report, list) else [report]
    whole = all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= _largest(form) for one in numbers)
    width = len(report) if isinstance(report, list) else None
    if not whole or width != form.width or (form.last is not None and numbers[-1] > np.iinfo(form.last).max):
        wanted = f"a whole number up to {_largest(form)}" if size is None else f"{size} bytes in hexadecimal digits"
        return Reason(
            f"the report {shortened(_plain(value), _SHOWN)}", wanted, "The file may be cut off, or of another protocol."
        )
    return numbers if form.width is not None else int(numbers[0])


def _largest(form: ReportFormat) -> int:
    return int(np.iinfo(form.dtype).max)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
