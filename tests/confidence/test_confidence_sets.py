"""Confidence sets by inversion: Fieller quotients and noncentral χ², by brute force and by their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import ncx2, norm

from ldpstats.confidence.confidence_sets import FiellerQuotient, NoncentralSquare

Z = float(norm.ppf(0.975))


class TestFiellerQuotient:
    """Fieller's inversion."""

    @pytest.mark.parametrize("alpha", [0.05, 0.3])
    def test_the_set_is_where_the_inequality_holds(self, alpha: float) -> None:
        """2,000 pairs, many without a clear denominator, each tried at 400 values of the quotient."""
        rng = np.random.default_rng(1)
        pairs, roots = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2, 2))
        quotient = FiellerQuotient(pairs, roots @ np.swapaxes(roots, 1, 2) / 9, 0.0, 20.0)
        tried = np.linspace(0.01, 19.9, 400)
        x, y = pairs.T[..., None]
        (xx, xy), (_, yy) = np.moveaxis(quotient.covariance, 0, -1)[..., None]
        inside = (x - tried * y) ** 2 <= norm.isf(alpha / 2) ** 2 * (xx - 2 * tried * xy + tried**2 * yy)
        limits = quotient.limits(alpha)[..., None]
        found = ((limits[:, :, 0] <= tried) & (tried <= limits[:, :, 1])).any(axis=1)
        assert np.array_equal(found, inside)
        kinds = np.isfinite(limits[:, :, 0, 0]).sum(axis=1)
        assert set(kinds) == {0, 1, 2}, "sets with no piece, one and two"

    def test_exact_borders_have_an_answer(self) -> None:
        on_border = FiellerQuotient(np.array([1.0, 2.0]), np.diag([0.0, 4 / Z**2]), -np.inf, np.inf)
        low, high = on_border.limits(0.05)[0]
        assert low == pytest.approx(0.25)
        assert high > 1e9
        nothing = FiellerQuotient(np.zeros(2), np.zeros((2, 2)), 0.0, np.inf)
        assert nothing.limits(0.05)[0].tolist() == [0.0, np.inf]

    def test_the_covariance_of_forms_is_that_of_normal_cells(self) -> None:
        """Isserlis' theorem, by Gauss-Hermite quadrature over two independent normal cells."""
        mean, spread = np.array([0.3, 0.7]), np.array([0.2, 0.1])
        forms = np.array([[1.0, 0.4], [0.4, -0.3]]), np.array([[0.2, 0.5], [0.5, 0.9]])
        nodes, weights = np.polynomial.hermite_e.hermegauss(8)
        points = np.stack(np.meshgrid(*(mean[:, None] + spread[:, None] * nodes)), axis=-1).reshape(-1, 2)
        weight = np.outer(weights, weights).T.ravel() / (2 * math.pi)
        values = np.stack([np.einsum("ni,ij,nj->n", points, form, points) for form in forms])
        expected = np.cov(values, aweights=weight, ddof=0)
        # at the mean, the first-order term is the exact one
        found = FiellerQuotient.of_forms(mean, np.diag(spread**2), forms, -np.inf, np.inf)
        assert np.allclose(found.covariance, expected, rtol=1e-12)

    def test_limits_of_parts_compare_with_the_best_possible_quotient(self) -> None:
        """2,000 pairs, many improper, each tried at 401 values: the likelihood ratio among quotients from 0 to 1."""
        rng = np.random.default_rng(2)
        pairs, roots = rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2, 2))
        covariance = roots @ np.swapaxes(roots, 1, 2) / 9
        limits = FiellerQuotient(pairs, covariance, 0.0, 1.0).limits_of_parts(0.05)
        tried = np.linspace(0, 1, 401)
        forms = np.stack([np.ones(401), -tried], axis=-1)
        misfit = (pairs @ forms.T) ** 2 / np.einsum("ti,nij,tj->nt", forms, covariance, forms)
        x, y = pairs.T
        best = np.where((x >= 0) & (x <= y), 0, misfit.min(axis=1))
        inside = misfit <= (best + Z**2)[:, None]
        for limit, kept, above in zip(limits, inside, y > 0, strict=True):
            if not above:
                assert limit.tolist() == [0, 1]
                continue
            assert limit[0] == pytest.approx(tried[kept].min(), abs=0.0026)
            assert limit[1] == pytest.approx(tried[kept].max(), abs=0.0026)


class TestNoncentralSquare:
    """Inversion of the noncentral χ²."""

    def test_limits_are_where_the_tails_are(self) -> None:
        stretch, added, seen = 0.01, 0.03, np.array([0.2, 0.5])
        limits = NoncentralSquare(seen, np.full(2, added), np.full(2, stretch), 1.0, 1.0, 9.0).limits(0.1)[:, 0]
        scaled = ncx2(added / stretch, limits.T / stretch)
        tail = 0.05 * np.array([[0, 1]]).T * ncx2(added / stretch, 1e-12).cdf(seen / stretch)
        assert np.allclose(scaled.cdf(seen / stretch), np.stack([np.full(2, 0.95), tail[1]]), atol=1e-6)

    def test_never_says_that_there_is_nothing_at_all(self) -> None:
        limits = NoncentralSquare(np.array(1e-9), np.array(0.01), np.array(0.005), 1.0, 0.5, 1.0).limits(0.05)[0]
        assert limits[0] == 0
        assert 0.01 < limits[1] < 0.5

    @pytest.mark.parametrize("freedom", [1, 16, 1000])
    def test_of_nothing_at_all_and_of_hardly_anything_limits_are_alike(self, freedom: float) -> None:
        def highest(seen: float) -> float:
            square = NoncentralSquare(np.array(seen), np.array(freedom), np.array(1.0), 1.0, 1.0, 99.0)
            return float(square.limits(0.05)[0, 1])

        # F(x; ν, λ) / F(x; ν) is exp(-λ / 2) at x = 0
        assert highest(0.0) == pytest.approx(-2 * math.log(0.025))
        assert highest(1e-3 * freedom) == pytest.approx(highest(0.0), rel=2e-3)
        assert np.all(np.diff([highest(share * freedom) for share in np.linspace(0, 0.8, 100)]) > 0)

    def test_the_normal_limit_joins_the_tails(self) -> None:
        at = [
            NoncentralSquare(np.array(s), np.array(3e-6), np.array(1e-6), 1.0, 1.0, 9.0).limits(0.05)
            for s in (0.9999, 1)
        ]
        assert np.allclose(at[0] + 1e-4, at[1], atol=2e-5)
