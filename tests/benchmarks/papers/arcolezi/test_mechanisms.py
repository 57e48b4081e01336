"""The published chains of two rounds, by multiplying their matrices; and what stands in the paper's text."""

from __future__ import annotations

import math

import numpy as np
import pytest
from papers.arcolezi.mechanisms import (
    LEVELS,
    LONGITUDINAL,
    LONGITUDINAL_PUBLISHED,
    ONE_TIME,
    ONE_TIME_PUBLISHED,
    Reading,
    chained_truth,
    printed_symbols,
    published_response,
    published_second_round,
)

import ldpstats as ldp


def response(truth: float, k: int) -> np.ndarray:
    other = (1 - truth) / (k - 1)
    return other + (truth - other) * np.eye(k)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("k", [2, 5, 50])
def test_reports_of_the_published_chain_are_those_of_its_two_rounds(k: int, level: float) -> None:
    p1, _, p2, _ = published_second_round(k, level)
    chain = response(p1, k) @ response(p2, k)
    assert chained_truth(k, level) == pytest.approx(chain[0, 0], rel=1e-12)
    reports = published_response(k, level)
    assert np.allclose(reports.noise.channel.matrix(), chain, rtol=1e-9)
    # the update's matrix has the chain's diagonal, and less beside it for more than two values
    assert reports.own + reports.common == pytest.approx(chain[0, 0], rel=1e-12)
    assert (reports.common == pytest.approx(chain[0, 1], rel=1e-9)) == (k == 2)


def test_the_published_second_round_solves_the_printed_ratio() -> None:
    p1, q1, p2, q2 = published_second_round(50, 2.0)
    assert (p1 * p2 + q1 * q2) / (p1 * q2 + q1 * p2) == pytest.approx(math.exp(2.0), rel=1e-12)


def test_symbols_of_hashing_by_text_and_code() -> None:
    assert [printed_symbols(level, math.floor) for level in LEVELS] == [2, 6, 52]
    assert [printed_symbols(level, round) for level in LEVELS] == [3, 7, 53]
    of_text, of_code = (
        [round(1 / reading.columns["OLH"](50, level).noise.q) for level in LEVELS]
        for reading in (ONE_TIME, ONE_TIME_PUBLISHED)
    )
    assert (of_text, of_code) == ([3, 8, 55], [4, 8, 56])


def test_sizes_of_subsets_by_text_and_code() -> None:
    assert ONE_TIME.columns["SS"](200, 4.0).noise.size == 3
    assert ONE_TIME_PUBLISHED.columns["SS"](200, 4.0).noise.size == 4
    assert ONE_TIME.columns["SS"](50, 4.0).noise.outputs == 50, "none rounds down to 0"


def test_a_report_of_a_sound_chain_over_hashes_is_one_of_local_hashing() -> None:
    chain = ldp.mechanism("l-olh", k=100, epsilon=4.0, first_epsilon=2.0)
    once = ldp.mechanism("lh", k=100, epsilon=2.0, symbols=chain.hash_symbols)
    assert np.allclose([chain.noise.p, chain.noise.q], [once.noise.p, once.noise.q], rtol=1e-12)


def test_only_response_and_hashing_are_published_unsound() -> None:
    for name, column in LONGITUDINAL_PUBLISHED.columns.items():
        reports, text = column(50, 2.0), LONGITUDINAL.columns[name](50, 2.0)
        own, common = reports.noise.own_and_common
        sound = np.allclose([reports.own, reports.common], [own, common[0]], rtol=1e-12)
        assert sound == name.endswith("UE")
        assert (column is LONGITUDINAL.columns[name]) == name.endswith("UE")
        assert text.own > 0


def test_the_matrix_supposes_less_noise_for_response_and_more_for_hashing() -> None:
    for name, less in (("L-GRR", True), ("L-BLH", False), ("L-OLH", False)):
        for level in LEVELS:
            reports = LONGITUDINAL_PUBLISHED.columns[name](100, level)
            own, common = reports.noise.own_and_common
            assert (reports.own / reports.common > own / common[0]) == less


@pytest.mark.parametrize(("column", "symbols"), [("L-BLH", (2, 2, 2)), ("L-OLH", (3, 7, 53))])
def test_the_published_hashing_updates_with_p1_q2_and_p2_over_g(column: str, symbols: tuple[int, ...]) -> None:
    for level, g in zip(LEVELS, symbols, strict=True):
        reports = LONGITUDINAL_PUBLISHED.columns[column](50, level)
        p1, q1, p2, q2 = published_second_round(g, level)
        assert reports.common == pytest.approx(p1 * q2 + p2 / g, rel=1e-12)
        assert reports.own + reports.common == pytest.approx(p1 * p2 + (g - 1) * q1 * q2, rel=1e-12)


@pytest.mark.parametrize(("reading", "sizes"), [(ONE_TIME, (13, 5, 1)), (ONE_TIME_PUBLISHED, (13, 6, 1))])
def test_subsets_hold_the_true_value_as_often_as_their_size_has_it(reading: Reading, sizes: tuple[int, ...]) -> None:
    for level, size in zip(LEVELS, sizes, strict=True):
        reports, weight = reading.columns["SS"](50, level), size * math.exp(level)
        assert reports.own + reports.common == pytest.approx(weight / (weight + 50 - size), rel=1e-12)
