"""Content of a report: sections of sentences, lists, tables, pictures and entries, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self, TypeAlias

from ldpstats.pictures.drawing import Picture
from ldpstats.presentation import Panel, Summary


@dataclass(frozen=True, slots=True)
class Warned:
    """A sentence that must not be overlooked.

    Parameters
    ----------
    words : str
    """

    words: str


@dataclass(frozen=True, slots=True)
class Listed:
    """Sentences below each other.

    Parameters
    ----------
    items : tuple of str
    """

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A table.

    Parameters
    ----------
    panel : Panel
        Its title stands above it.
    links : tuple of str
        What each row leads to, by name; empty where it leads nowhere.
    """

    panel: Panel
    links: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture, in words for those who cannot see it.

    Parameters
    ----------
    picture : Picture
    name : str
        What nothing else in the page is called.
    parts : tuple of parts
        What stands below it.
    """

    picture: Picture
    name: str
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Folded:
    """What is shown to those who ask for it.

    Parameters
    ----------
    title : str
    parts : tuple of parts
    note : str
        What is seen of it at once.
    name : str
        What it is referred to by, if it is.
    printed : bool
        Whether it is unfolded on paper, where nobody can ask.
    """

    title: str
    parts: tuple[Part, ...]
    note: str = ""
    name: str = ""
    printed: bool = True


@dataclass(frozen=True, slots=True)
class Entry:
    """A part with a heading of its own.

    Parameters
    ----------
    name : str
        What it is referred to by.
    title : str
    parts : tuple of parts
    """

    name: str
    title: str
    parts: tuple[Part, ...]


Part: TypeAlias = str | Warned | Listed | Rows | Drawn | Folded | Entry
"""What a section is made of; a text is a paragraph."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report.

    Parameters
    ----------
    name : str
        What it is referred to by.
    title : str
    parts : tuple of parts
    """

    name: str
    title: str
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, name: str, title: str, *parts: Part) -> Self:
        """Return a section of these parts."""
        return cls(name, title, parts)


def summarised(summary: Summary, title: str = "") -> tuple[Part, ...]:
    """Return the tables and the sentences of a summary.

    Parameters
    ----------
    summary : Summary
    title : str
        What stands above its first table; by default its own title.
    """
    first, *more = summary.panels or (Panel((), ()),)
    panels = [Panel(first.headers, first.rows, title or summary.title), *more]
    return (*(Rows(panel) for panel in panels if panel.rows), *summary.sentences)
