"""Packaged networks: they load, their exact pairs are right, and samples follow them."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.comparisons import FALSE_FAILURE_RATE
from support.random_networks import full_joint

from ldpstats import BayesianNetwork, Domain, LdpstatsError
from ldpstats.datasets import NETWORKS, _data_folder, dayton, network, true_cramers_v

# the bnlearn repository's own counts of nodes and arcs
SIZES = {"survey": (6, 6), "asia": (8, 8), "sachs": (11, 17), "child": (20, 25), "alarm": (37, 46)}


# sha256 of the codes of network.sample(2000, rng=11), as 64-bit whole numbers, as this package has always drawn them
DIGESTS = {
    "survey": "f576d9e0dbf212ecc46669d625f2080c40bb353a9559bb1c46df304787b1835a",
    "asia": "a122dada7a281c7be1dd68f4df776bcde3efc3540eea2a84f27d9a6ffef543c1",
    "sachs": "4acd2a1b07681208b8f560fb8459a24643203b06f7aa57970c338aafe37cd0e2",
    "child": "0d0796f0fd88e92e3bab067f77806471ee2114fca477fbfdcf6b5a7a20a26269",
    "alarm": "451877273140fb18e90ae06a7833ad6255207a5a405c45f694e8c6ff3732663c",
}


@pytest.mark.parametrize("name", ["survey", "asia"])
def test_pairs_are_the_margins_of_the_full_joint(name: str) -> None:
    net = network(name)
    joint = full_joint(net)
    for one, other in combinations(range(len(net.domain)), 2):
        margin = joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in {one, other}))
        first, second = net.domain.names[one], net.domain.names[other]
        np.testing.assert_allclose(net.pair(first, second), margin, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(net.pair(second, first), net.pair(first, second).T)


def test_a_pair_of_the_survey_worked_out_by_hand() -> None:
    # P(high) = sum over age and sex, from the printed tables
    high = 0.6 * (0.3 * 0.75 + 0.5 * 0.72 + 0.2 * 0.88) + 0.4 * (0.3 * 0.64 + 0.5 * 0.7 + 0.2 * 0.9)
    expected = [[high * 0.96, high * 0.04], [(1 - high) * 0.92, (1 - high) * 0.08]]
    np.testing.assert_allclose(network("survey").pair("education", "occupation"), expected, rtol=1e-14)


@pytest.mark.parametrize("name", NETWORKS)
def test_sampled_pairs_have_their_exact_frequencies(name: str) -> None:
    net, n = network(name), 50_000
    codes = net.domain.encode(net.sample(n, rng=5))
    for pair in combinations(net.domain.names, 2):
        exact = net.pair(*pair).ravel()
        # printed parameters carry 7 digits, so a total may miss 1 by what that rounding leaves
        assert exact.sum() == pytest.approx(1, abs=2e-7)
        seen = np.bincount(net.domain.cells(codes, pair), minlength=exact.size)
        # Bernstein's inequality, so that the rate per network holds for rare cells as well
        bits = np.log(exact.size * len(net.domain) ** 2 / FALSE_FAILURE_RATE)
        bound = np.sqrt(2 * n * exact * (1 - exact) * bits) + 2 * bits / 3
        assert np.all(np.abs(seen - n * exact) <= bound), pair
        assert not seen[exact == 0].any(), pair


def test_samples_are_reproducible_and_in_the_domain() -> None:
    net = network("child")
    one, same, other = (net.sample(200, rng=seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(one, same)
    assert not one.equals(other)
    assert not net.sample(200).equals(net.sample(200))
    assert tuple(one.columns) == net.domain.names
    assert net.domain.encode(one).shape == (200, 20)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_seed_makes_the_records_that_it_always_made(name: str) -> None:
    codes = network(name).domain.encode(network(name).sample(2000, rng=11))
    assert sha256(codes.astype("<i8").tobytes()).hexdigest() == DIGESTS[name]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_those_that_pgmpy_reads_with_their_published_size(name: str) -> None:
    from pgmpy.readwrite import BIFReader

    net = network(name)
    model = BIFReader(string=(_data_folder() / f"{name}.bif").read_text("utf-8")).get_model()
    assert list(model.nodes()) == list(net.domain.names)
    assert (net.name, len(net.domain), len(net.edges)) == (name, *SIZES[name])
    for attribute, table in net.tables.items():
        factor = model.get_cpds(attribute)
        assert factor.variables == [attribute, *net.parents[attribute]]
        assert {one: tuple(states) for one, states in factor.state_names.items()} == {
            one: net.domain.categories[one] for one in factor.variables
        }
        np.testing.assert_array_equal(table, factor.values)
    assert net == BayesianNetwork.from_pgmpy(model) == BayesianNetwork.from_pgmpy(net.model)


def test_reading_a_network_and_drawing_from_it_load_no_pgmpy() -> None:
    code = "import sys; from ldpstats.datasets import network; network('alarm').sample(9, rng=1); print([*sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'networkx'" in loaded
    assert "'pgmpy'" not in loaded


def test_the_students_are_those_of_the_textbook() -> None:
    students = dayton()
    counted = students.groupby(["alcohol", "cigarettes", "marijuana"], observed=True).size()
    # Agresti 2002, Table 8.3: from all three to none of them
    assert counted.to_list()[::-1] == [911, 538, 44, 456, 3, 43, 2, 279]
    assert students.groupby(["sex", "race"], observed=True).size().to_list() == [80, 1040, 94, 1062]
    assert Domain.from_frame(students).categories["race"] == ("other", "white")


def test_true_cramers_v_of_extreme_tables() -> None:
    assert true_cramers_v(np.outer([0.2, 0.8], [0.1, 0.3, 0.6])) == pytest.approx(0, abs=1e-15)
    assert true_cramers_v(np.diag([0.2, 0.3, 0.5])) == pytest.approx(1)


@pytest.mark.parametrize(
    "name", ["nope", "Survey", "survey.bif", "../data/survey", "", None, 3, ["asia"], np.array(["asia", "alarm"])]
)
def test_unknown_networks_are_refused(name: Any) -> None:
    with pytest.raises(LdpstatsError, match=r"the network .* survey, asia, sachs, child, alarm"):
        network(name)


@pytest.mark.parametrize("pair", [("sex", "height"), ("sex", "sex"), ("sex", None), (0, 1)])
def test_pairs_of_unknown_or_equal_attributes_are_refused(pair: tuple[Any, Any]) -> None:
    with pytest.raises(LdpstatsError, match="different names out of 'age'"):
        network("survey").pair(*pair)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "10"])
def test_samples_of_no_size_are_refused(n: Any) -> None:
    with pytest.raises(LdpstatsError, match="n = "):
        network("survey").sample(n, rng=1)
