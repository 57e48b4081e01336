"""What users may rely on (CONTRIBUTING, "What stays"), by the names under which they find it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import ldpstats as ldp
from ldpstats.mechanisms import URAP, URR, OpenRAPPOR, OpenRR, registered_mechanisms

ROOMS = ("plots", "published", "rrba", "datasets", "designs", "extend")
"""What has public names besides `ldpstats` itself, where a room stands under the same name as an attribute of it."""


def _names_of(module: Any) -> list[str]:
    """Return what a module exports; without a list, the functions and classes that are defined there."""
    own = [name for name, one in vars(module).items() if getattr(one, "__module__", None) == module.__name__]
    return getattr(module, "__all__", [name for name in own if not name.startswith("_")])


def _named() -> Iterator[tuple[str, Any]]:
    for name in ldp.__all__:
        if not inspect.ismodule(getattr(ldp, name)):
            yield f"ldpstats.{name}", getattr(ldp, name)
    for room in ROOMS:
        module = getattr(ldp, room, None) or importlib.import_module(f"ldpstats.{room}")
        yield from ((f"ldpstats.{room}.{name}", getattr(module, name)) for name in _names_of(module))
    for kind in (*registered_mechanisms(), OpenRR, OpenRAPPOR, URR, URAP):
        if kind.__name__ not in ldp.__all__:
            yield f"ldpstats.mechanisms.{kind.__name__}", kind


def public_names() -> dict[str, Any]:
    """Return everything public but modules; what has several names comes again under each of them."""
    return dict(_named())


def public_callables() -> dict[str, Any]:
    """Return every public class and function once, under the first of its names."""
    first = {id(one): name for name, one in reversed(public_names().items()) if callable(one)}
    return {name: one for name, one in public_names().items() if first.get(id(one)) == name}


def own_bases(kind: type) -> list[type]:
    """Return a class and what it derives from, as far as that is ours."""
    return [base for base in kind.__mro__ if base.__module__.startswith("ldpstats")]
