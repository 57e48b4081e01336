"""Linearized networks: derivatives are those of the probabilities themselves, by differences and full joints."""

from __future__ import annotations

import numpy as np
import pytest
from support.random_networks import full_joint, random_network

import ldpstats as ldp
from ldpstats import BayesianNetwork, Domain
from ldpstats.networks.linearized_network import LinearizedNetwork
from ldpstats.networks.parameters import fit_parameters

DOMAIN = Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1], "d": ["u", "v"]})
PARENTS = {"b": ("a",), "c": ("a", "b"), "d": ("c",)}
STEP = 1e-6


@pytest.mark.parametrize("k", [2, 3])
def test_what_cells_change_in_probabilities_is_what_differences_say(k: int) -> None:
    people = np.random.default_rng(1).multinomial(30_000, full_joint(random_network(DOMAIN, PARENTS, 2)).ravel())
    fitted = fit_parameters(ldp.SampledGroups(DOMAIN, k=k, epsilon=4.0).simulate(people, rng=1), PARENTS)
    linear = LinearizedNetwork.of(fitted, DOMAIN.names)
    changed = dict(zip(linear.parents, linear.changed(), strict=True))
    networks = [
        BayesianNetwork(DOMAIN, linear.parents, {name: table[..., place] for name, table in changed.items()})
        for place in range(1 + sum(table.size for table in linear.tables))
    ]
    # of a = x and d = v, and of a = y and d = v
    joint = np.array([one.joint(["a", "d"])[:, 1] for one in networks]).T
    base = networks[0]
    for family, influence in zip(linear.families, linear.influences(joint), strict=True):
        cells = base.joint(family.domain.names)
        for place in range(cells.size):
            moved = cells.copy()
            moved.flat[place] += STEP
            table = moved / moved.sum(axis=0)
            other = BayesianNetwork(DOMAIN, base.parents, {**base.tables, family.attribute: table})
            expected = (other.joint(["a", "d"])[:, 1] - joint[:, 0]) / STEP
            np.testing.assert_allclose(influence[:, place], expected, atol=1e-4)


def test_without_noise_the_quotient_is_that_of_the_network() -> None:
    """Nothing was moved, so that there is nothing to correct, and hardly any error."""
    known = random_network(DOMAIN, PARENTS, 3)
    people = np.round(full_joint(known) * 1e9).astype(np.int64).ravel()
    tables = ldp.ProductDomain(DOMAIN, epsilon=60.0).simulate(people, rng=1)
    found = fit_parameters(tables, PARENTS, smoothing=0).query("a", {"d": "v"})
    assert found.quotients is not None
    quotient = found.quotients.pair[:, 0] / found.quotients.pair[:, 1]
    joint = known.joint(["a", "d"])[:, 1]
    np.testing.assert_allclose(quotient, joint / joint.sum(), atol=1e-6)
    assert np.diff(found.conf_int()).max() < 1e-3
