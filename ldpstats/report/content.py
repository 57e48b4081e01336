"""Content of a report: sections of sentences, lists, tables, pictures and entries, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeAlias

from ldpstats.pictures.drawing import Picture
from ldpstats.presentation import Panel, Summary


@dataclass(frozen=True, slots=True)
class Warned:
    """A sentence that must not be overlooked."""

    words: str


@dataclass(frozen=True, slots=True)
class Listed:
    """Sentences below each other."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A table, with its title above."""

    panel: Panel
    links: tuple[str, ...] = ()  # name of the part that each row leads to; empty where it leads nowhere


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture, with its description for those who cannot see it."""

    picture: Picture
    name: str  # unique on the page
    parts: tuple[Part, ...] = ()  # what stands below it


@dataclass(frozen=True, slots=True)
class Folded:
    """RespondentSet that are shown on request."""

    title: str
    parts: tuple[Part, ...]
    note: str = ""  # seen at once
    name: str = ""  # anchor, if any
    printed: bool = True  # whether it is unfolded on paper


@dataclass(frozen=True, slots=True)
class Entry:
    """A part with a heading of its own."""

    name: str  # anchor
    title: str
    parts: tuple[Part, ...]


Part: TypeAlias = str | Warned | Listed | Rows | Figure | Folded | Entry
"""What a section is made of; a text is a paragraph."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report."""

    name: str  # anchor
    title: str
    parts: tuple[Part, ...]


def can_draw() -> bool:
    """Say whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def summarised(summary: Summary, title: str = "") -> tuple[Part, ...]:
    """Return the tables and sentences of a summary; `title` replaces that of its first table."""
    first, *more = summary.panels or (Panel((), ()),)
    panels = [Panel(first.headers, first.rows, title or summary.title), *more]
    return (*(Rows(panel) for panel in panels if panel.rows), *summary.sentences)
