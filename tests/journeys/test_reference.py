"""The reference is whole: every public name says what it takes and returns, and has an example that can be copied.

That the examples run, pytest sees by itself (`--doctest-modules`).
"""

from __future__ import annotations

import ast
import builtins
import doctest
import inspect
import re
from collections.abc import Iterable
from types import FunctionType
from typing import Any

import pytest
from support.public_names import own_bases, public_callables, public_names

import ldpstats as ldp

CALLABLES = public_callables()
CONSTANTS = {"GRID", "METHODS", "TABLE_METHODS", "RECONSTRUCTION_METHODS", "NETWORKS"}
"""Numbers, tuples and tables of names, which have no docstring of their own: comments beside them say what they are."""


def section(documented: Any, title: str) -> str | None:
    """Return what a docstring says under a heading; None where it has none."""
    found = re.search(
        rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.getdoc(documented) or "", flags=re.DOTALL | re.MULTILINE
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


def wrong_parameters(documented: Any) -> list[str]:
    """Return the parameters that a docstring does not name, and the names in it that are none."""
    taken, named = parameters_of(documented), names_in(documented, "Parameters")
    return [
        *(f"not named: {one}" for one in taken if one not in named),
        *(f"none: {one}" for one in named if one not in taken),
    ]


def returns_unsaid(documented: Any) -> bool:
    """Say whether a function returns something, and its docstring has no section that says what."""
    if inspect.isclass(documented) or inspect.signature(documented).return_annotation in (None, "None"):
        return False
    return not (section(documented, "Returns") or section(documented, "Yields"))


def begins_with_a_sentence(documented: Any) -> bool:
    """Say whether the first line is a sentence, with nothing but a free line below it."""
    first, *others = (inspect.getdoc(documented) or "").split("\n")
    return first.endswith(".") and len(first.split()) > 2 and others[:1] in ([], [""])


def methods(kinds: Iterable[Any] = CALLABLES.values(), inherited: bool = True) -> dict[str, Any]:
    """Return the methods and properties of classes, under the names of ours that define them; or define them first."""
    found = {}
    for kind in filter(inspect.isclass, kinds):
        for base in own_bases(kind):
            for name, one in vars(base).items():
                own = isinstance(one, (FunctionType, classmethod, staticmethod, property)) and not name.startswith("_")
                if own and (inherited or not any(name in vars(other) for other in base.__mro__[1:])):
                    found[f"{base.__name__}.{name}"] = one if isinstance(one, property) else getattr(base, name)
    return found


def test_what_is_not_called_is_a_constant() -> None:
    assert {name.rpartition(".")[2] for name, one in public_names().items() if not callable(one)} <= CONSTANTS


def test_every_docstring_begins_with_a_sentence() -> None:
    assert not [name for name, one in CALLABLES.items() if not begins_with_a_sentence(one)]


def test_every_parameter_is_named_and_nothing_else() -> None:
    assert not {name: wrong for name, one in CALLABLES.items() if (wrong := wrong_parameters(one))}


def test_methods_of_what_users_hold_name_their_parameters() -> None:
    """Where a class does in its own way what another one of ours defines, the first definition counts."""
    first = methods(map(ldp.__getattr__, ldp.__all__), inherited=False)
    taken = {name: parameters_of(one) for name, one in first.items() if callable(one)}
    assert len(taken) > 100
    assert not {name for name, own in taken.items() if not {*own} <= {*names_in(first[name], "Parameters")}}


def test_what_is_returned_is_said() -> None:
    assert not [name for name, one in CALLABLES.items() if returns_unsaid(one)]


def test_every_name_has_an_example() -> None:
    assert not [name for name, one in CALLABLES.items() if ">>> " not in (section(one, "Examples") or "")]


def test_examples_import_what_they_use() -> None:
    """So they run wherever they are copied to; in a module that is tested they would find its own names."""
    found = {name: unknown for name, one in {**CALLABLES, **methods()}.items() if (unknown := unknown_names(one))}
    assert not found


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ldpstats.independence_test", "chi-square|chi-squared|χ²|contingency table|Pearson|Rao score|G statistic"),
        ("ldpstats.marginal_homogeneity_test", "McNemar|Stuart|Bhapkar"),
        ("ldpstats.symmetry_test", "Bowker"),
        ("ldpstats.trend_test", "Cochran|Armitage|Mantel|linear-by-linear"),
        ("ldpstats.association", "Cramér's V|Cramer's V|phi coefficient"),
        ("ldpstats.odds_ratio", "case-control|Fieller|cross-product"),
        ("ldpstats.RR", "randomized response|Warner"),
        ("ldpstats.GRR", "randomized response|k-RR|k-ary|direct encoding|local differential privacy|LDP"),
        ("ldpstats.RAPPOR", "Bloom filter"),
        ("ldpstats.Memo", "memoization|permanent"),
        ("ldpstats.PerAttribute", "SPL|SMP"),
        ("ldpstats.plan", "power analysis|sample size"),
        ("ldpstats.learn_network", "structure learning|Chow-Liu|Bayesian network"),
        ("ldpstats.tree_augmented", "TAN|naive Bayes"),
    ],
)
def test_pages_have_the_words_that_are_searched_for(name: str, words: str) -> None:
    text = " ".join((inspect.getdoc(CALLABLES[name]) or "").casefold().split())
    assert not [word for word in words.split("|") if word.casefold() not in text]


def test_what_is_missing_is_found() -> None:
    def halved(given: int, left_out: int) -> int:
        """Return the one.

        Parameters
        ----------
        given : int
        other : int

        Examples
        --------
        >>> halved(given, 1)
        1
        """
        return given + left_out

    assert wrong_parameters(halved) == ["not named: left_out", "none: other"]
    assert returns_unsaid(halved)
    assert unknown_names(halved) == {"halved", "given"}
    assert begins_with_a_sentence(halved)
    assert not begins_with_a_sentence(lambda: None)
