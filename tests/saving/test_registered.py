"""Registered classes: the package's own are where they are said to be, and their fields hold what they may."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import TypeAliasType

from ldpstats.errors import LdpstatsError
from ldpstats.extend import Saveable
from ldpstats.mechanisms import GRR, Mechanism
from ldpstats.noise import NoiseModel
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray
from ldpstats.saving import registered
from ldpstats.saving.registered import (
    Amount,
    Count,
    Share,
    class_named,
    fits,
    is_registered,
    kept_fields,
    register,
    unaliased,
)


@pytest.mark.parametrize("name", registered._MODULES)
def test_every_registered_class_is_where_it_is_said_to_be(name: str):
    """A class that was moved or renamed moves in `registered._HOMES`, too."""
    assert is_registered(class_named(name))
    assert all(not field.name.startswith("_") for field in kept_fields(class_named(name)))


def test_classes_from_outside_are_saved_once_they_are_registered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registered, "_FROM_OUTSIDE", {})

    @dataclass(frozen=True)
    class Wish(Saveable):
        words: str
        _thoughts: tuple[str, ...] = ()

    with pytest.raises(LdpstatsError, match="has to be registered"):
        Wish("more").to_json()
    assert register(Wish) is Wish is register(Wish)
    text = Wish("more", ("kept to myself",)).to_json()
    assert Wish.from_json(text) == Wish("more")
    assert "myself" not in text
    monkeypatch.setattr(registered, "_FROM_OUTSIDE", {})
    with pytest.raises(LdpstatsError, match=r"the class 'Wish'.*registered first"):
        Wish.from_json(text)


def test_names_that_are_taken_and_what_is_no_dataclass_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(registered, "_FROM_OUTSIDE", {})

    @dataclass(frozen=True)
    class Table:
        words: str

    @dataclass(frozen=True)
    class range:  # noqa: A001, N801  # a word of the codec
        words: str

    class Plain:
        pass

    for one in (Table, range, Plain, int, None, Table("x")):
        with pytest.raises(LdpstatsError, match=r"a dataclass with a (capital )?name that no registered class has"):
            register(one)


Entry = TypeVar("Entry")
Entries = TypeAliasType("Entries", np.ndarray[tuple[int, ...], np.dtype[Entry]], type_params=(Entry,))
"""What numpy's `NDArray` is from Python 3.12 on."""
Reals = TypeAliasType("Reals", Entries[np.floating[Any]])


class Named(Protocol):
    """What has a name and a greeting."""

    name: str

    def greeting(self) -> str: ...


class Person:
    """Has both, without a word of it."""

    name = "Ann"

    def greeting(self) -> str:
        return "hello"


FITS: list[tuple[Any, list[object], list[object]]] = [
    (int, [1, np.int64(1)], [True, 1.0, None]),
    (float, [1, np.float64(1)], [True, "1", 10**400]),
    (bool, [np.bool_(1)], [1]),
    (int | None, [None], []),
    (Literal["x", 1], ["x"], []),
    (Literal["x", True], [], [1]),
    (tuple[int, ...], [(1, 2), ()], [[1, 2], (1, "x")]),
    (tuple[str, float], [("x", 1.5)], [("x",)]),
    (tuple[Sequence[int], Mapping[str, float]], [([1], {"x": 1})], []),
    (Mapping[str, int], [], [{"x": "y"}, {1: 1}]),
    (frozenset[str], [frozenset("x")], [{"x"}]),
    (FloatArray, [np.zeros(2), np.float64(2)], [[1.0], np.zeros(2, dtype=int), np.array(["x"])]),
    (IntArray, [np.zeros(2, dtype="u1")], [np.zeros(2)]),
    (BoolArray, [np.zeros(2, dtype=bool)], []),
    (NDArray[Any], [np.zeros(2)], []),
    (Entries[np.floating[Any]], [np.zeros(2)], [np.zeros(2, dtype=int)]),
    (Reals | None, [np.zeros(2)], [[1.0]]),
    (Named, [Person()], [3]),
    (Mechanism, [GRR(3, epsilon=1.0)], []),
    (NoiseModel, [GRR(3, epsilon=1.0).noise], [GRR(3, epsilon=1.0)]),
    (Callable[[str], int], [], [len]),
    (Any, [3], [len]),
    (Share, [0, 1, 0.5, np.float64(1), float("nan")], [-1e-300, 1.0000001, float("inf"), True, "0.5", None]),
    (Amount | None, [0, 10**9, float("inf"), None], [-1e-300, -1, float("-inf"), True]),
    (Count, [0, 10**30, np.uint64(2**63)], [-1, 2.0, float("nan"), True]),
]


@pytest.mark.parametrize(("hint", "fitting", "others"), FITS)
def test_what_fits_and_what_does_not(hint: Any, fitting: list[object], others: list[object]):
    assert [value for value in fitting if not fits(value, hint)] == []
    assert [value for value in others if fits(value, hint)] == []


def test_aliases_stand_for_what_they_name() -> None:
    assert (
        unaliased(Reals)
        == unaliased(Entries[np.floating[Any]])
        == np.ndarray[tuple[int, ...], np.dtype[np.floating[Any]]]
    )
    assert unaliased(int | None) == int | None
