"""One joint table that violates noisy marginals least: exact without noise, brute force, oracles, wrong inputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

import cvxpy
import numpy as np
import pytest
from support.joint_tables import (
    ABC,
    PAIRS,
    Array,
    grid_of_tables,
    marginal_of,
    pairs_of,
    reordered,
    some_joint,
    with_swapped_b,
)

from ldpstats import Domain, LdpstatsError
from ldpstats.consistency.least_violation import fitted_joint
from ldpstats.consistency.marginals import Marginal
from ldpstats.consistency.shrinkage import shrunken_joint
from ldpstats.estimation.methods import NoiseVariance, norm_sub

TWO = Domain({"a": [0, 1], "b": [0, 1]})
METHODS = ["l2", "l1", "elastic-net"]
each_method = pytest.mark.parametrize("method", METHODS)


def violation(tables: Array, marginals: Sequence[Marginal], share: float) -> Array:
    """Measure what tables of a and b miss, in standard errors that are equal within a marginal."""
    total = np.zeros(len(tables))
    for one in marginals:
        sums = np.eye(one.estimate.size)[TWO.onto(one.attributes)]
        missed = (tables @ sums - one.estimate) / math.sqrt(one.covariance[0, 0])
        total += share * np.abs(missed).sum(axis=1) + (1 - share) * np.square(missed).sum(axis=1)
    return total


@each_method
def test_without_noise_the_result_has_the_marginals_and_the_smallest_norm(method: str) -> None:
    joint = some_joint()
    found = fitted_joint(pairs_of(joint), ABC, method)
    for pair, own in zip(pairs_of(joint), pairs_of(found.reshape(ABC.shape)), strict=True):
        assert own.estimate == pytest.approx(pair.estimate, abs=1e-6)
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-15)
    sums = np.concatenate([np.eye(ABC.size(g))[ABC.onto(g)].T for g in PAIRS])
    cells: Any = cvxpy.Variable(ABC.size(), nonneg=True)
    problem: Any = cvxpy.Problem(cvxpy.Minimize((cells**2).sum()), [sums @ cells == sums @ joint.ravel()])
    problem.solve(solver=cvxpy.OSQP, eps_abs=1e-10, eps_rel=1e-10, max_iter=100_000)
    assert found == pytest.approx(cells.value, abs=1e-5)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 0.9])
def test_a_single_noisy_table_is_projected_by_norm_sub(gamma: float) -> None:
    """With equal weights the elastic net is the Euclidean projection, whatever γ below 1."""
    noisy = marginal_of(some_joint(), ABC.names, 0.08)
    assert noisy.estimate.min() < 0
    expected = norm_sub(noisy.estimate, NoiseVariance(1, 0.0, 0.0))
    found = fitted_joint([noisy], ABC, "elastic-net", gamma)
    assert found == pytest.approx(expected, abs=1e-6)


known_grid = cache(grid_of_tables)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("method", "gamma"), [("l2", 0.5), ("l1", 0.5), ("elastic-net", 0.5), ("elastic-net", 0.97)])
def test_no_table_on_a_grid_violates_the_marginals_less(seed: int, method: str, gamma: float) -> None:
    joint = some_joint(seed)[:, :2, 0]
    deviations = ((("a", "b"), 0.3), (("a",), 0.1), (("b",), 0.15), (("a",), 0.05))
    marginals = [
        marginal_of(joint / joint.sum(), group, noise, seed + 9 * place, TWO)
        for place, (group, noise) in enumerate(deviations)
    ]
    share = {"l2": 0.0, "l1": 1.0}.get(method, gamma)
    found = fitted_joint(marginals, TWO, method, gamma)
    grid = known_grid(4, 40)
    violated, least = violation(grid, marginals, share), violation(found[None], marginals, share)[0]
    assert violated.min() >= least - 1e-5


def test_equal_absolute_violations_are_resolved_by_the_norm() -> None:
    """Anything between 0.2 and 0.6 violates two equally precise margins by the same; half is the shortest."""
    margins = [Marginal(("a",), (2,), np.array([s, 1 - s]), np.eye(2) / 100, 500) for s in (0.2, 0.6)]
    assert fitted_joint(margins, ABC.project("a"), "l1") == pytest.approx([0.5, 0.5], abs=1e-5)


@each_method
def test_neither_order_nor_labels_matter_to_a_fitted_table(method: str) -> None:
    marginals = pairs_of(some_joint(), 0.05)
    found = fitted_joint(marginals, ABC, method)
    order = ("c", "a", "b")
    turned = fitted_joint(marginals[::-1], ABC.project(order), method)
    assert turned == pytest.approx(reordered(found, ABC, order), abs=2e-5)
    swapped = [with_swapped_b(one) for one in marginals]
    expected = found.reshape(ABC.shape)[:, [2, 1, 0], :].ravel()
    assert fitted_joint(swapped, ABC, method) == pytest.approx(expected, abs=2e-5)


@each_method
def test_a_marginal_without_noise_beside_noisy_ones_is_met(method: str) -> None:
    joint = some_joint()
    exact, *noisy = pairs_of(joint, 0.0)[0], *pairs_of(joint, 0.2)
    found = fitted_joint([exact, *noisy], ABC, method)
    assert marginal_of(found.reshape(ABC.shape), ("a", "b")).estimate == pytest.approx(exact.estimate, abs=1e-4)


def test_joint_tables_that_are_too_large_and_other_methods_are_refused() -> None:
    with pytest.raises(LdpstatsError, match="'l2', 'l1', 'elastic-net'"):
        fitted_joint(pairs_of(some_joint()), ABC, "l3")
    many = [Marginal((name,), (5,), np.full(5, 0.2), np.eye(5), 9) for name in "abcdef"]
    for fit in (fitted_joint, shrunken_joint):
        with pytest.raises(LdpstatsError, match="15,625 cells"):
            fit(many, Domain({name: range(5) for name in "abcdef"}))


def test_a_problem_that_no_solver_finds_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: Any, **__: Any) -> None:
        raise cvxpy.SolverError("no progress")

    monkeypatch.setattr(cvxpy.Problem, "solve", failing)
    with pytest.raises(LdpstatsError, match="CLARABEL cannot find"):
        fitted_joint(pairs_of(some_joint(), 0.1), ABC)
