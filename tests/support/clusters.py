"""Clusters of two worker processes on this machine, and a worker that is lost in the middle."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cloudpickle
import dask
from distributed import Client, LocalCluster


@contextmanager
def two_workers(folder: Path) -> Iterator[Client]:
    """Yield a client of two worker processes, which are gone afterwards, and leave nothing beside the folder."""
    with (
        dask.config.set({"temporary-directory": str(folder), "scheduler": None}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1") as cluster,
        Client(cluster) as client,
    ):
        yield client


@contextmanager
def by_value(module: str) -> Iterator[None]:
    """Send the functions of a test module to workers, which cannot import it, as they stand."""
    cloudpickle.register_pickle_by_value(sys.modules[module])
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[module])


def killing_once(work: Callable[..., Any], flag: Path, when: Callable[..., bool]) -> Callable[..., Any]:
    """Return the same work, but that the process that does it is killed the first time that `when` holds."""

    def worked(*arguments: Any) -> Any:
        if when(*arguments) and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*arguments)

    return worked
