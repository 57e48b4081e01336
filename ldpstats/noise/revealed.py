"""Revealed bits: values are encoded as bits, of which a report randomizes a random selection (RAPPOR, dBitFlip)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.limits import refuse_too_large
from ldpstats.noise.channels import privacy_loss
from ldpstats.noise.information import Information, information_of, solve_or_shortest
from ldpstats.noise.model import NoiseModel, ReportTotal
from ldpstats.noise.subsets import uniform_subset_counts
from ldpstats.numbers.arrays import BoolArray, FloatArray, as_array, at_least

# the smallest pivot of a Gram matrix of zeros and ones, against the largest, that is not rounding alone
_SMALLEST_PIVOT = 1e-9
# The least variance that a bit's coin counts for: with less, slots are dependent up to rounding.
_LEAST_COIN = 1e-9


@dataclass(frozen=True, eq=False)
class RevealedBits(NoiseModel):
    """A report reveals random bits of its value, each sent as set with probability `keep` if it is set, else `flip`.

    The slots (bits) come in `cohorts` groups of equal size, one after the other. A report reveals slots of one
    uniformly chosen group only: all of them (`revealed` None), or a uniformly random set of `revealed`. Plain unary
    encoding is one cohort with the identity; dBitFlip reveals a few bits of it; a sketch or RAPPOR has many cohorts.
    Here ρ is the chance that a slot is revealed, ρ' that two given slots of a group are.

    A tally holds, group by group, how often each slot was sent as set, and then how often as not set. With ones and
    zeros for these counts, the share of respondents whose value sets a slot is estimated by

      t = (ones (1 - flip) - zeros flip) / (n ρ (keep - flip)),

    and the frequencies from all t by least squares, (BᵀB)⁻¹ Bᵀ t, with B the encoding, shape (slots, cells). (For
    dBitFlip Wang et al. 2020, Eq. 54, print e^(ε/2) where e^(ε/2) + 1 belongs, and sum over a count.)
    """

    encoding: NDArray[Any]
    keep: float
    flip: float
    cohorts: int = 1
    revealed: int | None = None

    def __post_init__(self) -> None:
        matrix = as_array(self.encoding, "an encoding")
        refuse_too_large(matrix.shape, "an encoding", "Take fewer values or bits; OLH hashes alphabets of any size.")
        if matrix.ndim != 2 or matrix.shape[1] < 2 or not matrix.size or not np.all((matrix == 0) | (matrix == 1)):
            raise LdpstatsError(
                f"an encoding of shape {matrix.shape} and dtype {matrix.dtype}",
                "a matrix of zeros and ones, a row per bit and a column for each of at least two values",
            )
        checked = matrix.astype(np.int8)
        checked.setflags(write=False)
        object.__setattr__(self, "encoding", checked)
        object.__setattr__(self, "cohorts", at_least(self.cohorts, 1, "cohorts"))
        slots = len(self.encoding)
        if slots % self.cohorts:
            raise LdpstatsError(f"{slots} slots in {self.cohorts} cohorts", "cohorts of equal size")
        shown = self._width if self.revealed is None else at_least(self.revealed, 1, "revealed")
        object.__setattr__(self, "revealed", shown)
        if shown > self._width:
            raise LdpstatsError(f"revealed = {shown}", f"at most the {self._width} slots of a cohort")
        # written so that a NaN fails
        if not 0 < self.flip < self.keep < 1:
            raise LdpstatsError(f"keep = {self.keep!r} and flip = {self.flip!r}", "0 < flip < keep < 1")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RevealedBits):
            return NotImplemented
        return self._numbers == other._numbers and np.array_equal(self.encoding, other.encoding)

    def __hash__(self) -> int:
        return hash(self._numbers)

    def __reduce__(self) -> tuple[Any, ...]:
        # what is cached here can be made again, and an array does not stay read-only by itself
        return RevealedBits, (self.encoding, self.keep, self.flip, self.cohorts, self.revealed)

    @property
    def _numbers(self) -> tuple[float | None, ...]:
        return (*self.encoding.shape, self.keep, self.flip, self.cohorts, self.revealed)

    @property
    def _width(self) -> int:
        """Slots per cohort."""
        return len(self.encoding) // self.cohorts

    @property
    def _delta(self) -> float:
        return self.keep - self.flip

    @property
    def _share(self) -> float:
        """Probability ρ that a slot is revealed."""
        return self.size / len(self.encoding)

    @property
    def _share_of_pairs(self) -> float:
        """Probability ρ' that two given slots of a cohort are revealed."""
        return self._share * (self.size - 1) / max(self._width - 1, 1)

    @cached_property
    def _bits(self) -> FloatArray:
        """The encoding by cohorts, shape (cohorts, slots of a cohort, cells)."""
        return self.encoding.astype(float).reshape(self.cohorts, self._width, self.cells)

    @property
    def _flat(self) -> FloatArray:
        return self._bits.reshape(self.encoding.shape)

    @cached_property
    def _inverse_gram(self) -> FloatArray:
        if not identifies(self.encoding):
            raise NotIdentifiedError(
                f"an encoding of {self.cells} values as {len(self.encoding)} bits that are linearly dependent",
                "encodings in which no value's bits are a combination of the others'",
                "Take more cohorts, more bits or fewer values; or combine the reports with others in one table.",
            )
        return self._flat if self._identity else np.linalg.inv(self._flat.T @ self._flat)

    @cached_property
    def _identity(self) -> bool:
        return is_identity(self.encoding)

    @cached_property
    def epsilon(self) -> float:
        """Privacy level: the sum over the revealed bits in which two values differ, at worst."""
        set_first, set_second = privacy_loss(self.keep, self.flip), privacy_loss(1 - self.flip, 1 - self.keep)
        pairs = differing_bits(self.encoding, self.cohorts, self.size)
        return max(first * set_first + second * set_second for first, second in pairs)

    @property
    def cells(self) -> int:
        """The number of true values."""
        return int(self.encoding.shape[1])

    @property
    def outputs(self) -> int:
        """The number of entries of a tally: two per slot."""
        return 2 * len(self.encoding)

    @property
    def size(self) -> int:
        """The entries of a tally that every report counts for: one per revealed slot."""
        assert self.revealed is not None  # set in __post_init__
        return self.revealed

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return how often each slot is expected to be sent as set and as not set, per report."""
        sent = self._share * (self.flip + self._delta * (frequencies @ self._flat.T))
        by_cohort = sent.reshape(*sent.shape[:-1], self.cohorts, self._width)
        return np.stack([by_cohort, self._share - by_cohort], axis=-2).reshape(*sent.shape[:-1], self.outputs)

    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of what one report adds to the tally; a dense one."""
        mean, block = self.mean(frequencies), 2 * self._width
        covariance: FloatArray = -mean[..., :, None] * mean[..., None, :]
        of_blocks = covariance.reshape(*mean.shape[:-1], self.cohorts, block, self.cohorts, block)
        moments = self._second_moments(frequencies)
        for cohort in range(self.cohorts):
            of_blocks[..., cohort, :, cohort, :] += moments[..., cohort, :, :]
        return covariance

    @property
    def slot_noise(self) -> tuple[float, float]:
        """Probability that an unset bit is sent as set, and how much larger it is for a set one."""
        return self.flip, self._delta

    def slot_estimates(self, proportions: FloatArray) -> FloatArray:
        """Return t: an unbiased estimate, for each slot, of the share of respondents whose value sets it."""
        sent, unset = self._unpaired(proportions)
        return ((1 - self.flip) * sent - self.flip * unset) / (self._share * self._delta)

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies, by least squares from the slots."""
        return (self.slot_estimates(proportions) @ self._flat) @ self._inverse_gram

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate.

        Slots s, t of a cohort have second moments ρ'/ρ² (Bf)_st, where (Bf)_st is the share whose value sets both.
        """
        weight = self._share_of_pairs / self._share**2
        own = self._squares(frequencies @ self._flat.T) - weight * (frequencies @ self._flat.T)
        both = weight * (self._bits * frequencies[..., None, None, :]) @ np.swapaxes(self._bits, -1, -2)
        second_moments = (both @ self._bits).reshape(*frequencies.shape[:-1], *self.encoding.shape)
        middle = self._flat.T @ (second_moments + own[..., None] * self._flat)
        outer = frequencies[..., :, None] * frequencies[..., None, :]
        return self._inverse_gram @ middle @ self._inverse_gram - outer

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate; by slot, if every value has a bit of its own."""
        if self._identity:
            return self._squares(frequencies) - frequencies**2
        return np.diagonal(self.covariance(frequencies), axis1=-2, axis2=-1)

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw who joins which cohort and reveals which slots; what a slot is sent as is binomial."""
        joined = np.swapaxes(rng.multinomial(true_counts, np.full(self.cohorts, 1 / self.cohorts)), -1, -2)
        whole = self._bits.astype(np.int64)
        if self.size == self._width:
            shown = np.broadcast_to(joined.sum(axis=-1)[..., None], (*joined.shape[:-1], self._width))
            shown_set = (whole @ joined[..., None])[..., 0]
        else:
            of_values = uniform_subset_counts(joined, self._width, self.size, rng)
            shown = of_values.sum(axis=-2)
            shown_set = (of_values * np.swapaxes(whole, -1, -2)).sum(axis=-2)
        sent = rng.binomial(shown_set, self.keep) + rng.binomial(shown - shown_set, self.flip)
        return np.stack([sent, shown - sent], axis=-2).reshape(*true_counts.shape[:-1], self.outputs)

    def score(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the generalized-least-squares score and information; given their sizes, cohorts are uncorrelated."""
        if self.size == self._width:
            return self._score_of_whole_cohorts(frequencies, counts, n)
        return self._score_of_parts(frequencies, counts, n)

    def _score_of_whole_cohorts(
        self, frequencies: FloatArray, counts: NDArray[Any], n: int
    ) -> tuple[FloatArray, Information]:
        """Weigh what slots sent, given the reports of their cohort, by the covariance of the bits.

        That is δ² (B F Bᵀ - Bf (Bf)ᵀ), but μ (1 - μ) on the diagonal, and a little more for bits hardly ever flipped.
        """
        true = (frequencies @ self._flat.T).reshape(*frequencies.shape[:-1], self.cohorts, self._width)
        sent = self.flip + self._delta * true
        both = (self._bits * frequencies[..., None, None, :]) @ np.swapaxes(self._bits, -1, -2)
        covariance = self._delta**2 * (both - true[..., :, None] * true[..., None, :])
        slots = np.arange(self._width)
        missing = max(_LEAST_COIN - self.flip * (1 - self.flip), 0.0)
        covariance[..., slots, slots] = sent * (1 - sent) + missing
        solved = solve_or_shortest(covariance, self._delta * self._bits)
        ones, zeros = (entries.reshape(*entries.shape[:-1], self.cohorts, -1) for entries in self._unpaired(counts))
        deviation = ones - (ones + zeros) * sent
        score = (deviation[..., None, :] @ solved)[..., 0, :].sum(axis=-2)
        stacked = solved.reshape(*solved.shape[:-3], *self.encoding.shape)
        return score, information_of(n / self.cohorts * self._delta * (self._flat.T @ stacked))

    def _score_of_parts(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Weigh slots by a generalized inverse of their covariance: that of the second moments.

        With e = (1 - flip) ones - flip zeros and r = ones + zeros of each slot, these moments are a 2-by-2 block for
        each slot plus G ρ' F Gᵀ, G = (δB, 1): Woodbury's formula inverts a matrix between the cells.
        """
        a, b, c = self._inverse_blocks(frequencies)
        gain, bits = self._share * self._delta, self._bits
        squares = (np.swapaxes(bits, -1, -2) * a[..., None, :]) @ bits
        mixed = (b[..., None, :] @ bits)[..., 0, :]
        crossed = gain * (self._delta * squares + mixed[..., None, :])
        inner = self._delta**2 * squares + self._delta * (mixed[..., None, :] + mixed[..., :, None])
        inner += c.sum(axis=-1)[..., None, None]
        weights = self._share_of_pairs * frequencies[..., None, :, None]
        core = solve_or_shortest(np.eye(self.cells) + weights * inner, weights * np.eye(self.cells))
        known = gain**2 * squares - np.swapaxes(crossed, -1, -2) @ core @ crossed
        deviation = counts - n * self.mean(frequencies)
        ones, zeros = (entries.reshape(*entries.shape[:-1], self.cohorts, -1) for entries in self._unpaired(deviation))
        e, r = (1 - self.flip) * ones - self.flip * zeros, ones + zeros
        along = ((a * e + b * r)[..., None, :] @ bits)[..., 0, :]
        across = self._delta * along + (b * e + c * r).sum(axis=-1, keepdims=True)
        score = gain * along - (across[..., None, :] @ np.swapaxes(core, -1, -2) @ crossed)[..., 0, :]
        return score.sum(axis=-2), information_of(n * known.sum(axis=-3))

    def _inverse_blocks(self, frequencies: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the entries of every slot's inverse 2-by-2 block, less what slots share: of e, of both, of r."""
        true = (frequencies @ self._flat.T).reshape(*frequencies.shape[:-1], self.cohorts, self._width)
        sent, left = self.flip + self._delta * true, self._share - self._share_of_pairs
        squares = self._share * (sent * (1 - self.flip) ** 2 + (1 - sent) * self.flip**2)
        squares = squares - self._share_of_pairs * self._delta**2 * true
        both = left * self._delta * true
        determinant = squares * left - both**2
        return left / determinant, -both / determinant, squares / determinant

    def log_likelihoods(self, tallies: NDArray[Any]) -> FloatArray:
        """Return ln P(report | value) up to a constant, from the bits that the value sets."""
        sent, unset = self._unpaired(tallies)
        evidence = privacy_loss(self.keep, self.flip) * sent - privacy_loss(1 - self.flip, 1 - self.keep) * unset
        return evidence @ self._flat

    def supports(self, frequencies: FloatArray) -> BoolArray:
        """Say for each table whether every slot is sent as set, and as not set, with a positive probability."""
        proper: BoolArray = np.all(self.mean(frequencies) > 0, axis=-1)
        return proper

    def influence(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the most over cohorts, revealed slots and bits sent: the estimate is linear in bits."""
        worth = self.debias(np.eye(self.outputs)).reshape(self.cohorts, 2, self._width, self.cells)
        least, most = np.sort(worth.min(axis=1), axis=1), np.sort(worth.max(axis=1), axis=1)
        lowest = least[:, : self.size].sum(axis=1).min(axis=0)
        highest = most[:, self._width - self.size :].sum(axis=1).max(axis=0)
        return lowest, highest

    def loudest(self, direction: FloatArray) -> FloatArray:
        """Return the estimates of the report worth the most in a direction: the best cohort, slots and bits."""
        worth = self.debias(np.eye(self.outputs)).reshape(self.cohorts, 2, self._width, self.cells)
        said = worth @ direction
        slots = np.argsort(-said.max(axis=1), axis=1)[:, : self.size]
        cohort = int(np.take_along_axis(said.max(axis=1), slots, axis=1).sum(axis=1).argmax())
        kept = slots[cohort]
        estimates: FloatArray = worth[cohort, said[cohort].argmax(axis=0)[kept], kept].sum(axis=0)
        return estimates

    def total(self) -> ReportTotal:
        """Return the law of how many bits a report sends as set; values whose encodings are heavier send more.

        The revealed bits that are set are hypergeometric, and what is sent as set is binomial given these. Respondents
        whose encodings differ in weight add to the variance at most a quarter of the squared range of their means.
        """
        weights = self._bits.sum(axis=1)
        share = weights / self._width
        own = self.size * share * (1 - share) * (self._width - self.size) / max(self._width - 1, 1)
        coins = share * self.keep * (1 - self.keep) + (1 - share) * self.flip * (1 - self.flip)
        means = self.size * (self.flip + self._delta * share)
        variance = float((self.size * coins + self._delta**2 * own).max() + np.ptp(means) ** 2 / 4)
        of_values = means.mean(axis=0)
        sent = np.tile(np.repeat([True, False], self._width), self.cohorts)
        return ReportTotal(float(of_values.min()), float(of_values.max()), variance, sent)

    def _unpaired(self, tallies: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Split a tally into the counts of slots sent as set, and as not set."""
        by_cohort = tallies.reshape(*tallies.shape[:-1], self.cohorts, 2, self._width)
        flat = (*tallies.shape[:-1], len(self.encoding))
        return by_cohort[..., 0, :].reshape(flat), by_cohort[..., 1, :].reshape(flat)

    def _squares(self, true: FloatArray) -> FloatArray:
        """Return the second moments of one report's slot estimates, given the share of values that set each slot."""
        noise = self.flip * (1 - self.flip) + self._delta * (1 - 2 * self.flip) * true
        return noise / (self._share * self._delta**2)

    def _second_moments(self, frequencies: FloatArray) -> FloatArray:
        """Return the second moments of one report's tally, by cohort; those across cohorts are zero."""
        sent = self.flip + self._delta * self._bits
        chances = np.concatenate([sent, 1 - sent], axis=-2)
        together = (chances * frequencies[..., None, None, :]) @ np.swapaxes(chances, -1, -2)
        same_slot = np.kron(np.ones((2, 2)), np.eye(self._width)) == 1
        moments: FloatArray = np.where(same_slot, 0.0, self._share_of_pairs * together)
        diagonal = np.arange(2 * self._width)
        moments[..., diagonal, diagonal] = self.mean(frequencies).reshape(moments.shape[:-1])
        return moments


def identifies(encoding: NDArray[Any]) -> bool:
    """Say whether the bits of the values are linearly independent, so that slots identify all frequencies."""
    if is_identity(encoding):
        return True
    bits = encoding.astype(float)
    try:
        pivots = np.diagonal(np.linalg.cholesky(bits.T @ bits)) ** 2
    except np.linalg.LinAlgError:
        return False
    return bool(pivots.min() > _SMALLEST_PIVOT * pivots.max())


def is_identity(encoding: NDArray[Any]) -> bool:
    """Say whether an encoding gives every value the bit of its own number."""
    rows, columns = encoding.shape
    return rows == columns and bool(encoding.diagonal().all()) and int(np.count_nonzero(encoding)) == rows


def differing_bits(encoding: NDArray[Any], cohorts: int, revealed: int) -> set[tuple[int, int]]:
    """Return how two values may differ in revealed bits: (set for the first alone, for the other), and some smaller."""
    differences = set()
    for bits in encoding.astype(float).reshape(cohorts, -1, encoding.shape[1]):
        both = bits.T @ bits
        alone = (np.diagonal(both)[:, None] - both).astype(np.int64)
        for code in np.flatnonzero(np.bincount((alone * (len(bits) + 1) + alone.T).ravel())).tolist():
            first, second = divmod(code, len(bits) + 1)
            differences.add((min(first, revealed), min(second, max(revealed - first, 0))))
            differences.add((min(first, max(revealed - second, 0)), min(second, revealed)))
    return differences
