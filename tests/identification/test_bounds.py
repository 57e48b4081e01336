"""Partial identification: by hand, against linear and cone programmes written anew, by search, and by simulation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import cvxpy
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import block_diag
from scipy.optimize import linprog
from scipy.stats import binom, chi2

from ldpstats import Domain, DomainError, LdpstatsError, NotIdentifiedError, PrivacyStatement
from ldpstats.estimation import Measured
from ldpstats.identification import Bounds, bounds_of
from ldpstats.identification.identified import Identified, radius
from ldpstats.identification.pointwise import Pointwise
from ldpstats.identification.possible_tables import PossibleTables, confidence_set, nearest_table, same_sums

Array = NDArray[np.float64]

ABC = Domain({"a": ["x", "y"], "b": [1, 2, 3], "c": [False, True]})
BITS = Domain({name: [0, 1] for name in "abc"})
CHAIN = [("a", "b"), ("b", "c")]
PAIRS = [*CHAIN, ("a", "c")]
MANY = 1_000_000_000


def sums_of(domain: Domain, group: Sequence[str]) -> Array:
    return np.eye(domain.size(group))[:, domain.onto(group)]


def some_joint(domain: Domain, seed: int = 1, spread: float = 0.6) -> Array:
    return np.random.default_rng(seed).dirichlet(np.full(domain.size(), spread))


def measured(domain: Domain, groups: Sequence[Sequence[str]], joint: Array, n: int = 3000, seed: int = 0) -> Measured:
    """Return tables of groups, each of other respondents, with normal errors (but for seed 0)."""
    parts = [sums_of(domain, group) for group in groups]
    spreads = [(np.diag(own @ joint) - np.outer(own @ joint, own @ joint)) / n for own in parts]
    covariance, sums = block_diag(*spreads), np.vstack(parts)
    errors = np.zeros(len(sums))
    if seed:
        errors = np.random.default_rng(seed).multivariate_normal(errors, covariance, method="eigh")
    return Measured(sums, sums @ joint + errors, covariance, n * len(groups))


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


def frechet(rows: Array, columns: Array) -> tuple[Array, Array]:
    return np.maximum(np.add.outer(rows, columns) - 1, 0), np.minimum.outer(rows, columns)


def cramers_v(table: Array) -> float:
    expected = np.outer(table.sum(1), table.sum(0))
    return float(np.sqrt(((table - expected) ** 2 / expected).sum() / (min(table.shape) - 1)))


@pytest.mark.parametrize("seed", range(5))
def test_two_margins_give_frechets_bounds(seed: int) -> None:
    joint = some_joint(ABC, seed)
    found = bounds_of(ABC, measured(ABC, [("a",), ("b",)], joint), ["a", "b"])
    low, high = frechet(sums_of(ABC, "a") @ joint, sums_of(ABC, "b") @ joint)
    np.testing.assert_allclose(found.point_lower, low, atol=1e-6)
    np.testing.assert_allclose(found.point_upper, high, atol=1e-6)
    assert (found.lower <= found.point_lower).all()
    assert (found.upper > found.point_upper).all()


@pytest.mark.parametrize("target", [("a", "c"), ("c", "a"), ("b",), ("a", "b", "c"), ("c", "b", "a")])
@pytest.mark.parametrize("groups", [CHAIN, PAIRS, [("b",)], [("a", "b", "c")]])
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


def test_a_whole_collected_table_has_bounds_of_no_width() -> None:
    joint = some_joint(ABC, 5)
    found = bounds_of(ABC, measured(ABC, [("a", "b", "c")], joint), ["a", "b", "c"])
    np.testing.assert_allclose(found.point_lower.ravel(), joint, atol=1e-6)
    np.testing.assert_allclose(found.point_upper.ravel(), joint, atol=1e-6)


def chained(n: int) -> tuple[Array, Measured]:
    """Return a and c, independent, both driving b; of these only the pairs with b are measured."""
    drive = np.array([[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]])  # of a, c and b
    joint = (0.25 * drive).transpose(0, 2, 1).ravel()
    return joint, measured(BITS, CHAIN, joint, n)


def test_a_pair_nobody_was_asked_about_may_be_independent_however_many_reports_there_are() -> None:
    """Maximum entropy says V = .16 with any certainty; the reports leave all from 0 to 1 possible."""
    joint, one = chained(MANY)
    found = bounds_of(BITS, one, ["a", "c"])
    truth = (sums_of(BITS, ("a", "c")) @ joint).reshape(2, 2)
    entropic = np.einsum("ab,bc->ac", *(joint.reshape(2, 2, 2).sum(2), joint.reshape(2, 2, 2).sum(0) * 2))
    assert cramers_v(truth) == pytest.approx(0, abs=1e-7)
    assert cramers_v(entropic) == pytest.approx(0.16, abs=0.001)
    for table in (truth, entropic):
        assert (found.lower <= table).all()
        assert (table <= found.upper).all()
    low, high, words = found.cramers_v()
    assert low == 0
    assert high == pytest.approx(1, abs=1e-3)
    assert "outer" in words


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


def test_conditional_proportions_at_known_margins_are_bounds_over_them() -> None:
    joint = some_joint(ABC, 4)
    found = bounds_of(ABC, measured(ABC, CHAIN, joint, MANY), ["a", "c"])
    margin = sums_of(ABC, ("c",)) @ joint
    frame = found.conditional(["a"], given=["c"])
    assert frame.index.names == ["c", "a"]
    np.testing.assert_allclose(frame["point_lower"], (found.point_lower / margin).T.ravel(), atol=1e-5)
    np.testing.assert_allclose(frame["point_upper"], (found.point_upper / margin).T.ravel(), atol=1e-5)


@pytest.mark.parametrize("groups", [CHAIN, [("a", "b"), ("b",)], PAIRS])
def test_conditional_proportions_are_least_quotients(groups: list[tuple[str, ...]]) -> None:
    """At the least quotient β, and at no other number, the least of c·p - β d·p is zero."""
    one = measured(ABC, groups, some_joint(ABC, 6, 2.0), 4000, seed=1)
    found = bounds_of(ABC, one, ["a", "b", "c"], simultaneous=True)
    identified = Identified.of(one)
    known, within = same_sums(identified, nearest_table(identified)[0]), confidence_set(identified, 0.05)
    parts = sums_of(ABC, ("b", "a", "c")).reshape(3, 4, -1)
    limits = found.conditional(["a", "c"], given=["b"]).to_numpy().reshape(3, 4, 4)
    for given in range(3):
        condition = parts[given].sum(0)
        for cell, (lower, upper, point_lower, point_upper) in zip(parts[given], limits[given], strict=True):
            for tables, low, high in ((within, lower, upper), (known, point_lower, point_upper)):
                at_zero = tables.least(np.array([cell - low * condition, high * condition - cell]))
                np.testing.assert_allclose(at_zero, 0, atol=1e-6)
    assert (limits[:, :, 0] <= limits[:, :, 2] + 1e-7).all()
    assert (limits[:, :, 3] <= limits[:, :, 1] + 1e-7).all()


def test_any_multipliers_give_a_bound() -> None:
    """What the solver returns decides how sharp a bound is, never whether it holds."""
    one = measured(ABC, CHAIN, some_joint(ABC, 7, 2.0), 4000)
    tables = confidence_set(Identified.of(one), 0.05)
    cells, rng = sums_of(ABC, ("a", "c")), np.random.default_rng(0)
    least = tables.least(cells)
    within = sums_of(ABC, ("c",))[0]
    quotients = tables.least(cells, within)
    smallest = float(tables.least(within[None])[0])
    for cell, low, quotient in zip(cells, least, quotients, strict=True):
        for multipliers in rng.normal(0, 0.3, (50, tables.values.size)):
            assert tables._certified(cell, multipliers, None, 1.0) <= low + 1e-6
            assert tables._certified(cell, multipliers, within, smallest) <= quotient + 1e-6


def xor(strength: float) -> Array:
    """Return three bits of which any two are independent, and the third is mostly their sum."""
    odd = np.indices((2, 2, 2)).sum(0) % 2
    return ((1 + strength * (2 * odd - 1)) / 8).ravel()


def test_bounds_cover_where_maximum_entropy_does_not() -> None:
    """All pairs of an exclusive or: each of 200 runs whose contrasts are in their confidence set covers every cell.

    That is so for certain; how many runs these are is binomial with .95 of 200: fewer than 170 at a rate below 1e-6.
    """
    joint = xor(0.8)
    covered, near = [], []
    for seed in range(1, 201):
        one = measured(BITS, PAIRS, joint, 1000, seed)
        found = bounds_of(BITS, one, ["a", "b", "c"], simultaneous=True)
        identified = Identified.of(one)
        missed = np.linalg.solve(identified.root, identified.sums @ joint - identified.values)
        near.append(bool(missed @ missed <= chi2.isf(0.05, identified.df)))
        truth = joint.reshape(2, 2, 2)
        covered.append(bool(((found.lower <= truth) & (truth <= found.upper)).all()))
    assert all(covers for covers, close in zip(covered, near, strict=True) if close)
    assert sum(near) >= 170
    assert np.mean(covered) >= 0.93


def margins(first: float, second: float, spread: float = 0.005) -> Measured:
    """Return one margin of each of two attributes, with independent errors."""
    return Measured(np.array([[1.0, 1, 0, 0], [1, 0, 1, 0]]), np.array([first, second]), spread**2 * np.eye(2), MANY)


def test_pointwise_limits_have_the_degrees_of_freedom_of_what_they_rest_on() -> None:
    """The first cell is at most either margin: one contrast bounds it if they differ, both if they are equal."""
    pair = BITS.project(["a", "b"])
    apart, equal = bounds_of(pair, margins(0.6, 0.7), ["a", "b"]), bounds_of(pair, margins(0.6, 0.6), ["a", "b"])
    assert apart.upper[0, 0] == pytest.approx(0.6 + radius(1, 0.05) * 0.005, abs=1e-6)
    assert apart.lower[0, 0] == pytest.approx(0.3 - radius(1, 0.05) * 0.005 * np.sqrt(2), abs=1e-6)
    assert equal.upper[0, 0] == pytest.approx(0.6 + radius(2, 0.05) * 0.005 / np.sqrt(2), abs=1e-6)
    together = bounds_of(pair, margins(0.6, 0.7), ["a", "b"], simultaneous=True)
    assert together.upper[0, 0] == pytest.approx(0.6 + radius(2, 0.05) * 0.005, abs=1e-6)


def test_pointwise_limits_of_identified_cells_are_their_normal_intervals() -> None:
    joint = some_joint(ABC, 5, 20.0)
    one = replace(measured(ABC, [("a", "b", "c")], joint, 5000), n=MANY)
    found = bounds_of(ABC, one, ["a", "b"], 0.1)
    cells = sums_of(ABC, ("a", "b"))
    std_err = np.sqrt(np.diagonal(cells @ one.covariance @ cells.T))
    np.testing.assert_allclose(found.lower.ravel(), cells @ joint - radius(1, 0.1) * std_err, atol=1e-6)
    np.testing.assert_allclose(found.upper.ravel(), cells @ joint + radius(1, 0.1) * std_err, atol=1e-6)
    assert "pointwise" in found.covers
    assert "simultaneous" in bounds_of(ABC, one, ["a", "b"], simultaneous=True).covers


@pytest.mark.parametrize("seed", range(1, 5))
def test_pointwise_limits_lie_between_those_of_all_cells_at_once_and_the_identified_set(seed: int) -> None:
    one = measured(ABC, PAIRS, some_joint(ABC, seed), 800, seed)
    single, together = (bounds_of(ABC, one, ["a", "b", "c"], simultaneous=both) for both in (False, True))
    inside = [single.lower - together.lower, together.upper - single.upper]
    assert np.min(inside) >= -1e-6
    assert np.max(inside) > 1e-3
    limits, wider = (found.conditional(["a"], given=["b", "c"]) for found in (single, together))
    assert (limits["lower"] >= wider["lower"] - 1e-6).all()
    assert (limits["upper"] <= wider["upper"] + 1e-6).all()
    assert (limits["lower"] <= limits["point_lower"] + 1e-6).all()
    assert (limits["upper"] >= limits["point_upper"] - 1e-6).all()


def at_the_ends() -> dict[str, tuple[Domain, list[tuple[str, str]], Array, Array]]:
    """Return domains, groups, joint tables and a sum as large as possible, where many inequalities are equations."""
    four = Domain({"a": [0, 1], "b": range(4), "c": [0, 1]})
    alike = np.tile(np.eye(2)[:, None], (1, 4, 1)).ravel() / 8
    return {
        "an exclusive or": (BITS, PAIRS, xor(1.0), sums_of(BITS, ("a", "b", "c"))[1]),
        "a is c, both independent of b: equal": (four, CHAIN, alike, sums_of(four, ("a", "c"))[0]),
        "a is c, both independent of b: unequal": (four, CHAIN, alike, -sums_of(four, ("a", "c"))[1]),
    }


@pytest.mark.parametrize("case", at_the_ends())
def test_pointwise_limits_cover_values_at_the_end_of_their_identified_set(case: str) -> None:
    """Where the test holds its level but no more: fewer than 82 of 100 at a rate below 1e-6."""
    domain, groups, joint, end = at_the_ends()[case]
    covered = 0
    for seed in range(1, 101):
        identified = Identified.of(measured(domain, groups, joint, 1000, seed))
        single = Pointwise(identified, 0.05, nearest_table(identified).distance)
        covered += -float(single.least(-end[None])[0]) >= end @ joint - 1e-9
    assert binom.cdf(81, 100, 0.95) < 1e-6
    assert covered >= 82


def test_order_of_cells_sums_and_attributes_changes_nothing() -> None:
    one = measured(ABC, CHAIN, some_joint(ABC, 8), 3000, seed=2)
    found = bounds_of(ABC, one, ["a", "c"])
    for order in permutations("abc"):
        other = ABC.project(order)
        moved = np.arange(ABC.size()).reshape(ABC.shape).transpose([ABC.names.index(name) for name in order]).ravel()
        shuffle = np.random.default_rng(len(order)).permutation(len(one.estimate))
        same = Measured(
            one.sums[shuffle][:, moved], one.estimate[shuffle], one.covariance[np.ix_(shuffle, shuffle)], one.n
        )
        again = bounds_of(other, same, ["c", "a"])
        np.testing.assert_allclose(again.lower.T, found.lower, atol=1e-6)
        np.testing.assert_allclose(again.point_upper.T, found.point_upper, atol=1e-6)
        np.testing.assert_allclose(again.cramers_v().high, found.cramers_v().high, atol=1e-5)


def test_combined_sums_tell_the_same() -> None:
    """Any invertible mixture of the sums, shifted by multiples of the known total, is the same measurement.

    But for what is added for rare cells, which depends on the sums as they are given, and vanishes with many reports.
    """
    one = replace(measured(ABC, CHAIN, some_joint(ABC, 8), 3000, seed=2), n=MANY)
    rng = np.random.default_rng(3)
    mix, shift = rng.standard_normal((len(one.estimate),) * 2), rng.standard_normal(len(one.estimate))
    mixed = Measured(mix @ one.sums + shift[:, None], mix @ one.estimate + shift, mix @ one.covariance @ mix.T, one.n)
    found, again = (bounds_of(ABC, each, ["a", "c"]) for each in (one, mixed))
    assert found.df == again.df
    np.testing.assert_allclose(again.to_frame(), found.to_frame(), atol=1e-5)


def test_more_confidence_and_fewer_reports_widen_the_limits() -> None:
    joint = some_joint(ABC, 10, 3.0)
    levels = ((10_000, 0.05), (10_000, 0.01), (1_000, 0.01), (20, 0.01))
    all_bounds = [bounds_of(ABC, measured(ABC, CHAIN, joint, n), ["a", "c"], alpha) for n, alpha in levels]
    widths = [(found.upper - found.lower).sum() for found in all_bounds]
    assert widths == sorted(widths)
    assert len(set(np.round(widths, 3))) == 4


def contradictory(strength: float) -> Measured:
    """Return pairs of which any two can be had together, but not all three: a = b, b = c, and a ≠ c."""
    same = np.array([1, 0, 0, 1]) * strength / 2 + (1 - strength) / 4
    other = np.array([0, 1, 1, 0]) * strength / 2 + (1 - strength) / 4
    one = measured(BITS, PAIRS, np.full(8, 1 / 8), 1000)
    return replace(one, estimate=np.concatenate([same, same, other]))


def test_pairs_that_no_joint_table_has_are_a_finding() -> None:
    found = bounds_of(BITS, contradictory(0.9), ["a", "b", "c"])
    assert "no table without negative cells" in found.why_not
    assert found.pvalue < 1e-6
    assert np.isnan(found.lower).all()
    assert np.isnan(found.point_upper).all()
    assert np.isnan(found.conditional(["a"], given=["b"]).to_numpy()).all()
    assert np.isnan(bounds_of(BITS, contradictory(0.9), ["a", "b"]).cramers_v().high)
    assert found.to_dict()["lower"] is None
    assert "No bounds: the reports contradict each other" in str(found)
    assert not bounds_of(BITS, contradictory(0.2), ["a", "b", "c"]).why_not


def test_margins_that_differ_beyond_chance_are_a_finding() -> None:
    joint = some_joint(ABC, 11, 3.0)
    one = measured(ABC, CHAIN, joint, 5000)
    moved = one.estimate + np.concatenate([np.zeros(6), [0.04, 0, -0.02, 0, -0.02, 0]])
    found = bounds_of(ABC, replace(one, estimate=moved), ["a", "c"])
    assert "sums that must agree differ beyond chance" in found.why_not
    assert found.pvalue < 0.002


@pytest.mark.parametrize("alpha", [0, 1, -0.1, np.nan, "0.05", None, True])
def test_levels_outside_of_zero_to_one_are_refused(alpha: object) -> None:
    with pytest.raises(LdpstatsError, match="strictly between 0 and 1"):
        bounds_of(BITS, measured(BITS, CHAIN, xor(0.5)), ["a", "c"], alpha)  # type: ignore[arg-type]  # refused


def test_wrong_input_is_refused() -> None:
    one = measured(BITS, CHAIN, xor(0.5))
    with pytest.raises(DomainError, match="different names"):
        bounds_of(BITS, one, ["a", "d"])
    with pytest.raises(LdpstatsError, match="a column for every cell"):
        bounds_of(ABC, one, ["a", "c"])
    with pytest.raises(LdpstatsError, match="not finite"):
        bounds_of(BITS, replace(one, estimate=one.estimate * np.nan), ["a", "c"])
    with pytest.raises(LdpstatsError, match="a symmetric matrix"):
        bounds_of(BITS, replace(one, covariance=one.covariance[:2]), ["a", "c"])
    with pytest.raises(NotIdentifiedError, match="at least one report"):
        bounds_of(BITS, replace(one, n=0), ["a", "c"])
    with pytest.raises(LdpstatsError, match=r"known for sure and 0\.096 apart"):
        bounds_of(BITS, replace(one, estimate=one.estimate + np.eye(8)[0] * 0.2), ["a", "c"])
    large = Domain({f"x{place}": [0, 1] for place in range(13)})
    with pytest.raises(LdpstatsError, match="up to 4,096 cells"):
        bounds_of(large, one, ["x0"])
    with pytest.raises(LdpstatsError, match="two attributes"):
        bounds_of(BITS, one, ["a", "b", "c"]).cramers_v()


def test_too_many_contrasts_are_refused() -> None:
    domain = Domain({"a": range(24), "b": range(24)})
    one = Measured(np.eye(576), np.full(576, 1 / 576), np.eye(576) / 1e6, 1000)
    with pytest.raises(LdpstatsError, match="575 contrasts"):
        bounds_of(domain, one, ["a"])


def some_bounds(**more: object) -> Bounds:
    privacy = PrivacyStatement(1.0, "a respondent's whole record")
    one = replace(measured(ABC, CHAIN, some_joint(ABC, 12)), **more)
    return bounds_of(ABC, one, ["a", "c"], 0.1, privacy=privacy, simulated=one.n)


def test_bounds_say_what_they_are() -> None:
    found = some_bounds(bound="two tables share respondents")
    plain = found.to_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["level"] == 0.9
    assert plain["simultaneous"]  # as the covariance is a bound
    assert plain["assumption"] is None
    assert plain["privacy"]["epsilon"] == 1.0
    assert "upper bound, as two tables share respondents" in plain["covers"]
    assert "upper bound" not in some_bounds().covers
    text = str(found)
    for words in (
        "Bounds without an assumption: a and c (simulated)",
        "90 % from",
        "whole record",
        "limits of all cells",
    ):
        assert words in text
    assert found.to_frame().index.names == ["a", "c"]
    assert repr(found) == "<Bounds of a × c: (2, 2), n = 6000 (simulated)>"
    np.testing.assert_array_equal(found.to_frame()["upper"], found.upper.ravel())
