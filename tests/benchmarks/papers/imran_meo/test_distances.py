"""Distances between tables: hand-made figures, exact laws, and which groups are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from papers.imran_meo import distances
from scipy.spatial.distance import jensenshannon

from ldpstats.datasets import network

pytestmark = pytest.mark.exhaustive  # a slice of a study takes seconds

PAIR = ("age", "education")


def test_distances_are_of_counts_and_only_the_plain_one_keeps_negative_cells() -> None:
    counts, frequencies = np.array([40, 40, 20, 0]), np.array([0.5, 0.45, 0.15, -0.1])
    proper = np.array([50, 45, 15, 0]) / 110
    found = distances.distances(counts, frequencies)
    assert found["ℓ2"] == pytest.approx(np.sqrt(250))
    assert found["ℓ2 cut"] == pytest.approx(np.linalg.norm(100 * proper - counts))
    assert found["√JS"] == pytest.approx(jensenshannon(counts, proper))
    assert found["√JS bits"] == pytest.approx(jensenshannon(counts, proper, base=2))
    assert (found["JS"], found["JS bits"]) == pytest.approx((found["√JS"] ** 2, found["√JS bits"] ** 2))
    disjoint = distances.jensen_shannon(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    assert disjoint == pytest.approx(np.log(2))


def test_groups_are_all_taken_before_one_comes_again_and_binary_ones_are_binary() -> None:
    domain = network("survey").domain
    taken = distances.groups_of(domain, "any", 3, 45)
    assert len(set(taken[:20])) == 20
    assert taken[20:40] == taken[:20]
    binary = distances.groups_of(domain, "binary", 4, 2)
    assert [set(group) for group in binary] == 2 * [{"education", "occupation", "residence", "sex"}]


def test_the_sound_scale_spends_what_the_caption_says_and_the_reports_as_they_came_are_counted_plainly() -> None:
    domain = network("survey").domain.project(PAIR)
    counts, setting = np.array([3000, 2000, 1500, 800, 500, 200]), distances.SETTINGS["6"]
    drawn = [distances.estimates(domain, counts, setting, np.random.default_rng(seed)) for seed in range(200)]
    variances = {}
    for reading in ("b = 2/ε, ε = 0.5", "b = 2m/ε, ε = 0.5"):
        errors = 8000 * np.array([one["Laplace", reading] for one in drawn]) - counts
        variances[reading] = np.square(errors).mean()
    # 1200 draws of a Laplace law, whose squares have a relative standard deviation of √5: five errors are 32 %
    assert variances["b = 2/ε, ε = 0.5"] == pytest.approx(2 * 4**2, rel=0.34)
    assert variances["b = 2m/ε, ε = 0.5"] == pytest.approx(2 * 24**2, rel=0.34)
    assert all(one["RRBA", "reports as they came"].min() >= 0 for one in drawn)
    assert all(one["RRBA", "reports as they came"].sum() == pytest.approx(1) for one in drawn)
