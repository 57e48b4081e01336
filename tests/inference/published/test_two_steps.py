"""The two steps of Imran & Meo against their definitions, linear programming and Pearson's formula."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from support.published_formulas import elastic_net, pearson

from ldpstats.inference.published.imran_meo import proper_table
from ldpstats.inference.published.published_result import RULES, Rule, accepted_by, chi_square


@pytest.mark.parametrize("gamma", [0.0, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("cells", [4, 12])
def test_the_elastic_net_is_the_projection_for_every_gamma_below_one(gamma: float, cells: int) -> None:
    rng = np.random.default_rng(cells)
    for n, total in product((100.0, 8000.0), (0.6, 1.0, 1.4)):
        noisy = rng.normal(total / cells, 0.2, cells) * n
        assert np.abs(proper_table(noisy, n, gamma) - elastic_net(noisy, n, gamma)).max() < 1e-6 * n


@pytest.mark.parametrize("total", [0.5, 1.0, 1.6])
def test_at_gamma_one_the_table_is_a_best_vertex_of_the_linear_program(total: float) -> None:
    rng, cells, n = np.random.default_rng(3), 6, 50.0
    tables = rng.normal(total / cells, 0.25, (20, cells)) * n
    found = proper_table(tables, n, gamma=1)
    shuffle = rng.permutation(cells)
    assert np.allclose(proper_table(tables[:, shuffle], n, gamma=1), found[:, shuffle])
    for noisy, table in zip(tables, found, strict=True):
        least = linprog(
            np.append(np.zeros(cells), np.ones(cells)),
            A_ub=np.block([[np.eye(cells), -np.eye(cells)], [-np.eye(cells), -np.eye(cells)]]),
            b_ub=np.append(noisy, -noisy),
            A_eq=np.append(np.ones(cells), np.zeros(cells))[None],
            b_eq=[n],
        ).fun
        assert np.abs(noisy - table).sum() == pytest.approx(least, rel=1e-9)
        assert table.sum() == pytest.approx(n)
        assert table.min() >= 0
        # a vertex: no more than one cell is neither zero nor as it was
        assert np.count_nonzero((table > 1e-9) & (np.abs(table - noisy) > 1e-9)) <= 1


def test_the_statistic_of_many_tables_is_pearsons_of_each() -> None:
    tables = np.random.default_rng(1).integers(1, 60, (30, 24)).astype(float)
    found = chi_square(tables, (4, 6))
    assert found.statistic == pytest.approx([pearson(one.reshape(4, 6)) for one in tables], rel=1e-12)
    three = chi_square(tables, (2, 3, 4))
    assert three.statistic == pytest.approx([pearson(one.reshape(2, 3, 4)) for one in tables], rel=1e-12)
    assert three.small.tolist() == (tables < 5).sum(axis=1).tolist()


def test_tables_of_zeros_have_no_dependence() -> None:
    found = chi_square(np.array([[0.0, 0, 0, 0], [7, 0, 3, 0], [0, 0, 9, 0]]), (2, 2))
    assert found.statistic.tolist() == [0, 0, 0]
    assert found.expected[0].tolist() == [0.25] * 4


SMALL = [
    # observed cells below 5, drawn tables with such a cell, and who accepts
    (0, 0, ()),
    (0, 1, ("any table",)),
    (1, 0, ("any table", "observed table")),
    (2, 7, ("any table", "observed table", "two cells")),
]


@pytest.mark.parametrize(("cells", "tables", "accepting"), SMALL)
def test_rules_accept_what_they_say(cells: int, tables: int, accepting: tuple[Rule, ...]) -> None:
    assert tuple(rule for rule in RULES if accepted_by(rule, cells, tables)) == accepting


def test_a_cell_of_exactly_five_is_not_small() -> None:
    assert chi_square(np.array([[5.0, 4.999, 5.001, 80]]), (2, 2)).small.tolist() == [1]
