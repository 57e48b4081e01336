"""The gains of the paper's tables measure what they say: small slices of them."""

from __future__ import annotations

import numpy as np
import pytest
from papers.arcolezi import gains
from papers.arcolezi.mechanisms import Reading, named, sound
from papers.exhibits import Effort

from ldpstats.estimation.likelihood import iterative_bayesian_update
from ldpstats.mechanisms import GRR, OUE, SS, Mechanism


@pytest.mark.parametrize("mechanism", [GRR(50, 1.0), OUE(50, 4.0), SS(50, 1.0)])
def test_all_rows_are_updated_as_the_package_updates_one(mechanism: Mechanism) -> None:
    reports = sound(mechanism)
    counts = reports.noise.simulate(np.repeat([[90, 60, *[0] * 48]], 3, axis=0), np.random.default_rng(1))
    shares = counts / counts.sum(axis=1, keepdims=True)
    for updates in (3, 10_000):
        frequencies = gains.updated(shares, reports.own, reports.common, updates, 1e-12)
        one_by_one = [iterative_bayesian_update(row, reports.noise, updates, 1e-12).frequencies for row in counts]
        assert np.allclose(frequencies, one_by_one, rtol=1e-9, atol=1e-12)


def test_errors_are_those_of_the_estimates_computed_by_hand() -> None:
    true_counts = np.array([[700, 200, 60, 40, 0]])
    measured = gains.errors(sound(OUE(5, 1.0)), true_counts, 2, np.random.default_rng(1))
    counts = OUE(5, 1.0).noise.simulate(np.repeat(true_counts, 2, axis=0), np.random.default_rng(1))
    p, q = 0.5, 1 / (np.e + 1)
    inverted = np.maximum(counts / 1000 - q, 0)
    inverted /= inverted.sum(axis=1, keepdims=True)
    assert np.allclose(measured[0, 0, 0], ((inverted - true_counts / 1000) ** 2).mean(axis=1), rtol=1e-9)
    assert np.allclose(measured[1, 0, 0], abs(inverted - true_counts / 1000).mean(axis=1), rtol=1e-9)
    iterated, channel = np.full((2, 5), 0.2), (p - q) * np.eye(5) + q
    for _ in range(10_000):
        iterated *= counts / counts.sum(axis=1, keepdims=True) / (iterated @ channel) @ channel
    assert np.allclose(measured[0, 1, 0], ((iterated - true_counts / 1000) ** 2).mean(axis=1), rtol=1e-6)
    limit = gains.errors(sound(OUE(5, 1.0)), true_counts, 2, np.random.default_rng(1), None)
    assert np.allclose(measured, limit, rtol=1e-3), "with five values the updates reach their limit"


def test_a_gain_is_clipped_in_every_run() -> None:
    measured = np.array([[[[2.0, 4.0]], [[1.0, 5.0]]]])
    assert gains.gain(measured).tolist() == [[[50.0, 0.0]]]


def test_runs_of_one_sample_are_drawn_anew_and_samples_keep_their_place() -> None:
    samples = np.array([[900, 100], [100, 900]])
    measured = gains.errors(sound(GRR(2, 4.0)), samples, 3, np.random.default_rng(5))
    assert measured.shape == (2, 2, 2, 3)
    assert len(np.unique(measured[0, 0, 0])) > 1
    # beside the other sample's frequencies every error would be .8
    assert measured[1].max() < 0.1


def test_the_spread_tells_samples_from_runs() -> None:
    rng = np.random.default_rng(2)
    of_samples = rng.normal(0, 3, (1, 2, 4000, 1, 1, 1))
    figures = of_samples + rng.normal(0, 4, (1, 2, 4000, 1, 1, 2))
    theirs, ours = gains.spread(figures)
    # relative standard errors of 2 %; five of them are a false failure rate below 1e-6
    assert theirs.item() == pytest.approx(np.sqrt((9 + 16 / 20) / 2), rel=0.1)
    assert ours.item() == pytest.approx(np.sqrt((9 + 16 / 2) / 4000 / 2), rel=0.1)


def test_with_two_values_grr_is_inverted_by_the_updates() -> None:
    measured = gains.errors(sound(GRR(2, 1.0)), np.array([[8000, 12_000]]), 3, np.random.default_rng(3))
    assert np.allclose(measured[:, 1], measured[:, 0], rtol=1e-6)


def test_gains_stand_in_the_order_of_their_axes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gains, "SIZES", (2, 50))
    monkeypatch.setattr(gains, "RESPONDENTS", (20_000,))
    reading = Reading(last_two_bins_made_one=True, columns={"GRR": named("grr"), "BLH": named("blh")})
    measured = gains.Measurement(reading, 2).gains(Effort(full=False), "")
    assert measured.shape == (5, 1, 2, 2, 3, 2, 2, 2)
    # uniform data: the few updates of a quick run stay near their start, so that BLH gains with 50 values
    uniform = measured[2, 0, :, :, :, :, 0].mean(axis=(0, -1))
    assert uniform[1, :, 1].min() > 50
    assert uniform[0, :, 0].max() < 1
