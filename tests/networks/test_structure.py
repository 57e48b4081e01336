"""What a search is given: a user's constraints, in the order of the domain, and tables of what was asked together."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ldpstats import Domain, LdpstatsError, PerAttribute, ProductDomain, SampledGroups
from ldpstats.networks.structure import checked_constraints, most_asked_together, table_about

DOMAIN = Domain({name: ["yes", "no"] for name in "dabc"})


def test_edges_come_once_each_in_the_order_of_the_domain():
    pairs = {("c", "a"), ("d", "b"), ("a", "c")}
    found = checked_constraints(DOMAIN, iter([("a", "b"), ["d", "a"], ("a", "b")]), pairs, order=["d", "a", "b", "c"])
    assert found.required == (("d", "a"), ("a", "b"))
    assert found.forbidden == (("d", "b"), ("a", "c"), ("c", "a"))
    assert found.order == ("d", "a", "b", "c")
    assert not found.allows("a", "c")
    assert found.allows_direction("a", "b")
    assert not found.allows_direction("b", "a")
    assert checked_constraints(DOMAIN, order=()) == checked_constraints(DOMAIN)


@pytest.mark.parametrize(
    ("given", "came"),
    [
        ({"required": "ab"}, "required = 'ab'"),
        ({"forbidden": ["ab"]}, "'ab' among the forbidden edges"),
        ({"forbidden": [("a", "b", "c")]}, "('a', 'b', 'c') among the forbidden edges"),
        ({"required": 7}, "required = 7"),
        ({"required": [("a", "a")]}, "the required edge ('a', 'a')"),
        ({"required": [("a", "e")]}, "attributes ('a', 'e')"),
        ({"forbidden": [(1, "a")]}, "attributes (1, 'a')"),
        ({"required": [("a", "b"), ("b", "c"), ("c", "a")]}, "required edges in a circle: a → b → c → a"),
        ({"required": [("a", "b")], "forbidden": [("a", "b")]}, "a → b as required and as forbidden"),
        ({"required": [("b", "a")], "order": ["a", "b", "c", "d"]}, "b → a as required, against the order"),
        ({"order": ["a", "b", "c"]}, "an order without 'd'"),
        ({"order": ["a", "b", "c", "d", "e"]}, "attributes ('a', 'b', 'c', 'd', 'e')"),
        ({"order": "dabc"}, "order = 'dabc'"),
        ({"order": 5}, "order = 5"),
    ],
)
def test_what_no_network_can_meet_is_refused(given: dict[str, Any], came: str):
    with pytest.raises(LdpstatsError, match=re.escape(came)):
        checked_constraints(DOMAIN, **given)


def test_names_may_be_strings_of_numpy():
    found = checked_constraints(DOMAIN, [tuple(np.array(["a", "b"]))], order=np.array(["d", "a", "b", "c"]))
    assert found == checked_constraints(DOMAIN, [("a", "b")], order=["d", "a", "b", "c"])
    assert {type(name) for name in (*found.order, *found.required[0])} == {str}


def test_forbidding_the_opposite_of_a_required_edge_is_no_contradiction():
    found = checked_constraints(DOMAIN, [("a", "b")], [("b", "a")])
    assert found.allows_direction("a", "b")


PEOPLE = np.arange(1, 17) * 100


def test_all_reports_about_a_pair_are_pooled_and_those_about_one_of_it_left_out():
    tables = SampledGroups(DOMAIN, epsilon=4.0, k=3).simulate(PEOPLE, rng=1)
    for names in (("a", "b"), ("a",), ("c", "a", "b")):
        found = table_about(tables, names)
        assert found is not None
        assert found.attributes == names
        assert found.n == sum(table.n for table in tables if len({*names} & {*table.attributes}) >= min(2, len(names)))


def test_what_nobody_was_asked_together_has_no_table():
    groups = [("a", "b"), ("b", "c"), ("a", "c")]
    tables = SampledGroups(DOMAIN, epsilon=4.0, groups=groups).simulate(PEOPLE, rng=1)
    assert most_asked_together(tables) == 2
    assert table_about(tables, ("a", "c")) is not None
    assert table_about(tables, ("a", "d")) is table_about(tables, ("a", "b", "c")) is None


@pytest.mark.parametrize(
    "protocol", [PerAttribute(DOMAIN, epsilon=8.0, k=2), ProductDomain(DOMAIN, epsilon=8.0)], ids=["crossed", "whole"]
)
def test_crossed_answers_and_whole_tables_tell_about_more_than_pairs(protocol: PerAttribute | ProductDomain):
    tables = protocol.collect(DOMAIN.decode(np.random.default_rng(1).integers(0, 2, (500, 4))), rng=1)
    found = table_about(tables, ("b", "c", "d"))
    assert most_asked_together(tables) == 4
    assert found is not None
    assert found.n == 500
