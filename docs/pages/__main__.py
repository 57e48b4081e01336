"""`python -m pages FOLDER`: writes all that Sphinx reads into a folder of its own."""

from __future__ import annotations

import sys
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from pages import plain_words
from pages.catalogue import write_catalogue
from pages.commands import write_commands
from pages.idea import Idea
from pages.not_asked import NotAsked
from pages.places import DESIGN, RECIPES, ROOT, divided, texts, with_links_to_pages
from pages.published import write_papers
from pages.readme import example
from pages.reference import write_reference
from pages.shell import with_output
from pages.staging import Staging
from pages.tutorials import write_tutorials

_OWN = "docs/"
_COMMANDS = "docs/how-to/command-line.md"
_MADE_ELSEWHERE = {"README.md", "benchmarks/papers/README.md"}


def write_site(folder: Path) -> None:
    """Write all pages.

    Parameters
    ----------
    folder : Path
        Whatever else is in it is removed.
    """
    pages = Staging(folder)
    # what may be missing, or without a place, is found out first
    for write in (write_tutorials, write_reference, write_catalogue, write_commands, write_papers):
        write(pages)
    for source, page in texts().items():
        if source not in _MADE_ELSEWHERE:
            _write_text(pages, source, page)
    pages.finish()


def _write_text(pages: Staging, source: str, page: str) -> None:
    """Write a text of the repository; those of the site itself are filled in with what is computed."""
    text = (ROOT / source).read_text("utf-8")
    if source == _COMMANDS:
        text, reports = with_output(text)
        for name, report in reports.items():
            pages.write(f"files/{name}", report)
    elif source.startswith(_OWN) and page == source.removeprefix(_OWN):
        text = _filled(text)
    parts = {page: text}
    if page == DESIGN:
        design, recipes = divided(text)
        parts = {DESIGN: design, RECIPES: f"# How to extend the package\n\n{recipes}"}
    for place, part in parts.items():
        content, files = with_links_to_pages(part, source, place)
        pages.write(place, content)
        for target, file in files.items():
            pages.write(target, (ROOT / file).read_bytes())


def _filled(text: str) -> str:
    """Fill in what a page computes; only what it names is computed."""
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)  # noqa: S701  # Markdown
    makers = {"idea": Idea.simulated, "not_asked": NotAsked.simulated, "readme": example, "privacy": plain_words}
    environment.globals |= makers
    return environment.from_string(text).render()


if __name__ == "__main__":
    write_site(Path(sys.argv[1]).resolve())
