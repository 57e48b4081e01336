"""Results: one line that steers no terminal, and every kind of attribute as what JSON can hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats import Domain
from ldpstats.presentation import Result, plain_values

DOMAIN = Domain({"sex": ["F", "M"]})


@dataclass
class Shelf:
    """Something with attributes and a method."""

    held: Any
    inner: Any = None

    def doubled(self) -> Any:
        return [self.held, self.held]


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Result):
    """A result that says nothing of its plain values."""

    share: float
    table: pd.DataFrame


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.nan, None),
        (np.float64(0.1), 0.1),
        (np.int64(2**60 + 1), 2**60 + 1),
        (2**60 + 1, 2**60 + 1),
        (np.bool_(False), False),
        ("nan", "nan"),
        ("", ""),
        (((1, "a"), ()), [[1, "a"], []]),
        (np.float32(0.5), 0.5),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        (np.array([2**60 + 1]), [2**60 + 1]),
        (np.array([True]), [True]),
        (np.array(["a", np.nan, DOMAIN], dtype=object), ["a", None, {"sex": ["F", "M"]}]),
        (MappingProxyType({"a": (1, np.nan)}), {"a": [1, None]}),
        (pd.DataFrame({"p": [np.inf, np.nan]}), [{"p": None}, {"p": None}]),
        (DOMAIN, {"sex": ["F", "M"]}),
        ((DOMAIN, DOMAIN), [{"sex": ["F", "M"]}] * 2),
    ],
)
def test_values_of_every_kind_are_what_json_can_hold(value: object, plain: object) -> None:
    found = plain_values(Shelf(value), "held")
    assert found == {"held": plain}
    assert type(found["held"]) is type(plain)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_names_are_paths_and_keep_their_order() -> None:
    shelf = Shelf(1, inner=Shelf((2,), inner=None))
    names = "twice=doubled deep=inner.held nothing=inner.inner.held.shape held told"
    found = plain_values(shelf, names, told="this", held=3, unnamed=4)
    assert list(found.items()) == [("twice", [1, 1]), ("deep", [2]), ("nothing", None), ("held", 3), ("told", "this")]


def test_a_name_of_nothing_is_an_error() -> None:
    with pytest.raises(AttributeError, match="lost"):
        plain_values(Shelf(1), "held lost")


def test_a_result_gives_its_fields_unless_it_says_otherwise() -> None:
    class Short(Finding):
        _in_dict = "part=share"

    frame = pd.DataFrame({"p": [0.5]})
    assert list(Finding(np.nan, frame).to_dict().items()) == [("share", None), ("table", [{"p": 0.5}])]
    assert Short(0.5, frame).to_dict() == {"part": 0.5}


def test_names_of_several_lines_do_not_break_the_line_of_a_result():
    domain = ldp.Domain({"new\nline": ["a\nb", "c"], "\x1b[31mred": ["p", "q"]})
    tables = ldp.SampledGroups(domain, k=2, epsilon=3.0).simulate(np.array([4, 1, 1, 4]) * 100, rng=1)
    learned = ldp.learn_network(tables)
    for result in (
        tables["new\nline", "\x1b[31mred"],
        learned.query("new\nline"),
        ldp.naive_bayes(tables, "new\nline"),
    ):
        assert repr(result).isprintable()
        assert "new\\nline" in repr(result)
