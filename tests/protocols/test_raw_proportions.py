"""Raw proportions: counted from records or joint counts, in any order of attributes."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.protocols.raw_proportions import raw_proportions

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [1, 0]})
PEOPLE = np.arange(12).reshape(2, 3, 2)


def test_records_and_counts_give_the_same_in_any_order():
    tables = ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0).simulate(PEOPLE, rng=1)
    records = DOMAIN.decode(np.repeat(np.argwhere(PEOPLE >= 0), PEOPLE.ravel(), axis=0))
    for size in (1, 2, 3):
        for names in permutations(DOMAIN.names, size):
            axes = [DOMAIN.names.index(name) for name in names]
            others = tuple(axis for axis in range(3) if axis not in axes)
            expected = (
                PEOPLE.sum(axis=others, keepdims=True)
                .transpose([*axes, *others])
                .reshape([DOMAIN.shape[axis] for axis in axes])
            )
            for truth in (PEOPLE, PEOPLE.ravel(), records):
                np.testing.assert_allclose(raw_proportions(tables, truth)(names), expected / PEOPLE.sum())


def test_fewer_respondents_than_reports_are_no_truth_of_them():
    tables = ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0).simulate(PEOPLE * 20, rng=1)
    people = DOMAIN.decode(np.repeat(np.argwhere(PEOPLE >= 0), PEOPLE.ravel(), axis=0))
    for wrong in (tables, tables["a", "b"]):
        with pytest.raises(ldp.LdpstatsError, match="a truth of 66 respondents for a table of 440 reports"):
            raw_proportions(wrong, people[list(wrong.domain.names)])
