"""Models of pgmpy: the same network there and back, whatever their categories are and in which order they stand."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

import networkx as nx
import numpy as np
import pytest
from support.comparisons import assert_tells
from support.random_networks import random_network

from ldpstats import BayesianNetwork, Domain, LdpstatsError

DOMAIN = Domain({"d": ["u", "v"], "b": [3, 1, 2], "a": [True, False], "c": ["x", "y", "z"]})
PARENTS = {"a": (), "b": ("a",), "c": ("b", "a"), "d": ("c",)}


def test_pgmpy_has_the_same_network_and_the_same_categories() -> None:
    network = random_network(DOMAIN, PARENTS)
    model = network.to_pgmpy()
    assert model.check_model()
    assert set(model.edges()) == set(network.edges)
    assert {name: tuple(states) for name, states in model.states.items()} == dict(DOMAIN.categories)
    assert [[type(one) for one in model.states[name]] for name in "ab"] == [[bool, bool], [int, int, int]]
    found = reduce(mul, [one.to_factor() for one in model.get_cpds()])
    found.marginalize(["a", "c"])
    expected = np.array([[found.get_value(d=d, b=b) for b in (3, 1, 2)] for d in ("u", "v")])
    np.testing.assert_allclose(network.joint(["d", "b"]), expected, atol=1e-14)
    assert BayesianNetwork.from_pgmpy(model) == network


def pgmpy_pair(states: list[Any], sums: float = 1.0) -> Any:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    model = DiscreteBayesianNetwork([("a", "b")])
    own = TabularCPD("a", 2, [[0.2], [sums - 0.2]], state_names={"a": ["x", "y"]})
    given = TabularCPD("b", 2, [[0.1, 0.6], [0.9, 0.4]], ["a"], [2], {"b": [0, 1], "a": states})
    model.add_cpds(own, given)
    return model


def test_pgmpys_tables_are_read_by_category() -> None:
    """Where a child lists its parent's categories in another order, its columns have that order."""
    plain, turned = (BayesianNetwork.from_pgmpy(pgmpy_pair(states)) for states in (["x", "y"], ["y", "x"]))
    assert plain.tables["b"].tolist() == [[0.1, 0.6], [0.9, 0.4]]
    assert turned.tables["b"].tolist() == [[0.6, 0.1], [0.4, 0.9]]
    assert plain.domain == turned.domain == Domain({"a": ["x", "y"], "b": [0, 1]})


def test_coarsely_rounded_probabilities_are_rescaled_and_fine_ones_kept() -> None:
    coarse = BayesianNetwork.from_pgmpy(pgmpy_pair(["x", "y"], 0.995)).tables["a"]
    np.testing.assert_allclose(coarse, [0.2 / 0.995, 0.795 / 0.995], rtol=1e-15)
    fine = BayesianNetwork.from_pgmpy(pgmpy_pair(["x", "y"], 1 - 5e-7)).tables["a"]
    assert fine.tolist() == [0.2, 1 - 5e-7 - 0.2]
    with pytest.raises(LdpstatsError, match=r"'a' that add up to 0\.98"):
        BayesianNetwork.from_pgmpy(pgmpy_pair(["x", "y"], 0.98))


def test_tables_with_gaps_are_refused() -> None:
    """As other programs estimate them, where nobody had such parents."""
    model = pgmpy_pair(["x", "y"])
    for hole in (np.nan, 0.0, np.inf):
        model.get_cpds("b").values[:, 1] = hole
        with pytest.raises(LdpstatsError, match="'b' that add up to"):
            BayesianNetwork.from_pgmpy(model)


def test_other_models_are_refused() -> None:
    from pgmpy.models import DiscreteBayesianNetwork

    bare = DiscreteBayesianNetwork([("a", "b")])
    for model, part in (
        (bare, "'a', 'b'"),
        (None, "NoneType"),
        (random_network(DOMAIN, PARENTS), "BayesianNetwork"),
        (nx.DiGraph([("a", "b")]), "DiGraph"),
        (pgmpy_pair(["x", "z"]), "'z'"),
    ):
        with pytest.raises(LdpstatsError) as error:
            BayesianNetwork.from_pgmpy(model)
        assert_tells(error, part)
    more = pgmpy_pair(["x", "y"])
    more.remove_edge("a", "b")
    with pytest.raises(LdpstatsError):
        BayesianNetwork.from_pgmpy(more)
