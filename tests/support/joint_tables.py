"""A joint table of three attributes and its marginals, with noise or without."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import cvxpy
import numpy as np
from numpy.typing import NDArray

from ldpstats import Domain, SampledGroups, Table
from ldpstats.consistency.marginals import Marginal
from ldpstats.consistency.reconstruction_methods import joint_blocks, most_likely_even
from ldpstats.estimation.likelihood import Fitted

Array = NDArray[np.float64]
ABC = Domain({"a": ["x", "y"], "b": [1, 2, 3], "c": [False, True]})
PAIRS = [("a", "b"), ("b", "c"), ("c", "a")]
GAMMAS = (0.0, 0.01, 0.5, 0.99)
EXACT = {"solver": cvxpy.CLARABEL, "tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-12}


def some_joint(seed: int = 1, spread: float = 0.6) -> Array:
    return np.random.default_rng(seed).dirichlet(np.full(ABC.size(), spread)).reshape(ABC.shape)


def marginal_of(
    joint: Array, group: Sequence[str], noise: float = 0.0, seed: int = 0, domain: Domain = ABC
) -> Marginal:
    """Return the marginal of a joint table, with independent noise on every cell."""
    axes = [domain.names.index(name) for name in group]
    cells = np.moveaxis(joint, axes, range(len(axes))).reshape(domain.size(group), -1).sum(axis=1)
    moved = cells + noise * np.random.default_rng([seed, *axes]).standard_normal(cells.size)
    return Marginal(tuple(group), domain.project(group).shape, moved, noise**2 * np.eye(cells.size), 10_000)


def pairs_of(joint: Array, noise: float = 0.0, seed: int = 0) -> list[Marginal]:
    return [marginal_of(joint, group, noise, seed) for group in PAIRS]


def reordered(table: Array, domain: Domain, order: Sequence[str]) -> Array:
    """Return a flat table over a domain with its axes in another order."""
    return table.reshape(domain.shape).transpose([domain.names.index(name) for name in order]).ravel()


def grid_of_tables(cells: int, steps: int) -> Array:
    """Return all proper tables whose cells are multiples of one over the steps."""
    listed = [[*counts, steps - sum(counts)] for counts in product(range(steps + 1), repeat=cells - 1)]
    tables = np.array(listed)
    return tables[tables[:, -1] >= 0] / steps


def with_swapped_b(one: Marginal) -> Marginal:
    if "b" not in one.attributes:
        return one
    flipped = np.flip(one.estimate.reshape(one.shape), one.attributes.index("b"))
    return replace(one, estimate=flipped.ravel())


def collected(epsilon: float = 3.0, n: int = 4000, seed: int = 1, **options: Any) -> list[Table]:
    people = np.random.default_rng(seed).multinomial(n, some_joint(seed).ravel())
    protocol = SampledGroups(ABC, epsilon=epsilon, **{"mechanism": "grr", "k": 2, **options})
    return list(protocol.simulate(people, rng=seed))


def most_likely_joint(tables: Iterable[Table], domain: Domain, target: Iterable[str]) -> Fitted:
    """Return the frequencies of a target under which the reports of all tables are most likely."""
    common, blocks = joint_blocks(tables, domain, wanted := tuple(target))
    fitted = most_likely_even(blocks)
    place = common.onto(domain.project(wanted).names)
    return replace(fitted, frequencies=np.bincount(place, weights=fitted.frequencies).astype(float))
