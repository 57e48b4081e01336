"""The study of networks from privatized pairs: a slice of it."""

from __future__ import annotations

import networks as study
import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.exhaustive  # a slice of a study takes seconds


def test_a_network_of_six_is_found() -> None:
    scores = study.skeletons((("survey", 1_000_000, 4.0), 0))
    assert float(str(scores["auto"])) >= 0.9
    assert set(study.SKELETON_METHODS) < set(scores)


def test_what_is_found_in_whole_records_is_what_pgmpy_finds() -> None:
    assert study.exact(("survey", 1))["the same tree"]


def test_independent_attributes_are_simulated_with_their_margins() -> None:
    assert sum(len(shares) for shares in study.MARGINS.values()) == sum(study.EMPTY.shape)
    assert all(np.isclose(sum(shares), 1) for shares in study.MARGINS.values())
    found = study.shows_an_edge(("SampledGroups, ε = 2", 3))
    assert found["collection"] == "SampledGroups, ε = 2, n = 20,000"
    assert {found[method] for method in study.SKELETON_METHODS} <= {True, False}


def test_the_tree_of_records_is_the_heaviest() -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 500)
    noisy = [np.where(rng.random(500) < share, 1 - first, first) for share in (0.1, 0.2)]
    records = pd.DataFrame({"a": first, "b": noisy[0], "c": noisy[1]})
    domain = study.ldp.Domain({name: [0, 1] for name in records})
    assert study.tree_of_records(domain, records) == {frozenset("ab"), frozenset("ac")}
    assert study.f1({frozenset("ab")}, {frozenset("ab"), frozenset("ac")}) == pytest.approx(2 / 3)
