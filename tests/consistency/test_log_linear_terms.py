"""Terms of log-linear models: moments, numbers, and cells from means, against the joint table."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from support.log_linear_tables import SIZES, random_graph, summed

from ldpstats.consistency.junction_tree import JunctionTree
from ldpstats.consistency.log_linear_terms import CellTermCovariance, LogLinearTerms, cells_from_means


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("size", [1, 30])
def test_means_and_covariances_of_terms_are_those_of_the_joint_table(seed: int, size: float) -> None:
    rng, sizes, groups = random_graph(seed)
    names = list(sizes)
    terms = LogLinearTerms.of(JunctionTree.of(groups, sizes), groups)
    cells = np.indices(tuple(sizes.values())).reshape(len(sizes), -1)
    design = np.array([((asked[:, None] == 0) | (asked[:, None] == cells)).all(axis=0) for asked in terms.levels])
    weights = size * rng.normal(size=len(design))
    logs = weights @ design
    joint = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    beliefs = terms.tree.beliefs(terms.potentials(weights))
    means, covariance = terms.moments(beliefs)
    assert np.allclose(means, design @ joint, rtol=0, atol=1e-12)
    assert np.allclose(covariance, (design * joint) @ design.T - np.outer(means, means), rtol=0, atol=1e-12)
    wanted = [str(name) for name in rng.permutation(names)[: rng.integers(1, len(names) + 1)]]
    rows = np.eye(joint.size).reshape(joint.size, *sizes.values())
    indicator = np.array([summed(row, names, wanted) for row in rows]).T
    expected = (indicator * joint) @ design.T - np.outer(indicator @ joint, means)
    assert np.allclose(CellTermCovariance.of(terms, tuple(wanted)).covariance(beliefs), expected, rtol=0, atol=1e-12)


def test_there_are_as_many_terms_as_a_log_linear_model_has_parameters() -> None:
    pairs = list(combinations(SIZES, 2))
    terms = LogLinearTerms.of(JunctionTree.of(pairs, SIZES), pairs)
    assert len(terms.levels) == sum(size - 1 for size in SIZES.values()) + sum(
        (SIZES[one] - 1) * (SIZES[other] - 1) for one, other in pairs
    )


def test_cells_follow_from_the_means_of_terms() -> None:
    rng = np.random.default_rng(3)
    cells = rng.dirichlet(np.ones(12)).reshape(2, 3, 2)
    means = [cells[tuple(level or slice(None) for level in asked)].sum() for asked in np.ndindex(cells.shape)]
    constant, slopes = cells_from_means(cells.shape)
    assert np.allclose(constant + slopes @ np.array(means[1:]), cells.ravel(), rtol=0, atol=1e-15)
