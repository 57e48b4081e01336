"""Partitions of a Dask data frame: collections of their own, counted once each, whoever computes them and how often."""

from __future__ import annotations

import sys
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from support.clusters import by_value, killing_once, two_workers
from support.comparisons import assert_tells

import ldpstats as ldp
from ldpstats.errors import DomainError, LdpstatsError
from ldpstats.protocols.partitions import child_seeds, is_partitioned

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["x", "y", "z"], "c": ["x", "y"]})
SIZES = [40, 0, 1, 75, 33]
KINDS = {
    "sampled": ldp.SampledGroups(DOMAIN, epsilon=2.0),
    "crossed": ldp.PerAttribute(DOMAIN, epsilon=2.0),
    "whole": ldp.WholeView(DOMAIN, epsilon=2.0, mechanism="oue"),
    "substitutes": ldp.SampledGroups(DOMAIN, epsilon=2.0, outside="random"),
    "rrba": ldp.RRBA(DOMAIN, p=0.5, block_size=10),
}


def part(place: int) -> pd.DataFrame:
    """Return the answers of one partition."""
    g = np.random.default_rng(place)
    categories = DOMAIN.categories.items()
    frame = pd.DataFrame({name: pd.Series(g.choice(values, SIZES[place]), dtype="str") for name, values in categories})
    return frame.set_axis(frame.index + 100 * place)


@pytest.fixture
def people() -> Any:
    return dd.from_map(part, range(len(SIZES)), meta=part(0).iloc[:0])


@pytest.fixture(autouse=True)
def _in_this_thread() -> Any:
    with dask.config.set(scheduler="synchronous"):
        yield


def collections_of(tables: ldp.TableSet) -> set[str]:
    return {identity for table in tables for identity in table.parts.collections}


@pytest.mark.parametrize("kind", KINDS)
def test_every_partition_is_a_collection_of_its_own(kind: str, people: Any) -> None:
    protocol = KINDS[kind]
    seeds = child_seeds(7, len(SIZES))
    expected = reduce(add, [protocol.collect(part(place), seed) for place, seed in enumerate(seeds)])
    found = protocol.collect(people, rng=7)
    assert found.to_json() == expected.to_json()
    assert found.n == found.simulated == expected.n
    # nobody was asked in one of the partitions
    assert len(collections_of(found)) == 4


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_whoever_computes(kind: str, people: Any) -> None:
    expected = KINDS[kind].collect(people, rng=7).to_json()
    with dask.config.set(scheduler="threads", num_workers=4):
        assert KINDS[kind].collect(people, rng=7).to_json() == expected
    assert KINDS[kind].collect(people, rng=8).to_json() != expected


def test_without_a_seed_all_are_asked_anew(people: Any) -> None:
    one, other = (KINDS["sampled"].collect(people) for _ in range(2))
    assert one.n == other.n == sum(SIZES)
    assert one.simulated == 0
    assert not collections_of(one) & collections_of(other)


def test_generators_and_seed_sequences_are_seeds_too(people: Any) -> None:
    protocol, numbers = KINDS["sampled"], np.random.default_rng(7)
    expected = protocol.collect(people, rng=7).to_json()
    assert protocol.collect(people, rng=numbers).to_json() == expected
    assert protocol.collect(people, rng=numbers).to_json() != expected
    assert protocol.collect(people, rng=np.random.SeedSequence(7)).to_json() == expected


def test_seeds_of_parts_differ() -> None:
    states = [tuple(seed.generate_state(4)) for seed in [*child_seeds(1, 50), *child_seeds(2, 50)] if seed]
    assert len(set(states)) == 100
    assert child_seeds(None, 2) == [None, None]


def test_many_partitions_are_added_up_in_steps() -> None:
    many = dd.from_map(lambda place: part(0).assign(a=["x", "y"][place % 2]), range(70), meta=part(0).iloc[:0])
    tables = ldp.SampledGroups(DOMAIN, k=1, epsilon=30.0).collect(many, rng=1)
    assert tables.n == 70 * 40
    # seeded, and the level leaves no lie among so few
    assert tables["a"].estimate.round(1).tolist() == [0.5, 0.5]


def test_frequency_tables_by_partition() -> None:
    frame = DOMAIN.decode(np.argwhere(np.ones(DOMAIN.shape))).assign(n=range(12))
    frames = dd.from_pandas(frame, npartitions=3)
    assert KINDS["sampled"].collect(frames, rng=1, counts="n").n == 66
    assert KINDS["rrba"].collect(frames, rng=1, counts="n").n == 66
    with pytest.raises(LdpstatsError, match="looks like a frequency table"):
        KINDS["sampled"].collect(frames, rng=1)


def test_errors_name_the_partition_the_column_and_the_row(people: Any) -> None:
    protocol = ldp.SampledGroups(ldp.Domain({"a": ["x", "y"], "b": ["x", "y"]}), epsilon=1.0)
    with pytest.raises(DomainError) as error:
        protocol.collect(people.partitions[[3]], rng=1)
    assert_tells(error, "in partition 0 (of 0 to 0), column 'b'", "'z' in row 3", "'x', 'y'")


def test_where_a_cluster_cannot_help_its_frames_are_refused(people: Any) -> None:
    protocol = KINDS["sampled"]
    for read in (ldp.Domain.from_frame, DOMAIN.encode, protocol.simulate, protocol.reports):
        with pytest.raises(DomainError) as error:
            read(people)
        assert_tells(error, "not been computed", ".compute()", "with a stated domain")
    with pytest.raises(DomainError, match="not been computed"):
        ldp.CentralLaplace(DOMAIN, epsilon=1.0).collect(people)


def test_whether_a_frame_is_one_of_dask_is_known_without_loading_it(
    people: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_partitioned(people)
    assert not is_partitioned(part(0))
    monkeypatch.delitem(sys.modules, "dask.dataframe")
    assert not is_partitioned(part(0))
    assert "dask.dataframe" not in sys.modules


def test_a_worker_that_is_killed_in_the_middle_changes_nothing(people: Any, tmp_path: Path) -> None:
    """Two processes, one of which is lost: with a seed to the last unit; without one everybody is counted once."""
    protocol = KINDS["sampled"]
    expected = protocol.collect(people, rng=7).to_json()
    meta, middle = part(0).iloc[:0], 3
    with by_value(__name__), two_workers(tmp_path):
        for seed, flag in ((7, tmp_path / "seeded"), (None, tmp_path / "secure")):
            dying = killing_once(part, flag, lambda place: place == middle)
            found = protocol.collect(dd.from_map(dying, range(len(SIZES)), meta=meta), rng=seed)
            assert flag.exists()
            assert found.n == sum(SIZES)
            assert seed is None or found.to_json() == expected
            assert len(collections_of(found)) == 4
