"""Which text of the repository is which page, and links between texts that lead to pages."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
DESIGN, RECIPES = "explanation/design.md", "how-to/extend.md"
_ELSEWHERE = {
    "ARCHITECTURE.md": DESIGN,
    "SECURITY.md": "explanation/security.md",
    "docs/protocol-file.md": "how-to/protocol-file.md",
    "docs/report-files.md": "how-to/report-files.md",
    "docs/scale.md": "how-to/scale.md",
    "clients/SPECIFICATION.md": "how-to/client-specification.md",
    "clients/js/README.md": "how-to/client-in-javascript.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CODE_OF_CONDUCT.md": "project/code-of-conduct.md",
    "RELEASING.md": "project/releasing.md",
    "README.md": "index.md",
    "benchmarks/papers/README.md": "papers/index.md",
}
_RECIPE = "how-to-add-"
_LINK = re.compile(r"(\[(?:[^\[\]]|\[[^\[\]]*\])*\])\(([^()\s]+)\)")
_SCHEME = re.compile(r"^(?:[a-z]+:|#)")


def texts() -> dict[str, str]:
    """Return the pages that are texts of the repository, by their source; the vignettes are not among them."""
    own = (path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md")))
    found = {source: _ELSEWHERE.get(source, source.removeprefix("docs/")) for source in own}
    return found | {source: page for source, page in _ELSEWHERE.items() if (ROOT / source).exists()}


def page_of(source: str, fragment: str = "") -> str | None:
    """Return the page that a text of the repository became; None if it is no page.

    Parameters
    ----------
    source : str
        A path from the root of the repository.
    fragment : str
        The heading that is linked to.
    """
    if source == "ARCHITECTURE.md" and fragment.startswith(_RECIPE):
        return RECIPES
    if PurePosixPath(source).parent == PurePosixPath("vignettes") and source.endswith(".md"):
        return f"tutorials/{PurePosixPath(source).stem}.ipynb"
    return texts().get(source)


def relative(target: str, page: str) -> str:
    """Return the link from a page to another one.

    Parameters
    ----------
    target, page : str
        Paths from the root of the site.
    """
    return os.path.relpath(target, os.path.dirname(page) or ".")  # noqa: PTH120  # a path of the site, not of files


def with_links_to_pages(text: str, source: str, page: str) -> tuple[str, dict[str, str]]:
    """Let the links of a text lead to pages; return it, and which files it needs beside it, by their place in the site.

    Parameters
    ----------
    text : str
        Markdown.
    source : str
        Where it stands in the repository.
    page : str
        Where it will stand in the site.
    """
    needed: dict[str, str] = {}

    def led(found: re.Match[str]) -> str:
        label, link = found.groups()
        path, _, fragment = link.partition("#")
        named = os.path.normpath(Path(source).parent / path).replace(os.sep, "/")
        if _SCHEME.match(link) or not (ROOT / named).exists():
            return found[0]
        target = page_of(named, fragment)
        if target is None and (ROOT / named).is_dir():
            return label[1:-1]
        if target is None:
            target = f"files/{named}"
            needed[target] = named
        return f"{label}({relative(target, page)}{'#' if fragment else ''}{fragment})"

    return _LINK.sub(led, text), needed


def divided(architecture: str) -> tuple[str, str]:
    """Return the design, and the recipes at its end, which stand on a page of their own.

    Parameters
    ----------
    architecture : str
        The whole text.
    """
    design, heading, recipes = architecture.partition("\n## How to add ")
    return design + "\n", heading.lstrip() + recipes
