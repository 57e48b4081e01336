"""Executed notebooks for readers: one HTML page that needs nothing else, or plain text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from ldpstats.errors import LdpstatsError
from ldpstats.vignettes.notebooks import Notebook

_TEMPLATES = Path(__file__).parent / "templates"
_OUTPUT = re.compile(r'<div class="output_area[^"]*"')
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\((?!https?:|#)[^)\s]*\)")


def as_html(notebook: Notebook, title: str) -> str:
    """Return an executed notebook as one HTML page without scripts and without links to files that are not with it.

    Parameters
    ----------
    notebook, title
    """
    if find_spec("nbconvert") is None:
        raise LdpstatsError(
            "no page can be made without the package nbconvert",
            "an installed nbconvert",
            "pip install 'ldpstats[vignettes]'",
        )
    from copy import deepcopy

    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup
    from nbconvert import HTMLExporter
    from pygments.formatters import HtmlFormatter

    shown = deepcopy(notebook)
    for cell in shown.cells:
        if cell.cell_type == "markdown":
            cell.source = _LINK.sub(r"\1", cell.source)
    exporter = HTMLExporter(template_name="basic", anchor_link_text="")
    body, _ = exporter.from_notebook_node(shown)
    numbers = count(1)
    # what may be wider than the page is moved with keys, too
    body = _OUTPUT.sub(lambda found: f'{found[0]} role="region" tabindex="0" aria-label="Output {next(numbers)}"', body)
    made = Environment(loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined)
    colours = HtmlFormatter(style="default").get_style_defs(".highlight")
    # the body is what nbconvert makes of our own text and of results that escape what they show
    return made.get_template("vignette.html").render(title=title, body=Markup(body), colours=Markup(colours))  # noqa: S704


def as_text(notebook: Notebook) -> str:
    """Return the code of an executed notebook with what it prints; pictures are named.

    Parameters
    ----------
    notebook : Notebook
    """
    return "\n".join(
        "\n".join(f">>> {line}".rstrip() for line in cell.source.splitlines()) + "\n" + "".join(_printed(cell))
        for cell in notebook.cells
        if cell.cell_type == "code"
    )


def _printed(cell: Any) -> Iterator[str]:
    for output in cell.outputs:
        if output.output_type == "stream":
            yield output.text
        elif "image/svg+xml" in output.data or "image/png" in output.data:
            yield "(a picture: -o PAGE.html shows it)\n"
        else:
            yield f"{output.data.get('text/plain', '')}\n"
