"""Ownership: what has a state belongs to the process that made it, serves one thread at a time, and has no copies."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import ClassVar, Concatenate, NoReturn, ParamSpec, TypeVar

from ldpstats.errors import LdpstatsError


class Owned:
    """Something of which a copy would go on by itself: give out the same numbers, count or spend the same again.

    A forked process has such a copy without asking for it, and threads that come between one another's steps
    count twice what was there once.
    """

    __slots__ = ("_lock", "_process")

    _called: ClassVar[str]
    _instead: ClassVar[str]

    def __init__(self) -> None:
        self._lock, self._process = threading.RLock(), os.getpid()

    def __reduce__(self) -> NoReturn:
        raise LdpstatsError(f"a copy of {self._called}", "the one that there is", self._instead)

    def refuse_other_processes(self) -> None:
        """Refuse to go on in a process that has inherited this."""
        if os.getpid() != self._process:
            raise LdpstatsError(
                f"process {os.getpid()}, which inherited {self._called}",
                f"process {self._process}, which made it",
                self._instead,
            )


Mine = TypeVar("Mine", bound=Owned)
Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def in_turn(
    method: Callable[Concatenate[Mine, Arguments], Returned],
) -> Callable[Concatenate[Mine, Arguments], Returned]:
    """Let a method run in the process that owns its object, and in one thread at a time."""

    @wraps(method)
    def guarded(mine: Mine, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        # before the lock: a child inherits that as it stood, perhaps held by a thread that it does not have
        mine.refuse_other_processes()
        with mine._lock:  # noqa: SLF001  # a method's own object
            return method(mine, *args, **kwargs)

    return guarded
