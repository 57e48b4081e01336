"""Gaboardi and Rogers' test of fit: its formulas word by word, its level, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, chisquare

import ldpstats as ldp
from ldpstats.errors import LdpstatsError
from ldpstats.inference.published import gaboardi_rogers_test

FREQUENCIES = np.array([0.5, 0.25, 0.15, 0.1])
DOMAIN = ldp.Domain({"a": range(4)})


def table_of(mechanism: str, epsilon: float, counts: Any, rng: int = 1) -> ldp.Table:
    return ldp.SampledGroups(DOMAIN, k=1, epsilon=epsilon, mechanism=mechanism).simulate(counts, rng)["a"]


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_of_grr_it_is_pearsons_statistic_of_the_reports(epsilon: float) -> None:
    table = table_of("grr", epsilon, [500, 300, 150, 50])
    z = np.exp(epsilon)
    shown = (z * FREQUENCIES + 1 - FREQUENCIES) / (z + 3)
    statistic, pvalue = gaboardi_rogers_test(table, FREQUENCIES)
    expected = chisquare(table.blocks[0].tally.counts, 1000 * shown)
    assert (statistic, pvalue) == pytest.approx((expected.statistic, expected.pvalue), rel=1e-9)
    assert statistic == pytest.approx(ldp.goodness_of_fit_test(table, FREQUENCIES).statistic, rel=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_of_flipped_bits_it_is_the_printed_formula(epsilon: float) -> None:
    table = table_of("sue", epsilon, [500, 300, 150, 50])
    counts, z = table.blocks[0].by_value.tally.counts, np.exp(epsilon / 2)
    gap = counts / 1000 - ((z - 1) * FREQUENCIES + 1) / (z + 1)
    own = np.diag(FREQUENCIES) - np.outer(FREQUENCIES, FREQUENCIES)
    covariance = ((z - 1) / (z + 1)) ** 2 * own + z / (z + 1) ** 2 * np.eye(4)
    centred = np.eye(4) - 1 / 4
    printed = 1000 * gap @ centred @ np.linalg.inv(covariance) @ centred @ gap
    result = gaboardi_rogers_test(table, FREQUENCIES)
    assert result.statistic == pytest.approx(printed, rel=1e-9)
    assert (result.name, result.threshold) == (
        "Local χ² test of fit (Gaboardi & Rogers 2018)",
        pytest.approx(7.8147, abs=1e-4),
    )
    assert "are those that were given" in str(result.summary())


@pytest.mark.parametrize("mechanism", ["grr", "sue"])
def test_it_keeps_its_level_and_has_power(mechanism: str) -> None:
    """2,000 tables of 5,000 at level .05: outside these limits once in a million times, if the level is exact."""
    block = table_of(mechanism, 1.0, [1250] * 4).blocks[0]
    low, high = binom.ppf([5e-7, 1 - 5e-7], 2000, 0.05)

    def rejected(frequencies: Any, times: int) -> int:
        drawn = block.draw(frequencies, times, np.random.default_rng(5))
        tables = (
            ldp.Table(
                DOMAIN, (replace(block, tally=replace(block.tally, counts=own)),), ldp.GRR(4, epsilon=9).privacy()
            )
            for own in drawn
        )
        return sum(gaboardi_rogers_test(table, FREQUENCIES).rejected for table in tables)

    assert low <= rejected(FREQUENCIES, 2000) <= high
    assert rejected(np.full(4, 1 / 4), 20) == 20


def test_frequencies_come_flat_or_in_the_tables_shape_also_with_zeros() -> None:
    domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    table = ldp.SampledGroups(domain, epsilon=2.0, mechanism="grr").simulate([600, 400, 0, 0], rng=1)["sex", "car"]
    flat, shaped = (gaboardi_rogers_test(table, np.reshape([0.6, 0.4, 0, 0], shape)) for shape in (4, (2, 2)))
    assert flat.statistic == shaped.statistic
    assert (flat.expected == [[0.6, 0.4], [0, 0]]).all()
    assert not flat.rejected
    assert gaboardi_rogers_test(table, [0, 0, 0.4, 0.6]).rejected


@pytest.mark.parametrize("mechanism", ["oue", "ss", "hr", "olh", "rappor"])
def test_other_mechanisms_are_refused(mechanism: str) -> None:
    with pytest.raises(LdpstatsError, match="GRR or SUE"):
        gaboardi_rogers_test(table_of(mechanism, 0.2, [100] * 4), FREQUENCIES)


def test_what_is_no_single_block_or_no_frequencies_is_refused() -> None:
    table = table_of("grr", 1.0, [100] * 4)
    wrong: Any
    for wrong in ([0.5, 0.5], [0.5, 0.3, 0.2, 0.1], [1.2, -0.2, 0, 0], "x", None, [[0.25] * 4], [np.nan] * 4):
        with pytest.raises(LdpstatsError):
            gaboardi_rogers_test(table, wrong)
    for alpha in (0, 1, "x"):
        with pytest.raises(LdpstatsError):
            gaboardi_rogers_test(table, FREQUENCIES, alpha)  # type: ignore[arg-type]  # refused
    levels = ldp.PersonalLevels(DOMAIN, levels={"low": 0.5, "open": 2.0}, k=1, mechanism="grr")
    for other in (
        levels.simulate([100] * 4, 1)["a"],
        table_of("grr", 1.0, [0] * 4),
        table.collapse({"a": {"b": [0, 1]}}),
        5,
    ):
        with pytest.raises(LdpstatsError):
            gaboardi_rogers_test(other, FREQUENCIES)  # type: ignore[arg-type]  # refused
