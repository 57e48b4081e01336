"""The one kind of error this package raises: what came, what is allowed, what to do next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PosixPath, WindowsPath
from types import BuiltinFunctionType, EllipsisType, FunctionType, MappingProxyType, NoneType
from typing import Any

_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    set: ("{", "}"),
    frozenset: ("frozenset({", "})"),
    dict: ("{", "}"),
    MappingProxyType: ("mappingproxy({", "})"),
}
_SHORT = frozenset(
    [
        *(NoneType, bool, int, float, complex, Decimal, Fraction, range, EllipsisType, FunctionType),
        *(BuiltinFunctionType, date, datetime, time, timedelta, Path, PosixPath, WindowsPath),
    ]
)
"""What prints itself in few letters, or as a whole at once."""
_MOST_BITS = 10_000
"""Python does not print whole numbers of more than some thousand digits."""
_LONGEST_MEMBER, _LONGEST_PART = 200, 5_000


class LdpstatsError(ValueError):
    """Input that cannot be used, told in three parts so that the message is also an instruction.

    Parameters
    ----------
    came : str
        What was received, with the place (column, row, option) where it stood.
    allowed : str
        What would have been accepted there.
    advice : str
        What the caller can do next.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> try:
    ...     ldp.GRR(1, epsilon=1.0)
    ... except ldp.LdpstatsError as error:
    ...     print(error)
    k = 1. Allowed: a whole number, at least 2.
    """

    def __init__(self, came: str, allowed: str, advice: str = "") -> None:
        self.came, self.allowed, self.advice = map(_cut, (came, allowed, advice))
        message = f"{self.came}. Allowed: {self.allowed}."
        super().__init__(f"{message} {self.advice}" if advice else message)

    def __reduce__(self) -> tuple[object, ...]:
        # Exception would unpickle with the message alone, and so break in the parent of a worker process.
        return type(self), (self.came, self.allowed, self.advice)


class DomainError(LdpstatsError):
    """A value, column or category that the domain does not know.

    Parameters
    ----------
    came, allowed, advice : str
        As of every `LdpstatsError`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"]})
    >>> try:
    ...     domain.project(["age"])
    ... except ldp.DomainError as error:
    ...     print(error)
    attributes ('age',). Allowed: different names out of 'sex', at least one.
    """


class ReportError(LdpstatsError):
    """A report that the mechanism, protocol or domain at hand cannot have produced.

    Parameters
    ----------
    came, allowed, advice : str
        As of every `LdpstatsError`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> try:
    ...     ldp.GRR(4, epsilon=1.0).count([0, 3, 4])
    ... except ldp.ReportError as error:
    ...     print(error)
    the report 4 at position 2 (1 such reports). Allowed: reports that GRR(k=4, epsilon=1.0) can send. Check that
    client and server use the same mechanism, k and epsilon.
    """


class NotIdentifiedError(LdpstatsError):
    """A quantity that the collected reports carry no information about.

    Parameters
    ----------
    came, allowed, advice : str
        As of every `LdpstatsError`.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["old", "young"]})
    >>> protocol = ldp.SampledGroups(domain, epsilon=2.0, groups=[("sex", "car"), ("car", "age")])
    >>> tables = protocol.simulate([100] * 8, rng=1)
    >>> try:
    ...     ldp.independence_test(ldp.reconstruct(tables, ["sex", "age"]))
    ... except ldp.NotIdentifiedError as error:
    ...     print(error)
    a hypothesis that the reports tell nothing about: nobody was asked about sex and age together; what the table
    shows of that follows from an assumption. Allowed: a hypothesis about what was asked together. Ask the group
    ('sex', 'age'); bounds() of the table says what is known without an assumption.
    """


def _cut(part: str) -> str:
    """Return a part of a message; of one that is many pages long no more than the beginning."""
    # what was cut before is not cut again
    return part if len(part) <= 2 * _LONGEST_PART else f"{part[:_LONGEST_PART]}... ({len(part)} letters)"


def one_line(values: object, limit: int = 8) -> str:
    """Print a collection for an error message, cut after `limit` members."""
    listed = list(values) if isinstance(values, (list, tuple, set, frozenset, dict)) else [values]
    shown = ", ".join(shortened(value, _LONGEST_MEMBER) for value in listed[:limit]) or "nothing"
    return shown if len(listed) <= limit else f"{shown}, ... ({len(listed)} in all)"


def shortened(value: Any, limit: int = 80) -> str:
    """Print a value for an error message, cut after `limit` letters; no more of it is looked at than is printed.

    So what holds itself, or the same twice at each of many levels, costs next to nothing. Objects of other packages are
    not asked to print themselves.
    """
    shown = ""
    try:
        for piece in _pieces(value, limit):
            shown += piece
            if len(shown) > limit:
                return f"{shown[:limit]}...{_size(value)}"
    except Exception:  # whatever it does when it is looked at
        return f"a {type(value).__name__}"
    return shown


def _size(value: Any) -> str:
    """Say how much there is of what was cut, where that is known without looking at it."""
    if type(value) in (str, bytes):
        return f" ({len(value)} letters)"
    return f" ({len(value)} in all)" if type(value) in _BRACKETS else ""


def _pieces(value: Any, limit: int) -> Iterator[str]:
    """Yield what `repr` prints, piece by piece: what is not asked for is not made."""
    kind = type(value)
    if kind in (str, bytes):
        yield repr(value[: limit + 1])
    elif kind is int and value.bit_length() > _MOST_BITS:
        yield "a int of very many digits"
    elif kind in _BRACKETS:
        yield from _members(value, limit)
    # the repr that dataclasses are given
    elif is_dataclass(kind) and hasattr(kind.__repr__, "__wrapped__"):
        yield from _fields(value, limit)
    else:
        yield _printed(value)


def _members(value: Any, limit: int) -> Iterator[str]:
    kind = type(value)
    if not value:
        yield repr(value)
        return
    opening, closing = _BRACKETS[kind]
    yield opening
    for index, member in enumerate(value):
        yield ", " if index else ""
        yield from _pieces(member, limit)
        if kind in (dict, MappingProxyType):
            yield ": "
            yield from _pieces(value[member], limit)
    yield f",{closing}" if kind is tuple and len(value) == 1 else closing


def _fields(value: Any, limit: int) -> Iterator[str]:
    yield f"{type(value).__qualname__}("
    for index, shown in enumerate(field for field in fields(value) if field.repr):
        yield f"{', ' if index else ''}{shown.name}="
        yield from _pieces(getattr(value, shown.name), limit)
    yield ")"


def _printed(value: Any) -> str:
    """Return what an object prints of itself, where that is short; else what it is."""
    kind = type(value)
    home = kind.__module__.partition(".")[0]
    if home in ("numpy", "pandas"):
        entries = getattr(getattr(value, "dtype", None), "kind", "O")
        # numpy leaves out the middle of long arrays
        shape = f" of shape {value.shape}" if hasattr(value, "shape") else ""
        return repr(value) if home == "numpy" and entries in "biufcmM" else f"a {kind.__name__}{shape}"
    # what results print is computed
    own = home == "ldpstats" and not hasattr(kind, "headline")
    return repr(value) if own or kind in _SHORT or isinstance(value, type) else f"a {kind.__name__}"
