"""Independence of pairs: the engine's Wald statistic, with margins from elsewhere, and levels where cells are rare."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chi2, kstest, norm

import ldpstats as ldp
from ldpstats import Domain
from ldpstats.arrays import FloatArray
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import asymptotic_test
from ldpstats.networks import pair_tests
from ldpstats.networks.pair_estimates import PairSources
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.pair_tests import IndependenceAt, asymptotic_pvalues, checked_pvalue, product_of

PAIR = Domain({"a": ["x", "y"], "b": ["x", "y", "z"]})


def shares(table: ldp.Table) -> tuple[FloatArray, FloatArray]:
    cells = table.estimate / table.estimate.sum()
    return cells.sum(axis=1)[None], cells.sum(axis=0)[None]


@pytest.mark.parametrize("mechanism", ["grr", "oue", "ss"])
def test_at_a_tables_own_margins_it_is_the_engines_wald_test(mechanism: str) -> None:
    protocol = ldp.SampledGroups(PAIR, epsilon=2.0, mechanism=mechanism)
    table = protocol.simulate(np.array([300, 200, 100, 200, 100, 300]), rng=1)["a", "b"]
    (pool,) = PairSources.of(PAIR, [table]).pools.values()
    margins = shares(table)
    statistic = IndependenceAt.of(margins, pool.covariance(product_of(margins)), own=False)
    value, pvalue, df = asymptotic_test(table, ProductOfConditionals.independent((2, 3)), "wald")
    assert statistic.df == df
    assert statistic.measure(table.estimate.reshape(1, -1)).item() == pytest.approx(value, rel=1e-6)
    found = asymptotic_pvalues(pool, table.estimate.reshape(1, -1), margins, own=False)
    assert found.item() == pytest.approx(pvalue, rel=1e-5)


def test_margins_that_are_the_tables_own_cost_the_variance_of_their_product() -> None:
    table = ldp.SampledGroups(PAIR, epsilon=1.0).simulate(np.array([30, 20, 10, 20, 10, 30]), rng=1)["a", "b"]
    (pool,) = PairSources.of(PAIR, [table]).pools.values()
    margins = shares(table)
    with_product, without = (
        IndependenceAt.of(margins, pool.covariance(product_of(margins)), own=own) for own in (True, False)
    )
    gained = np.linalg.inv(with_product.inverse[0]) - np.linalg.inv(without.inverse[0])
    assert np.linalg.eigvalsh(gained).min() > 0


def test_margins_that_other_tables_know_badly_cost_the_variance_of_their_errors() -> None:
    rng, size = np.random.default_rng(1), 20_000
    true = np.array([0.2, 0.8]), np.array([0.3, 0.5, 0.2])
    wide = [0.003 * (np.eye(one.size) - 1 / one.size) for one in true]
    # of 4,000 respondents without noise
    cells = np.outer(*true).ravel()
    narrow = (np.diag(cells) - np.outer(cells, cells)) / 4000
    first, second = (rng.multivariate_normal(*both, size=size) for both in zip(true, wide, strict=True))
    drawn = rng.multivariate_normal(cells, narrow, size=size)
    with_errors, without = (
        IndependenceAt.of((first, second), narrow, own=False, errors=errors).measure(drawn)
        for errors in ((wide[0], wide[1]), None)
    )
    # χ²₂ has the mean 2 and the standard deviation 2; a product of errors has longer tails
    for statistic, holds in ((with_errors, True), (without, False)):
        error = statistic.std() / np.sqrt(size)
        assert bool(statistic.mean() < 2 + norm.isf(FALSE_FAILURE_RATE) * error) == holds


def test_pvalues_of_independent_attributes_are_uniform() -> None:
    domain = Domain({name: ["x", "y", "z"] for name in "abcd"})
    protocol = ldp.SampledGroups(domain, epsilon=3.0)
    people = np.full(81, 400)
    found = [PairEvidence.of(protocol.simulate(people, rng=seed)).pvalue for seed in range(25)]
    assert kstest(np.concatenate(found), "uniform").pvalue > FALSE_FAILURE_RATE


def test_rare_reports_are_tested_by_monte_carlo() -> None:
    domain, runs, level = Domain({"a": ["x", "y"], "b": ["x", "y"]}), 300, 0.01
    law = np.outer([0.02, 0.98], [0.03, 0.97]).ravel()
    protocol, rng = ldp.SampledGroups(domain, epsilon=9.0), np.random.default_rng(1)
    margins = np.array([[0.02, 0.98]]), np.array([[0.03, 0.97]])
    found, plain = [], []
    for _ in range(runs):
        (pool,) = PairSources.of(domain, protocol.simulate(rng.multinomial(150, law), rng=rng)).pools.values()
        table = pool.mean([pool.blocks[0].tally.noise.debias(pool.blocks[0].tally.proportions)[None]])
        plain.append(asymptotic_pvalues(pool, table, margins, own=False).item())
        found.append(checked_pvalue(pool, margins, plain[-1], 1, own=False))
    most = binom.isf(FALSE_FAILURE_RATE, runs, level)
    assert (np.array(found) <= level).sum() <= most
    # and χ² alone would not do
    assert (np.array(plain) <= level).sum() > most


def test_pvalues_that_do_not_matter_or_are_not_in_doubt_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    table = ldp.SampledGroups(PAIR, epsilon=2.0).simulate(np.array([300, 200, 100, 200, 100, 300]), rng=1)["a", "b"]
    (pool,) = PairSources.of(PAIR, [table]).pools.values()
    monkeypatch.setattr(pair_tests, "MonteCarlo", None)
    for pvalue in (0.3, 1e-9):
        assert checked_pvalue(pool, shares(table), pvalue, 10, own=False) == pvalue


def test_a_tail_is_a_survival_function() -> None:
    table = ldp.SampledGroups(PAIR, epsilon=8.0).simulate(np.array([9, 0, 0, 0, 0, 9]) * 1000, rng=1)["a", "b"]
    (pool,) = PairSources.of(PAIR, [table]).pools.values()
    margins = shares(table)
    value = IndependenceAt.of(margins, pool.covariance(product_of(margins)), own=False).measure(
        table.estimate.reshape(1, -1)
    )
    found = asymptotic_pvalues(pool, table.estimate.reshape(1, -1), margins, own=False).item()
    assert found == pytest.approx(chi2.sf(value.item(), 2))
