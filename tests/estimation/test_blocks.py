"""Categories put together: as if they had been asked for so where the noise allows it, else a sum of cells."""

from __future__ import annotations

from itertools import product
from math import factorial, prod
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.conformance import exact_channel
from ldpstats.conformance.enumeration import decoded
from ldpstats.errors import DomainError
from ldpstats.estimation.blocks import Block
from ldpstats.noise import Tally

DOMAIN = ldp.Domain({"region": ["north", "east", "south", "west"], "car": ["yes", "no"]})
CLASSES: dict[str, Any] = {"region": {"coast": ["west", "north"]}}
PEOPLE = np.array([400, 100, 0, 10, 300, 50, 20, 120])


def table_of(mechanism: str, epsilon: float = 2.0) -> ldp.Table:
    return ldp.SampledGroups(DOMAIN, epsilon=epsilon, mechanism=mechanism).simulate(PEOPLE, rng=1)["region", "car"]


@pytest.mark.parametrize("mechanism", ["grr", "oue", "ss", "hr"])
def test_a_collapsed_table_is_the_sum_of_its_cells(mechanism: str) -> None:
    table = table_of(mechanism)
    collapsed = table.collapse(CLASSES)
    assert collapsed.domain == ldp.Domain({"region": ["coast", "east", "south"], "car": ["yes", "no"]})
    matrix = np.zeros((6, 8))
    matrix[[0, 1, 2, 3, 4, 5, 0, 1], range(8)] = 1
    np.testing.assert_allclose(collapsed.estimate.ravel(), matrix @ table.estimate.ravel(), atol=1e-12)
    np.testing.assert_allclose(collapsed.covariance, matrix @ table.covariance @ matrix.T, atol=1e-12)
    assert (collapsed.n, collapsed.privacy, collapsed.parts) == (table.n, table.privacy, table.parts)
    assert bool(collapsed.blocks) == (mechanism != "hr")
    assert collapsed.blocks or collapsed.sources == (table,)
    assert 0 <= ldp.independence_test(collapsed).pvalue <= 1


def test_the_collapsed_channel_is_the_one_of_answers_put_together() -> None:
    """Enumerated: what randomized response reports about a cell, put together, has the law of the merged noise."""
    mechanism = ldp.GRR(8, 1.0)
    whole = np.zeros((8, 8))
    for value, law in enumerate(exact_channel(mechanism)):
        for report, chance in law.items():
            whole[value, decoded(mechanism, report)] += float(chance)
    of_cell = np.array([0, 1, 2, 3, 4, 5, 0, 1])
    merged = table_of("grr", 1.0).collapse(CLASSES).blocks[0].noise
    design, offset = merged.design()
    outputs = np.zeros((8, 6))
    np.add.at(outputs.T, of_cell, whole.T)
    np.testing.assert_allclose(outputs, (design + offset[:, None]).T[of_cell], atol=1e-12)


def test_collapsed_estimates_are_unbiased_and_their_covariance_is_exact() -> None:
    """All tallies of four reports, with their probabilities."""
    domain, n = ldp.Domain({"a": ["x", "y", "z"]}), 4
    noise, frequencies = ldp.GRR(3, 1.0).noise, np.array([0.5, 0.3, 0.2])
    chances = noise.mean(frequencies)
    mean, second, claimed = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2))
    for counts in product(range(n + 1), repeat=3):
        if sum(counts) == n:
            chance = factorial(n) / prod(map(factorial, counts)) * prod(chances**counts)
            block = Block(Question.of(domain, ["a"]), Tally(noise, counts, n))
            table = ldp.Table(domain, (block,), ldp.GRR(3, 1.0).privacy()).collapse({"a": {"x or z": ["x", "z"]}})
            assert table.blocks
            mean += chance * table.estimate
            second += chance * np.outer(table.estimate, table.estimate)
            claimed += chance * table.covariance
    np.testing.assert_allclose(mean, [0.7, 0.3], atol=1e-12)
    np.testing.assert_allclose(second - np.outer(mean, mean), claimed, atol=1e-12)


def test_tests_of_a_collapsed_table_are_those_of_a_table_collected_so() -> None:
    """Where nobody lies, asking for classes and putting categories together give the same reports."""
    coarse = DOMAIN.collapsed(CLASSES)[0]
    counts = np.array([[420, 220], [0, 10], [300, 50]])
    asked = ldp.SampledGroups(coarse, epsilon=60.0, mechanism="grr").simulate(counts, rng=1)["region", "car"]
    collapsed = table_of("grr", 60.0).collapse(CLASSES)
    np.testing.assert_allclose(collapsed.estimate, asked.estimate, atol=1e-12)
    one, other = ldp.independence_test(asked), ldp.independence_test(collapsed)
    assert (one.df, one.method) == (other.df, other.method)
    assert one.statistic == pytest.approx(other.statistic, rel=1e-9)
    rest = {"region": {"rest": ["east", "south"]}}
    one, other = (ldp.independence_test(table.collapse(rest)) for table in (asked, collapsed))
    assert one.pvalue == pytest.approx(other.pvalue, rel=1e-6)


def test_sets_collapse_all_tables_that_have_the_attribute() -> None:
    wide = ldp.Domain({"region": ["north", "east", "south"], "car": ["yes", "no"], "sex": ["F", "M"]})
    tables = ldp.SampledGroups(wide, epsilon=1.0, mechanism="grr").simulate(np.arange(12) * 50, rng=1)
    collapsed = tables.collapse({"region": {"rest": ["east", "south"]}, "sex": {"f": ["F"]}})
    assert collapsed.domain.categories["region"] == ("north", "rest")
    assert collapsed["region", "car"].shape == collapsed["sex", "car"].shape == (2, 2)
    assert ldp.TableSet.from_json(collapsed.to_json()).to_json() == collapsed.to_json()
    with pytest.raises(ldp.LdpstatsError, match="the same respondents twice"):
        collapsed + collapsed


def test_collapsing_in_steps_or_orders_gives_the_same() -> None:
    table = table_of("grr")
    once = table.collapse({"region": {"rest": ["north", "east", "south"]}})
    twice = table.collapse({"region": {"a": ["north", "south"]}}).collapse({"region": {"rest": ["a", "east"]}})
    assert once.domain == twice.domain
    np.testing.assert_allclose(once.estimate, twice.estimate, atol=1e-12)
    np.testing.assert_allclose(once.marginal("car").estimate, table.marginal("car").estimate, atol=1e-12)
    turned = table.reordered(["car", "region"]).collapse({"region": {"rest": ["north", "east", "south"]}})
    np.testing.assert_allclose(turned.estimate.T, once.estimate, atol=1e-12)


WRONG: dict[str, tuple[Any, str]] = {
    "unknown attribute": ({"height": {"x": ["a"]}}, "different names out of"),
    "unknown category": ({"region": {"x": ["north", "center"]}}, "'center' as a member"),
    "a category twice": ({"region": {"x": ["north", "east"], "y": ["east"]}}, "'east' as a member"),
    "an empty class": ({"region": {"x": []}}, "nothing as a member"),
    "a name that is taken": ({"region": {"south": ["north", "east"]}}, "without the category of that name"),
    "all in one": ({"region": {"x": ["north", "east", "south", "west"]}}, "fewer than two categories"),
    "no classes": ({"region": {}}, "a mapping such as"),
    "a list": ({"region": ["north", "east"]}, "a mapping such as"),
    "nothing": ({}, "a mapping such as"),
    "no mapping": ("region", "a mapping such as"),
    "a list inside": ({"region": {"x": [["north"]]}}, "as a member"),
}


@pytest.mark.parametrize(("classes", "told"), WRONG.values(), ids=WRONG)
def test_what_cannot_be_put_together_is_refused(classes: Any, told: str) -> None:
    table = table_of("grr")
    with pytest.raises(DomainError, match=told):
        table.collapse(classes)
    with pytest.raises(DomainError, match=told):
        ldp.TableSet(DOMAIN, [table], table.privacy).collapse(classes)
