"""Consistent tables: oracles for the nearest ones, what they agree on, their covariance, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import cvxpy
import numpy as np
import pandas as pd
import pytest
from consistency_speed import disagreement
from scipy.linalg import block_diag, null_space
from scipy.stats import chi2, t as student
from support.joint_tables import EXACT

from ldpstats import GRR, Domain, LdpstatsError, PrivacyStatement, SampledGroups, Table, TableSet
from ldpstats.consistency import agreeing_programs
from ldpstats.consistency.agreement import AgreeingFit, shared_quantities
from ldpstats.consistency.consistent import LimitsOfTheFit, make_consistent
from ldpstats.consistency.marginals import Marginal
from ldpstats.estimation import Estimate
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.tables import Figures

Array = np.ndarray[Any, Any]
METHODS = ("l2", "l1", "elastic-net")
FOUR = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1, 2], "d": [0, 1, 2, 3]})
PROMISE = PrivacyStatement(1.0, "a respondent's whole record")

each_method = pytest.mark.parametrize("method", METHODS)


def people(domain: Domain, n: int, seed: int, concentration: float = 0.3) -> Array:
    """Return joint counts of a population with many rare cells."""
    rng = np.random.default_rng(seed)
    frequencies = rng.dirichlet(np.full(domain.size(), concentration))
    return rng.multinomial(n, frequencies).reshape(domain.shape)


def collected(groups: Sequence[Sequence[str]], n: int = 3000, seed: int = 1, mechanism: str = "grr") -> TableSet:
    protocol = SampledGroups(FOUR, epsilon=1.0, mechanism=mechanism, groups=groups)
    return protocol.simulate(people(FOUR, n, seed), rng=seed)


def derived(domain: Domain, estimates: dict[tuple[str, ...], Array], variances: float = 1e-4, n: int = 100) -> TableSet:
    """Return tables that bring their estimates along."""
    tables = []
    for group, estimate in estimates.items():
        covariance = variances * np.eye(estimate.size)
        cells = Estimate(estimate.ravel(), covariance, n, PROMISE)
        tables.append(Table(domain.project(group), (), PROMISE, figures=Figures(cells)))
    return TableSet(domain, tables, PROMISE)


def flat(tables: TableSet) -> Array:
    return np.concatenate([table.estimate.ravel() for table in tables])


def marginals(tables: TableSet) -> list[Marginal]:
    return [Marginal.of(table) for table in tables]


def assert_consistent(tables: TableSet) -> None:
    assert disagreement(tables) <= 1e-12
    assert flat(tables).min() >= 0
    assert [table.estimate.sum() for table in tables] == pytest.approx([1.0] * len(tables), abs=1e-12)


def cost(tables: TableSet, fitted: Array, gamma: float) -> float:
    spread = np.concatenate([one.precision**-0.5 for one in marginals(tables)])
    residuals = (fitted - flat(tables)) / spread
    return float(gamma * np.abs(residuals).sum() + (1 - gamma) * (residuals**2).sum())


def sums_onto(marginal: Marginal, attributes: tuple[str, ...]) -> Array:
    places = marginal.onto(attributes)
    return (np.arange(places.max() + 1)[:, None] == places).astype(float)


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


GROUPS = {
    "pairs": list(combinations("abcd", 2)),
    "a chain": [("b", "a"), ("b", "c"), ("d", "c")],
    "triples": list(combinations("abcd", 3)),
    "nested": [("a",), ("a", "b"), ("c", "b", "a"), ("d",), ("d", "c")],
    "two islands": [("a", "b"), ("b",), ("c", "d"), ("d",)],
}
each_group = pytest.mark.parametrize("groups", GROUPS)


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


@each_group
@each_method
@pytest.mark.parametrize("mechanism", ["grr", "oue"])
def test_tables_become_proper_and_agree_on_all_they_share(groups: str, method: Any, mechanism: str) -> None:
    tables = collected(GROUPS[groups], mechanism=mechanism)
    assert flat(tables).min() < 0
    assert disagreement(tables) > 0.01
    assert_consistent(make_consistent(tables, method))


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


@each_method
def test_a_single_table_becomes_proper(method: Any) -> None:
    tables = collected([("a", "d")], n=200)
    (fitted,) = make_consistent(tables, method)
    assert fitted.estimate.min() == 0
    assert fitted.estimate.sum() == pytest.approx(1, abs=1e-12)


@each_method
def test_a_table_of_a_part_pulls_the_whole_as_far_as_its_reports_reach(method: Any) -> None:
    pair = np.array([[0.3, 0.2], [0.2, 0.3]])
    single, domain = np.array([0.7, 0.3]), Domain({"a": [0, 1], "b": [0, 1]})
    both = [*derived(domain, {("a", "b"): pair}, 1e-4), *derived(domain, {("a",): single}, 1e-8)]
    fitted = make_consistent(TableSet(domain, both, PROMISE), method)
    assert_consistent(fitted)
    assert fitted["a"].estimate == pytest.approx(single, abs=1e-3)
    # equally precise cells share the change
    expected = [[0.4, 0.3], [0.1, 0.2]]
    if method != "l1":
        assert fitted["a", "b"].estimate == pytest.approx(np.array(expected), abs=1e-3)


def test_least_squares_pool_by_inverse_variances() -> None:
    domain, share = Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]}), np.array([[0.25, 0.25], [0.25, 0.25]])
    moved = share + np.array([[0.05], [-0.05]])
    both = [*derived(domain, {("a", "b"): share}, 1e-4, n=50), *derived(domain, {("a", "c"): moved}, 3e-4, n=1000)]
    fitted = make_consistent(TableSet(domain, both, PROMISE))
    # by hand: 0.5 and 0.6 with weights 3 to 1
    assert fitted["a", "b"].marginal("a").estimate == pytest.approx([0.525, 0.475], abs=1e-9)
    assert [table.n for table in fitted] == [50, 1000]


@pytest.mark.parametrize("method", METHODS)
@each_group
def test_what_agrees_already_comes_back_unchanged(groups: str, method: Any) -> None:
    joint = people(FOUR, 10**6, seed=2, concentration=1.0).ravel() / 10**6
    exact = {group: np.bincount(FOUR.onto(group), joint).reshape(FOUR.project(group).shape) for group in GROUPS[groups]}
    tables = derived(FOUR, exact)
    assert flat(make_consistent(tables, method)) == pytest.approx(flat(tables), abs=1e-9)


@each_method
def test_consistent_tables_stay_as_they_are(method: Any) -> None:
    once = make_consistent(collected(GROUPS["triples"]), method)
    assert flat(make_consistent(once, method)) == pytest.approx(flat(once), abs=1e-7)


@each_method
@each_group
def test_the_order_of_tables_and_of_attributes_does_not_matter(groups: str, method: Any) -> None:
    tables = collected(GROUPS[groups], mechanism="oue")
    turned = [table.reordered(table.attributes[::-1]) for table in tables]
    expected, fitted = make_consistent(tables, method), make_consistent(TableSet(FOUR, turned[::-1], PROMISE), method)
    assert [table.attributes for table in fitted] == [table.attributes for table in turned[::-1]]
    for table in expected:
        other = fitted[table.attributes]
        assert other.estimate == pytest.approx(table.estimate, abs=1e-6)
        assert other.covariance == pytest.approx(table.covariance, rel=1e-9, abs=1e-15)


def renamed(table: Table, orders: dict[str, Array], domain: Domain) -> Table:
    """Return a table with its categories in another order."""
    index = np.arange(table.domain.size()).reshape(table.shape)[np.ix_(*[orders[name] for name in table.attributes])]
    cells, places = table.cells, index.ravel()
    if table.blocks:
        blocks = [
            replace(one, question=replace(one.question, shape=index.shape, classes=tuple(one.classes[places].tolist())))
            for one in table.blocks
        ]
        return Table(domain.project(table.attributes), tuple(blocks), PROMISE)
    moved = Estimate(cells.estimate[places], cells.covariance[np.ix_(places, places)], table.n, PROMISE)
    return Table(domain.project(table.attributes), (), PROMISE, figures=Figures(moved))


@each_method
@each_group
def test_the_order_of_categories_does_not_matter(groups: str, method: Any) -> None:
    tables, rng = collected(GROUPS[groups], seed=8), np.random.default_rng(9)
    orders = {name: rng.permutation(size) for name, size in zip(FOUR.names, FOUR.shape, strict=True)}
    domain = Domain({name: [FOUR.categories[name][place] for place in order] for name, order in orders.items()})
    fitted = make_consistent(tables, method)
    again = make_consistent(TableSet(domain, [renamed(table, orders, domain) for table in tables], PROMISE), method)
    for table, other in zip(fitted, again, strict=True):
        expected = renamed(table, orders, domain)
        assert other.estimate == pytest.approx(expected.estimate, abs=1e-6)
        assert other.covariance == pytest.approx(expected.covariance, rel=1e-9, abs=1e-15)


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
        assert np.linalg.matrix_rank(own.sums) == len(own.sums) == len(own.places)
    counts = np.bincount(np.concatenate([own.places for own in held]))
    assert counts[0] == len(found)
    assert counts[1:].min() >= 2
    equations, _ = agreement_by_definition(found)
    assert null_space(equations).shape[1] == equations.shape[1] - len(found) - (counts[1:] - 1).sum()


@each_group
def test_away_from_zero_least_squares_are_the_linear_fit(groups: str) -> None:
    even = np.full(FOUR.shape, 3000)
    tables = SampledGroups(FOUR, epsilon=3.0, mechanism="grr", groups=GROUPS[groups]).simulate(even, rng=12)
    found = marginals(tables)
    linear = np.concatenate(AgreeingFit(found, shared_quantities(found)).tables([one.estimate for one in found]))
    assert linear.min() > 0
    assert flat(make_consistent(tables)) == pytest.approx(linear, abs=1e-9)


def test_standard_errors_are_those_of_repeated_collections() -> None:
    """Sums of 250 squared errors, divided by their mean variance: a false-failure rate of 1e-6 for each cell."""
    frequencies = np.random.default_rng(13).dirichlet(np.full(FOUR.size(), 20.0))
    protocol = SampledGroups(FOUR, epsilon=3.0, mechanism="grr", groups=GROUPS["nested"])
    rng, squares, variances, runs = np.random.default_rng(14), 0.0, 0.0, 250
    for _ in range(runs):
        joint = rng.multinomial(40_000, frequencies).reshape(FOUR.shape)
        found = marginals(protocol.simulate(joint, rng=rng))
        fit = AgreeingFit(found, shared_quantities(found))
        fitted = np.concatenate(fit.tables([one.estimate for one in found]))
        squares += (fitted - truth(frequencies, found)) ** 2
        variances += np.concatenate([np.diagonal(one) for one in fit.covariances()]) / runs
    lower, upper = chi2.ppf([5e-7, 1 - 5e-7], runs)
    assert np.all((lower < squares / variances) & (squares / variances < upper))


def truth(frequencies: Array, found: list[Marginal]) -> Array:
    joint = Marginal(FOUR.names, FOUR.shape, frequencies, np.eye(FOUR.size()), 1)
    return np.concatenate([joint.summed(one.attributes) for one in found])


def test_what_tables_share_is_more_precise_than_in_any_of_them_and_equally_so_in_all() -> None:
    tables = collected(GROUPS["pairs"])
    fitted = make_consistent(tables)
    for name in FOUR.names:
        before = [table.marginal(name).covariance for table in tables if name in table.attributes]
        first, *others = [table.marginal(name).covariance for table in fitted if name in table.attributes]
        for covariance in others:
            assert covariance == pytest.approx(first, abs=1e-15)
        assert np.all(np.diagonal(first) < np.diagonal(before, axis1=1, axis2=2).min(axis=0))


def test_tables_keep_their_attributes_reports_promises_and_origin() -> None:
    protocol = SampledGroups(FOUR, epsilon=1.0, groups=[("c", "a"), ("b", "c"), ("d",)])
    codes = np.stack(np.unravel_index(np.arange(72), FOUR.shape), axis=1)
    frame: pd.DataFrame = FOUR.decode(np.tile(codes, (5, 1)))
    secret, simulated = protocol.collect(frame), protocol.collect(frame, rng=1)
    for tables in (secret, simulated):
        fitted = make_consistent(tables)
        assert fitted.privacy == tables.privacy
        assert fitted.domain == tables.domain
        for table, other in zip(tables, fitted, strict=True):
            kept = (table.attributes, table.shape, table.n, table.privacy)
            assert (other.attributes, other.shape, other.n, other.privacy) == kept
            assert other.simulated == (table.n if tables is simulated else 0)
            assert other.method == "consistent (l2)"
            assert "Made consistent with the other tables of its set (l2)" in str(other.summary())
            assert other.conf_int().shape == (*table.shape, 2)


def test_the_given_tables_are_left_as_they_were() -> None:
    tables = collected(GROUPS["pairs"])
    before, text = flat(tables).tolist(), tables.to_json()
    make_consistent(tables)
    assert flat(tables).tolist() == before
    assert tables.to_json() == text


def test_other_estimates_of_the_same_reports_change_nothing() -> None:
    tables = collected(GROUPS["a chain"])
    assert flat(make_consistent(tables.estimated_by("mle"))).tolist() == flat(make_consistent(tables)).tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "l3"}, r"method = 'l3'. Allowed: 'l2', 'l1', 'elastic-net'"),
        ({"method": None}, "method = None"),
        ({"method": ["l2"]}, r"method = \['l2'\]"),
        *[
            ({"method": "elastic-net", "gamma": gamma}, "a number from 0 to 1")
            for gamma in (-0.1, 1.1, np.nan, np.inf, True, "0.5", None)
        ],
        ({"method": "l1", "gamma": 0.3}, "gamma with method = 'elastic-net' only"),
        ({"gamma": 2}, "gamma = 2. Allowed: a number from 0 to 1"),
    ],
)
def test_unknown_methods_and_weights_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(LdpstatsError, match=words):
        make_consistent(collected([("a",)]), **options)


def test_what_are_no_tables_is_refused() -> None:
    tables = collected([("a", "b")])
    for given in (tables["a", "b"], [tables["a", "b"]], None, GRR(3, 1.0)):
        with pytest.raises(LdpstatsError, match="a TableSet"):
            make_consistent(given)
    with pytest.raises(LdpstatsError, match="no tables"):
        make_consistent(TableSet(FOUR, [], PROMISE))


def test_tables_without_reports_are_named() -> None:
    tables = SampledGroups(FOUR, groups=[("a", "b"), ("c",), ("d", "a")], epsilon=1.0).simulate(
        np.zeros(FOUR.shape, int), rng=1
    )
    with pytest.raises(LdpstatsError, match=r"without a single report: \('a', 'b'\), \('c',\), \('d', 'a'\)"):
        make_consistent(tables)
    single = SampledGroups(FOUR, groups=[("a", "b")], epsilon=1.0).simulate(
        np.eye(1, 72, dtype=int).reshape(FOUR.shape), rng=1
    )
    with pytest.raises(LdpstatsError, match="a table of a and b without finite variances"):
        make_consistent(single)


def test_derived_tables_without_a_covariance_are_refused() -> None:
    unknown = Estimate(np.array([0.5, 0.5]), np.full((2, 2), np.inf), 10, PROMISE)
    table = Table(FOUR.project(["a"]), (), PROMISE, figures=Figures(unknown))
    with pytest.raises(LdpstatsError, match="a table of a without finite variances"):
        make_consistent(TableSet(FOUR, [table], PROMISE))


@each_group
def test_a_rough_solution_is_made_proper_and_consistent(groups: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tables, rng, solve = collected(GROUPS[groups]), np.random.default_rng(15), agreeing_programs._least_moves
    fitted = flat(make_consistent(tables))
    monkeypatch.setattr(
        agreeing_programs, "_least_moves", lambda *given: solve(*given) + rng.normal(0, 1e-7, given[2].size)
    )
    rough = make_consistent(tables)
    assert_consistent(rough)
    assert flat(rough) == pytest.approx(fitted, abs=1e-6)


def test_a_solution_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = collected(GROUPS["pairs"])
    for wrong in (0.0, np.nan):
        monkeypatch.setattr(
            agreeing_programs, "_least_moves", lambda *_, wrong=wrong: np.full(flat(tables).size, wrong)
        )
        with pytest.raises(LdpstatsError, match="the solver finds no consistent ones"):
            make_consistent(tables)


@each_method
def test_a_solver_that_gives_up_is_heard(method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def gives_up(*_: Any, **_options: Any) -> None:
        raise cvxpy.SolverError("no luck")

    tables = collected(GROUPS["pairs"])
    monkeypatch.setattr(cvxpy.Problem, "solve", gives_up)
    with pytest.raises(LdpstatsError, match="no luck"):
        make_consistent(tables, method)


def test_what_is_shown_is_in_its_interval() -> None:
    domain = Domain({"a": ["x", "y", "z"], "b": ["u", "v"]})
    protocol = SampledGroups(domain, epsilon=1.0, groups=[("a", "b"), ("b",)], mechanism="hr")
    table = make_consistent(protocol.simulate(np.array([150, 50, 0, 0, 0, 100]), rng=6))["a", "b"]
    limits = table.conf_int()
    # the fit before the bound at zero is so far below it that its normal interval ends there
    assert np.any(table.unbiased.estimate + 2 * table.unbiased.std_err < 0)
    assert np.all((limits[..., 0] <= table.estimate) & (table.estimate <= limits[..., 1]))


def test_intervals_of_few_reports_are_students_with_one_degree_of_freedom_less() -> None:
    domain = Domain({"a": ["x", "y"], "b": ["u", "v"], "c": ["p", "q"]})
    protocol = SampledGroups(domain, epsilon=6.0, groups=[("a", "b"), ("b", "c")], mechanism="hr")
    for table in make_consistent(protocol.simulate(np.full(8, 10), rng=1)):
        assert table.n == 40
        assert table.figures is not None
        fit = table.figures.shown.limits
        assert isinstance(fit, LimitsOfTheFit)
        limits = replace(fit, blocks=()).limits(0.05)
        length = 2 * student.isf(0.025, table.n - 1) * table.std_err.ravel()
        assert limits[:, 1] - limits[:, 0] == pytest.approx(length)
