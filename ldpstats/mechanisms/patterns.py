"""Whole reports: mechanisms whose reports are sets of values, counted by the set, which gives a likelihood."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.mechanisms.base import Mechanism, ReportFormat
from ldpstats.noise import PatternChannel
from ldpstats.noise.pattern_channel import patterns_of
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.randomness import Draws
from ldpstats.privacy import PrivacyStatement

_CHUNK_ENTRIES = 1 << 22


@dataclass(frozen=True, slots=True)
class Patterns(Mechanism):
    """The reports of another mechanism, counted by the set of values that they support.

    Supports per value are enough for unbiased estimates, but not for the likelihood of the reports.
    """

    # its reports support values independently of each other, or all sets of one size alike
    sender: Mechanism

    name: ClassVar[str] = "patterns"
    source: ClassVar[str] = "the likelihood of whole reports"

    def __post_init__(self) -> None:
        """Check nothing: the sender's parameters have been checked."""

    @property
    def k(self) -> int:  # type: ignore[override]  # its sender has it
        """The number of values."""
        return self.sender.k

    @property
    def epsilon(self) -> float:  # type: ignore[override]  # its sender has it
        """The privacy level that was asked for."""
        return self.sender.epsilon

    @property
    def noise(self) -> PatternChannel:
        """Multinomial law of the supported sets."""
        channel = patterns_of(self.sender.noise)
        assert channel is not None  # `by_pattern` asks first
        return channel

    @property
    def report_format(self) -> ReportFormat:
        """The sender's form of reports."""
        return self.sender.report_format

    @property
    def report_bits(self) -> int:
        """The sender's bits per report."""
        return self.sender.report_bits

    @property
    def slack_reason(self) -> str:
        """The sender's reason."""
        return self.sender.slack_reason

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        """The sender's probabilities."""
        return self.sender.probabilities

    @property
    def derived(self) -> dict[str, int]:
        """What follows from the sender's parameters."""
        return self.sender.derived

    def likelihood_ratio(self) -> Fraction | None:
        """Return the sender's ratio."""
        return self.sender.likelihood_ratio()

    def lifetime_ratio(self) -> Fraction | None:
        """Return the sender's ratio of all reports together."""
        return self.sender.lifetime_ratio()

    def privacy(self) -> PrivacyStatement:
        """Return the sender's guarantee."""
        return self.sender.privacy()

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Randomize as the sender does."""
        return self.sender.randomize(values, draws)

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Return which reports the sender can make."""
        return self.sender.possible(reports)

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how many reports support each set."""
        counts = np.zeros(self.noise.outputs, dtype=np.int64)
        step = max(1, _CHUNK_ENTRIES // self.k)
        for start in range(0, len(reports), step):
            counts += np.bincount(self._numbers(reports[start : start + step]), minlength=counts.size)
        return counts

    def contributions(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Return a one-hot row for each report's set."""
        rows = np.zeros((len(reports), self.noise.outputs), dtype=np.int64)
        rows[np.arange(len(reports)), self._numbers(reports)] = 1
        return rows

    def _numbers(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        size = self.noise.support.size
        if size is not None and self.report_format.width == size:
            # a report lists the values of its set
            return self.noise.numbers_of_members(reports)
        return self.noise.numbers(self.sender.contributions(reports))


def by_pattern(mechanism: Mechanism) -> Mechanism:
    """Count whole reports if they are sets of values, at most 1,024 distinct ones; else return the mechanism."""
    return mechanism if patterns_of(mechanism.noise) is None else Patterns(mechanism)
