"""Docstrings in the form of numpydoc: their sections, the names in them, and the examples."""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
import re
from typing import Any


def section(documented: Any, title: str) -> str | None:
    """Return what a docstring says under a heading; None where it has none."""
    found = re.search(
        rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)",
        inspect.getdoc(documented) or "",
        flags=re.DOTALL | re.MULTILINE,
    )
    return found and found[1]


def names_in(documented: Any, title: str) -> list[str]:
    """Return the names that a section describes, such as those of parameters."""
    lines = (section(documented, title) or "").splitlines()
    return [name.strip(" *") for line in lines if line[:1].strip() for name in line.split(" :")[0].split(",")]


def parameters_of(documented: Any) -> list[str]:
    """Return the names of the parameters that users give; of a class that is only derived from there are none."""
    names = [name for name in inspect.signature(documented).parameters if name != "self" and not name.startswith("_")]
    return [] if inspect.isclass(documented) and names == ["args", "kwargs"] else names


def unknown_names(documented: Any) -> set[str]:
    """Return the names that a docstring's examples use without importing or making them."""
    source = "".join(one.source for one in doctest.DocTestParser().get_examples(inspect.getdoc(documented) or ""))
    used, known = set(), set(dir(builtins))
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                known.add(name)
            case ast.ExceptHandler(name=str(name)):
                known.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                known.update(one.asname or one.name.partition(".")[0] for one in names)
    return used - known
