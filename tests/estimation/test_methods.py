"""Estimators by name: each gives what its function gives, proper where it promises, and intervals only without bias."""

from __future__ import annotations

import numpy as np
import pytest

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import METHODS, POST_PROCESSING, NoiseVariance, ProcessedEstimate, mixture_em
from ldpstats.mechanisms import GRR, OUE, SS, Mechanism
from ldpstats.noise import Tally

MECHANISMS = [GRR(6, 1.0), OUE(6, 1.0), SS(6, 0.5)]
PROPER = ("mle", "ibu", "norm-mul", "norm-sub", "norm-cut", "mle-apx", "power-ns", "clip", "simplex")
VALUES = np.repeat(np.arange(6), [300, 150, 60, 30, 8, 2])


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
@pytest.mark.parametrize("method", PROPER)
def test_proper_methods_give_proper_distributions(mechanism: Mechanism, method: str) -> None:
    estimate = mechanism.estimate(mechanism.privatize(VALUES, rng=3), method).estimate
    assert estimate.min() >= 0
    assert estimate.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
@pytest.mark.parametrize("method", POST_PROCESSING)
def test_post_processing_starts_from_the_unbiased_estimate(mechanism: Mechanism, method: str) -> None:
    reports = mechanism.privatize(VALUES, rng=4)
    raw, done = mechanism.estimate(reports), mechanism.estimate(reports, method)
    assert np.array_equal(done.estimate, POST_PROCESSING[method](raw.estimate, NoiseVariance.of(raw)))
    assert (done.n, done.privacy, done.simulated) == (raw.n, raw.privacy, raw.simulated)


def test_the_most_likely_frequencies_of_single_outputs_need_only_the_counts() -> None:
    grr = MECHANISMS[0]
    reports = grr.privatize(VALUES, rng=5)
    from_reports, from_counts = grr.estimate(reports, "mle"), grr.estimate(grr.count(reports), "mle")
    assert np.array_equal(from_reports.estimate, from_counts.estimate)
    likelihoods = np.exp(grr.noise.log_likelihoods(grr.contributions(reports.data)))
    assert np.allclose(mixture_em(likelihoods).frequencies, from_counts.estimate, atol=1e-5)


@pytest.mark.parametrize("mechanism", MECHANISMS[1:], ids=lambda one: one.name)
def test_the_most_likely_frequencies_of_sets_need_the_reports(mechanism: Mechanism) -> None:
    reports = mechanism.privatize(VALUES, rng=6)
    fitted = mechanism.estimate(reports, "mle")
    assert isinstance(fitted, ProcessedEstimate)
    assert fitted.fitted is not None
    assert fitted.fitted.converged
    chances = np.exp(mechanism.noise.epsilon * mechanism.contributions(reports.data))
    best = np.log(chances @ fitted.estimate).sum()
    for other in (np.full(6, 1 / 6), mechanism.estimate(reports, "simplex").estimate):
        assert np.log(chances @ other).sum() < best
    with pytest.raises(LdpstatsError, match="Give the reports themselves"):
        mechanism.estimate(mechanism.count(reports), "mle")


@pytest.mark.parametrize("method", METHODS)
def test_biased_estimates_have_no_intervals(method: str) -> None:
    grr = MECHANISMS[0]
    estimate = grr.estimate(grr.privatize(VALUES, rng=7), method)
    assert list(estimate.to_frame().columns) == ["estimate"]
    for read in (lambda: estimate.covariance, lambda: estimate.std_err, estimate.conf_int):
        with pytest.raises(LdpstatsError, match="biased estimate"):
            read()


def test_unknown_methods_are_named_with_all_that_exist() -> None:
    grr = MECHANISMS[0]
    with pytest.raises(LdpstatsError, match=r"'best'.*'unbiased', 'mle', 'ibu'.*'power-ns'.*'simplex'"):
        grr.estimate(grr.privatize(VALUES, rng=8), "best")


def test_many_tables_are_post_processed_but_shown_one_at_a_time() -> None:
    grr = MECHANISMS[0]
    tallies = grr.simulate(np.bincount(VALUES), size=3, rng=9)
    estimate = grr.estimate(tallies, "simplex")
    assert estimate.estimate.shape == (3, 6)
    with pytest.raises(LdpstatsError, match="one table"):
        estimate.to_frame()


def test_what_is_shown_says_that_it_is_biased_and_how_it_was_found() -> None:
    tally = Tally(GRR(3, 1.0).noise, [60, 35, 5], 100, simulated=True)
    for method in ("norm-sub", "ibu"):
        found = GRR(3, 1.0).estimate(tally, method=method)
        assert f"by {method} (biased, no intervals)" in found.headline
        assert f"Found by {method}, which is biased" in str(found)
        assert found.picture().notes == ("simulated", f"by {method}: biased, and so without intervals")
        assert found.picture().to_frame()["lower"].isna().all()
        found.plot().figure.canvas.draw()
    assert "which converged" in str(found)
    assert found.to_dict()["converged"] is True
