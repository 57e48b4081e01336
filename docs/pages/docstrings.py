"""Docstrings on their way to Sphinx: plain text, sections as numpydoc has them, and names between backticks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_ASTERISK = re.compile(r"(\*\w[^*]*\w\*)|\*")
"""An emphasis, or another asterisk."""


def read(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let Sphinx read the lines of a docstring; it calls this for every one (`autodoc-process-docstring`).

    Parameters
    ----------
    app, what, name, thing, options
        As Sphinx has them.
    lines : list of str
        They are changed in place.
    """
    # here, since this module is tested without Sphinx, too
    from sphinx.ext.napoleon import Config, NumpyDocstring

    sections = Config(napoleon_use_param=False, napoleon_use_rtype=False)
    # what stands before a colon in the first line of a property is no type
    kind = what if what in {"class", "exception", "function", "method"} else "object"
    made = NumpyDocstring(list(without_markup(lines)), sections, app, kind, name, thing, options)
    lines[:] = [line.replace(" -- ", " – ") for line in made.lines()]


def without_markup(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines in which bars and single asterisks are only what they look like; examples stay as they are.

    Parameters
    ----------
    lines : sequence of str
    """
    example = False
    for line in lines:
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        yield line if example else _ASTERISK.sub(_kept, line).replace("|", "\\|")


def _kept(found: re.Match[str]) -> str:
    return found[1] or "\\*"
