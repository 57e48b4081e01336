"""The codec: values, arrays, data frames and objects of registered classes as plain JSON values, and back.

Single values and tuples stand for themselves: null, true, numbers, texts, lists. Everything else is an object of JSON
with one name that says what it is, such as {"array": ...} or {"Table": {...}}. Objects and arrays that are equal are
written once: {"same": 7} is the one that was finished as the eighth. A field {"range": 9} is [0, 1, ..., 8].
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Collection, Hashable, Mapping
from fractions import Fraction
from math import prod
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.saving.registered import KeptField, class_named, is_registered, kept_fields

_EXACT = (1 << 53) - 1
"""The largest whole number that every reader of JSON keeps: larger ones are written as texts."""
_WRITTEN_OUT = 64
"""Arrays of more numbers are written as the bytes of all of them, in base64, unless digits take less."""
_SHORT = 10**9
"""Whole numbers below it take fewer digits than base64 takes letters."""
_RANGE = 16
"""Fields of so many whole numbers or more that count up from 0, as the answers to a plain question do, are ranges."""
_MOST_IN_RANGES = 1 << 21
"""So many numbers at most have all different ranges of a file together: longer ones are written out."""
_AS_THEY_ARE = frozenset([type(None), bool, str])
_MOST_AXES = 32
_MOST_MET = 10_000_000
"""So many objects at most are met on all ways through an object, each as often as ways lead to it."""
_WRITTEN_AGAIN = frozenset(["list", "frozenset", "mapping", "fraction"])
"""What is never referred to: whoever is given it looks at all of it, each time."""
_DTYPES = frozenset(["|b1", "|i1", "|u1", *(f"<{kind}{size}" for kind in "iu" for size in (2, 4, 8)), "<f4", "<f8"])
_WITH_A_STATE = frozenset(["frame", "generator", "graph"])
"""What may change: two that are equal stay two."""
C = TypeVar("C")
_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def encoded(value: object) -> Any:
    """Return a value as plain JSON values."""
    return _Encoder().plain(value)[0]


def decoded(plain: Any) -> Any:
    """Return the value that `encoded` wrote; objects are made by their constructors, which check their arguments."""
    return _Decoder().value(plain)


def decoded_as(cls: type[C], plain: Any) -> C:
    """Return the value that `encoded` wrote, which must be an object of exactly this class."""
    value = decoded(plain)
    if type(value) is not cls:
        raise LdpstatsError(f"an object of the class {type(value).__name__}", f"one of the class {cls.__name__}")
    return value


class _Encoder:
    """Writes values as JSON values, what is equal once: later ones refer to the first."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._equal: dict[Hashable, int] = {}
        # an object that is gone would leave its id to another one
        self._held: list[object] = []
        self._fields_of: dict[type, tuple[KeptField, ...]] = {}
        self._ranges: set[int] = set()
        self._met = _Met()

    def plain(self, value: Any) -> tuple[Any, Hashable]:
        """Return a value as JSON values, and what it has in common with equal values of its type alone."""
        kind = type(value)
        if kind in _AS_THEY_ARE:
            return value, (kind, value)
        if kind is tuple:
            pairs = [self.plain(part) for part in value]
            return [plain for plain, _ in pairs], tuple([key for _, key in pairs])
        if kind in (int, float):
            # as a text also where it says whether zero has a sign
            text, exact = repr(value), abs(value) <= _EXACT if kind is int else math.isfinite(value)
            return value if exact else {kind.__name__: text}, (kind, text)
        return self.plain(value.item()) if isinstance(value, np.generic) else self._object(value)

    def _object(self, value: object) -> tuple[Any, Hashable]:
        number = self._numbers.get(id(value))
        if number is not None:
            return {"same": self._met.again(number)}, number
        before = self._met.all
        tag, content, key = self._structured(value)
        if tag in _WRITTEN_AGAIN:
            return {tag: content}, (tag, key)
        self._held.append(value)
        number = self._equal.get((tag, key)) if _cannot_change(value) else None
        if number is None:
            number = self._numbers[id(value)] = self._equal[tag, key] = self._met.finish(before)
            return {tag: content}, number
        self._numbers[id(value)], self._met.all = number, before
        return {"same": self._met.again(number)}, number

    def _structured(self, value: Any) -> tuple[str, Any, Hashable]:
        """Return what an object is, its parts as JSON values, and the keys of these."""
        cls: type = type(value)
        if cls in self._fields_of or is_registered(cls):
            known = self._fields_of.setdefault(cls, kept_fields(cls))
            fields: dict[str, Any] = {}
            keys: list[Hashable] = []
            for name, fits, is_array in known:
                field = getattr(value, name)
                # a file that could not be read again would be worth nothing
                if not fits(field):
                    raise LdpstatsError(
                        f"{cls.__name__} with {name} = {shortened(field)}",
                        f"a {name} of the type that the class states",
                    )
                if type(field) is tuple and len(field) >= _RANGE and _counts_up(field) and self._is_a_range(len(field)):
                    fields[name] = {"range": len(field)}
                    keys.append(("range", len(field)))
                else:
                    # a single number in the place of an array is one without axes
                    fields[name], key = self.plain(np.asarray(field) if is_array else field)
                    keys.append(key)
            return cls.__name__, fields, tuple(keys)
        if isinstance(value, np.ndarray):
            dtype, shape, entries = _written_array(value)
            return "array", [dtype, shape, entries], (dtype, *shape, str(entries))
        for tag, (kind, parts, _) in _STRUCTURES.items():
            if isinstance(value, kind):
                return tag, *self.plain(tuple(parts(value)))
        raise LdpstatsError(
            f"{shortened(value)}, an object of the class {type(value).__name__}",
            "objects that can be saved",
            "A class from outside the package has to be registered: ldpstats.extend.register.",
        )

    def _is_a_range(self, numbers: int) -> bool:
        """Say whether readers take one more range, of so many numbers."""
        if sum(self._ranges | {numbers}) > _MOST_IN_RANGES:
            return False
        self._ranges.add(numbers)
        return True


def _counts_up(numbers: tuple[Any, ...]) -> bool:
    return numbers == (*range(len(numbers)),) and {*map(type, numbers)} == {int}


def _cannot_change(value: object) -> bool:
    """Say whether two that are equal may be one after they are read."""
    if isinstance(value, np.ndarray):
        return not value.flags.writeable
    return getattr(type(value), "__dataclass_params__", None) is not None and bool(
        type(value).__dataclass_params__.frozen  # type: ignore[attr-defined]  # of every dataclass
    )


class _Met:
    """Counts the objects met on all ways through each finished one, to refuse more than can be walked through."""

    def __init__(self) -> None:
        self._of: list[int] = []
        self.all = 0

    def finish(self, before: int) -> int:
        """Note an object, and what was met in it since there were so many; return its number."""
        self._of.append(self.all - before + 1)
        self.all += 1
        return len(self._of) - 1

    def again(self, number: int) -> int:
        """Meet an object once more; return its number."""
        self.all += self._of[number]
        if self.all > _MOST_MET:
            raise LdpstatsError(
                f"objects that refer to others, and these again, on more than {_MOST_MET:,} ways",
                "objects that can be walked through",
            )
        return number


class _Decoder:
    """Reads values, and keeps them for later references."""

    def __init__(self) -> None:
        self._read: list[object] = []
        self._classes: dict[str, tuple[type, tuple[KeptField, ...]]] = {}
        self._ranges: dict[int, tuple[int, ...]] = {}
        self._met = _Met()

    def value(self, plain: Any) -> Any:
        if plain is None or isinstance(plain, (bool, int, float, str)):
            return plain
        if isinstance(plain, list):
            return tuple(self.value(part) for part in plain)
        if not isinstance(plain, dict) or len(plain) != 1:
            raise LdpstatsError(f"the value {shortened(plain)}", "one name that says what it is, and its parts")
        ((tag, content),) = plain.items()
        if tag in _SINGLE:
            return _SINGLE[tag](content)
        if tag == "same":
            return self._read[self._met.again(_reference(content, len(self._read)))]
        before = self._met.all
        value = self._structured(tag, content)
        if tag not in _WRITTEN_AGAIN:
            self._read.append(value)
            self._met.finish(before)
        return value

    def _structured(self, tag: str, content: Any) -> Any:
        if tag == "array":
            return _read_array(content)
        if tag in _STRUCTURES:
            parts = self.value(content)
            if not isinstance(parts, tuple):
                raise LdpstatsError(f"{shortened(content)}", "a list")
            return _STRUCTURES[tag][2](*parts)
        if tag not in self._classes:
            self._classes[tag] = class_named(tag), kept_fields(class_named(tag))
        cls, kept = self._classes[tag]
        names = [field.name for field in kept]
        if not isinstance(content, dict) or content.keys() != {*names}:
            raise LdpstatsError(f"{tag} with {shortened(content)}", f"the fields {', '.join(names)}")
        # in the order of the class, in which they were written, whatever order they come in
        fields = {field.name: self._field(content[field.name]) for field in kept}
        for field in kept:
            if not field.fits(fields[field.name]):
                # as it stands in the file: printed out, what refers to itself twice at each of many levels has no end
                raise LdpstatsError(
                    f"{tag} with {field.name} = {shortened(content[field.name])}", f"another kind of {field.name}"
                )
        return cls(**fields)

    def _field(self, plain: Any) -> Any:
        """Return the value of a field, which alone may be a range; equal ones are one object."""
        if not isinstance(plain, dict) or [*plain] != ["range"]:
            return self.value(plain)
        numbers = plain["range"]
        if type(numbers) is not int or not 0 <= numbers <= _MOST_IN_RANGES - sum({*self._ranges} - {numbers}):
            raise LdpstatsError(
                f"a range of {shortened(numbers)}",
                f"whole numbers, and no more than {_MOST_IN_RANGES:,} in all different ranges together",
            )
        return self._ranges.setdefault(numbers, (*range(numbers),))


def _whole(text: object) -> int:
    if not isinstance(text, str) or str(int(text)) != text:
        raise LdpstatsError(f"the whole number {shortened(text)}", "its digits, as a text")
    return int(text)


def _not_finite(text: object) -> float:
    if text not in ("nan", "inf", "-inf"):
        raise LdpstatsError(f"the number {shortened(text)}", "'nan', 'inf' or '-inf'")
    return float(str(text))


def _reference(number: object, known: int) -> int:
    if type(number) is not int or not 0 <= number < known:
        raise LdpstatsError(f"a reference to {shortened(number)}", f"one of the {known} objects before it")
    return number


def _listed(content: object) -> list[Any]:
    if not isinstance(content, list):
        raise LdpstatsError(f"{shortened(content)}", "a list")
    return content


def _written_array(array: np.ndarray[Any, Any]) -> list[Any]:
    """Return dtype, shape and entries: a list of few, else (or if not finite or large) their bytes in base64."""
    plain = array.astype(array.dtype.newbyteorder("<"))
    if plain.dtype.str not in _DTYPES:
        raise LdpstatsError(f"an array of the type {array.dtype}", "numbers, or true and false")
    entries = plain.ravel()
    whole = plain.dtype.str in ("<i8", "<u8")
    short = whole and entries.min(initial=0) > -_SHORT and entries.max(initial=0) < _SHORT
    as_text = not short and (
        entries.size > _WRITTEN_OUT or not np.all(np.isfinite(entries)) or np.any(np.abs(entries * 1.0) > _EXACT)
    )
    listed = base64.b64encode(entries.tobytes()).decode() if as_text else entries.tolist()
    return [plain.dtype.str, list(array.shape), listed]


def _read_array(content: Any) -> np.ndarray[Any, Any]:
    """Read what `_written_array` wrote; it takes no more memory than it took in the file."""
    dtype, shape, entries = _listed(content)
    sides = [side for side in _listed(shape) if type(side) is int and side >= 0]
    if dtype not in _DTYPES or len(sides) != len(shape) or len(sides) > _MOST_AXES:
        raise LdpstatsError(
            f"an array of the type {shortened(dtype)} and the shape {shortened(shape)}", "numbers, and whole sides"
        )
    kind = np.dtype(dtype)
    if isinstance(entries, str):
        flat = np.frombuffer(base64.b64decode(entries, validate=True), kind)
        proper = kind.kind != "b" or not np.any(flat.view(np.uint8) > 1)
    else:
        types = {"b": (bool,), "f": (int, float)}.get(kind.kind, (int,))
        proper = all(type(entry) in types for entry in _listed(entries))
        flat = np.array(entries if proper else [], dtype=kind)
    if not proper or flat.size != prod(sides):
        raise LdpstatsError(f"an array of {flat.size} entries for the shape {shape}", "as many entries of its type")
    return flat.reshape(sides).astype(kind.newbyteorder("="))


def _fraction(numerator: object, denominator: object) -> Fraction:
    if type(numerator) is not int or type(denominator) is not int or denominator < 1:
        raise LdpstatsError("a fraction of anything else", "whole numbers, the lower one positive")
    return Fraction(numerator, denominator)


def _frame_parts(frame: pd.DataFrame) -> tuple[Any, ...]:
    """Return the names of the columns, and each column: an array of numbers, or its values with their type."""
    named = all(type(name) is str for name in frame.columns) and frame.columns.is_unique
    if not named or not frame.index.equals(pd.RangeIndex(len(frame))):
        raise LdpstatsError("a data frame with an index of its own", "named columns, and rows that are numbered from 0")
    columns = [frame[name] for name in frame.columns]
    plain = [
        column.to_numpy() if column.dtype.kind in "biuf" else (str(column.dtype), *column.tolist())
        for column in columns
    ]
    return (tuple(frame.columns), tuple(plain))


def _frame(names: Any, columns: Any) -> pd.DataFrame:
    if len({*names}) != len(names) or not all(isinstance(name, str) for name in names):
        raise LdpstatsError("columns of a data frame that have no names of their own", "different names")
    if any(isinstance(cell, (Collection, np.ndarray)) and not isinstance(cell, str) for own in columns for cell in own):
        raise LdpstatsError("a data frame with collections in its cells", "numbers, texts, truth values and nothing")
    made = {
        name: column if isinstance(column, np.ndarray) else pd.Series(list(column[1:]), dtype=_text_dtype(column[0]))
        for name, column in zip(names, columns, strict=True)
    }
    return pd.DataFrame(made)


def _text_dtype(name: object) -> Any:
    if name not in ("object", "str"):
        raise LdpstatsError("a column of another type", "numbers, texts or objects")
    return name


def _plain(name: Any) -> Any:
    """Refuse objects as names of a mapping: hashing one would walk through all that it refers to."""
    if isinstance(name, tuple):
        return tuple(map(_plain, name))
    if name is not None and not isinstance(name, (bool, int, float, str)):
        raise LdpstatsError(f"a {type(name).__name__} as a name", "numbers, texts, and tuples of them")
    return name


def _generator(state: Any) -> np.random.Generator:
    name = state["bit_generator"]
    if name not in _BIT_GENERATORS:
        raise LdpstatsError("a generator of another kind", f"one of {', '.join(_BIT_GENERATORS)}")
    made = getattr(np.random, name)(0)
    made.state = state
    return np.random.Generator(made)


def _graph(nodes: Any, edges: Any) -> Any:
    import networkx as nx

    graph: nx.Graph[Any] = nx.Graph()
    graph.add_nodes_from(nodes)
    if not all(len(edge) == 3 and set(edge[:2]) <= set(graph.nodes) for edge in edges):
        raise LdpstatsError("the edges of a graph", "pairs of nodes")
    graph.add_edges_from(edges)
    return graph


class _GraphLike(type):
    """Knows a graph of networkx without importing networkx."""

    def __instancecheck__(cls, value: object) -> bool:
        return type(value).__module__.startswith("networkx.") and type(value).__name__ == "Graph"


class _AnyGraph(metaclass=_GraphLike):
    pass


_SINGLE: dict[str, Callable[[Any], Any]] = {"int": _whole, "float": _not_finite}
_STRUCTURES: dict[str, tuple[Any, Callable[[Any], Any], Callable[..., Any]]] = {
    "list": (list, tuple, lambda *parts: list(parts)),
    "frozenset": (frozenset, lambda value: sorted(value, key=repr), lambda *parts: frozenset(map(_plain, parts))),
    "mapping": (
        Mapping,
        lambda value: tuple(value.items()),
        lambda *pairs: {_plain(name): value for name, value in pairs},
    ),
    "fraction": (Fraction, lambda value: (value.numerator, value.denominator), _fraction),
    "frame": (pd.DataFrame, _frame_parts, _frame),
    "generator": (np.random.Generator, lambda generator: (generator.bit_generator.state,), _generator),
    "graph": (_AnyGraph, lambda graph: (tuple(graph.nodes(data=True)), tuple(graph.edges(data=True))), _graph),
}
