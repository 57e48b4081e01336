"""The shape of the package: names of classes, subjects of modules, documented parameters, layers."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import tomllib
from collections import Counter
from pathlib import Path
from types import FunctionType
from typing import Any

from support.docstrings import names_in, parameters_of

import ldpstats as ldp

ROOT = Path(__file__).parents[2]
MODULES = {
    info.name: importlib.import_module(info.name)
    for info in pkgutil.walk_packages(ldp.__path__, "ldpstats.")
    if not info.name.endswith("__main__")
}

CLASSES = {
    value
    for name, module in MODULES.items()
    for value in vars(module).values()
    if inspect.isclass(value) and value.__module__ == name
}


def repeated(names: Any) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def exported() -> dict[str, Any]:
    """Return everything that a package of ours exports, by its full name."""
    packages = [ldp, *(module for module in MODULES.values() if hasattr(module, "__all__"))]
    found = [getattr(package, name) for package in packages for name in package.__all__]
    return {
        f"{one.__module__}.{one.__qualname__}": one for one in found if inspect.isclass(one) or inspect.isfunction(one)
    }


def unnamed_parameters(function: Any) -> list[str]:
    """Return the parameters that the Parameters section of a docstring does not name."""
    said = names_in(function, "Parameters")
    return [name for name in parameters_of(function) if name not in said]


def test_no_two_classes_share_a_name() -> None:
    """Saved files name them."""
    assert not repeated(one.__name__ for one in CLASSES)


def test_every_module_says_its_subject_in_one_line() -> None:
    lines = {name: (module.__doc__ or "").partition("\n")[0] for name, module in MODULES.items()}
    assert not [name for name, line in lines.items() if not line.endswith(".") or len(line) < 20]
    assert not repeated(lines.values())


def test_types_that_are_text_are_joined_as_text() -> None:
    """`"pd.DataFrame" | ArrayLike` is an error from Python 3.12 on, where the latter is a type alias."""
    joined = {
        f"{name}.{part.id}": vars(module).get(part.id)
        for name, module in MODULES.items()
        for node in ast.parse(Path(module.__file__).read_text("utf-8")).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.BinOp)
        for part in ast.walk(node.value)
        if isinstance(part, ast.Name)
    }
    assert len(joined) > 10
    assert not [name for name, part in joined.items() if isinstance(part, str)]


def test_every_exported_function_names_its_parameters() -> None:
    assert not {
        name: missing
        for name, one in exported().items()
        if inspect.isfunction(one) and (missing := unnamed_parameters(one))
    }


def test_methods_of_what_users_hold_name_their_parameters() -> None:
    """Where a class does in its own way what another one of ours defines, the first definition counts."""
    incomplete = {}
    for one in map(ldp.__getattr__, ldp.__all__):
        for base in reversed([base for base in getattr(one, "__mro__", ()) if base.__module__.startswith("ldpstats")]):
            for name, method in vars(base).items():
                known = any(name in vars(other) for other in base.__mro__[1:])
                if (
                    not name.startswith("_")
                    and not known
                    and isinstance(method, (FunctionType, classmethod, staticmethod))
                ):
                    incomplete[f"{base.__name__}.{name}"] = unnamed_parameters(getattr(base, name))
    assert len(incomplete) > 100
    assert not {name: missing for name, missing in incomplete.items() if missing}


def test_the_rows_of_the_architecture_are_the_layers_that_are_enforced() -> None:
    """A row may name several modules, and a layer as well: in what order, only the rows and layers say."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"][::-1]
    enforced = {
        name.strip().partition(".")[2]: place for place, layer in enumerate(layers) for name in layer.split("|")
    }
    rows = re.findall(r"^\| (`[^|]*) \|", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), flags=re.MULTILINE)
    places = [enforced[name] for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert len(places) == len(enforced)
    assert places == sorted(places)
