"""The page: a report's sections set by jinja2 as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpstats.presentation import progress
from ldpstats.presentation.text import visible
from ldpstats.report.content import Drawn, Entry, Folded, Part, Rows, Section

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_TEMPLATES = Path(__file__).parent / "templates"


def can_draw() -> bool:
    """Say whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def set_page(title: str, lines: Sequence[str], sections: Sequence[Section]) -> str:
    """Render a report as HTML, with `lines` below its title."""
    from markupsafe import Markup

    drawn = [one for section in sections for one in _drawn(section.parts)] if can_draw() else []
    shown = progress(drawn, "drawing", unit="picture")
    svgs = {one.name: Markup(one.picture.svg(one.name)) for one in shown}  # noqa: S704  # its texts are escaped
    return _environment().get_template("page.html").render(title=title, lines=lines, sections=sections, svgs=svgs)


def _drawn(parts: Iterable[Part]) -> Iterator[Drawn]:
    """Yield the pictures among parts, at any depth."""
    for part in parts:
        if isinstance(part, Drawn):
            yield part
        if isinstance(part, (Drawn, Folded, Entry)):
            yield from _drawn(part.parts)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_spelt,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["lines"] = _lines
    return environment


def _lines(part: Rows, right: Sequence[bool]) -> Markup:
    """Render the rows of a table, of which a page may have hundreds of thousands; `right` aligns columns."""
    from markupsafe import Markup, escape

    classes = [' class="figures"' if one else "" for one in right]
    set_rows = []
    for row, target in zip(part.panel.rows, chain(part.links, repeat("")), strict=False):
        cells = [str(escape(visible(cell))) for cell in row]
        tags = ["th" if place == 0 and cell else "td" for place, cell in enumerate(cells)]
        if target:
            cells[0] = f'<a href="#{escape(target)}">{cells[0]}</a>'
        opened = [f'{tag} scope="row"' if tag == "th" else tag for tag in tags]
        columns = zip(opened, classes, cells, tags, strict=True)
        set_rows.append("".join(f"<{one}{kind}>{cell}</{tag}>" for one, kind, cell, tag in columns))
    return Markup("".join(f"<tr>{one}</tr>\n" for one in set_rows))  # noqa: S704  # its texts are escaped


def _spelt(value: Any) -> Any:
    """Spell out characters that would mislead the reader's eye, such as marks that change the direction of writing."""
    return visible(value) if type(value) is str else value
