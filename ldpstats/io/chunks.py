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
    """Consecutive rows of a file."""

    first: int  # place of the first row in the file, from 0
    n: int  # number of rows
    # readable rows: their places in the chunk (None: all, in order), and arrays of one form each
    sent: Sequence[tuple[NDArray[np.int64] | None, SentRows]]
    bad: dict[int, Reason] = field(default_factory=dict)  # why the others cannot be read, by place in the chunk
    content: Callable[[int], str] = str  # from a place in the chunk to the row's text in the file
    tokens: Ragged | None = None  # of all rows
    end: int = 0  # where reading resumes behind this chunk; each source counts in its own unit


class Source(Protocol):
    """Where chunks come from: a file, or data frames."""

    name: str
    """What errors call it."""

    @property
    def identity(self) -> str | None:
        """Identity of the collection; None where each row names its own."""

    @property
    def size(self) -> int | None:
        """Number of rows, if known before reading."""

    @property
    def tokens(self) -> bool:
        """Whether its rows may have tokens."""

    @property
    def about(self) -> list[Any]:
        """Plain values that identify the source in a checkpoint; empty if it cannot be read again."""

    def fits(self, protocol: LocalProtocol) -> Callable[[int], Iterator[Chunk]]:
        """Return what yields the chunks behind the end of one (0: the beginning); refuse files of another protocol."""

    def described(self) -> ReportFile:
        """Describe the file; reads all of it."""

    def line(self, place: int) -> str:
        """Name the row at a place (from 0) in errors."""


def ahead(items: Iterable[Item]) -> Generator[Item, None, None]:
    """Yield items while a thread makes the next one (prefetching by one)."""
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
    """Put an item into the queue; False if the consumer has gone."""
    while not over.is_set():
        with suppress(Full):
            waiting.put(one, timeout=_WAIT)
            return True
    return False
