"""Tallies: mergeable counts of reports, with their noise model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpstats.errors import ReportError
from ldpstats.noise.model import NoiseModel
from ldpstats.numbers.arrays import as_array, at_least, counts_array
from ldpstats.saving.files import Saveable


@dataclass(frozen=True, slots=True, eq=False)
class Tally(Saveable):
    """How often each output was reported by `n` respondents, or supported where a report supports several values.

    Two tallies seen through the same noise add up: counting two halves and adding equals counting the whole.
    The leading axes of `counts`, if any, hold many tables of the same size (as simulation makes them).

    Parameters
    ----------
    noise : NoiseModel
    counts : array of int
    n : int
        The number of reports.
    simulated : int or bool
        How many of them came from a simulation instead of a respondent; True stands for all.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> grr = ldp.GRR(3, epsilon=1.0)
    >>> first, second = (grr.count(grr.privatize([0, 0, 1, 2], rng=seed)) for seed in (1, 2))
    >>> both = first + second
    >>> both.n, both.counts, both.simulated
    (8, array([2, 2, 4]), 8)
    """

    noise: NoiseModel
    counts: NDArray[np.int64]
    n: int
    simulated: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", at_least(self.n, 0, "the number of reports of a tally"))
        largest = self.noise.largest
        count = counts_array if largest < math.inf else _signed_counts
        counts = count(self.counts, self.noise.outputs, "a tally")
        if (counts > largest * self.n).any():
            raise ReportError(
                f"a count of {counts.max()} from {self.n} reports", f"at most {largest} per report and output"
            )
        totals, size = counts.sum(axis=-1), self.noise.size
        if size is not None and (totals != size * self.n).any():
            raise ReportError(
                f"counts that add up to {totals[totals != size * self.n].flat[0]} from {self.n} reports",
                f"counts that add up to {size * self.n}: every report counts for {size}",
                "Counts are missing, or belong to other reports.",
            )
        said = self.simulated
        all_or_none = isinstance(said, (bool, np.bool_))
        simulated = self.n * bool(said) if all_or_none else at_least(said, 0, "simulated", self.n)
        object.__setattr__(self, "simulated", simulated)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    @property
    def proportions(self) -> NDArray[np.float64]:
        """The share of reports behind each output."""
        return self.counts / self.n

    @property
    def by_value(self) -> Tally:
        """The same reports, counted by the values that they support; a tally that does not count sets is itself."""
        members = self.noise.members
        if members is None:
            return self
        return Tally(self.noise.by_value, self.counts @ members.astype(np.int64), self.n, self.simulated)

    def merged(self, classes: NDArray[np.int64]) -> Tally | None:
        """Add the tally up to classes of values; None where the noise of the sums is unknown.

        Parameters
        ----------
        classes : array of int
            The class of each value, numbered from 0 without gaps.

        Examples
        --------
        >>> import numpy as np
        >>> from ldpstats import GRR, mechanism
        >>> from ldpstats.extend import Tally
        >>> Tally(GRR(3, epsilon=1.0).noise, [40, 30, 30], 100).merged(np.array([0, 1, 1])).counts
        array([40, 60])
        >>> response = mechanism("hr", k=3, epsilon=1.0).noise
        >>> Tally(response, [25, 25, 25, 25], 100).merged(np.array([0, 1, 1])) is None
        True
        """
        fine = self.by_value
        noise = fine.noise.merged(classes)
        if noise is None:
            return None
        counts = np.zeros((*fine.counts.shape[:-1], noise.outputs), dtype=np.int64)
        np.add.at(np.moveaxis(counts, -1, 0), classes, np.moveaxis(fine.counts, -1, 0))
        return Tally(noise, counts, self.n, self.simulated)

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if self.noise != other.noise:
            raise ReportError(
                f"tallies seen through {self.noise} and {other.noise}",
                "tallies of the same mechanism with the same parameters",
                "Reports of different mechanisms stay blocks of their own in one table.",
            )
        if self.counts.shape != other.counts.shape:
            raise ReportError(
                f"tallies of shapes {self.counts.shape} and {other.counts.shape}",
                "as many tables in one as in the other",
            )
        return Tally(self.noise, self.counts + other.counts, self.n + other.n, self.simulated + other.simulated)

    def __radd__(self, other: object) -> Tally:
        # sum() starts from 0
        return self if other == 0 else NotImplemented


def simulation(simulated: int, n: int) -> str:
    """Say in brackets how many of n reports are simulated; empty if none are.

    Parameters
    ----------
    simulated, n : int
    """
    if not simulated:
        return ""
    return f" ({simulated:,} of {n:,} reports simulated)" if simulated < n else " (simulated)"


def _signed_counts(values: ArrayLike, cells: int, what: str) -> NDArray[np.int64]:
    array = as_array(values, what)
    sizes = np.abs(array) if array.dtype.kind in "if" else array
    checked = counts_array(sizes, cells, f"{what}, signs aside,")
    return np.where(array < 0, -checked, checked)
