"""Ways to ask, compared at equal levels: how much larger the exact variances of all pairs are one way than another."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from support.blocks_of_reports import Sized

from ldpstats import HadamardCoefficients, PerAttribute, SampledGroups, WholeView
from ldpstats.datasets import network
from ldpstats.estimation.unbiased_estimates import LinearPooling

SURVEY = network("survey").domain


def summed_variance(protocol: Any, name: str = "survey") -> float:
    """Return the exact variances of all unbiased cells of all pairs of a network, over n respondents, n times."""
    found, share = 0.0, 1 / len(protocol._units)
    for table in protocol.simulate(np.ones(protocol.domain.shape, dtype=int)):
        joint, (block, *others) = network(name).pair(*table.attributes).ravel(), table.blocks
        pooled = LinearPooling([Sized(one, share) for one in table.blocks]) if others else None
        found += np.trace(pooled.covariance(joint) if pooled else block.noise.covariance(joint) / share)
    return found


@pytest.mark.parametrize(
    ("other", "ratios"), [(WholeView, (3.28, 3.92, 2.76)), (partial(PerAttribute, k=2), (64.6, 20.0, 4.3))]
)
def test_one_sampled_group_beats_others_at_equal_strict_epsilon(other: Any, ratios: tuple[float, ...]) -> None:
    """Crossed answers speak of every pair, but each with the noise of two sixths of the budget, multiplied."""
    for epsilon, ratio in zip((1.0, 2.0, 4.0), ratios, strict=True):
        sampled, larger = SampledGroups(SURVEY, epsilon=epsilon), other(SURVEY, epsilon=epsilon)
        assert abs(sampled.privacy().epsilon - larger.privacy().epsilon) < 1e-9
        found = summed_variance(larger) / summed_variance(sampled)
        assert found == pytest.approx(ratio, abs=0.01 if other is WholeView else 0.05)


@pytest.mark.parametrize(("mechanism", "ratio"), [("sue", 2.96), ("oue", 3.07)])
def test_for_few_categories_randomized_response_tells_more_than_bits(mechanism: str, ratio: float) -> None:
    bits, numbers = (PerAttribute(SURVEY, epsilon=4.0, mechanism=name, k=2) for name in (mechanism, "grr"))
    assert summed_variance(bits) / summed_variance(numbers) == pytest.approx(ratio, abs=0.01)


@pytest.mark.parametrize(("name", "ratios"), [("asia", (0.42, 0.51, 0.75, 1.14)), ("survey", (0.62, 0.73, 1.24, 2.26))])
def test_the_variance_of_hadamard_coefficients_is_as_stated(name: str, ratios: tuple[float, ...]) -> None:
    for epsilon, ratio in zip((0.5, 1, 2, 4), ratios, strict=True):
        asked = (kind(network(name).domain, epsilon=epsilon) for kind in (HadamardCoefficients, SampledGroups))
        hadamard, sampled = (summed_variance(protocol, name) for protocol in asked)
        assert hadamard / sampled == pytest.approx(ratio, abs=0.005)
