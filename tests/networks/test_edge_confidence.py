"""Edge confidence: counted by hand, and the averaging threshold as the paper defines it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import ldpstats as ldp
from ldpstats.networks.edge_confidence import EdgeConfidence, averaging_threshold, redrawn_sets

PAIRS = (("a", "b"), ("a", "c"), ("b", "c"))


def test_shares_of_networks_and_of_directions():
    networks = [
        ([("a", "b"), ("b", "c")], [("a", "b"), ("c", "b")]),
        ([("a", "b"), ("b", "c")], []),
        ([("a", "b")], {("a", "b"): "collider"}),
        ([], ()),
    ]
    found = EdgeConfidence.of(networks, PAIRS)
    np.testing.assert_array_equal(found.joined, [0.75, 0.0, 0.5])
    np.testing.assert_array_equal(found.forward, [2.5 / 3, np.nan, 0.25])


@pytest.mark.parametrize("seed", range(10))
def test_threshold_is_the_quantile_of_the_nearest_distribution_of_certain_edges(seed: int):
    rng = np.random.default_rng(seed)
    joined = np.round(rng.beta(0.4, 0.6, size=rng.integers(3, 20)), 2)
    ordered = np.sort(joined)

    def distance(share: float) -> float:
        def gap(x: float) -> float:
            return abs(np.searchsorted(ordered, x, side="right") / joined.size - share)

        return quad(gap, 0, 1, points=sorted({*ordered} - {0.0, 1.0}), limit=200)[0]

    candidates = np.arange(joined.size + 1) / joined.size
    share = min(candidates, key=distance)
    quantile = -1.0 if share == 0 else ordered[round(share * joined.size) - 1]
    averaged = joined >= averaging_threshold(joined)
    np.testing.assert_array_equal(averaged, joined > quantile)


@pytest.mark.parametrize(
    ("joined", "threshold"), [([0, 0, 1], 1.0), ([1, 1], 1.0), ([0, 0], 1.0), ([0.4], 1.0), ([0.6], 0.6)]
)
def test_threshold_of_few_pairs(joined: list[float], threshold: float):
    assert averaging_threshold(np.array(joined, dtype=float)) == threshold


def test_redrawn_sets_have_the_law_of_sets_with_the_estimated_tables():
    """False failures: 6 standard errors in each of 10 cells, 2e-8."""
    domain = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": ["u", "v"]})
    people = np.arange(1, 13) * 200
    base = ldp.SampledGroups(domain, epsilon=2.0, groups=[("a", "b"), ("a", "c")]).simulate(people, rng=1)
    drawn = list(redrawn_sets(base, 400, np.random.default_rng(2)))
    for table in base:
        again = [one[table.attributes] for one in drawn]
        assert {one.n for one in again} == {one.simulated for one in again} == {table.n}
        estimates = np.array([one.estimate for one in again])
        assert np.all(np.abs(estimates.mean(axis=0) - table.estimate) < 6 * table.std_err / 20)
        np.testing.assert_allclose(estimates.std(axis=0), table.std_err, rtol=0.2)
