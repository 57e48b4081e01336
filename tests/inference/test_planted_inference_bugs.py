"""Planted bugs of tests and their p-values: each a slip in one place, and the quick check that must fail with it.

The checks go through the public tests. Laws of Monte Carlo p-values are exact: with three reports, or four, every
table that could be observed and every sequence of tables that could be drawn is tried, and weighed.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom, chi2, chi2_contingency
from support.noisy_tables import seen, table_of

import ldpstats as ldp
from ldpstats.estimation import Measured
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine import evidence, monte_carlo, procedure, statistics
from ldpstats.inference.engine.evidence import EstimateEvidence
from ldpstats.inference.engine.monte_carlo import MonteCarlo
from ldpstats.inference.engine.statistics import LikelihoodRatio, ScoreStatistic
from ldpstats.noise import ChannelNoise, Information, Tally, additive

NULL, REPORTS, DRAWN = np.array([0.7, 0.3]), 3, 2
COUNTS = np.array([[620, 470], [440, 470]])


# The checks.


def pvalues(enough: int | None = None) -> list[tuple[float, float, int, tuple[int, ...]]]:
    """Return probability, p-value, and the counts of the first report: observed and drawn, for all that can be."""
    noise, found = ldp.GRR(2, epsilon=1.0).noise, []
    law = binom.pmf(np.arange(REPORTS + 1), REPORTS, noise.mean(NULL)[0])
    drawing = MonteCarlo(DRAWN, rng=1, enough=enough)
    for observed, *drawn in product(range(REPORTS + 1), repeat=DRAWN + 1):
        counts = np.array([[one, REPORTS - one] for one in drawn])
        table = table_of((2,), [Tally(noise, np.array([observed, REPORTS - observed]), REPORTS)])
        with patch.object(Block, "draw", lambda *_, counts=counts: counts):
            pvalue = ldp.goodness_of_fit_test(table, NULL, pvalue=drawing).pvalue
        found.append((float(law[[observed, *drawn]].prod()), pvalue, observed, tuple(drawn)))
    return found


def level_is_kept(enough: int | None = None) -> None:
    """A p-value is at most a with probability at most a, whatever a is; ties are frequent here."""
    found = pvalues(enough)
    for level in {pvalue for _, pvalue, *_ in found}:
        assert sum(chance for chance, pvalue, *_ in found if pvalue <= level * (1 + 1e-9)) <= level * (1 + 1e-9)


def level_is_kept_by_those_that_stop_early() -> None:
    """The same where the first drawn table that reaches the observed one is enough."""
    level_is_kept(enough=1)


def pvalue_is_the_textbooks() -> None:
    """One and those that reach Pearson's statistic of the observed reports, over one and all."""
    expected = REPORTS * ldp.GRR(2, epsilon=1.0).noise.mean(NULL)[0]
    for _, pvalue, observed, drawn in pvalues():
        reached = sum(abs(one - expected) >= abs(observed - expected) - 1e-9 for one in drawn)
        assert pvalue == pytest.approx((1 + reached) / (1 + DRAWN))


def fitted() -> tuple[float, np.ndarray]:
    """Return Pearson's statistic of the reports at their likeliest independent table, and that table, by scipy."""
    noise, counts = ldp.GRR(4, epsilon=1.0).noise, COUNTS.ravel()

    def joint(shares: np.ndarray) -> np.ndarray:
        return np.outer([shares[0], 1 - shares[0]], [shares[1], 1 - shares[1]]).ravel()

    def loss(shares: np.ndarray) -> float:
        return -float(counts @ np.log(np.maximum(noise.mean(joint(shares)), 1e-300)))

    best = minimize(loss, [0.5, 0.5], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13})
    expected = counts.sum() * noise.mean(joint(best.x))
    return float(((counts - expected) ** 2 / expected).sum()), joint(best.x)


def statistic_is_pearsons_at_the_likeliest_fit() -> None:
    """The score statistic of randomized response is Pearson's of the reports, at the maximum of their likelihood."""
    found = ldp.independence_test(seen(COUNTS, epsilon=1.0), method="score", pvalue="asymptotic")
    assert found.statistic == pytest.approx(fitted()[0], rel=1e-6)


def tables_are_drawn_at_the_fit() -> None:
    """Where noise is strong that is neither uniform nor the product of the estimated margins."""
    asked, draw = [], Block.draw

    def noted(self: Block, frequencies: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
        asked.append(frequencies)
        return draw(self, frequencies, size, rng)

    with patch.object(Block, "draw", noted):
        ldp.independence_test(seen(COUNTS, epsilon=1.0), method="score", pvalue=MonteCarlo(9, rng=1))
    assert asked[0] == pytest.approx(fitted()[1], abs=1e-6)


def without_noise_it_is_the_classical_test() -> None:
    """Statistic, degrees of freedom and p-value."""
    counts = np.array([[30, 20, 10], [25, 45, 20]])
    found, classical = ldp.independence_test(seen(counts), pvalue="asymptotic"), chi2_contingency(counts)
    assert (found.statistic, found.pvalue) == pytest.approx((classical.statistic, classical.pvalue), rel=1e-9)
    assert found.df == classical.dof


def without_noise_likelihoods_are_compared_as_ever() -> None:
    """Twice the logarithm of their ratio."""
    counts = np.array([[30, 20, 10], [25, 45, 20]])
    found = ldp.independence_test(seen(counts), method="lr", pvalue="asymptotic")
    assert found.statistic == pytest.approx(chi2_contingency(counts, lambda_="log-likelihood").statistic, rel=1e-9)


def small_pvalues_have_digits() -> None:
    """Far below the rounding of one."""
    found = ldp.independence_test(seen(np.array([[300, 20], [25, 300]])), pvalue="asymptotic")
    assert found.pvalue == pytest.approx(chi2.sf(found.statistic, 1), rel=1e-9)
    assert 0 < found.pvalue < 1e-80


def distance_is_by_the_inverse_covariance() -> None:
    """Of noisy sums (SHE) and of local hashing it is the length of the contrasts of the estimate in that metric."""
    truth, contrasts = np.array([0.4, 0.3, 0.2, 0.1]), np.linalg.svd(np.ones((1, 4)))[2][1:].T
    for name in ("she", "olh"):
        drawn = ldp.mechanism(name, k=4, epsilon=1.0)
        tally = drawn.simulate(np.array([300, 200, 300, 200]), rng=1)
        found = ldp.goodness_of_fit_test(table_of((4,), [tally]), truth, pvalue="asymptotic").statistic
        gap = tally.noise.debias(tally.counts / tally.n) - truth
        precision = np.linalg.inv(tally.noise.covariance(truth) / tally.n)
        along = contrasts.T @ precision @ gap
        least = along @ np.linalg.solve(contrasts.T @ precision @ contrasts, along)
        assert found == pytest.approx(least, rel=1e-9)


def collections_add_their_information() -> None:
    """Two levels of randomized response: u'J⁻u of the sums of both scores and informations."""
    truth, noises = np.array([0.5, 0.3, 0.2]), [ldp.GRR(3, epsilon=epsilon).noise for epsilon in (1.0, 3.0)]
    counts = [np.array([80, 90, 130]), np.array([120, 100, 80])]
    table = table_of((3,), [Tally(noise, one, 300) for noise, one in zip(noises, counts, strict=True)])
    found = ldp.goodness_of_fit_test(table, truth, method="score", pvalue="asymptotic")
    contrasts, score, information = np.linalg.svd(np.ones((1, 3)))[2][1:].T, 0.0, 0.0
    for noise, one in zip(noises, counts, strict=True):
        design, mean = noise.design()[0] @ contrasts, noise.mean(truth)
        score, information = score + design.T @ (one / mean), information + 300 * design.T / mean @ design
    assert found.statistic == pytest.approx(score @ np.linalg.solve(information, score), rel=1e-9)


def sums_are_weighed_by_their_variances() -> None:
    """An estimated sum counts by one over its variance, neither by one over its error nor all alike."""
    variances = np.array([0.01, 0.04, 0.09, 0.0025])
    measured = Measured.of_cells(np.array([0.3, 0.2, 0.2, 0.3]), np.diag(variances), n=500)
    score, information = EstimateEvidence.of(measured).score(np.full((1, 4), 0.25))
    assert score[0] == pytest.approx(np.array([0.05, -0.05, -0.05, 0.05]) / variances)
    assert np.diagonal(information.dense()[0]) == pytest.approx(1 / variances)


# The bugs.


def in_place_of(owner: Any, name: str, changed: Callable[[Any], Any]) -> Callable[[], AbstractContextManager[Any]]:
    """Return what plants a bug: the new attribute, made of the old one."""
    return lambda: patch.object(owner, name, changed(getattr(owner, name)))


def shorter_by_one(decided: Any) -> Any:
    return lambda self, reached: (decided(self, reached) * (1 + self.most) - 1) / self.most


def at_uniform_cells(drawn: Any) -> Any:
    return lambda *rest: drawn(*rest[:-1], np.full_like(rest[-1], 1 / rest[-1].shape[-1]))


def at_estimated_margins(drawn: Any) -> Any:
    def changed(requests: Any, statistic: Any, parts: Any, _: np.ndarray) -> Any:
        cells = parts[0].estimator()(parts[0])[0].reshape(2, -1)
        return drawn(requests, statistic, parts, np.outer(cells.sum(1), cells.sum(0)).reshape(1, -1))

    return changed


def by_likelihood(ranked: Any) -> Any:
    """Rank drawn tables, of which there are several, otherwise than the observed one."""
    return lambda statistic, stack: (
        LikelihoodRatio(statistic._model, stack[0], stack[1].near.size)(*stack).statistic
        if len(stack[0]) > 1
        else ranked(statistic, stack)
    )


def at_the_end_of_the_batch(decided: Any) -> Any:
    def changed(self: MonteCarlo, reached: np.ndarray) -> float:
        found = float(decided(self, reached))
        return found if np.isnan(found) or not self.enough else self.enough / reached.size

    return changed


def one_place_later(decided: Any) -> Any:
    def changed(self: MonteCarlo, reached: np.ndarray) -> float:
        found = float(decided(self, reached))
        return self.enough / (self.enough / found + 1) if self.enough else found

    return changed


def with_a_degree_more(made: Any) -> Any:
    def changed(self: ScoreStatistic, *rest: Any) -> None:
        made(self, *rest)
        self.df += 1

    return changed


def scored(times: float, informed: float = 1.0) -> Callable[[Any], Any]:
    def changed(score: Any) -> Any:
        def planted(*arguments: Any) -> Any:
            found, known = score(*arguments)
            core = None if known.core is None else informed * known.core
            return times * found, Information(informed * known.diagonal, known.left, core)

        return planted

    return changed


def halved(gain: Any) -> Any:
    def changed(*arguments: Any) -> Any:
        found = gain(*arguments)
        return replace(found, statistic=found.statistic / 2)

    return changed


def by_errors(_: Any) -> Any:
    """Weigh by 1/σ where it is 1/σ²."""

    def changed(frequencies: np.ndarray, estimate: np.ndarray, noise: float, n: int) -> Any:
        precision = np.sqrt(n / (noise + frequencies))
        weights = precision * frequencies
        total = weights.sum(axis=-1, keepdims=True)
        deviation = estimate - frequencies
        score = precision * (deviation - (weights * deviation).sum(axis=-1, keepdims=True) / total)
        return score, Information(precision, precision[..., None], noise / total[..., None])

    return changed


def of_errors(whitener: Any) -> Any:
    return lambda covariance: whitener(np.sqrt(covariance))


@contextmanager
def one_of_two_informations() -> Any:
    with patch.object(Information, "__add__", lambda self, _: self):
        yield


Check, Planted = Callable[[], None], Callable[[], AbstractContextManager[Any]]
BUGS: dict[str, tuple[Planted, Check]] = {
    "ties are not counted": (
        in_place_of(monte_carlo, "reaches", lambda _: lambda drawn, observed: drawn > observed * (1 + 1e-12) + 1e-8),
        level_is_kept,
    ),
    "ties are not counted where draws stop early": (
        in_place_of(monte_carlo, "reaches", lambda _: lambda drawn, observed: drawn > observed * (1 + 1e-12) + 1e-8),
        level_is_kept_by_those_that_stop_early,
    ),
    "the observed table is not one of them": (in_place_of(MonteCarlo, "decided", shorter_by_one), level_is_kept),
    "drawn tables are ranked by another statistic": (
        in_place_of(monte_carlo, "_ranked", by_likelihood),
        pvalue_is_the_textbooks,
    ),
    "a batch is counted twice": (
        in_place_of(
            monte_carlo, "each", lambda each: lambda task, of: [one for found in each(task, of) for one in (found,) * 2]
        ),
        pvalue_is_the_textbooks,
    ),
    "tables are drawn from uniform cells": (
        in_place_of(procedure, "drawn_pvalues", at_uniform_cells),
        tables_are_drawn_at_the_fit,
    ),
    "tables are drawn from the estimated margins": (
        in_place_of(procedure, "drawn_pvalues", at_estimated_margins),
        tables_are_drawn_at_the_fit,
    ),
    "the share is that of the whole batch": (
        in_place_of(MonteCarlo, "decided", at_the_end_of_the_batch),
        level_is_kept_by_those_that_stop_early,
    ),
    "the share is that one place later": (
        in_place_of(MonteCarlo, "decided", one_place_later),
        level_is_kept_by_those_that_stop_early,
    ),
    "a degree of freedom too many": (
        in_place_of(statistics.ScoreStatistic, "__init__", with_a_degree_more),
        without_noise_it_is_the_classical_test,
    ),
    "one minus the distribution function": (
        in_place_of(procedure, "chi_square_pvalue", lambda _: lambda df, statistic: 1 - chi2.cdf(statistic, df)),
        small_pvalues_have_digits,
    ),
    "the gain in log-likelihood is taken once": (
        in_place_of(statistics, "likelihood_gain", halved),
        without_noise_likelihoods_are_compared_as_ever,
    ),
    "the score has the wrong sign": (
        in_place_of(ChannelNoise, "score", scored(-1.0)),
        statistic_is_pearsons_at_the_likeliest_fit,
    ),
    "the score is a thousandth too large": (
        in_place_of(ChannelNoise, "score", scored(1.001)),
        statistic_is_pearsons_at_the_likeliest_fit,
    ),
    "the information is that of a report less": (
        in_place_of(ChannelNoise, "score", scored(1.0, 1999 / 2000)),
        statistic_is_pearsons_at_the_likeliest_fit,
    ),
    "noisy sums are weighed by their errors": (
        in_place_of(additive, "gls_score", by_errors),
        distance_is_by_the_inverse_covariance,
    ),
    "estimated sums are weighed by their errors": (
        in_place_of(evidence, "_whitener", of_errors),
        sums_are_weighed_by_their_variances,
    ),
    "the information of the second collection is lost": (one_of_two_informations, collections_add_their_information),
}


@pytest.mark.parametrize("check", dict.fromkeys(check for _, check in BUGS.values()), ids=lambda one: one.__name__)
def test_what_is_right_passes(check: Check) -> None:
    check()


@pytest.mark.parametrize("name", BUGS)
def test_every_bug_is_found_by_its_check(name: str) -> None:
    planted, check = BUGS[name]
    # a p-value beyond one is refused by the result itself
    with planted(), pytest.raises((AssertionError, ldp.LdpstatsError)):
        check()
