"""The curator's comparators: what they cost, how much noise they bring, and that every analysis takes their tables."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, norm
from support.spoken import spoken

from ldpstats import Domain, LdpstatsError, MonteCarlo, TableSet, association, independence_test
from ldpstats.conformance.protocol_checks import joint_counts
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE, fit_pvalue
from ldpstats.noise import NoisyCounts
from ldpstats.protocols.central import CentralGaussian, CentralLaplace

UNIT = "a respondent's whole record, with a trusted curator"


@pytest.mark.parametrize("epsilon", [0.1, 1, 1 / 3, 2.7, 11.0])
def test_the_sound_scale_gives_the_whole_release_its_level(domain: Domain, epsilon: float) -> None:
    central = CentralLaplace(domain, epsilon=epsilon)
    promised, exact = central.privacy(), [2 / Fraction(central.law(group).scale) for group in central.groups]
    assert epsilon * (1 - 1e-15) <= promised.epsilon <= epsilon
    assert sum(exact) <= Fraction(promised.epsilon)
    assert (promised.unit, promised.nominal_epsilon) == (UNIT, None)
    assert list(promised.per_group) == [" × ".join(group) for group in central.groups]
    assert list(promised.per_group.values()) == pytest.approx([epsilon / 3] * 3, rel=1e-15)
    assert [central.law(group).scale for group in central.groups] == pytest.approx([6 / epsilon] * 3, rel=1e-15)


def test_the_papers_scale_is_too_large_for_one_table_and_its_level_is_nominal(domain: Domain) -> None:
    central = CentralLaplace(domain, epsilon=0.5, scale="paper")
    assert {frozenset(group): central.law(group).scale for group in central.groups} == {
        frozenset({"sex", "car"}): 2 * 4 / 0.5,
        frozenset({"age", "car"}): 2 * 6 / 0.5,
        frozenset({"age", "sex"}): 2 * 6 / 0.5,
    }
    promised = central.privacy()
    assert promised.epsilon == pytest.approx(0.5 / 4 + 0.5 / 6 + 0.5 / 6, rel=1e-15)
    assert promised.nominal_epsilon == 0.5
    assert promised.headline.endswith(f"unit: {UNIT}); nominal epsilon = 0.5")


def test_more_tables_than_cells_cost_more_than_the_paper_says() -> None:
    many = Domain({name: [0, 1] for name in "abcdef"})
    assert CentralLaplace(many, epsilon=1.0, scale="paper").privacy().epsilon == 15 / 4


@pytest.mark.parametrize("scale", ["sound", "paper"])
def test_the_level_is_attained_by_two_records_that_differ_in_every_table(scale: Any) -> None:
    """Enumerate, cell by cell, what a release can say for the one record against the other."""
    domain = Domain({"a": [0, 1], "b": [0, 1, 2]})
    central = CentralLaplace(domain, epsilon=0.8, scale=scale, groups=[["a"], ["a", "b"], ["b"]])
    worst = 0.0
    for group in central.groups:
        one, other = (domain.cells(np.array([record]), group) for record in ([0, 0], [1, 1]))
        held, not_held = (np.bincount(cell, minlength=domain.size(group)) for cell in (one, other))
        seen = np.arange(-4, 5)[:, None]
        law = central.law(group)
        said = law.log_weight(seen - held) - law.log_weight(seen - not_held)
        worst += said.max(axis=0).sum()
    assert worst == pytest.approx(central.privacy().epsilon, rel=1e-12)


def test_no_report_leaves_the_curator_and_all_is_marked_as_simulated(domain: Domain, people: pd.DataFrame) -> None:
    central = CentralLaplace(domain, epsilon=1.0)
    assert not hasattr(central, "reports")
    for tables in (central.collect(people), central.collect(people, rng=1), central.simulate(people)):
        assert tables.simulated
        assert [table.n for table in tables] == [3000] * 3
    assert central.collect(people, rng=1).to_json() == central.collect(people, rng=np.random.default_rng(1)).to_json()
    assert central.collect(people).to_json() != central.collect(people).to_json()


def test_counts_are_the_true_ones_and_noise_of_the_stated_variance(domain: Domain, people: pd.DataFrame) -> None:
    """4.9 standard errors of the variance; the counts themselves are summed over repetitions."""
    central, rng, repeats = CentralGaussian(domain, epsilon=2.0), np.random.default_rng(5), 300
    codes = domain.encode(people)
    for group in central.groups:
        law = central.law(group)
        true = np.bincount(domain.cells(codes, group), minlength=domain.size(group))
        joint = np.bincount(domain.cells(codes, domain.names), minlength=12)
        released = np.array([central.simulate(joint, rng)[group].blocks[0].tally.counts for _ in range(repeats)])
        noise = (released - true).ravel()
        assert abs(noise.mean()) < norm.isf(5e-7) * math.sqrt(law.variance / noise.size)
        assert abs((noise**2).mean() / law.variance - 1) < norm.isf(5e-7) * math.sqrt(2 / noise.size)


def test_tables_survive_json_with_their_negative_counts(domain: Domain, people: pd.DataFrame) -> None:
    tables = CentralLaplace(domain, epsilon=0.05).collect(people.head(20), rng=1)
    assert min(table.blocks[0].tally.counts.min() for table in tables) < 0
    again = TableSet.from_json(tables.to_json())
    assert again.to_json() == tables.to_json()
    assert again.privacy == tables.privacy
    assert np.array_equal(again["age", "sex"].estimate, tables["age", "sex"].estimate)


def test_without_noise_to_speak_of_the_test_is_pearsons(people: pd.DataFrame) -> None:
    domain = Domain({"age": ["young", "adult", "old"], "car": ["yes", "no"]})
    table = CentralLaplace(domain, epsilon=190.0).collect(people, rng=1)["age", "car"]
    true = pd.crosstab(people["age"], people["car"])
    assert table.blocks[0].tally.counts.sum() == 3000
    found, expected = independence_test(table), chi2_contingency(true, correction=False)
    assert found.method.startswith("generalized least squares on the counts")
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)
    assert found.pvalue == pytest.approx(expected.pvalue, rel=1e-9)


def test_noisy_tables_go_through_every_analysis(domain: Domain, people: pd.DataFrame) -> None:
    tables = CentralLaplace(domain, epsilon=1.0).collect(people, rng=1)
    table = tables["sex", "car"]
    assert isinstance(table.blocks[0].noise, NoisyCounts)
    truth = pd.crosstab(people["sex"], people["car"], normalize=True)[["yes", "no"]].to_numpy()
    assert np.all(np.abs(table.estimate - truth) < 4.9 * table.std_err)
    assert 0.2 < association(table).cramers_v < 0.45  # .31 among these respondents
    for method in ("auto", "gls", "wald"):
        for pvalue in ("asymptotic", MonteCarlo(n_resamples=199, rng=1)):
            assert independence_test(table, method=method, pvalue=pvalue).pvalue <= 1 / 200
    with pytest.raises(LdpstatsError, match="'gls' or 'wald'"):
        independence_test(table, method="score")
    assert independence_test(tables["age", "sex"], pvalue="asymptotic").pvalue > 1e-6
    assert table.marginal("sex").estimate == pytest.approx(table.estimate.sum(axis=1))
    assert "trusted curator" in str(table.summary())


@pytest.mark.parametrize("epsilon", [0.2, pytest.param(0.5, marks=pytest.mark.exhaustive)])
def test_monte_carlo_keeps_its_level_under_noise_as_large_as_the_counts(epsilon: float) -> None:
    """P-values of 300 tables under independence: so many are below .1 with a false-failure rate of a millionth."""
    domain, rng = Domain({"a": [0, 1], "b": [0, 1]}), np.random.default_rng(8)
    central, joint = CentralLaplace(domain, epsilon=epsilon), np.array([60, 40, 60, 40])
    asked = MonteCarlo(n_resamples=99, rng=np.random.default_rng(9))
    pvalues = [independence_test(central.simulate(joint, rng)["a", "b"], pvalue=asked).pvalue for _ in range(300)]
    # Binomial(300, .1) exceeds 58 less than once in a million times; fixed margins make it rarer still
    assert np.sum(np.array(pvalues) <= 0.1) <= 58


def test_releases_merge_also_where_different_numbers_answered(domain: Domain, people: pd.DataFrame) -> None:
    central = CentralLaplace(domain, epsilon=1.0)
    parts = [
        central.collect(people.iloc[start:stop], rng=start) for start, stop in ((0, 1000), (1000, 2000), (2000, 3000))
    ]
    merged = sum(parts)["sex", "car"]
    assert [block.n for block in merged.blocks] == [3000]
    variance = central.law(("sex", "car")).variance
    shares = (merged.estimate / merged.estimate.sum()).ravel()
    sampling = shares * (1 - shares) / 3000
    # the covariance at the estimate, over n - 1
    assert np.diagonal(merged.covariance) == pytest.approx((sampling + 3 * variance / 3000**2) * 3000 / 2999, rel=1e-12)
    unequal = (parts[0] + central.collect(people.iloc[1000:], rng=7))["sex", "car"]
    assert sorted(block.n for block in unequal.blocks) == [1000, 2000]
    truth = pd.crosstab(people["sex"], people["car"], normalize=True)[["yes", "no"]].to_numpy()
    for table in (merged, unequal):
        assert np.all(np.abs(table.estimate - truth) < 4.9 * table.std_err)
        assert independence_test(table).pvalue < 1e-6


def test_gaussian_noise_covers_all_tables_together_and_says_so(domain: Domain) -> None:
    central = CentralGaussian(domain, epsilon=2.0, delta=1e-5)
    sigmas = {central.law(group).sigma for group in central.groups}
    assert len(sigmas) == 1
    # a record moves 3 tables by one count down and one up each
    shift = math.sqrt(6) / sigmas.pop()
    delta = norm.cdf(shift / 2 - 2 / shift) - math.exp(2) * norm.cdf(-shift / 2 - 2 / shift)
    assert 0.999999 * 1e-5 < delta <= 1e-5
    promised = central.privacy()
    assert (promised.epsilon, promised.nominal_epsilon, promised.delta_at_nominal) == (math.inf, 2.0, 1e-5)
    assert list(promised.per_group.values()) == [math.inf] * 3
    assert "trusted curator" in promised.unit


@pytest.mark.parametrize("curator", [CentralLaplace, CentralGaussian])
def test_nobody_and_other_answers(domain: Domain, people: pd.DataFrame, curator: Any) -> None:
    central = curator(domain, epsilon=1.0)
    for n in range(3):
        frame = people.head(n)
        for tables in (central.collect(frame, rng=1), central.simulate(joint_counts(domain, frame), rng=1)):
            assert [table.n for table in tables] == [n] * 3
    for use in (central.collect, central.simulate):
        for wrong in (people.drop(columns="car"), people.assign(sex="X"), people.assign(age=None), people.to_numpy()):
            with pytest.raises(LdpstatsError):
                use(wrong, rng=1)


@pytest.mark.parametrize("path", ["collect", "simulate a frame", "simulate joint counts"])
def test_three_respondents_have_the_exact_law(path: str) -> None:
    """Noise beyond three counts together: the law has no end."""
    domain = Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
    frame = pd.DataFrame({"a": [0, 0, 1], "b": [0, 1, 1], "c": [1, 1, 1]})
    central, codes, law = (
        CentralLaplace(domain, epsilon=8.0, groups=[("c", "a"), ["b"]]),
        domain.encode(frame),
        {(): 1.0},
    )
    for group in central.groups:
        decay = np.exp(-1 / central.law(group).scale)
        noise = {z: (1 - decay) / (1 + decay) * decay ** abs(z) for z in range(-3, 4)}
        for true in np.bincount(domain.cells(codes, group), minlength=domain.size(group)).tolist():
            law = {(*head, true + z): p * q for (head, p), (z, q) in product(law.items(), noise.items())}
    rng, population = np.random.default_rng(2025), joint_counts(domain, frame) if "joint" in path else frame
    drawn = [getattr(central, path.split(maxsplit=1)[0])(population, rng) for _ in range(500)]
    counts = [tuple(np.concatenate([table.blocks[0].tally.counts for table in tables]).tolist()) for tables in drawn]
    law[()] = 1 - sum(law.values())
    assert fit_pvalue(Counter(one if one in law else () for one in counts), law) > FALSE_FAILURE_RATE


@pytest.mark.parametrize("kind", [CentralLaplace, CentralGaussian])
def test_nothing_is_guaranteed_for_what_the_curator_sees(kind: Any) -> None:
    said = spoken(kind(Domain({name: ["x", "y"] for name in "abc"}), epsilon=1.0))
    assert "guaranteed for what the curator releases (she sees the true records):" in said.lower()
    assert "one person sends" not in said
