"""A hypothesis written by following ARCHITECTURE.md: Hardy-Weinberg equilibrium of the genotypes in a population."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

import ldpstats as ldp
from ldpstats.extend import Hypothesis, Table, null_model_test

DOMAIN = ldp.Domain({"genotype": ["AA", "Aa", "aa"]})


@dataclass(frozen=True, slots=True)
class HardyWeinberg:
    """Genotypes of two alleles that combine at random; the parameter is the logit of the first one's frequency."""

    bounded: ClassVar[bool] = True

    def frequencies(self, parameters: NDArray[Any]) -> NDArray[Any]:
        p = 1 / (1 + np.exp(-parameters[..., 0]))
        return np.stack([p**2, 2 * p * (1 - p), (1 - p) ** 2], axis=-1)

    def jacobian(self, parameters: NDArray[Any]) -> NDArray[Any]:
        p = 1 / (1 + np.exp(-parameters[..., 0]))
        slopes = np.stack([p, 1 - 2 * p, p - 1], axis=-1)
        return (2 * (p * (1 - p))[..., None] * slopes)[..., None]

    def limited(self, step: NDArray[Any]) -> NDArray[Any]:
        return np.clip(step, -2, 2)

    def nearest(self, cells: NDArray[Any]) -> NDArray[Any]:
        p = np.clip(cells[..., 0] + cells[..., 1] / 2, 1e-9, 1 - 1e-9)
        return np.log(p / (1 - p))[..., None]


def hardy_weinberg_test(table: Table, **options: Any) -> ldp.HypothesisResult:
    """Test whether the genotypes of a population are in equilibrium."""
    words = Hypothesis("Hardy-Weinberg equilibrium", "alleles combine at random", "alleles do not combine at random")
    return null_model_test(table, HardyWeinberg(), words, **options)


def genotyped(counts: list[int], epsilon: float, **options: Any) -> ldp.HypothesisResult:
    tables = ldp.SampledGroups(DOMAIN, k=1, epsilon=epsilon).simulate(np.array(counts), rng=3)
    return hardy_weinberg_test(tables["genotype"], **options)


def test_without_noise_it_is_the_classical_test() -> None:
    first, mixed, second = counts = [2980, 4120, 1690]
    alleles = (2 * first + mixed) * (2 * second + mixed)
    classical = sum(counts) * ((4 * first * second - mixed**2) / alleles) ** 2
    result = genotyped(counts, epsilon=40.0)
    assert result.df == 1
    assert result.statistic == pytest.approx(classical, rel=1e-6)
    assert result.pvalue == pytest.approx(chi2.sf(classical, 1), rel=1e-5)


@pytest.mark.parametrize("method", ["score", "lr"])
def test_through_noise_it_accepts_what_is_true_and_finds_what_is_false(method: str) -> None:
    assert genotyped([36_000, 48_000, 16_000], epsilon=1.0, method=method).pvalue > 0.01
    found = genotyped([46_000, 28_000, 26_000], epsilon=1.0, method=method)
    assert found.pvalue < 1e-6
    assert "alleles combine at random" in str(found.summary())


def test_its_pvalue_may_be_drawn() -> None:
    drawn = genotyped([46_000, 28_000, 26_000], epsilon=1.0, pvalue=ldp.MonteCarlo(99, rng=1))
    assert drawn.pvalue == 0.01
