"""Enumerated decisions of a client: every course that its chances, numbers and picks can take, with exact weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from ldpstats.client import GRID, Report, Words


class EnumeratedWords(Words):
    """Decisions that follow a script of outcomes, and take the first possible one where it ends.

    Parameters
    ----------
    script : sequence of int
        The outcomes.
    words : sequence of int
        What bare words are, as those of a hash function: they are given, not enumerated.
    """

    def __init__(self, script: Sequence[int], words: Sequence[int] = ()) -> None:
        super().__init__(lambda: 0)
        self._script, self._given = list(script), list(words)
        self.taken: list[int] = []
        self.chances: list[list[Fraction]] = []

    def word(self) -> int:
        return self._given.pop(0)

    def chance(self, numerator: int) -> bool:
        return bool(self._follow([1 - Fraction(numerator, GRID), Fraction(numerator, GRID)]))

    def below(self, bound: int) -> int:
        return self._follow([Fraction(1, bound)] * bound)

    def pick(self, weights: Sequence[int]) -> int:
        return self._follow([Fraction(weight, GRID) for weight in weights])

    def _follow(self, chances: list[Fraction]) -> int:
        first = next(place for place, chance in enumerate(chances) if chance)
        self.taken.append(self._script[len(self.taken)] if len(self.taken) < len(self._script) else first)
        self.chances.append(chances)
        return self.taken[-1]

    def probability(self) -> Fraction:
        """Return the chance of the course that was taken."""
        product = Fraction(1)
        for chances, outcome in zip(self.chances, self.taken, strict=True):
            product *= chances[outcome]
        return product

    def following(self) -> list[int] | None:
        """Return the script of the next course; None after the last."""
        for place in reversed(range(len(self.taken))):
            chances, after = self.chances[place], self.taken[place] + 1
            later = next((outcome for outcome in range(after, len(chances)) if chances[outcome]), None)
            if later is not None:
                return [*self.taken[:place], later]
        return None


def law_of_client(report: Callable[[Words], Report | str], words: Sequence[int] = ()) -> dict[Report | str, Fraction]:
    """Return the exact law of what a client makes of its decisions."""
    law: dict[Report | str, Fraction] = defaultdict(Fraction)
    for course in _courses(report, words):
        law[course[0]] += course[1]
    return dict(law)


def _courses(report: Callable[[Words], Report | str], words: Sequence[int]) -> Iterator[tuple[Report | str, Fraction]]:
    script: list[int] | None = []
    while script is not None:
        decisions = EnumeratedWords(script, words)
        result = report(decisions)
        yield result, decisions.probability()
        script = decisions.following()
