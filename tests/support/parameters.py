"""Parameters of tests: which of all checks and pairs are tried with every change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

from ldpstats.conformance import checks_of


def certifications(makers: Mapping[str, Any], checks: Callable[[Any], Iterable[Any]] = checks_of) -> list[Any]:
    """Return a parameter for every maker and check; of variants, what is sent in bulk is checked exhaustively only.

    A variant has the sampler of a mechanism that is certified in full: its laws are enumerated with every change.
    """
    bulk = {"ldpstats.conformance.sampled"}
    return [
        pytest.param(
            make, check, id=f"{name}-{check.__name__}", marks=[pytest.mark.exhaustive] * (check.__module__ in bulk)
        )
        for name, make in makers.items()
        for check in checks(make)
    ]


def ways(small: Sequence[str], paths: Sequence[str], often: int) -> list[Any]:
    """Return all pairs; those of every collection with `often` of the paths, in turn, are tried with every change."""
    return [
        pytest.param(
            one, path, marks=[pytest.mark.exhaustive] * ((place - number) % len(paths) >= often), id=f"{one}-{path}"
        )
        for number, one in enumerate(small)
        for place, path in enumerate(paths)
    ]
