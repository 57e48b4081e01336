"""Type hints at run time: whether a value is one that a field was declared to hold."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    """Say whether a value is of a type, whose parts are looked at as well.

    A whole number is a float, truth is no number, an array is of its entries' type, and of a protocol its names are
    looked for. No value is a function: files cannot hold any.
    """
    hint = unaliased(hint)
    if hint in _NUMBERS:
        proper = isinstance(value, _NUMBERS[hint]) and (hint is bool or not isinstance(value, bool))
        return proper and (hint is not float or not isinstance(value, int) or abs(value) <= _LARGEST)
    origin, parts = get_origin(hint) or hint, get_args(hint)
    check = _CHECKS.get(origin)
    if check is not None:
        return check(value, parts)
    if getattr(origin, "_is_protocol", False):
        # of the class: what is computed when it is asked for is not computed here
        kind, own = type(value), getattr(value, "__dict__", ())
        return all(hasattr(kind, name) or name in own for name in vars(origin) if not name.startswith("_"))
    return isinstance(value, origin)


def _fits_tuple(value: object, parts: tuple[Any, ...]) -> bool:
    if not isinstance(value, tuple) or not parts:
        return isinstance(value, tuple)
    if parts[1:] == (Ellipsis,):
        return all(fits(one, parts[0]) for one in value)
    return len(value) == len(parts) and all(map(fits, value, parts))


def _fits_sequence(value: object, parts: tuple[Any, ...]) -> bool:
    return isinstance(value, (list, tuple)) and all(fits(one, part) for part in parts for one in value)


def _fits_set(value: object, parts: tuple[Any, ...]) -> bool:
    return isinstance(value, frozenset) and all(fits(one, part) for part in parts for one in value)


def _fits_mapping(value: object, parts: tuple[Any, ...]) -> bool:
    if not isinstance(value, Mapping) or not parts:
        return isinstance(value, Mapping)
    return all(fits(name, parts[0]) and fits(one, parts[1]) for name, one in value.items())


def _fits_array(value: object, parts: tuple[Any, ...]) -> bool:
    entries = get_args(parts[1])[0] if len(parts) > 1 else Any
    kind = get_origin(entries) or entries
    return isinstance(value, (np.ndarray, np.generic)) and (kind is Any or np.issubdtype(value.dtype, kind))


def _fits_some(value: object, parts: tuple[Any, ...]) -> bool:
    return any(fits(value, part) for part in parts)


def _fits_within(value: Any, parts: tuple[Any, ...]) -> bool:
    return fits(value, parts[0]) and not (value < parts[1].least or value > parts[1].most)


_CHECKS: dict[Any, Callable[[object, tuple[Any, ...]], bool]] = {
    Any: lambda value, _: not callable(value),
    NoneType: lambda value, _: value is None,
    Annotated: _fits_within,
    Union: _fits_some,
    UnionType: _fits_some,
    Literal: lambda value, parts: any(type(value) is type(one) and value == one for one in parts),
    tuple: _fits_tuple,
    **dict.fromkeys((list, Sequence, Iterable, Collection), _fits_sequence),
    frozenset: _fits_set,
    **dict.fromkeys((dict, Mapping), _fits_mapping),
    np.ndarray: _fits_array,
    Callable: lambda _value, _parts: False,
}
