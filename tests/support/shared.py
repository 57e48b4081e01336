"""What several test files share: parameters, scripted bytes, and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpstats.conformance import checks_of


def certifications(makers: Mapping[str, Any], checks: Callable[[Any], Iterable[Any]] = checks_of) -> list[Any]:
    """Return a parameter for every maker and check; of variants, what is sent in bulk is checked exhaustively only.

    A variant has the sampler of a mechanism that is certified in full: its laws are enumerated with every change.
    """
    bulk = {"ldpstats.conformance.large", "ldpstats.conformance.sending"}
    return [
        pytest.param(
            make, check, id=f"{name}-{check.__name__}", marks=[pytest.mark.exhaustive] * (check.__module__ in bulk)
        )
        for name, make in makers.items()
        for check in checks(make)
    ]


def ways(small: Sequence[str], paths: Sequence[str], often: int) -> list[Any]:
    """Return all pairs; those of every collection with `often` of the paths, in turn, are tried with every change."""
    return [
        pytest.param(
            one, path, marks=[pytest.mark.exhaustive] * ((place - number) % len(paths) >= often), id=f"{one}-{path}"
        )
        for number, one in enumerate(small)
        for place, path in enumerate(paths)
    ]


class Script:
    """Bytes that were written down beforehand."""

    def __init__(self, *parts: NDArray[np.unsignedinteger] | bytes) -> None:
        self.left = b"".join(part if isinstance(part, bytes) else part.tobytes() for part in parts)

    def __call__(self, count: int) -> bytes:
        assert len(self.left) >= count, "more bytes were asked for than the draw needs"
        taken, self.left = self.left[:count], self.left[count:]
        return taken


def some_frequencies(cells: int, tables: int = 3) -> NDArray[np.float64]:
    return np.random.default_rng(cells).dirichlet(np.full(cells, 2.0), tables)


def close(found: Any, expected: Any) -> bool:
    return bool(np.abs(np.asarray(found) - expected).max() <= 1e-12 * max(1.0, np.abs(expected).max()))


def on_contrasts(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    centre = np.eye(matrix.shape[-1]) - 1 / matrix.shape[-1]
    return centre @ matrix @ centre
