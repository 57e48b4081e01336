"""Mechanisms with other options than the usual ones, and those over candidates, are certified like the registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.parameters import certifications

from ldpstats.conformance import checks_of
from ldpstats.mechanisms import (
    CMS,
    HCMS,
    ORAPPOR,
    ORR,
    RAPPOR,
    FakeResponse,
    Mechanism,
    OpenRAPPOR,
    OpenRR,
    fake_numerators,
)
from ldpstats.numbers.arrays import at_least, positive_epsilon


def names(count: Any) -> list[str]:
    return [f"name {number}" for number in range(at_least(count, 0, "k"))]


def candidates_rappor(k: int, epsilon: float) -> Mechanism:
    bits, cohorts = next(size for most, *size in ((9, 4, 4), (99, 32, 4), (1000, 128, 32)) if k <= most)
    return OpenRAPPOR(epsilon, bits=bits, hashes=2, cohorts=cohorts, seed=1).over(names(k))


def uneven_fakes(k: Any, epsilon: Any) -> FakeResponse:
    rising = np.arange(1, at_least(k, 2, "k") + 1, dtype=float)
    return FakeResponse.at_level(positive_epsilon(epsilon), fake_numerators(rising / rising.sum(), 0.1))


VARIANTS: dict[str, Callable[[int, float], Mechanism]] = {
    "RAPPOR of one hash function, three bits": lambda k, e: RAPPOR(k, e, bits=3, hashes=1, cohorts=k, seed=1),
    "O-RR with two symbols": lambda k, e: ORR(k, e, symbols=2, cohorts=2 * k, seed=1),
    "O-RAPPOR with two permutations": lambda k, e: ORAPPOR(k, e, bits=4 if k < 10 else 128, hashes=2),
    "O-RR over candidates": lambda k, e: OpenRR(e, symbols=3, cohorts=9 if k == 2 else 2 * k).over(names(k)),
    "O-RAPPOR over candidates": candidates_rappor,
    "CMS of three columns": lambda k, e: CMS(k, e, hashes=k, width=3, seed=3),
    "HCMS of two columns": lambda k, e: HCMS(k, e, hashes=2 * k, width=2, seed=7),
}


OF_FAKES = [pytest.param(uneven_fakes, check, id=f"uneven fakes-{check.__name__}") for check in checks_of(uneven_fakes)]


@pytest.mark.parametrize(("make", "check"), [*certifications(VARIANTS), *OF_FAKES])
def test_they_are_certified(make: Callable[..., Mechanism], check: Callable[..., None]) -> None:
    assert check(make) is None
