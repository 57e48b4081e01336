"""Adjusted residuals: Haberman's without noise, of variance one under independence, and refused where nothing tells."""

from __future__ import annotations

from math import inf
from unittest.mock import patch

import numpy as np
import pytest
from numpy.typing import NDArray
from statsmodels.stats.contingency_tables import Table as ClassicalTable
from support.blocks_of_reports import faked, multinomial_tallies
from support.two_way_tables import table_of

import ldpstats as ldp
from ldpstats.noise import MultinomialNoise, Tally
from ldpstats.tables import unbiased_cells as residuals_of
from ldpstats.tables.unbiased_cells import AdjustedResiduals, adjusted_residuals, covariance_of_interactions

COUNTS = np.array([[400, 100, 210], [300, 150, 450]])
DOMAIN = ldp.Domain({"row": ["x", "y"], "column": ["p", "q", "r"], "third": [1, 2]})


def residuals(table: ldp.Table) -> AdjustedResiduals:
    return adjusted_residuals(table, table.attributes[:1], table.attributes[1:])


def three_way(mechanism: str = "grr", epsilon: float = 3.0) -> ldp.Table:
    people = np.arange(12)[::-1] * 50 + np.array([90, 10] * 6)
    return ldp.SampledGroups(DOMAIN, k=3, epsilon=epsilon, mechanism=mechanism).simulate(people, rng=1)[DOMAIN.names]


@pytest.mark.parametrize("counts", [COUNTS, COUNTS.T, COUNTS[:, :2], np.arange(1, 21).reshape(4, 5) ** 2])
@pytest.mark.parametrize(("mechanism", "within"), [("grr", 1e-9), ("hr", 1e-9), ("sue", 1e-2)])
def test_without_noise_they_are_those_of_haberman(counts: NDArray[np.int64], mechanism: str, within: float) -> None:
    """Symmetric unary encoding has the noise of half a level: of two thirtieths, e^-15 remains."""
    domain = ldp.Domain({name: range(size) for name, size in zip("ab", counts.shape, strict=True)})
    protocol = ldp.SampledGroups(domain, epsilon=30.0, mechanism=mechanism)
    table = protocol.simulate(counts.ravel(), rng=1)["a", "b"]
    classical = ClassicalTable(counts.astype(float), shift_zeros=False)
    assert residuals(table).scaled == pytest.approx(classical.standardized_resids, abs=within)


def test_stacked_rows_are_one_attribute_of_all_their_combinations() -> None:
    table = three_way(epsilon=30.0)
    found = adjusted_residuals(table, ["row", "column"], ["third"])
    counts = np.rint(table.estimate.reshape(6, 2) * table.n)
    assert found.scaled == pytest.approx(ClassicalTable(counts).standardized_resids, abs=1e-9)


@pytest.mark.parametrize("n", [16, 32])
def test_the_variance_of_a_deviation_is_exact_under_independence(n: int) -> None:
    """Of all tallies of n reports through a channel, at the tally that shows independence exactly."""
    noise, margins = faked(0.5, *[0.25] * 4), ([0.5, 0.5], [0.25, 0.75])
    truth = np.outer(*margins)
    mean = 0.5 * truth.ravel() + 0.125
    moments = np.zeros((2, 2, 2))
    for counts, probability in multinomial_tallies(mean, n):
        cells = ((counts / n - 0.125) / 0.5).reshape(2, 2)
        deviation = cells - np.outer(cells.sum(axis=1), cells.sum(axis=0))
        moments += probability * np.stack([deviation, deviation**2])
    shown = residuals(table_of((2, 2), [Tally(noise, np.rint(n * mean).astype(int), n)]))
    assert moments[0] == pytest.approx(np.zeros((2, 2)), abs=1e-12)
    assert np.sqrt(moments[1]) == pytest.approx(shown.std_err, rel=1e-9)
    assert shown.expected == pytest.approx(truth, abs=1e-12)


def test_their_variance_under_independence_is_one() -> None:
    """Over all tallies of 16 reports whose margins are estimated above zero: .968, with all that so few reports do."""
    noise, n = faked(0.5, *[0.25] * 4), 16
    mean = 0.5 * np.outer([0.5, 0.5], [0.5, 0.5]).ravel() + 0.125
    total, moments = 0.0, np.zeros(2)
    for counts, probability in multinomial_tallies(mean, n):
        found = residuals(table_of((2, 2), [Tally(noise, counts, n)])).scaled[0, 0]
        if np.isfinite(found):
            total += probability
            moments += probability * np.array([found, found**2])
    assert total > 0.8
    assert moments[0] / total == pytest.approx(0, abs=1e-9)
    assert moments[1] / total == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(
    ("mechanism", "sides", "n", "tables"),
    [("oue", (8, 8), 100, 40), ("grr", (15, 20), 1000, 5), ("grr", (4, 5), 20, 60)],
)
def test_noise_that_is_larger_than_the_margins_looks_like_no_dependence(
    mechanism: str, sides: tuple[int, int], n: int, tables: int
) -> None:
    """To first order alone 6 to 39 in a hundred of them were beyond 1.96, and some beyond 10.

    Seeds are fixed: the shares are those of these tables, whose cells are not independent of each other.
    """
    domain = ldp.Domain({name: range(size) for name, size in zip("ab", sides, strict=True)})
    shares = [np.arange(size, 0, -1.0) ** 2 for size in sides]
    cells = np.outer(*shares).ravel() / np.outer(*shares).sum()
    protocol = ldp.SampledGroups(domain, epsilon=1.0, mechanism=mechanism)
    found = [
        residuals(protocol.simulate(np.random.default_rng(seed).multinomial(n, cells), rng=seed)["a", "b"]).scaled
        for seed in range(tables)
    ]
    sizes = np.abs(np.concatenate([one[np.isfinite(one)] for one in found]))
    assert sizes.size > 100
    assert (sizes > 1.96).mean() < 0.06
    assert sizes.max() < 8


def test_they_do_not_depend_on_the_order_of_attributes_and_categories() -> None:
    table = three_way("ss").marginal(["row", "column"])
    found = residuals(table)
    turned = residuals(table.reordered(["column", "row"]))
    assert turned.scaled == pytest.approx(found.scaled.T, abs=1e-9)
    assert found.deviation.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert found.deviation.sum(axis=1) == pytest.approx(np.zeros(2), abs=1e-12)


def test_covariances_of_deviations_are_the_same_in_parts() -> None:
    numbers = np.random.default_rng(1)
    half = numbers.standard_normal((2, 12, 12))
    row, column = (numbers.dirichlet(np.ones(size), 2) for size in (3, 4))
    known = half @ np.swapaxes(half, -1, -2), row[:, :, None], column[:, None, :]
    found = covariance_of_interactions(*known)
    for place in range(2):
        beside = np.kron(np.eye(3) - row[place][:, None], np.eye(4) - column[place][:, None])
        assert found[place] == pytest.approx(beside @ known[0][place] @ beside.T, abs=1e-12)
    with patch.object(residuals_of, "_AT_ONCE", 100):
        assert covariance_of_interactions(*known) == pytest.approx(found, abs=1e-14)


def test_tables_without_reports_of_their_own_have_the_covariance_of_their_estimate() -> None:
    table = ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0, mechanism="hr").simulate(np.full(12, 300), rng=1)
    added = three_way("hr").marginal(["row", "column"])
    assert added.figures
    assert not added.blocks
    found = residuals(added)
    square = added.unbiased.estimate.reshape(2, 3)
    # counts of cells by Hadamard response do not sum to one
    assert abs(square.sum() - 1) > 1e-4
    rows, columns = square.sum(axis=1) / square.sum(), square.sum(axis=0) / square.sum()
    assert found.expected == pytest.approx(np.outer(rows, columns) * square.sum())
    assert found.deviation.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    change = np.kron(np.eye(2) - rows[:, None], np.eye(3) - columns[:, None])
    variances = np.diagonal(change @ added.unbiased.covariance @ change.T).reshape(2, 3)
    assert found.std_err == pytest.approx(np.sqrt(variances), rel=1e-9)
    assert "those of the estimate" in found.approximate
    for other in (ldp.make_consistent(table)["row", "column"], table.pooled(["row", "column"])):
        assert np.isfinite(residuals(other).scaled).all()


def test_a_curators_noise_enters() -> None:
    people = np.array([40, 10, 20, 30, 15, 45, 40, 10, 20, 30, 15, 45]) * 20
    noisy, exact = (
        ldp.CentralLaplace(DOMAIN, k=2, epsilon=epsilon).simulate(people, rng=1)["row", "column"]
        for epsilon in (0.05, 100.0)
    )
    classical = ClassicalTable(people.reshape(2, 3, 2).sum(axis=2).astype(float)).standardized_resids
    assert residuals(exact).scaled == pytest.approx(classical, rel=1e-2)
    assert (residuals(noisy).std_err > 1.3 * residuals(exact).std_err).all()


def test_categories_that_are_not_estimated_above_zero_have_none_and_are_named() -> None:
    counts = np.array([[60, 0, 40], [30, 0, 50]])
    tally = Tally(MultinomialNoise(ldp.GRR(6, epsilon=30.0).noise.channel), counts.ravel(), 180)  # type: ignore[attr-defined]  # of this mechanism
    found = residuals(table_of((2, 3), [tally]))
    assert np.isnan(found.scaled[:, 1]).all()
    assert found.why_not == "not estimated above zero: column 1"
    classical = ClassicalTable(counts[:, [0, 2]].astype(float)).standardized_resids
    assert found.scaled[:, [0, 2]] == pytest.approx(classical, abs=1e-9)


@pytest.mark.parametrize("row", [[5, 7, 8], [0, 20, 0]])
def test_one_category_is_independent_of_everything(row: list[int]) -> None:
    noise = MultinomialNoise(ldp.GRR(6, epsilon=30.0).noise.channel)  # type: ignore[attr-defined]  # of this mechanism
    found = residuals(table_of((2, 3), [Tally(noise, np.array([*row, 0, 0, 0]), 20)]))
    assert np.isnan(found.scaled).all()
    assert "not estimated above zero: row 1" in found.why_not


def test_few_reports_and_none_give_reasons_instead_of_warnings() -> None:
    protocol = ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0, mechanism="grr", groups=[("row", "column")])
    for n in (1, 2, 3, 5, 20):
        for seed in range(20):
            people = np.random.default_rng(seed).multinomial(n, np.full(12, 1 / 12))
            found = residuals(protocol.simulate(people, rng=seed)["row", "column"])
            assert np.isfinite(found.scaled).all() == (found.why_not == "")
            assert inf not in np.abs(found.scaled)


def test_what_a_model_fills_in_is_no_evidence() -> None:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=4.0, groups=[("row", "column"), ("column", "third")])
    tables = protocol.simulate(np.arange(12) * 100 + 50, rng=1)
    for method in ("max-entropy", "l2"):
        found = residuals(ldp.reconstruct(tables, ["row", "third"], method, n_resamples=3))
        assert np.isnan(found.scaled).all()
        assert "fills in what the reports leave open" in found.why_not
    # those of a group that was asked are what its reports tell
    whole = ldp.reconstruct(tables, DOMAIN.names)
    assert np.isfinite(residuals(whole.marginal(["row", "column"])).scaled).all()
