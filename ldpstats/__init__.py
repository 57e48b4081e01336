"""ldpstats: the statistics of privatized categorical data.

A report is one draw from a public channel. Privacy, estimation, variance, intervals, tests and simulation are
functions of that channel, each written once; a mechanism brings only its channel and a sampler.
"""

from importlib import import_module
from typing import Any

import lazy_loader

__version__ = "0.1.0"

# what is exported, and from where, stands in __init__.pyi; each name is imported when it is first used (PEP 562)
_exported, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    try:
        return _exported(name)
    except AttributeError:
        # every mechanism stood here before `mechanism(name, ...)` found all of them
        room = None if name.startswith("_") else import_module("ldpstats.mechanisms")
        if room and name in room.__all__:
            return getattr(room, name)
        raise
