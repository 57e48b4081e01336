"""Every public name of the package, once, with what it stands for."""

from __future__ import annotations

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

import ldpstats
from ldpstats.mechanisms import URAP, URR, OpenRAPPOR, OpenRR, registered_mechanisms

_ROOMS = ("rrba", "published", "plots", "datasets", "designs", "extend")
"""Modules that are public besides the package itself; what they share with it is named by it."""


def public_names() -> dict[str, Any]:
    """Return all public objects by the name that users write, without the name of the package before it."""
    found = {kind.__name__: kind for kind in registered_mechanisms()}
    # these stand in no registry: strings that nobody listed have no number, and which values are sensitive must be said
    found |= {kind.__name__: kind for kind in (OpenRR, OpenRAPPOR, URR, URAP)}
    found |= {name: value for name, value in _of(ldpstats).items() if not inspect.ismodule(value)}
    for room in _ROOMS:
        known = {id(value) for value in found.values()}
        names = _of(getattr(ldpstats, room, None) or import_module(f"ldpstats.{room}"))
        found |= {f"{room}.{name}": value for name, value in names.items() if id(value) not in known}
    return found


def _of(module: ModuleType) -> dict[str, Any]:
    """Return what a module offers: what it lists, or all that is defined in it."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return {name: getattr(module, name) for name in listed}
    defined = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    own = {name: value for name, value in defined.items() if getattr(value, "__module__", "") == module.__name__}
    constants = {name: value for name, value in defined.items() if name.isupper()}
    return own | constants
