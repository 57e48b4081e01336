"""Proper tables nearest to noisy ones: by weighted squares and absolute values, and of maximum entropy."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pytest
from scipy.optimize import linprog
from support.joint_tables import ABC, EXACT, GAMMAS, PAIRS, some_joint

from ldpstats.consistency.reconstruction_methods import proportionally_fitted
from ldpstats.estimation.methods import NoiseVariance, norm_sub
from ldpstats.estimation.simplex import nearest_proper


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("equal", [True, False])
def test_one_tables_nearest_proper_one_is_what_cvxpy_finds(gamma: float, equal: bool) -> None:
    rng = np.random.default_rng(5)
    for size in (2, 3, 12, 40):
        noisy = rng.dirichlet(np.full(size, 0.5)) + rng.normal(0, 0.2, size)
        precision = np.full(size, 25.0) if equal else rng.uniform(5, 100, size)
        cells = cvxpy.Variable(size, nonneg=True)
        residuals = cvxpy.multiply(np.sqrt(precision), cells - noisy)
        objective = gamma * cvxpy.norm1(residuals) + (1 - gamma) * cvxpy.sum_squares(residuals)
        cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.sum(cells) == 1]).solve(**EXACT)
        assert nearest_proper(noisy, precision, gamma) == pytest.approx(cells.value, abs=1e-6)


@pytest.mark.parametrize("gamma", [*GAMMAS, 1 - 1e-9, 1.0])
def test_with_equal_weights_it_is_the_euclidean_projection_for_every_gamma(gamma: float) -> None:
    rng = np.random.default_rng(6)
    for size, spread in ((2, 0.1), (7, 1.0), (50, 5.0), (300, 0.01)):
        noisy = 1 / size + rng.normal(0, spread, size)
        expected = norm_sub(noisy, NoiseVariance(1, 1.0, 0.0))
        assert nearest_proper(noisy, np.full(size, 3.7), gamma) == pytest.approx(expected, abs=1e-7)
        if gamma <= 0.99:
            assert nearest_proper(noisy, np.full(size, 3.7), gamma) == pytest.approx(expected, abs=1e-12)


def test_absolute_distances_of_one_table_are_as_small_as_a_linear_programme_makes_them() -> None:
    rng = np.random.default_rng(7)
    for size in (2, 5, 9, 30):
        noisy, weight = rng.normal(1.5 / size, 0.3, size), np.sqrt(rng.choice([1.0, 4.0, 9.0, 10.0], size))
        programme = linprog(
            np.concatenate([np.zeros(size), weight]),
            A_ub=np.block([[np.eye(size), -np.eye(size)], [-np.eye(size), -np.eye(size)]]),
            b_ub=np.concatenate([noisy, -noisy]),
            A_eq=np.concatenate([np.ones(size), np.zeros(size)])[None],
            b_eq=[1.0],
        )
        found = nearest_proper(noisy, weight**2, 1.0)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1, abs=1e-12)
        assert weight @ np.abs(found - noisy) == pytest.approx(programme.fun, abs=1e-9)
        # and of all that are as near, it is the limit of the elastic net
        assert found == pytest.approx(nearest_proper(noisy, weight**2, 1 - 1e-8), abs=1e-5)


@pytest.mark.parametrize("gamma", [*GAMMAS, 1.0])
def test_a_proper_table_is_nearest_to_itself(gamma: float) -> None:
    for proper in ([0.5, 0.5, 0.0], [1.0, 0.0], [0.1, 0.2, 0.7]):
        weights = np.arange(1.0, len(proper) + 1)
        assert nearest_proper(np.array(proper), weights, gamma) == pytest.approx(proper, abs=1e-15)
        assert nearest_proper(np.array(proper), weights[::-1], gamma) == pytest.approx(proper, abs=1e-15)


def test_the_proportionally_fitted_table_is_that_of_maximum_entropy() -> None:
    joint = some_joint(spread=0.3).ravel()
    partitions = [ABC.onto(group) for group in PAIRS]
    found = proportionally_fitted(joint, partitions)
    sums = np.concatenate([np.eye(classes.max() + 1)[classes].T for classes in partitions])
    assert sums @ found == pytest.approx(sums @ joint, abs=1e-8)
    cells: Any = cvxpy.Variable(12)
    problem: Any = cvxpy.Problem(cvxpy.Maximize(cvxpy.entr(cells).sum()), [sums @ cells == sums @ joint])
    problem.solve(solver=cvxpy.CLARABEL)
    assert found == pytest.approx(cells.value, abs=1e-5)
    margins = [ABC.project(("a", "b")).onto(name) for name in "ab"]
    table = some_joint()[:, :, 0] / some_joint()[:, :, 0].sum()
    assert proportionally_fitted(table.ravel(), margins) == pytest.approx(
        np.outer(table.sum(1), table.sum(0)).ravel(), abs=1e-12
    )
