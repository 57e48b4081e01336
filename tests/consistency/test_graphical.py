"""The graphical model of overlapping marginals: exact inference, the fit against oracles, what is kept, uncertainty."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from ldpstats import Domain, LdpstatsError, NotIdentifiedError, SampledGroups
from ldpstats.arrays import FloatArray
from ldpstats.consistency.junction_tree import JunctionTree
from ldpstats.consistency.log_linear_terms import LogLinearTerms, cells_from_means
from ldpstats.consistency.marginals import Attributes, Marginal, marginals_of
from ldpstats.consistency.maximum_entropy import fit_maximum_entropy
from ldpstats.consistency.relevant_marginals import relevant_marginals
from ldpstats.datasets import network

SIZES = {"a": 3, "b": 2, "c": 2, "d": 3, "e": 2}


def summed(joint: FloatArray, names: Sequence[str], kept: Sequence[str]) -> FloatArray:
    """Return the flat marginal of a joint table, its attributes in the order in which they are given."""
    left = [name for name in names if name in kept]
    others = tuple(axis for axis, name in enumerate(names) if name not in kept)
    return joint.sum(axis=others).transpose([left.index(name) for name in kept]).ravel()


def spread(estimate: FloatArray, n: int) -> FloatArray:
    """Return the covariance of the proportions of n respondents."""
    return (np.diag(estimate) - np.outer(estimate, estimate)) / n


def noise_free(joint: FloatArray, sizes: Mapping[str, int], groups: Iterable[Attributes], n: int) -> list[Marginal]:
    found = []
    for group in groups:
        cells = summed(joint, list(sizes), group)
        found.append(Marginal(group, tuple(sizes[name] for name in group), cells, spread(cells, n), n))
    return found


def log_linear(sizes: Mapping[str, int], groups: Iterable[Attributes], rng: np.random.Generator) -> FloatArray:
    """Return a random distribution with interactions within the groups only."""
    names = list(sizes)
    logs = np.zeros(tuple(sizes.values()))
    for group in groups:
        ordered = [name for name in names if name in group]
        weights = rng.normal(size=[sizes[name] for name in ordered])
        logs = logs + weights[tuple(slice(None) if name in group else None for name in names)]
    return np.exp(logs) / np.exp(logs).sum()


def random_graph(seed: int) -> tuple[np.random.Generator, dict[str, int], list[Attributes]]:
    """Return a few random groups of up to three out of up to seven attributes."""
    rng = np.random.default_rng(seed)
    sizes = {name: int(rng.integers(2, 4)) for name in "tuvwxyz"[: rng.integers(1, 8)]}
    members = [rng.permutation(list(sizes))[: rng.integers(1, 4)] for _ in range(rng.integers(1, 9))]
    return rng, sizes, [tuple(map(str, group)) for group in members]


def iterated(joint: FloatArray, groups: Sequence[Attributes], names: Sequence[str]) -> FloatArray:
    """Fit the marginals of the groups to a uniform table by iterative proportional fitting, naively."""
    fitted = np.full(joint.shape, 1 / joint.size)
    for _ in range(2000):
        for group in groups:
            others = tuple(axis for axis, name in enumerate(names) if name not in group)
            fitted = fitted * (joint.sum(axis=others, keepdims=True) / fitted.sum(axis=others, keepdims=True))
    return fitted


# Inference.


@pytest.mark.parametrize("seed", range(40))
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


@pytest.mark.parametrize("seed", range(40))
def test_every_clique_hangs_on_one_that_shares_all_it_shares_with_those_before(seed: int) -> None:
    """It is what makes a tree of cliques a junction tree. Also, all that hangs on a clique follows it at once."""
    _, sizes, groups = random_graph(seed)
    tree = JunctionTree.of(groups, sizes)
    assert set().union(*tree.cliques) == set(sizes)
    assert tree.cells == sum(math.prod(sizes[name] for name in clique) for clique in tree.cliques)
    for place in range(1, len(tree.cliques)):
        before = set().union(*tree.cliques[:place])
        assert set(tree.separators[place]) == before & set(tree.cliques[place])
        assert set(tree.separators[place]) <= set(tree.cliques[tree.parents[place]])
        ancestors, above = set(), place - 1
        while above >= 0:
            ancestors.add(above)
            above = tree.parents[above]
        assert tree.parents[place] in ancestors


def test_the_size_of_a_tree_that_could_never_be_formed_is_known() -> None:
    sizes = {f"q{number}": 4 for number in range(37)}
    assert JunctionTree.of(combinations(sizes, 2), sizes).cells == 4**37
    assert JunctionTree.of(pairwise(sizes), sizes).cells == 36 * 16


@pytest.mark.parametrize("seed", range(40))
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
    assert np.allclose(terms.covariance_with(tuple(wanted), beliefs), expected, rtol=0, atol=1e-12)


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


# The fit where the answer is known.

CHAIN = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e")]
MODELS = {
    "chain": CHAIN,
    "cycle": [*CHAIN, ("e", "a")],
    "all pairs": list(combinations(SIZES, 2)),
    "threes": [("c", "a", "b"), ("b", "c", "d"), ("d", "e")],
    "groups within groups": [("a", "b", "c"), ("b",), ("c", "a"), ("d", "e"), ("e", "c"), ("d",)],
    "two parts": [("a", "b"), ("c", "d"), ("d", "e")],
    "single attributes": [("a",), ("b",), ("c",), ("d",), ("e",)],
    "everything": [("e", "a", "c", "b", "d")],
}


@pytest.mark.parametrize("model", MODELS)
def test_a_distribution_of_the_model_comes_back(model: str) -> None:
    groups = MODELS[model]
    joint = log_linear(SIZES, groups, np.random.default_rng(5))
    fitted = fit_maximum_entropy(noise_free(joint, SIZES, groups, n=10**7))
    assert fitted.converged
    assert fitted.objective < 1e-9
    assert np.allclose(fitted.marginal(list(SIZES)), joint.ravel(), rtol=0, atol=1e-8)
    for wanted in (["a", "e"], ["d"], ["e", "c", "a"]):
        assert np.allclose(fitted.marginal(wanted), summed(joint, list(SIZES), wanted), rtol=0, atol=1e-8)


@pytest.mark.parametrize("model", MODELS)
def test_noise_free_marginals_of_any_distribution_give_what_iterative_proportional_fitting_gives(model: str) -> None:
    joint = np.random.default_rng(6).dirichlet(np.ones(math.prod(SIZES.values()))).reshape(*SIZES.values())
    fitted = fit_maximum_entropy(noise_free(joint, SIZES, MODELS[model], n=10**8))
    expected = iterated(joint, MODELS[model], list(SIZES))
    assert np.allclose(fitted.marginal(list(SIZES)), expected.ravel(), rtol=0, atol=1e-8)


def test_what_hangs_together_nowhere_is_independent() -> None:
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
    assert fitted.objective > 0.1
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
    assert fitted.objective == pytest.approx(least, rel=1e-6)
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
    cells = fitted.marginal(fitted.attributes)
    slope = np.zeros(cells.size)
    for one in marginals:
        onto = Marginal(fitted.attributes, network(name).domain.project(fitted.attributes).shape, cells, np.eye(1), n)
        places = onto.onto(one.attributes)
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
    assert fitted.objective < sum(one.estimate.size for one in marginals) * 20
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
    assert factor * found.objective == pytest.approx(expected.objective, rel=1e-6)
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


# How near fours come to the truth: THEORY.md, Section 7.


def errors(estimate: FloatArray, truth: FloatArray) -> tuple[float, float]:
    """Return the Euclidean distance, and the Jensen-Shannon divergence in nats."""
    from scipy.special import rel_entr

    middle = (estimate + truth) / 2
    divergence = (rel_entr(estimate, middle).sum() + rel_entr(truth, middle).sum()) / 2
    return float(np.linalg.norm(estimate - truth)), float(divergence)


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
            found.append(errors(fitted.marginal(four), expected))
    l2, js = np.mean(found, axis=0)
    assert l2 == pytest.approx(distance[0], abs=distance[1])
    assert js == pytest.approx(divergence[0], abs=divergence[1])


# What is kept for a target.


def flat(groups: Iterable[Sequence[str]], sizes: Mapping[str, int]) -> list[Marginal]:
    """Return uniform marginals: only their attributes matter."""
    uniform = np.full(tuple(sizes.values()), 1 / math.prod(sizes.values()))
    return noise_free(uniform, sizes, [tuple(group) for group in groups], n=100)


def test_a_path_through_attributes_outside_the_target_is_used() -> None:
    joint = log_linear(SIZES, CHAIN, np.random.default_rng(10))
    marginals = noise_free(joint, SIZES, CHAIN, n=10**7)
    whole, path = relevant_marginals(marginals, ["d", "a"]), relevant_marginals(marginals, ["d", "a"], most_cells=17)
    assert (whole.attributes, whole.left_out) == (("a", "b", "c", "d", "e"), ())
    assert (path.attributes, path.left_out) == (("a", "b", "c", "d"), ("e",))
    assert [one.attributes for one in path.marginals] == [("a", "b"), ("b", "c"), ("c", "d"), ("d",)]
    expected = summed(joint, list(SIZES), ["d", "a"])
    apart = np.outer(summed(joint, list(SIZES), "d"), summed(joint, list(SIZES), "a")).ravel()
    assert np.abs(expected - apart).max() > 1e-3
    for found in (whole, path):
        fitted = fit_maximum_entropy(found.marginals)
        assert fitted.attributes == found.attributes
        assert np.allclose(fitted.marginal(["d", "a"]), expected, rtol=0, atol=1e-8)


def test_other_parts_are_left_alone() -> None:
    marginals = flat([*MODELS["two parts"]], SIZES)
    assert relevant_marginals(marginals, ["a"]).attributes == ("a", "b")
    assert relevant_marginals(marginals, ["e", "b"]).attributes == ("a", "b", "c", "d", "e")
    assert relevant_marginals(marginals, ["a"]).left_out == ()


def test_attributes_that_hang_on_at_one_place_are_left_out_before_any_others() -> None:
    """Both ways round the cycle are kept from b to e, though that over a is shorter."""
    sizes = dict.fromkeys("abcdexyz", 2)
    groups = flat(["ab", "bc", "cd", "de", "ea", "ax", "xy", "yz"], sizes)
    assert relevant_marginals(groups, ["b", "e"], most_cells=36).left_out == ()
    for most in (35, 24):
        found = relevant_marginals(groups, ["b", "e"], most_cells=most)
        assert (found.attributes, found.left_out) == (("a", "b", "c", "d", "e"), ("x", "y", "z"))
    assert relevant_marginals(groups, ["b", "e"], most_cells=23).attributes == ("a", "b", "e")


def test_what_hangs_on_at_one_place_is_not_missed() -> None:
    groups = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "e")]
    marginals = noise_free(log_linear(SIZES, groups, np.random.default_rng(4)), SIZES, groups, n=10**7)
    whole, fewer = (relevant_marginals(marginals, ["a", "b"], most_cells=most) for most in (10**6, 12))
    assert (len(whole.attributes), fewer.attributes) == (5, ("a", "b", "c"))
    one, other = (fit_maximum_entropy(found.marginals).marginal(["a", "b"]) for found in (whole, fewer))
    assert np.allclose(one, other, rtol=0, atol=1e-8)


def test_what_is_too_large_is_joined_by_the_shortest_paths_instead() -> None:
    sizes = dict.fromkeys("abcdefgh", 2)
    ring_and_chords = ["ab", "bc", "cd", "de", "ef", "fg", "gh", "ha", "be", "cf"]
    found = relevant_marginals(flat(ring_and_chords, sizes), ["a", "e"], most_cells=8)
    assert (found.attributes, found.left_out) == (("a", "b", "e"), ("c", "d", "f", "g", "h"))
    assert {one.attributes for one in found.marginals} == {("a", "b"), ("b", "e"), ("a",), ("b",), ("e",)}
    found = relevant_marginals(flat(ring_and_chords, sizes), ["a", "d", "e", "g"], most_cells=20)
    assert found.attributes == ("a", "b", "d", "e", "g", "h")


def test_of_all_pairs_of_many_attributes_those_of_the_target_are_kept() -> None:
    """37 attributes that all hang together have a joint table of 10¹⁶ cells."""
    net, rng = network("alarm"), np.random.default_rng(1)
    wanted = ("HYPOVOLEMIA", "LVFAILURE", "LVEDVOLUME", "CVP")
    protocol = SampledGroups(net.domain, k=2, epsilon=4.0, mechanism="grr")
    marginals = marginals_of(protocol.simulate(net.sample(50_000, rng), rng))
    with pytest.raises(LdpstatsError, match=r"666 marginals of 37 attributes.*`relevant_marginals`"):
        fit_maximum_entropy(marginals)
    found = relevant_marginals(marginals, wanted)
    assert set(found.attributes) == set(wanted)
    assert set(found.left_out) == set(net.domain.names) - set(wanted)
    assert len(found.marginals) == 6 + 4 * 33
    fitted = fit_maximum_entropy(found.marginals)
    assert fitted.converged
    # single attributes are as well known as by 36 tables of each: 7 of the errors of a pooled proportion
    for name in wanted:
        tables = [one for one in marginals if name in one.attributes]
        truth = net.pair(name, next(other for other in wanted if other != name)).sum(axis=1)
        error = (
            np.mean(
                [
                    np.sqrt(np.diagonal(part.covariance))
                    for part in relevant_marginals(tables, [name], most_cells=5).marginals
                ],
                axis=0,
            )
            / 6
        )
        assert len(tables) == 36
        assert np.all(np.abs(fitted.marginal([name]) - truth) < 7 * error)


def test_marginals_of_one_attribute_from_several_tables_are_pooled() -> None:
    rng = np.random.default_rng(11)
    tables = []
    for other, n in (("b", 4000), ("c", 1000), ("e", 500)):
        cells = np.outer([0.5, 0.3, 0.2], [0.6, 0.4]).ravel() + rng.normal(scale=0.01, size=6)
        cells /= cells.sum()
        tables.append(Marginal(("a", other), (3, 2), cells, spread(cells, n), n))
    found = relevant_marginals(tables, ["a"], most_cells=3)
    assert (found.attributes, found.left_out) == (("a",), ("b", "c", "e"))
    alone = [one.estimate.reshape(3, 2).sum(axis=1) for one in tables]
    weights = np.array([one.n / (cells * (1 - cells)) for one, cells in zip(tables, alone, strict=True)])
    pooled = (weights * alone).sum(axis=0) / weights.sum(axis=0)
    # cells that sum to one share what is missing by their variances
    expected = pooled + (1 - pooled.sum()) * (1 / weights.sum(axis=0)) / (1 / weights.sum(axis=0)).sum()
    assert np.allclose(fit_maximum_entropy(found.marginals).marginal(["a"]), expected, rtol=0, atol=1e-7)


def test_attributes_that_no_group_has_are_named() -> None:
    with pytest.raises(NotIdentifiedError, match="'height', 'shoes'"):
        relevant_marginals(flat(CHAIN, SIZES), ["height", "a", "shoes"])
    with pytest.raises(NotIdentifiedError, match="a target with nothing"):
        relevant_marginals(flat(CHAIN, SIZES), [])


def test_a_group_with_too_many_cells_is_added_up() -> None:
    """A step of the fit would solve 4,095 equations."""
    sizes = {"a": 64, "b": 64, "c": 2}
    groups = flat(["ab", "bc"], sizes)
    with pytest.raises(LdpstatsError, match=r"2,048 terms"):
        fit_maximum_entropy(groups)
    found = relevant_marginals(groups, ["b", "c"])
    assert (found.attributes, found.left_out) == (("b", "c"), ("a",))


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
        columns = []
        for cell in np.eye(one.estimate.size):
            up, down = (
                fit_maximum_entropy(
                    [*marginals[:place], replace(one, estimate=one.estimate + change * cell), *marginals[place + 1 :]]
                ).marginal(wanted)
                for change in (step, -step)
            )
            columns.append((up - down) / (2 * step))
        slopes.append(np.array(columns).T)
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
