"""Repeated tokens: how many rows were left out because their respondents had sent their reports before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from ldpstats.errors import LdpstatsError
from ldpstats.hints import Count
from ldpstats.presentation import Result, Summary, summary_of_facts


@dataclass(frozen=True, slots=True, repr=False)
class RepeatedTokens(Result):
    """What was found of tokens that came more than once: the first report of each counts.

    Parameters
    ----------
    n : int
        The rows that were looked at.
    left_out : int
        How many of them were left out.
    """

    n: Count
    left_out: Count

    def __post_init__(self) -> None:
        if not 0 <= self.left_out <= self.n:
            raise LdpstatsError(f"{self.left_out} of {self.n} rows", "a part of the rows")

    @property
    def warning(self) -> tuple[str, ...]:
        """The sentence that the summary of the tables adds where rows were left out; none otherwise."""
        if not self.left_out:
            return ()
        rows = "1 row was" if self.left_out == 1 else f"{self.left_out:,} rows were"
        return (
            f"{rows} left out, whose respondents' tokens came before: the first report of each counts.",
            "Whoever sent more has spent more than the level that is stated.",
        )

    @property
    def headline(self) -> str:
        """How many rows were looked at, and how many left out."""
        return f"{self.n:,} rows: {self.left_out:,} left out, whose tokens came before"

    def to_frame(self) -> pd.DataFrame:
        """Return the two numbers in a row."""
        return pd.DataFrame({"rows": [self.n], "left_out": [self.left_out]})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"check": "repeated tokens", "n": self.n, "left_out": self.left_out, "warning": list(self.warning)}

    def summary(self) -> Summary:
        """Return the two numbers, and what they mean."""
        facts = {"Rows that were looked at": f"{self.n:,}", "Rows that were left out": f"{self.left_out:,}"}
        return summary_of_facts("Tokens that came more than once", facts, self.warning)
