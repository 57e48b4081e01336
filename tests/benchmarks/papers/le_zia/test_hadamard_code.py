"""The law of the public code of Hadamard response: sound where all blocks hold values, biased elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from papers.le_zia.hadamard_code import PublicHadamardCode

SIZES = (3, 5, 8, 12, 14, 15, 42, 63)


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_its_channel_has_the_level_that_is_called_spent(d: int, epsilon: float) -> None:
    code = PublicHadamardCode(d, epsilon)
    channel = code.channel
    assert channel.sum(axis=1) == pytest.approx(1)
    assert np.log((channel.max(axis=0) / channel.min(axis=0)).max()) == pytest.approx(code.spent)
    assert code.spent == pytest.approx(epsilon) if code.sound else code.spent < epsilon


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_it_decodes_expected_shares_to_the_truth_only_where_no_block_is_idle(d: int, epsilon: float) -> None:
    code = PublicHadamardCode(d, epsilon)
    truth = np.arange(1, d + 1) / (d * (d + 1) / 2)
    decoded = code.decoded(truth @ code.channel)
    assert (np.abs(decoded - truth).max() < 1e-12) == code.sound


def test_its_simulation_has_the_law_of_its_channel() -> None:
    """Three values at ε = 1: 5.5 standard errors are allowed, a false failure in a million."""
    code, counts, runs = PublicHadamardCode(3, 1.0), np.array([163, 525, 2]), 4000
    rng = np.random.default_rng(1)
    found = code.estimates(counts, runs, rng)
    reports = np.stack(
        [sum(rng.multinomial(count, law) for count, law in zip(counts, code.channel, strict=True)) for _ in range(runs)]
    )
    direct = code.decoded(reports / counts.sum())  # with values in their own order: with one block it does not matter
    std_err = np.hypot(found.std(axis=0), direct.std(axis=0)) / runs**0.5
    assert np.abs(found.mean(axis=0) - direct.mean(axis=0)) == pytest.approx(0, abs=5.5 * std_err.max())


def test_which_blocks_are_idle() -> None:
    """The cells of the tables where the printed errors of HR do not fall as ε rises."""
    idle = {(d, eps) for d in SIZES for eps in (0.5, 1.0, 2.0) if not PublicHadamardCode(d, eps).sound}
    assert {(3, 1.0), (15, 1.0), (63, 1.0), (5, 2.0), (42, 2.0), (63, 2.0)} <= idle
    assert not {(5, 1.0), (8, 1.0), (12, 1.0), (14, 1.0), (42, 1.0), (12, 2.0)} & idle
