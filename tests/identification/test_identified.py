"""What is identified: several measurements are pooled, and limits are those of linear and cone programmes."""

from __future__ import annotations

from dataclasses import replace

import cvxpy
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chi2
from support.measured_sums import ABC, BITS, CHAIN, MANY, PAIRS, Array, frechet, measured, some_joint, sums_of

from ldpstats import Domain
from ldpstats.estimation import Measured
from ldpstats.identification import bounds_of
from ldpstats.identification.identified import Identified, radius


def by_linprog(sums: Array, values: Array, objectives: Array) -> Array:
    """Return the least values over the proper tables with these sums."""
    equations = np.vstack([sums, np.ones(sums.shape[1])])
    found = [
        linprog(c, A_eq=equations, b_eq=np.append(values, 1.0), bounds=(0, None), method="highs") for c in objectives
    ]
    return np.array([one.fun for one in found])


def by_cone(one: Measured, objectives: Array, alpha: float) -> Array:
    """Return the least values over the joint confidence set of sums with a positive definite covariance."""
    table = cvxpy.Variable(one.sums.shape[1], nonneg=True)
    root = np.linalg.inv(np.linalg.cholesky(one.covariance))
    ball = cvxpy.norm(root @ (one.sums @ table - one.estimate)) <= np.sqrt(chi2.isf(alpha, len(one.estimate)))
    return np.array(
        [cvxpy.Problem(cvxpy.Minimize(c @ table), [cvxpy.sum(table) == 1, ball]).solve("CLARABEL") for c in objectives]
    )


@pytest.mark.parametrize("target", [("a", "c"), ("c", "a"), ("b",), ("a", "b", "c"), ("c", "b", "a")])
@pytest.mark.parametrize("groups", [CHAIN, PAIRS, [("b",)], [("a",), ("b",)], [("a", "b", "c")]])
def test_identified_sets_are_those_of_linear_programmes(groups: list[tuple[str, ...]], target: tuple[str, ...]) -> None:
    joint = some_joint(ABC, 3)
    one = measured(ABC, groups, joint)
    found = bounds_of(ABC, one, target)
    cells = sums_of(ABC, target)
    np.testing.assert_allclose(found.point_lower.ravel(), by_linprog(one.sums, one.estimate, cells), atol=1e-6)
    np.testing.assert_allclose(found.point_upper.ravel(), -by_linprog(one.sums, one.estimate, -cells), atol=1e-6)


@pytest.mark.parametrize("seed", range(1, 4))
def test_limits_with_confidence_are_those_of_cone_programmes(seed: int) -> None:
    """The oracle takes one sum less of every margin, so that its covariance has an inverse."""
    joint = some_joint(ABC, seed)
    every = replace(measured(ABC, [("a", "b"), ("c",)], joint, seed=seed), n=MANY)
    kept = [0, 1, 2, 3, 4, 6]
    some = replace(
        every, sums=every.sums[kept], estimate=every.estimate[kept], covariance=every.covariance[np.ix_(kept, kept)]
    )
    cells = sums_of(ABC, ("a", "c"))
    low, high = by_cone(some, cells, 0.1), -by_cone(some, -cells, 0.1)
    for one in (some, every):
        found = bounds_of(ABC, one, ("a", "c"), 0.1, simultaneous=True)
        assert found.df == 6
        np.testing.assert_allclose(found.lower.ravel(), np.maximum(low, 0), atol=2e-6)
        np.testing.assert_allclose(found.upper.ravel(), high, atol=2e-6)


def test_several_measurements_of_one_sum_are_pooled_by_precision() -> None:
    """Twice the same margin, from 1,000 and from 3,000 respondents, is the margin of 4,000."""
    estimates, sizes = np.array([0.30, 0.34]), np.array([1000, 3000])
    row = sums_of(ABC, ("a",))[:1]
    one = Measured(np.vstack([row, row]), estimates, np.diag(0.2 / sizes), MANY)
    found = Identified.of(one)
    assert (found.df, found.spare) == (1, 1)
    np.testing.assert_allclose(found.values, [0.33], atol=1e-12)
    np.testing.assert_allclose(found.root**2, [[0.2 / 4000]], rtol=1e-6)
    assert found.disagreement == pytest.approx(0.04**2 / (0.2 / 1000 + 0.2 / 3000))
    assert found.pvalue == pytest.approx(chi2.sf(found.disagreement, 1))


def test_sums_that_agree_by_design_and_known_totals_count_once() -> None:
    """Both margins of one table, each category and each cell, from the same reports: rank 5 of 12."""
    joint, n = some_joint(ABC, 2), 2000
    cells = sums_of(ABC, ("a", "b"))
    own = cells @ joint
    covariance = (np.diag(own) - np.outer(own, own)) / n
    margins = np.vstack([sums_of(ABC, ("a",)), sums_of(ABC, ("b",)), np.ones(12)])
    merge = margins @ np.linalg.pinv(cells)
    every = np.vstack([np.eye(6), merge])
    one = Measured(np.vstack([cells, margins]), every @ own, every @ covariance @ every.T, MANY)
    found, alone = bounds_of(ABC, one, ["a", "c"]), bounds_of(ABC, Measured(cells, own, covariance, MANY), ["a", "c"])
    assert found.df == alone.df == 5
    assert found.pvalue == 1
    np.testing.assert_allclose(found.to_frame(), alone.to_frame(), atol=1e-6)


def test_known_margins_give_frechets_bounds_up_to_a_respondent() -> None:
    sums = np.vstack([sums_of(BITS, ("a",)), sums_of(BITS, ("b",))])
    one = Measured(sums, np.array([0.3, 0.7, 0.6, 0.4]), np.zeros((4, 4)), 10_000)
    found = bounds_of(BITS, one, ["a", "b"])
    low, high = frechet(np.array([0.3, 0.7]), np.array([0.6, 0.4]))
    np.testing.assert_allclose(found.point_lower, low, atol=1e-6)
    np.testing.assert_allclose(found.point_upper, high, atol=1e-6)
    outside = np.maximum(found.point_lower - found.lower, found.upper - found.point_upper)
    assert 0 < outside.max() < 2 * radius(2, 0.05) / 10_000


def test_cells_that_nobody_reported_are_not_known_to_be_empty() -> None:
    """Twenty respondents without noise, none of them in one cell: by the covariance it is empty for certain."""
    shares = np.array([[0.5, 0.3], [0.2, 0.0]]).ravel()
    one = Measured(np.eye(4), shares, (np.diag(shares) - np.outer(shares, shares)) / 20, 20)
    found = bounds_of(Domain({"a": [0, 1], "b": [0, 1]}), one, ["a", "b"])
    assert found.upper[1, 1] > 2 / 20
    assert found.point_upper[1, 1] < 1e-5
    alone = Measured(np.eye(4), np.array([1.0, 0, 0, 0]), np.zeros((4, 4)), 20)
    assert bounds_of(Domain({"a": [0, 1], "b": [0, 1]}), alone, ["a", "b"]).lower[0, 0] < 1 - 1 / 20


def test_nothing_measured_leaves_everything_possible() -> None:
    total = Measured(np.ones((1, 8)), np.ones(1), np.zeros((1, 1)), 100)
    found = bounds_of(BITS, total, ["a", "b"])
    assert found.df == 0
    np.testing.assert_allclose([found.lower, found.point_lower], 0, atol=1e-6)
    np.testing.assert_allclose([found.upper, found.point_upper], 1, atol=1e-6)
    assert tuple(found.cramers_v())[:2] == (0.0, 1.0)
    limits = found.conditional(["a"], given=["b"]).to_numpy()
    np.testing.assert_allclose(limits, np.tile([0.0, 1.0], (4, 2)))
