"""CALM: covering groups, the errors that are expected of views, which views are chosen, and what comes of them."""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from math import comb, prod
from typing import Any

import numpy as np
import pytest

from ldpstats import Domain, LdpstatsError
from ldpstats.consistency.calm import DesignProblem, calm_views, covering_groups
from ldpstats.consistency.marginals import marginals_of
from ldpstats.consistency.maximum_entropy import fit_maximum_entropy
from ldpstats.mechanisms import best_name, mechanism

MIXED = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1, 2, 3]})


def binary(attributes: int) -> Domain:
    return Domain({f"x{place}": ["no", "yes"] for place in range(attributes)})


@pytest.mark.parametrize(("cover", "held"), [("pairs", 2), ("triples", 3)])
@pytest.mark.parametrize(("attributes", "size"), [(3, 3), (6, 4), (7, 3), (9, 5), (13, 4), (20, 6)])
def test_every_pair_or_triple_stands_in_a_group(attributes: int, size: int, cover: Any, held: int) -> None:
    domain = binary(attributes)
    groups = covering_groups(domain, size, cover)
    covered = {frozenset(part) for group in groups for part in combinations(group, held)}
    assert len(covered) == comb(attributes, held)
    assert all(held <= len(group) <= size and domain.project(group).names == group for group in groups)
    assert len({frozenset(group) for group in groups}) == len(groups)


def test_the_groups_are_as_few_as_can_be_where_there_is_a_plane() -> None:
    assert len(covering_groups(binary(7), 3)) == 7
    assert len(covering_groups(binary(8), 4, cover="triples")) == 14


@pytest.mark.parametrize(
    ("size", "cover", "came"),
    [
        (1, "pairs", "pairs of 4 attributes in groups of 1"),
        (5, "pairs", "pairs of 4 attributes in groups of 5"),
        (2, "triples", "triples of 4 attributes in groups of 2"),
        (2, "quadruples", "cover = 'quadruples'"),
        (2.0, "pairs", "size = 2.0"),
    ],
)
def test_covers_that_there_are_not_are_refused(size: Any, cover: Any, came: str) -> None:
    with pytest.raises(LdpstatsError, match=came):
        covering_groups(MIXED, size, cover)


def contrasts(categories: int) -> np.ndarray[Any, Any]:
    basis, _ = np.linalg.qr(np.column_stack([np.ones(categories), np.eye(categories)[:, 1:]]))
    return basis


def summing(domain: Domain, kept: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Return the matrix that adds the domain's cells up to those of some attributes."""
    codes = np.stack(np.unravel_index(np.arange(domain.size()), domain.shape), axis=1)
    return np.eye(domain.size(kept))[:, domain.cells(codes, kept)]


def least_squares_errors(problem: DesignProblem, groups: tuple[tuple[str, ...], ...]) -> tuple[float, float]:
    """Return the mean squared error of all tables of k attributes by least squares, and what sampling has in it."""
    domain, each = problem.domain, problem.n / len(groups)
    covered = {part for group in groups for order in range(1, len(group) + 1) for part in combinations(group, order)}
    bases = {name: contrasts(len(domain.categories[name])) for name in domain.names}
    effects = [
        reduce(np.kron, [bases[name][:, 1:] if name in part else bases[name][:, :1] for name in domain.names])
        for part in covered
    ]
    basis = np.concatenate(effects, axis=1)
    information, sampling = np.zeros((2, basis.shape[1], basis.shape[1]))
    for group in groups:
        cells = domain.size(group)
        name = best_name(cells, problem.epsilon) if problem.mechanism == "auto" else problem.mechanism
        used = mechanism(name, k=cells, epsilon=problem.epsilon)
        covariance = used.noise.covariance(np.full(cells, 1 / cells))
        # over the contrasts, since the total is known; of one respondent they have the variance 1 / cells
        centred = contrasts(cells)[:, 1:]
        weighted = np.linalg.inv(centred.T @ covariance @ centred) @ centred.T @ summing(domain, group) @ basis
        information += each * basis.T @ summing(domain, group).T @ centred @ weighted
        sampling += each * weighted.T @ weighted / cells
    inverse = np.linalg.inv(information)
    parts = [summing(domain, target) @ basis for target in combinations(domain.names, problem.k)]
    spreads = inverse, inverse @ sampling @ inverse
    total, sampled = (float(np.mean([np.trace(part @ spread @ part.T) for part in parts])) for spread in spreads)
    return total, sampled


@pytest.mark.parametrize("used", ["grr", "olh", "auto"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
@pytest.mark.parametrize("k", [2, 3])
def test_the_expected_errors_are_those_of_least_squares(used: str, epsilon: float, k: int) -> None:
    problem = DesignProblem(MIXED, 1000, epsilon, k, used)
    candidates = [*problem.candidates(), ("uneven", (("a", "b", "c"), ("a", "d"), ("b", "d"), ("a", "b")))]
    assert len(candidates) >= 4
    for made, groups in candidates:
        design, (total, sampling) = problem.designed(made, groups), least_squares_errors(problem, groups)
        assert design.error == pytest.approx(total, rel=1e-9)
        assert design.sampling_error == pytest.approx(sampling, rel=1e-9)


def test_what_is_left_open_are_the_interactions_that_no_view_holds() -> None:
    problem = DesignProblem(MIXED, 1000, 1.0, 3, "grr")
    pairs = tuple(combinations(MIXED.names, 2))
    missing = [
        prod(len(MIXED.categories[name]) - 1 for name in target) / (MIXED.size(target) - 1)
        for target in combinations(MIXED.names, 3)
    ]
    design = problem.designed("pairs", pairs)
    assert design.left_open == pytest.approx(np.mean(missing), rel=1e-12)
    assert design.covered == 0
    assert problem.designed("more", (*pairs[:3], ("a", "b", "c"))).covered == 0.25


def test_the_choice_leaves_as_little_open_as_the_threshold_allows() -> None:
    design = calm_views(binary(8), 100_000, 4.0)
    within = [one for one in design.considered if one.error <= 1e-4]
    assert len(design.considered) > len(within) > 1
    assert design.left_open == min(one.left_open for one in within)
    assert design.error == min(one.error for one in within if one.left_open == design.left_open)


def test_where_no_views_keep_the_threshold_those_with_the_least_error_are_taken() -> None:
    design = calm_views(binary(8), 1000, 1.0)
    assert design.error == min(one.error for one in design.considered) > 1e-4


def test_every_respondent_reports_one_view_at_full_epsilon() -> None:
    design = calm_views(MIXED, 10_000, 1.5)
    protocol = design.protocol()
    assert protocol.groups == design.views
    assert protocol.privacy().epsilon == pytest.approx(1.5, abs=1e-9)
    assert len({frozenset(one.views) for one in design.considered}) == len(design.considered)


def pairwise_population(domain: Domain, seed: int) -> np.ndarray[Any, Any]:
    """Return a distribution without interactions of three attributes."""
    rng = np.random.default_rng(seed)
    log = np.zeros(domain.size())
    for pair in combinations(domain.names, 2):
        log += rng.normal(size=domain.size(pair)) @ summing(domain, pair)
    return np.exp(log) / np.exp(log).sum()


@pytest.mark.parametrize("groups", [list(combinations("abcd", 2)), ["abc", "ad", "bd", "cd"], ["abc", "abd", "cd"]])
def test_without_noise_views_give_back_a_population_without_further_interactions(groups: list[Any]) -> None:
    """Standard errors are below 3e-5, so that a right answer fails for at most one seed in a million."""
    truth, views_of = pairwise_population(MIXED, 3), tuple(map(tuple, groups))
    design = DesignProblem(MIXED, 4 * 10**8, 40.0, 3, "auto").designed("named", views_of)
    assert design.left_open > 0
    tables = design.protocol().simulate(np.round(truth * design.problem.n).astype(np.int64), rng=1)
    marginals = marginals_of(tables)
    model = fit_maximum_entropy(marginals)
    for target in combinations(MIXED.names, 3):
        assert np.abs(model.marginal(target) - summing(MIXED, target) @ truth).max() < 2e-4


@pytest.mark.parametrize(
    ("options", "came"),
    [
        ({"k": 1}, "k = 1 out of 4"),
        ({"k": 5}, "k = 5 out of 4"),
        ({"k": 2.5}, "k = 2.5"),
        ({"n": 0}, "n = 0"),
        ({"n": 2, "k": 2, "domain": binary(40)}, "n = 2 for views of 40 attributes"),
        ({"epsilon": -1.0}, "epsilon = -1.0"),
        ({"threshold": 0}, "threshold = 0"),
        ({"threshold": float("nan")}, "threshold = nan"),
        ({"mechanism": "magic"}, "magic"),
        ({"domain": {"a": [0, 1]}}, "type dict"),
        ({"domain": binary(150), "k": 3}, "551,300 tables of 3 out of 150"),
    ],
)
def test_what_cannot_be_designed_is_refused(options: dict[str, Any], came: str) -> None:
    with pytest.raises(LdpstatsError, match=came):
        calm_views(**{"domain": MIXED, "n": 1000, "epsilon": 1.0, **options})
