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

    class Plain:
        pass

    for one in (Table, Plain, int, None, Table("x")):
        with pytest.raises(LdpstatsError, match="a dataclass with a name that no registered class has"):
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


FIT: list[tuple[object, Any]] = [
    (1, int),
    (np.int64(1), int),
    (1, float),
    (np.float64(1), float),
    (np.bool_(1), bool),
    (None, int | None),
    ("x", Literal["x", 1]),
    ((1, 2), tuple[int, ...]),
    ((), tuple[int, ...]),
    (("x", 1.5), tuple[str, float]),
    (([1], {"x": 1}), tuple[Sequence[int], Mapping[str, float]]),
    (frozenset("x"), frozenset[str]),
    (np.zeros(2), FloatArray),
    (np.float64(2), FloatArray),
    (np.zeros(2, dtype="u1"), IntArray),
    (np.zeros(2, dtype=bool), BoolArray),
    (np.zeros(2), NDArray[Any]),
    (np.zeros(2), Entries[np.floating[Any]]),
    (np.zeros(2), Reals | None),
    (Person(), Named),
    (GRR(3, epsilon=1.0), Mechanism),
    (GRR(3, epsilon=1.0).noise, NoiseModel),
    (3, Any),
    *((share, Share) for share in (0, 1, 0.5, np.float64(1), float("nan"))),
    *((amount, Amount | None) for amount in (0, 10**9, float("inf"), None)),
    *((count, Count) for count in (0, 10**30, np.uint64(2**63))),
]
MISFIT: list[tuple[object, Any]] = [
    *((share, Share) for share in (-1e-300, 1.0000001, float("inf"), True, "0.5", None)),
    *((amount, Amount | None) for amount in (-1e-300, -1, float("-inf"), True)),
    *((count, Count) for count in (-1, 2.0, float("nan"), True)),
    (True, int),
    (True, float),
    (1, bool),
    (1.0, int),
    ("1", float),
    (10**400, float),
    (None, int),
    (1, Literal["x", True]),
    ([1, 2], tuple[int, ...]),
    ((1, "x"), tuple[int, ...]),
    (("x",), tuple[str, float]),
    ({"x": "y"}, Mapping[str, int]),
    ({1: 1}, Mapping[str, int]),
    ({"x"}, frozenset[str]),
    ([1.0], FloatArray),
    (np.zeros(2, dtype=int), FloatArray),
    (np.zeros(2), IntArray),
    (np.zeros(2, dtype=int), Entries[np.floating[Any]]),
    ([1.0], Reals | None),
    (np.array(["x"]), FloatArray),
    (3, Named),
    (GRR(3, epsilon=1.0), NoiseModel),
    (len, Callable[[str], int]),
    (len, Any),
]


@pytest.mark.parametrize(("value", "hint"), FIT)
def test_what_fits(value: object, hint: Any):
    assert fits(value, hint)


@pytest.mark.parametrize(("value", "hint"), MISFIT)
def test_what_does_not_fit(value: object, hint: Any):
    assert not fits(value, hint)


def test_aliases_stand_for_what_they_name() -> None:
    assert (
        unaliased(Reals)
        == unaliased(Entries[np.floating[Any]])
        == np.ndarray[tuple[int, ...], np.dtype[np.floating[Any]]]
    )
    assert unaliased(int | None) == int | None
