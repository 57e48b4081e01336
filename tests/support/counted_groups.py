"""What views hold, counted by hand."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Any

import numpy as np

from ldpstats.views import View


def is_disjoint(found: list[View]) -> bool:
    seated = [[*chain.from_iterable(view)] for view in found]
    return all(len(set(view)) == len(view) for view in seated)


def groups_counted(found: list[View]) -> Counter[frozenset[Any]]:
    return Counter(frozenset(group) for view in found for group in view)


def pairs_counted(found: list[View], d: int) -> np.ndarray[Any, Any]:
    together = np.zeros((d, d), dtype=int)
    for group in chain.from_iterable(found):
        together[np.ix_(group, group)] += 1
    return together[np.triu_indices(d, 1)]
