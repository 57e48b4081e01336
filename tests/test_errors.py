"""Errors: a message costs no more than what it prints, whatever came."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.errors import LdpstatsError, one_line, shortened

DEEP = 100


class Hostile:
    """What must not be asked to print itself."""

    def __repr__(self) -> str:
        raise SystemExit("asked")

    __str__ = __format__ = __repr__


class HostileNumber(int):
    """A number that must not be asked either."""

    __repr__ = __str__ = Hostile.__repr__


@dataclass(frozen=True)
class Pair:
    """Two of anything."""

    one: Any
    other: Any


class Endless(list[int]):
    """A list whose members never end."""

    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


class Results:
    """What computes what it prints."""

    headline = "computed"
    __repr__ = Hostile.__repr__


Results.__module__ = "ldpstats.elsewhere"


def twice_at_every_level(make: Any) -> Any:
    value: Any = make(1, 2)
    for _ in range(DEEP):
        value = make(value, value)
    return value


def round_and_round() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    "value",
    [
        *("x", "it's", "x\n\0", "", b"\xff", 1, -3, True, None, 1.5, float("nan"), 2j, ..., int, LdpstatsError, len),
        *([], [1], (), (1,), (1, "a"), {}, {"a": 1, 2: [3]}, set(), {1}, frozenset(), frozenset({1}), range(3)),
        *(MappingProxyType({"a": 1}), Pair(1, Pair([2], "x")), ldp.GRR(3, epsilon=1.0), np.float64(0.5), np.arange(3)),
        ldp.Domain({"a": ["x", "y"]}),
    ],
)
def test_what_is_short_is_printed_as_it_is(value: object) -> None:
    assert shortened(value) == repr(value)
    assert one_line([value]) == repr(value)


CASES: list[tuple[Any, str]] = [
    ("x" * 10**7, f"'{'x' * 79}... (10000000 letters)"),
    (b"x" * 10**7, f"b'{'x' * 78}... (10000000 letters)"),
    (list(range(10**6)), f"{str([*range(99)])[:80]}... (1000000 in all)"),
    (10**5000, "a int of very many digits"),
    (10**400, f"1{'0' * 79}..."),
    (-(10**5000), "a int of very many digits"),
    ([10**5000], "[a int of very many digits]"),
    (twice_at_every_level(lambda *two: [*two]), "[" * 80 + "... (2 in all)"),
    (twice_at_every_level(lambda *two: two), "(" * 80 + "... (2 in all)"),
    (twice_at_every_level(lambda one, _: {1: one, 2: one}), "{1: " * 20 + "... (2 in all)"),
    (twice_at_every_level(Pair), "Pair(one=" * 8 + "Pair(one..."),
    (twice_at_every_level(lambda *two: deque(two)), "a deque"),
    (twice_at_every_level(lambda one, _: SimpleNamespace(a=one, b=one)), "a SimpleNamespace"),
    (round_and_round(), "[" * 80 + "... (1 in all)"),
    (Hostile(), "a Hostile"),
    ([Hostile()], "[a Hostile]"),
    (Pair(Hostile(), HostileNumber(3)), "Pair(one=a Hostile, other=a HostileNumber)"),
    (np.array([Hostile(), 1]), "a ndarray of shape (2,)"),
    (np.array(["x" * 10**6]), "a ndarray of shape (1,)"),
    (pd.DataFrame({"a": [Hostile(), 2]}), "a DataFrame of shape (2, 1)"),
    (pd.Series([[Hostile()]]), "a Series of shape (1,)"),
    (Endless(), "a Endless"),
    (Results(), "a Results"),
    (Hostile().__str__, "a method"),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_value_is_looked_at_as_far_as_it_is_printed(case: int) -> None:
    value, said = CASES[case]
    start = time.process_time()
    assert shortened(value) == said
    assert one_line([value] * 9).endswith("... (9 in all)")
    assert time.process_time() - start < 0.1


def test_a_long_array_is_printed_without_its_middle() -> None:
    start = time.process_time()
    assert shortened(np.zeros((10**7, 2))).startswith("array([[0., 0.],")
    assert time.process_time() - start < 0.1


def test_an_error_holds_no_more_than_some_pages() -> None:
    error = LdpstatsError("x" * 10**6, "y" * 10**6, "z" * 10**6)
    assert len(str(error)) < 16_000
    assert "... (1000000 letters). Allowed: y" in str(error)
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # written just now
    assert str(again) == str(error)
