"""A mechanism written by following ARCHITECTURE.md, with a rectangular channel: nothing else has to change for it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import hadamard

import ldpstats as ldp
from ldpstats.conformance import CHECKS
from ldpstats.extend import (
    GRID,
    Block,
    DenseChannel,
    Draws,
    LdpstatsError,
    Mechanism,
    Question,
    Table,
    exp_below,
    numerator_at_most,
    register_mechanism,
)
from ldpstats.mechanisms import registry
from ldpstats.saving import registered


@lru_cache
def signs(k: int) -> NDArray[Any]:
    return hadamard(1 << k.bit_length())[1 : k + 1]


@lru_cache
def channel(k: int, positive: int) -> DenseChannel:
    own, half = Fraction(positive, GRID), signs(k).shape[1] // 2
    rows = np.where(signs(k) > 0, float(own / half), float((1 - own) / half))
    return DenseChannel(tuple(map(tuple, rows.tolist())))


@dataclass(frozen=True, slots=True)
class Hadamard(Mechanism):
    """Hadamard response: a column in which the value's row of a Hadamard matrix is positive, or one of the others."""

    k: int
    epsilon: float

    name: ClassVar[str] = "hadamard columns"
    source: ClassVar[str] = "Acharya, Sun & Zhang 2019"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self._positive <= GRID // 2:
            raise LdpstatsError(f"epsilon = {self.epsilon!r}", "levels that show on a grid of 2^-64")

    @property
    def _signs(self) -> NDArray[Any]:
        return signs(self.k)

    @property
    def _positive(self) -> int:
        likelihood = exp_below(self.epsilon)
        return numerator_at_most(likelihood / (likelihood + 1))

    @property
    def noise(self) -> DenseChannel:
        return channel(self.k, self._positive)

    def likelihood_ratio(self) -> Fraction:
        return Fraction(self._positive, GRID - self._positive)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        columns = np.argsort(-self._signs, axis=1, kind="stable")
        half = columns.shape[1] // 2
        place = draws.uniform(half, values.shape)
        place += np.where(draws.bernoulli(self._positive, values.shape), 0, half)
        return columns[values, place]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_is_certified_without_new_test_code(check: Any) -> None:
    assert check(Hadamard) is None


def test_registered_it_is_found_by_name_and_saved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", ())
    monkeypatch.setattr(registered, "_FROM_OUTSIDE", {})
    register_mechanism(Hadamard)
    made = ldp.mechanism("hadamard columns", k=6, epsilon=1.0)
    assert type(made) is Hadamard
    assert Hadamard.from_json(made.to_json()) == made
    protocol = ldp.SampledGroups(ldp.Domain({"a": range(6)}), k=1, epsilon=1.0, mechanism="hadamard columns")
    assert ldp.Protocol.from_json(protocol.to_json()) == protocol


@pytest.mark.parametrize("method", ["auto", "wald"])
def test_its_reports_can_be_tested_for_independence(method: Any) -> None:
    domain = ldp.Domain({"row": range(2), "column": range(3)})
    mechanism = Hadamard(6, 2.0)
    question = Question.of(domain, domain.names)
    privacy = mechanism.privacy()
    outcomes = {}
    for name, joint in {"independent": [30, 20, 10, 15, 10, 5], "dependent": [30, 10, 10, 10, 20, 10]}.items():
        tally = mechanism.simulate(np.array(joint) * 200, rng=2)
        outcomes[name] = ldp.independence_test(Table(domain, (Block(question, tally),), privacy), method=method)
    assert outcomes["dependent"].pvalue < 1e-6
    assert outcomes["independent"].pvalue > 0.01
    assert outcomes["independent"].df == 2
