"""The benchmark that repeats the paper's table of gains measures what it says: a small slice of it."""

from __future__ import annotations

import ibu_gains
import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.mechanisms.grr import GRR
from ldpstats.mechanisms.unary import OUE


def test_the_last_two_of_k_plus_one_bins_are_made_one() -> None:
    values = np.array([0.0, 0.9, 1.1, 2.1, 2.9, 3.0])
    assert ibu_gains.bin_counts(values, 2, plain_bins=False).tolist() == [2, 4]
    assert ibu_gains.bin_counts(values, 2, plain_bins=True).tolist() == [3, 3]
    assert ibu_gains.bin_counts(values, 3, plain_bins=True).tolist() == [2, 1, 3]


def test_errors_are_those_of_the_estimates_computed_by_hand() -> None:
    true_counts = np.array([700, 200, 60, 40, 0])
    measured = ibu_gains.errors(OUE(5, 1.0), true_counts, 2, np.random.default_rng(1))
    counts = OUE(5, 1.0).simulate(true_counts, size=2, rng=np.random.default_rng(1)).counts
    p, q = 0.5, 1 / (np.e + 1)
    inverted = np.maximum(counts / 1000 - q, 0)
    inverted /= inverted.sum(axis=1, keepdims=True)
    assert np.allclose(measured[0, 0], ((inverted - true_counts / 1000) ** 2).mean(axis=1), rtol=1e-9)
    assert np.allclose(measured[1, 0], abs(inverted - true_counts / 1000).mean(axis=1), rtol=1e-9)
    iterated, channel = np.full((2, 5), 0.2), (p - q) * np.eye(5) + q
    for _ in range(10_000):
        iterated *= counts / counts.sum(axis=1, keepdims=True) / (iterated @ channel) @ channel
    assert np.allclose(measured[0, 1], ((iterated - true_counts / 1000) ** 2).mean(axis=1), rtol=1e-6)
    assert np.allclose(measured[:, 1], measured[:, 2], rtol=1e-3), "with five values the updates reach their limit"


def test_a_gain_is_clipped_in_every_run() -> None:
    measured = np.array([[2.0, 4.0], [1.0, 5.0], [0.5, 2.0]])
    assert ibu_gains.gain(measured).tolist() == [50.0, 0.0]
    assert ibu_gains.gain(measured, "limit").tolist() == [75.0, 50.0]


def test_the_spread_tells_samples_from_runs() -> None:
    rng = np.random.default_rng(2)
    of_samples = rng.normal(0, 3, (1, 2, 4000, 1, 1, 1))
    figures = of_samples + rng.normal(0, 4, (1, 2, 4000, 1, 1, 2))
    theirs, ours = ibu_gains.spread(figures)
    # relative standard errors of 2 %; five of them are a false failure rate below 1e-6
    assert theirs.item() == pytest.approx(np.sqrt((9 + 16 / 20) / 2), rel=0.1)
    assert ours.item() == pytest.approx(np.sqrt((9 + 16 / 2) / 4000 / 2), rel=0.1)


def test_grr_gains_nothing_on_uniform_data_where_binary_hashing_gains_most() -> None:
    sample = ibu_gains.Sample("uniform", 20_000, 0, runs=1, sizes=(50,))
    gains = ibu_gains.gain(ibu_gains.measure(sample)).mean(axis=(0, -1))
    names = [mechanism.__name__ for mechanism in ibu_gains.MECHANISMS]
    assert gains[names.index("GRR")].max() < 1
    assert gains[:, 0].argmax() == names.index("BLH")


def test_with_two_values_grr_is_inverted_by_the_updates() -> None:
    measured = ibu_gains.errors(GRR(2, 1.0), np.array([8000, 12_000]), 3, np.random.default_rng(3))
    assert np.allclose(measured[:, 1:], measured[:, :1], rtol=1e-6)


def test_a_report_has_a_row_per_cell_of_the_table_and_says_what_is_not_within() -> None:
    shape = (len(ibu_gains.DISTRIBUTIONS), 2, 3, 1, len(ibu_gains.MECHANISMS), 2, len(ibu_gains.ESTIMATORS), 2)
    measured = np.ones(shape)
    measured[..., 1, :] = 1 - ibu_gains.PRINTED[:, None, None, None, :, :, None] / 100
    lines = ibu_gains.report(measured).splitlines()
    assert sum("NO" in line for line in lines) == 0
    assert len(lines) == 1 + ibu_gains.PRINTED.shape[0] * ibu_gains.PRINTED.shape[1] + 5
    measured[1, ..., 0, 0, 1, :] = 0.5
    assert [line.split()[:2] for line in ibu_gains.report(measured).splitlines() if "NO" in line] == [
        ["exponential", "GRR"]
    ]


def test_olh_has_as_many_symbols_as_the_authors_code() -> None:
    olh = ibu_gains.MECHANISMS[-1]
    assert [round(1 / olh(50, level).noise.q) for level in ibu_gains.LEVELS] == [4, 8, 56]
    assert ldp.mechanism("ss", k=200, epsilon=4.0).omega == 4
