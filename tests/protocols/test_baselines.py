"""Baselines: how much more exact one sampled group is than a whole view, or than crossed answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ldpstats import SampledGroups
from ldpstats.datasets import network
from ldpstats.protocols.per_attribute import PerAttribute
from ldpstats.protocols.sampled_groups import WholeView


def summed_variance(protocol: Any, share: float) -> float:
    """Return the exact variances of all cells of all pairs of the survey network, over n respondents, n times."""
    survey = network("survey")
    noise = {table.attributes: table.blocks[0].noise for table in protocol.simulate(np.ones(survey.domain.shape, int))}
    traces = [np.trace(noise[group].covariance(survey.pair(*group).ravel())) for group in protocol.groups]
    return float(np.sum(traces)) / share


@pytest.mark.parametrize(("epsilon", "ratio"), [(1.0, 3.28), (2.0, 3.92), (4.0, 2.76)])
def test_one_sampled_group_beats_a_whole_view_at_equal_strict_epsilon(epsilon: float, ratio: float) -> None:
    domain = network("survey").domain
    sampled, view = SampledGroups(domain, epsilon=epsilon), WholeView(domain, epsilon=epsilon)
    assert abs(sampled.privacy().epsilon - view.privacy().epsilon) < 1e-9
    assert (len(sampled.groups), len(view.views)) == (15, 5)
    found = summed_variance(view, 1 / 5) / summed_variance(sampled, 1 / 15)
    assert found == pytest.approx(ratio, abs=0.01)


@pytest.mark.parametrize(("epsilon", "ratio"), [(1.0, 64.6), (2.0, 20.0), (4.0, 4.3)])
def test_one_sampled_group_beats_crossed_answers_at_equal_strict_epsilon(epsilon: float, ratio: float) -> None:
    """Crossed answers speak of every pair, but each with the noise of two sixths of the budget, multiplied."""
    domain = network("survey").domain
    sampled, crossed = SampledGroups(domain, epsilon=epsilon), PerAttribute(domain, epsilon=epsilon, k=2)
    found = summed_variance(crossed, 1) / summed_variance(sampled, 1 / 15)
    assert found == pytest.approx(ratio, abs=0.05)
