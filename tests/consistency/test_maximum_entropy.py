"""Maximum entropy from noisy marginals: the fit against oracles and proportional fitting, order, and uncertainty."""

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
from ldpstats.consistency.marginals import Marginal, marginals_of
from ldpstats.consistency.maximum_entropy import MaximumEntropy, fit_maximum_entropy
from ldpstats.consistency.measures import jensen_shannon, l2
from ldpstats.consistency.relevant_marginals import relevant_marginals
from ldpstats.datasets import network
from ldpstats.estimation.simplex import proportionally_fitted
from ldpstats.numbers.arrays import FloatArray


def misfit(fitted: MaximumEntropy, marginals: Sequence[Marginal]) -> float:
    """Return half the sum of squared deviations of the cells from all marginals, over their variances."""
    away = [fitted.marginal(one.attributes) - one.estimate for one in marginals]
    return sum(float(gap @ (one.precision * gap)) / 2 for one, gap in zip(marginals, away, strict=True))


@pytest.mark.parametrize("model", MODELS)
def test_a_distribution_of_the_model_comes_back(model: str) -> None:
    groups = MODELS[model]
    joint = log_linear(SIZES, groups, np.random.default_rng(5))
    marginals = noise_free(joint, SIZES, groups, n=10**7)
    fitted = fit_maximum_entropy(marginals)
    assert fitted.converged
    assert misfit(fitted, marginals) < 1e-9
    assert np.allclose(fitted.marginal(list(SIZES)), joint.ravel(), rtol=0, atol=1e-8)
    for wanted in (["a", "e"], ["d"], ["e", "c", "a"]):
        assert np.allclose(fitted.marginal(wanted), summed(joint, list(SIZES), wanted), rtol=0, atol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_noise_free_marginals_of_any_distribution_give_what_iterative_proportional_fitting_gives(model: str) -> None:
    joint = np.random.default_rng(6).dirichlet(np.ones(math.prod(SIZES.values()))).reshape(*SIZES.values())
    fitted = fit_maximum_entropy(noise_free(joint, SIZES, MODELS[model], n=10**8))
    domain = Domain({name: range(size) for name, size in SIZES.items()})
    expected = proportionally_fitted(joint.ravel(), [domain.onto(group) for group in MODELS[model]])
    assert np.allclose(fitted.marginal(list(SIZES)), expected, rtol=0, atol=1e-8)


def test_unconnected_attributes_are_independent() -> None:
    joint = log_linear(SIZES, [("a", "b"), ("b", "c"), ("d", "e"), ("a", "e")], np.random.default_rng(8))
    fitted = fit_maximum_entropy(noise_free(joint, SIZES, [("a", "b"), ("b", "c"), ("d", "e")], n=10**7))
    expected = np.outer(summed(joint, list(SIZES), "abc"[:2]), summed(joint, list(SIZES), "de"))
    assert np.allclose(fitted.marginal(["a", "b", "d", "e"]), expected.ravel(), rtol=0, atol=1e-8)


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


def test_marginals_are_weighed_by_inverse_variances() -> None:
    """By inverse standard errors, the one of 100 respondents would count for three times as much."""
    first, second = np.array([0.4, 0.2, 0.3, 0.1]), np.array([0.3, 0.3, 0.2, 0.2])
    tables = [Marginal(("a", "b"), (2, 2), cells, np.eye(4) / n, n) for cells, n in ((first, 900), (second, 100))]
    assert np.allclose(fit_maximum_entropy(tables).marginal(["a", "b"]), 0.9 * first + 0.1 * second, rtol=0, atol=1e-6)


def test_a_marginal_of_many_more_respondents_has_its_way() -> None:
    rng = np.random.default_rng(2)
    pair, other = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(4))
    few = Marginal(("a", "b"), (3, 2), pair, spread(pair, 100), 100)
    many = Marginal(("b", "c"), (2, 2), other, spread(other, 10**7), 10**7)
    fitted = fit_maximum_entropy([few, many])
    assert misfit(fitted, [few, many]) > 0.1
    assert np.allclose(fitted.marginal(["b", "c"]), other, rtol=0, atol=1e-5)


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


@pytest.mark.parametrize("seed", range(50))
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


@pytest.mark.parametrize("name", ["survey", "asia"])
@pytest.mark.parametrize("factor", [1e-8, 1e-4, 1e4])
def test_only_ratios_of_variances_matter(name: str, factor: float) -> None:
    """Marginals that contradict each other by thousands of standard errors are fitted as well as any."""
    marginals = pairs_of(name, 8000, 2.0, seed=9)
    surer = [replace(one, covariance=factor * one.covariance) for one in marginals]
    expected, found = fit_maximum_entropy(marginals), fit_maximum_entropy(surer)
    assert found.converged
    assert factor * misfit(found, surer) == pytest.approx(misfit(expected, marginals), rel=1e-6)
    names = network(name).domain.names
    assert np.allclose(found.marginal(names), expected.marginal(names), rtol=0, atol=1e-6)


def renamed(one: Marginal, order: Mapping[str, FloatArray], axes: Sequence[int]) -> Marginal:
    """Return the same marginal with its attributes and their categories in another order."""
    cells = np.arange(one.estimate.size).reshape(one.shape)
    for axis, name in enumerate(one.attributes):
        cells = cells.take(order[name], axis=axis)
    cells = cells.transpose(axes)
    places = cells.ravel()
    names = tuple(one.attributes[axis] for axis in axes)
    return Marginal(names, cells.shape, one.estimate[places], one.covariance[np.ix_(places, places)], one.n)


@pytest.mark.parametrize("groups", ["all pairs", "some pairs"])
def test_no_order_matters(groups: str) -> None:
    marginals = pairs_of("survey", 8000, 2.0, seed=4)
    if groups == "some pairs":
        marginals = [one for one in marginals if "residence" in one.attributes or "age" in one.attributes]
    domain, rng = network("survey").domain, np.random.default_rng(1)
    order = {name: rng.permutation(size) for name, size in zip(domain.names, domain.shape, strict=True)}
    others = [renamed(one, order, [1, 0]) for one in rng.permutation(np.array(marginals, dtype=object))]
    wanted = ("sex", "age", "transport")
    shape = domain.project(wanted).shape
    expected = fit_maximum_entropy(marginals).marginal(wanted).reshape(shape)
    found = fit_maximum_entropy(others).marginal(wanted).reshape(shape)
    assert np.allclose(found, expected[np.ix_(*(order[name] for name in wanted))], rtol=0, atol=1e-6)


def test_the_same_marginals_give_the_same_digits() -> None:
    marginals = pairs_of("asia", 10_000, 1.0, seed=3)
    one, other = (fit_maximum_entropy(marginals).marginal(["asia", "dysp"]) for _ in range(2))
    assert np.array_equal(one, other)


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


@pytest.mark.parametrize(
    ("name", "n", "epsilon", "distance", "divergence"),
    [
        ("survey", 8000, 2.0, (0.066, 0.025), (0.020, 0.012)),
        ("survey", 100_000, 4.0, (0.010, 0.004), (0.0004, 0.0003)),
        ("asia", 100_000, 4.0, (0.0095, 0.005), (0.0013, 0.0008)),
    ],
)
def test_fours_that_nobody_was_asked_about_come_near_the_truth(
    name: str, n: int, epsilon: float, distance: tuple[float, float], divergence: tuple[float, float]
) -> None:
    """Means of five repetitions; the bounds are 5 standard errors and more: a false-failure rate below 1e-6."""
    net, found = network(name), []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        people = net.sample(n, rng)
        truth = np.bincount(net.domain.cells(net.domain.encode(people), net.domain.names), minlength=net.domain.size())
        protocol = SampledGroups(net.domain, k=2, epsilon=epsilon, mechanism="grr")
        fitted = fit_maximum_entropy(marginals_of(protocol.simulate(people, rng)))
        for four in combinations(net.domain.names, 4):
            expected = summed((truth / n).reshape(net.domain.shape), net.domain.names, four)
            found.append([measure(fitted.marginal(four), expected) for measure in (l2, jensen_shannon)])
    (expected, tolerance), means = zip(distance, divergence, strict=True), np.mean(found, axis=0)
    assert np.all(np.abs(means - expected) <= tolerance)


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(LdpstatsError, match="no marginals"):
        fit_maximum_entropy([])
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


@pytest.mark.parametrize("model", ["chain", "cycle", "threes"])
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


def test_the_covariance_of_a_table_in_a_simulation() -> None:
    """Respondents, noise and fit, 300 times: a variance varies by 8 % then. A false-failure rate of 1e-6."""
    sizes = {"a": 2, "b": 3, "c": 2}
    domain = Domain({name: list(range(size)) for name, size in sizes.items()})
    shares = log_linear(sizes, combinations(sizes, 2), np.random.default_rng(1))
    protocol, rng = SampledGroups(domain, k=2, epsilon=2.0, mechanism="grr"), np.random.default_rng(2)
    drawn, stated = [], []
    for _ in range(300):
        people = rng.multinomial(50_000, shares.ravel()).reshape(domain.shape)
        fitted = fit_maximum_entropy(marginals_of(protocol.simulate(people, rng)))
        drawn.append(fitted.marginal(domain.names))
        stated.append(np.diagonal(fitted.covariance(domain.names)))
    ratio = np.var(drawn, axis=0, ddof=1) / np.mean(stated, axis=0)
    assert np.all(np.abs(ratio - 1) < 0.5)
    assert np.all(np.abs(np.mean(drawn, axis=0) - shares.ravel()) < 6 * np.sqrt(np.mean(stated, axis=0) / 300))


def test_marginals_of_a_fit_have_the_marginals_of_its_covariance() -> None:
    fitted = fit_maximum_entropy(pairs_of("asia", 100_000, 2.0, seed=6))
    wide, narrow = fitted.covariance(["smoke", "lung", "xray"]), fitted.covariance(["xray"])
    onto = np.tile(np.eye(2), 4)
    assert np.allclose(onto @ wide @ onto.T, narrow, rtol=0, atol=1e-6 * narrow.max())
    assert np.allclose(wide.sum(axis=0), 0, rtol=0, atol=1e-6 * wide.max())
