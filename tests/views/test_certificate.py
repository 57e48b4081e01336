"""Certificates of views: they agree with a count by hand, and tell every planted fault."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from support.counted_groups import groups_counted, is_disjoint

from ldpstats import LdpstatsError
from ldpstats.views import View, certify_views, views

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
    assert certificate.headline.startswith("DOES NOT HOLD: ")
    assert "DOES NOT HOLD" in certificate.summary().title
    assert any(re.search(told, failure) for failure in certificate.failures), certificate.failures
    assert certificate.failures[0] in certificate.summary().sentences
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
    said = "HOLDS: 6 views of 4 attributes cover 6 of 6 groups, and at least 3 views are necessary"
    assert (certificate.headline, certificate.least) == (said, False)
    assert dict(certificate.summary().panels[0].rows)["Necessary"] == "3 views"


@pytest.mark.parametrize(
    "found", [None, 3, "AB", [("A", "B")], [["AB"]], [[("A", None)]], [[(True, "A")]], [[[["A"]]]]]
)
def test_a_certificate_refuses_what_are_no_views(found: Any) -> None:
    with pytest.raises(LdpstatsError, match=r"Allowed: a list of"):
        certify_views(found, ["A", "B"])
