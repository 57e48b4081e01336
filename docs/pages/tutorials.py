"""The tutorials: executed vignettes as they came out, with links that lead to pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ldpstats.vignettes import vignettes
from pages import markdown
from pages.places import ROOT, with_links_to_pages
from pages.staging import Staging

NOTEBOOKS = ROOT / "build" / "vignettes"


def write_tutorials(pages: Staging) -> None:
    """Write the notebooks and the page that lists them with the questions that they answer.

    Parameters
    ----------
    pages : Staging
    """
    missing = [name for name in vignettes() if not (NOTEBOOKS / f"{name}.ipynb").exists()]
    if missing:
        raise FileNotFoundError(f"no executed {', '.join(missing)} in {NOTEBOOKS}. `make vignettes` makes them.")
    rows = []
    for name, vignette in vignettes().items():
        notebook = _read(NOTEBOOKS / f"{name}.ipynb")
        _lead_links(notebook, name, pages)
        pages.write(f"tutorials/{name}.ipynb", json.dumps(notebook, ensure_ascii=False, indent=1))
        rows.append([f"[{vignette.title}]({name}.ipynb)", markdown.plain(_question(notebook))])
    words = "Each answers a question that a statistician has, and has its data, columns and ε in one cell at the top: "
    words += "`ldpstats vignettes open NAME` gives it to you, to put in your own.\n"
    table = markdown.table(["tutorial", "what it is about"], rows)
    pages.write("tutorials/index.md", f"# Tutorials\n\n{words}\n{table}\n{markdown.tree(vignettes(), hidden=True)}")


def _read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return notebook


def _texts(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]


def _source(cell: dict[str, Any]) -> str:
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])


def _lead_links(notebook: dict[str, Any], name: str, pages: Staging) -> None:
    needed: dict[str, str] = {}
    for cell in _texts(notebook):
        cell["source"], files = with_links_to_pages(_source(cell), f"vignettes/{name}.md", f"tutorials/{name}.ipynb")
        needed |= files
    for place, file in needed.items():
        pages.write(place, (ROOT / file).read_bytes())


def _question(notebook: dict[str, Any]) -> str:
    """Return the first sentence below the title."""
    below = "\n".join(_source(cell) for cell in _texts(notebook)[:2]).lstrip().partition("\n")[2]
    paragraph = " ".join(below.strip().partition("\n\n")[0].split())
    for end in ("? ", ". ", ": "):
        if end in paragraph:
            return paragraph.partition(end)[0] + end.rstrip().replace(":", ".")
    return paragraph
