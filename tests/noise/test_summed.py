"""Supports added up by class: the law of the sums, and tables that stay evidence when they are added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import patterns as study
import pytest
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.stats import binom
from support.report_laws import report_law

import ldpstats as ldp
from ldpstats.estimation.estimate import Estimate
from ldpstats.noise import SummedSupport, SupportNoise

BITS = SummedSupport(SupportNoise.independent(6, 0.5, 0.2), (3, 1, 2))
SETS = SummedSupport(SupportNoise.subset(6, 0.75, 3), (1, 4, 1))
NAMES = ("a", "b", "c")
DOMAIN = ldp.Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]})
each_noise = pytest.mark.parametrize("noise", [BITS, SETS], ids=["bits", "sets"])


def table_of(mechanism: str, epsilon: float = 1.0, people: Any = None) -> ldp.Table:
    counts = np.arange(12).reshape(2, 3, 2) * 100 if people is None else people
    return ldp.SampledGroups(DOMAIN, k=3, epsilon=epsilon, mechanism=mechanism).simulate(counts, rng=1)[NAMES]


class TestNoise:
    """Against enumerated reports; moments, draws and scores are among those of all noise in test_noise.py."""

    @each_noise
    def test_what_a_report_says_for_a_class(self, noise: SummedSupport) -> None:
        rows, law = report_law(noise)
        sums = np.unique(rows, axis=0)
        chance = np.array([law[(rows == one).all(axis=1)].sum(axis=0) for one in sums])
        said, expected = noise.log_likelihoods(sums), np.log(chance)
        np.testing.assert_allclose(said - said[:, :1], expected - expected[:, :1], atol=1e-12)

    @each_noise
    def test_what_a_report_is_worth_at_most(self, noise: SummedSupport) -> None:
        worth = noise.debias(report_law(noise)[0])
        np.testing.assert_allclose(noise.influence(), [worth.min(axis=0), worth.max(axis=0)], atol=1e-12)
        assert noise.largest == report_law(noise)[0].max()

    @each_noise
    def test_bounds_are_where_estimates_do_not_vary(self, noise: SummedSupport) -> None:
        bounds = noise.bounds()
        np.testing.assert_allclose(noise.variance(bounds), 0, atol=1e-12)
        single = np.array(noise.sizes) == 1
        np.testing.assert_allclose(bounds[:, single], noise.support.bounds()[:, : single.sum()], atol=1e-12)
        inside, outside = bounds.mean(axis=0), bounds[1] + 1e-9
        assert noise.supports(np.stack([inside, outside])).tolist() == [True, False]

    @each_noise
    def test_classes_of_classes_are_classes(self, noise: SummedSupport) -> None:
        classes = np.repeat([0, 1, 2], noise.sizes)
        assert noise.support.merged(classes) == noise
        for again in (np.array([0, 1, 1]), np.array([1, 0, 1])):
            assert noise.merged(again) == noise.support.merged(again[classes])
        assert noise.support.merged(np.arange(6)[::-1]) == noise.support

    @pytest.mark.parametrize("sizes", [(6,), (3, 2), (3, 4), (6, 0), (3, 3.0)])
    def test_classes_that_are_not_all_values_are_refused(self, sizes: Any) -> None:
        with pytest.raises(ldp.LdpstatsError, match="class"):
            SummedSupport(BITS.support, sizes)

    @pytest.mark.parametrize("name", ["oue", "sue", "ss", "the", "olh", "blh"])
    def test_sums_have_the_covariance_of_added_up_counts(self, name: str) -> None:
        noise, classes = ldp.mechanism(name, k=7, epsilon=0.8).noise, np.array([0, 2, 1, 0, 2, 0, 0])
        added, frequencies = (
            np.eye(3)[classes],
            np.array([[0.1, 0.2, 0.05, 0.15, 0.3, 0.2, 0.0], [1.2, -0.2, *[0.0] * 5]]),
        )
        sums = noise.merged(classes)
        assert isinstance(sums, SummedSupport)
        covariance = added.T @ noise.report_covariance(frequencies) @ added
        np.testing.assert_allclose(sums.report_covariance(frequencies @ added), covariance, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(sums.mean(frequencies @ added), noise.mean(frequencies) @ added, rtol=1e-12)


class TestTallies:
    """Counts of sets are turned into counts by value first."""

    def test_counted_sets_add_up_as_their_values_do(self) -> None:
        sets = table_of("ss").blocks[0]
        coarse = table_of("ss").collapse({"b": {"01": [0, 1]}}).blocks[0]
        assert sets.noise.members is not None
        assert isinstance(coarse.noise, SummedSupport)
        assert coarse.noise.sizes == (2, 2, 1, 1, 2, 2, 1, 1)
        of_values = sets.by_value.tally.counts.reshape(2, 3, 2)
        assert (
            coarse.tally.counts.tolist()
            == np.stack([of_values[:, :2].sum(axis=1), of_values[:, 2]], 1).ravel().tolist()
        )


class TestTables:
    """Marginals and collapsed tables keep their reports."""

    @pytest.mark.parametrize("mechanism", ["oue", "ss", "sue"])
    def test_a_marginal_of_a_marginal_is_the_marginal(self, mechanism: str) -> None:
        table = table_of(mechanism)
        once, twice = table.marginal("b"), table.marginal(["a", "b"]).marginal("b")
        turned = table.reordered(["c", "b", "a"]).marginal(["b", "a"]).marginal("b")
        for other in (twice, turned):
            assert other.blocks[0].noise == once.blocks[0].noise
            assert other.blocks[0].tally.counts.tolist() == once.blocks[0].tally.counts.tolist()
        np.testing.assert_allclose(once.estimate, table.estimate.sum(axis=(0, 2)), atol=1e-12)
        np.testing.assert_allclose(once.conf_int(), turned.conf_int(), atol=1e-12)

    def test_collections_of_sums_add_up(self) -> None:
        protocol = ldp.SampledGroups(DOMAIN, k=3, epsilon=1.0, mechanism="oue")
        one, other = (protocol.simulate(np.full(12, 50), rng=seed).collapse({"b": {"rest": [1, 2]}}) for seed in (1, 2))
        both, halves = (one + other)[NAMES], (one[NAMES], other[NAMES])
        assert len(both.blocks) == 1
        assert both.blocks[0].tally.counts.tolist() == sum(half.blocks[0].tally.counts for half in halves).tolist()

    def test_most_likely_proportions_are_added_up(self) -> None:
        """Counted sets have a likelihood, their sums have none."""
        table = table_of("ss").estimated_by("mle")
        assert table.marginal("b").blocks
        np.testing.assert_allclose(table.marginal("b").estimate, table.estimate.sum(axis=(0, 2)), atol=1e-12)

    def test_cells_that_stay_keep_their_intervals(self) -> None:
        table = table_of("oue", 4.0)
        coarse = table.collapse({"b": {"01": [0, 1]}})
        np.testing.assert_allclose(coarse.conf_int()[:, 1], table.conf_int()[:, 2], atol=1e-9)
        assert coarse.cells.kind_of_intervals.startswith("Wilson")


class TestIndependence:
    """A marginal is tested as if it had been asked for: by its null covariance."""

    @pytest.mark.parametrize("mechanism", ["oue", "ss"])
    def test_the_statistic_is_least_squares_with_the_covariance_at_the_null(self, mechanism: str) -> None:
        table, added = table_of(mechanism).marginal(["a", "b"]), np.eye(6)[np.arange(12) // 2]
        fine, cells = table_of(mechanism).blocks[0].by_value.noise, table.estimate.ravel()
        contrasts, three = (np.linalg.svd(np.ones((1, size)))[2][1:].T for size in (6, 3))

        def fitted(free: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
            a, b = np.array([free[0], 1 - free[0]]), 1 / 3 + three @ free[1:]
            tangents = np.hstack([np.kron([[1.0], [-1.0]], b[:, None]), np.kron(a[:, None], three)])
            # which cells of a class are held does not matter
            spread = added.T @ fine.covariance(added @ np.kron(a, b) / 2) @ added / table.n
            inverse = np.linalg.pinv(spread, rcond=1e-10, hermitian=True)
            return inverse @ (cells - np.kron(a, b)), inverse, tangents

        def slope(free: NDArray[np.float64]) -> NDArray[np.float64]:
            score, _, tangents = fitted(free)
            return tangents.T @ score

        score, inverse, _ = fitted(root(slope, [0.5, 0.0, 0.0], tol=1e-12).x)
        expected = score @ contrasts @ np.linalg.inv(contrasts.T @ inverse @ contrasts) @ contrasts.T @ score
        found = ldp.independence_test(table)
        assert "least squares" in found.method
        assert found.df == 2
        assert found.statistic == pytest.approx(expected, rel=1e-6)

    def test_true_hypotheses_are_rejected_as_often_as_they_may_be(self) -> None:
        """Of 800 tables 14 to 78: fewer, or more, come less than once in 10^6 at a level of .05."""
        assert max(binom.sf(78, 800, 0.05), binom.cdf(13, 800, 0.05)) < 1e-6
        sums = SummedSupport(ldp.mechanism("ss", k=24, epsilon=1.0).noise, (1, 2, 3, 5, 6, 7))
        rejections = 800 * study.rejected(sums, np.kron([0.7, 0.3], [0.5, 0.3, 0.2]), (2, 3), 5000, 800, seed=3)
        assert 14 <= rejections <= 78


class TestIntervals:
    """A sum of supports is taken for a number of reports with its mean and variance."""

    @pytest.mark.parametrize("epsilon", [1.0, 2.0, 4.0, 8.0])
    @pytest.mark.parametrize("n", [300, 1000, 2000])
    def test_nearly_empty_classes_are_covered(self, epsilon: float, n: int) -> None:
        """Exact: a class's sum is that of one binomial count for its members, and one for all other bits."""
        size, covered = 4, []
        noise = ldp.OUE(12, epsilon).noise
        assert isinstance(noise, SupportNoise)
        bounds = SummedSupport(noise, (size, 12 - size)).bounds()[:, :1]
        for share in (0.0, 0.001, 0.003, 0.01, 0.03):
            law = np.convolve(
                binom.pmf(np.arange(n + 1), n, noise.q + noise.delta * share),
                binom.pmf(np.arange(n * (size - 1) + 1), n * (size - 1), noise.q),
            )
            counts = np.flatnonzero(law > 1e-10)
            estimate = (counts / n - size * noise.q) / noise.delta
            seen = Estimate(
                estimate, np.zeros((counts.size, counts.size)), n, bounds=np.repeat(bounds, counts.size, axis=1)
            )
            low, high = seen.conf_int().T
            covered.append(law[counts][(low <= share) & (share <= high)].sum())
        assert min(covered) > 0.93
        assert covered[-1] < 0.97
