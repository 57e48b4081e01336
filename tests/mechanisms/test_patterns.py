"""Counts of whole sets of supported values: their law, the estimates they leave alone, the tests they sharpen."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import patterns as study
import pytest
from scipy.stats import binom, chi2_contingency
from support.spoken import spoken

import ldpstats as ldp
from ldpstats.conformance import FINEST_CHECKS, checks_of
from ldpstats.errors import LdpstatsError
from ldpstats.estimation import mixture_em
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.planning.design import PlannedTest
from ldpstats.limits import MOST_PATTERNS
from ldpstats.mechanisms import OLH, OUE, SS, SUE, Mechanism, mechanism
from ldpstats.mechanisms.patterns import Patterns
from ldpstats.noise import DenseChannel, MultinomialNoise, PatternChannel, SupportNoise, Tally
from ldpstats.saving.codec import decoded, encoded

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"]})
PEOPLE = np.array([1200, 100, 100, 300, 200, 100])
LAWS = [
    *(SupportNoise.independent(*one) for one in [(2, 0.5, 0.1), (3, 0.9, 0.05), (6, 0.7, 0.3)]),
    *(SupportNoise.subset(*one) for one in [(3, 0.8, 2), (6, 0.75, 3), (5, 0.9, 4), (45, 0.3, 2)]),
]


def table_by(name: str, epsilon: float = 2.0, seed: int = 1, people: Any = PEOPLE) -> ldp.Table:
    return ldp.SampledGroups(DOMAIN, epsilon=epsilon, mechanism=name).simulate(people, rng=seed)["a", "b"]


def of_values(table: ldp.Table) -> ldp.Table:
    """Return a table as it were if only the counts by value had been kept."""
    return replace(table, blocks=tuple(block.by_value for block in table.blocks))


def probability(noise: SupportNoise, chosen: set[int], true: int) -> float:
    if noise.size is not None:
        held = true in chosen
        ways = math.comb(noise.cells - 1, noise.size - held)
        return (noise.p if held else 1 - noise.p) / ways
    chances = [noise.p if value == true else noise.q for value in range(noise.cells)]
    return math.prod(p if value in chosen else 1 - p for value, p in enumerate(chances))


class TestTheLaw:
    """Numbers, probabilities, scores and moments of sets."""

    @pytest.mark.parametrize("noise", LAWS, ids=str)
    def test_every_set_has_its_number_and_its_probability(self, noise: SupportNoise) -> None:
        channel = PatternChannel(noise)
        assert channel.numbers(channel.members.astype(np.int64)).tolist() == list(range(channel.outputs))
        if noise.size is not None:
            listed = np.array([np.flatnonzero(row) for row in channel.members], dtype=np.uint8)
            assert channel.numbers_of_members(listed).tolist() == list(range(channel.outputs))
        sets = [set(np.flatnonzero(row).tolist()) for row in channel.members]
        sizes = range(noise.cells + 1) if noise.size is None else [noise.size]
        assert {frozenset(one) for one in sets} == {
            frozenset(one) for size in sizes for one in combinations(range(noise.cells), size)
        }
        some = range(0, noise.cells, 7)
        expected = [[probability(noise, one, true) for one in sets] for true in some]
        assert channel.matrix()[some] == pytest.approx(np.array(expected), rel=1e-12)
        assert channel.idle.tolist() == (np.ptp(channel.matrix(), axis=0) < 1e-15).tolist()
        assert channel.epsilon == noise.epsilon

    def test_sets_that_are_rarer_than_rounding_are_still_possible(self) -> None:
        whole = SUE(10, 16.0).finest.noise
        assert whole.mean(np.full(10, 0.1)).min() < 1e-30
        assert whole.supports(np.full(10, 0.1))
        assert not whole.supports(np.append(np.full(9, 0.2), -0.8))

    def test_a_file_cannot_ask_for_too_much(self) -> None:
        many = [SupportNoise.independent(cells, 0.5, 0.1) for cells in (11, 4 * 10**6)]
        for support in (*many, SupportNoise.subset(4 * 10**6, 0.9, 2 * 10**6), SupportNoise.subset(17, 0.9, 4)):
            with pytest.raises(LdpstatsError, match=f"of {support.cells:,} values.*up to 1,024"):
                decoded({"PatternChannel": {"support": encoded(support)}})
        assert SUE(4 * 10**6, 1.0).finest == SUE(4 * 10**6, 1.0)


class TestMechanisms:
    """Which mechanisms count sets, and how."""

    def test_those_whose_reports_are_sets_count_them_whole_where_there_are_few(self) -> None:
        for name in ("sue", "oue", "ue", "the", "cms-one-hot", "l-sue", "l-oue", "l-soue", "l-osue", "l-ue"):
            assert isinstance(mechanism(name, k=2, epsilon=1.0).finest, Patterns)
        sizes = {k: SUE(k, 1.0).finest.noise.outputs for k in (2, 10, 11)}
        assert sizes == {2: 4, 10: MOST_PATTERNS, 11: 11}
        assert (SS(5, 0.5).finest.noise.outputs, SS(45, 3.2).finest.noise.outputs) == (10, 990)
        assert SS(16, 1.0).finest == SS(16, 1.0)
        # hash functions are public, and only pairwise independent
        assert OLH(4, 1.0).finest == OLH(4, 1.0)

    def test_their_finest_tally_is_certified(self) -> None:
        assert set(checks_of(OUE)) >= set(FINEST_CHECKS)
        assert not set(FINEST_CHECKS) & set(checks_of(OLH))

    @pytest.mark.parametrize("make", [SUE(6, 1.0), OUE(10, 2.0), SS(6, 0.5), SS(45, 3.2)], ids=str)
    def test_counts_of_sets_add_up_to_counts_by_value(self, make: Mechanism) -> None:
        reports = make.privatize(np.arange(3000) % make.k, rng=2)
        whole = make.finest.count(reports)
        members = whole.noise.members
        assert members is not None
        assert np.array_equal(whole.counts @ members, make.count(reports).counts)
        assert whole.simulated == 3000

    def test_reports_of_others_are_refused(self) -> None:
        with pytest.raises(LdpstatsError, match="reports of OUE"):
            SUE(4, 1.0).finest.count(OUE(4, 1.0).privatize([1], rng=1))
        with pytest.raises(LdpstatsError, match="tallies of the same mechanism"):
            _ = OUE(4, 1.0).finest.count(np.array([[16]], dtype=np.uint8)) + OUE(4, 1.0).count(
                np.array([[16]], dtype=np.uint8)
            )


class TestTables:
    """Tables keep whole reports, and say of their cells what counts by value say."""

    @pytest.mark.parametrize("name", ["sue", "oue", "the"])
    def test_protocols_keep_whole_reports(self, name: str) -> None:
        protocol = ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism=name)
        people = DOMAIN.decode(np.argwhere(np.ones((2, 3), dtype=int)).repeat(20, axis=0))
        travelled = protocol.tables(protocol.reports(people, rng=1))["a", "b"]
        for table in (travelled, protocol.collect(people, rng=1)["a", "b"], protocol.simulate(people, rng=1)["a", "b"]):
            assert table.blocks[0].noise.members is not None
            assert table.n == 120
        collected = protocol.collect(people, rng=1)["a", "b"]
        assert np.array_equal(travelled.blocks[0].tally.counts, collected.blocks[0].tally.counts)

    def test_estimates_and_intervals_are_those_of_the_counts_by_value(self) -> None:
        table = table_by("oue")
        plain = of_values(table)
        assert table.estimate == pytest.approx(plain.estimate, abs=1e-12)
        assert table.covariance == pytest.approx(plain.covariance, rel=1e-12, abs=1e-15)
        assert table.conf_int() == pytest.approx(plain.conf_int(), abs=1e-9)
        both = [one.marginal("b") for one in (table, plain)]
        assert both[0].estimate == pytest.approx(both[1].estimate, abs=1e-12)
        assert both[0].covariance == pytest.approx(both[1].covariance, rel=1e-12, abs=1e-15)
        rare = table_by("oue", people=np.array([90, 1, 0, 30, 20, 9]))
        effects = [ldp.odds_ratio(one, rows=("x", "y"), columns=("p", "q")) for one in (rare, of_values(rare))]
        assert effects[0].conf_int() == pytest.approx(effects[1].conf_int(), rel=1e-9)

    def test_saved_and_merged_reports_add_up_by_how_they_were_counted(self) -> None:
        protocol = ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="sue")
        one, other = (protocol.simulate(PEOPLE, rng=seed) for seed in (2, 3))
        again = ldp.TableSet.from_json(one.to_json())
        merged = (again + other)["a", "b"]
        assert (len(merged.blocks), merged.n) == (1, 2 * PEOPLE.sum())
        old = ldp.TableSet(DOMAIN, [of_values(other["a", "b"])], other.privacy)
        mixed = (one + old)["a", "b"]
        assert [block.noise.members is None for block in mixed.blocks] == [False, True]
        assert mixed.estimate == pytest.approx(merged.estimate, abs=1e-12)
        assert ldp.independence_test(mixed).pvalue < 0.01
        assert mixed.channel_fit().plausible

    def test_the_most_likely_frequencies_are_those_of_the_reports(self) -> None:
        made = OUE(6, 2.0)
        reports = made.privatize(np.repeat(np.arange(6), PEOPLE), rng=3)
        likelihoods = np.exp(made.noise.log_likelihoods(made.contributions(reports.data)))
        whole = made.finest.estimate(made.finest.count(reports), "mle")
        assert whole.estimate == pytest.approx(mixture_em(likelihoods).frequencies, abs=1e-6)
        assert table_by("sue").estimated_by("mle").estimate.sum() == pytest.approx(1)

    def test_a_wrong_level_and_forged_reports_are_noticed(self) -> None:
        assert table_by("oue").channel_fit().plausible
        wrong = OUE(6, 3.0).finest.simulate(PEOPLE, rng=1)
        assert not ldp.OUE(6, 2.0).finest.channel_fit(Tally(OUE(6, 2.0).finest.noise, wrong.counts, wrong.n)).plausible
        honest = table_by("oue").blocks[0].tally
        forged = np.array(honest.counts)
        forged[-1] += 40
        assert not OUE(6, 2.0).finest.channel_fit(Tally(honest.noise, forged, honest.n + 40)).plausible

    @pytest.mark.parametrize("make", [SUE, OUE])
    def test_of_the_most_sets_a_wrong_level_is_noticed_and_the_right_one_plausible(self, make: Any) -> None:
        used, stated = make(10, 2.0).finest, make(10, 1.5).finest
        for n in (3000, 100_000):
            tally = used.simulate(np.full(10, n // 10), rng=2)
            assert used.channel_fit(tally).plausible
            assert not stated.channel_fit(Tally(stated.noise, tally.counts, n)).plausible

    def test_what_sets_count_for_is_their_size(self) -> None:
        noise = OUE(6, 2.0).finest.noise
        total, cells = noise.total(), np.full(6, 1 / 6)
        assert total is not None
        assert total.of(noise.mean(cells)[None, :]) == pytest.approx([total.lowest])
        sizes = total.weights
        assert sizes is not None
        assert sizes @ noise.report_covariance(cells) @ sizes == pytest.approx(total.variance)
        assert SS(6, 0.5).finest.noise.total() is None


class TestTests:
    """Tests by the likelihood of whole reports: their law, level and power."""

    def test_independence_is_tested_by_the_likelihood(self) -> None:
        table = table_by("sue")
        result = ldp.independence_test(table, pvalue="asymptotic")
        assert "Rao score test allowing" in result.method
        dense = MultinomialNoise(DenseChannel(tuple(map(tuple, table.blocks[0].noise.channel.matrix().tolist()))))
        block = replace(table.blocks[0], tally=Tally(dense, table.blocks[0].tally.counts, table.n, table.n))
        expected = ldp.independence_test(replace(table, blocks=(block,)), pvalue="asymptotic")
        assert result.statistic == pytest.approx(expected.statistic, rel=1e-6)
        assert ldp.independence_test(table, method="lr").statistic == pytest.approx(result.statistic, rel=0.2)

    @pytest.mark.parametrize("name", ["sue", "oue"])
    def test_without_noise_the_test_is_pearsons(self, name: str) -> None:
        found = ldp.independence_test(table_by(name, epsilon=60.0), pvalue="asymptotic")
        expected = chi2_contingency(PEOPLE.reshape(2, 3), correction=False)
        if name == "sue":  # the true bit of oue is a coin at any level
            assert found.statistic == pytest.approx(expected.statistic, rel=1e-6)
        assert found.df == expected.dof
        assert found.pvalue < 1e-9

    def test_rare_sets_do_not_put_the_law_of_the_test_in_doubt(self) -> None:
        table = table_by("sue", epsilon=4.0)
        cells = PEOPLE / PEOPLE.sum()
        rarest = table.n * table.blocks[0].noise.mean(cells).min()
        assert rarest < 5 < BlockEvidence.observed(table.blocks).rarest_expected_report(cells)
        assert BlockEvidence.observed(of_values(table).blocks).rarest_expected_report(cells) == pytest.approx(
            BlockEvidence.observed(table.blocks).rarest_expected_report(cells)
        )
        assert ldp.independence_test(table).pvalue_source == "asymptotic χ²"

    def test_a_fit_that_does_not_converge_is_ranked_among_drawn_tables(self) -> None:
        # margins so rare, and so few respondents, that few null fits find a table inside the simplex
        domain = ldp.Domain({"a": ["x", "y", "z"], "b": ["u", "v", "w"]})
        people = np.array([47, 1, 0, 2, 0, 0, 0, 0, 0])
        table = ldp.SampledGroups(domain, epsilon=4.0, mechanism="sue").simulate(people, rng=1)["a", "b"]
        result = ldp.independence_test(table)
        assert not result.converged
        assert "Monte Carlo" in spoken(result)
        assert "did not converge" in spoken(result)

    def test_no_more_respondents_are_needed_than_the_likelihood_of_whole_reports_needs(self) -> None:
        found = study.respondents(((2, 2), (2, 3)))
        assert found["whole"].max() == pytest.approx(1, abs=2e-4), "whole respondents, of thousands"
        worst = found.groupby("mechanism")["by value"].max()
        assert worst["sue"] > 3 > worst["oue"] > 1.4 > worst["ss"] > 1.05, "what counts by value would cost"

    def test_true_hypotheses_are_rejected_as_often_as_they_may_be(self) -> None:
        """Of 800 tables at most 78: more come less than once in 10^6 at a level of .05."""
        assert binom.sf(78, 800, 0.05) < 1e-6
        cells = np.kron([0.7, 0.3], [0.7, 0.3])
        noise = SUE(4, 4.0).finest.noise
        assert 800 * study.rejected(noise, cells, (2, 2), 2000, 800, seed=3) <= 78

    def test_the_power_is_that_which_was_planned(self) -> None:
        margins = [np.array([0.9, 0.1])] * 2
        noise, weaker = SUE(4, 4.0).finest.noise, SUE(4, 4.0).noise
        cells = np.kron(*margins) + 0.012 * np.array([1, -1, -1, 1])
        planned = PlannedTest(tuple(margins), cells)
        n = planned.seen_through(noise).reports_needed(1.0, 0.8, 0.05)
        whole, by_value = (study.rejected(one, cells, (2, 2), n, 2000, seed=4) for one in (noise, weaker))
        assert whole == pytest.approx(0.8, abs=0.06), "six standard errors, and what the approximation is off"
        assert by_value < 0.5


class TestPlanning:
    """Power and plans are those of what is collected, at the margins given."""

    def test_power_is_that_of_what_protocols_collect(self) -> None:
        options: dict[str, Any] = {"n": 5000, "margins": [[0.9, 0.1]] * 2}
        named = ldp.power("sue", (2, 2), epsilon=2.0, **options)
        assert named == ldp.power(SUE(4, 2.0), (2, 2), **options)
        assert named == ldp.power(SUE(4, 2.0).finest.noise, (2, 2), **options)
        assert named > ldp.power(SUE(4, 2.0).noise, (2, 2), **options) + 0.05

    def test_where_sets_do_not_fit_plans_count_by_value(self) -> None:
        assert ldp.power("sue", (4, 4), n=5000, epsilon=2.0) == ldp.power(SUE(16, 2.0).noise, (4, 4), n=5000)

    def test_plans_rank_by_power_at_the_margins_given(self) -> None:
        skewed = [[0.9, 0.1], [0.9, 0.1]]
        found = ldp.plan(["sue", "oue", "grr"], (2, 2), epsilon=3.0, margins=skewed)
        sizes = [ldp.sample_size(name, (2, 2), epsilon=3.0, margins=skewed) for name in found.table["mechanism"]]
        assert found.table["n"].tolist() == sorted(sizes)
        assert sizes != ldp.plan(["sue", "oue", "grr"], (2, 2), epsilon=3.0).table["n"].tolist()
        assert "Assumed: the margins given." in spoken(found)
        assert "Assumed: equally frequent categories." in spoken(ldp.plan("grr", (2, 2), epsilon=3.0))

    @pytest.mark.parametrize(
        ("table", "margins", "told"),
        [
            (DOMAIN, {"z": [0.5, 0.5]}, "'z'"),
            (DOMAIN, [[0.5, 0.5], [0.5, 0.5]], "without names"),
            ((2, 2), {"a": [0.5, 0.5]}, "by name"),
            ((2, 2), [[0.5, 0.5]], "1 margins"),
            (DOMAIN, {"a": [0.5, 0.6]}, "sum to 1"),
        ],
    )
    def test_other_margins_are_refused(self, table: Any, margins: Any, told: str) -> None:
        with pytest.raises(LdpstatsError, match=told):
            ldp.plan("ss", table, epsilon=1.0, margins=margins)


def test_the_study_enumerates_what_it_compares_with() -> None:
    channel = study.enumerated(SupportNoise.independent(2, 0.5, 0.25)).channel.matrix()
    assert sorted(channel[0].tolist()) == pytest.approx([0.125, 0.125, 0.375, 0.375])
    assert len(list(product((0, 1), repeat=2))) == channel.shape[1]


def test_sets_of_all_values_but_one_are_numbered_however_many_values_there_are() -> None:
    """Before, numbers of subsets beyond 64 bits were a TypeError."""
    mechanism = ldp.SS(300, epsilon=1.0, omega=299)
    missing = np.arange(300)
    reports = 1 - np.eye(300, dtype=np.int64)[missing]
    channel = mechanism.finest.noise.channel
    assert np.array_equal(channel.members[channel.numbers(reports)], reports)
    sent = mechanism.privatize(np.zeros(50, dtype=np.int64), rng=1)
    assert np.array_equal(mechanism.finest.count(sent).counts @ channel.members, mechanism.count(sent).counts)
