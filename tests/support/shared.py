"""What several test files share: planted mistakes, scripted bytes, and comparisons."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpstats.arrays import FloatArray
from ldpstats.conformance import checks_of
from ldpstats.mechanisms import GRR, OUE, SS
from ldpstats.noise import RevealedBits
from ldpstats.randomness import Draws


@dataclass(frozen=True, slots=True)
class LastBitInClear(OUE):
    """The last bit of the vector is never randomized."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = np.unpackbits(OUE.randomize(self, values, draws), axis=1, count=self.k)
        bits[:, -1] = values == self.k - 1
        return np.packbits(bits, axis=1)


@dataclass(frozen=True, slots=True)
class RoundedAgainstPrivacy(GRR):
    """The truth's probability is rounded up, so the channel spends more than its level."""

    @property
    def truth(self) -> int:
        return GRR.truth.__get__(self) + 1


@dataclass(frozen=True, slots=True)
class TruthComesLast(SS):
    """The order of the values in the report gives the truth away."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        subset = SS.randomize(self, values, draws)
        held = subset == values[:, None]
        return np.take_along_axis(subset, np.argsort(held, axis=1, kind="stable"), axis=1)


class RightOnlyAtZero(RevealedBits):
    """The covariance takes every bit for one that is not set: right for a value that nobody holds."""

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        return RevealedBits.covariance(self, np.zeros_like(frequencies))


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
