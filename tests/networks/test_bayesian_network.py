"""Bayesian networks: by definition, drawn, exact, shown, to pgmpy and back, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle
from functools import reduce
from itertools import combinations
from operator import mul
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, chisquare
from support.comparisons import refused
from support.random_networks import full_joint, random_network

from ldpstats import BayesianNetwork, Domain, LdpstatsError
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.networks.bayesian_network import drawn

DOMAIN = Domain({"d": ["u", "v"], "b": [3, 1, 2], "a": [True, False], "c": ["x", "y", "z"]})
PARENTS = {"a": (), "b": ("a",), "c": ("b", "a"), "d": ("c",)}


def made(seed: int = 1) -> BayesianNetwork:
    return random_network(DOMAIN, PARENTS, seed)


def test_pgmpy_has_the_same_network_and_the_same_categories() -> None:
    network = made()
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


def test_other_models_are_refused() -> None:
    from pgmpy.models import DiscreteBayesianNetwork

    bare = DiscreteBayesianNetwork([("a", "b")])
    for model, part in (
        (bare, "'a', 'b'"),
        (None, "NoneType"),
        (made(), "BayesianNetwork"),
        (nx.DiGraph([("a", "b")]), "DiGraph"),
        (pgmpy_pair(["x", "z"]), "'z'"),
    ):
        with refused(LdpstatsError, part):
            BayesianNetwork.from_pgmpy(model)
    more = pgmpy_pair(["x", "y"])
    more.remove_edge("a", "b")
    with pytest.raises(LdpstatsError):
        BayesianNetwork.from_pgmpy(more)


class Fixed(np.random.Generator):
    """A generator whose uniform numbers are given."""

    def __init__(self, numbers: list[float]) -> None:
        super().__init__(np.random.PCG64(0))
        self.numbers = np.array(numbers)

    def random(self, *_: object, **__: object) -> np.ndarray:
        return self.numbers


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        ([0.5, 0.5, 0.0], [0, 1, 1]),
        ([0.0, 0.5, 0.5], [1, 2, 2]),
        ([0.0, 0.5, 0.4999999], [1, 2, 2]),
        ([0.5, 0.4999999, 0.0], [0, 1, 1]),
        ([0.5, 0.5000001, 0.0], [0, 1, 1]),
        ([0.1] * 10 + [0.0], [0, 5, 9]),
    ],
)
def test_what_has_no_probability_is_not_drawn_at_the_ends_either(law: list[float], expected: list[int]) -> None:
    """Also where printed probabilities, or rounded sums, miss one."""
    found = drawn(np.array([law]), np.zeros(3, dtype=int), Fixed([0.0, 0.5, 1 - 2**-53]))
    assert found.tolist() == expected


def any_network(attributes: int, seed: int, densest: int = 3) -> BayesianNetwork:
    """Return a network with random edges as well."""
    rng = np.random.default_rng(seed)
    names = [f"v{one}" for one in rng.permutation(attributes)]
    domain = Domain({f"v{one}": list(range(rng.integers(2, 4))) for one in range(attributes)})
    parents = {
        name: tuple(rng.choice(names[:place], min(place, rng.integers(0, densest + 1)), replace=False).tolist())
        for place, name in enumerate(names)
    }
    return random_network(domain, parents, seed)


@pytest.mark.parametrize("seed", range(5))
def test_joints_are_margins_of_the_product_of_all_tables(seed: int) -> None:
    network = any_network(6, seed)
    joint, names = full_joint(network), network.domain.names
    for size in range(1, 7):
        for wanted in combinations(names[::-1], size):
            places = [names.index(one) for one in wanted]
            others = tuple(axis for axis in range(6) if axis not in places)
            ordered = [sorted(places).index(one) for one in places]
            np.testing.assert_allclose(
                network.joint(wanted), joint.sum(axis=others).transpose(ordered), rtol=0, atol=1e-14
            )


def test_a_network_of_very_many_attributes_has_joints() -> None:
    """More than numpy has letters for: a chain of 400 attributes, whose ends follow from powers of a matrix."""
    names = [f"v{one}" for one in range(400)]
    step = np.array([[0.999, 0.002], [0.001, 0.998]])
    parents = {name: (names[place - 1],) if place else () for place, name in enumerate(names)}
    tables = {name: step if place else [0.3, 0.7] for place, name in enumerate(names)}
    network = BayesianNetwork(Domain({name: [0, 1] for name in names}), parents, tables)
    expected = np.linalg.matrix_power(step, 399) * [0.3, 0.7]
    np.testing.assert_allclose(network.joint(["v399", "v0"]), expected, atol=1e-13)
    assert network.sample(10, rng=1).shape == (10, 400)


def test_joints_that_are_too_large_are_refused_before_they_are_made() -> None:
    names = [f"v{one}" for one in range(60)]
    tables = {name: [0.5, 0.5] for name in names}
    network = BayesianNetwork(Domain({name: [0, 1] for name in names}), dict.fromkeys(names, ()), tables)
    with pytest.raises(LdpstatsError, match="cells"):
        network.joint(names)


def test_intermediate_tables_that_are_too_large_are_refused() -> None:
    """A grid whose every path must be summed out: no order of elimination is narrow."""
    side = 26
    name = "v{}-{}".format
    parents = {
        name(i, j): tuple(one for one, there in ((name(i - 1, j), i > 0), (name(i, j - 1), j > 0)) if there)
        for i in range(side)
        for j in range(side)
    }
    tables = {one: np.full((2,) * (1 + len(own)), 0.5) for one, own in parents.items()}
    network = BayesianNetwork(Domain({one: [0, 1] for one in parents}), parents, tables)
    for asked in (network.joint, network.query):
        with pytest.raises(LdpstatsError, match="summing 'v"):
            asked([name(side - 1, side - 1)])


def test_records_have_the_joint_law() -> None:
    network, n = made(), 200_000
    frame = network.sample(n, rng=3)
    assert tuple(frame.columns) == DOMAIN.names
    seen = np.bincount(DOMAIN.cells(DOMAIN.encode(frame), DOMAIN.names), minlength=DOMAIN.size())
    assert chisquare(seen, n * full_joint(network).ravel()).pvalue > FALSE_FAILURE_RATE


def test_records_depend_on_the_seed_alone() -> None:
    one, same, other = (made().sample(50, rng=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(one, same)
    assert not one.equals(other)
    # neither on the order of attributes, parents, or of either mapping
    order = ("c", "a", "d", "b")
    turned = BayesianNetwork(
        DOMAIN.project(order),
        {"c": ("a", "b"), "d": ("c",), "a": (), "b": ("a",)},
        {name: table.swapaxes(1, 2) if name == "c" else table for name, table in made().tables.items()},
    )
    pd.testing.assert_frame_equal(turned.sample(50, rng=1)[[*DOMAIN.names]], one)
    assert turned.log_likelihood(one).tolist() == made().log_likelihood(one).tolist()


def test_the_likelihood_of_a_record_is_its_cell_of_the_joint() -> None:
    network = made()
    cells = DOMAIN.decode(np.argwhere(np.ones(DOMAIN.shape)))
    found = network.log_likelihood(cells.assign(other="ignored"))
    np.testing.assert_allclose(found, np.log(full_joint(network)).ravel(), rtol=1e-12)
    assert network.log_likelihood(cells.iloc[:0]).shape == (0,)


def test_records_that_cannot_be_have_no_likelihood_and_unknown_categories_are_errors() -> None:
    network = BayesianNetwork(Domain({"a": [0, 1]}), {"a": ()}, {"a": [1.0, 0.0]})
    assert network.log_likelihood(pd.DataFrame({"a": [0, 1]})).tolist() == [0.0, -math.inf]
    for frame in (pd.DataFrame({"a": [2]}), pd.DataFrame({"a": [None]}), pd.DataFrame({"b": [0]}), [0]):
        with pytest.raises(LdpstatsError):
            network.log_likelihood(frame)


def test_networks_are_equal_in_whatever_order_they_are_given() -> None:
    network, tables = made(), made().tables
    backward = {name: PARENTS[name] for name in reversed(PARENTS)}
    assert BayesianNetwork(DOMAIN, backward, dict(reversed(tables.items()))) == network
    turned = BayesianNetwork(DOMAIN, {**PARENTS, "c": ("a", "b")}, {**tables, "c": tables["c"].swapaxes(1, 2)})
    assert turned == network
    assert hash(turned) == hash(network)
    assert made(2) != network
    assert network != "network"
    fewer = BayesianNetwork(DOMAIN, {**PARENTS, "d": ()}, {**tables, "d": [0.5, 0.5]})
    assert fewer != network
    renamed = Domain({**DOMAIN.categories, "d": ["u", "w"]})
    assert BayesianNetwork(renamed, PARENTS, tables) != network


def test_networks_travel_and_cannot_be_changed() -> None:
    network = made()
    for again in (
        pickle.loads(pickle.dumps(network)),  # noqa: S301  # our own bytes
        copy.deepcopy(network),
        BayesianNetwork.from_json(network.to_json()),
    ):
        assert again == network
        assert (again.parents, again.domain) == (network.parents, network.domain)
    strange = BayesianNetwork(DOMAIN, {**PARENTS, "b": np.array(["a"])}, network.tables)
    assert type(strange.parents["b"][0]) is str
    with pytest.raises(ValueError, match="read-only"):
        network.tables["a"][0] = 0.5
    with pytest.raises(TypeError):
        network.parents["a"] = ("d",)  # type: ignore[index]  # that is what is tested
    given = np.array([0.5, 0.5])
    own = BayesianNetwork(Domain({"a": [0, 1]}), {"a": ()}, {"a": given})
    given[:] = 0
    assert own.tables["a"].tolist() == [0.5, 0.5]


def test_the_graph_has_all_attributes_and_edges() -> None:
    graph = made().to_networkx()
    assert list(graph) == list(DOMAIN.names)
    assert set(graph.edges) == {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")} == set(made().edges)
    assert nx.get_node_attributes(graph, "categories") == {"d": 2, "b": 3, "a": 2, "c": 3}
    assert made().order == ("a", "b", "c", "d")


def test_the_summary_says_what_depends_on_what() -> None:
    said = dict(made().summary().panels[0].rows[:5])
    assert said == {"Attributes": "4", "Edges": "4", "Free parameters": "20", "Probabilities of 0": "0"} | {
        "Dependence": "d | c"
    }
    assert "c | b, a" in str(made().summary())
    assert repr(made()) == "<BayesianNetwork: 4 attributes, 4 edges>"
    alone = BayesianNetwork(Domain({"a": [0, 1]}), {"a": ()}, {"a": [0.5, 0.5]})
    assert repr(alone) == "<BayesianNetwork: 1 attribute, 0 edges>"
    assert alone.joint("a").tolist() == [0.5, 0.5]


def test_every_probability_has_a_row() -> None:
    network = made()
    frame = network.to_frame()
    assert len(frame) == sum(table.size for table in network.tables.values()) == len(frame.drop_duplicates())
    told = frame[(frame.attribute == "c") & (frame.category == "y") & (frame.given == "b = 1, a = False")]
    assert told.probability.tolist() == [network.tables["c"][1, 1, 1]]
    assert frame[frame.attribute == "a"].given.tolist() == ["", ""]
    plain = network.to_dict()
    assert BayesianNetwork(Domain(plain["attributes"]), plain["parents"], plain["tables"]) == network


TWO = Domain({"a": [0, 1], "b": [0, 1, 2]})
GOOD: dict[str, Any] = {
    "domain": TWO,
    "parents": {"a": (), "b": ("a",)},
    "tables": {"a": [0.5, 0.5], "b": [[0.2, 0.3], [0.4, 0.3], [0.4, 0.4]]},
}


@pytest.mark.parametrize(
    ("changed", "part"),
    [
        ({"domain": {"a": [0, 1]}}, "type dict"),
        ({"parents": {"a": (), "b": (), "c": ()}}, "'c'"),
        ({"parents": {"a": (), "b": ("c",)}}, "'c'"),
        ({"parents": {"a": (), "b": ("b",)}}, "of 'b'"),
        ({"parents": {"a": (), "b": ("a", "a")}}, "('a', 'a')"),
        ({"parents": {"a": (), "b": {"a"}}}, "{'a'}"),
        ({"parents": {"a": ("b",), "b": ("a",)}}, " → "),
        ({"tables": {"a": [0.5, 0.5]}}, "'a'"),
        ({"tables": {"a": [0.5, 0.5], "b": [0.2, 0.4, 0.4]}}, "shape (3,)"),
        ({"tables": {**GOOD["tables"], "a": [1.1, -0.1]}}, "-0.1"),
        ({"tables": {**GOOD["tables"], "a": [0.5, 0.49]}}, "0.99"),
        ({"tables": {**GOOD["tables"], "a": [math.nan, 0.5]}}, "nan"),
        ({"tables": {**GOOD["tables"], "a": [math.inf, 0.5]}}, "inf"),
    ],
)
def test_what_is_no_network_is_refused(changed: dict[str, Any], part: str) -> None:
    BayesianNetwork(**GOOD)
    with refused(LdpstatsError, part):
        BayesianNetwork(**GOOD | changed)


def test_more_records_than_memory_holds_are_refused():
    network = BayesianNetwork(Domain({"a": [0, 1]}), {"a": ()}, {"a": [0.5, 0.5]})
    with pytest.raises(LdpstatsError, match="as many records as memory holds"):
        network.sample(10**18)


def test_the_picture_is_as_wide_as_the_information_of_the_ends_and_leads_from_parents() -> None:
    known = made()
    picture = known.picture()
    assert {(edge.first, edge.second) for edge in picture.edges} == {*known.edges}
    joint = known.joint(known.edges[0])
    expected = chi2_contingency(joint, correction=False, lambda_="log-likelihood").statistic / 2
    (drawn,) = [edge for edge in picture.edges if (edge.first, edge.second) == known.edges[0]]
    assert drawn.strength == pytest.approx(expected)
    assert "no arrow" not in " ".join(str(one.get_label()) for one in picture._legend())
