"""Whether reports can have come through their channel: what is impossible is found, what is possible is not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import binom
from support.spoken import spoken

import ldpstats as ldp
from ldpstats.estimation import LEVEL
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.simplex import nearest_in_information
from ldpstats.mechanisms import Mechanism
from ldpstats.mechanisms.base import Reports
from ldpstats.mechanisms.registry import REGISTRY
from ldpstats.noise import Tally
from ldpstats.tables import Table, TableSet

_DOMAIN = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})


def fit_of(mechanism: Mechanism, counts: NDArray[np.int64], n: int) -> float:
    return mechanism.channel_fit(Tally(mechanism.noise, counts, n)).pvalue


def refilled(table: Table, counts: list[int], n: int) -> Table:
    block = table.blocks[0]
    return Table(table.domain, (Block(block.question, Tally(block.noise, counts, n)),), table.privacy)


def collected(mechanism: str, n: int = 4000) -> Table:
    protocol = ldp.SampledGroups(_DOMAIN, epsilon=1.0, mechanism=mechanism)
    return protocol.simulate(np.array([n // 4] * 4), rng=1)["sex", "car"]


def by_value(table: Table) -> Table:
    """Return a table of which only the counts by value were kept."""
    return Table(table.domain, tuple(block.by_value for block in table.blocks), table.privacy)


class TestImpossible:
    """What cannot be is found, and said."""

    def test_all_reports_in_one_cell_are_said_to_be_impossible_wherever_they_are_shown(self) -> None:
        table = refilled(collected("grr"), [10_000, 0, 0, 0], 10_000)
        text = str(table.summary())
        assert "IMPLAUSIBLE" in text
        assert "0.0000" not in text
        assert "Wilson" not in text
        crosstab, shares = table.crosstab(), table.conditional("car", given="sex")
        assert "IMPLAUSIBLE" in spoken(crosstab)
        assert "0.0 ±" not in spoken(crosstab)
        assert "No adjusted residuals: the reports do not fit their channel" in spoken(crosstab)
        difference = ldp.proportion_difference(table, ("F", "yes"), ("F", "no"))
        for one in (shares, difference, difference.summary()):
            assert "none, as the reports do not fit their channel" in str(one)
        assert not shares.to_dict()["channel_fit"]["plausible"]
        for picture in (table.picture(), table.picture("intervals"), shares.picture()):
            assert any("IMPLAUSIBLE" in note for note in picture.notes)
        assert table.picture("intervals").to_frame()["lower"].isna().all()
        result, effect = ldp.independence_test(table), ldp.association(table)
        assert "No decision" in str(result.summary())
        assert "IMPLAUSIBLE" in str(effect.summary())
        assert not result.fit.plausible
        assert not result.to_dict()["channel_fit"]["plausible"]
        tests = ldp.independence_tests(TableSet(_DOMAIN, [table], table.privacy))
        assert tests["sex", "car"].verdict == "implausible"
        assert tests.significant(0.5).empty
        assert "IMPLAUSIBLE" in str(tests)
        assert any("IMPLAUSIBLE" in note for note in tests.picture().notes)
        assert "IMPLAUSIBLE" in str(TableSet(_DOMAIN, [table], table.privacy))

    def test_reports_of_ones_alone_are_found_by_their_total(self) -> None:
        honest = by_value(collected("oue", 10_000))
        tally = honest.blocks[0].tally
        table = refilled(honest, (tally.counts + 300).tolist(), tally.n + 300)
        assert table.estimate.sum() > 1.25
        worst = table.channel_fit().worst
        assert worst is not None
        row = table.channel_fit().to_frame().sort_values("pvalue").iloc[0]
        assert (row["component"], row["statistic"], row["pvalue"]) == (worst.name, worst.statistic, worst.pvalue)
        assert "IMPLAUSIBLE" in table.channel_fit().headline
        assert "a report counts for" in worst.words
        assert not table.channel_fit().plausible

    def test_what_is_derived_from_implausible_reports_says_so(self) -> None:
        table = refilled(by_value(collected("oue")), [4000, 4000, 4000, 4000], 4000)
        assert not table.marginal("sex").reordered("sex").channel_fit().plausible
        consistent = ldp.make_consistent(TableSet(_DOMAIN, [table], table.privacy))
        assert "IMPLAUSIBLE" in str(consistent["sex", "car"].summary())

    @pytest.mark.parametrize("name", ["oue", "sue", "olh", "rappor", "cms"])
    def test_another_level_than_stated_is_found_in_what_reports_count_for(self, name: str) -> None:
        for level, other in ((1.0, 2.0), (2.0, 1.0)):
            stated, used = ldp.mechanism(name, k=8, epsilon=level), ldp.mechanism(name, k=8, epsilon=other)
            counts = used.simulate(np.full(8, 2500), rng=3).counts
            assert fit_of(stated, counts, 20_000) < LEVEL

    def test_randomized_response_that_is_less_random_than_stated_is_found(self) -> None:
        stated, used = ldp.GRR(8, 1.0), ldp.GRR(8, 2.0)
        counts = used.simulate([15_000, 5000, 0, 0, 0, 0, 0, 0], rng=3).counts
        assert fit_of(stated, counts, 20_000) < LEVEL

    def test_a_file_of_noise_is_found_where_noise_has_a_shape(self) -> None:
        rng = np.random.default_rng(5)
        assert fit_of(ldp.OUE(8, 1.0), rng.binomial(5000, np.full(8, 0.5)), 5000) < LEVEL
        hr = ldp.mechanism("hr", k=8, epsilon=2.0)
        assert fit_of(hr, rng.multinomial(5000, rng.dirichlet(np.ones(hr.noise.outputs))), 5000) < LEVEL


class TestPossible:
    """What can be is not called implausible."""

    @pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.name)
    def test_few_false_alarms_at_the_corners_and_the_centre(self, kind: type[Mechanism]) -> None:
        """36 tallies per mechanism at level .001: five or more alarms would come less than once in 2e9 times."""
        k = kind.only_k or 5
        mechanism = ldp.mechanism(kind.name, k=k, epsilon=1.0)
        rng = np.random.default_rng(7)
        corner, centre = np.eye(k)[-1], np.full(k, 1 / k)
        alarms = 0
        for n, size in ((1, 5), (20, 5), (1000, 8)):
            for truth in (corner, centre):
                drawn = mechanism.noise.draw(truth, n, size, rng)
                alarms += sum(fit_of(mechanism, counts, n) < LEVEL for counts in drawn)
        assert alarms < 5

    def test_a_single_report_never_is_implausible(self) -> None:
        for mechanism in (ldp.GRR(4, 8.0), ldp.SS(6, 1.0)):
            noise = mechanism.noise
            for report in np.unique(
                noise.draw(np.full(mechanism.k, 1 / mechanism.k), 1, 500, np.random.default_rng(1)), axis=0
            ):
                assert fit_of(mechanism, report, 1) >= LEVEL

    def test_collected_tables_say_nothing_about_it(self) -> None:
        assert "IMPLAUSIBLE" not in str(collected("grr").summary())
        assert "Assumes independent respondents, and one look at the data." in str(collected("grr").summary())

    def test_adapted_fakes_of_many_blocks_are_plausible(self) -> None:
        tables = ldp.RRBA(_DOMAIN, p=0.5, block_size=50).simulate(np.array([900, 50, 40, 10]), rng=2)
        assert tables["sex", "car"].channel_fit().pvalue > 0.01

    def test_without_reports_there_is_nothing_to_say(self) -> None:
        empty = ldp.GRR(4, 1.0).channel_fit(Tally(ldp.GRR(4, 1.0).noise, [0, 0, 0, 0], 0))
        assert empty.plausible
        assert np.isnan(empty.pvalue)
        assert empty.to_dict()["pvalue"] is None


class TestLaws:
    """The laws behind the p-values."""

    def test_shares_have_the_binomial_tails_at_their_bounds(self) -> None:
        noise = ldp.GRR(3, 1.0).noise
        fit = ldp.GRR(3, 1.0).channel_fit(Tally(noise, [95, 5, 0], 100))
        low = noise.mean(np.array([0.0, 1.0, 0.0]))[0]
        high = noise.mean(np.array([1.0, 0.0, 0.0]))[0]
        tails = [binom.sf(94, 100, high), binom.cdf(5, 100, low), binom.cdf(0, 100, low)]
        assert fit.components[0].pvalue == pytest.approx(min(1, 6 * min(tails)), rel=1e-9)

    def test_of_very_many_shares_the_farthest_decide(self) -> None:
        oue, rng = ldp.OUE(30_000, 1.0), np.random.default_rng(1)
        counts = rng.binomial(1000, oue.noise.mean(np.full(30_000, 1 / 30_000)))
        assert fit_of(oue, counts, 1000) >= LEVEL
        counts[17] = 900
        fit = oue.channel_fit(Tally(oue.noise, counts, 1000))
        assert fit.components[0].pvalue == pytest.approx(60_000 * binom.sf(899, 1000, 0.5), rel=1e-6)

    def test_all_p_values_together_are_the_least_times_their_number(self) -> None:
        fit = collected("hr").channel_fit()
        assert len(fit.components) == 3
        assert fit.pvalue == min(1.0, 3 * min(component.pvalue for component in fit.components))
        assert fit.statistic == fit.worst.statistic if fit.worst else False

    def test_few_reports_are_ranked_among_drawn_ones_by_a_seed_from_the_counts(self) -> None:
        oue = ldp.OUE(4, 4.0)
        first, second = (oue.channel_fit(Tally(oue.noise, [5, 5, 2, 2], 5)) for _ in range(2))
        assert any("Monte Carlo" in component.method for component in first.components)
        assert first == second
        assert str(first.summary()).count("Monte Carlo")

    @pytest.mark.parametrize("law", [ldp.OUE(5, 1.0), ldp.mechanism("she", 5, 1.0), ldp.mechanism("rappor", 5, 1.0)])
    def test_totals_have_the_stated_mean_and_variance(self, law: Mechanism) -> None:
        total = law.noise.total()
        assert total is not None
        entries = np.ones(law.noise.outputs, dtype=bool) if total.entries is None else total.entries
        for truth in (np.eye(5)[0], np.full(5, 0.2)):
            mean = float(law.noise.mean(truth)[entries].sum())
            covariance = law.noise.report_covariance(truth)[np.ix_(entries, entries)]
            assert total.lowest - 1e-12 <= mean <= total.highest + 1e-12
            assert covariance.sum() <= total.variance * (1 + 1e-9)
            assert covariance.sum() >= 0.5 * total.variance

    def test_counts_of_revealed_bits_have_the_exact_variance_where_all_values_weigh_the_same(self) -> None:
        noise = ldp.mechanism("dbitflip", 6, 1.0).noise
        total = noise.total()
        assert total is not None
        covariance = noise.report_covariance(np.eye(6)[2])[np.ix_(total.entries, total.entries)]
        assert covariance.sum() == pytest.approx(total.variance, rel=1e-9)


class TestNearest:
    """The nearest proper frequencies."""

    @pytest.mark.parametrize("cells", [2, 5, 12])
    def test_it_is_the_solution_of_nonnegative_least_squares(self, cells: int) -> None:
        rng = np.random.default_rng(cells)
        root = rng.normal(size=(cells, cells + 2))
        information, start = 50 * root @ root.T, np.full(cells, 1 / cells)
        scores = rng.normal(size=(20, cells)) * 300
        found = nearest_in_information(scores, information, start)
        lower = np.linalg.cholesky(information).T
        heavy = 1e5 * np.abs(lower).max()
        for score, frequencies in zip(scores, found.frequencies, strict=True):
            seen = lower @ start + np.linalg.solve(lower.T, score)
            oracle, _ = nnls(np.vstack([lower, np.full(cells, heavy)]), np.append(seen, heavy))
            assert frequencies == pytest.approx(oracle, abs=1e-6)
            alone = nearest_in_information(score[None, :], information, start)
            assert alone.frequencies[0] == pytest.approx(frequencies, abs=1e-9)
        assert np.all(found.held == np.count_nonzero(found.frequencies < 1e-12, axis=1))

    def test_a_proper_solution_is_at_no_distance(self) -> None:
        found = nearest_in_information(np.array([[1.0, 0.0, -1.0]]), 30 * np.eye(3), np.full(3, 1 / 3))
        assert found.distance == pytest.approx(0, abs=1e-12)
        assert found.held == 0


class TestReports:
    """Single reports show more than their counts."""

    @pytest.mark.parametrize("kind", [ldp.OUE, ldp.SUE, ldp.THE, ldp.OLH, ldp.BLH])
    def test_honest_reports_have_their_law(self, kind: type[Mechanism]) -> None:
        """Seeds are fixed; 20 collections at level .001: three alarms would come once in a million times."""
        mechanism = kind(k=12, epsilon=1.0)
        values = np.arange(1500) % 3
        fits = [mechanism.channel_fit(mechanism.privatize(values, rng=seed)) for seed in range(20)]
        assert sum(not fit.plausible for fit in fits) < 3
        assert all("how many values single reports support" in [one.name for one in fit.components] for fit in fits)

    def test_the_law_of_sizes_is_that_of_all_patterns(self) -> None:
        noise = ldp.OUE(3, 1.0).noise
        patterns = (np.arange(8)[:, None] >> np.arange(3)) & 1
        chances = np.where(patterns, [noise.p, noise.q, noise.q], [1 - noise.p, 1 - noise.q, 1 - noise.q]).prod(axis=1)
        expected = np.bincount(patterns.sum(axis=1), weights=chances)
        assert noise.size_law() == pytest.approx(expected, abs=1e-15)
        assert ldp.SS(8, 1.0).noise.size_law() is None

    def test_forged_reports_whose_total_is_right_on_average_are_found(self) -> None:
        """All bits and no bit, in the shares that leave the mean as it is."""
        oue = ldp.OUE(16, 1.0)
        honest = oue.privatize(np.arange(19_000) % 16, rng=1)
        total = oue.noise.total()
        assert total is not None
        full = round(1000 * total.lowest / 16)
        forged = np.zeros((1000, 2), dtype=np.uint8)
        forged[:full] = 255
        reports = Reports(oue, np.concatenate([honest.data, forged]))
        assert oue.channel_fit(oue.count(reports)).plausible
        assert not oue.channel_fit(reports).plausible

    def test_a_hash_function_that_comes_again_is_no_chance(self) -> None:
        olh = ldp.OLH(16, 1.0)
        honest = olh.privatize(np.arange(2000) % 16, rng=1)
        twice = Reports(olh, np.concatenate([honest.data, honest.data[:1]]))
        worst = olh.channel_fit(twice).worst
        assert worst is not None
        assert worst.name == "hash functions that come again"
        assert olh.channel_fit(honest).plausible


@pytest.mark.parametrize("name", ["hr", "hrr"])
@pytest.mark.parametrize("k", [5, 12])
def test_outputs_that_nobody_makes_do_not_disturb_the_check(name: str, k: int) -> None:
    mechanism = ldp.mechanism(name, k=k, epsilon=40.0)
    people = np.zeros(k, dtype=np.int64)
    people[[0, 2]] = 200, 10
    with np.errstate(all="raise", under="ignore"):
        fit = mechanism.channel_fit(mechanism.simulate(people, rng=1))
    assert np.isfinite([component.pvalue for component in fit.components]).all()
    assert fit.plausible


@pytest.mark.parametrize("mechanism", ["grr", "ss", "oue", "she"])
def test_tables_that_were_asked_alike_fit_together_as_each_does_alone(mechanism: str) -> None:
    domain = ldp.Domain({name: list("xyz") for name in "abcde"})
    tables = ldp.SampledGroups(domain, epsilon=2.0, mechanism=mechanism).simulate(np.full(3**5, 4), rng=1)
    forged, empty = tables.tables[1].blocks[0], tables.tables[2].blocks[0].tally
    if mechanism == "grr":
        doubtful = refilled(tables.tables[1], [forged.n, *[0] * 8], forged.n)
        none = refilled(tables.tables[2], [0] * empty.counts.size, 0)
        tables = tables.replaced(tables=[tables.tables[0], doubtful, none, *tables.tables[3:]])
    together = tables.replaced(tables=[replace(one) for one in tables])
    assert together.channel_fit().plausible == (mechanism != "grr")
    for one, other in zip(tables, together, strict=True):
        alone, beside = one.channel_fit(), other.channel_fit()
        assert alone.n == beside.n
        for first, second in zip(alone.components, beside.components, strict=True):
            assert (first.name, first.method, first.words) == (second.name, second.method, second.words)
            np.testing.assert_allclose(
                [first.statistic, first.pvalue], [second.statistic, second.pvalue], rtol=1e-9, atol=1e-12
            )
