"""The junction tree algorithm against sums over the joint table."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from support.log_linear_tables import random_graph, summed

from ldpstats.consistency.junction_tree import JunctionTree

# Inference.


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("size", [1, 300])
def test_marginals_on_a_junction_tree_are_sums_over_the_joint_table(seed: int, size: float) -> None:
    rng, sizes, groups = random_graph(seed)
    names, tree = list(sizes), JunctionTree.of(groups, sizes)
    potentials = [size * rng.normal(size=tree.shape(clique)) for clique in tree.cliques]
    logs = sum(
        potential[tuple(slice(None) if name in clique else None for name in names)]
        for clique, potential in zip(tree.cliques, potentials, strict=True)
    )
    logs = np.broadcast_to(logs, tree.shape(names))
    joint = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    beliefs = tree.beliefs(potentials)
    total = logs.max() + np.log(np.exp(logs - logs.max()).sum())
    assert tree.log_total(potentials) == pytest.approx(total, rel=1e-12, abs=1e-12)
    assert all(tree.holder(group) is not None for group in groups)
    for _ in range(5):
        wanted = [str(name) for name in rng.permutation(names)[: rng.integers(1, len(names) + 1)]]
        assert np.allclose(beliefs.marginal(wanted).ravel(), summed(joint, names, wanted), rtol=0, atol=1e-11)


def test_the_size_of_a_tree_that_could_never_be_formed_is_known() -> None:
    sizes = {f"q{number}": 4 for number in range(37)}
    assert JunctionTree.of(combinations(sizes, 2), sizes).cells == 4**37
    assert JunctionTree.of(pairwise(sizes), sizes).cells == 36 * 16
