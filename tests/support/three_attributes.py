"""Three attributes, their true counts, and the sums that make marginals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ldpstats import Domain

Array = np.ndarray[Any, Any]
THREE = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]})
TRUTH = np.random.default_rng(5).dirichlet(np.full(12, 2.0))


def identity(number: int) -> str:
    return f"{number:032x}"


def margin(names: Sequence[str]) -> Array:
    """Return the matrix that adds the cells of all attributes up to those of some."""
    places = [THREE.names.index(name) for name in names]
    index = np.ravel_multi_index(np.unravel_index(np.arange(12), THREE.shape), THREE.shape)
    codes = np.stack(np.unravel_index(index, THREE.shape), axis=1)[:, places]
    cells = np.ravel_multi_index(tuple(codes.T), [THREE.shape[place] for place in places])
    return np.eye(cells.max() + 1)[:, cells]
