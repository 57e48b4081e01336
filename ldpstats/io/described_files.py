"""What a report file says about itself, and how many reports about what there are in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.io.headers import Header
from ldpstats.presentation import Result, Summary, plain_rows, plain_values, summary_of_figures
from ldpstats.privacy import plain_level, rounded_up
from ldpstats.saving.registered import Count

_SAID = 30
"""Up to so many rows of a protocol have a line each."""


@dataclass(frozen=True, slots=True, repr=False)
class ReportFile(Result):
    """A file of reports, read from its beginning to its end.

    A file that says what wrote it is as it was written; messages of clients and plain rows do not show whether they are
    all. Whether its reports are possible ones, only the protocol knows: `tables_of` counts them.

    Parameters
    ----------
    name : str
        What the file is called.
    form : str
        Such as "Parquet".
    protocol : str
        The fingerprint of its protocol.
    labels, mechanisms : tuple of str
        What the protocol's rows are called, and what randomizes the answers in them, where the file says that.
    counts : tuple of int
        How many reports there are in each of these rows, and last in rows that the protocol does not have.
    simulated : int
        How many of them came from a seed.
    tokens : bool
        Whether they name their respondents by tokens.
    collection : str
        What no other collection is called; empty where rows name theirs.
    epsilon : float, optional
        The strict level of a respondent, where the file says it.
    unit : str
        What that is a level of.
    writer : str
        What wrote the file.

    Examples
    --------
    >>> import tempfile
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> protocol = ldp.SampledGroups(domain, k=1, epsilon=1.0)
    >>> people = domain.decode([[0, 0], [1, 1]] * 50)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ldp.write_reports(f"{folder}/reports.csv", protocol, people, rng=1)
    ...     found = ldp.describe_reports(f"{folder}/reports.csv")
    >>> found.form, found.labels, found.counts, found.epsilon
    ('CSV', ('sex', 'car'), (50, 50, 0), 1.0)
    >>> found.protocol == protocol.fingerprint()
    True
    """

    name: str
    form: str
    protocol: str
    labels: tuple[str, ...]
    mechanisms: tuple[str, ...]
    counts: tuple[Count, ...]
    simulated: Count
    tokens: bool
    collection: str = ""
    epsilon: float | None = None
    unit: str = ""
    writer: str = ""

    def __post_init__(self) -> None:
        fits = len(self.counts) == len(self.labels) + 1 and len(self.mechanisms) in (0, len(self.labels))
        if not fits or min(self.counts) < 0 or not 0 <= self.simulated <= self.n:
            raise LdpstatsError(
                f"a file with {one_line(self.counts)} reports", "a number for every row, and for others"
            )
        # files have a word for an infinite level
        object.__setattr__(self, "epsilon", math.inf if self.epsilon == plain_level(math.inf) else self.epsilon)

    @classmethod
    def of(cls, name: str, form: str, header: Header, counts: list[int], *, tokens: bool) -> ReportFile:
        """Return a file with a header.

        Parameters
        ----------
        name, form : str
        header : Header
        counts : list of int
            The reports in each row of its protocol, and in others.
        tokens : bool
        """
        n = sum(counts)
        level = math.inf if isinstance(header.epsilon, str) else header.epsilon
        return cls(
            name,
            form,
            header.protocol,
            header.rows,
            header.mechanisms,
            tuple(counts),
            n if header.simulated else 0,
            tokens,
            header.collection,
            level,
            header.unit,
            header.writer,
        )

    @property
    def n(self) -> int:
        """How many reports there are."""
        return sum(self.counts)

    @property
    def headline(self) -> str:
        """How many reports, about how much, and in what form."""
        simulated = " (simulated)" if self.simulated else ""
        return f"{self.n:,} reports{simulated} about {len(self.labels):,} groups, {self.form}"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per row of the protocol: its number, label, mechanism, and how many reports there are."""
        made = self.mechanisms or ("",) * len(self.labels)
        rows = zip(range(len(self.labels)), self.labels, made, self.counts, strict=False)
        return pd.DataFrame(rows, columns=["row", "label", "mechanism", "reports"])

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        named = "form protocol collection n simulated tokens epsilon unit writer"
        plain = plain_values(self, named, epsilon=plain_level(self.epsilon))
        return {**plain, "of no row": self.counts[-1], "rows": plain_rows(self.to_frame())}

    def summary(self) -> Summary:
        """Return how many reports about what there are, and in sentences what the file says about itself."""
        rows = [
            [f"{row['row']}", str(row["label"]), str(row["mechanism"]), f"{row['reports']:,}"]
            for row in self.to_frame().to_dict(orient="records")
        ]
        more = len(rows) - _SAID
        sentences = [
            *([f"And {more:,} further rows: to_frame() has them."] if more > 0 else []),
            *([f"{self.counts[-1]:,} reports in rows that the protocol does not have."] if self.counts[-1] else []),
            f"{self.form}, of the protocol {self.protocol}"
            + (f", collection {self.collection}." if self.collection else "."),
            *([self._level] if self.epsilon is not None else []),
            *([f"{self.simulated:,} of the reports came from a seed: a simulation."] if self.simulated else []),
            *(["Reports name their respondents by tokens."] if self.tokens else []),
            *([f"Written by {self.writer}."] if self.writer else []),
            self._whole,
            "Whether its reports are possible ones, tables_of(file, protocol) says.",
        ]
        title = f"{self.n:,} reports in {self.name}"
        return summary_of_figures(title, ["row", "about", "randomized by", "reports"], rows[:_SAID], sentences)

    @property
    def _whole(self) -> str:
        return "The file is as it was written." if self.writer else "Nothing in the file shows whether it is whole."

    @property
    def _level(self) -> str:
        return f"epsilon = {rounded_up(self.epsilon or 0.0)} (strict; unit: {self.unit})."


def counted(rows: NDArray[Any], known: int) -> NDArray[np.int64]:
    """Return how often each of the row numbers 0, ..., known - 1 occurs, and last how often others do.

    Examples
    --------
    >>> counted(np.array([0, 2, 2, -1, 900]), 3)
    array([1, 0, 2, 2])
    """
    places = np.where((rows >= 0) & (rows < known), rows, known).astype(np.int64)
    return np.bincount(places, minlength=known + 1)
