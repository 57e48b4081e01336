"""Effects: the bias-corrected Cramér's V against its definition, its bias, and its refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats.contingency import association as classical

import ldpstats as ldp

DOMAIN = ldp.Domain({"row": range(4), "column": range(4)})


def collected(joint: np.ndarray, epsilon: float, mechanism: str = "auto", seed: int = 1) -> ldp.Table:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=epsilon, mechanism=mechanism)
    return protocol.simulate(joint.astype(int), rng=seed)["row", "column"]


def dependent(n: int, strength: float) -> np.ndarray:
    """Return 4-by-4 counts with this Cramér's V and even margins."""
    return n * ((1 - strength) / 16 + strength * np.eye(4) / 4)


@pytest.mark.parametrize("strength", [0.1, 0.5, 1.0])
def test_without_noise_and_sampling_it_is_cramers_v(strength: float) -> None:
    joint = dependent(160_000_000, strength)
    found = ldp.association(collected(joint, 60.0))
    assert found.plug_in == pytest.approx(classical(joint.astype(int), method="cramer"), abs=1e-9)
    assert found.plug_in == pytest.approx(strength, abs=1e-9)
    assert found.cramers_v == pytest.approx(strength, abs=1e-5)


@pytest.mark.parametrize(("mechanism", "strength"), [("grr", 0.3), ("oue", 0.0)])
def test_squared_v_is_nearly_unbiased_and_the_plug_in_is_not(mechanism: str, strength: float) -> None:
    """Average raw - bias over 400 collections; its standard error is told by their spread (5 of them allowed)."""
    tables = [collected(dependent(16_000, strength), 1.0, mechanism, seed) for seed in range(400)]
    found = [ldp.association(table) for table in tables]
    corrected = np.array([one.plug_in**2 - one.noise**2 for one in found])
    allowed = 5 * corrected.std() / 20
    assert abs(corrected.mean() - strength**2) < allowed
    assert np.mean([one.plug_in**2 for one in found]) - strength**2 > 2 * allowed
    assert all(one.cramers_v == pytest.approx(math.sqrt(max(0.0, c))) for one, c in zip(found, corrected, strict=True))


def test_noise_is_not_sold_as_an_estimate() -> None:
    """Independent tables of few respondents: mostly noise, which is called so even where it looks strong."""
    found = [ldp.association(collected(dependent(1000, 0.0), 1.0, "grr", seed)) for seed in range(200)]
    assert all(one.why_not for one in found if not one.noise < 0.3)
    assert sum(bool(one.why_not) for one in found) > 190, "the noise alone shows V = .5"


def test_a_category_without_a_positive_share_is_left_out_and_named() -> None:
    joint = np.zeros((4, 4))
    joint[:3, :3] = 100
    joint[3, 0] = 1
    tables = [collected(joint, 0.7, seed=seed) for seed in range(20)]
    found = [ldp.association(table) for table in tables if table.estimate.sum(axis=1).min() <= 0]
    assert found, "some collection estimates a negative margin"
    assert all("row" in one.without or "row" in one.why_not for one in found)
    assert all(bool(one.why_not) == math.isnan(one.cramers_v) for one in found)
    assert all(one.conf_int()[0] == 0 for one in found), "the others are independent"
