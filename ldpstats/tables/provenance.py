"""Provenance: where a table comes from, its assumptions and figures, and what is known of the reports behind a set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeAlias

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.estimation import Estimate, Measured
from ldpstats.estimation.estimate import among_proportions
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.presentation import Summary
from ldpstats.saving.files import Saveable

if TYPE_CHECKING:
    from ldpstats.tables.pooled import JointReports

Groups: TypeAlias = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Collected:
    """The reports of respondents who were asked exactly this, or functions of it."""

    kind: ClassVar[str] = "collected"
    title: ClassVar[str] = "Estimated table"
    words: ClassVar[str] = ""
    assumption: ClassVar[str] = ""
    refused: ClassVar[str] = ""

    def summed(self, of: tuple[str, ...]) -> Summed:
        """Return the provenance of sums of this table's cells; `of` are its attributes."""
        return Summed(of)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"kind": self.kind, "assumption": None}


COLLECTED = Collected()


@dataclass(frozen=True, slots=True)
class Summed:
    """Cells of collected tables, added up: over attributes left out, categories put together, or tables pooled.

    `of` are the table's attributes (its own, if pooled from `pooled`); `bound` is why the covariance is a bound.
    """

    kind: ClassVar[str] = "summed"
    title: ClassVar[str] = "Estimated table"
    assumption: ClassVar[str] = ""
    refused: ClassVar[str] = ""

    of: tuple[str, ...]
    pooled: Groups = ()
    bound: str = ""

    @property
    def words(self) -> str:
        """What was added up, in sentences."""
        if not self.pooled:
            return f"Added up from the table of {' and '.join(self.of)}."
        tables = "; ".join(" and ".join(group) for group in self.pooled)
        why = f" In them, {self.bound}." if self.bound else ""
        return f"What reports tell about {' and '.join(self.of)}, each counted once: pooled from {tables}.{why}"

    def summed(self, of: tuple[str, ...]) -> Summed:  # noqa: ARG002  # sums of sums are sums of the first table
        """Return itself: sums of sums are sums of the first table."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        pooled = {"pooled": [list(group) for group in self.pooled]} if self.pooled else {}
        return {"kind": self.kind, "of": list(self.of), **pooled, "assumption": None}


@dataclass(frozen=True, slots=True)
class _MadeOfOthers:
    """Provenance of a table that was made of others, those of the attributes `groups`.

    `assumption` must hold beside what these tell. `refused` says why there are neither intervals nor effects: what
    fills in the rest is no model that could be true. Both may be empty.
    """

    kind: ClassVar[str]

    method: str
    words: str
    groups: Groups
    assumption: str = ""
    refused: str = ""

    def summed(self, of: tuple[str, ...]) -> Self:  # noqa: ARG002  # what it was made of stays the same
        """Return itself: sums are made of the same tables."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "kind": self.kind,
            "method": self.method,
            "groups": [list(group) for group in self.groups],
            "assumption": self.assumption or None,
        }


class Consistent(_MadeOfOthers):
    """A table that was moved, with others, until all are proper and agree on what they share."""

    __slots__ = ()
    kind: ClassVar[str] = "made consistent"
    title: ClassVar[str] = "Consistent table"


class Reconstructed(_MadeOfOthers):
    """A table that was put together from others, whose reports need not identify it."""

    __slots__ = ()
    kind: ClassVar[str] = "reconstructed"
    title: ClassVar[str] = "Reconstructed table"

    def holds(self, attributes: tuple[str, ...]) -> bool:
        """Say whether one group has all these attributes, so that nothing about them is filled in."""
        return any(set(attributes) <= set(group) for group in self.groups)

    @property
    def identified(self) -> Reconstructed:
        """The provenance of sums that the reports identify, for which nothing is assumed."""
        return replace(self, assumption="", refused="")


Provenance: TypeAlias = Collected | Summed | Consistent | Reconstructed
"""Where a table comes from: one of these, and nothing else."""


def assuming_briefly(assumption: str) -> str:
    """Say what is assumed, up to a colon, to follow a title; empty if nothing is."""
    return f", assuming {assumption.split(':', maxsplit=1)[0]}" if assumption else ""


def merged(own: Provenance, other: Provenance, attributes: tuple[str, ...]) -> Provenance:
    """Return the provenance of two tables of the same attributes whose reports are put together."""
    if own == other:
        return own
    return Summed(attributes, tuple(dict.fromkeys(_added(own, attributes) + _added(other, attributes))))


def _added(provenance: Provenance, attributes: tuple[str, ...]) -> Groups:
    if isinstance(provenance, Summed):
        return provenance.pooled or (provenance.of,)
    return (attributes,)


@dataclass(frozen=True, slots=True, eq=False)
class Figures:
    """Estimate of a table derived from other tables.

    `measured` are unbiased sums of cells, None where blocks tell more; `wider` is a larger table to find bounds in.
    """

    shown: Estimate
    measured: Measured | None = None
    wider: JointReports | None = None

    def onto(self, of_cell: IntArray, size: int) -> Figures:
        """Add the cells up to those of another table; `of_cell` is the new cell of every old one."""
        measured = self.measured and self.measured.onto(of_cell, size)
        return replace(self, shown=self.shown.summed(of_cell, size), measured=measured)


@dataclass(frozen=True, slots=True, eq=False)
class LimitsOfReports:
    """Intervals of a table's unbiased estimate, for cells that are shown otherwise."""

    unbiased: Estimate

    @property
    def kind(self) -> str:
        """How the intervals were found, in words."""
        return f"{self.unbiased.kind_of_intervals}, of the unbiased estimate"

    @property
    def std_err(self) -> FloatArray:
        """The standard errors of the unbiased estimate."""
        return self.unbiased.std_err

    def limits(self, alpha: float) -> FloatArray:
        """Return the intervals of the unbiased estimate."""
        return among_proportions(self.unbiased.estimate, self.unbiased.conf_int(alpha))

    def summed(self, of_cell: IntArray, size: int) -> LimitsOfReports:
        """Return the intervals of sums of cells; `of_cell` is the new cell of every old one."""
        return LimitsOfReports(self.unbiased.summed(of_cell, size))


@dataclass(frozen=True, slots=True)
class Origin(Saveable):
    """Protocol of the reports, as it was then: fingerprint, mechanisms in words by attributes, and their sources."""

    protocol: str
    mechanisms: Mapping[str, str]
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        texts = [self.protocol, *chain(*self.mechanisms.items(), *self.sources.items())]
        if not self.mechanisms or not all(isinstance(text, str) for text in texts):
            raise LdpstatsError(f"the origin {shortened(texts)}", "a fingerprint, and words for some tables")

    def __hash__(self) -> int:
        return hash((self.protocol, *self.mechanisms.items()))

    @property
    def words(self) -> str:
        """The protocol and what randomized the reports, as a sentence."""
        numbers = Counter(self.mechanisms.values())
        counted = [f"{words} ({number:,} {'table' if number == 1 else 'tables'})" for words, number in numbers.items()]
        return f"Collected under the protocol {self.protocol}: {'; '.join(counted if len(numbers) > 1 else numbers)}."

    @property
    def cited(self) -> list[str]:
        """The mechanisms, each once, with where it was published."""
        return [
            f"{words} ({self.sources[words]})" if words in self.sources else words
            for words in dict.fromkeys(self.mechanisms.values())
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"protocol": self.protocol, "mechanisms": dict(self.mechanisms), "sources": dict(self.sources)}


def randomized_by(origins: Iterable[Origin], group: str) -> str:
    """Return what randomized the reports behind a table, in words; empty where that is not known.

    Parameters
    ----------
    origins : iterable of Origin
    group : str
        The table's attributes, as origins have them.
    """
    return "; ".join(dict.fromkeys(origin.mechanisms[group] for origin in origins if group in origin.mechanisms))


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
