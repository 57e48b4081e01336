"""Noise models: the law of a tally given the frequencies; what every model answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.noise.information import Information
from ldpstats.numbers.arrays import BoolArray, FloatArray

if TYPE_CHECKING:
    from ldpstats.noise.channels import ChannelNoise, TruthOrFake


@dataclass(frozen=True, slots=True, eq=False)
class ReportTotal:
    """Sum of a tally's `entries` (all if None) times `weights`, per report: range of its mean, largest variance."""

    lowest: float
    highest: float
    variance: float
    entries: BoolArray | None = None
    weights: FloatArray | None = None

    def of(self, tallies: NDArray[Any]) -> FloatArray:
        """Return the sums of tallies, shape (tables, outputs)."""
        added = tallies if self.entries is None else tallies[:, self.entries]
        return added.sum(axis=-1) if self.weights is None else added @ self.weights


class NoiseModel(ABC):
    """The law of the counts of randomized reports, given the frequencies of the true values.

    Frequencies, proportions and counts may have leading axes: many tables at once. Frequencies sum to one
    over their last axis but need not be nonnegative (estimates are not).

    Examples
    --------
    >>> import numpy as np
    >>> import ldpstats as ldp
    >>> noise = ldp.OUE(3, epsilon=1.0).noise
    >>> frequencies = np.array([0.7, 0.2, 0.1])
    >>> noise.mean(frequencies).round(3)
    array([0.431, 0.315, 0.292])
    >>> noise.debias(noise.mean(frequencies)).round(3)
    array([0.7, 0.2, 0.1])
    >>> noise.variance(frequencies).round(2)
    array([4.59, 4.04, 3.87])
    """

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The privacy level of one report, from the probabilities as doubles; a mechanism knows the exact one."""

    if TYPE_CHECKING:  # a field of some models, which would take a property for its default

        @property
        def cells(self) -> int:
            """The number of true values."""

    @property
    def channel(self) -> ChannelNoise | None:
        """The model itself, where every report is one output of a channel; None where reports are more than that."""
        return None

    @property
    def truth_or_fake(self) -> TruthOrFake | None:
        """The model itself, if reports are the truth with one probability, and else a draw regardless of it."""
        return None

    @property
    def own_and_common(self) -> tuple[float, FloatArray] | None:
        """How much more often each entry is counted for its own value, and how often for all; None where they mix."""
        return None

    @property
    def exchangeable(self) -> bool:
        """Whether every entry of a tally depends on the frequency of its own value alone."""
        return self.own_and_common is not None

    @property
    def has_likelihood(self) -> bool:
        """Whether `score` is that of the reports' likelihood, and not only of their first two moments."""
        return self.channel is not None

    @property
    def by_value(self) -> NoiseModel:
        """The noise of the same reports, counted by the values that they support; itself unless it counts sets."""
        return self

    @property
    def members(self) -> FloatArray | None:
        """Which values are in the set that an entry of a tally counts, a row each; None where it counts no sets."""
        return None

    @property
    def outputs(self) -> int:
        """The number of entries of a tally: one per value, where a model does not say otherwise."""
        return self.cells

    @property
    def size(self) -> int | None:
        """The number of entries of a tally that every report counts for; None where reports differ."""
        return None

    @property
    def largest(self) -> float:
        """The most that one report adds to an entry of a tally; infinite where entries may even be negative."""
        return 1

    @abstractmethod
    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return each output's expected share of the reports.

        Parameters
        ----------
        frequencies : array, shape (..., cells)
            The frequencies of the true values.
        """

    def design(self) -> tuple[FloatArray, FloatArray]:
        """Return the matrix A (outputs by cells) and the offset a of mean = A frequencies + a."""
        offset = self.mean(np.zeros(self.cells))
        return (self.mean(np.eye(self.cells)) - offset).T, offset

    @abstractmethod
    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of one random respondent's contribution to the tally.

        Parameters
        ----------
        frequencies : array, shape (..., cells)
            The frequencies of the true values.
        """

    @abstractmethod
    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies, where the outputs identify them.

        Parameters
        ----------
        proportions : array, shape (..., outputs)
            Tallies, divided by the numbers of reports.
        """

    def bounds(self) -> FloatArray | None:
        """Return each cell's estimate if none, and if all, of the reports supported it; None where outputs mix.

        Of sums of supports they are the two values between which an estimate varies as a share of reports does.
        """
        return None

    def varies_between(self) -> FloatArray | None:
        """Return for each cell the two frequencies between which its estimate varies as a share of reports does.

        None where its variance depends on the frequencies of other cells too. Intervals are made of them.
        """
        return self.bounds()

    @abstractmethod
    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate.

        Parameters
        ----------
        frequencies : array, shape (..., cells)
            The frequencies of the true values.
        """

    @abstractmethod
    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate: the diagonal of the covariance, without the rest.

        Parameters
        ----------
        frequencies : array, shape (..., cells)
            The frequencies of the true values.
        """

    @abstractmethod
    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the tally of respondents whose true values are known, exactly, at the level of counts.

        Parameters
        ----------
        true_counts : array of int, shape (..., cells)
            How many respondents have each value.
        rng : Generator
            Where chance comes from.
        """

    def draw(self, frequencies: FloatArray, n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw `size` tallies of `n` random respondents each.

        Parameters
        ----------
        frequencies : array, shape (cells,)
            The frequencies of the true values.
        n : int
            The number of respondents.
        size : int
            The number of tallies.
        rng : Generator
            Where chance comes from.
        """
        return self.simulate(rng.multinomial(n, frequencies, size=size), rng)

    @abstractmethod
    def score(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the (quasi-)score in the frequencies, up to a multiple of the ones vector, and its information.

        Parameters
        ----------
        frequencies : array, shape (..., cells)
            The frequencies of the true values.
        counts : array, shape (..., outputs)
            The tallies.
        n : int
            The number of reports of each.
        """

    @abstractmethod
    def log_likelihoods(self, tallies: NDArray[Any]) -> FloatArray:
        """Return ln P(report | value) for every value, up to a constant per report, given the reports' tallies.

        Parameters
        ----------
        tallies : array, shape (reports, outputs)
            What each report adds to the tally.
        """

    @abstractmethod
    def supports(self, frequencies: FloatArray) -> NDArray[np.bool_]:
        """Say for each table whether these frequencies give a proper law of the reports.

        Parameters
        ----------
        frequencies : array, shape (..., cells)
            The frequencies of the true values.
        """

    def merged(self, classes: NDArray[np.int64], /) -> NoiseModel | None:
        """Return the noise of the tally whose outputs are added up by class, if it is again a noise model.

        Parameters
        ----------
        classes : array of int
            The class of each value, numbered from 0 without gaps.
        """
        del classes
        return None

    def size_law(self) -> FloatArray | None:
        """Return the probabilities that a report supports 0, 1, ..., cells values; None where that is not random."""
        return None

    def total(self) -> ReportTotal | None:
        """Return the law of what a report adds to the whole tally; None where that is the same for every report."""
        return None

    def influence(self) -> tuple[FloatArray, FloatArray]:
        """Return the least and the most that a report which exists can be worth to the estimate of each frequency.

        That is the estimate if all reports were like it; an estimate is the mean of what the reports are worth.
        """
        bounds = self.bounds()
        if bounds is not None:
            none, every = bounds
            return none, every
        alone = self.debias(np.eye(self.outputs))
        return alone.min(axis=0), alone.max(axis=0)

    def loudest(self, direction: FloatArray) -> FloatArray:
        """Return what the report that exists is worth to the estimates which is worth the most in a direction.

        Parameters
        ----------
        direction : array, shape (cells,)
        """
        if self.by_value is not self:
            return self.by_value.loudest(direction)
        if self.bounds() is None:
            alone = self.debias(np.eye(self.outputs))
            best: FloatArray = alone[(alone @ direction).argmax()]
            return best
        lowest, highest = self.influence()
        if self.size is None:
            return np.where(direction > 0, highest, lowest)
        # every report supports as many values, so that what it is worth sums to one
        worth, order = lowest.copy(), np.argsort(-direction, kind="stable")
        room = (highest - lowest)[order]
        worth[order] += np.clip(1 - lowest.sum() - (np.cumsum(room) - room), 0, room)
        return worth
