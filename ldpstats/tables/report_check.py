"""Checks of reports: what was looked at beside the counts, such as rows that come again; tables say what was found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from ldpstats.presentation import Summary


class ReportCheck(Protocol):
    """What a table set keeps of a check of its reports: warnings where something was found, and a summary."""

    __slots__ = ()

    @property
    def warning(self) -> Sequence[str]:
        """Sentences that the summary of the tables adds; none where nothing was found."""

    def summary(self) -> Summary:
        """Return what was looked at, and what was found."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
