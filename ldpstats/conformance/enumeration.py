"""Enumeration: the exact law of a sampler, by running it once for every possible outcome of its draws."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray
from ldpstats.mechanisms import Mechanism
from ldpstats.randomness import GRID, Shape

Law = dict[bytes, Fraction]


class ScriptedDraws:
    """Draws that follow a script of outcomes and take the first possible outcome where it ends.

    The sampler under test cannot tell it from chance: it asks for the same two operations.
    """

    simulated = True

    def __init__(self, script: list[int]) -> None:
        self._script = script
        self.taken: list[int] = []
        self.choices: list[list[Fraction]] = []

    @property
    def probability(self) -> Fraction:
        """The exact probability of this run."""
        product = Fraction(1)
        for outcome, weights in zip(self.taken, self.choices, strict=True):
            product *= weights[outcome]
        return product

    def bernoulli(self, numerator: int, shape: Shape) -> BoolArray:
        """Follow the script for independent booleans."""
        chance = Fraction(numerator, GRID)
        return self._follow([1 - chance, chance], shape).astype(np.bool_)

    def uniform(self, bound: int, shape: Shape) -> NDArray[np.int64]:
        """Follow the script for uniform integers."""
        return self._follow([Fraction(1, bound)] * bound, shape)

    def next_script(self) -> list[int] | None:
        """Return the script of the next run in depth-first order; None after the last."""
        for place in reversed(range(len(self.taken))):
            later = [i for i in range(self.taken[place] + 1, len(self.choices[place])) if self.choices[place][i] > 0]
            if later:
                return [*self.taken[:place], later[0]]
        return None

    def _follow(self, weights: list[Fraction], shape: Shape) -> NDArray[np.int64]:
        outcomes = np.empty(shape, dtype=np.int64)
        for index in range(outcomes.size):
            place = len(self.taken)
            first = next(i for i, weight in enumerate(weights) if weight > 0)
            outcome = self._script[place] if place < len(self._script) else first
            self.taken.append(outcome)
            self.choices.append(weights)
            outcomes.flat[index] = outcome
        return outcomes


def outcomes(sampler: Callable[[ScriptedDraws], NDArray[Any]]) -> Iterator[tuple[NDArray[Any], Fraction]]:
    """Yield what a sampler returns on every possible course of its draws, with the probability of that course."""
    script: list[int] | None = []
    while script is not None:
        draws = ScriptedDraws(script)
        result = sampler(draws)
        yield result, draws.probability
        script = draws.next_script()


def report_law(mechanism: Mechanism, values: list[int]) -> Law:
    """Return the exact joint law of the reports of some values, keyed by the bytes of the report array."""
    law: Law = defaultdict(Fraction)
    dtype = mechanism.report_format.dtype
    for reports, probability in outcomes(lambda draws: mechanism.randomize(np.array(values), draws)):
        law[np.ascontiguousarray(reports.astype(dtype)).tobytes()] += probability
    return dict(law)


def exact_channel(mechanism: Mechanism) -> list[Law]:
    """Return the exact law of one report for each of the k values, as the sampler implements it."""
    return [report_law(mechanism, [value]) for value in range(mechanism.k)]


def decoded(mechanism: Mechanism, report: bytes) -> NDArray[Any]:
    """Return the report array behind a key of a law."""
    expected = mechanism.report_format
    flat = np.frombuffer(report, dtype=expected.dtype)
    return flat if expected.width is None else flat.reshape(-1, expected.width)
