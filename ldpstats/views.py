"""Views: sets of disjoint attribute groups that together hold every group once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np

from ldpstats.arrays import at_least
from ldpstats.errors import LdpstatsError, one_line

Attribute: TypeAlias = str | int
View: TypeAlias = list[tuple[Attribute, ...]]


def views(attributes: int | Sequence[Attribute], k: int = 2) -> list[View]:
    """Return the fewest views in which every pair of attributes stands exactly once and no attribute twice in a view.

    Parameters
    ----------
    attributes : int or sequence of str
        The attributes, or how many there are (then they are numbered from 0).
    k : int
        The size of the groups. Pairs (k = 2) and single attributes (k = 1) are built here.

    Returns
    -------
    list of views
        Each view is a list of tuples. There are d - 1 of them for even d, d for odd d (one attribute then
        rests in every view), which is the least possible.

    Examples
    --------
    >>> views(["A", "R", "E", "O"])
    [[('A', 'O'), ('R', 'E')], [('A', 'E'), ('R', 'O')], [('A', 'R'), ('E', 'O')]]
    """
    names: list[Attribute] = (
        [*attributes]
        if isinstance(attributes, Iterable) and not isinstance(attributes, str)
        else [*range(at_least(attributes, 1, "attributes"))]
    )
    usable = all(isinstance(name, (str, int, np.integer)) and not isinstance(name, bool) for name in names)
    if not usable or len(set(names)) < len(names):
        raise LdpstatsError(f"attributes {one_line(names)}", "different names, strings or whole numbers")
    if at_least(k, 1, "k") > 2 or len(names) < k:
        raise LdpstatsError(
            f"groups of {k!r} out of {len(names)} attributes",
            "k = 1 or k = 2, with at least k attributes",
            "A protocol over a single attribute takes k=1; larger groups are named in `groups`.",
        )
    return [[(name,) for name in names]] if k == 1 else _circle(names)


def _circle(names: list[Attribute]) -> list[View]:
    """Seat the attributes around a table, pair those who face each other, and move all but the first on by one.

    With an odd number one seat stays empty, and who faces it rests.
    """
    seats = list(range(len(names) + len(names) % 2))
    half = len(seats) // 2
    rounds: list[View] = []
    for _ in range(len(seats) - 1):
        facing = [sorted(pair) for pair in zip(seats[:half], reversed(seats[half:]), strict=True)]
        rounds.append([(names[one], names[other]) for one, other in facing if other < len(names)])
        seats = [seats[0], seats[-1], *seats[1:-1]]
    return rounds
