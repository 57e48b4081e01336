"""Trend: the correlation without noise, its level and power through it, scores."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import chi2
from support.classical_tables import VISION
from support.noisy_tables import seen_without_noise

import ldpstats as ldp

EYES = ldp.Domain({"right": [1, 2, 3, 4], "left": [1, 2, 3, 4]})


def test_without_noise_a_trend_is_the_squared_correlation_times_n() -> None:
    found = ldp.trend_test(seen_without_noise(EYES, VISION))
    right, left = np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)
    spread = np.cov(np.vstack([right, left]), fweights=VISION.ravel())
    n = VISION.sum()
    assert found.statistic == pytest.approx(n * spread[0, 1] ** 2 / spread[0, 0] / spread[1, 1], rel=1e-8)
    # Mantel's form has n - 1 in the place of n
    assert found.statistic == pytest.approx(
        sm.stats.Table(VISION, shift_zeros=False).test_ordinal_association().zscore ** 2 * n / (n - 1), rel=1e-6
    )
    assert found.df == 1
    assert "left rises with right" in str(found.summary())
    turned = ldp.trend_test(seen_without_noise(EYES, VISION), column_scores=[4, 3, 2, 1])
    assert turned.statistic == pytest.approx(found.statistic)
    assert turned.about.otherwise == "left falls with right"


def test_the_scale_of_scores_does_not_matter_and_wrong_ones_are_refused() -> None:
    table = seen_without_noise(EYES, VISION)
    plain = ldp.trend_test(table, row_scores=[1, 2, 4, 8])
    assert ldp.trend_test(table, row_scores=[105, 110, 120, 140]).statistic == pytest.approx(plain.statistic)
    for scores in ([1, 2, 3], [1, 1, 1, 1], [1, 2, 3, np.nan], "abcd", [[1], [2], [3], [4]]):
        with pytest.raises(ldp.LdpstatsError, match="scores"):
            ldp.trend_test(table, row_scores=scores)


def test_a_trend_is_found_where_the_test_of_independence_has_less_power() -> None:
    """Of 400 collections .86 and .48 were significant; from 120 the difference is below .1 less than once in 10^6."""
    rng = np.random.default_rng(9)
    domain = ldp.Domain({"a": range(4), "b": range(4)})
    protocol = ldp.SampledGroups(domain, epsilon=2.0)
    step = np.arange(4) - 1.5
    frequencies = (1 + 0.2 * np.outer(step, step) / 2.25) / 16
    statistics = []
    for _ in range(120):
        table = protocol.simulate(rng.multinomial(8000, frequencies.ravel()), rng=rng)["a", "b"]
        found = [ldp.trend_test(table, pvalue="asymptotic"), ldp.independence_test(table, pvalue="asymptotic")]
        statistics.append([one.pvalue <= 0.05 for one in found])
    trend, independence = np.mean(statistics, axis=0)
    assert trend > independence + 0.1
    assert chi2.sf(ldp.trend_test(table).statistic, 1) == pytest.approx(
        ldp.trend_test(table, pvalue="asymptotic").pvalue
    )
