"""Groups by name, each in one of as few views as possible."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from support.counted_groups import groups_counted, is_disjoint

from ldpstats.views import certify_views, views


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
