"""Limits of Cramér's V against formulas for two by two, all possible tables, and quadratic programming."""

from __future__ import annotations

import cvxpy
import numpy as np
import pytest
from support.measured_sums import BITS, CHAIN, MANY, Array, cramers_v, measured, some_joint, sums_of

from ldpstats import Domain
from ldpstats.identification import bounds_of
from ldpstats.identification.identified import Identified
from ldpstats.identification.possible_tables import PossibleTables, confidence_set, nearest_table, same_sums


@pytest.mark.parametrize("seed", range(6))
def test_v_of_two_by_two_is_exact_at_known_margins(seed: int) -> None:
    joint = some_joint(BITS, seed, 0.8)
    found = bounds_of(BITS, measured(BITS, CHAIN, joint, MANY), ["a", "c"])
    rows, columns = (sums_of(BITS, (name,)) @ joint for name in "ac")
    first = np.linspace(found.point_lower[0, 0], found.point_upper[0, 0], 2001)
    grid = [cramers_v(np.array([[x, rows[0] - x], [columns[0] - x, 1 - rows[0] - columns[0] + x]])) for x in first]
    v = found.cramers_v()
    assert v.point_high == pytest.approx(max(grid), abs=1e-5)
    assert v.point_low == pytest.approx(min(grid), abs=2e-3)
    assert v.low <= v.point_low <= v.point_high <= v.high


def possible_tables(one: PossibleTables, many: int, seed: int) -> Array:
    """Return tables from all over the possible ones: the optima of random directions, and mixtures of these."""
    rng = np.random.default_rng(seed)
    table = cvxpy.Variable(one.cells, nonneg=True)
    cost = cvxpy.Parameter(one.cells)
    missed = one.sums.toarray() @ table - one.values
    within = missed == 0 if one.root is None else cvxpy.norm(np.linalg.inv(one.root) @ missed) <= 1
    problem = cvxpy.Problem(cvxpy.Minimize(cost @ table), [cvxpy.sum(table) == 1, within])
    found = []
    for direction in rng.standard_normal((many, one.cells)):
        cost.value = direction
        problem.solve("CLARABEL")
        found.append(np.maximum(table.value, 0))
    corners = np.array(found)
    return np.vstack([corners, rng.dirichlet(np.full(many, 0.3), 5 * many) @ corners])


@pytest.mark.parametrize(("shape", "seed"), [((2, 2, 2), 1), ((3, 2, 3), 2), ((3, 3, 3), 3), ((2, 3, 4), 4)])
def test_v_of_all_possible_tables_lies_between_its_limits(shape: tuple[int, ...], seed: int) -> None:
    domain = Domain(dict(zip("abc", map(range, shape), strict=True)))
    one = measured(domain, CHAIN, some_joint(domain, seed, 2.0), 5000, seed)
    v, cells = bounds_of(domain, one, ["a", "c"]).cramers_v(), sums_of(domain, ("a", "c"))
    identified = Identified.of(one)
    known, within = same_sums(identified, nearest_table(identified)[0]), confidence_set(identified, 0.05)
    for tables, low, high in ((known, v.point_low, v.point_high), (within, v.low, v.high)):
        there = [cramers_v((cells @ table).reshape(shape[0], shape[2])) for table in possible_tables(tables, 40, seed)]
        assert low <= min(there) + 1e-4
        assert max(there) <= high + 1e-4


def test_the_least_v_is_that_of_a_quadratic_programme() -> None:
    """Strong dependence through the middle, so that the least V is far from zero."""
    domain = Domain({"a": range(3), "b": range(4), "c": range(3)})
    rng = np.random.default_rng(5)
    tight = 0.9 * np.eye(3)[:, [0, 1, 2, 2]] + 0.1 * rng.dirichlet(np.ones(4), 3)
    joint = np.einsum("ab,cb->abc", tight, tight)
    joint = (joint / joint.sum()).ravel()
    one = measured(domain, CHAIN, joint, MANY)
    rows, columns = (sums_of(domain, (name,)) @ joint for name in "ac")
    table = cvxpy.Variable(domain.size(), nonneg=True)
    cells = sums_of(domain, ("a", "c")) @ table
    squares = cvxpy.sum_squares(cvxpy.multiply(1 / np.sqrt(np.outer(rows, columns).ravel()), cells))
    least = cvxpy.Problem(cvxpy.Minimize(squares), [one.sums @ table == one.estimate]).solve("CLARABEL")
    v = bounds_of(domain, one, ["a", "c"]).cramers_v()
    assert v.point_low > 0.3
    assert v.point_low == pytest.approx(np.sqrt((least - 1) / 2), abs=1e-5)
    assert v.point_low - 1e-2 < v.low < v.point_low
