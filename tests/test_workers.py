"""Workers: the same results in the same order wherever they are made, and addresses that are none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.clusters import two_workers
from support.comparisons import assert_tells

import ldpstats as ldp
from ldpstats.errors import LdpstatsError
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
    with pytest.raises(LdpstatsError) as error, ldp.on_cluster(cluster):
        pass
    assert_tells(error, "the cluster", "address of a Dask scheduler", "tcp://127.0.0.1:8786")
    assert not is_spread()


def test_without_dask_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(LdpstatsError) as error, ldp.on_cluster("tcp://127.0.0.1:1"):
        pass
    assert_tells(error, "without the package dask", "pip install 'ldpstats[scale]'")


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
