"""Pooled tables take every report once, whoever else is told by it."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import block_diag
from support.spoken import spoken
from support.three_attributes import THREE, TRUTH, identity, margin

import ldpstats as ldp
from ldpstats import Domain, NotIdentifiedError, Table, TableSet
from ldpstats.tables.pooled import pooled_measured
from ldpstats.tables.respondents import RespondentSet
from ldpstats.tables.shared import REPORTS, SAMPLING


def test_pooled_tables_hold_all_that_is_told_once() -> None:
    joint = np.rint(30_000 * TRUTH).astype(int)
    protocol = ldp.PerAttribute(THREE, epsilon=6.0, k=2)
    tables = protocol.simulate(joint, rng=1)
    for target in combinations("abc", 2):
        pooled = tables.pooled(target)
        assert pooled.n == tables.n
        assert pooled.estimate == pytest.approx(tables[target].estimate, abs=1e-12)
        assert pooled.covariance == pytest.approx(tables[target].covariance, rel=1e-9, abs=1e-15)
    # what nobody formed a table of is counted anew, from the rows
    three = tables.pooled(["a", "b", "c"])
    (block,) = three.blocks
    assert (block.n, block.noise.outputs, three.n) == (tables.n, 12, tables.n)
    assert np.all(np.abs(three.estimate.ravel() - TRUTH) < 4.9 * three.std_err.ravel())
    assert tables.pooled("a").estimate == pytest.approx(tables["a", "b"].marginal("a").estimate, abs=1e-12)


def test_pooled_margins_take_the_reports_of_all_tables() -> None:
    joint = np.rint(30_000 * TRUTH).astype(int)
    tables = ldp.SampledGroups(THREE, epsilon=1.0).simulate(joint, rng=1)
    pooled = tables.pooled("a")
    assert pooled.n == tables["a", "b"].n + tables["a", "c"].n
    assert np.all(pooled.std_err < tables["a", "b"].marginal("a").std_err)
    assert "pooled from a and b; a and c" in pooled.provenance.words
    assert pooled.provenance.to_dict()["pooled"] == [["a", "b"], ["a", "c"]]
    assert pooled.assumption == ""
    shared = ldp.HadamardCoefficients(THREE, epsilon=1.0).simulate(joint, rng=1)
    assert len(shared.pooled("a").blocks) == 1
    own = shared["a", "b"]
    assert shared.pooled(["a", "b"]).estimate == pytest.approx(own.estimate, abs=1e-12)
    with pytest.raises(NotIdentifiedError, match="leave cells of a and b and c open"):
        tables.pooled(["a", "b", "c"])
    with pytest.raises(NotIdentifiedError, match="no reports about"):
        TableSet(THREE, [tables["a", "b"]], tables.privacy).pooled("c")


def test_pooled_answers_of_a_whole_view_have_a_bound_and_name_it() -> None:
    joint = np.rint(30_000 * TRUTH).astype(int)
    protocol = ldp.WholeView(THREE, epsilon=4.0, views=[[("a", "b"), ("c",)], [("a", "c"), ("b",)]])
    tables = protocol.simulate(joint, rng=1)
    pooled = tables.pooled(["a", "c"])
    assert SAMPLING in pooled.provenance.words
    assert pooled.measured.bound == SAMPLING
    assert pooled.estimate.sum() == pytest.approx(1)
    assert np.all(np.abs(pooled.estimate.ravel() - margin("ac") @ TRUTH) < 4.9 * pooled.std_err.ravel())
    assert SAMPLING in spoken(ldp.make_consistent(tables)["a", "b"].summary())


def test_a_block_of_more_reports_does_not_hide_one_that_tells_more_of_each() -> None:
    joint = np.rint(3000 * TRUTH).astype(int)
    first, second = (ldp.SampledGroups(THREE, epsilon=2.0).simulate(joint, rng=seed) for seed in (1, 2))
    more = (first + second)["a", "b"].marginal("a")
    both = TableSet(THREE, [first["a", "b"], more], first.privacy)
    pooled = both.pooled(["a", "b"])
    assert pooled.n == both.n == more.n
    assert REPORTS in pooled.provenance.words
    assert ldp.reconstruct(both, ["a", "b"]).assumption == ""


def test_open_tables_of_common_respondents_count_as_dependent_as_can_be() -> None:
    """A variance of a sum is at most as often the sum of the variances as there are summands."""
    pair = THREE.project(["a", "b"])
    tables = ldp.PerAttribute(THREE, epsilon=4.0).simulate(np.rint(1000 * TRUTH).astype(int), rng=1)
    parts = [tables["a"].parts, RespondentSet.whole(identity(9), 0, tables["b"].n)]
    for second, bound, times in ((parts[0], REPORTS, 2), (parts[1], "", 1)):
        given = [
            Table(pair, (tables[name].blocks[0].widened(pair),), tables.privacy, parts=own)
            for name, own in (("a", parts[0]), ("b", second))
        ]
        found = pooled_measured(given, pair)
        assert found.bound == bound
        alone = [pooled_measured([table], pair).covariance for table in given]
        assert found.covariance == pytest.approx(times * block_diag(*alone))


def test_a_block_about_attributes_in_another_order_is_widened_by_their_names() -> None:
    domain = Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
    people = np.array([5, 20, 10, 1, 2, 9, 30, 4]) * 1000
    tables = ldp.SampledGroups(domain, epsilon=4.0, groups=[("a", "b", "c")], mechanism="grr").simulate(people, rng=1)
    (block,) = tables["a", "b", "c"].marginal(["c", "a"]).blocks
    answers = block.classes.reshape(2, 2)
    assert len(set(answers.ravel())) == 4
    wider = block.widened(domain).classes.reshape(2, 2, 2)
    assert all(wider[a, b, c] == answers[c, a] for a, b, c in np.ndindex(2, 2, 2))
