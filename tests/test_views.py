"""Views: every pair once, nobody twice in a view, no more views than necessary, and clear refusals."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpstats import Domain, LdpstatsError, views


@pytest.mark.parametrize("d", range(2, 41))
def test_every_pair_stands_exactly_once(d: int) -> None:
    pairs = Counter(frozenset(pair) for view in views(d) for pair in view)
    assert pairs == Counter(map(frozenset, combinations(range(d), 2)))


@pytest.mark.parametrize("d", range(2, 41))
def test_no_attribute_stands_twice_in_a_view_and_the_views_are_fewest(d: int) -> None:
    made = views(d, 2)
    seated = [[attribute for pair in view for attribute in pair] for view in made]
    assert all(len(set(view)) == len(view) == d - d % 2 for view in seated)
    # C(d, 2) pairs, at most d // 2 of them at once
    assert len(made) == -(-(d * (d - 1) // 2) // (d // 2)) == (d - 1 if d % 2 == 0 else d)


@pytest.mark.parametrize("d", range(2, 12))
def test_with_an_odd_number_everyone_rests_equally_often(d: int) -> None:
    resting = Counter(name for view in views(d) for name in range(d) if name not in {a for pair in view for a in pair})
    assert resting == (Counter(dict.fromkeys(range(d), 1)) if d % 2 else Counter())


def test_names_take_the_place_of_numbers() -> None:
    names = ["A", "R", "E", "O", "S"]
    numbered = [[tuple(names[i] for i in pair) for pair in view] for view in views(5)]
    assert views(names) == views(tuple(names)) == views(np.array(names)) == views(pd.Index(names)) == numbered


def test_pairs_keep_the_order_of_the_attributes() -> None:
    assert all(first < second for view in views(9) for first, second in view)


def test_a_generator_of_names_is_read_once() -> None:
    assert views(name for name in "AB") == [[("A", "B")]]


def test_single_attributes_make_one_view() -> None:
    assert views(["A", "R", "E"], k=1) == [[("A",), ("R",), ("E",)]]
    assert views(1, 1) == [[(0,)]]


def test_numpy_counts_are_counts() -> None:
    assert views(np.int64(5), np.int32(2)) == views(5, 2)


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "no attributes": (0, 2, "at least 1"),
    "no names": ([], 2, "0 attributes"),
    "no names, singles": ([], 1, "0 attributes"),
    "fewer than none": (-3, 2, "attributes = -3"),
    "one attribute": (1, 2, "groups of 2 out of 1 attributes"),
    "a bool": (True, 1, "attributes = True"),
    "a numpy bool": (np.True_, 1, "attributes = "),
    "a fraction": (4.0, 2, "attributes = 4.0"),
    "one name": ("sex", 1, "attributes = 'sex'"),
    "nothing": (None, 2, "attributes = None"),
    "a domain": (Domain({"a": [0, 1], "b": [0, 1]}), 2, "attributes = Domain"),
    "duplicates": (["A", "B", "A"], 2, "different names"),
    "bools as names": ([True, False], 2, "different names"),
    "lists as names": ([["A"], ["B"]], 2, "different names"),
    "missing names": ([None, "A"], 2, "different names"),
    "triples": (6, 3, "k = 1 or k = 2"),
    "groups of none": (6, 0, "k = 0"),
    "a bool k": (6, True, "k = True"),
    "a fraction k": (6, 2.0, "k = 2.0"),
    "no k": (6, None, "k = None"),
    "an array k": (6, np.array([1, 2]), "k = "),
}


@pytest.mark.parametrize(("attributes", "k", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_seated_is_refused(attributes: Any, k: Any, told: str) -> None:
    with pytest.raises(LdpstatsError, match=r"Allowed: ") as refusal:
        views(attributes, k)
    assert told in str(refusal.value)
