"""Stated probabilities: what a mechanism says that it draws with, and so what files say, is what it draws with."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from ldpstats.conformance.enumeration import ScriptedDraws
from ldpstats.conformance.requirements import Factory, made, require
from ldpstats.mechanisms import plain_mechanism
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.grid import GRID
from ldpstats.numbers.randomness import Shape

_CASES = ((2, 0.5), (3, 1.0))


class _NotedDraws(ScriptedDraws):
    """Draws that note every probability that they are asked for."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked: set[int] = set()

    def bernoulli(self, numerator: int, shape: Shape) -> BoolArray:
        self.asked.add(numerator)
        return super().bernoulli(numerator, shape)

    def pick(self, weights: tuple[int, ...], shape: Shape) -> NDArray[np.int64]:
        self.asked.update(weights)
        return super().pick(weights, shape)

    def respond(self, values: NDArray[np.int64], k: int, truth: int) -> NDArray[np.int64]:
        self.asked.add(truth)
        return super().respond(values, k, truth)


def probabilities_are_those_that_are_drawn_with(make: Factory) -> None:
    """Mechanisms that state probabilities draw with no others; they are whole GRID-ths, and can be written as JSON."""
    for k, epsilon in _CASES:
        mechanism, draws = made(make, k, epsilon), _NotedDraws()
        said = [
            one for value in mechanism.probabilities.values() for one in (value if isinstance(value, list) else [value])
        ]
        require(
            all(type(one) is int and 0 <= one <= GRID for one in said),
            f"{mechanism}: says the probabilities {mechanism.probabilities}, not whole numbers of GRID-ths",
        )
        mechanism.randomize(np.zeros(2, dtype=np.int64), draws)
        others = draws.asked - {*said}
        require(not said or not others, f"{mechanism}: draws with {sorted(others)}, and says {said}")
        written = plain_mechanism(mechanism)
        require(json.loads(json.dumps(written)) == written, f"{mechanism}: is written down as {written}")
