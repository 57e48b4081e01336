"""Every group once, in the fewest views."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations
from math import comb
from typing import Any

import pytest
from support.counted_groups import groups_counted, is_disjoint

from ldpstats.views import View, certify_views, views

PAPER = {
    6: ["AR EO ST", "AE RS OT", "AT RE OS", "AO RT ES", "AS RO ET"],
    5: ["AR EO", "RE OS", "AE RS", "AO ES", "AS RO"],
}
"""The examples of Imran and Meo (2024), section 4."""


def as_sets(found: list[View]) -> set[frozenset[frozenset[Any]]]:
    return {frozenset(map(frozenset, view)) for view in found}


@pytest.mark.parametrize(("d", "k"), [(d, k) for d in range(1, 13) for k in range(1, d + 1)])
def test_every_group_stands_in_exactly_one_of_the_fewest_views(d: int, k: int) -> None:
    found = views(d, k)
    assert groups_counted(found) == Counter(map(frozenset, combinations(range(d), k)))
    assert all(len(group) == k for view in found for group in view)
    assert is_disjoint(found)
    assert len(found) == -(-comb(d, k) // (d // k))
    assert certify_views(found, d, k).least


@pytest.mark.parametrize(
    ("d", "k", "number"), [(37, 2, 37), (100, 2, 99), (37, 3, 648), (25, 4, 2109), (13, 6, 858), (37, 4, 7339)]
)
def test_many_attributes_are_seated_in_the_fewest_views(d: int, k: int, number: int) -> None:
    found = views(d, k)
    assert len(found) == number
    assert is_disjoint(found)
    assert certify_views(found, d, k).least


@pytest.mark.parametrize("d", PAPER)
def test_the_views_of_the_paper_come_out_literally(d: int) -> None:
    printed = {frozenset(map(frozenset, view.split())) for view in PAPER[d]}
    assert as_sets(views(["A", "R", "E", "O", "S", "T"][:d])) == printed


@pytest.mark.parametrize("d", range(2, 12))
def test_pairs_come_in_the_order_in_which_the_first_attribute_meets_the_others(d: int) -> None:
    met = [view[0][1] for view in views(d) if view[0][0] == 0]
    assert met == [*range(1, d)]
    assert 0 not in chain.from_iterable(views(d)[-1]) or d % 2 == 0


@pytest.mark.parametrize(("d", "k"), [(9, 2), (9, 3), (10, 4)])
def test_groups_keep_the_order_of_the_attributes_and_views_are_sorted(d: int, k: int) -> None:
    found = views(d, k)
    assert found == sorted(found)
    assert all(view == sorted(view) for view in found)
    assert all(list(group) == sorted(group) for view in found for group in view)


@pytest.mark.parametrize("d", range(2, 12))
def test_with_an_odd_number_everyone_rests_equally_often(d: int) -> None:
    resting = Counter(name for view in views(d) for name in range(d) if name not in chain.from_iterable(view))
    assert resting == (Counter(dict.fromkeys(range(d), 1)) if d % 2 else Counter())


def test_single_attributes_make_one_view() -> None:
    assert views(["A", "R", "E"], k=1) == [[("A",), ("R",), ("E",)]]
    assert views(1, 1) == [[(0,)]]
