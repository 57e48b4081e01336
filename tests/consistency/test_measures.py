"""Distances between distributions: against scipy, known bounds, and every wrong input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cityblock, euclidean, jensenshannon
from scipy.stats import chisquare

from ldpstats import Domain, LdpstatsError, PrivacyStatement, SampledGroups, Table
from ldpstats.answers.questions import Question
from ldpstats.consistency import measures
from ldpstats.consistency.measures import chi_squared, compare, jensen_shannon, l1, l2
from ldpstats.estimation.blocks import Block
from ldpstats.noise import MultinomialNoise, Tally, TruthOrFake
from ldpstats.tables import Figures

DISTANCES = [l1, l2, measures.total_variation, jensen_shannon, chi_squared]
PROPER_ONLY = [jensen_shannon, chi_squared]
LETTERS = Domain({"letter": ["a", "b"]})


def some_pairs(count: int = 50) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Return pairs of distributions of 12 cells, many of them with cells that are nearly or exactly zero."""
    rng = np.random.default_rng(4)
    drawn = rng.dirichlet(np.full(12, 0.2), (count, 2))
    drawn[::2] = np.where(drawn[::2] < 0.02, 0, drawn[::2])
    return [(one, other) for one, other in drawn / drawn.sum(axis=-1, keepdims=True)]


def table_of(counts: tuple[int, int], noise: MultinomialNoise) -> Table:
    block = Block(Question.of(LETTERS, ["letter"]), Tally(noise, counts, sum(counts)))
    return Table(LETTERS, (block,), PrivacyStatement(math.inf, "a test"))


def test_the_distances_are_those_of_scipy() -> None:
    for one, other in some_pairs():
        assert l1(one, other) == pytest.approx(cityblock(one, other), abs=1e-15)
        assert l2(one, other) == pytest.approx(euclidean(one, other), abs=1e-15)
        assert measures.total_variation(one, other) == pytest.approx(cityblock(one, other) / 2, abs=1e-15)
        assert jensen_shannon(one, other) == pytest.approx(jensenshannon(one, other) ** 2, abs=1e-14)


def test_the_chi_squared_distance_is_pearsons_against_the_average() -> None:
    """Both against their average m: Σ (p − m)² / m is half of Σ (p − q)² / (p + q)."""
    for one, other in some_pairs():
        seen = one + other > 0
        pearson = chisquare(one[seen], ((one + other) / 2)[seen]).statistic
        assert chi_squared(one, other) == pytest.approx(2 * pearson, rel=1e-12)


def test_distributions_without_a_common_cell_are_as_far_apart_as_can_be() -> None:
    one, other = [0.25, 0.75, 0, 0], [0, 0, 0.5, 0.5]
    apart = compare(one, other)
    assert apart["Jensen-Shannon"] == pytest.approx(math.log(2), rel=1e-15)
    assert apart["chi-squared"] == apart["l1"] == 2
    assert apart["total variation"] == 1


def test_cells_that_are_next_to_nothing_are_no_trouble() -> None:
    smallest = math.ulp(0.0)
    assert jensen_shannon([1 - smallest, smallest], [1, 0]) == 0
    assert chi_squared([1, smallest], [1, 0]) == 0
    assert jensen_shannon([1 + 1e-13, -1e-13], [1, 0]) == pytest.approx(0, abs=1e-12)


def test_tables_are_compared_cell_by_cell_whatever_the_order_of_their_axes() -> None:
    domain = Domain({"sex": ["F", "M"], "age": ["young", "adult", "old"]})
    people = np.array([300, 100, 50, 50, 200, 300]) * 20
    first, second = (SampledGroups(domain, epsilon=6.0, mechanism="grr").simulate(people, rng=seed) for seed in (1, 2))
    one, other = first["sex", "age"].estimated_by("mle"), second["sex", "age"].estimated_by("mle")
    for distance in DISTANCES:
        assert distance(one, other) == pytest.approx(distance(one.estimate, other.estimate), rel=1e-14)
        assert distance(one, other.reordered(["age", "sex"])) == pytest.approx(distance(one, other), rel=1e-12)
    against_truth = compare(one, (people / people.sum()).reshape(2, 3))
    assert list(against_truth.index) == [
        "l1",
        "l2",
        "total variation",
        "Jensen-Shannon",
        "chi-squared",
        "expected squared error",
    ]
    assert against_truth["l2"] == l2(one.estimate.ravel(), people / people.sum())
    assert against_truth["expected squared error"] == np.trace(one.covariance)


def test_improper_cells_are_refused_only_where_they_have_no_meaning() -> None:
    unbiased = table_of((4, 0), MultinomialNoise(TruthOrFake(0.5, (0.5, 0.5))))
    assert unbiased.estimate.tolist() == [1.5, -0.5]
    assert l1(unbiased, [0.5, 0.5]) == 2
    for distance in [*PROPER_ONLY, compare]:
        for one, other in ((unbiased, [0.5, 0.5]), ([0.5, 0.5], unbiased), ([3, 1], [0.5, 0.5])):
            with pytest.raises(LdpstatsError, match="proper distributions") as refused:
                distance(one, other)
            assert "make_consistent" in refused.value.advice


@pytest.mark.parametrize("distance", [*DISTANCES, compare])
def test_what_are_no_two_distributions_is_refused(distance: Any) -> None:
    car, letter = Domain({"car": ["a", "b"]}), table_of((2, 2), MultinomialNoise(TruthOrFake(0.5, (0.5, 0.5))))
    others = Domain({"letter": ["a", "z"]})
    cases = {
        "same shape": [([0.5, 0.5], [1.0]), ([], []), (letter, [0.5, 0.25, 0.25]), ([[0.5, 0.5]], [0.5, 0.5])],
        "finite numbers": [([0.5, np.nan], [0.5, 0.5]), ([0.5, 0.5], ["a", "b"]), ([0.5, 0.5], [np.inf, 0]), ({}, [1])],
        "rows of one length": [([[1], [1, 2]], [1])],
        "in any order": [(letter, Table(car, (), letter.privacy, figures=Figures(letter.cells)))],
        "the same categories": [(letter, Table(others, (), letter.privacy, figures=Figures(letter.cells)))],
    }
    for words, pairs in cases.items():
        for one, other in pairs:
            with pytest.raises(LdpstatsError, match=words):
                distance(one, other)
