"""Effects with rare cells: score tests with the exact law, inverted, by enumeration and against optimizers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from interval_coverage import truths
from rare_cells import Rare, cells, comparisons, dependence, every_tally, held, measure, tallies
from scipy.optimize import minimize
from support.rare_tables import CELLS, block_of, table_of

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.confidence import inversion as fits
from ldpstats.confidence.confidence_sets import FiellerQuotient
from ldpstats.confidence.inversion import PooledReports, ScoreInversion
from ldpstats.estimation import Measured
from ldpstats.estimation.blocks import Block
from ldpstats.noise import MultinomialNoise, NoiseModel, Tally, TruthOrFake
from ldpstats.tables import Figures
from ldpstats.tables.unbiased_cells import is_sparse, never_certain


def reports_of(noise: NoiseModel, counts: Sequence[int]) -> PooledReports:
    return PooledReports((block_of(noise, [*counts]),))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("fitted", "value", "tried"),
    [
        (fits.fitted_odds, lambda s: s[0] * s[3] / (s[1] * s[2]), (0.2, 1.0, 7.0)),
        (fits.fitted_risks, lambda s: s[0] / (s[0] + s[1]) / (s[2] / (s[2] + s[3])), (0.2, 1.0, 7.0)),
        (fits.fitted_difference, lambda s: s[0] / (s[0] + s[1]) - s[2] / (s[2] + s[3]), (-0.7, 0.0, 0.4)),
    ],
)
def test_fits_are_the_most_likely_shares(fitted: object, value: object, tried: tuple[float, ...], seed: int) -> None:
    """Each is compared with scipy's constrained maximum, from another start."""
    shares = np.random.default_rng(seed).dirichlet(np.full(5, 0.8))
    for psi in tried:
        found = fitted(shares, np.array(psi))
        constraints = [
            {"type": "eq", "fun": lambda s, psi=psi: value(s) - psi},
            {"type": "eq", "fun": lambda s: s.sum() - 1},
        ]
        start = fitted(np.full(5, 0.2), np.array(psi))
        options = {"bounds": [(1e-9, 1)] * 5, "constraints": constraints, "options": {"ftol": 1e-13, "maxiter": 500}}
        best = minimize(lambda s: -(shares * np.log(s)).sum(), start, method="SLSQP", **options)
        assert found.sum() == pytest.approx(1)
        assert value(found) == pytest.approx(psi, abs=1e-9, rel=1e-7)
        assert (shares * np.log(np.maximum(found, 1e-300))).sum() >= -best.fun - 1e-7


def test_two_shares_with_a_difference_are_the_most_likely() -> None:
    shares, difference = np.array([0.2, 0.5, 0.3]), 0.1
    other = np.linspace(1e-6, 0.45 - 1e-6, 200_001)
    likelihood = 0.2 * np.log(other + difference) + 0.5 * np.log(other) + 0.3 * np.log(1 - 2 * other - difference)
    found = fits.fitted_shares(shares, np.array(difference))
    assert found == pytest.approx([other[likelihood.argmax()] + 0.1, other[likelihood.argmax()], found[2]], abs=1e-5)
    assert found.sum() == pytest.approx(1)


@pytest.mark.parametrize("proportion", [0.0, 0.3, 1.0])
def test_two_shares_in_a_proportion_are_the_most_likely(proportion: float) -> None:
    shares, together = np.array([0.2, 0.5, 0.3]), np.linspace(1e-6, 1 - 1e-6, 200_001)
    # what the divided shares are together is all that is left to choose, as their proportion is given
    likelihood = 0.7 * np.log(together) + 0.3 * np.log(1 - together)
    found = fits.fitted_proportion(shares, np.array(proportion))
    best = together[likelihood.argmax()]
    assert found == pytest.approx([proportion * best, (1 - proportion) * best, 1 - best], abs=1e-5)


@pytest.mark.parametrize("quantity", ["odds ratio", "risk ratio", "risk difference"])
@pytest.mark.parametrize(
    ("epsilon", "shares"),
    [(8.0, [0.45, 0.05, 0.05, 0.45]), (8.0, [0.5, 0.3, 0.001, 0.199]), (2.0, [0.5, 0.3, 0.001, 0.199])],
    ids=["odds ratio 81", "one empty cell", "one empty cell in noise"],
)
def test_every_likely_tally_of_twenty_reports(epsilon: float, shares: list[float], quantity: str) -> None:
    """Exact coverage; an unlikely tally counts as missed. The estimated covariance gives .41 and less."""
    noise, counts = ldp.GRR(4, epsilon).noise, every_tally(20, 4)
    factorials = np.array([math.lgamma(i + 1) for i in range(21)])
    chance = np.exp(factorials[20] - factorials[counts].sum(axis=1) + counts @ np.log(noise.mean(np.array(shares))))
    assert chance.sum() == pytest.approx(1)
    counts, chance = counts[chance > 1e-5], chance[chance > 1e-5]
    truth = truths(np.reshape(shares, (2, 2)))[quantity]
    inside, _ = held(reports_of(noise, counts[0]), comparisons((2, 2))[quantity], truth, counts)
    assert 0.93 < chance @ inside <= 1


@pytest.mark.parametrize(("kind", "worth"), [("two", 0.2), ("one", 1.5)])
def test_dependence_and_proportions_of_every_tally(kind: str, worth: float) -> None:
    """Exact, too; before, Cramér's V was covered .4 of the time in the first."""
    setting = Rare((2, 2), kind, worth, "grr", 8.0, 20)
    noise = ldp.GRR(4, 8.0).noise
    known = tallies(setting, noise, np.random.default_rng(1))
    rows = [*dependence(setting, noise, *known), *cells(setting, noise, *known)]
    assert len(rows) == 3
    assert all(0.93 < row["now"] <= 1 for row in rows)


def test_supports_with_rare_cells() -> None:
    """400 tallies of a fixed seed."""
    rows = measure((1, Rare((2, 2), "two", 1.5, "ss", 8.0, 300, runs=400)))
    assert min(row["now"] for row in rows) > 0.92
    assert min(row["before"] for row in rows) < 0.7


class TestLimits:
    """What is printed."""

    def test_the_empty_cell_of_the_issue(self) -> None:
        table = table_of(block_of(ldp.GRR(4, 8.0).noise, [9, 1, 0, 10]))
        found = ldp.odds_ratio(table, rows=("r0", "r1"), columns=("c0", "c1"))
        low, high = found.conf_int()
        assert 5 < low < 20, "16,650 with the estimated covariance"
        assert high == math.inf
        assert "score test with the exact law" in str(found.summary())

    def test_limits_are_where_the_tails_are(self) -> None:
        reports = reports_of(ldp.GRR(4, 4.0).noise, [40, 12, 7, 60])
        for comparison in comparisons((2, 2)).values():
            limits = ScoreInversion(reports, comparison).limits(0.1)[0]
            assert np.allclose(reports.below(comparison, limits, reports.counts), [0.95, 0.05], atol=1e-3)

    def test_many_tallies_get_what_one_gets(self) -> None:
        noise, counts = ldp.GRR(4, 3.0).noise, np.array([[9, 1, 0, 10], [5, 5, 5, 5], [0, 0, 20, 0], [1, 12, 3, 4]])
        for comparison in comparisons((2, 2)).values():
            for truth in (0.3, 0.9):
                inside, unbounded = held(reports_of(noise, counts[0]), comparison, truth, counts)
                limits = [ScoreInversion(reports_of(noise, one), comparison).limits(0.05)[0] for one in counts]
                assert inside.tolist() == [bool(low <= truth <= high) for low, high in limits]
                assert unbounded.tolist() == [math.isinf(high) for _, high in limits]

    def test_frequent_reports_give_nearly_the_same_by_both_ways(self) -> None:
        table = table_of(block_of(ldp.GRR(4, 2.0).noise, [9000, 5000, 4000, 8000]))
        assert not is_sparse(table)
        plain = ldp.odds_ratio(table, rows=("r0", "r1"), columns=("c0", "c1")).conf_int()
        score = ScoreInversion(PooledReports(table.blocks), comparisons((2, 2))["odds ratio"]).limits(0.05)[0]
        assert np.allclose(np.log(plain), np.log(score), atol=0.01 * np.log(plain[1] / plain[0]))

    def test_noise_below_nothing_does_not_leave_an_end_alone(self) -> None:
        """Fewer reports of two cells than lies alone give: "from 4,200 up" without the share of the tail."""
        low, high = ScoreInversion(
            reports_of(ldp.GRR(4, 2.0).noise, [9, 1, 0, 10]), comparisons((2, 2))["odds ratio"]
        ).limits(0.05)[0]
        assert low < 20
        assert high == math.inf

    def test_a_difference_of_rare_cells(self) -> None:
        table = table_of(block_of(ldp.GRR(4, 8.0).noise, [150, 3, 0, 147]))
        low, high = ldp.proportion_difference(table, ("r0", "c1"), ("r1", "c0")).conf_int()
        # nearly the difference of Poisson counts of 3 and 0
        assert -0.006 < low < 0.003
        assert 0.02 < high < 0.035

    def test_reports_without_a_known_law_are_taken_for_normal(self) -> None:
        noise = ldp.mechanism("dbitflip", k=4, epsilon=8.0).noise
        counts = noise.draw(CELLS, 60, 1, np.random.default_rng(1))[0]
        block = block_of(ldp.GRR(4, 1.0).noise, [1, 1, 1, 1])
        table = table_of(replace(block, tally=Tally(noise, counts, 60)))
        found = ldp.odds_ratio(table, rows=("r0", "r1"), columns=("c0", "c1"))
        assert "a normal law (an approximation)" in str(found.summary())
        assert found.conf_int()[0] < 6 < found.conf_int()[1]

    def test_many_blocks_are_taken_in_groups(self) -> None:
        """Thirty blocks with fakes of their own say nearly the same one by one and together."""
        rng, fakes = np.random.default_rng(3), np.linspace(0.002, 0.02, 30).tolist()
        noises = [MultinomialNoise(TruthOrFake(0.9, (0.5 - fake, fake, fake, 0.5 - fake))) for fake in fakes]
        shares = np.array([0.5, 0.02, 0.02, 0.46])
        blocks = [block_of(noise, noise.draw(shares, 20, 1, rng)[0].tolist()) for noise in noises]
        reports = PooledReports.of(blocks)
        assert reports is not None
        assert len(reports.blocks) == 8
        comparison = comparisons((2, 2))["odds ratio"]
        one, together = (ScoreInversion(r, comparison).limits(0.05)[0] for r in (PooledReports(tuple(blocks)), reports))
        assert np.allclose(np.log(one), np.log(together), atol=0.3)

    def test_a_table_without_reports_of_its_own_is_never_certain(self) -> None:
        table = table_of(block_of(ldp.GRR(4, 30.0).noise, [10, 0, 0, 10]))
        derived = replace(
            table,
            blocks=(),
            figures=Figures(table.cells, Measured.of_cells(table.cells.estimate, table.cells.covariance, table.n)),
        )
        assert np.all(np.diagonal(never_certain(derived, derived.cells)) >= 1 / 400)
        found = ldp.odds_ratio(derived, rows=("r0", "r1"), columns=("c0", "c1"))
        assert isinstance(found.inversion, FiellerQuotient)
        assert "normal approximation" in str(found.summary())
        assert found.conf_int()[0] < 100


class TestCategoriesThatAreNotThere:
    """Cramér's V among the others."""

    def test_an_empty_category_is_named_and_left_out(self) -> None:
        counts = [3000, 1000, 0, 1000, 3000, 0]
        noise = ldp.GRR(6, 60.0).noise
        table = table_of(block_of(noise, counts))
        found, information = ldp.association(table), ldp.mutual_information(table)
        assert found.cramers_v == pytest.approx(0.5, abs=1e-3)
        assert "(without column 'c2'" in str(found)
        assert "(without column 'c2'" in found.name
        assert "(without column 'c2'" in str(information)
        assert all("among the categories that are kept" in one.covers for one in (found, information))
        whole = table_of(block_of(noise, [3000, 1000, 800, 1000, 3000, 900]))
        assert "kept" not in ldp.association(whole).covers
        assert found.conf_int()[0] < 0.5 < found.conf_int()[1]
        assert information.conf_int()[1] <= math.log(2)

    def test_a_rare_one_that_drowns_it_too(self) -> None:
        noise = ldp.GRR(6, 2.0).noise
        counts = np.round(1500 * noise.mean(np.array([0.374, 0.125, 0.001, 0.125, 0.374, 0.001]))).astype(int)
        counts[0] += 1500 - counts.sum()
        found = ldp.association(table_of(block_of(noise, counts.tolist())))
        assert "column 'c2'" in found.without
        assert found.cramers_v == pytest.approx(0.5, abs=0.03)

    def test_where_none_can_be_left_out_it_says_what_helps(self) -> None:
        noise = ldp.GRR(6, 1.0).noise
        found = ldp.association(table_of(block_of(noise, [10, 8, 3, 9, 12, 4])))
        assert math.isnan(found.cramers_v)
        assert "table.collapse({...})" in found.why_not

    def test_a_single_category_has_no_dependence(self) -> None:
        found = ldp.association(table_of(block_of(ldp.GRR(4, 60.0).noise, [50, 50, 0, 0])))
        assert "fewer than two categories of row" in found.why_not
        assert "row 'r1'" in found.why_not
        assert found.conf_int() == (0, 1)


class TestWhatTheReportsHardlyTell:
    """Tails that rise and fall, and values under which the reports cannot have come."""

    @pytest.mark.parametrize("counts", [[20, 5, 5, 0], [27, 3, 0, 0], [0, 17, 13, 0], [25, 3, 2, 0]])
    def test_the_inverse_ratio_has_the_inverse_interval(self, counts: list[int]) -> None:
        table = table_of(block_of(ldp.GRR(4, 1.0).noise, counts))
        one, other = (ldp.risk_ratio(table, rows=rows, column="c0").conf_int() for rows in (("r0", "r1"), ("r1", "r0")))
        with np.errstate(divide="ignore"):
            assert np.allclose(1 / np.array(other)[::-1], one, rtol=1e-9)

    def test_every_value_that_is_not_rejected_is_within(self) -> None:
        table = table_of(block_of(ldp.GRR(4, 1.0).noise, [20, 5, 5, 0]))
        effect = ldp.risk_ratio(table, rows=("r0", "r1"), column="c0")
        assert isinstance(effect.inversion, ScoreInversion)
        tried = np.geomspace(0.01, 1e4, 100)
        reports, comparison = effect.inversion.reports, effect.inversion.comparison
        below = reports.below(comparison, tried, reports.counts)
        low, high = effect.conf_int()
        kept = tried[(below >= 0.025) & (below <= 0.975)]
        assert kept.size > 10
        assert low <= kept.min()
        assert kept.max() <= high

    @pytest.mark.parametrize("epsilon", [20.0, 40.0, 60.0])
    @pytest.mark.parametrize("counts", [[10, 0, 0, 10], [0, 10, 10, 0]])
    def test_two_empty_cells_have_the_interval_that_they_have_without_noise(
        self, counts: list[int], epsilon: float
    ) -> None:
        low, high = ldp.risk_difference(
            table_of(block_of(ldp.GRR(4, epsilon).noise, counts)), rows=("r0", "r1"), column="c0"
        ).conf_int()
        sign = 1 if counts[0] else -1
        # with a difference of d such 20 reports are (1 + d) / 2 likely each; half of all is the tail at the end itself
        assert sorted((sign * low, sign * high)) == pytest.approx([2 * 0.025 ** (1 / 20) - 1, 1.0], abs=1e-3)


class TestCountedByPart:
    """Where noise allows it, the reports of all cells of a part are one count."""

    def test_the_interval_is_that_of_the_table_of_parts(self) -> None:
        noise = ldp.GRR(6, 4.0).noise
        fine = table_of(block_of(noise, [14, 3, 20, 2, 15, 16]))
        coarse = fine.collapse({"column": {"c0": ["c0"], "rest": ["c1", "c2"]}})
        one, other = (ldp.risk_ratio(table, rows=("r0", "r1"), column="c0") for table in (fine, coarse))
        assert isinstance(one.inversion, ScoreInversion)
        assert one.inversion.reports.cells == 4
        assert one.estimate == pytest.approx(other.estimate, rel=1e-9)
        assert one.conf_int() == pytest.approx(other.conf_int(), rel=1e-6)

    @pytest.mark.parametrize(
        ("noise", "cells"), [(ldp.OUE(6, 4.0).noise, 4), (ldp.mechanism("hr", k=6, epsilon=4.0).noise, 6)]
    )
    def test_supports_are_added_up_and_others_counted_as_they_came(self, noise: NoiseModel, cells: int) -> None:
        counts = noise.simulate(np.array([14, 3, 20, 2, 15, 16]), np.random.default_rng(1))
        table = table_of(Block(Question(("row", "column"), (2, 3), tuple(range(6))), Tally(noise, counts, 70)))
        effect = ldp.risk_ratio(table, rows=("r0", "r1"), column="c0")
        assert isinstance(effect.inversion, ScoreInversion)
        assert effect.inversion.reports.cells == cells

    def test_very_many_cells_get_a_normal_approximation_that_says_so(self) -> None:
        side = 20
        domain = ldp.Domain({"row": range(side), "column": range(side)})
        people = np.ones((side, side), dtype=np.int64)
        words = {
            mechanism: ldp.odds_ratio(
                ldp.SampledGroups(domain, epsilon=6.0, mechanism=mechanism).simulate(people, rng=1)["row", "column"],
                rows=(0, 1),
                columns=(0, 1),
            ).inversion.words
            for mechanism in ("grr", "oue", "hr")
        }
        assert "exact law" in words["grr"]
        assert "exact law" in words["oue"]
        assert "normal approximation" in words["hr"]
