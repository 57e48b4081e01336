"""The shape of the package: names of classes, subjects of modules, layers."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

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
