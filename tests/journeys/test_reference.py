"""The reference is whole: every public name says what it takes and returns, and has an example that can be copied.

That the examples run, pytest sees by itself (`--doctest-modules`).
"""

from __future__ import annotations

import inspect
from types import FunctionType
from typing import Any

import pytest
from support.docstrings import names_in, parameters_of, section, unknown_names
from support.public_names import own_bases, public_callables, public_names

CALLABLES = public_callables()
CONSTANTS = {"GRID", "METHODS", "TABLE_METHODS", "RECONSTRUCTION_METHODS", "NETWORKS"}
"""Numbers, tuples and tables of names, which have no docstring of their own: comments beside them say what they are."""


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


def methods() -> dict[str, Any]:
    """Return the methods and properties of public classes, under the names of the classes that define them."""
    found = {}
    for kind in filter(inspect.isclass, CALLABLES.values()):
        for base in own_bases(kind):
            for name, one in vars(base).items():
                if not name.startswith("_") and isinstance(one, (FunctionType, classmethod, staticmethod, property)):
                    found[f"{base.__name__}.{name}"] = one if isinstance(one, property) else getattr(base, name)
    return found


def test_what_is_not_called_is_a_constant() -> None:
    assert {name.rpartition(".")[2] for name, one in public_names().items() if not callable(one)} <= CONSTANTS


def test_every_docstring_begins_with_a_sentence() -> None:
    assert not [name for name, one in CALLABLES.items() if not begins_with_a_sentence(one)]


def test_every_parameter_is_named_and_nothing_else() -> None:
    assert not {name: wrong for name, one in CALLABLES.items() if (wrong := wrong_parameters(one))}


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
        ("ldpstats.goodness_of_fit_test", "chi-square|Pearson"),
        ("ldpstats.homogeneity_test", "chi-square|homogeneity"),
        ("ldpstats.conditional_independence_test", "stratum|contingency table"),
        ("ldpstats.marginal_homogeneity_test", "McNemar|Stuart|Bhapkar"),
        ("ldpstats.symmetry_test", "Bowker"),
        ("ldpstats.trend_test", "Cochran|Armitage|Mantel|linear-by-linear"),
        ("ldpstats.log_linear_model", "log-linear|loglinear"),
        ("ldpstats.no_three_way_interaction_test", "odds ratio|Breslow"),
        ("ldpstats.association", "Cramér's V|Cramer's V|phi coefficient"),
        ("ldpstats.odds_ratio", "case-control|Fieller|cross-product"),
        ("ldpstats.risk_ratio", "relative risk|Fieller"),
        ("ldpstats.risk_difference", "difference of two proportions|Fieller"),
        ("ldpstats.Table", "contingency table|cross-tabulation"),
        ("ldpstats.RR", "randomized response|Warner"),
        ("ldpstats.GRR", "randomized response|k-RR|k-ary|direct encoding|local differential privacy|LDP"),
        ("ldpstats.SUE", "RAPPOR|unary encoding"),
        ("ldpstats.RAPPOR", "Bloom filter"),
        ("ldpstats.mechanisms.LSUE", "RAPPOR"),
        ("ldpstats.Memo", "memoization|permanent"),
        ("ldpstats.PrivacyStatement", "local differential privacy|LDP"),
        ("ldpstats.CentralLaplace", "Laplace mechanism|differential privacy"),
        ("ldpstats.CentralGaussian", "Gaussian mechanism|differential privacy"),
        ("ldpstats.PerAttribute", "SPL|SMP"),
        ("ldpstats.plan", "power analysis|sample size"),
        ("ldpstats.sample_size", "power analysis|sample size"),
        ("ldpstats.learn_network", "structure learning|Chow-Liu|Bayesian network"),
        ("ldpstats.tree_augmented", "TAN|naive Bayes"),
        ("ldpstats.poisoning", "data poisoning|manipulation"),
        ("ldpstats.extend.Mechanism", "frequency oracle|local randomizer|LDP"),
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
