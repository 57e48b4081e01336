"""Results of a table: what they have of the table that they are made of."""

from __future__ import annotations

from typing import Protocol

from ldpstats.presentation import Result
from ldpstats.privacy import PrivacyStatement
from ldpstats.tables.table import Table


class TableResult(Result, Protocol):
    """What is worked out of one table, with the reports and the privacy of that."""

    __slots__ = ()

    table: Table

    @property
    def n(self) -> int:
        """The number of reports behind the table."""
        return self.table.n

    @property
    def privacy(self) -> PrivacyStatement:
        """What the respondents were promised."""
        return self.table.privacy

    @property
    def simulated(self) -> int:
        """How many of the reports came from a simulation instead of a respondent."""
        return self.table.simulated
