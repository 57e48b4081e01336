"""Type hints at run time: whether a value is one that a field was declared to hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import numpy as np


@dataclass(frozen=True, slots=True)
class Within:
    """The range of a number of an annotated type; NaN, which stands for none, is within."""

    least: float
    most: float


Share: TypeAlias = Annotated[float, Within(0, 1)]
"""A probability, or a share of some whole."""
Amount: TypeAlias = Annotated[float, Within(0, float("inf"))]
"""What is not negative, such as a privacy level."""
Count: TypeAlias = Annotated[int, Within(0, float("inf"))]
"""How many there are."""
Check: TypeAlias = Callable[[Any], bool]
_LARGEST = 10**300
"""Whole numbers beyond it are no doubles."""
_NUMBERS: dict[Any, tuple[type, ...]] = {
    bool: (bool, np.bool_),
    int: (int, np.integer),
    float: (int, float, np.integer, np.floating),
}


def unaliased(hint: Any) -> Any:
    """Return what a type alias stands for (`type Name[T] = ...`); numpy's `NDArray` is one from Python 3.12 on."""
    meant, parts = getattr(get_origin(hint) or hint, "__value__", None), get_args(hint)
    if meant is None:
        return hint
    return unaliased(meant[parts] if parts else meant)


def fits(value: object, hint: Any) -> bool:
    """Say whether a value is of a type, whose parts are looked at as well."""
    return check_of(hint)(value)


@cache
def check_of(hint: Any) -> Check:
    """Return what says whether a value is of a type, whose parts are looked at as well.

    A whole number is a float, truth is no number, an array is of its entries' type, and of a protocol its names are
    looked for. No value is a function: files cannot hold any.
    """
    hint = unaliased(hint)
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if hint in _NUMBERS:
        return partial(_is_number, hint)
    if origin in _CHECKS:
        return _CHECKS[origin](parts)
    if getattr(origin, "_is_protocol", False):
        names = [name for name in vars(origin) if not name.startswith("_")]
        # of the class: what is computed when it is asked for is not computed here
        return lambda value: all(hasattr(type(value), name) or name in getattr(value, "__dict__", ()) for name in names)
    return lambda value: isinstance(value, origin)


def _is_number(kind: type, value: Any) -> bool:
    if type(value) is kind is not float:
        return True
    proper = isinstance(value, _NUMBERS[kind]) and (kind is bool or not isinstance(value, bool))
    return proper and (kind is not float or not isinstance(value, int) or abs(value) <= _LARGEST)


def _tuples(parts: tuple[Any, ...]) -> Check:
    if parts[1:] == (Ellipsis,):
        return _collections(tuple)(parts[:1])
    checks = [check_of(part) for part in parts]
    return lambda value: (
        isinstance(value, tuple)
        and (
            not checks
            or (len(value) == len(checks) and all(check(one) for check, one in zip(checks, value, strict=True)))
        )
    )


def _collections(*kinds: Any) -> Callable[[tuple[Any, ...]], Check]:
    def check(parts: tuple[Any, ...]) -> Check:
        checks = [check_of(part) for part in parts]
        return lambda value: isinstance(value, kinds) and all(fits(one) for fits in checks for one in value)

    return check


def _mappings(parts: tuple[Any, ...]) -> Check:
    name_fits, value_fits = map(check_of, parts or (object, object))
    return lambda value: (
        isinstance(value, Mapping) and all(name_fits(name) and value_fits(one) for name, one in value.items())
    )


def _arrays(parts: tuple[Any, ...]) -> Check:
    entries = get_args(parts[1])[0] if len(parts) > 1 else Any
    kind = get_origin(entries) or entries
    return lambda value: (
        isinstance(value, (np.ndarray, np.generic)) and (kind is Any or np.issubdtype(value.dtype, kind))
    )


def _unions(parts: tuple[Any, ...]) -> Check:
    checks = [check_of(part) for part in parts]
    return lambda value: any(check(value) for check in checks)


def _ranges(parts: tuple[Any, ...]) -> Check:
    check, (_, within) = check_of(parts[0]), parts
    return lambda value: check(value) and not (value < within.least or value > within.most)


_CHECKS: dict[Any, Callable[[tuple[Any, ...]], Check]] = {
    Any: lambda _: lambda value: not callable(value),
    NoneType: lambda _: lambda value: value is None,
    Annotated: _ranges,
    Union: _unions,
    UnionType: _unions,
    Literal: lambda parts: lambda value: any(type(value) is type(one) and value == one for one in parts),
    tuple: _tuples,
    **dict.fromkeys((list, Sequence, Iterable, Collection), _collections(list, tuple)),
    frozenset: _collections(frozenset),
    **dict.fromkeys((dict, Mapping), _mappings),
    np.ndarray: _arrays,
    Callable: lambda _: lambda _value: False,
}
