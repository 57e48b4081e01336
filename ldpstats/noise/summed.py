"""Sums of supports: the counts of supports, added up by classes of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.limits import refuse_too_large
from ldpstats.noise.information import Information
from ldpstats.noise.model import NoiseModel
from ldpstats.noise.report_total import ReportTotal
from ldpstats.noise.support import SupportNoise
from ldpstats.numbers.arrays import FloatArray, at_least


@dataclass(frozen=True, slots=True)
class SummedSupport(NoiseModel):
    """Counts of supports, added up by classes of values; `sizes` is the number of values in each class.

    Which values of a class respondents hold does not matter. With p, q, r1, r2 and Δ = p - q of the supports, a class
    of s values with the frequency f has the mean s q + Δ f, and classes C and D have the covariance

      s_C s_D (r2 - q²) + (r1 - r2 - q Δ) (s_D f_C + s_C f_D) - Δ² f_C f_D,

    the variance being that for C = D and s (q - r2) + (Δ - 2 (r1 - r2)) f more.
    """

    support: SupportNoise
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        values = sum(at_least(size, 1, "the size of a class") for size in self.sizes)
        if len(self.sizes) < 2 or values != self.support.cells:
            raise LdpstatsError(
                f"{len(self.sizes)} classes of {values:,} values",
                f"at least two classes, of the {self.support.cells:,} values together",
            )

    @property
    def epsilon(self) -> float:
        """Privacy level of one report, before it is added up."""
        return self.support.epsilon

    @property
    def cells(self) -> int:
        """The number of classes."""
        return len(self.sizes)

    @property
    def outputs(self) -> int:
        """The number of entries of a tally: one per class."""
        return len(self.sizes)

    @property
    def size(self) -> int | None:
        """The number of values that every report supports; None where reports differ."""
        return self.support.size

    @property
    def largest(self) -> int:
        """The most that a report adds to an entry: the size of the largest class, or of the set if smaller."""
        return min(max(self.sizes), self.size or max(self.sizes))

    @property
    def _sizes(self) -> FloatArray:
        return np.asarray(self.sizes, dtype=float)

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return each class's expected supports in a report."""
        return self._sizes * self.support.q + self.support.delta * frequencies

    def design(self) -> tuple[FloatArray, FloatArray]:
        """Return (p - q) I, and q times the sizes."""
        return self.support.delta * np.eye(self.cells), self._sizes * self.support.q

    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of the sums of one report."""
        return self.covariance(frequencies) * self.support.delta**2

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies: the sums of the estimates by value."""
        return (proportions - self._sizes * self.support.q) / self.support.delta

    def bounds(self) -> FloatArray:
        """Return the two frequencies of each class at which its estimate would not vary: roots of its variance."""
        spread, sizes = self.support.spread, self._sizes
        level = sizes * (spread.own + sizes * spread.common)
        half = spread.rise / 2 + sizes * spread.slope
        # the root that takes no difference first; their product is -level
        far = half + np.copysign(np.sqrt(half**2 + level), half)
        return np.sort(np.stack([-level / far, far]), axis=0)

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate."""
        refuse_too_large((self.cells, self.cells), "a covariance matrix")
        spread, sizes = self.support.spread, self._sizes
        crossed = spread.slope * sizes[:, None] * frequencies[..., None, :]
        covariance: FloatArray = spread.common * np.outer(sizes, sizes) + crossed + np.swapaxes(crossed, -1, -2)
        covariance -= frequencies[..., :, None] * frequencies[..., None, :]
        diagonal = np.arange(self.cells)
        covariance[..., diagonal, diagonal] += spread.beyond(sizes, frequencies)
        return covariance

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        spread, sizes = self.support.spread, self._sizes
        shared = sizes * (sizes * spread.common + 2 * spread.slope * frequencies) - frequencies**2
        return spread.beyond(sizes, frequencies) + shared

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw each class's supports; for reports of fixed size all respondents hold the first value of their class."""
        if self.size is not None:
            values = np.zeros((*true_counts.shape[:-1], self.support.cells), dtype=true_counts.dtype)
            values[..., self._first] = true_counts
            return np.add.reduceat(self.support.simulate(values, rng), self._first, axis=-1)
        others = true_counts.sum(axis=-1, keepdims=True) * np.asarray(self.sizes) - true_counts
        counts: NDArray[np.int64] = rng.binomial(true_counts, self.support.p) + rng.binomial(others, self.support.q)
        return counts

    def score(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the generalized-least-squares score of the debiased estimate, and its information."""
        return self.support.score_of_sums(self._sizes, frequencies, self.debias(counts / n), n)

    def log_likelihoods(self, tallies: NDArray[Any]) -> FloatArray:
        """Return ln P(tally | class) up to a constant: any value of the class may be the true one, supported or not."""
        likelihoods: FloatArray = np.log1p(np.expm1(self.epsilon) * tallies / self._sizes)
        return likelihoods

    def supports(self, frequencies: FloatArray) -> NDArray[np.bool_]:
        """Say for each table whether every class's sum varies there."""
        none, every = self.bounds()
        proper: NDArray[np.bool_] = np.all((frequencies > none) & (frequencies < every), axis=-1)
        return proper

    def merged(self, classes: NDArray[np.int64], /) -> SummedSupport:
        """Add up classes of classes."""
        return SummedSupport(self.support, tuple(np.bincount(classes, weights=self.sizes).astype(int).tolist()))

    def influence(self) -> tuple[FloatArray, FloatArray]:
        """Return the estimates if all reports supported as few, and as many, values of the class as they can."""
        sizes, held = self._sizes, self.support.cells if self.size is None else self.size
        fewest = np.maximum(held - (self.support.cells - sizes), 0) if self.size is not None else np.zeros(self.cells)
        return self.debias(fewest), self.debias(np.minimum(sizes, held))

    def total(self) -> ReportTotal | None:
        """Return the law of how many values a report supports, in whatever classes."""
        return self.support.total()

    @property
    def _first(self) -> NDArray[np.int64]:
        """Index of the first value of each class, where classes come one after the other."""
        return np.cumsum((0, *self.sizes[:-1]))
