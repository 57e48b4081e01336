"""Columns: consecutive rows of a report file as arrays, and what reads them one chunk after the other."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Full, Queue
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.counting import SentRows
from ldpstats.protocols.wire import Reason

if TYPE_CHECKING:
    from ldpstats.io.headers import ReportFile

_CALCULATED = ("=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet calculates, in full width too; or whose beginning it drops."""
_WAIT = 0.1
"""Seconds after which a reader looks whether it is still wanted."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Byte strings of several rows in one array: row i is data[starts[i] : ends[i]]."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    def taken(self, places: Any) -> Ragged:
        """Return the rows at some places, without copying their bytes."""
        return Ragged(self.data, self.starts[places], self.ends[places])

    def text(self, row: int) -> str:
        """Decode one row as text."""
        return bytes(self.data[self.starts[row] : self.ends[row]]).decode(errors="replace")

    @property
    def unquoted(self) -> Ragged:
        """The rows without the leading quote that `no_formula` put before them."""
        some = np.flatnonzero(self.starts < self.ends)
        starts = self.starts.copy()
        starts[some] += self.data[starts[some]] == ord("'")
        return Ragged(self.data, starts, self.ends)


def no_formula(text: str) -> str:
    """Return a text as a CSV cell that is safe to open (CSV injection): quoted where a spreadsheet would calculate it.

    A text that begins with a quote gets one, too, so that dropping the first quote always restores the text.
    """
    return f"'{text}" if text.startswith(_CALCULATED) else text


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Consecutive rows of a file."""

    first: int  # place of the first row in the file, from 0
    n: int  # number of rows in the file, or of messages
    end: int  # where reading resumes behind this chunk; each source counts in its own unit
    rows: SentRows  # those that can be read; a message is a row for each of its reports
    places: NDArray[np.int64] | None  # where they stand in the chunk, in this order; None: all of its rows
    bad: dict[int, Reason]  # why the others cannot be read, by place in the chunk
    content: Callable[[int], str]  # from a place in the chunk to the row's text in the file
    tokens: Ragged | None = None  # of the rows that can be read


class Source(ABC):
    """Where chunks come from: a file, or data frames."""

    name: str
    """What errors call it."""
    identity: str | None = None
    """That of the collection; None where each row names its own."""
    size: int | None = None
    """Number of rows, if known before reading."""
    tokens: bool = False
    """Whether its rows may have tokens."""

    @property
    @abstractmethod
    def about(self) -> list[Any]:
        """Plain values that identify the source in a checkpoint; empty if it cannot be read again."""

    @abstractmethod
    def fits(self, protocol: LocalProtocol) -> Callable[[int], Iterator[Chunk]]:
        """Return what yields the chunks behind the end of one (0: the beginning); refuse files of another protocol."""

    @abstractmethod
    def described(self) -> ReportFile:
        """Describe the file; reads all of it."""

    @abstractmethod
    def line(self, position: int) -> str:
        """Name the row at a place (from 0) in errors."""


def ahead(items: Iterable[Item]) -> Generator[Item, None, None]:
    """Yield items while a thread makes the next one (prefetching by one)."""
    waiting: Queue[tuple[bool, Any]] = Queue(1)
    over = threading.Event()

    def make() -> None:
        try:
            for item in items:
                if not _put(waiting, (False, item), over):
                    return
            _put(waiting, (True, None), over)
        except BaseException as error:  # raised where the items are wanted
            _put(waiting, (True, error), over)

    maker = threading.Thread(target=make, name="ldpstats reader", daemon=True)
    maker.start()
    try:
        while True:
            last, item = waiting.get()
            if not last:
                yield item
            elif item is None:
                return
            else:
                raise item
    finally:
        over.set()
        with suppress(Empty):
            waiting.get_nowait()
        maker.join()


def _put(waiting: Queue[tuple[bool, Any]], item: tuple[bool, Any], over: threading.Event) -> bool:
    """Put an item into the queue; False if the consumer has gone."""
    while not over.is_set():
        with suppress(Full):
            waiting.put(item, timeout=_WAIT)
            return True
    return False
