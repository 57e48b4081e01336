"""Bayesian networks with random tables, and their joint distribution as the definition has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ldpstats import BayesianNetwork, Domain


def random_network(
    domain: Domain, parents: Mapping[str, tuple[str, ...]], seed: int = 1, concentration: float = 1.0
) -> BayesianNetwork:
    """Draw tables from a Dirichlet distribution, for attributes that have these parents, or none."""
    rng, sizes = np.random.default_rng(seed), dict(zip(domain.names, domain.shape, strict=True))
    given = {name: tuple(parents.get(name, ())) for name in domain.names}
    tables = {
        name: np.moveaxis(rng.dirichlet(np.full(sizes[name], concentration), [sizes[one] for one in own]), -1, 0)
        for name, own in given.items()
    }
    return BayesianNetwork(domain, given, tables)


def full_joint(network: BayesianNetwork) -> np.ndarray[Any, Any]:
    """Multiply all tables over the whole domain, cell by cell."""
    joint = np.ones(network.domain.shape)
    for cell in np.ndindex(*network.domain.shape):
        values = dict(zip(network.domain.names, cell, strict=True))
        for name, own in network.parents.items():
            joint[cell] *= network.tables[name][tuple(values[one] for one in (name, *own))]
    return joint
