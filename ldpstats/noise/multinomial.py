"""Multinomial noise: every respondent sends exactly one output of a channel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ldpstats.limits import refuse_too_large
from ldpstats.noise.channels import Channel, TruthOrFake, multinomial_covariance, proper
from ldpstats.noise.information import Information
from ldpstats.noise.model import NoiseModel
from ldpstats.noise.report_total import ReportTotal
from ldpstats.numbers.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class MultinomialNoise(NoiseModel):
    """The counts of n reports are one Multinomial(n, frequencies pushed through the channel) draw.

    Parameters
    ----------
    channel : Channel
        P(output | true value), such as a `TruthOrFake` or a `DenseChannel`.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats.extend import MultinomialNoise, TruthOrFake
    >>> noise = MultinomialNoise(TruthOrFake(0.5, (0.5, 0.5)))
    >>> noise.mean(np.array([0.9, 0.1]))
    array([0.7, 0.3])
    >>> noise.simulate(np.array([900, 100]), np.random.default_rng(1))
    array([701, 299])
    >>> noise.covariance(np.array([0.9, 0.1]))
    array([[ 0.84, -0.84],
           [-0.84,  0.84]])
    """

    channel: Channel = field()

    @property
    def epsilon(self) -> float:
        """The privacy level of one report."""
        return self.channel.epsilon

    @property
    def cells(self) -> int:
        """The number of true values."""
        return self.channel.cells

    @property
    def outputs(self) -> int:
        """The number of entries of a tally."""
        return self.channel.outputs

    @property
    def truth_or_fake(self) -> TruthOrFake | None:
        """The channel, if it is the truth with one probability and else a draw that does not depend on it."""
        return self.channel.truth_or_fake

    @property
    def own_and_common(self) -> tuple[float, FloatArray] | None:
        """Probabilities of the truth and of each fake; None of channels other than truth or fake."""
        channel = self.truth_or_fake
        return None if channel is None else (channel.truth, (1 - channel.truth) * np.asarray(channel.fake))

    @property
    def by_value(self) -> NoiseModel:
        """The noise of the same reports, counted by the values that they support."""
        by_value = self.channel.by_value
        return self if by_value is None else by_value

    @property
    def members(self) -> FloatArray | None:
        """Which values are in the set that an output is; None where outputs are no sets."""
        return self.channel.members

    @property
    def size(self) -> int:
        """The entries of a tally that a report counts for: one."""
        return 1

    def mean(self, frequencies: FloatArray) -> FloatArray:
        """Return each output's expected share of the reports."""
        return self.channel.push(frequencies)

    def design(self) -> tuple[FloatArray, FloatArray]:
        """Return the channel, transposed, and no offset (frequencies sum to one)."""
        return self.channel.matrix().T, np.zeros(self.outputs)

    def report_covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return the covariance matrix of one report's indicator vector."""
        refuse_too_large((self.outputs, self.outputs), "a covariance matrix")
        return multinomial_covariance(self.mean(frequencies))

    def debias(self, proportions: FloatArray) -> FloatArray:
        """Return the unbiased estimate of the frequencies."""
        return self.channel.invert(proportions)

    def bounds(self) -> FloatArray | None:
        """Return each cell's estimate if none, and if all, of the reports named it; None where outputs mix."""
        return self.channel.bounds()

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the covariance matrix of the debiased estimate."""
        return self.channel.covariance(frequencies)

    def variance(self, frequencies: FloatArray) -> FloatArray:
        """Return n times the variances of the debiased estimate."""
        return self.channel.variance(frequencies)

    def simulate(self, true_counts: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw the tally of respondents whose true values are known."""
        return self.channel.simulate(true_counts, rng)

    def draw(self, frequencies: FloatArray, n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw `size` tallies of `n` random respondents each."""
        mean = self.mean(frequencies)
        # a transform may leave less than nothing, by rounding, where an output is impossible
        nothing = np.abs(mean) < np.finfo(float).eps
        return rng.multinomial(n, proper(np.where(nothing, np.maximum(mean, 0), mean)), size=size)

    def score(self, frequencies: FloatArray, counts: NDArray[Any], n: int) -> tuple[FloatArray, Information]:
        """Return the score of the multinomial likelihood and the expected information."""
        return self.channel.likelihood_score(self.mean(frequencies), counts, n)

    def log_likelihoods(self, tallies: NDArray[Any]) -> FloatArray:
        """Return ln P(output | value), for every value."""
        return self.channel.log_likelihoods(tallies.argmax(axis=-1))

    def supports(self, frequencies: FloatArray) -> NDArray[np.bool_]:
        """Say for each table whether every output that tells anything has a positive probability, beyond rounding."""
        proper: NDArray[np.bool_] = np.all(
            (self.mean(frequencies) > self.channel.rounding()) | self.channel.idle, axis=-1
        )
        return proper

    def merged(self, classes: NDArray[np.int64], /) -> MultinomialNoise | None:
        """Return the noise of the coarser tally, if the channel allows it."""
        channel = self.channel.merged(classes)
        return None if channel is None else MultinomialNoise(channel)

    def total(self) -> ReportTotal | None:
        """Return the law of the number of values that an output counts for; None where that is one for all."""
        return self.channel.total()
