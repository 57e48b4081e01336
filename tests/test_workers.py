"""Workers: the same results in the same order wherever they are made, and addresses that are none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from support.clusters import by_value, killing_once, two_workers
from support.comparisons import refused

import ldpstats as ldp
from ldpstats.errors import LdpstatsError
from ldpstats.inference.engine import monte_carlo
from ldpstats.workers import each, is_spread

NOBODY = "tcp://127.0.0.1:1"
"""Where nobody listens."""


def square(number: int) -> int:
    if number == 3:
        raise LdpstatsError("the number 3", "any other")
    return number * number


def test_without_a_cluster_work_is_done_in_order() -> None:
    assert each(square, iter([2, 1, 0]), "squaring") == [4, 1, 0]
    assert not is_spread()
    with pytest.raises(LdpstatsError, match="the number 3"):
        each(square, [3], "squaring")


@pytest.mark.parametrize("cluster", ["no address", "", "tcp://[::1", "http://127.0.0.1:1", 5, None, [], NOBODY])
def test_what_is_no_cluster_is_refused(cluster: Any) -> None:
    with (
        refused(LdpstatsError, "the cluster", "address of a Dask scheduler", "tcp://127.0.0.1:8786"),
        ldp.on_cluster(cluster),
    ):
        pass
    assert not is_spread()


def test_without_dask_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with (
        refused(LdpstatsError, "without the package dask", "pip install 'ldpstats[scale]'"),
        ldp.on_cluster("tcp://127.0.0.1:1"),
    ):
        pass


def test_importing_the_package_loads_neither_dask_nor_arrow_nor_polars() -> None:
    heavy = "{'dask', 'distributed', 'pyarrow', 'polars', 'narwhals'}"
    told = f"import sys, ldpstats.workers, ldpstats.protocols.partitions as p; print({heavy} & set(sys.modules))"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    # pandas itself loads pyarrow, where it is installed
    assert found.stdout.strip() in ("set()", "{'pyarrow'}")


def test_on_a_cluster_results_errors_and_order_are_the_same(tmp_path: Path) -> None:
    with two_workers(tmp_path) as client:
        with ldp.on_cluster(client):
            assert is_spread()
            assert each(lambda number: number * number, range(50), "squaring") == [n * n for n in range(50)]

            def refused(number: int) -> None:
                raise LdpstatsError(f"the number {number}", "none")

            with pytest.raises(LdpstatsError, match="the number 1"):
                each(refused, [1, 2], "refusing")
        assert not is_spread()
        with ldp.on_cluster(client.scheduler_info()["address"]):
            assert each(len, ["a", "bc"], "measuring") == [1, 2]
        assert client.status == "running"


def studied(tables: ldp.TableSet) -> dict[str, Any]:
    """Return what every study finds whose parts may be spread."""
    domain, pair = tables.domain, tables["a", "c"]
    drawn = {
        "fixed": ldp.MonteCarlo(2600, rng=3),
        "drawn on": ldp.MonteCarlo(50, rng=3, at_most=3050),
        "enough": ldp.MonteCarlo(600, rng=3, enough=20),
        "one batch": ldp.MonteCarlo(100, rng=3),
    }
    found: dict[str, Any] = {name: ldp.independence_test(pair, pvalue=one).pvalue for name, one in drawn.items()}
    for name, pvalue in (
        ("seed", ldp.MonteCarlo(200, rng=4)),
        ("one", ldp.MonteCarlo(200, rng=np.random.default_rng(4))),
    ):
        found[f"pairs from {name}"] = ldp.independence_tests(tables, pvalue=pvalue).to_frame().to_csv()
    for method in ("em", "shrinkage", "l2"):
        found[method] = ldp.reconstruct(tables, domain.names, method, n_resamples=10, rng=1).to_json()
    found["accuracy"] = ldp.naive_bayes(tables, "a").expected_accuracy(n_resamples=5, rng=3).to_dict()
    found["plan"] = ldp.plan(["grr", "oue"], (2, 2), epsilon=1.0, n=5000, effect=0.1).table.to_csv()
    return found


def test_studies_on_a_cluster_find_the_same_to_the_last_bit_and_so_they_do_where_a_worker_is_lost(
    tmp_path: Path,
) -> None:
    domain = ldp.Domain({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y", "z"]})
    people = np.arange(1, 13) * 30
    tables = ldp.SampledGroups(domain, epsilon=2.0).simulate(people, rng=1)
    expected = studied(tables)
    fitted = killing_once(monte_carlo._ranked, tmp_path / "killed", lambda *_: True)
    with by_value(__name__), two_workers(tmp_path) as client, ldp.on_cluster(client):
        with patch.object(monte_carlo, "_ranked", fitted):
            found = studied(tables)
        assert (tmp_path / "killed").exists()
    assert found == expected
