"""Provenance: where a table comes from, and what must be assumed for it beside what the reports tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

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


def merged(one: Provenance, other: Provenance, attributes: tuple[str, ...]) -> Provenance:
    """Return the provenance of two tables of the same attributes whose reports are put together."""
    if one == other:
        return one
    return Summed(attributes, tuple(dict.fromkeys(_added(one, attributes) + _added(other, attributes))))


def _added(one: Provenance, attributes: tuple[str, ...]) -> Groups:
    if isinstance(one, Summed):
        return one.pooled or (one.of,)
    return (attributes,)
