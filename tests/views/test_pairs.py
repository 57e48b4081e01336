"""Every pair of attributes together somewhere, and the rings that designs are made of."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from support.counted_groups import is_disjoint, pairs_counted

from ldpstats.views import certify_views, views
from ldpstats.views.fields import prime_powers, ring

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


@pytest.mark.parametrize("k", range(2, 10))
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
