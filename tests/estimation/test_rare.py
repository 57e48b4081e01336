"""Mid-p intervals of cells with few reports of their own: binomial tails, weighted over blocks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom
from support.rare_tables import block_of, table_of

import ldpstats as ldp
from ldpstats.estimation.rare import OwnReports
from ldpstats.noise import MultinomialNoise, Tally, TruthOrFake


class TestProportions:
    """Cells of their own."""

    def test_one_block_is_binomial(self) -> None:
        estimate = ldp.GRR(3, 3.0).estimate(Tally(ldp.GRR(3, 3.0).noise, [60, 37, 3], 100))
        none, every = ldp.GRR(3, 3.0).noise.bounds()[:, 2]

        def tail(share: float) -> float:
            return float(binom.sf(2, 100, share) - binom.pmf(3, 100, share) / 2)

        expected = [brentq(lambda share, level=level: tail(share) - level, 1e-9, 0.5) for level in (0.025, 0.975)]
        assert estimate.conf_int()[2] == pytest.approx([none + (every - none) * share for share in expected], abs=1e-6)

    def test_several_blocks_are_weighted_binomials(self) -> None:
        """All pairs of counts, by hand."""
        n, gain, offset = np.array([[30.0], [20.0]]), np.array([[0.9], [0.6]]), np.array([[0.01], [0.05]])
        seen, weights = np.array([[2.0], [3.0]]), np.array([[0.9], [0.6]])
        own = OwnReports(n, gain, offset, seen, weights)
        first, second = np.meshgrid(np.arange(31), np.arange(21), indexing="ij")
        total, here = weights[0] * first + weights[1] * second, float((weights * seen).sum())
        for level, limit in zip((0.975, 0.025), own.limits(0.05)[0], strict=True):
            mean = (gain * limit + offset)[:, 0]
            chance = binom.pmf(first, 30, mean[0]) * binom.pmf(second, 20, mean[1])
            below = chance[total < here - 1e-9].sum() + chance[np.abs(total - here) < 1e-9].sum() / 2
            # atoms nearer than a tenth of the standard deviation are smoothed
            assert below == pytest.approx(level, abs=0.01)

    def test_tables_of_truth_or_fake_blocks_use_them(self) -> None:
        first, second = (
            MultinomialNoise(TruthOrFake(0.99, fake)) for fake in ((0.7, 0.1, 0.1, 0.1), (0.1, 0.1, 0.1, 0.7))
        )
        table = table_of(block_of(first, [50, 0, 1, 49]), block_of(second, [45, 1, 0, 54]))
        limits = table.conf_int().reshape(-1, 2)
        assert np.all(limits[1:3, 0] < 0.006)
        assert np.all(limits[1:3, 1] > 0.015)
        assert "mid-p where reports are few" in str(table.summary())

    def test_sums_of_cells_forget_the_reports_of_each(self) -> None:
        table = table_of(block_of(ldp.OUE(4, 6.0).noise, [50, 2, 1, 40], 100))
        assert table.marginal("row").cells.own is None


def test_an_empty_cell_may_be_empty() -> None:
    table = table_of(block_of(ldp.GRR(4, 60.0).noise, [0, 20, 15, 25]))
    low, high = table.conf_int()[0, 0] if table.conf_int().ndim == 3 else table.conf_int()[0]
    assert low <= 0.0
    # P(none) / 2 = .025 there
    assert high == pytest.approx(1 - 0.05 ** (1 / 60), abs=1e-6)
