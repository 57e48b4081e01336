"""The law of a weighted sum of reports, by its characteristic function (Gil-Pelaez inversion)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.noise.channels import ChannelNoise
from ldpstats.noise.model import NoiseModel
from ldpstats.noise.support import SummedSupport, SupportNoise
from ldpstats.numbers.arrays import FloatArray

ComplexArray: TypeAlias = NDArray[np.complexfloating[Any, Any]]

# In standard deviations of the sum: atoms nearer than about this to what was seen count half, and half the period.
_SMOOTH, _REACH, _FAR = 0.1, 40.0, 28.0
NODES: FloatArray = (np.arange(320) + 0.5) * 2 * math.pi / _REACH
"""Where the characteristic function of a standardized sum is needed."""
_MOST_VALUES = 300
"""Of more values there may be more subsets than a double can say."""


def weighted_report(noise: NoiseModel, frequencies: FloatArray, weights: FloatArray) -> ComplexArray | None:
    """Return E exp(i Σ weights · contribution) of a random report, shape (..., nodes); None without a known formula."""
    turned = np.exp(1j * weights)
    if isinstance(noise, ChannelNoise):
        single: ComplexArray = (turned @ noise.mean(frequencies)[..., None])[..., 0]
        return single
    if not isinstance(noise, (SupportNoise, SummedSupport)):
        return None
    support, sizes = (noise, (1,) * noise.cells) if isinstance(noise, SupportNoise) else (noise.support, noise.sizes)
    if support.size is None:
        others = 1 - support.q + support.q * turned
        own = (1 - support.p + support.p * turned) / others
        independent: ComplexArray = (others**sizes).prod(axis=-1) * (own @ frequencies[..., None])[..., 0]
        return independent
    return None if support.cells > _MOST_VALUES else _subset(support, support.size, sizes, frequencies, turned)


def _subset(
    noise: SupportNoise, size: int, sizes: Sequence[int], frequencies: FloatArray, turned: ComplexArray
) -> ComplexArray:
    """Return the same for random subsets, by elementary symmetric polynomials of the values without the true one."""
    sums = np.zeros((*turned.shape[:-1], size + 1), dtype=np.complex128)
    sums[..., 0] = 1
    for group in np.repeat(np.arange(len(sizes)), sizes):
        sums[..., 1:] += turned[..., group, None] * sums[..., :-1]
    without, before = np.ones(turned.shape, np.complex128), np.zeros(turned.shape, np.complex128)
    for members in range(1, size + 1):
        without, before = sums[..., members, None] - turned * without, without
    others = noise.cells - 1
    held, missed = math.comb(others, size - 1), math.comb(others, size)
    given = noise.p * turned * before / held + ((1 - noise.p) * without / missed if missed else 0)
    return (given @ frequencies[..., None])[..., 0]


def share_below(characteristic: ComplexArray, seen: FloatArray) -> FloatArray:
    """Return the probability of a standardized law below `seen`, with half of an atom that is there (mid-p).

    Inverts the characteristic function at `NODES`, shape (..., nodes), by Gil-Pelaez' formula and the midpoint rule; a
    little normal noise makes the integral converge. Beyond 28 deviations nothing is left: < .0013 (Cantelli).
    """
    turned = np.exp(-1j * seen[..., None] * NODES) * characteristic * np.exp(-((_SMOOTH * NODES) ** 2) / 2)
    below: FloatArray = 0.5 - (turned.imag / (np.arange(NODES.size) + 0.5)).sum(axis=-1) / math.pi
    return np.where(np.abs(seen) < _FAR, np.clip(below, 0, 1), seen > 0)
