"""What was found of the claims of one exhibit, beside the printed rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from papers.comparisons import KEYS, NOT_REPRODUCIBLE, Comparison, printed_figures, stated

Place = tuple[str, str, str, str]
"""Source, row, column and what is printed."""


class Finding(NamedTuple):
    """What was found of a claim in words: ours, whether it holds, why it does not, and whether that explains it."""

    ours: str
    holds: bool
    because: str = ""
    explained: bool = True


def places(name: str) -> list[Place]:
    """Return the printed rows of an exhibit, in their order."""
    return [(source, row, column, printed) for source, row, column, printed in printed_figures(name)[KEYS].to_numpy()]


def judged(place: Place, found: Finding) -> Comparison:
    """Judge one claim."""
    if not found.holds and not found.explained:
        return Comparison(*place, found.ours, NOT_REPRODUCIBLE, found.because)
    return stated(place, found.ours, holds=found.holds, because="" if found.holds else found.because)


def judged_by_row(name: str, found: Mapping[str, Finding]) -> list[Comparison]:
    """Judge an exhibit that has claims only, each in a row of its own."""
    return [judged(place, found[place[1]]) for place in places(name)]
