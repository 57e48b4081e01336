"""The public surface is that of public_api.txt: a line for each name, signature and attribute.

Run as a script, this writes it anew.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

if __name__ == "__main__":  # pytest knows this place
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.public_names import own_bases, public_names

SNAPSHOT = Path(__file__).with_name("public_api.txt")
OPERATORS = {"__add__", "__contains__", "__getitem__", "__iter__", "__len__"}
"""What users write with a sign or a word of Python instead of a name."""
ADVICE = """
What is new is free, and so is what no script can notice, such as one more parameter with a default or a wider type:
`python tests/journeys/test_public_api.py` writes the list anew. What goes, or changes otherwise, needs a deprecation:
the old way works on for a minor version, and warns (CONTRIBUTING, "What stays").
"""


class Verbatim:
    """What stands in a signature as it was written: the same in every version of Python."""

    def __init__(self, text: object) -> None:
        assert isinstance(text, str), f"{text!r}: where this stands, `from __future__ import annotations` is missing"
        self.text = text

    def __repr__(self) -> str:
        return self.text


def spelled(one: Any, *, returns: bool = True, own: bool = False) -> str:
    """Return a signature with its annotations as the source has them; of a method without `self`."""
    signature = inspect.signature(one)
    parameters = [
        parameter.replace(
            annotation=parameter.annotation
            if parameter.annotation is parameter.empty
            else Verbatim(parameter.annotation),
            default=parameter.default
            if parameter.default is parameter.empty
            else Verbatim(_default(parameter.default)),
        )
        for parameter in list(signature.parameters.values())[own:]
    ]
    unknown = signature.return_annotation is signature.empty or not returns
    answer = signature.empty if unknown else Verbatim(signature.return_annotation)
    return str(signature.replace(parameters=parameters, return_annotation=answer))


def _default(value: object) -> str:
    return value.__qualname__ if isinstance(value, FunctionType) else repr(value)


def _members(kind: type) -> dict[str, str]:
    """Return the fields, properties and methods of a class as users see them, the nearest definition of each."""
    found = {}
    for base in reversed(own_bases(kind)):
        found |= {name: f": {Verbatim(said)}" for name, said in inspect.get_annotations(base).items() if _seen(name)}
        found |= {name: text for name, one in vars(base).items() if _seen(name) and (text := _member(one))}
    return found


def _seen(name: str) -> bool:
    return name in OPERATORS or not name.startswith("_")


def _member(one: Any) -> str:
    if isinstance(one, (property, cached_property)):
        getter = one.fget if isinstance(one, property) else one.func
        return f": {Verbatim(inspect.signature(getter).return_annotation)}"
    if isinstance(one, (classmethod, staticmethod)):
        return spelled(one.__func__, own=isinstance(one, classmethod))
    return spelled(one, own=True) if isinstance(one, FunctionType) else ""


def _lines_of_class(name: str, kind: type, names: dict[int, str]) -> Iterator[str]:
    """Yield a class, what it derives from that is public, and what it has beyond that."""
    bases = [base for base in own_bases(kind)[1:] if id(base) in names]
    inherited = {member: text for base in reversed(bases) for member, text in _members(base).items()}
    made = "" if list(inspect.signature(kind).parameters) == ["args", "kwargs"] else spelled(kind, returns=False)
    yield f"{name}{made} : {', '.join(names[id(base)] for base in bases)}".removesuffix(" : ")
    yield from (f"{name}.{own}{text}" for own, text in _members(kind).items() if inherited.get(own) != text)


def _lines() -> Iterator[str]:
    everything = public_names()
    names = {id(one): name for name, one in reversed(everything.items()) if callable(one)}
    for name, one in everything.items():
        if names.get(id(one), name) != name:
            yield f"{name} = {names[id(one)]}"
        elif inspect.isclass(one):
            yield from _lines_of_class(name, one, names)
        elif callable(one):
            yield f"{name}{spelled(one)}"
        else:
            yield f"{name}: {type(one).__name__}"
            yield from (f"{name}[{key!r}]" for key in (one if isinstance(one, dict) else ()))


def surface() -> list[str]:
    """Return the public surface, a line for each name."""
    return sorted(_lines())


def differences(before: list[str], now: list[str]) -> list[str]:
    """Return in words what was added, removed and changed."""
    old, new = ({re.split(r"[(: ]", line, maxsplit=1)[0]: line for line in lines} for lines in (before, now))
    return [
        *(f"removed: {old[name]}" for name in old if name not in new),
        *(f"changed: {old[name]}\n     to: {new[name]}" for name in old if name in new and old[name] != new[name]),
        *(f"added: {new[name]}" for name in new if name not in old),
    ]


def test_the_public_surface_is_that_of_the_list() -> None:
    found = differences(SNAPSHOT.read_text("utf-8").splitlines(), surface())
    assert not found, "\n".join(["the public surface differs from public_api.txt:", *found, ADVICE])


def test_what_differs_is_said() -> None:
    before = ["a.f(x: int) -> int", "a.g()", "a.K(n: int)", "a.K.n: int"]
    now = ["a.f(x: int, y: int = 0) -> int", "a.K(n: int)", "a.K.n: int", "a.K.m: str"]
    assert differences(before, now) == [
        "removed: a.g()",
        "changed: a.f(x: int) -> int\n     to: a.f(x: int, y: int = 0) -> int",
        "added: a.K.m: str",
    ]
    assert differences(now, now) == []


def test_every_line_has_a_name_of_its_own() -> None:
    """Else a difference could hide behind another line of the same name."""
    names = [re.split(r"[(: ]", line, maxsplit=1)[0] for line in surface()]
    assert len(names) == len(set(names)) > 500


if __name__ == "__main__":
    SNAPSHOT.write_text("\n".join([*surface(), ""]), encoding="utf-8")
