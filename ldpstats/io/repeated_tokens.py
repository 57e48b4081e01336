"""Repeated tokens: how many rows were left out since their respondents had sent before, or have no token to tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ldpstats.errors import LdpstatsError
from ldpstats.presentation import Result, Summary, plain_values, summary_of_facts
from ldpstats.saving.registered import Count


@dataclass(frozen=True, slots=True, repr=False)
class RepeatedTokens(Result):
    """Result about tokens that came more than once: the first report of each counts."""

    n: Count  # rows that were looked at
    left_out: Count  # of these
    unnamed: Count = 0  # clients' messages without a token: nothing tells whether one came twice

    def __post_init__(self) -> None:
        if self.left_out + self.unnamed > self.n:
            raise LdpstatsError(f"{self.left_out} and {self.unnamed} of {self.n} rows", "a part of the rows")

    @property
    def warning(self) -> tuple[str, ...]:
        """Sentences for the summary of the tables, where rows were left out or messages had no token."""
        left_out = "1 row was" if self.left_out == 1 else f"{self.left_out:,} rows were"
        unnamed = "1 message" if self.unnamed == 1 else f"{self.unnamed:,} messages"
        found = (
            f"{left_out} left out, whose respondents' tokens came before: the first report of each counts.",
            "Whoever sent more has spent more than the level that is stated.",
        )
        unknown = (
            f"{unnamed} of clients came without a token: nothing tells whether the same one came twice.",
            "One that did counts twice.",
        )
        return (*(found if self.left_out else ()), *(unknown if self.unnamed else ()))

    @property
    def headline(self) -> str:
        """How many rows there were, how many were left out, and how many messages had no token."""
        unnamed = f"; {self.unnamed:,} messages without one" if self.unnamed else ""
        return f"{self.n:,} rows: {self.left_out:,} left out, whose tokens came before{unnamed}"

    def to_frame(self) -> pd.DataFrame:
        """Return the numbers in a row."""
        return pd.DataFrame({"rows": [self.n], "left_out": [self.left_out], "unnamed": [self.unnamed]})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return plain_values(self, "check n left_out unnamed warning", check="repeated tokens")

    def summary(self) -> Summary:
        """Return the numbers, and what they mean."""
        facts = {
            "Rows that were looked at": f"{self.n:,}",
            "Rows that were left out": f"{self.left_out:,}",
            "Messages without a token": f"{self.unnamed:,}",
        }
        return summary_of_facts("Tokens that came more than once", facts, self.warning)
