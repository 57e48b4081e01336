"""Whole reports: mechanisms whose reports are sets of values, counted by the set, which gives a likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray
from ldpstats.mechanisms.base import Mechanism, ReportFormat
from ldpstats.noise import MultinomialNoise, PatternChannel
from ldpstats.noise.pattern_channel import patterns_of
from ldpstats.privacy import PrivacyStatement
from ldpstats.randomness import Draws

_CHUNK_ENTRIES = 1 << 22


@dataclass(frozen=True, slots=True)
class Patterns(Mechanism):
    """The reports of another mechanism, counted by the set of values that they support.

    How often each value is supported is enough for unbiased estimates, but not for the likelihood of the reports.

    Parameters
    ----------
    sender : Mechanism
        One whose reports support values independently of each other, or all sets of one size alike.

    Examples
    --------
    >>> from ldpstats import OUE
    >>> oue = OUE(3, epsilon=1.0)
    >>> reports = oue.privatize([0, 0, 1, 2], rng=1)
    >>> oue.count(reports).counts, oue.finest.count(reports).counts
    (array([1, 0, 2]), array([1, 2, 0, 0, 1, 0, 0, 0]))
    """

    sender: Mechanism

    name: ClassVar[str] = "patterns"
    source: ClassVar[str] = "the likelihood of whole reports"

    def __post_init__(self) -> None:
        """Take a mechanism as it is: its parameters have been checked."""

    @property
    def k(self) -> int:
        """The number of values."""
        return self.sender.k

    @property
    def epsilon(self) -> float:
        """The privacy level that was asked for."""
        return self.sender.epsilon

    @property
    def noise(self) -> MultinomialNoise:
        """The law of the sets."""
        return MultinomialNoise(self._channel)

    @property
    def _channel(self) -> PatternChannel:
        channel = patterns_of(self.sender.noise)
        assert channel is not None  # `by_pattern` asks first
        return channel

    @property
    def report_format(self) -> ReportFormat:
        """That of the sender."""
        return self.sender.report_format

    @property
    def report_bits(self) -> int:
        """Those of the sender."""
        return self.sender.report_bits

    @property
    def slack_reason(self) -> str:
        """That of the sender."""
        return self.sender.slack_reason

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """Those of the sender."""
        return self.sender.probabilities

    @property
    def derived(self) -> dict[str, int]:
        """Those of the sender."""
        return self.sender.derived

    def likelihood_ratio(self) -> Fraction | None:
        """Return that of the sender."""
        return self.sender.likelihood_ratio()

    def lifetime_ratio(self) -> Fraction | None:
        """Return that of the sender."""
        return self.sender.lifetime_ratio()

    def privacy(self) -> PrivacyStatement:
        """Return the guarantee of the sender."""
        return self.sender.privacy()

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Randomize as the sender does."""
        return self.sender.randomize(values, draws)

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Say what the sender says."""
        return self.sender.possible(reports)

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count each set."""
        counts = np.zeros(self.noise.outputs, dtype=np.int64)
        step = max(1, _CHUNK_ENTRIES // self.k)
        for start in range(0, len(reports), step):
            counts += np.bincount(self._numbers(reports[start : start + step]), minlength=counts.size)
        return counts

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return a one in the place of each report's set."""
        found = np.zeros((len(reports), self.noise.outputs), dtype=np.int64)
        found[np.arange(len(reports)), self._numbers(reports)] = 1
        return found

    def _numbers(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        size = self._channel.support.size
        if size is not None and self.report_format.width == size:
            # a report lists the values of its set
            return self._channel.numbers_of_members(reports)
        return self._channel.numbers(self.sender.contributions(reports))


def by_pattern(mechanism: Mechanism) -> Mechanism:
    """Count whole reports where there are few enough different ones that support anything; else leave it as it is."""
    return mechanism if patterns_of(mechanism.noise) is None else Patterns(mechanism)
