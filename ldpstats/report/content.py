"""Content of a report: sections of sentences, lists, tables, pictures and entries, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

from ldpstats.pictures.drawing import Picture
from ldpstats.presentation import Panel, Summary
from ldpstats.presentation.layout import figures_in


@dataclass(frozen=True, slots=True)
class Warned:
    """A sentence that must not be overlooked.

    Parameters
    ----------
    words : str
    """

    kind: ClassVar[str] = "warning"

    words: str


@dataclass(frozen=True, slots=True)
class Listed:
    """Sentences below each other.

    Parameters
    ----------
    items : tuple of str
    """

    kind: ClassVar[str] = "listed"

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

    kind: ClassVar[str] = "rows"

    panel: Panel
    links: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What stands above it."""
        return self.panel.title

    @property
    def headers(self) -> tuple[str, ...]:
        """The names of the columns."""
        return self.panel.headers

    @property
    def rows(self) -> tuple[tuple[str, ...], ...]:
        """The texts."""
        return self.panel.rows

    @property
    def figures(self) -> list[bool]:
        """Which columns hold figures."""
        return figures_in(self.panel)


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

    kind: ClassVar[str] = "drawn"

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

    kind: ClassVar[str] = "folded"

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

    kind: ClassVar[str] = "entry"

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
