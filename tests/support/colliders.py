"""A small network with a collider and what follows from it, a → c ← b and c → d, to be searched for."""

from __future__ import annotations

from itertools import product

import numpy as np

from ldpstats import Domain, SampledGroups, TableSet
from ldpstats.numbers.arrays import IntArray

COLLIDER = (("a", "c"), ("b", "c"), ("c", "d"))


def people_of_a_collider(n: int) -> IntArray:
    """Return counts for a → c ← b and c → d, all binary."""
    cells = np.zeros((2, 2, 2, 2))
    for a, b, c, d in product(range(2), repeat=4):
        of_c = 0.9 if a and b else 0.6 if a or b else 0.1
        of_d = 0.85 if c else 0.2
        cells[a, b, c, d] = 0.5 * 0.4**b * 0.6 ** (1 - b) * (of_c if c else 1 - of_c) * (of_d if d else 1 - of_d)
    return (cells.ravel() * n).round().astype(int)


def collected(n: int = 200_000, k: int = 3, epsilon: float = 4.0, rng: int = 1) -> TableSet:
    """Return triples, or pairs, of those people's answers."""
    domain = Domain({name: ["no", "yes"] for name in "abcd"})
    return SampledGroups(domain, epsilon=epsilon, k=k).simulate(people_of_a_collider(n), rng=rng)


def turned(tables: TableSet) -> TableSet:
    """Return the same tables over a to d with everything in another order."""
    reversed_tables = [table.reordered(table.attributes[::-1]) for table in tables][::-1]
    return TableSet(tables.domain.project([*"cadb"]), reversed_tables, tables.privacy)
