"""Certification: all the checks that concern a mechanism."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ldpstats.conformance.checks import CHECKS, Factory
from ldpstats.conformance.memory import MEMO_CHECKS


def checks_of(make: Factory) -> tuple[Callable[[Any], None], ...]:
    """Return the checks of a mechanism, given as a function of k and ε: longitudinal ones have some more."""
    return (*CHECKS, *MEMO_CHECKS) if hasattr(make(2, 1.0), "remember") else CHECKS


def check_named(name: str) -> Callable[[Any], None]:
    """Return one check: a function of a function of k and ε."""
    return next(check for check in (*CHECKS, *MEMO_CHECKS) if check.__name__ == name)


def certify(make: Factory) -> None:
    """Run all checks on a mechanism, given as a function of k and ε; raise at the first that fails.

    The sampler's law is enumerated for up to nine values, and tested statistically for more, at some levels and
    batch sizes. Code that behaves well just there and badly elsewhere passes: the suite finds mistakes, it does
    not replace reading the sampler.
    """
    for check in checks_of(make):
        check(make)
