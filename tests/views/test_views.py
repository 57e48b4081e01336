"""Views: every group once, groups by name, or every pair of attributes together, in few sets of disjoint groups."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from support.counted_groups import groups_counted, is_disjoint, pairs_counted

from ldpstats.views import View, certify_views, views
from ldpstats.views.pairs import prime_powers, ring

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


@pytest.mark.parametrize(("d", "k", "number"), [(37, 2, 37), (100, 2, 99), (37, 3, 648), (25, 4, 2109), (13, 6, 858)])
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


def test_named_groups_stand_once_each_in_disjoint_views() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        d = int(rng.integers(4, 15))
        drawn = [rng.permutation(d)[: rng.integers(1, 5)].tolist() for _ in range(25)]
        named = [*{frozenset(group): group for group in drawn}.values()]
        found = views(d, groups=named)
        assert groups_counted(found) == Counter(map(frozenset, named))
        assert is_disjoint(found)
        certificate = certify_views(found, d, groups=named)
        assert certificate.holds
        assert certificate.lower_bound == max(sum(a in group for group in named) for a in range(d)) <= len(found)


def test_named_groups_keep_their_own_order_and_size() -> None:
    names = ["A", "R", "E", "O"]
    assert views(names, groups=[("R", "A"), ("E",), ["O", "E", "A"]]) == [[("R", "A"), ("E",)], [("O", "E", "A")]]
    assert views(names, k=99, groups=[("R", "A")]) == [[("R", "A")]]


def test_a_chain_of_named_pairs_takes_two_views_and_a_star_as_many_as_it_has_arms() -> None:
    assert len(views(30, groups=[(i, i + 1) for i in range(29)])) == 2
    assert len(views(30, groups=[(0, i) for i in range(1, 30)])) == 29


@pytest.mark.parametrize(("d", "k"), [(37, 2), (13, 3), (5, 1)])
def test_all_groups_of_one_size_by_name_take_the_fewest_views(d: int, k: int) -> None:
    named = [tuple(reversed(group)) for group in combinations(range(d), k)]
    certificate = certify_views(views(d + 1, groups=named), d + 1, groups=named)
    assert certificate.holds
    assert certificate.views == len(views(d, k))


PAIRS = {
    # d, k: number of views, lower bound
    (9, 3): (4, 4),
    (16, 4): (5, 5),
    (15, 3): (7, 7),
    (20, 3): (10, 10),
    (25, 5): (6, 6),
    (37, 3): (19, 19),
    (60, 4): (21, 20),
    (100, 3): (53, 50),
    (200, 8): (30, 29),
}


@pytest.mark.parametrize("k", range(3, 10))
def test_every_pair_is_covered_by_disjoint_groups_of_at_most_k(k: int) -> None:
    for d in [*range(k, 50), 64, 81, 100, 101]:
        found = views(d, k, cover="pairs")
        assert is_disjoint(found), d
        assert pairs_counted(found, d).min() >= 1, d
        assert max(len(group) for view in found for group in view) <= k, d
        assert certify_views(found, d, k, cover="pairs").holds, d


@pytest.mark.parametrize(("d", "k"), PAIRS)
def test_the_views_that_cover_pairs_are_few(d: int, k: int) -> None:
    found = certify_views(views(d, k, cover="pairs"), d, k, cover="pairs")
    assert found.holds
    assert (found.views, found.lower_bound) == PAIRS[d, k]
    assert found.least == (found.views == found.lower_bound)


@pytest.mark.parametrize(
    ("d", "k"),
    # Kirkman triple systems of 3q and of 2q + 1, quadruples of 3q + 1 attributes, affine planes, with q to 49
    [
        *[(21, 3), (39, 3), (57, 3), (75, 3), (15, 3), (27, 3), (51, 3), (99, 3)],
        *[(28, 4), (40, 4), (52, 4), (76, 4), (9, 3), (16, 4), (25, 5), (49, 7), (64, 8), (81, 9), (81, 3), (64, 4)],
    ],
)
def test_designs_hold_every_pair_once_and_are_the_fewest_views(d: int, k: int) -> None:
    found = views(d, k, cover="pairs")
    assert np.all(pairs_counted(found, d) == 1)
    assert certify_views(found, d, k, cover="pairs").least


@pytest.mark.parametrize("d", [18, 30, 36, 42, 48, 54, 66])
def test_nearly_kirkman_systems_are_the_fewest_views_of_triples(d: int) -> None:
    found = certify_views(views(d, 3, cover="pairs"), d, 3, cover="pairs")
    assert found.least
    assert found.views == d // 2


@pytest.mark.parametrize("k", range(3, 9))
def test_views_that_cover_pairs_never_exceed_the_bound_by_much(k: int) -> None:
    numbers = [certify_views(views(d, k, cover="pairs"), d, k, cover="pairs") for d in range(k, 90, 4)]
    assert all(found.views <= 2 * found.lower_bound for found in numbers)
    # on the average: 1.02 to 1.15 times the bound for k = 3 to 8
    assert sum(found.views for found in numbers) <= 1.2 * sum(found.lower_bound for found in numbers)


@pytest.mark.parametrize(("d", "k"), [(12, 3), (30, 4), (41, 5), (20, 8)])
def test_every_group_in_a_cover_of_pairs_adds_a_pair(d: int, k: int) -> None:
    found = views(d, k, cover="pairs")
    for view in found:
        for group in view:
            left = [[other for other in each if other != group] for each in found]
            assert pairs_counted(left, d).min() == 0


def test_both_covers_are_the_same_for_pairs_and_for_all_attributes_in_one_group() -> None:
    assert all(views(d, 2, cover="pairs") == views(d, 2) for d in range(2, 20))
    assert all(views(d, d, cover="pairs") == views(d, d) == [[tuple(range(d))]] for d in range(2, 9))


@pytest.mark.parametrize("q", [2, 3, 4, 6, 8, 9, 12, 15, 16, 25, 27, 30, 35, 36])
def test_rings_obey_the_laws_of_arithmetic(q: int) -> None:
    numbers, everything = ring(q), np.arange(q)
    a, b, c = np.meshgrid(everything, everything, everything, indexing="ij")
    minus, times = numbers.minus, numbers.times
    assert np.array_equal(times[a, minus[b, c]], minus[times[a, b], times[a, c]])
    assert np.array_equal(times[a, times[b, c]], times[times[a, b], c])
    assert np.array_equal(minus[a, minus[b, c]], minus[c, minus[b, a]])
    assert len(numbers.apart) == min(prime_powers(q))
    for one, other in combinations(numbers.apart, 2):
        assert set(times[minus[one, other]]) == set(everything)
