"""Tallies: mergeable counts of reports, with the noise they were seen through."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import counts_array
from ldpstats.errors import ReportError
from ldpstats.noise.model import NoiseModel


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How often each output was reported by `n` respondents, or supported where a report supports several values.

    Two tallies seen through the same noise add up: counting two halves and adding equals counting the whole.
    The leading axes of `counts`, if any, hold many tables of the same size (as simulation makes them).
    """

    noise: NoiseModel
    counts: NDArray[np.int64]
    n: int
    simulated: bool = False

    def __post_init__(self) -> None:
        counts = counts_array(self.counts, self.noise.outputs, "a tally")
        if np.any(counts > self.n):
            raise ReportError(
                f"a count of {counts.max()} from {self.n} reports", "at most one count per report and output"
            )
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    @property
    def proportions(self) -> NDArray[np.float64]:
        """The share of reports behind each output."""
        return self.counts / self.n

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if self.noise != other.noise:
            raise ReportError(
                f"tallies seen through {self.noise} and {other.noise}",
                "tallies of the same mechanism with the same parameters",
                "Reports of different mechanisms stay blocks of their own in one table.",
            )
        return Tally(self.noise, self.counts + other.counts, self.n + other.n, self.simulated or other.simulated)
