"""Extremes over all possible tables: conditional proportions are least quotients."""

from __future__ import annotations

import numpy as np
import pytest
from support.measured_sums import ABC, CHAIN, MANY, PAIRS, measured, some_joint, sums_of

import ldpstats as ldp
from ldpstats.identification import bounds_of
from ldpstats.identification.identified import Identified
from ldpstats.identification.possible_tables import (
    WholeTable,
    confidence_set,
    nearest_among,
    nearest_table,
    same_sums,
)


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
