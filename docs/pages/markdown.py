"""Markdown that is made from values: tables, parts that are folded, trees of pages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_ESCAPED = str.maketrans({"|": "\\|", "\n": " ", "<": "&lt;", "*": "\\*", "_": "\\_"})

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of Markdown.

    Parameters
    ----------
    headers : sequence of str
        Those of numbers begin with a ">": their columns are set to the right.
    rows : iterable of sequence of str
        Markdown.
    """
    names = [header.removeprefix(">") for header in headers]
    rules = ["---:" if header.startswith(">") else ":---" for header in headers]
    lines = [names, rules, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def plain(text: object) -> str:
    """Return text that is shown as it is, also within a table.

    Parameters
    ----------
    text : object
    """
    return str(text).translate(_ESCAPED)


def folded(title: str, content: str) -> str:
    """Return a part of a page that opens when its title is clicked.

    Parameters
    ----------
    title, content : str
        Markdown.
    """
    return f"::::{{dropdown}} {title}\n{content}\n::::\n"


def tree(pages: Iterable[str], *, hidden: bool = False, caption: str = "") -> str:
    """Return the list of the pages below a page.

    Parameters
    ----------
    pages : iterable of str
        Relative to the page that they stand below, without an ending.
    hidden : bool
        Whether they are only in the navigation.
    caption : str
    """
    options = [":maxdepth: 1", *([":hidden:"] if hidden else []), *([f":caption: {caption}"] if caption else [])]
    return "\n".join(["```{toctree}", *options, "", *pages, "```"]) + "\n"


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many digits that count, or a dash where there is none.

    Parameters
    ----------
    value : float
    digits : int
    """
    if value != value:  # noqa: PLR0124  # NaN
        return "–"
    shown = f"{value:.{digits}g}"
    return f"{value:,.0f}" if "e" in shown and abs(value) >= 1 else shown


def power_of_ten(value: float) -> str:
    """Return a small number with one digit that counts, as a multiple of a power of ten.

    Parameters
    ----------
    value : float
    """
    digit, _, exponent = f"{value:.0e}".partition("e")
    return f"{digit} · 10{str(int(exponent)).translate(_RAISED)}"
