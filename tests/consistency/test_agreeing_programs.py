"""The nearest agreeing tables are those that cvxpy finds; what a solver leaves undone is done or refused."""

from __future__ import annotations

from itertools import combinations

import cvxpy
import numpy as np
import pytest
from support.joint_tables import EXACT
from support.overlapping_tables import (
    GROUPS,
    Array,
    assert_consistent,
    collected,
    each_group,
    flat,
    marginals,
    sums_onto,
)

from ldpstats import LdpstatsError, TableSet
from ldpstats.consistency import agreement
from ldpstats.consistency.consistent import make_consistent
from ldpstats.consistency.marginals import Marginal
from ldpstats.estimation.simplex import nearest_proper


def cost(tables: TableSet, fitted: Array, gamma: float) -> float:
    spread = np.concatenate([one.precision**-0.5 for one in marginals(tables)])
    residuals = (fitted - flat(tables)) / spread
    return float(gamma * np.abs(residuals).sum() + (1 - gamma) * (residuals**2).sum())


def nearest_by_cvxpy(tables: TableSet, gamma: float) -> Array:
    """Write the problem down as it is stated: a variable for each table, equal marginals for every two of them."""
    found = marginals(tables)
    cells = [cvxpy.Variable(one.estimate.size, nonneg=True) for one in found]
    constraints = [cvxpy.sum(one) == 1 for one in cells]
    for (one, its), (other, others) in combinations(zip(found, cells, strict=True), 2):
        shared = tuple(name for name in one.attributes if name in other.attributes)
        if shared:
            constraints.append(sums_onto(one, shared) @ its == sums_onto(other, shared) @ others)
    residuals = cvxpy.hstack(
        [
            cvxpy.multiply(np.sqrt(one.precision), its) - np.sqrt(one.precision) * one.estimate
            for one, its in zip(found, cells, strict=True)
        ]
    )
    objective = gamma * cvxpy.norm1(residuals) + (1 - gamma) * cvxpy.sum_squares(residuals)
    cvxpy.Problem(cvxpy.Minimize(objective), constraints).solve(**EXACT)
    return np.concatenate([one.value for one in cells])


@each_group
@pytest.mark.parametrize("gamma", [0.0, 0.01, 0.5, 0.99])
def test_the_nearest_tables_are_what_cvxpy_finds(groups: str, gamma: float) -> None:
    tables = collected(GROUPS[groups], seed=3)
    fitted = flat(make_consistent(tables, "elastic-net", gamma=gamma))
    assert fitted == pytest.approx(nearest_by_cvxpy(tables, gamma), abs=1e-6)


@each_group
def test_absolute_distances_are_as_small_as_cvxpy_makes_them(groups: str) -> None:
    tables = collected(GROUPS[groups], seed=4)
    fitted, expected = flat(make_consistent(tables, "l1")), nearest_by_cvxpy(tables, 1.0)
    assert cost(tables, fitted, 1.0) == pytest.approx(cost(tables, expected, 1.0), rel=1e-7)


def test_the_ends_of_the_elastic_net_are_the_other_two_methods() -> None:
    tables = collected(GROUPS["triples"])
    for gamma, method in ((0, "l2"), (1, "l1")):
        ends = make_consistent(tables, "elastic-net", gamma=gamma)
        assert flat(ends).tolist() == flat(make_consistent(tables, method)).tolist()


def test_tables_that_share_nothing_are_solved_one_by_one() -> None:
    tables = collected([("a", "c"), ("b",), ("d",)], mechanism="oue")
    for gamma in (0.0, 0.5, 1.0):
        for table, fitted in zip(tables, make_consistent(tables, "elastic-net", gamma=gamma), strict=True):
            one = Marginal.of(table)
            assert fitted.cells.estimate.tolist() == nearest_proper(one.estimate, one.precision, gamma).tolist()


@each_group
def test_a_rough_solution_is_made_proper_and_consistent(groups: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, rng, solve = collected(GROUPS[groups]), np.random.default_rng(15), agreement._least_moves
    fitted = flat(make_consistent(tables))
    monkeypatch.setattr(agreement, "_least_moves", lambda *given: solve(*given) + rng.normal(0, 1e-7, given[2].size))
    rough = make_consistent(tables)
    assert_consistent(rough)
    assert flat(rough) == pytest.approx(fitted, abs=1e-6)


def test_a_solution_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = collected(GROUPS["pairs"])
    for wrong in (0.0, np.nan):
        monkeypatch.setattr(agreement, "_least_moves", lambda *_, wrong=wrong: np.full(flat(tables).size, wrong))
        with pytest.raises(LdpstatsError, match="the solver finds no consistent ones"):
            make_consistent(tables)
