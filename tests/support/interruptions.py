"""Interruptions: what a key or a timer does to a call, at every step of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")


class Interruption(BaseException):
    """What a key or a timer raises between any two steps."""


def interrupted(call: Callable[[], object], step: int, where: str) -> bool:
    """Run a call, and interrupt it before this step of code in such files; say whether it came that far."""
    left = step

    def local(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        frame.f_trace_opcodes = True
        left -= event == "opcode"
        if left < 0:
            sys.settrace(None)
            raise Interruption
        return local

    def called(frame: FrameType, *_: object) -> Any:
        frame.f_trace_opcodes = True
        return local if where in Path(frame.f_code.co_filename).parts[-2:] else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        call()
    except Interruption:
        return True
    finally:
        sys.settrace(before)
    return False
