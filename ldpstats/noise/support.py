"""Support noise: reports that support sets of values, by their first two moments, and sums of these by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.limits import refuse_too_large
from ldpstats.noise.channels import privacy_loss
from ldpstats.noise.information import Information, solve_or_shortest
from ldpstats.noise.model import NoiseModel, ReportTotal
from ldpstats.noise.subsets import subset_counts
from ldpstats.numbers.arrays import FloatArray, at_least, whole_cells

# a variance of the bits that the total of a report shows only in digits that are rounding
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class SupportNoise(NoiseModel):
    """Symmetric mechanisms whose report supports a set of values (THE, OUE, SUE, local hashing, subset selection).

    Parameters
    ----------
    cells : int
        The number of values.
    p, q : float
        The probability that a report supports the true value, and that it supports another one.
    r1, r2 : float
        The probability that it supports two given values, the true one among them or not.
    size : int, optional
        The number of values that every report supports, where that is fixed (then the set is uniform given
        whether it holds the truth); None where values are supported independently of each other.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats.extend import SupportNoise
    >>> noise = SupportNoise.independent(3, p=0.5, q=0.25)
    >>> noise.mean(np.array([0.8, 0.2, 0.0]))
    array([0.45, 0.3 , 0.25])
    >>> noise.simulate(np.array([800, 200, 0]), np.random.default_rng(1))
    array([447, 299, 272])
    """

    cells: int
    p: float
    q: float
    r1: float
    r2: float
    size: int | None = None

    def __post_init__(self) -> None:
        whole_cells(self.cells)
        if not 0 <= self.q < self.p <= 1:
            raise LdpstatsError(f"support probabilities p = {self.p!r}, q = {self.q!r}", "0 <= q < p <= 1")
        free = (self.q, self.p * self.q, self.q**2)
        followed = free if self.size is None else _of_subsets(self.cells, self.p, self.size)
        if not np.allclose([self.q, self.r1, self.r2], followed, rtol=1e-12, atol=0):
            raise LdpstatsError(
                f"q = {self.q!r}, r1 = {self.r1!r}, r2 = {self.r2!r} with the report size {self.size}",
                f"{followed}, which follows from p = {self.p!r} and the size (None: independent supports)",
            )

    @classmethod
    def independent(cls, cells: int, p: float, q: float) -> SupportNoise:
        """Values are supported independently of each other, given the true one."""
        return cls(cells, p, q, p * q, q * q)

    @classmethod
    def subset(cls, cells: int, p: float, size: int) -> SupportNoise:
        """Every report supports `size` values: the true one with probability `p`, the others uniformly."""
        return cls(whole_cells(cells), p, *_of_subsets(cells, p, size), size)

    @property
    def epsilon(self) -> float:
        """Privacy level: a report may support one value and not the other, or the reverse."""
        if self.size is not None:
            return privacy_loss(self.p * (self.cells - self.size), (1 - self.p) * self.size)
        return privacy_loss(self.p * (1 - self.q), (1 - self.p) * self.q)

    @property
    def delta(self) -> float:
        """How much more often a report supports the true value than another one: p - q."""
        return self.p - self.q

    @property
    def own_and_common(self) -> tuple[float, FloatArray]:
        """P - q, and q for every value."""
        return self.delta, np.full(self.cells, self.q)

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return each value's expected share of supporting reports."""
        return self.q + self.delta * frequencies

    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report's support indicators."""
        refuse_too_large((self.cells, self.cells), "a covariance matrix")
        mean = self.mean(frequencies)
        covariance: FloatArray = (self.r1 - self.r2) * (frequencies[..., :, None] + frequencies[..., None, :])
        covariance += self.r2
        covariance -= mean[..., :, None] * mean[..., None, :]
        diagonal = np.arange(self.cells)
        covariance[..., diagonal, diagonal] = mean * (1 - mean)
        return covariance

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies."""
        return (proportions - self.q) / self.delta

    def bounds(self) -> FloatArray:
        """Return each cell's estimate if none, and if all, of the reports supported it."""
        return self.debias(np.stack([np.zeros(self.cells), np.ones(self.cells)]))

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate."""
        covariance = self.report_covariance(frequencies)
        covariance /= self.delta**2
        return covariance

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        mean = self.mean(frequencies)
        return mean * (1 - mean) / self.delta**2

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw each value's support from those who hold it and those who do not, without visiting them one by one."""
        if self.size is not None:
            return subset_counts(true_counts, self.p, self.size, rng)
        others = true_counts.sum(axis=-1, keepdims=True) - true_counts
        counts: NDArray[np.int64] = rng.binomial(true_counts, self.p) + rng.binomial(others, self.q)
        return counts

    def score(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the generalized-least-squares score of the debiased estimate, and its information."""
        return self.score_of_sums(np.ones(self.cells), frequencies, self.debias(counts / n), n)

    @property
    def spread(self) -> Spread:
        """What n times the covariance of the debiased estimate is made of."""
        square, both = self.delta**2, self.r1 - self.r2
        return Spread(
            own=(self.q - self.r2) / square,
            rise=(self.delta - 2 * both) / square,
            common=(self.r2 - self.q**2) / square,
            slope=(both - self.q * self.delta) / square,
        )

    def score_of_sums(
        self, sizes: FloatArray, frequencies: FloatArray, estimate: FloatArray, n: int
    ) -> tuple[FloatArray, Information]:
        """Return the generalized-least-squares score of the estimates of classes of so many values.

        The covariance is diag(d) + W C Wᵀ with W = [sizes, frequencies], so its inverse is the Woodbury formula
        with 2-by-2 matrices. With a fixed report size (or no noise at all) the total does not vary and the
        covariance is singular along the ones vector, to rounding where next to every bit is true; adding the outer
        product of the sizes then changes nothing that a contrast can see.
        """
        terms = self.spread
        inverse = n / terms.beyond(sizes, frequencies)
        rows = np.stack([np.broadcast_to(sizes, frequencies.shape), frequencies], axis=-2)
        noisy = self.p * (1 - self.p) + self.q * (1 - self.q) > _ROUNDING
        shift = 0.0 if self.size is None and noisy else 1.0
        core = np.array([[terms.common + shift, terms.slope], [terms.slope, -1.0]])
        left = np.swapaxes(inverse[..., None, :] * rows, -1, -2)
        gram = rows @ left / n
        woodbury = -solve_or_shortest(np.eye(2) + core @ gram, np.broadcast_to(core, gram.shape)) / n
        information = Information(inverse, left, woodbury)
        return information.times((estimate - frequencies)[..., None])[..., 0], information

    def log_likelihoods(self, tallies: NDArray[Any]) -> FloatArray:
        """Return epsilon for supported values, and 0 for the others: ln P(report | value), up to a constant."""
        return self.epsilon * tallies

    def supports(self, frequencies: FloatArray) -> NDArray[np.bool_]:
        """Say for each table whether every value's support has a probability strictly between 0 and 1."""
        mean = self.mean(frequencies)
        proper: NDArray[np.bool_] = np.all((mean > 0) & (mean < 1), axis=-1)
        return proper

    def merged(self, classes: NDArray[np.int64], /) -> SupportNoise | SummedSupport:
        """Return the noise of the classes' sums; classes of one value each are values."""
        sizes = tuple(np.bincount(classes).tolist())
        return self if len(sizes) == self.cells else SummedSupport(self, sizes)

    def size_law(self) -> FloatArray | None:
        """Return the probabilities that a report supports 0, 1, ..., cells values; None where that number is fixed."""
        from scipy.stats import binom

        if self.size is not None:
            return None
        others = binom.pmf(np.arange(self.cells), self.cells - 1, self.q)
        return np.convolve(others, [1 - self.p, self.p])

    def total(self) -> ReportTotal | None:
        """Return the law of how many values a report supports, which does not depend on the true one."""
        if self.size is not None:
            return None
        expected, others = self.p + (self.cells - 1) * self.q, (self.cells - 1) * self.q * (1 - self.q)
        return ReportTotal(expected, expected, self.p * (1 - self.p) + others)


@dataclass(frozen=True, slots=True)
class Spread:
    """n times the covariance of estimated frequencies f of classes with s values each.

    For two classes it is s s' common + slope (s' f + s f') - f f'; variances have s own + rise f beside that.
    """

    own: float
    rise: float
    common: float
    slope: float

    def beyond(self, sizes: FloatArray, frequencies: FloatArray) -> FloatArray:
        """Return what variances have beside the formula of covariances: s own + rise f."""
        return sizes * self.own + self.rise * frequencies


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

    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of the sums of one report."""
        return self.covariance(frequencies) * self.support.delta**2

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies: the sums of the estimates by value."""
        return (proportions - self._sizes * self.support.q) / self.support.delta

    def bounds(self) -> FloatArray:
        """Return the two frequencies of each class at which its estimate would not vary: roots of its variance."""
        terms, sizes = self.support.spread, self._sizes
        level = sizes * (terms.own + sizes * terms.common)
        half = terms.rise / 2 + sizes * terms.slope
        # the root that takes no difference first; their product is -level
        far = half + np.copysign(np.sqrt(half**2 + level), half)
        return np.sort(np.stack([-level / far, far]), axis=0)

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate."""
        refuse_too_large((self.cells, self.cells), "a covariance matrix")
        terms, sizes = self.support.spread, self._sizes
        crossed = terms.slope * sizes[:, None] * frequencies[..., None, :]
        covariance: FloatArray = terms.common * np.outer(sizes, sizes) + crossed + np.swapaxes(crossed, -1, -2)
        covariance -= frequencies[..., :, None] * frequencies[..., None, :]
        diagonal = np.arange(self.cells)
        covariance[..., diagonal, diagonal] += terms.beyond(sizes, frequencies)
        return covariance

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        terms, sizes = self.support.spread, self._sizes
        shared = sizes * (sizes * terms.common + 2 * terms.slope * frequencies) - frequencies**2
        return terms.beyond(sizes, frequencies) + shared

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


def _of_subsets(cells: int, p: float, size: int) -> tuple[float, float, float]:
    """Return q, r1 and r2 of reports that are uniform subsets of `size` and hold the true value with probability p."""
    others = cells - 1
    pairs = p * (size - 1) * (size - 2) + (1 - p) * size * (size - 1)
    q, r1 = (p * (size - 1) + (1 - p) * size) / others, p * (size - 1) / others
    return q, r1, pairs / (others * (others - 1)) if others > 1 else 0.0
