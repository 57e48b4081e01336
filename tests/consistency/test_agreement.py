"""Agreement: the nearest tables are those of cvxpy and of a formula, and the test is that by a joint table."""

from __future__ import annotations

from itertools import combinations, pairwise

import cvxpy
import numpy as np
import pytest
from scipy.linalg import block_diag, null_space
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

import ldpstats as ldp
from ldpstats import LdpstatsError, TableSet
from ldpstats.consistency import agreement
from ldpstats.consistency.agreement import AgreeingFit, Agreement, agreement_of, shared_quantities
from ldpstats.consistency.consistent import make_consistent
from ldpstats.consistency.marginals import Marginal, marginals_of
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.identification.identified import Identified
from ldpstats.tables import pooled_measured


def agreement_by_definition(found: list[Marginal]) -> tuple[Array, Array]:
    """Return A and a of A x = a, redundant equations and all: totals, and equal marginals of every two tables."""
    ends = np.cumsum([0, *(one.estimate.size for one in found)])
    rows, values = [], []
    for start, end in pairwise(ends):
        row = np.zeros((1, ends[-1]))
        row[:, start:end] = 1
        rows.append(row)
        values.append(np.ones(1))
    for (place, one), (others_place, other) in combinations(enumerate(found), 2):
        shared = tuple(name for name in one.attributes if name in other.attributes)
        if shared:
            matrix = sums_onto(one, shared)
            row = np.zeros((len(matrix), ends[-1]))
            row[:, ends[place] : ends[place + 1]] = matrix
            row[:, ends[others_place] : ends[others_place + 1]] = -sums_onto(other, shared)
            rows.append(row)
            values.append(np.zeros(len(matrix)))
    return np.concatenate(rows), np.concatenate(values)


@each_group
def test_the_linear_fit_is_the_projection_that_the_formula_gives(groups: str) -> None:
    found = marginals(collected(GROUPS[groups], seed=11))
    equations, values = agreement_by_definition(found)
    variance = 1 / np.concatenate([one.precision for one in found])
    estimate = np.concatenate([one.estimate for one in found])
    gain = variance[:, None] * equations.T @ np.linalg.pinv(equations * variance @ equations.T, hermitian=True)
    projector = np.eye(estimate.size) - gain @ equations
    fit = AgreeingFit(found, shared_quantities(found))
    fitted = np.concatenate(fit.tables([one.estimate for one in found]))
    assert fitted == pytest.approx(projector @ estimate + gain @ values, abs=1e-9)
    joint = projector @ block_diag(*(one.covariance for one in found)) @ projector.T
    start = 0
    for one, covariance in zip(found, fit.covariances(), strict=True):
        block = slice(start, start + one.estimate.size)
        assert covariance == pytest.approx(joint[block, block], rel=1e-8, abs=1e-12)
        start += one.estimate.size


@each_group
def test_no_quantity_held_in_common_follows_from_others_and_none_is_missing(groups: str) -> None:
    found = marginals(collected(GROUPS[groups]))
    held = shared_quantities(found)
    for own in held:
        assert np.linalg.matrix_rank(own.matrix) == len(own.matrix) == len(own.places)
    counts = np.bincount(np.concatenate([own.places for own in held]))
    assert counts[0] == len(found)
    assert counts[1:].min() >= 2
    equations, _ = agreement_by_definition(found)
    assert null_space(equations).shape[1] == equations.shape[1] - len(found) - (counts[1:] - 1).sum()


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


DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [1, 0], "d": ["u", "v"]})
PEOPLE = np.random.default_rng(1).integers(50, 200, DOMAIN.shape)
PROTOCOLS = {
    "pairs": lambda: ldp.SampledGroups(DOMAIN, k=2, epsilon=2.0),
    "triples": lambda: ldp.SampledGroups(DOMAIN, k=3, epsilon=2.0, mechanism="grr"),
    "several pairs of one respondent": lambda: ldp.WholeView(DOMAIN, k=2, epsilon=6.0),
    "a chain": lambda: ldp.SampledGroups(DOMAIN, epsilon=2.0, groups=[("a", "b"), ("b", "c"), ("c", "d")]),
    "a set within a set": lambda: ldp.SampledGroups(DOMAIN, epsilon=2.0, groups=[("a", "b", "c"), ("a", "c")]),
}


def outcome_of(tables: ldp.TableSet) -> Agreement:
    marginals = marginals_of(tables)
    found = agreement_of(marginals, shared_quantities(marginals))
    assert found is not None
    return found


@pytest.mark.parametrize("name", PROTOCOLS)
def test_it_is_the_test_by_a_joint_table_without_the_joint_table(name: str):
    tables = PROTOCOLS[name]().simulate(PEOPLE, rng=1)
    found = outcome_of(tables)
    whole = Identified.of(pooled_measured(list(tables), tables.domain.project(_asked(tables))))
    assert found.df == whole.spare
    if not found.bound:
        assert found.statistic == pytest.approx(whole.disagreement, rel=1e-3)
        assert found.pvalue == pytest.approx(whole.pvalue, rel=1e-2)


@pytest.mark.parametrize("name", [*PROTOCOLS, "a curator"])
def test_the_order_of_tables_and_their_attributes_plays_no_part(name: str):
    """Where covariances are bounds, it matters which table the others are compared with."""
    protocol = PROTOCOLS[name]() if name in PROTOCOLS else ldp.CentralLaplace(DOMAIN, k=2, epsilon=1.0)
    tables = protocol.simulate(PEOPLE, rng=1)
    turned = [table.reordered(table.attributes[::-1]) for table in reversed(list(tables))]
    one, other = outcome_of(tables), outcome_of(ldp.TableSet(DOMAIN, turned, tables.privacy))
    assert (one.df, one.bound) == (other.df, other.bound)
    assert other.statistic == pytest.approx(one.statistic, rel=1e-6)


def _asked(tables: ldp.TableSet) -> list[str]:
    return [name for name in DOMAIN.names if any(name in table.attributes for table in tables)]


def test_two_ways_of_computing_it_are_one(monkeypatch: pytest.MonkeyPatch):
    tables = PROTOCOLS["triples"]().simulate(PEOPLE, rng=1)
    one = outcome_of(tables)
    monkeypatch.setattr("ldpstats.consistency.agreement.independent", lambda _: False)
    other = outcome_of(tables)
    assert (one.df, one.statistic) == (other.df, pytest.approx(other.statistic))


def test_the_same_reports_cannot_disagree_and_tables_that_share_nothing_do_not():
    crossed = outcome_of(ldp.PerAttribute(DOMAIN, k=2, epsilon=8.0).simulate(PEOPLE, rng=1))
    assert (crossed.df, crossed.pvalue) == (0, 1.0)
    apart = ldp.SampledGroups(DOMAIN, epsilon=2.0, groups=[("a", "b"), ("c", "d")]).simulate(PEOPLE, rng=1)
    assert outcome_of(apart)[:3] == (0.0, 0, 1.0)


def test_too_many_differences_of_dependent_tables_are_not_tested(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("ldpstats.consistency.agreement.MOST_DIFFERENCES", 3)
    marginals = marginals_of(PROTOCOLS["several pairs of one respondent"]().simulate(PEOPLE, rng=1))
    assert agreement_of(marginals, shared_quantities(marginals)) is None
