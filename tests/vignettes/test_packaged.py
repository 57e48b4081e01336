"""The packaged vignettes: each asks a question, and has one cell of parameters for other data."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import jupytext
import pytest

from ldpstats.vignettes import notebook_of, vignettes
from ldpstats.vignettes.notebooks import PARAMETERS

FOLDER = Path(__file__).parents[2] / "vignettes"
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
NAMES = list(vignettes())


def test_all_files_are_vignettes_with_places_of_their_own() -> None:
    assert set(NAMES) == {path.stem for path in FOLDER.glob("*.md")}
    places = [one.place for one in vignettes().values()]
    assert places == sorted(set(places))


@pytest.mark.parametrize("name", NAMES)
def test_a_vignette_asks_a_question_and_its_first_cell_holds_what_readers_replace(name: str) -> None:
    one = vignettes()[name]
    least, most = one.columns
    assert 1 <= least <= most
    assert one.title.endswith("?") or name == "gallery"
    first = next(cell for cell in notebook_of(one).cells if cell.cell_type == "code")
    assert PARAMETERS in first.metadata.get("tags", ())
    targets = [one.targets for one in ast.parse(first.source).body if isinstance(one, ast.Assign)]
    names = {target.id for each in targets for target in each if isinstance(target, ast.Name)}
    assert {"data", "columns", "epsilon"} <= names


@pytest.mark.parametrize("name", NAMES)
def test_jupyter_opens_the_file_as_a_notebook(name: str) -> None:
    """By its header alone: jupytext takes a Markdown file without one for a text."""
    opened = jupytext.read(FOLDER / f"{name}.md")
    assert [cell.source for cell in opened.cells] == [
        cell.source for cell in jupytext.reads(vignettes()[name].text, fmt="md:myst").cells
    ]
    assert any(PARAMETERS in cell.metadata.get("tags", ()) for cell in opened.cells)


@pytest.mark.parametrize("name", NAMES)
def test_links_lead_to_other_vignettes(name: str) -> None:
    for target in LINK.findall(vignettes()[name].text):
        assert target.startswith("https://") or (FOLDER / target.partition("#")[0]).exists(), target
