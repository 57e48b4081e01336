"""Attributes that were asked together: which tables there are, and what they rest on."""

from __future__ import annotations

import numpy as np
import pytest

from ldpstats import Domain, PerAttribute, ProductDomain, SampledGroups
from ldpstats.networks.asked_together import AskedTogether

DOMAIN = Domain({name: ["yes", "no"] for name in "abcd"})
PEOPLE = np.arange(1, 17) * 100


def test_all_reports_about_a_pair_are_pooled_and_those_about_one_of_it_left_out() -> None:
    tables = SampledGroups(DOMAIN, epsilon=4.0, k=3).simulate(PEOPLE, rng=1)
    together = AskedTogether(tables)
    pair, one = together.table("ab"), together.table("a")
    assert pair is not None
    assert one is not None
    assert pair.n == sum(table.n for table in tables if {"a", "b"} <= set(table.attributes))
    assert one.n == sum(table.n for table in tables if "a" in table.attributes)


def test_a_table_has_the_order_that_is_asked_for() -> None:
    together = AskedTogether(SampledGroups(DOMAIN, epsilon=4.0, k=3).simulate(PEOPLE, rng=1))
    one, other = together.table("abc"), together.table("cab")
    assert one is not None
    assert other is not None
    assert other.attributes == ("c", "a", "b")
    assert one.estimate.transpose(2, 0, 1) == pytest.approx(other.estimate, abs=1e-12)


def test_what_nobody_was_asked_together_has_no_table() -> None:
    groups = [("a", "b"), ("b", "c"), ("a", "c")]
    together = AskedTogether(SampledGroups(DOMAIN, epsilon=4.0, groups=groups).simulate(PEOPLE, rng=1))
    assert together.largest == 2
    assert together.table("ac") is not None
    assert together.table("ad") is None
    assert together.table("abc") is None


def test_crossed_answers_and_whole_tables_tell_about_more_than_pairs() -> None:
    frame = DOMAIN.decode(np.random.default_rng(1).integers(0, 2, (500, 4)))
    crossed = PerAttribute(DOMAIN, epsilon=8.0, k=2).collect(frame, rng=1)
    whole = ProductDomain(DOMAIN, epsilon=8.0).collect(frame, rng=1)
    for tables in (crossed, whole):
        together = AskedTogether(tables)
        table = together.table("bcd")
        assert together.largest == 4
        assert table is not None
        assert table.n == 500
