"""Ownership: what has a state belongs to the process that made it, serves one thread at a time, and has no copies."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from functools import wraps
from typing import ClassVar, Concatenate, NoReturn, ParamSpec, TypeVar

from ldpstats.errors import LdpstatsError


class Owned:
    """State that must not be copied: a copy would give out the same numbers, count or spend the same again.

    Forked processes have such copies unasked, and threads that run between one another's steps count twice.
    """

    __slots__ = ("_lock", "_process")

    _called: ClassVar[str]
    _instead: ClassVar[str]

    def __init__(self) -> None:
        self._lock, self._process = threading.RLock(), os.getpid()

    def __reduce__(self) -> NoReturn:
        raise LdpstatsError(f"a copy of {self._called}", "the one that there is", self._instead)

    def refuse_other_processes(self) -> None:
        """Refuse to run in a process that inherited this by a fork."""
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
    """Decorate a method to run only in the process that owns its object, in one thread at a time."""

    @wraps(method)
    def guarded(mine: Mine, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        # before the lock: a child inherits that as it stood, perhaps held by a thread that it does not have
        mine.refuse_other_processes()
        with mine._lock:  # noqa: SLF001  # a method's own object
            return method(mine, *args, **kwargs)

    return guarded
