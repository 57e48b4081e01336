"""Edge confidence: counted by hand, and the averaging threshold as the paper defines it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from ldpstats.networks.edge_confidence import EdgeConfidence, averaging_threshold

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
