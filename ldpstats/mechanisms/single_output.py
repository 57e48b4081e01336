"""Single outputs: what all mechanisms share whose report is the number of one output of a channel."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray
from ldpstats.mechanisms.base import Mechanism, ReportFormat


class SingleOutput(Mechanism, Protocol):
    """A mechanism that reports one of so many outputs, by number."""

    @property
    @abstractmethod
    def _outputs(self) -> int:
        """The number of outputs."""

    @property
    def report_format(self) -> ReportFormat:
        """One number per report: the output."""
        return ReportFormat(np.min_scalar_type(self._outputs - 1))

    @property
    def report_bits(self) -> int:
        """The bits of an output's number."""
        return (self._outputs - 1).bit_length()

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Any output."""
        return reports < self._outputs

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count each output."""
        return np.bincount(reports, minlength=self._outputs)
