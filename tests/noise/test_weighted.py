"""The law of a weighted sum over reports: characteristic functions, and their inversion."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm as normal, poisson
from support.report_laws import report_law

import ldpstats as ldp
from ldpstats.noise import NoiseModel, SummedSupport, SupportNoise
from ldpstats.noise.weighted import NODES, share_below, weighted_report


class TestLaw:
    """Characteristic functions and their inversion."""

    @pytest.mark.parametrize(
        "noise",
        [
            *(ldp.GRR(4, 1.0).noise, SupportNoise.independent(4, 0.5, 0.1)),
            *(SupportNoise.subset(4, 0.8, size) for size in (1, 2, 3)),
            SummedSupport(SupportNoise.independent(6, 0.5, 0.2), (3, 1, 2)),
            SummedSupport(SupportNoise.subset(6, 0.75, 3), (1, 4, 1)),
        ],
        ids=str,
    )
    def test_one_report_is_enumerated(self, noise: NoiseModel) -> None:
        frequencies = np.arange(1, noise.cells + 1) / np.arange(1, noise.cells + 1).sum()
        weights, (rows, law) = np.random.default_rng(1).normal(size=(5, noise.cells)), report_law(noise)
        expected = np.exp(1j * weights @ rows.T) @ law @ frequencies
        assert np.allclose(weighted_report(noise, frequencies, weights), expected, atol=1e-12)

    @pytest.mark.parametrize("mean", [0.05, 0.7, 4.0])
    def test_the_share_below_counts_half_of_what_was_seen(self, mean: float) -> None:
        law = np.exp(mean * (np.exp(1j * NODES / math.sqrt(mean)) - 1) - 1j * math.sqrt(mean) * NODES)
        seen = np.arange(6)
        found = share_below(law, (seen - mean) / math.sqrt(mean))
        assert np.allclose(found, poisson.cdf(seen - 1, mean) + poisson.pmf(seen, mean) / 2, atol=2e-4)

    def test_a_normal_law(self) -> None:
        seen = np.array([-2.0, 0.0, 1.0, 100.0])
        assert np.allclose(share_below(np.exp(-(NODES**2) / 2), seen), normal.cdf(seen), atol=2e-3)
