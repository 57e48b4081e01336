"""The evidence of pairs: their p-values, what they share, redraws, confidence of edges, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import binom, false_discovery_control, kstest, norm

import ldpstats as ldp
from ldpstats import Domain, LdpstatsError
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.datasets import network
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import asymptotic_test
from ldpstats.networks import pair_evidence
from ldpstats.networks.interactions import plug_in_information
from ldpstats.networks.pair_estimates import PairSources
from ldpstats.networks.pair_evidence import (
    IndependenceAt,
    PairEvidence,
    asymptotic_pvalues,
    averaging_threshold,
    checked_pvalue,
    edge_confidence,
    product_of,
    redrawn_sets,
)
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import TableSet

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
    monkeypatch.setattr(pair_evidence, "automatic", None)
    for pvalue in (0.3, 1e-9):
        assert checked_pvalue(pool, shares(table), pvalue, 10, own=False) == pvalue


ASIA = network("asia")
EXACT = 60.0
FIGURES = ("information", "shrunken", "pvalue")


@pytest.fixture(scope="module")
def tables() -> TableSet:
    return ldp.SampledGroups(ASIA.domain, epsilon=4.0).simulate(ASIA.sample(50_000, 1), rng=1)


@pytest.fixture(scope="module")
def evidence(tables: TableSet) -> PairEvidence:
    return PairEvidence.of(tables)


def by_pair(evidence: PairEvidence) -> pd.DataFrame:
    rows = {frozenset(pair): place for place, pair in enumerate(evidence.pairs)}
    order = [rows[pair] for pair in sorted(rows, key=sorted)]
    return pd.DataFrame({figure: getattr(evidence, figure)[order] for figure in FIGURES})


def test_the_order_of_attributes_and_tables_changes_nothing(tables: TableSet, evidence: PairEvidence) -> None:
    names = tables.domain.names[::-1]
    turned = TableSet(tables.domain.project(names), list(tables)[::-1], tables.privacy)
    found = PairEvidence.of(turned)
    assert found.pairs[0] == names[:2]
    pd.testing.assert_frame_equal(by_pair(found), by_pair(evidence), rtol=1e-7, atol=1e-12)


def test_the_order_of_categories_changes_nothing() -> None:
    people = ASIA.sample(20_000, 2)
    turned = Domain({name: values[::-1] for name, values in ASIA.domain.categories.items()})
    # as good as without noise, so that both see the same
    found, other = (
        PairEvidence.of(ldp.ProductDomain(domain, epsilon=EXACT).simulate(people, rng=1))
        for domain in (ASIA.domain, turned)
    )
    pd.testing.assert_frame_equal(by_pair(found), by_pair(other), rtol=1e-6, atol=1e-9)


def test_as_good_as_without_noise_information_is_that_of_the_records() -> None:
    tables = ldp.ProductDomain(ASIA.domain, epsilon=EXACT).simulate(ASIA.sample(100_000, 3), rng=1)
    (whole,) = tables
    found = PairEvidence.of(tables)
    for pair, shrunken, information in zip(found.pairs, found.shrunken, found.information, strict=True):
        table = whole.marginal(pair)
        assert information == pytest.approx(ldp.mutual_information(table).estimate, rel=1e-3, abs=1e-8)
        # of next to nothing, what there is may be noise
        assert shrunken == pytest.approx(plug_in_information(table.estimate), rel=0.01, abs=5e-5)


def test_pvalues_are_adjusted_for_all_pairs(tables: TableSet, evidence: PairEvidence) -> None:
    assert np.array_equal(evidence.adjusted, false_discovery_control(evidence.pvalue))
    shared = PairEvidence.of(ldp.WholeView(ASIA.domain, epsilon=9.0).simulate(ASIA.sample(5000, 1), rng=1))
    assert np.array_equal(shared.adjusted, false_discovery_control(shared.pvalue, method="by"))
    assert tables.n == 50_000


def test_sets_are_drawn_again_as_often_as_asked_and_by_their_seed(evidence: PairEvidence) -> None:
    found, same = (list(evidence.redrawn(27, rng=5)) for _ in range(2))
    assert len(found) == 27
    assert all(np.array_equal(one.shrunken, other.shrunken) for one, other in zip(found, same, strict=True))
    strongest = int(np.argmax(evidence.shrunken))
    drawn = np.array([one.shrunken[strongest] for one in found])
    assert drawn.mean() == pytest.approx(evidence.shrunken[strongest], rel=0.05)
    assert drawn.std() > 0
    with pytest.raises(LdpstatsError, match="size"):
        next(evidence.redrawn(0))


@pytest.mark.parametrize("n", [3, 20, 200])
@pytest.mark.parametrize("epsilon", [1.0, EXACT])
def test_few_respondents_and_categories_nobody_has_leave_numbers(n: int, epsilon: float) -> None:
    people = ASIA.sample(n, 1).assign(asia="no", tub="no")
    evidence = PairEvidence.of(ldp.SampledGroups(ASIA.domain, epsilon=epsilon).simulate(people, rng=1))
    assert len(evidence.pairs) + len(evidence.sources.missing) == 28
    for found in (evidence, *evidence.redrawn(3, rng=1)):
        assert all(np.all(np.isfinite(getattr(found, figure))) for figure in FIGURES)
        assert found.shrunken.min() >= 0
    nothing = [place for place, pair in enumerate(evidence.pairs) if {"asia", "tub"}.intersection(pair)]
    assert evidence.pvalue[nothing].min() > 0.05 / 28


def test_pvalues_by_drawn_tables_are_fine_enough_for_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    domain, tests = Domain({name: ["x", "y"] for name in "abcd"}), list[int]()

    def seen(_: object, __: object, pvalue: float, among: int, **___: object) -> float:
        tests.append(among)
        return pvalue

    monkeypatch.setattr(pair_evidence, "checked_pvalue", seen)
    PairEvidence.of(ldp.SampledGroups(domain, epsilon=2.0).simulate(np.full(16, 50), rng=1))
    assert tests == [6] * 6


PAIRS = (("a", "b"), ("a", "c"), ("b", "c"))


def test_shares_of_networks_and_of_directions():
    networks = [
        ([("a", "b"), ("b", "c")], [("a", "b"), ("c", "b")]),
        ([("a", "b"), ("b", "c")], []),
        ([("a", "b")], {("a", "b"): "collider"}),
        ([], ()),
    ]
    joined, forward = edge_confidence(networks, PAIRS)
    np.testing.assert_array_equal(joined, [0.75, 0.0, 0.5])
    np.testing.assert_array_equal(forward, [2.5 / 3, np.nan, 0.25])


@pytest.mark.parametrize("seed", range(10))
def test_threshold_is_the_quantile_of_the_nearest_distribution_of_certain_edges(seed: int):
    rng = np.random.default_rng(seed)
    joined = np.round(rng.beta(0.4, 0.6, size=rng.integers(3, 20)), 2)
    ordered = np.sort(joined)

    def distance(share: float) -> float:
        def gap(x: float) -> float:
            return abs(np.searchsorted(ordered, x, side="right") / joined.size - share)

        return quad(gap, 0, 1, points=sorted({*ordered} - {0.0, 1.0}), limit=200)[0]

    candidates = np.arange(joined.size + 1) / joined.size
    share = min(candidates, key=distance)
    quantile = -1.0 if share == 0 else ordered[round(share * joined.size) - 1]
    averaged = joined >= averaging_threshold(joined)
    np.testing.assert_array_equal(averaged, joined > quantile)


@pytest.mark.parametrize(
    ("joined", "threshold"), [([0, 0, 1], 1.0), ([1, 1], 1.0), ([0, 0], 1.0), ([0.4], 1.0), ([0.6], 0.6)]
)
def test_threshold_of_few_pairs(joined: list[float], threshold: float):
    assert averaging_threshold(np.array(joined, dtype=float)) == threshold


def test_redrawn_sets_have_the_law_of_sets_with_the_estimated_tables():
    """False failures: 6 standard errors in each of 10 cells, 2e-8."""
    domain = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": ["u", "v"]})
    people = np.arange(1, 13) * 200
    base = ldp.SampledGroups(domain, epsilon=2.0, groups=[("a", "b"), ("a", "c")]).simulate(people, rng=1)
    drawn = list(redrawn_sets(base, 400, np.random.default_rng(2)))
    for table in base:
        again = [one[table.attributes] for one in drawn]
        assert {one.n for one in again} == {one.simulated for one in again} == {table.n}
        estimates = np.array([one.estimate for one in again])
        assert np.all(np.abs(estimates.mean(axis=0) - table.estimate) < 6 * table.std_err / 20)
        np.testing.assert_allclose(estimates.std(axis=0), table.std_err, rtol=0.2)


@pytest.mark.parametrize("mechanism", ["grr", "oue"])
def test_interactions_of_nothing_have_a_pvalue_of_one(mechanism: str) -> None:
    """Rounding makes a statistic of no interactions negative: in half of such sets."""
    domain = ldp.Domain({name: [0, 1] for name in "abcde"})
    protocol = ldp.SampledGroups(domain, epsilon=2.0, mechanism=mechanism)
    for seed in range(8):
        found = PairEvidence.of(protocol.simulate(np.full(domain.shape, 2), rng=seed))
        assert np.all((found.pvalue > 0) & (found.pvalue <= 1))
