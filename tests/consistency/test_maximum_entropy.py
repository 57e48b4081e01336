"""Maximum entropy from noisy marginals: junction trees and terms against sums, the fit against oracles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from support.log_linear_tables import MODELS, SIZES, flat, log_linear, noise_free, random_graph, spread, summed

from ldpstats import Domain, LdpstatsError, SampledGroups
from ldpstats.consistency.junction_tree import JunctionTree
from ldpstats.consistency.log_linear_terms import CellTermCovariance, LogLinearTerms, cells_from_means
from ldpstats.consistency.marginals import Marginal, marginals_of
from ldpstats.consistency.maximum_entropy import MaximumEntropy, fit_maximum_entropy
from ldpstats.consistency.relevant_marginals import relevant_marginals
from ldpstats.datasets import network
from ldpstats.estimation.simplex import proportionally_fitted
from ldpstats.numbers.arrays import FloatArray


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("size", [1, 300])
def test_marginals_on_a_junction_tree_are_sums_over_the_joint_table(seed: int, size: float) -> None:
    rng, sizes, groups = random_graph(seed)
    names, tree = list(sizes), JunctionTree.of(groups, sizes)
    potentials = [size * rng.normal(size=tree.shape(clique)) for clique in tree.cliques]
    logs = sum(
        potential[tuple(slice(None) if name in clique else None for name in names)]
        for clique, potential in zip(tree.cliques, potentials, strict=True)
    )
    logs = np.broadcast_to(logs, tree.shape(names))
    joint = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    beliefs = tree.beliefs(potentials)
    total = logs.max() + np.log(np.exp(logs - logs.max()).sum())
    assert tree.log_total(potentials) == pytest.approx(total, rel=1e-12, abs=1e-12)
    assert all(tree.holder(group) is not None for group in groups)
    for _ in range(5):
        wanted = [str(name) for name in rng.permutation(names)[: rng.integers(1, len(names) + 1)]]
        assert np.allclose(beliefs.marginal(wanted).ravel(), summed(joint, names, wanted), rtol=0, atol=1e-11)


def test_the_size_of_a_tree_that_could_never_be_formed_is_known() -> None:
    sizes = {f"q{number}": 4 for number in range(37)}
    assert JunctionTree.of(combinations(sizes, 2), sizes).cells == 4**37
    assert JunctionTree.of(pairwise(sizes), sizes).cells == 36 * 16


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("size", [1, 30])
def test_means_and_covariances_of_terms_are_those_of_the_joint_table(seed: int, size: float) -> None:
    rng, sizes, groups = random_graph(seed)
    names = list(sizes)
    terms = LogLinearTerms.of(JunctionTree.of(groups, sizes), groups)
    cells = np.indices(tuple(sizes.values())).reshape(len(sizes), -1)
    design = np.array([((asked[:, None] == 0) | (asked[:, None] == cells)).all(axis=0) for asked in terms.levels])
    weights = size * rng.normal(size=len(design))
    logs = weights @ design
    joint = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    beliefs = terms.tree.beliefs(terms.potentials(weights))
    means, covariance = terms.moments(beliefs)
    assert np.allclose(means, design @ joint, rtol=0, atol=1e-12)
    assert np.allclose(covariance, (design * joint) @ design.T - np.outer(means, means), rtol=0, atol=1e-12)
    wanted = [str(name) for name in rng.permutation(names)[: rng.integers(1, len(names) + 1)]]
    rows = np.eye(joint.size).reshape(joint.size, *sizes.values())
    indicator = np.array([summed(row, names, wanted) for row in rows]).T
    expected = (indicator * joint) @ design.T - np.outer(indicator @ joint, means)
    assert np.allclose(CellTermCovariance.of(terms, tuple(wanted)).covariance(beliefs), expected, rtol=0, atol=1e-12)


def test_there_are_as_many_terms_as_a_log_linear_model_has_parameters() -> None:
    pairs = list(combinations(SIZES, 2))
    terms = LogLinearTerms.of(JunctionTree.of(pairs, SIZES), pairs)
    assert len(terms.levels) == sum(size - 1 for size in SIZES.values()) + sum(
        (SIZES[one] - 1) * (SIZES[other] - 1) for one, other in pairs
    )


def test_cells_follow_from_the_means_of_terms() -> None:
    rng = np.random.default_rng(3)
    cells = rng.dirichlet(np.ones(12)).reshape(2, 3, 2)
    means = [cells[tuple(level or slice(None) for level in asked)].sum() for asked in np.ndindex(cells.shape)]
    constant, slopes = cells_from_means(cells.shape)
    assert np.allclose(constant + slopes @ np.array(means[1:]), cells.ravel(), rtol=0, atol=1e-15)


def misfit(fitted: MaximumEntropy, marginals: Sequence[Marginal]) -> float:
    """Return half the sum of squared deviations of the cells from all marginals, over their variances."""
    away = [fitted.marginal(one.attributes) - one.estimate for one in marginals]
    return sum(float(gap @ (one.precision * gap)) / 2 for one, gap in zip(marginals, away, strict=True))


@pytest.mark.parametrize("model", MODELS)
def test_noise_free_marginals_of_any_distribution_give_what_iterative_proportional_fitting_gives(model: str) -> None:
    joint = np.random.default_rng(6).dirichlet(np.ones(math.prod(SIZES.values()))).reshape(*SIZES.values())
    fitted = fit_maximum_entropy(noise_free(joint, SIZES, MODELS[model], n=10**8))
    assert fitted.converged
    domain = Domain({name: range(size) for name, size in SIZES.items()})
    expected = proportionally_fitted(joint.ravel(), [domain.onto(group) for group in MODELS[model]])
    assert np.allclose(fitted.marginal(list(SIZES)), expected, rtol=0, atol=1e-8)


def test_the_ends_of_a_long_chain_depend_on_each_other_through_all_that_is_between() -> None:
    """The joint table of 40 attributes would have 3⁴⁰ cells."""
    rng, names = np.random.default_rng(9), [f"q{number}" for number in range(40)]
    steps = [0.95 * np.eye(3) + 0.05 * rng.dirichlet(np.ones(3), size=3) for _ in names[1:]]
    margin, marginals, product = np.array([0.5, 0.3, 0.2]), [], np.eye(3)
    for pair, step in zip(pairwise(names), steps, strict=True):
        cells = (margin[:, None] * step).ravel()
        marginals.append(Marginal(pair, (3, 3), cells, spread(cells, 10**7), 10**7))
        margin, product = margin @ step, product @ step
    fitted = fit_maximum_entropy(marginals)
    expected = (np.array([0.5, 0.3, 0.2])[:, None] * product).ravel()
    assert np.abs(expected - np.outer(expected.reshape(3, 3).sum(axis=1), margin).ravel()).max() > 0.01
    assert np.allclose(fitted.marginal([names[0], names[-1]]), expected, rtol=0, atol=1e-8)


# The fit to noise, where only the optimum is known.


def pairs_of(name: str, n: int, epsilon: float, seed: int, mechanism: str = "grr") -> list[Marginal]:
    net, rng = network(name), np.random.default_rng(seed)
    protocol = SampledGroups(net.domain, k=2, epsilon=epsilon, mechanism=mechanism)
    return marginals_of(protocol.simulate(net.sample(n, rng), rng))


def nearest(marginals: Sequence[Marginal], sizes: Mapping[str, int]) -> tuple[FloatArray, float]:
    """Return the least misfit, and the joint table of maximum entropy that reaches it, by a general solver."""
    import cvxpy as cp

    cells = np.indices(tuple(sizes.values())).reshape(len(sizes), -1)
    p = cp.Variable(cells.shape[1], nonneg=True)
    sums, misfit = [], 0
    for one in marginals:
        place = np.ravel_multi_index([cells[list(sizes).index(name)] for name in one.attributes], one.shape)
        sums.append(np.eye(one.estimate.size)[:, place])
        misfit += cp.sum_squares(cp.multiply(np.sqrt(one.precision), sums[-1] @ p - one.estimate)) / 2
    first = cp.Problem(cp.Minimize(misfit), [cp.sum(p) == 1])
    first.solve(solver=cp.CLARABEL)
    reached = [cp.abs(part @ p - part @ p.value) <= 1e-9 for part in sums]
    cp.Problem(cp.Maximize(cp.sum(cp.entr(p))), reached).solve(solver=cp.CLARABEL)
    return np.asarray(p.value).reshape(*sizes.values()), float(first.value)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("groups", [MODELS["all pairs"], MODELS["cycle"]], ids=["all pairs", "cycle"])
def test_of_the_nearest_distributions_the_one_of_maximum_entropy_is_found(groups: Any, seed: int) -> None:
    """The noise exceeds many cells, so that some of them must be zero."""
    domain, rng = Domain({name: list(range(size)) for name, size in SIZES.items()}), np.random.default_rng(seed)
    people = rng.multinomial(300, rng.dirichlet(np.full(72, 0.1))).reshape(domain.shape)
    marginals = marginals_of(SampledGroups(domain, epsilon=2.0, mechanism="grr", groups=groups).simulate(people, rng))
    fitted = fit_maximum_entropy(marginals)
    expected, least = nearest(marginals, SIZES)
    assert fitted.converged
    assert (expected < 1e-6).any()
    assert misfit(fitted, marginals) == pytest.approx(least, rel=1e-6)
    assert np.allclose(fitted.marginal(list(SIZES)), expected.ravel(), rtol=0, atol=2e-4)


@pytest.mark.parametrize(
    ("name", "n", "epsilon", "mechanism"),
    [
        ("survey", 200, 0.1, "grr"),
        ("survey", 8000, 2.0, "oue"),
        ("survey", 100_000, 4.0, "grr"),
        ("asia", 500, 1.0, "ss"),
        ("asia", 100_000, 1.0, "grr"),
    ],
)
def test_no_distribution_is_nearer(name: str, n: int, epsilon: float, mechanism: str) -> None:
    """The misfit is convex: it lies above its tangent, which falls most towards a corner of the simplex."""
    marginals = pairs_of(name, n, epsilon, 1, mechanism)
    fitted = fit_maximum_entropy(marginals)
    names = tuple(fitted.terms.tree.sizes)
    cells = fitted.marginal(names)
    slope = np.zeros(cells.size)
    for one in marginals:
        places = network(name).domain.project(names).onto(one.attributes)
        slope += (one.precision * (fitted.marginal(one.attributes) - one.estimate))[places]
    assert fitted.converged
    assert cells.min() >= 0
    assert cells.sum() == pytest.approx(1, abs=1e-12)
    assert cells @ slope - slope.min() < 1e-2


@pytest.mark.parametrize("seed", range(20))
def test_tables_of_a_hundred_and_of_a_billion_respondents_are_fitted_together(seed: int) -> None:
    rng, sizes, groups = random_graph(seed)
    truth = rng.dirichlet(np.full(math.prod(sizes.values()), rng.choice([0.05, 0.3, 1]))).reshape(*sizes.values())
    marginals = []
    for one in noise_free(truth, sizes, groups, n=1):
        n = int(10 ** rng.uniform(1.5, 9))
        noise = 10 ** rng.uniform(0, 3) * spread(0.9 * one.estimate + 0.1 / one.estimate.size, n)
        estimate = rng.multivariate_normal(one.estimate, noise, method="eigh")
        marginals.append(Marginal(one.attributes, one.shape, estimate, noise, n))
    fitted = fit_maximum_entropy(marginals)
    assert fitted.converged
    assert misfit(fitted, marginals) < sum(one.estimate.size for one in marginals) * 20
    for one in marginals:
        cells = fitted.marginal(one.attributes)
        assert cells.min() >= 0
        assert np.all(np.abs(cells - summed(truth, list(sizes), one.attributes)) < 7 / np.sqrt(one.precision.min()))


@pytest.mark.parametrize(("name", "factor"), [("survey", 1e-8), ("asia", 1e-4), ("survey", 1e4)])
def test_only_ratios_of_variances_matter(name: str, factor: float) -> None:
    """Marginals that contradict each other by thousands of standard errors are fitted as well as any."""
    marginals = pairs_of(name, 8000, 2.0, seed=9)
    surer = [replace(one, covariance=factor * one.covariance) for one in marginals]
    expected, found = fit_maximum_entropy(marginals), fit_maximum_entropy(surer)
    assert found.converged
    assert factor * misfit(found, surer) == pytest.approx(misfit(expected, marginals), rel=1e-6)
    names = network(name).domain.names
    assert np.allclose(found.marginal(names), expected.marginal(names), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("n", "epsilon"), [(300, 0.1), (10**8, 0.1), (9 * 10**8, 0.5), (9 * 10**8, 8.0)])
def test_extreme_noise_and_hardly_any_of_it(n: int, epsilon: float) -> None:
    """Every pair within 6 standard errors of its own table: 112 cells, a false-failure rate of 3e-7."""
    net, rng = network("asia"), np.random.default_rng(5)
    codes = net.domain.encode(net.sample(100_000, rng))
    shares = np.bincount(net.domain.cells(codes, net.domain.names), minlength=net.domain.size()) / 100_000
    people = rng.multinomial(n, shares).reshape(net.domain.shape)
    protocol = SampledGroups(net.domain, k=2, epsilon=epsilon, mechanism="grr")
    marginals = marginals_of(protocol.simulate(people, rng))
    fitted = fit_maximum_entropy(marginals)
    cells = fitted.marginal(net.domain.names)
    assert fitted.converged
    assert cells.min() >= 0
    assert cells.sum() == pytest.approx(1, abs=1e-12)
    for one in marginals:
        truth = summed(shares.reshape(net.domain.shape), net.domain.names, one.attributes)
        assert np.all(np.abs(fitted.marginal(one.attributes) - truth) < 6 / np.sqrt(one.precision))


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(LdpstatsError, match=r"2 and 3 categories of 'b'"):
        fit_maximum_entropy([*flat(["ab"], SIZES), *flat(["bc"], {"b": 3, "c": 2})])
    with pytest.raises(LdpstatsError, match=r"any model is too large.*at most 5 cells"):
        relevant_marginals(flat(["ab"], SIZES), ["a", "b"], most_cells=5)
    with pytest.raises(LdpstatsError, match="different names out of 'a', 'b'"):
        fit_maximum_entropy(flat(["ab"], SIZES)).marginal(["a", "c"])


# Uncertainty.


def slope_by_refitting(marginals: Sequence[Marginal], wanted: Sequence[str]) -> list[FloatArray]:
    """Return for each marginal the derivative of a fitted table in its estimate, by differences."""
    step, slopes = 1e-4, []
    for place, one in enumerate(marginals):
        ends = []
        for change in (*(step * np.eye(one.estimate.size)), *(-step * np.eye(one.estimate.size))):
            moved = replace(one, estimate=one.estimate + change)
            ends.append(fit_maximum_entropy([*marginals[:place], moved, *marginals[place + 1 :]]).marginal(wanted))
        up, down = np.array_split(ends, 2)
        slopes.append((up - down).T / (2 * step))
    return slopes


@pytest.mark.parametrize("model", ["cycle", "threes"])
def test_the_covariance_is_that_of_the_fit_to_slightly_other_marginals(model: str) -> None:
    joint = log_linear(SIZES, MODELS[model], np.random.default_rng(12))
    rng, marginals = np.random.default_rng(13), []
    for one in noise_free(joint, SIZES, MODELS[model], n=20_000):
        noise = 5 * spread(one.estimate, 20_000)
        marginals.append(replace(one, covariance=noise, estimate=rng.multivariate_normal(one.estimate, noise)))
    wanted = ["e", "a"]
    slopes = slope_by_refitting(marginals, wanted)
    expected = sum(slope @ one.covariance @ slope.T for slope, one in zip(slopes, marginals, strict=True))
    found = fit_maximum_entropy(marginals).covariance(wanted)
    assert np.allclose(found, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def test_cells_that_are_fitted_as_zero_do_not_vary() -> None:
    """One cell is estimated as far below zero: the other three are a projection onto a simplex of three cells."""
    table = Marginal(("a", "b"), (2, 2), np.array([0.5, 0.4, 0.2, -0.1]), np.eye(4) / 10_000, 10_000)
    fitted = fit_maximum_entropy([table])
    assert np.allclose(fitted.marginal(["a", "b"]), [0.4667, 0.3667, 0.1667, 0], rtol=0, atol=1e-4)
    expected = np.zeros((4, 4))
    expected[:3, :3] = (np.eye(3) - 1 / 3) / 10_000
    assert np.allclose(fitted.covariance(["a", "b"]), expected, rtol=0, atol=1e-9)
