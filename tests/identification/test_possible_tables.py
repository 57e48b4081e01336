"""Extremes over all possible tables: conditional proportions are least quotients."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from support.measured_sums import ABC, BITS, CHAIN, MANY, PAIRS, Array, margins, measured, some_joint, sums_of, xor

import ldpstats as ldp
from ldpstats import Domain
from ldpstats.identification import bounds_of
from ldpstats.identification.identified import Identified, radius
from ldpstats.identification.possible_tables import (
    Pointwise,
    WholeTable,
    confidence_set,
    nearest_among,
    nearest_table,
    same_sums,
)


@pytest.mark.parametrize("groups", [CHAIN, [("a", "b"), ("b",)], PAIRS])
def test_conditional_proportions_are_least_quotients(groups: list[tuple[str, ...]]) -> None:
    """At the least quotient β, and at no other number, the least of c·p - β d·p is zero."""
    one = measured(ABC, groups, some_joint(ABC, 6, 2.0), 4000, seed=1)
    found = bounds_of(ABC, one, ["a", "b", "c"], simultaneous=True)
    identified = Identified.of(one)
    known, within = same_sums(identified, nearest_table(identified)[0]), confidence_set(identified, 0.05)
    parts = sums_of(ABC, ("b", "a", "c")).reshape(3, 4, -1)
    frame = found.conditional(["a", "c"], given=["b"])
    assert frame.index.names == ["b", "a", "c"]
    limits = frame.to_numpy().reshape(3, 4, 4)
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


@pytest.mark.parametrize(("mechanism", "n", "epsilon"), [("grr", 40, 1.0), ("oue", 600, 5.0), ("ss", 30_000, 2.0)])
def test_exchanges_of_empty_cells_find_what_the_solver_finds(mechanism: str, n: int, epsilon: float) -> None:
    domain = ldp.Domain({"a": list("uvwx"), "b": list("klmno")})
    truth = np.random.default_rng(3).multinomial(n, np.random.default_rng(4).dirichlet(np.full(20, 0.4)))
    table = ldp.SampledGroups(domain, epsilon=epsilon, mechanism=mechanism).simulate(truth, rng=1)["a", "b"]
    identified = Identified.of(table.measured_cells)
    whole, rows = WholeTable.of(identified), np.vstack([np.eye(20), -np.eye(20), np.repeat(np.eye(4), 5, axis=1)])
    assert whole is not None
    by_exchange, by_solver = (confidence_set(identified, 0.05, whole=one).least(rows) for one in (whole, None))
    np.testing.assert_allclose(by_exchange, by_solver, atol=1e-6)
    for possible in (np.arange(20) != 7, np.arange(20) == 7):
        found, solved = (nearest_among(identified, possible, one) for one in (whole, None))
        assert found.distance == pytest.approx(solved.distance, rel=1e-4)
        np.testing.assert_allclose(found.table[possible], solved.table, atol=1e-4)
    known = nearest_table(identified).table
    np.testing.assert_allclose(same_sums(identified, known, whole).least(rows), rows @ known, atol=1e-9)


def test_open_contrasts_are_left_to_the_solver() -> None:
    assert WholeTable.of(Identified.of(measured(ABC, CHAIN, some_joint(ABC, 4), MANY))) is None


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


@pytest.mark.parametrize("seed", range(1, 3))
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
        "a is c, both independent of b": (four, CHAIN, alike, -sums_of(four, ("a", "c"))[1]),
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
