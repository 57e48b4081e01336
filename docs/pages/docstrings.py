"""Docstrings on their way to Sphinx: plain text, sections as numpydoc has them, and names between backticks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sphinx.application import Sphinx
from sphinx.ext.napoleon import Config, NumpyDocstring

_SECTIONS = Config(napoleon_use_param=False, napoleon_use_rtype=False)


def read(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let Sphinx read the lines of a docstring; it calls this for every one (`autodoc-process-docstring`).

    Parameters
    ----------
    app, what, name, thing, options
        As Sphinx has them.
    lines : list of str
        They are changed in place.
    """
    # what stands before a colon in the first line of a property is no type
    kind = what if what in {"class", "exception", "function", "method"} else "object"
    lines[:] = NumpyDocstring(list(_without_markup(lines)), _SECTIONS, app, kind, name, thing, options).lines()


def _without_markup(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines in which asterisks and bars are only what they look like; examples stay as they are."""
    example = False
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        yield line if example else line.replace("*", "\\*").replace("|", "\\|")
