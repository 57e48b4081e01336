"""Workers: independent calculations, one after the other or on the workers of a Dask cluster, to the same results."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.presentation import progress

if TYPE_CHECKING:
    from distributed import Client

Cluster: TypeAlias = "str | Client"
"""The address of a scheduler, or a client of it."""
Item = TypeVar("Item")
Done = TypeVar("Done")

_SOCKETS, _SECONDS = ("tcp", "tls"), 10.0
_USED: ContextVar[Any] = ContextVar("ldpstats_cluster", default=None)


@contextmanager
def on_cluster(cluster: Cluster) -> Iterator[None]:
    """Spread what can be done independently over the workers of a Dask cluster, within a `with` block.

    So are the drawn tables of Monte Carlo p-values, tests of all pairs, plans, and networks and tables that are fitted
    again in a bootstrap; and partitions of Dask data frames. All chance is drawn as without a cluster: results are the
    same, to the last bit where the machines compute alike. Workers need the same versions of packages.
    (`tables_of` counts files on a cluster by its argument `scheduler`.)

    Parameters
    ----------
    cluster : str or distributed.Client
        The address of the scheduler, such as "tcp://127.0.0.1:8786", or a client, which stays open.

    Returns
    -------
    context manager
        For a `with` block; it stands for nothing itself.

    Examples
    --------
    >>> from distributed import Client
    >>> from ldpstats import on_cluster
    >>> from ldpstats.workers import each
    >>> with Client(processes=False, dashboard_address="127.0.0.1:0") as client, on_cluster(client):
    ...     each(abs, [1, -2], "measuring")
    [1, 2]
    """
    client, own = _client_of(cluster)
    used = _USED.set(client)
    try:
        yield
    finally:
        _USED.reset(used)
        if own:
            client.close()


def is_spread() -> bool:
    """Say whether work is spread over a cluster."""
    return _USED.get() is not None


def each(
    work: Callable[[Item], Done], items: Iterable[Item], what: str = "", unit: str = "it", total: int | None = None
) -> list[Done]:
    """Return the results of some work on every item, in their order; none of them may depend on another.

    The work must not draw from a generator that others draw from, too. `what` and `unit` are words of the progress bar
    (none without `what`), `total` is for items that do not know their number.
    """
    return list(done(work, items, what, unit, total))


def done(
    work: Callable[[Item], Done], items: Iterable[Item], what: str = "", unit: str = "it", total: int | None = None
) -> Iterator[Done]:
    """Yield the results of `each`, one after the other."""
    client = _USED.get()
    if client is None:
        yield from map(work, progress(items, what, total, unit) if what else items)
        return
    # as data of its own the work is sent to each worker once, with all that it holds, and can be made again
    shared = client.submit(_itself, work, pure=False)
    futures = client.map(_done_by, list(items), work=shared, pure=False)
    try:
        for future in progress(futures, what, unit=unit) if what else futures:
            yield future.result()
            future.release()
    finally:
        client.cancel(futures)


def _itself(work: Done) -> Done:
    return work


def _done_by(item: Item, work: Callable[[Item], Done]) -> Done:
    return work(item)


def computed(delayed: Any) -> Any:
    """Compute what Dask has delayed: on the cluster that is used, or where Dask computes by itself."""
    client = _USED.get()
    return delayed.compute() if client is None else client.compute(delayed).result()


def _client_of(cluster: Any) -> tuple[Any, bool]:
    """Return a client, and whether it was opened here."""
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise LdpstatsError("a cluster without the package dask", "dask", "pip install 'ldpstats[scale]'") from error
    if isinstance(cluster, Client):
        return cluster, False
    allowed = "the address of a Dask scheduler, such as 'tcp://127.0.0.1:8786', or a distributed.Client"
    if not isinstance(cluster, str):
        raise LdpstatsError(f"the cluster {shortened(cluster)}", allowed)
    try:
        # an error at once where nobody listens: a client would try for long, and again when it is closed
        from distributed.comm.addressing import parse_address, parse_host_port

        scheme, address = parse_address(cluster)
        if scheme in _SOCKETS:
            socket.create_connection(parse_host_port(address), timeout=_SECONDS).close()
        opened: Any = Client
        return opened(cluster, set_as_default=False), True
    except (OSError, ValueError, TypeError) as error:
        raise LdpstatsError(f"the cluster {cluster!r} ({shortened(str(error))})", allowed) from error
