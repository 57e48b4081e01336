"""Views: every group or pair is covered, nobody twice in a view, few views, certificates that tell, clear refusals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ldpstats import Domain, LdpstatsError
from ldpstats.views import View, certify_views, views
from ldpstats.views.fields import prime_powers, ring

PAPER = {
    6: ["AR EO ST", "AE RS OT", "AT RE OS", "AO RT ES", "AS RO ET"],
    5: ["AR EO", "RE OS", "AE RS", "AO ES", "AS RO"],
}
"""The examples of Imran and Meo (2024), section 4."""

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


def as_sets(found: list[View]) -> set[frozenset[frozenset[Any]]]:
    return {frozenset(map(frozenset, view)) for view in found}


def is_disjoint(found: list[View]) -> bool:
    seated = [[*chain.from_iterable(view)] for view in found]
    return all(len(set(view)) == len(view) for view in seated)


def groups_counted(found: list[View]) -> Counter[frozenset[Any]]:
    return Counter(frozenset(group) for view in found for group in view)


def pairs_counted(found: list[View], d: int) -> np.ndarray[Any, Any]:
    together = np.zeros((d, d), dtype=int)
    for group in chain.from_iterable(found):
        together[np.ix_(group, group)] += 1
    return together[np.triu_indices(d, 1)]


# ------------------------------------------------------------------------------------------------ every group once


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


# -------------------------------------------------------------------------------------------------- every pair


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


# ----------------------------------------------------------------------------------------------- groups by name


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


# ------------------------------------------------------------------------------------------ names and numbers


def test_names_take_the_place_of_numbers() -> None:
    names = ["A", "R", "E", "O", "S"]
    numbered = [[tuple(names[i] for i in pair) for pair in view] for view in views(5)]
    assert views(names) == views(tuple(names)) == views(np.array(names)) == views(pd.Index(names)) == numbered


def test_a_generator_of_names_is_read_once() -> None:
    assert views(name for name in "AB") == [[("A", "B")]]


def test_numpy_counts_are_counts() -> None:
    assert views(np.int64(5), np.int32(2)) == views(5, 2)
    assert views(np.int64(9), np.int32(3), cover="pairs") == views(9, 3, cover="pairs")


# ------------------------------------------------------------------------------------------------- certificates

FAULTS: dict[str, tuple[Callable[[list[View]], list[View]], str]] = {
    "a group dropped": (lambda v: [v[0][1:], *v[1:]], r"^Not covered: 1 group, the first \('A', 'R'\)\.$"),
    "a view dropped": (lambda v: v[1:], r"^Not covered: 2 groups, the first \('A', 'R'\)\.$"),
    "a group repeated": (lambda v: [*v, [("R", "A")]], r"^More than once: 1 group, the first \('A', 'R'\), 2 times\.$"),
    "an attribute twice": (lambda v: [v[0] + v[1], *v[2:]], r"^View 1 holds 'A' 2 times\.$"),
    "an attribute twice in a group": (lambda v: [*v, [("A", "A")]], r"^View 6 holds 'A' 2 times\.$"),
    "a foreign attribute": (lambda v: [*v, [("A", "Z")]], r"^View 6 holds 'Z', which is none of the attributes\.$"),
    "a foreign attribute in a group": (
        lambda v: [[("A", "R", "Z"), *v[0][1:]], *v[1:]],
        r"^Not covered: 1 group, the first \('A', 'R'\)\.$",
    ),
    "a large group": (lambda v: [*v, [("A", "R", "E")]], r"^View 6 holds the group \('A', 'R', 'E'\) of 3, not 2\.$"),
    "a small group": (lambda v: [*v, [("A",)]], r"^View 6 holds the group \('A',\) of 1, not 2\.$"),
    "an empty group": (lambda v: [*v, [()]], r"^View 6 holds the group \(\) of 0, not 2\.$"),
    "an empty view": (lambda v: [v[0], [], *v[1:]], r"^View 2 is empty\.$"),
    "an empty list": (lambda _: [], r"^There are no views\.$"),
}


@pytest.mark.parametrize(("plant", "told"), FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_told(plant: Callable[[list[View]], list[View]], told: str) -> None:
    names = ["A", "R", "E", "O", "S"]
    sound = views(names)
    assert certify_views(sound, names).failures == ()
    certificate = certify_views(plant(sound), names)
    assert not certificate.holds
    assert not certificate.least
    assert "DOES NOT HOLD" in certificate.summary()
    assert any(re.search(told, failure) for failure in certificate.failures), certificate.failures
    assert certificate.failures[0] in certificate.summary()
    assert certificate.recheck() == certificate


@pytest.mark.parametrize(
    ("plant", "told"),
    [
        (lambda v: v[1:], r"^Not covered: 9 pairs, the first \("),
        (lambda v: [[(0, 1, 2, 3)], *v], r"^View 1 holds the group \(0, 1, 2, 3\) of 4, not at most 3\.$"),
        (lambda v: [[(0, 1), (1, 2)], *v], r"^View 1 holds 1 2 times\.$"),
        (lambda v: [[(0, 12)], *v], r"^View 1 holds 12, which is none of the attributes\.$"),
        (lambda v: [[(0, 1), ()], *v], r"^View 1 holds the group \(\) of 0, not at most 3\.$"),
    ],
)
def test_a_planted_fault_in_a_cover_of_pairs_is_told(plant: Callable[[list[View]], list[View]], told: str) -> None:
    certificate = certify_views(plant(views(9, 3, cover="pairs")), 9, 3, cover="pairs")
    assert not certificate.holds
    assert any(re.search(told, failure) for failure in certificate.failures), certificate.failures


def test_smaller_groups_and_pairs_that_stand_twice_are_no_fault_in_a_cover_of_pairs() -> None:
    certificate = certify_views([[(0, 1, 2), (3,)], [(0, 1, 3)], [(2, 3)]], 4, 3, cover="pairs")
    assert certificate.holds
    assert certificate.repeated == {(0, 1): 2}


def test_groups_that_nobody_named_are_told() -> None:
    certificate = certify_views([[("A", "R"), ("E", "O")]], ["A", "R", "E", "O"], groups=[("R", "A")])
    assert certificate.failures == ("View 1 holds the group ('E', 'O'), which was not asked for.",)
    missed = certify_views([[("A", "R")]], ["A", "R", "E", "O"], groups=[("R", "A"), ("O", "E")])
    assert missed.failures == ("Not covered: 1 group, the first ('E', 'O').",)


def test_certificates_agree_with_a_count_by_hand_for_random_views() -> None:
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(300):
        d = int(rng.integers(3, 6))
        sound = views(d, 2)
        drop = [group for group in chain.from_iterable(sound) if rng.random() < 0.05]
        found = [[group for group in view if group not in drop] for view in sound]
        if rng.random() < 0.3:
            found.append([(0, 1)])
        if rng.random() < 0.3:
            found.append([(1, 2), (2, 0)])
        certificate = certify_views(found, d, 2)
        counts = groups_counted(found)
        everything = [*combinations(range(d), 2)]
        assert certificate.covered == {pair: counts[frozenset(pair)] for pair in everything if counts[frozenset(pair)]}
        assert certificate.missing == tuple(pair for pair in everything if not counts[frozenset(pair)])
        assert certificate.repeated == {
            pair: counts[frozenset(pair)] for pair in everything if counts[frozenset(pair)] > 1
        }
        assert certificate.disjoint == is_disjoint(found)
        once = counts == Counter(map(frozenset, everything))
        assert certificate.holds == (once and is_disjoint(found) and all(found))
        assert certificate.views == len(found)
        held += certificate.holds
    assert 20 < held < 280


@pytest.mark.parametrize(("d", "k"), [(3, 2), (4, 2), (4, 3), (5, 2), (5, 3), (5, 4)])
def test_no_fewer_views_than_the_lower_bound_cover_every_pair(d: int, k: int) -> None:
    bound = certify_views([], d, k, cover="pairs").lower_bound
    held = [{pair for group in view for pair in combinations(group, 2)} for view in partitions([*range(d)], k)]
    for chosen in combinations(held, bound - 1):
        assert len(set().union(*chosen)) < comb(d, 2)


def partitions(attributes: list[int], k: int) -> Iterator[list[list[int]]]:
    """Go through all ways to split attributes into groups of at most k."""
    if not attributes:
        yield []
        return
    first, *others = attributes
    for size in range(min(k, len(attributes))):
        for company in combinations(others, size):
            for rest in partitions([other for other in others if other not in company], k):
                yield [[first, *company], *rest]


def test_a_certificate_is_computed_anew_from_its_views_alone() -> None:
    certificate = certify_views(views(9, 3), 9, 3)
    assert certificate.recheck() == certificate
    forged = replace(certificate, found=certificate.found[1:])
    assert forged.holds
    assert not forged.recheck().holds
    assert replace(certificate, failures=("Forged.",), lower_bound=1).recheck() == certificate


def test_more_views_than_necessary_hold_but_are_not_the_least() -> None:
    certificate = certify_views([[pair] for pair in combinations(range(4), 2)], 4)
    assert certificate.holds
    assert not certificate.least
    assert (certificate.views, certificate.lower_bound) == (6, 3)
    assert certificate.summary() == (
        "HOLDS: 6 views of 4 attributes. They cover 6 of 6 groups, and no attribute stands twice in a view. "
        "At least 3 views are necessary."
    )


# ----------------------------------------------------------------------------------------------------- refusals

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no attributes": ({"attributes": 0}, "at least 1"),
    "no names": ({"attributes": []}, "0 attributes"),
    "no names, singles": ({"attributes": [], "k": 1}, "0 attributes"),
    "fewer than none": ({"attributes": -3}, "attributes = -3"),
    "one attribute": ({"attributes": 1}, "groups of 2 out of 1 attributes"),
    "a bool": ({"attributes": True, "k": 1}, "attributes = True"),
    "a numpy bool": ({"attributes": np.True_, "k": 1}, "attributes = "),
    "a fraction": ({"attributes": 4.0}, "attributes = 4.0"),
    "one name": ({"attributes": "sex", "k": 1}, "attributes = 'sex'"),
    "nothing": ({"attributes": None}, "attributes = None"),
    "a domain": ({"attributes": Domain({"a": [0, 1], "b": [0, 1]})}, "attributes = Domain"),
    "duplicates": ({"attributes": ["A", "B", "A"]}, "different names"),
    "bools as names": ({"attributes": [True, False]}, "different names"),
    "lists as names": ({"attributes": [["A"], ["B"]]}, "different names"),
    "missing names": ({"attributes": [None, "A"]}, "different names"),
    "groups too large": ({"k": 7}, "groups of 7 out of 6 attributes"),
    "groups of none": ({"k": 0}, "k = 0"),
    "a bool k": ({"k": True}, "k = True"),
    "a fraction k": ({"k": 2.0}, "k = 2.0"),
    "no k": ({"k": None}, "k = None"),
    "an array k": ({"k": np.array([1, 2])}, "k = "),
    "too many groups": ({"attributes": 40, "k": 20}, "137,846,528,820 groups of 20 out of 40 attributes"),
    "pairs in groups of one": ({"k": 1, "cover": "pairs"}, "k = 1"),
    "an unknown cover": ({"cover": "triples"}, "cover = 'triples'"),
    "no cover": ({"cover": None}, "cover = None"),
    "a list of covers": ({"cover": ["pairs"]}, "cover = ['pairs']"),
    "two covers": ({"cover": "pairs", "groups": [(0, 1)]}, "one of them"),
    "no groups": ({"groups": []}, "at least one group"),
    "groups by number": ({"groups": 3}, "groups = 3"),
    "groups in a string": ({"groups": "AB"}, "groups = 'AB'"),
    "a group in a string": ({"attributes": ["A", "B"], "groups": ["AB"]}, "the group 'AB'"),
    "an empty group": ({"groups": [(0, 1), ()]}, "the group ()"),
    "a name for a group": ({"groups": [0, 1]}, "the group 0"),
    "an unknown name": ({"groups": [(0, 1), (1, 6)]}, "6 in the group (1, 6)"),
    "a bool for a number": ({"groups": [(True, 2)]}, "True in the group (True, 2)"),
    "a list for a name": ({"groups": [([0], 1)]}, "[0] in the group ([0], 1)"),
    "an attribute twice": ({"groups": [(0, 1, 0)]}, "an attribute twice in the group (0, 1, 0)"),
    "a group twice": ({"groups": [(0, 1), (2, 3), (1, 0)]}, "group (1, 0) twice"),
}


@pytest.mark.parametrize(("asked", "told"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_seated_is_refused_by_views_and_by_their_certificate(asked: dict[str, Any], told: str) -> None:
    for refusing in (views, lambda *args, **options: certify_views([], *args, **options)):
        with pytest.raises(LdpstatsError, match=r"Allowed: ") as refusal:
            refusing(**{"attributes": 6, **asked})
        assert told in str(refusal.value)


@pytest.mark.parametrize(
    "found", [None, 3, "AB", [("A", "B")], [["AB"]], [[("A", None)]], [[(True, "A")]], [[[["A"]]]]]
)
def test_a_certificate_refuses_what_are_no_views(found: Any) -> None:
    with pytest.raises(LdpstatsError, match=r"Allowed: a list of"):
        certify_views(found, ["A", "B"])
