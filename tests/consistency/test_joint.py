"""Small joint tables from overlapping marginals: exact without noise, brute force, oracles, and every wrong input."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, product
from typing import Any

import cvxpy
import numpy as np
import pytest
from cvxpy.atoms.elementwise.kl_div import kl_div
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from ldpstats import (
    Domain,
    HadamardCoefficients,
    LdpstatsError,
    NotIdentifiedError,
    PerAttribute,
    PrivacyStatement,
    SampledGroups,
    Table,
)
from ldpstats.blocks import Block
from ldpstats.consistency import channels_em, shrinkage
from ldpstats.consistency.channels_em import joint_blocks, most_likely_joint, proportionally_fitted
from ldpstats.consistency.joint import fitted_joint, places, within
from ldpstats.consistency.marginals import Marginal
from ldpstats.consistency.shrinkage import (
    _least_risk,
    _one_way,
    _RidgePaths,
    independent,
    shrunken_joint,
    shrunken_refits,
)
from ldpstats.datasets import network
from ldpstats.estimation import NoiseVariance, maximum_likelihood, most_likely
from ldpstats.estimation.postprocessing import norm_sub
from ldpstats.noise import DenseChannel, MultinomialNoise, Tally, TruthOrFake
from ldpstats.questions import Question
from ldpstats.tables import Figures

Array = NDArray[np.float64]

METHODS = ["l2", "l1", "elastic-net"]
ABC = Domain({"a": ["x", "y"], "b": [1, 2, 3], "c": [False, True]})
PAIRS = [("a", "b"), ("b", "c"), ("c", "a")]
each_method = pytest.mark.parametrize("method", METHODS)


def some_joint(seed: int = 1, spread: float = 0.6) -> Array:
    return np.random.default_rng(seed).dirichlet(np.full(ABC.size(), spread)).reshape(ABC.shape)


def marginal_of(
    joint: Array, group: Sequence[str], noise: float = 0.0, seed: int = 0, domain: Domain = ABC
) -> Marginal:
    """Return the marginal of a joint table, with independent noise on every cell."""
    axes = [domain.names.index(name) for name in group]
    cells = np.moveaxis(joint, axes, range(len(axes))).reshape(domain.size(group), -1).sum(axis=1)
    moved = cells + noise * np.random.default_rng([seed, *axes]).standard_normal(cells.size)
    return Marginal(tuple(group), domain.project(group).shape, moved, noise**2 * np.eye(cells.size), 10_000)


def pairs_of(joint: Array, noise: float = 0.0, seed: int = 0) -> list[Marginal]:
    return [marginal_of(joint, group, noise, seed) for group in PAIRS]


def reordered(table: Array, domain: Domain, order: Sequence[str]) -> Array:
    """Return a flat table over a domain with its axes in another order."""
    return table.reshape(domain.shape).transpose([domain.names.index(name) for name in order]).ravel()


def grid_of_tables(cells: int, steps: int) -> Array:
    """Return all proper tables whose cells are multiples of one over the steps."""
    listed = [[*counts, steps - sum(counts)] for counts in product(range(steps + 1), repeat=cells - 1)]
    tables = np.array(listed)
    return tables[tables[:, -1] >= 0] / steps


def violation(tables: Array, marginals: Sequence[Marginal], share: float) -> Array:
    """Measure what tables of a and b miss, in standard errors that are equal within a marginal."""
    total = np.zeros(len(tables))
    for one in marginals:
        sums = np.eye(one.estimate.size)[places(("a", "b"), (2, 2), one.attributes)]
        missed = (tables @ sums - one.estimate) / math.sqrt(one.covariance[0, 0])
        total += share * np.abs(missed).sum(axis=1) + (1 - share) * np.square(missed).sum(axis=1)
    return total


def test_a_marginal_is_added_up_to_the_target_with_its_covariance() -> None:
    rng = np.random.default_rng(3)
    root = rng.standard_normal((6, 6))
    whole = Marginal(("b", "a"), (3, 2), rng.random(6), root @ root.T, 50)
    alone, turned = (within([whole], target)[0] for target in (["b"], ["a", "b"]))
    assert alone.estimate == pytest.approx([whole.estimate[2 * b : 2 * b + 2].sum() for b in range(3)])
    for one, other in product(range(3), repeat=2):
        block = whole.covariance[2 * one : 2 * one + 2, 2 * other : 2 * other + 2]
        assert alone.covariance[one, other] == pytest.approx(block.sum())
    assert (turned.attributes, turned.shape, turned.n) == (("a", "b"), (2, 3), 50)
    assert turned.estimate == pytest.approx(whole.estimate.reshape(3, 2).T.ravel())
    assert np.diagonal(turned.covariance) == pytest.approx(np.diagonal(whole.covariance).reshape(3, 2).T.ravel())


def test_marginals_of_one_group_stay_apart_and_others_go() -> None:
    joint = some_joint()
    found = within([*pairs_of(joint), marginal_of(joint, ["c"])], ["a", "b"])
    assert [one.attributes for one in found] == [("a", "b"), ("b",), ("a",)]
    assert [one.attributes for one in within(pairs_of(joint), ("b",))] == [("b",), ("b",)]


def test_targets_that_no_marginal_is_about_are_refused_by_name() -> None:
    pair = marginal_of(some_joint(), ("a", "b"))
    with pytest.raises(NotIdentifiedError, match="'c', 'd'"):
        within([pair], ("a", "c", "d"))
    for target in ((), ("a", "a")):
        with pytest.raises(LdpstatsError, match="different attributes"):
            within([pair], target)


@each_method
def test_without_noise_a_table_of_the_target_is_returned(method: str) -> None:
    joint = some_joint()
    whole = marginal_of(joint, ABC.names)
    for marginals in ([whole], [*pairs_of(joint), whole]):
        found = fitted_joint(marginals, ABC.names, ABC.shape, method)
        assert found == pytest.approx(joint.ravel(), abs=1e-6)


@each_method
def test_without_noise_the_result_has_the_marginals_and_the_smallest_norm(method: str) -> None:
    joint = some_joint()
    found = fitted_joint(pairs_of(joint), ABC.names, ABC.shape, method)
    for pair, own in zip(pairs_of(joint), pairs_of(found.reshape(ABC.shape)), strict=True):
        assert own.estimate == pytest.approx(pair.estimate, abs=1e-6)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-15)
    sums = np.concatenate([np.eye(ABC.size(g))[places(ABC.names, ABC.shape, g)].T for g in PAIRS])
    cells: Any = cvxpy.Variable(ABC.size(), nonneg=True)
    problem: Any = cvxpy.Problem(cvxpy.Minimize((cells**2).sum()), [sums @ cells == sums @ joint.ravel()])
    problem.solve(solver=cvxpy.OSQP, eps_abs=1e-10, eps_rel=1e-10, max_iter=100_000)
    assert found == pytest.approx(cells.value, abs=1e-5)


@each_method
def test_two_margins_give_the_table_of_least_squares_by_formula(method: str) -> None:
    """Where no cell is negative, Σ p² is least at a_i / c + b_j / r − 1 / rc."""
    a, b = np.array([0.55, 0.45]), np.array([0.4, 0.35, 0.25])
    margins = [Marginal((name,), (m.size,), m, np.zeros((m.size, m.size)), 9) for name, m in (("a", a), ("b", b))]
    expected = (a[:, None] / 3 + b / 2 - 1 / 6).ravel()
    assert fitted_joint(margins, ("a", "b"), (2, 3), method) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.9])
def test_a_single_noisy_table_is_projected_by_norm_sub(gamma: float) -> None:
    """With equal weights the elastic net is the Euclidean projection, whatever γ below 1."""
    noisy = marginal_of(some_joint(), ABC.names, 0.08)
    assert noisy.estimate.min() < 0
    expected = norm_sub(noisy.estimate, NoiseVariance(1, 0.0, 0.0))
    found = fitted_joint([noisy], ABC.names, ABC.shape, "elastic-net", gamma)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("method", "gamma"), [("l2", 0.5), ("l1", 0.5), ("elastic-net", 0.5), ("elastic-net", 0.97)])
def test_no_table_on_a_grid_violates_the_marginals_less(seed: int, method: str, gamma: float) -> None:
    two, joint = Domain({"a": [0, 1], "b": [0, 1]}), some_joint(seed)[:, :2, 0]
    deviations = ((("a", "b"), 0.3), (("a",), 0.1), (("b",), 0.15), (("a",), 0.05))
    marginals = [
        marginal_of(joint / joint.sum(), group, noise, seed + 9 * place, two)
        for place, (group, noise) in enumerate(deviations)
    ]
    share = {"l2": 0.0, "l1": 1.0}.get(method, gamma)
    found = fitted_joint(marginals, ("a", "b"), (2, 2), method, gamma)
    grid = grid_of_tables(4, 40)
    violated, least = violation(grid, marginals, share), violation(found[None], marginals, share)[0]
    assert violated.min() >= least - 1e-5


def test_conflicting_margins_meet_where_each_method_says() -> None:
    """One cell decides: squares take the weighted mean, absolute values the more precise, the elastic net between."""
    estimates, deviations = (0.3, 0.6), (0.05, 0.1)
    margins = [
        Marginal(("a",), (2,), np.array([share, 1 - share]), deviation**2 * np.eye(2), 500)
        for share, deviation in zip(estimates, deviations, strict=True)
    ]

    def net(share: float) -> float:
        missed = np.abs(share - np.array(estimates)) / deviations
        return float((0.7 * missed + 0.3 * missed**2).sum())

    best = minimize_scalar(net, bounds=(0.3, 0.6), options={"xatol": 1e-10}).x
    gammas = {"elastic-net": 0.7}
    found = {method: fitted_joint(margins, ("a",), (2,), method, gammas.get(method, 0.5))[0] for method in METHODS}
    assert found["l2"] == pytest.approx((0.3 * 4 + 0.6) / 5, abs=1e-6)
    assert found["l1"] == pytest.approx(0.3, abs=1e-6)
    assert found["elastic-net"] == pytest.approx(best, abs=1e-5)


def test_equal_absolute_violations_are_resolved_by_the_norm() -> None:
    """Anything between 0.2 and 0.6 violates two equally precise margins by the same; half is the shortest."""
    margins = [Marginal(("a",), (2,), np.array([s, 1 - s]), np.eye(2) / 100, 500) for s in (0.2, 0.6)]
    assert fitted_joint(margins, ("a",), (2,), "l1") == pytest.approx([0.5, 0.5], abs=1e-5)


@each_method
def test_neither_order_nor_labels_matter_to_a_fitted_table(method: str) -> None:
    marginals = pairs_of(some_joint(), 0.05)
    found = fitted_joint(marginals, ABC.names, ABC.shape, method)
    order = ("c", "a", "b")
    turned = fitted_joint(marginals[::-1], order, ABC.project(order).shape, method)
    assert turned == pytest.approx(reordered(found, ABC, order), abs=2e-5)
    swapped = [_with_swapped_b(one) for one in marginals]
    expected = found.reshape(ABC.shape)[:, [2, 1, 0], :].ravel()
    assert fitted_joint(swapped, ABC.names, ABC.shape, method) == pytest.approx(expected, abs=2e-5)


def _with_swapped_b(one: Marginal) -> Marginal:
    if "b" not in one.attributes:
        return one
    flipped = np.flip(one.estimate.reshape(one.shape), one.attributes.index("b"))
    return replace(one, estimate=flipped.ravel())


@each_method
def test_a_marginal_without_noise_beside_noisy_ones_is_met(method: str) -> None:
    joint = some_joint()
    exact, *noisy = pairs_of(joint, 0.0)[0], *pairs_of(joint, 0.2)
    found = fitted_joint([exact, *noisy], ABC.names, ABC.shape, method)
    assert marginal_of(found.reshape(ABC.shape), ("a", "b")).estimate == pytest.approx(exact.estimate, abs=1e-4)


def test_wrong_methods_shapes_and_sizes_are_refused() -> None:
    pairs = pairs_of(some_joint())
    wrong = {
        "'l2', 'l1', 'elastic-net'": {"method": "l3"},
        "number from 0 to 1": {"method": "elastic-net", "gamma": 1.5},
        "gamma = 'half'": {"gamma": "half"},
        "gamma = nan": {"gamma": math.nan},
        "as a marginal has": {"shape": (2, 3, 3)},
        "the shape": {"shape": (2, 3)},
    }
    for words, options in wrong.items():
        with pytest.raises(LdpstatsError, match=words):
            fitted_joint(pairs, ABC.names, **{"shape": ABC.shape, **options})
    many = [Marginal((name,), (5,), np.full(5, 0.2), np.eye(5), 9) for name in "abcdef"]
    for fit in (fitted_joint, shrunken_joint):
        with pytest.raises(LdpstatsError, match="15,625 cells"):
            fit(many, tuple("abcdef"), (5,) * 6)


def test_a_problem_that_no_solver_finds_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise cvxpy.SolverError("no progress")

    monkeypatch.setattr(cvxpy.Problem, "solve", failing)
    with pytest.raises(LdpstatsError, match="CLARABEL cannot find"):
        fitted_joint(pairs_of(some_joint(), 0.1), ABC.names, ABC.shape)


def collected(epsilon: float = 3.0, n: int = 4000, seed: int = 1, **options: Any) -> list[Table]:
    people = np.random.default_rng(seed).multinomial(n, some_joint(seed).ravel())
    protocol = SampledGroups(ABC, epsilon=epsilon, **{"mechanism": "grr", "k": 2, **options})
    return list(protocol.simulate(people, rng=seed))


def channel_rows(blocks: Sequence[Block]) -> tuple[Array, Array]:
    """Return the probabilities of all outputs of all blocks, a row each, and how often each came."""
    return np.concatenate([block.design()[0] for block in blocks]), np.concatenate([b.tally.counts for b in blocks])


def log_likelihood(blocks: Sequence[Block], tables: Array) -> Array:
    rows, counts = channel_rows(blocks)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.clip(tables @ rows.T, 1e-300, None)) @ counts)


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "a", "b")])
def test_the_table_of_the_target_itself_is_its_maximum_likelihood(order: tuple[str, ...]) -> None:
    (table,) = collected(k=3)
    known = table.estimated_by("mle").reordered(order)
    assert most_likely_joint([table], ABC, order).frequencies == pytest.approx(known.estimate.ravel(), abs=1e-9)
    again = maximum_likelihood(joint_blocks([table], ABC, order)[1])
    assert again.covariance == pytest.approx(known.covariance, rel=1e-6)


def test_two_tables_of_the_target_are_as_one_with_all_blocks() -> None:
    first, second = collected(k=3, seed=1)[0], collected(k=3, seed=2, epsilon=1.0)[0]
    together = Table(ABC, first.blocks + second.blocks, first.privacy, method="mle")
    found = most_likely_joint([first, second], ABC, ABC.names)
    assert found.frequencies == pytest.approx(together.estimate.ravel(), abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_no_other_table_makes_the_reports_more_likely(seed: int) -> None:
    tables = collected(seed=seed, n=500)
    _, blocks = joint_blocks(tables, ABC, ABC.names)
    found = most_likely_joint(tables, ABC, ABC.names)
    rng = np.random.default_rng(seed)
    others = np.concatenate([rng.dirichlet(np.full(12, spread), 2000) for spread in (0.1, 1)])
    near = 0.99 * found.frequencies + 0.01 * others
    best = log_likelihood(blocks, found.frequencies[None])[0]
    assert best == pytest.approx(found.log_likelihood, rel=1e-12)
    n = sum(block.n for block in blocks)
    assert log_likelihood(blocks, np.concatenate([others, near])).max() <= best + n * found.gap
    assert found.converged
    assert n * found.gap < 0.01


def test_no_em_step_lowers_the_likelihood_and_plain_em_ends_at_the_same_marginals() -> None:
    tables = collected(epsilon=6.0, n=20_000)
    _, blocks = joint_blocks(tables, ABC, ABC.names)
    (rows, counts), table = channel_rows(blocks), np.full(12, 1 / 12)
    before = log_likelihood(blocks, table[None])[0]
    for _ in range(3000):
        table = table * (rows.T @ (counts / (rows @ table))) / counts.sum()
        after = log_likelihood(blocks, table[None])[0]
        assert after >= before - 1e-9
        before = after
    found = most_likely_joint(tables, ABC, ABC.names)
    assert found.log_likelihood >= before - 1e-6
    own = pairs_of(found.frequencies.reshape(ABC.shape))
    for one, plain in zip(own, pairs_of(table.reshape(ABC.shape)), strict=True):
        assert one.estimate == pytest.approx(plain.estimate, abs=1e-5)


def test_questions_of_any_kind_count_together() -> None:
    """A coarse question through a rectangular channel, truth or fake, and a grid of tables to try."""
    two = Domain({"a": [0, 1], "b": [0, 1]})
    parity = MultinomialNoise(DenseChannel(((0.7, 0.2, 0.1), (0.1, 0.2, 0.7))))
    coarse = Block(Question(("a", "b"), (2, 2), (0, 1, 1, 0)), Tally(parity, [130, 40, 60], 230))
    single = Block(Question(("b",), (2,), (0, 1)), Tally(MultinomialNoise(TruthOrFake(0.5, (0.5, 0.5))), [70, 40], 110))
    promise = PrivacyStatement(math.inf, "a test")
    tables = [Table(two, (coarse,), promise), Table(two.project(["b"]), (single,), promise)]
    found = most_likely_joint(tables, two, two.names)
    _, blocks = joint_blocks(tables, two, two.names)
    others = log_likelihood(blocks, grid_of_tables(4, 40))
    assert found.log_likelihood >= others.max() - 1e-9
    assert found.log_likelihood - others.max() < 0.05


def test_wider_tables_of_truth_or_fake_are_added_up() -> None:
    tables = collected()
    found = most_likely_joint(tables, ABC, ["b"])
    one_way = [table.marginal("b") for table in tables if "b" in table.attributes]
    assert len(one_way) == 2
    assert found.frequencies == pytest.approx(most_likely_joint(one_way, ABC, ["b"]).frequencies, abs=1e-12)
    common, blocks = joint_blocks(tables, ABC, ["c", "b"])
    assert common.names == ("c", "b")
    assert [len(set(block.question.classes)) for block in blocks] == [3, 2, 6]


def test_tables_that_cannot_be_added_up_bring_their_attributes_along() -> None:
    """Hadamard response: its channel is a matrix between the cells of all attributes of a table."""
    people = np.random.default_rng(1).multinomial(3000, some_joint().ravel())
    tables = list(SampledGroups(ABC, epsilon=6.0, mechanism="hr").simulate(people, rng=1))
    common, blocks = joint_blocks(tables, ABC, ["b", "a"])
    assert common.names == ("b", "a", "c")
    assert len(blocks) == 3
    whole = most_likely_joint(tables, ABC, ABC.names).frequencies.reshape(ABC.shape)
    found = most_likely_joint(tables, ABC, ["b", "a"]).frequencies
    assert found == pytest.approx(whole.sum(axis=2).T.ravel(), abs=1e-6)


def test_answers_that_stand_behind_several_tables_are_one_likelihood() -> None:
    people = np.random.default_rng(1).multinomial(3000, some_joint().ravel())
    tables = PerAttribute(ABC, epsilon=6.0, k=2).simulate(people, rng=1)
    (block,) = joint_blocks(tables, ABC, ABC.names)[1]
    assert (block.n, block.question.is_identity) == (3000, True)
    coefficients = HadamardCoefficients(ABC, epsilon=6.0).simulate(people, rng=1)
    assert sum(block.n for block in joint_blocks(coefficients, ABC, ABC.names)[1]) == 3000


def test_among_equally_likely_tables_the_one_of_maximum_entropy_is_taken() -> None:
    """Without noise the three pairs are known, and the table without a three-way interaction is the answer."""
    found = most_likely_joint(collected(epsilon=30.0, n=10**6), ABC, ABC.names).frequencies.reshape(ABC.shape)
    assert np.log(found).min() > -12
    for levels in combinations(range(3), 2):
        odds = [found[0, levels, c] / found[1, levels, c] for c in (0, 1)]
        ratios = [one[0] / one[1] for one in odds]
        assert ratios[0] == pytest.approx(ratios[1], rel=1e-6)
    truth = some_joint()
    for pair, own in zip(pairs_of(truth), pairs_of(found), strict=True):
        assert own.estimate == pytest.approx(pair.estimate, abs=0.005)  # 333,333 reports each: 5 standard errors


def test_the_proportionally_fitted_table_is_that_of_maximum_entropy() -> None:
    joint = some_joint(spread=0.3).ravel()
    partitions = [places(ABC.names, ABC.shape, group) for group in PAIRS]
    found = proportionally_fitted(joint, partitions)
    sums = np.concatenate([np.eye(classes.max() + 1)[classes].T for classes in partitions])
    assert sums @ found == pytest.approx(sums @ joint, abs=1e-8)
    cells: Any = cvxpy.Variable(12)
    problem: Any = cvxpy.Problem(cvxpy.Maximize(cvxpy.entr(cells).sum()), [sums @ cells == sums @ joint])
    problem.solve(solver=cvxpy.CLARABEL)
    assert found == pytest.approx(cells.value, abs=1e-5)
    margins = [places(("a", "b"), (2, 3), (name,)) for name in "ab"]
    table = some_joint()[:, :, 0] / some_joint()[:, :, 0].sum()
    assert proportionally_fitted(table.ravel(), margins) == pytest.approx(
        np.outer(table.sum(1), table.sum(0)).ravel(), abs=1e-12
    )


def test_the_order_of_tables_and_attributes_does_not_matter_to_the_most_likely_table() -> None:
    tables = collected(n=300)
    found = most_likely_joint(tables, ABC, ABC.names)
    order = ("b", "c", "a")
    turned = most_likely_joint([table.reordered(table.attributes[::-1]) for table in tables[::-1]], ABC, order)
    assert turned.frequencies == pytest.approx(reordered(found.frequencies, ABC, order), abs=1e-5)
    assert turned.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-4)


def test_ending_early_is_said_with_a_gap_that_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = collected(n=500)
    best = most_likely_joint(tables, ABC, ABC.names)
    monkeypatch.setattr(channels_em, "most_likely", partial(most_likely, iterations=1))
    with pytest.warns(RuntimeWarning, match="after 1 iterations"):
        early = most_likely_joint(tables, ABC, ABC.names)
    assert not early.converged
    assert 0 < best.log_likelihood - early.log_likelihood <= early.gap * sum(table.n for table in tables)


def test_reports_without_a_likelihood_and_other_wrong_tables_are_refused() -> None:
    pairs = collected()
    derived = Table(pairs[0].domain, (), pairs[0].privacy, figures=Figures(pairs[0].cells))
    other = Domain({"a": ["x", "z"], "b": [1, 2, 3], "c": [False, True]})
    for tables, domain, words in (
        (collected(mechanism="olh"), ABC, "without a likelihood"),
        ([derived], ABC, "no reports of its own"),
        (pairs, other, "other categories"),
    ):
        with pytest.raises(LdpstatsError, match=words):
            most_likely_joint(tables, domain, ["a", "b"])
    with pytest.raises(NotIdentifiedError, match="'c'"):
        most_likely_joint(pairs[:1], ABC, [*pairs[0].attributes, *({"a", "b", "c"} - set(pairs[0].attributes))])
    with pytest.raises(NotIdentifiedError, match="'a', 'b'"):
        most_likely_joint(collected(n=0), ABC, ["a", "b"])


def test_joint_tables_that_are_too_large_are_refused() -> None:
    wide = Domain({name: list(range(5)) for name in "abcdef"})
    tables = SampledGroups(wide, k=1, mechanism="grr", epsilon=1.0).simulate(np.full(wide.size(), 1), rng=1)
    with pytest.raises(LdpstatsError, match="15,625 cells"):
        most_likely_joint(tables, wide, wide.names)
    pairs = SampledGroups(wide, epsilon=6.0, mechanism="hr").simulate(np.full(wide.size(), 1), rng=1)
    with pytest.raises(LdpstatsError, match="cannot be added up"):
        most_likely_joint(pairs, wide, ["a", "b"])


def path_of(marginals: Any) -> _RidgePaths:
    return _RidgePaths.of(marginals, [one.estimate[None] for one in marginals], ABC.names, ABC.shape)


@pytest.mark.parametrize("penalty", [0.3, 10.0, 1000.0])
def test_the_path_minimizes_discrepancy_and_distance_from_independence(penalty: float) -> None:
    marginals = pairs_of(some_joint(spread=1), noise := 0.02)
    path, start = path_of(marginals), path_of(marginals).independent[0]
    sums = [np.eye(one.estimate.size)[places(ABC.names, ABC.shape, one.attributes)].T for one in marginals]
    cells: Any = cvxpy.Variable(ABC.size())
    missed = [(own @ cells - one.estimate) / noise for own, one in zip(sums, marginals, strict=True)]
    objective = sum((part**2).sum() for part in missed) / 2 + penalty * kl_div(cells, start).sum()
    problem: Any = cvxpy.Problem(cvxpy.Minimize(objective), [cells.sum() == 1])
    problem.solve(solver=cvxpy.CLARABEL)
    tables = path.tables(path.at(np.array([penalty]), np.zeros(path.observed.shape)))
    assert tables[0] == pytest.approx(cells.value, abs=1e-5)


def test_the_table_with_the_least_estimated_error_is_taken() -> None:
    marginals = pairs_of(some_joint(spread=1), 0.03)
    found, path = shrunken_joint(marginals, ABC.names, ABC.shape), path_of(marginals)
    for penalty in np.geomspace(0.01, 1e5, 30):
        tables = path.tables(path.at(np.array([penalty]), np.zeros(path.observed.shape)))
        spread = path.spread_beyond(_one_way(ABC.names, ABC.shape), tables)[0]
        df = 1 + 2 + 1 + np.trace(spread @ np.linalg.inv(spread + penalty * np.eye(len(spread))))
        assert found.discrepancy + 2 * found.df <= path.discrepancies(tables)[0] + 2 * df + 0.05


def test_where_noise_explains_everything_independence_is_kept() -> None:
    marginals = [replace(one, covariance=np.eye(one.estimate.size)) for one in pairs_of(some_joint())]
    found = shrunken_joint(marginals, ABC.names, ABC.shape)
    assert found.df == 1 + 2 + 1
    assert found.frequencies == pytest.approx(path_of(marginals).independent[0], abs=1e-15)


def test_without_noise_shrinkage_goes_to_the_data() -> None:
    joint = some_joint(spread=1)
    found = shrunken_joint(pairs_of(joint), ABC.names, ABC.shape).frequencies
    for pair, own in zip(pairs_of(joint), pairs_of(found.reshape(ABC.shape)), strict=True):
        assert own.estimate == pytest.approx(pair.estimate, abs=1e-5)
    whole = shrunken_joint([marginal_of(joint, ABC.names)], ABC.names, ABC.shape).frequencies
    assert whole == pytest.approx(joint.ravel(), abs=1e-5)


def test_zeros_do_not_stop_shrinkage_from_reaching_the_data() -> None:
    joint = some_joint()
    joint[0, 0], joint[1, :, 1], joint[:, 2] = 0, 0, 0
    joint /= joint.sum()
    found = shrunken_joint([marginal_of(joint, ABC.names)], ABC.names, ABC.shape).frequencies
    assert found == pytest.approx(joint.ravel(), abs=1e-5)


def test_the_truth_is_as_far_from_the_marginals_as_the_noise_has_directions() -> None:
    """Known covariances: the truth's discrepancy is χ² with df degrees of freedom, its mean over 400 draws normal.

    Six standard errors: 2e-9 of correct code would fail.
    """
    joint, rng, found = some_joint(), np.random.default_rng(8), []
    exact = pairs_of(joint)
    roots = [rng.standard_normal((one.estimate.size,) * 2) / 50 for one in exact]
    roots[0] -= roots[0].mean(axis=0)  # so that a total is known for sure
    known = [replace(one, covariance=root @ root.T) for one, root in zip(exact, roots, strict=True)]
    for _ in range(400):
        noisy = [
            replace(one, estimate=one.estimate + root @ rng.standard_normal(one.estimate.size))
            for one, root in zip(known, roots, strict=True)
        ]
        found.append(path_of(noisy).discrepancies(joint.ravel()[None])[0])
    df = path_of(known).observed.size
    assert df == 5 + 6 + 4
    assert np.mean(found) == pytest.approx(df, abs=6 * math.sqrt(2 * df / 400))


def test_directions_are_those_of_the_noise() -> None:
    """Counts of single answers have a known total, those of unary encoding have not."""
    for mechanism, df in (("grr", 5 + 5 + 3), ("oue", 6 + 6 + 4)):
        marginals = [Marginal.of(table) for table in collected(mechanism=mechanism)]
        assert path_of(marginals).observed.size == df


def test_margins_are_pooled_by_their_precision() -> None:
    first = Marginal(("a",), (2,), np.array([0.3, 0.7]), 0.01 * np.eye(2), 100)
    second = Marginal(("a", "b"), (2, 2), np.array([0.2, 0.4, 0.3, 0.1]), 0.02 * np.eye(4), 100)
    expected = np.outer([(4 * 0.3 + 0.6) / 5, (4 * 0.7 + 0.4) / 5], [0.5, 0.5]).ravel()
    assert independent([first, second], [first.estimate[None], second.estimate[None]], ("a", "b"))[0] == pytest.approx(
        expected
    )


def test_no_category_is_ruled_out_by_its_margin() -> None:
    negative = Marginal(("a",), (2,), np.array([1.1, -0.1]), np.eye(2) / 100, 100)
    assert independent([negative], [negative.estimate[None]], ("a",))[0] == pytest.approx(
        np.array([1, 1 / 200]) / (1 + 1 / 200)
    )


def test_margins_that_contradict_each_other_meet_in_the_middle() -> None:
    """Two precise margins that contradict each other: their mean is as near as one can get, at 2 · 2 · 50."""
    margins = [Marginal(("a",), (2,), np.array([s, 1 - s]), np.eye(2) / 1e4, 10**6) for s in (0.3, 0.4)]
    found = shrunken_joint(margins, ("a",), (2,))
    assert found.discrepancy == pytest.approx(100, rel=1e-9)
    assert found.frequencies == pytest.approx([0.35, 0.65], abs=1e-6)


def test_neither_order_nor_labels_matter_to_shrinkage() -> None:
    marginals = pairs_of(some_joint(), 0.02)
    found = shrunken_joint(marginals, ABC.names, ABC.shape)
    order = ("b", "c", "a")
    turned = shrunken_joint(marginals[::-1], order, ABC.project(order).shape).frequencies
    assert turned == pytest.approx(reordered(found.frequencies, ABC, order), abs=1e-8)
    swapped = shrunken_joint([_with_swapped_b(one) for one in marginals], ABC.names, ABC.shape).frequencies
    assert swapped == pytest.approx(found.frequencies.reshape(ABC.shape)[:, ::-1].ravel(), abs=1e-8)


@pytest.mark.parametrize("noise", [0.002, 0.02, 0.2])
def test_shrunken_refits_are_what_each_gives_alone(noise: float) -> None:
    marginals, rng = pairs_of(some_joint(spread=1), noise), np.random.default_rng(6)
    estimates = [one.estimate + noise * rng.standard_normal((20, one.estimate.size)) for one in marginals]
    together = shrunken_refits(marginals, estimates, ABC.names, ABC.shape)
    for found, *own in zip(together, *estimates, strict=True):
        moved = [replace(one, estimate=row) for one, row in zip(marginals, own, strict=True)]
        assert found == pytest.approx(shrunken_joint(moved, ABC.names, ABC.shape).frequencies, abs=1e-8)


def test_refits_walk_the_path_together_as_far_as_memory_allows(monkeypatch: Any) -> None:
    marginals, walked = pairs_of(some_joint(spread=1), 0.02), []
    estimates = [np.tile(one.estimate, (50, 1)) for one in marginals]

    def counted(paths: _RidgePaths, margins: Array) -> tuple[Array, Array]:
        walked.append(len(paths.observed))
        return _least_risk(paths, margins)

    monkeypatch.setattr(shrinkage, "_least_risk", counted)
    together = shrunken_refits(marginals, estimates, ABC.names, ABC.shape)
    entries = path_of(marginals).compressed().whitened.size
    monkeypatch.setattr(shrinkage, "_MOST_NUMBERS", 20 * entries)
    assert shrunken_refits(marginals, estimates, ABC.names, ABC.shape) == pytest.approx(together, abs=1e-12)
    assert walked == [50, 20, 20, 10]


def fours() -> Iterator[tuple[Any, tuple[str, ...], Array]]:
    """Yield some groups of four attributes of the network survey, with tables of pairs from 8,000 respondents."""
    net = network("survey")
    protocol = SampledGroups(net.domain, epsilon=2.0, mechanism="grr")
    tables = protocol.simulate(net.sample(8000, 1), rng=1)
    for group in list(combinations(net.domain.names, 4))[::4]:
        truth = np.bincount(
            net.domain.cells(net.domain.encode(net.sample(200_000, 2)), group), minlength=net.domain.size(group)
        )
        yield tables, group, truth / truth.sum()


def test_with_little_signal_shrinkage_is_nearer_to_the_truth_than_what_is_most_likely() -> None:
    for tables, group, truth in fours():
        marginals = [Marginal.of(table) for table in tables]
        shrunken = shrunken_joint(marginals, group, tables.domain.project(group).shape).frequencies
        likely = most_likely_joint(tables, tables.domain, group).frequencies
        assert np.linalg.norm(shrunken - truth) < np.linalg.norm(likely - truth)
