"""The two-step test: classical answers without noise, brute force, rules, refusals; the naive test; nearest tables."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.stats import chi2, chi2_contingency
from statsmodels.stats.contingency_tables import Table as ClassicTable
from support.noisy_tables import seen
from support.published_formulas import elastic_net, pearson

from ldpstats import RRBA, CentralLaplace, Domain, LdpstatsError, NotIdentifiedError, SampledGroups, Table
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.monte_carlo import MonteCarlo
from ldpstats.inference.published import PublishedResult, naive_test, two_step_test
from ldpstats.inference.published.imran_meo import noisy_table, proper_table
from ldpstats.inference.published.published_result import RULES, Rule, accepted_by, chi_square
from ldpstats.noise import MultinomialNoise, Tally, TruthOrFake
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols.central import CentralGaussian

PAIR = Domain({"row": ["a", "b"], "column": ["x", "y"]})
PERFECT = MultinomialNoise(TruthOrFake(1.0, (0.25,) * 4))
HALF = MultinomialNoise(TruthOrFake(0.5, (0.25,) * 4))
HAIR_EYE = np.array([[68, 119, 26, 7], [20, 84, 17, 94], [15, 54, 14, 10], [5, 29, 14, 16]])  # Snee 1974


def table_of(*tallies: list[int], noise: MultinomialNoise = HALF) -> Table:
    question = Question(("row", "column"), (2, 2), (0, 1, 2, 3))
    blocks = tuple(Block(question, Tally(noise, np.array(counts), sum(counts))) for counts in tallies)
    return Table(PAIR, blocks, PrivacyStatement(math.inf, "a report"))


@pytest.mark.parametrize("counts", [HAIR_EYE, HAIR_EYE[:2, :2], np.arange(2, 26).reshape(2, 3, 4)])
def test_without_noise_the_statistic_is_that_of_scipy_and_statsmodels(counts: NDArray[np.int64]) -> None:
    table = seen(counts)
    classic = chi2_contingency(counts, correction=False)
    result = two_step_test(table, rule="none", rng=1)
    assert result.statistic == pytest.approx(classic.statistic, rel=1e-10)
    assert result.expected * counts.sum() == pytest.approx(classic.expected_freq, rel=1e-10)
    for on in ("reports", "debiased"):
        naive = naive_test(table, on)
        assert (naive.statistic, naive.pvalue) == pytest.approx((classic.statistic, classic.pvalue), rel=1e-9)
        assert naive.threshold == pytest.approx(chi2.isf(0.05, classic.dof))
    if counts.ndim == 2:
        nominal = ClassicTable(counts, shift_zeros=False).test_nominal_association()
        assert result.statistic == pytest.approx(nominal.statistic, rel=1e-10)


def brute_force(table: Table, n_resamples: int, seed: int) -> NDArray[np.float64]:
    """Draw one block's tables at the fit and measure each by itself, with the general solver for the projection."""
    (block,), rng, n = table.blocks, np.random.default_rng(seed), table.n

    def measured(reports: NDArray[np.int64]) -> tuple[float, NDArray[np.float64]]:
        inverted = (reports / n - 0.5 * 0.25) / 0.5
        cells = elastic_net(n * inverted, n, 0.01).reshape(2, 2)
        return pearson(cells), np.outer(cells.sum(axis=1), cells.sum(axis=0)).ravel() / cells.sum() ** 2

    observed, null = measured(block.tally.counts)
    drawn = rng.multinomial(n, 0.5 * null + 0.5 * 0.25, size=n_resamples)
    return np.array([observed, *(measured(one)[0] for one in drawn)])


@pytest.mark.parametrize(("alpha", "n_resamples"), [(0.05, 39), (0.1, 19), (0.25, 30)])
def test_the_threshold_is_the_right_order_statistic_by_brute_force(alpha: float, n_resamples: int) -> None:
    table = table_of([130, 80, 90, 120])
    observed, *drawn = brute_force(table, n_resamples, 7)
    result = two_step_test(table, alpha, n_resamples=n_resamples, rule="none", rng=7)
    ranked, place = sorted(drawn), math.ceil((n_resamples + 1) * (1 - alpha) - 1e-9)
    assert result.statistic == pytest.approx(observed, rel=1e-5)
    assert result.threshold == pytest.approx(ranked[place - 1], rel=1e-4, abs=1e-5)
    assert result.pvalue == (1 + sum(one >= observed for one in drawn)) / (1 + n_resamples)


def test_the_threshold_and_the_p_value_decide_alike() -> None:
    """Also where (l + 1)(1 - alpha) is whole, and the p-value alpha itself is attained."""
    rng, decisions, attained = np.random.default_rng(5), set(), 0
    for seed in range(300):
        table = table_of(rng.multinomial(400, [0.3, 0.2, 0.2, 0.3]).tolist())
        result = two_step_test(table, 0.2, n_resamples=9, rule="none", rng=seed)
        assert result.rejected == (result.pvalue <= 0.2)
        assert result.rejected == (result.statistic > result.threshold)
        attained += result.pvalue == 0.2
        decisions.add(result.rejected)
    assert decisions == {True, False}
    assert attained


def test_a_share_of_the_tables_is_not_rounded_past_a_whole_number() -> None:
    """In doubles 1000 (1 - .07) is 929.9999..., and 100 (1 - .29) 71.00000000000001 under other roundings."""
    for alpha, n_resamples, place in ((0.07, 999, 930), (0.29, 99, 71), (0.1, 9, 9), (0.05, 19, 19), (0.3, 12, 10)):
        result = two_step_test(table_of([130, 80, 90, 120]), alpha, n_resamples=n_resamples, rule="none", rng=3)
        reached = round(result.pvalue * (n_resamples + 1)) - 1
        below = np.count_nonzero(_statistics(n_resamples) < result.threshold)
        assert below == place - 1
        assert result.rejected == (reached <= n_resamples - place)


def _statistics(n_resamples: int) -> NDArray[np.float64]:

    table = table_of([130, 80, 90, 120])
    noisy = noisy_table(table.blocks, "unbiased")
    result = two_step_test(table, rule="none", rng=3)
    drawn = MonteCarlo(n_resamples, 3)
    return noisy.redrawn(result.expected.ravel(), table, 0.01, drawn)[0]


def table_of_kind(kind: str) -> Table:
    joint, rng = np.array([700, 300, 400, 600]), np.random.default_rng(1)
    curators = {"laplace": CentralLaplace, "gaussian": CentralGaussian}
    if kind == "uneven rrba":
        channels = [TruthOrFake(0.3, (0.7, 0.1, 0.1, 0.1)), TruthOrFake(0.5, (0.1, 0.1, 0.1, 0.7))] * 2
        question = Question(("row", "column"), (2, 2), (0, 1, 2, 3))
        tallies = [Tally(noise, noise.simulate(joint // 2, rng), 1000) for noise in map(MultinomialNoise, channels)]
        return Table(PAIR, tuple(Block(question, one) for one in tallies), PrivacyStatement(math.inf, "a report"))
    if kind == "rrba":
        return RRBA(PAIR, p=0.5, block_size=250).simulate(joint, rng)["row", "column"]
    if kind in curators:
        return curators[kind](PAIR, epsilon=0.5).simulate(joint, rng)["row", "column"]
    return SampledGroups(PAIR, epsilon=3.0, mechanism=kind).simulate(joint, rng)["row", "column"]


KINDS = ("grr", "oue", "ss", "hr", "rrba", "uneven rrba", "laplace", "gaussian")


@pytest.mark.parametrize("kind", KINDS)
def test_the_noisy_table_is_the_one_that_the_method_estimates(kind: str) -> None:
    table, several = table_of_kind(kind), kind.endswith("rrba")
    for method in ("unbiased", *(("closed form", "two blocks") if several else ())):
        noisy = noisy_table(table.blocks, method)
        counts = [block.tally.counts[None] for block in noisy.blocks]
        expected = table.estimated_by(method).cells.estimate
        assert noisy.estimate(counts)[0] == pytest.approx(expected, rel=1e-10, abs=1e-12)
    auto = noisy_table(table.blocks, "auto")
    assert len(auto.blocks) == (2 if several else 1)


@pytest.mark.parametrize("kind", KINDS)
def test_it_takes_tables_of_every_kind_and_sees_a_strong_dependence(kind: str) -> None:
    result = two_step_test(table_of_kind(kind), estimate="unbiased", rule="none", n_resamples=199, rng=4)
    assert (result.rejected, result.pvalue) == (True, 1 / 200), kind
    assert result.expected.shape == (2, 2)
    # only a curator's test goes by this name
    assert ("MCIndep" in result.name) == (kind in ("laplace", "gaussian"))
    assert "Imran & Meo" in result.name


def test_wide_tables_are_tested_for_mutual_independence() -> None:
    domain = Domain({name: ["no", "yes"] for name in "abc"})
    dependent = SampledGroups(domain, k=3, epsilon=3.0).simulate(np.array([900, 300, 300, 900] * 2), rng=1)
    result = two_step_test(dependent["a", "b", "c"], rng=1)
    assert result.hypothesis == "a, b and c are mutually independent"
    assert result.rejected
    margins = [result.expected.sum(axis=axes) for axes in ((1, 2), (0, 2), (0, 1))]
    assert result.expected == pytest.approx(np.einsum("i,j,k", *margins))


def test_drawn_tables_take_the_fakes_and_sizes_of_their_own_blocks() -> None:
    """Blocks with unequal sizes and fakes: with uneven fakes the wrong ones would shift the estimate of drawn tables.

    Under independence the statistic of the tables that are drawn and that of a fresh one have the same law, so that
    300 p-values below .1 number at most 58 with a false-failure rate of a millionth.
    """
    uneven = [MultinomialNoise(TruthOrFake(0.5, fake)) for fake in ((0.7, 0.1, 0.1, 0.1), (0.1, 0.1, 0.1, 0.7))]
    question, rng, low = Question(("row", "column"), (2, 2), (0, 1, 2, 3)), np.random.default_rng(8), 0
    for seed in range(300):
        tallies = [
            Tally(one, one.draw(np.full(4, 0.25), n, 1, rng)[0], n) for one, n in zip(uneven, (600, 300), strict=True)
        ]
        table = Table(PAIR, tuple(Block(question, one) for one in tallies), PrivacyStatement(math.inf, "a report"))
        low += two_step_test(table, rule="none", n_resamples=99, estimate="closed form", rng=seed).pvalue <= 0.1
    assert low <= 58


@pytest.mark.parametrize(
    ("counts", "small_cells", "rejecting"),
    [
        ([[400, 90], [100, 500]], 0, {"none", "two cells", "observed table", "any table"}),
        ([[3000, 4], [5, 90]], 1, {"none", "two cells"}),
        ([[3000, 4], [4, 90]], 2, {"none"}),
        ([[3000, 12], [12, 90]], 0, {"none", "two cells", "observed table"}),
    ],
)
def test_rules_decide_on_hand_made_tables(counts: Any, small_cells: int, rejecting: set[Rule]) -> None:
    """Dependence is plain in all of them; the fit to the last one expects a rare cell, so that drawn ones are small."""
    table = seen(np.array(counts))
    found = {rule: two_step_test(table, rule=rule, n_resamples=99, rng=1) for rule in RULES}
    assert {rule for rule, result in found.items() if result.rejected} == rejecting
    assert {result.small_cells for result in found.values()} == {small_cells}
    assert {(result.statistic, result.pvalue) for result in found.values()} == {(found["none"].statistic, 0.01)}
    for rule, result in found.items():
        assert result.rule_applied == (rule not in rejecting)
        assert ("whatever the statistic" in str(result.summary())) == result.rule_applied


def test_seeds_reproduce_and_are_recorded() -> None:
    table = table_of([130, 80, 90, 120])
    one, same = (two_step_test(table, rng=6) for _ in range(2))
    assert one.to_dict() == same.to_dict()
    fresh = two_step_test(table)
    assert two_step_test(table, rng=fresh.seed).to_dict() == fresh.to_dict()
    assert two_step_test(table, rng=7).threshold != one.threshold
    assert two_step_test(table, rng=np.random.default_rng(6)).threshold == one.threshold


def test_many_blocks_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = table_of([130, 80, 90, 120])
    monkeypatch.setattr("ldpstats.inference.published.imran_meo._AT_ONCE", 40)
    result = two_step_test(table, n_resamples=25, rng=1)
    assert round(26 * result.pvalue) in range(1, 27)
    # the first ten tables are the same, however many follow
    assert result.pvalue == two_step_test(table, n_resamples=25, rng=1).pvalue


@pytest.mark.parametrize("counts", [[1, 0, 0, 0], [40, 0, 0, 0], [20, 0, 20, 0], [1, 1, 1, 1]])
def test_degenerate_tables_are_accepted_without_a_nan(counts: list[int]) -> None:
    for noise, gamma in product((HALF, PERFECT), (0.01, 1)):
        result = two_step_test(table_of(counts, noise=noise), gamma=gamma, rule="none", n_resamples=99, rng=1)
        assert math.isfinite(result.statistic)
        assert not result.rejected
        assert two_step_test(table_of(counts, noise=noise), gamma=gamma, n_resamples=99, rng=1).rule_applied
    for on in ("reports", "debiased"):
        assert 0 <= naive_test(table_of(counts), on).pvalue <= 1


def test_noise_that_exceeds_all_counts_is_survived() -> None:
    central = CentralLaplace(PAIR, epsilon=0.001)
    table = central.simulate(np.array([5, 5, 5, 5]), rng=3)["row", "column"]
    assert table.blocks[0].tally.counts.min() < -100
    assert math.isfinite(two_step_test(table, rng=1).statistic)
    assert two_step_test(table, rng=1).rule_applied
    assert math.isfinite(naive_test(table).statistic)


@pytest.mark.parametrize("on", ["reports", "debiased"])
def test_naive_tests_are_labelled_invalid_wherever_they_show(on: Any) -> None:
    result = naive_test(table_of([130, 80, 90, 120]), on)
    assert "INVALID" in result.name
    assert "INVALID" in result.method
    assert "INVALID" in result.pvalue_source
    assert str(result.summary()).count("INVALID") >= 4
    assert "INVALID" in str(result.to_dict())


def test_naive_tests_take_what_they_say() -> None:
    table = table_of([130, 80, 90, 120], [100, 50, 60, 70])
    assert naive_test(table).statistic == pytest.approx(pearson(np.array([[230, 130], [150, 190]])))
    debiased = 700 * table.estimate
    assert naive_test(table, "debiased").statistic == pytest.approx(pearson(debiased))
    assert naive_test(table, "debiased").statistic > 2 * naive_test(table).statistic


def test_results_unpack_and_say_whose_test_it_is_and_what_is_wrong_with_it() -> None:
    table = table_of_kind("rrba")
    result = two_step_test(table, rng=1)
    statistic, pvalue = result
    assert (statistic, pvalue) == (result.statistic, result.pvalue)
    text = " ".join(str(result.summary()).split())
    for said in ("Imran & Meo", "last two blocks of 8", "costs power", "independence_test", "seed 1", "simulated"):
        assert said in text
    plain = result.to_dict()
    assert plain["rejected"] == result.rejected
    assert plain["threshold"] == result.threshold
    assert isinstance(result, PublishedResult)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "alpha": ({"alpha": 1.0}, "alpha = 1.0"),
    "gamma": ({"gamma": 1.5}, "gamma = 1.5"),
    "nan": ({"gamma": math.nan}, "gamma = nan"),
    "too few": ({"n_resamples": 18}, "at least 19"),
    "none drawn": ({"n_resamples": 0}, "n_resamples = 0"),
    "rule": ({"rule": "five"}, "'any table'"),
    "estimate": ({"estimate": "mle"}, "'closed form'"),
    "one block": ({"estimate": "two blocks"}, "at least two truth-or-fake blocks"),
    "rng": ({"rng": "seed"}, "rng = 'seed'"),
}


@pytest.mark.parametrize(("options", "told"), BAD.values(), ids=BAD)
def test_impossible_arguments_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(LdpstatsError, match="Allowed") as refusal:
        two_step_test(table_of([130, 80, 90, 120]), **options)
    assert told in str(refusal.value)


def test_impossible_tables_are_refused() -> None:
    domain = Domain({"row": ["a", "b"], "column": ["x", "y"]})
    hadamard = SampledGroups(domain, epsilon=1.0, mechanism="hr").simulate(np.full(4, 100), rng=1)["row", "column"]
    with pytest.raises(NotIdentifiedError, match="do not name a cell"):
        naive_test(hadamard)
    oue = SampledGroups(domain, epsilon=1.0, mechanism="oue").simulate(np.full(4, 100), rng=1)["row", "column"]
    with pytest.raises(LdpstatsError, match="truth-or-fake blocks"):
        two_step_test(oue, estimate="closed form")
    with pytest.raises(LdpstatsError, match="on = 'tables'"):
        naive_test(oue, "tables")  # type: ignore[arg-type]  # this is what is refused
    for test in (two_step_test, naive_test):
        with pytest.raises(LdpstatsError, match="at least two attributes"):
            test(oue.marginal("row"))
        with pytest.raises(LdpstatsError, match="a ndarray"):
            test(np.ones((2, 2)))
        with pytest.raises(NotIdentifiedError, match="no reports"):
            test(table_of([0, 0, 0, 0]))


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
