"""Chunks: consecutive rows of a report file as arrays, and what reads them one after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, Full, Queue
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.io.described_files import ReportFile
from ldpstats.io.layouts import Ragged
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import SentRows
from ldpstats.protocols.wire import Reason

_WAIT = 0.1
"""Seconds after which a reader looks whether it is still wanted."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Consecutive rows of a file.

    Parameters
    ----------
    first : int
        The place of the first of them in the file, from 0.
    n : int
        How many they are.
    sent : sequence of (array, SentRows)
        Those that can be read, with their places in the chunk: arrays of one form each.
    bad : mapping of int to Reason
        Why the others cannot, by their places in the chunk.
    content : callable
        From a place in the chunk to the row as it stands in the file, as text.
    tokens : Ragged, optional
        Those of all rows.
    end : int
        From where the rest of the file can be read; what that counts is the reader's affair.
    """

    first: int
    n: int
    sent: Sequence[tuple[NDArray[np.int64] | None, SentRows]]
    bad: dict[int, Reason] = field(default_factory=dict)
    content: Callable[[int], str] = str
    tokens: Ragged | None = None
    end: int = 0


class Source(Protocol):
    """Where chunks come from: a file, or data frames."""

    name: str
    """What errors call it."""

    @property
    def identity(self) -> str | None:
        """That of its collection; None where its rows name theirs."""

    @property
    def size(self) -> int | None:
        """How many rows it holds, where that is known before."""

    @property
    def tokens(self) -> bool:
        """Whether its rows may have tokens."""

    @property
    def about(self) -> list[Any]:
        """Plain values by which a checkpoint knows it again."""

    def fits(self, protocol: LocalProtocol) -> Callable[[int], Iterator[Chunk]]:
        """Return what reads its rows, from where a chunk ended (0 is the beginning); refuse those of another protocol.

        Parameters
        ----------
        protocol : LocalProtocol
        """

    def described(self) -> ReportFile:
        """Return what it says about itself; all of it is read."""

    def line(self, place: int) -> str:
        """Return what errors call one of its rows.

        Parameters
        ----------
        place : int
            Its place, from 0.
        """


def ahead(items: Iterable[Item]) -> Generator[Item, None, None]:
    """Yield items that a thread of its own makes, one ahead of what is wanted.

    Parameters
    ----------
    items : iterable

    Examples
    --------
    >>> list(ahead(range(3)))
    [0, 1, 2]
    """
    waiting: Queue[tuple[bool, Any]] = Queue(1)
    over = threading.Event()

    def make() -> None:
        try:
            for one in items:
                if not _put(waiting, (False, one), over):
                    return
            _put(waiting, (True, None), over)
        except BaseException as error:  # raised where the items are wanted
            _put(waiting, (True, error), over)

    maker = threading.Thread(target=make, name="ldpstats reader", daemon=True)
    maker.start()
    try:
        while True:
            last, one = waiting.get()
            if not last:
                yield one
            elif one is None:
                return
            else:
                raise one
    finally:
        over.set()
        with suppress(Empty):
            waiting.get_nowait()
        maker.join()


def _put(waiting: Queue[tuple[bool, Any]], one: tuple[bool, Any], over: threading.Event) -> bool:
    """Wait until there is room; say whether anybody still wants it."""
    while not over.is_set():
        with suppress(Full):
            waiting.put(one, timeout=_WAIT)
            return True
    return False
