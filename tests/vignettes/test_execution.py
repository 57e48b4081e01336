"""Vignettes are executed as notebooks: pictures are shown, failures are told, and own data take the place of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpstats.vignettes import OwnData, Vignette, as_html, as_text, executed, notebook_of
from ldpstats.vignettes.execution import CellError

TEXT = """---
jupytext:
  text_representation:
    format_name: myst
ldpstats:
  place: 1
  columns: [1, 2]
---

# Is it so?

Read [this](other.md), [that](https://example.org), and <b>not this</b>.

![an image](gallery/one.svg)

```{code-cell} ipython3
:tags: [parameters]

columns = ["a"]
trials = 100  # quick: 3
epsilon = 1.0
```

"""
DRAWS = (
    "import ldpstats as ldp\nldp.SampledGroups(ldp.Domain({'a': [1, 2], 'b': [1, 2]}), epsilon=1.0).privacy().plot();"
)


def vignette(*cells: str) -> Vignette:
    """Return a vignette with these cells behind its parameters."""
    return Vignette("one", TEXT + "\n\n".join(f"```{{code-cell}} ipython3\n{cell}\n```" for cell in cells))


def outputs(notebook: object) -> list[list[str]]:
    """Return what every cell shows, picture by picture and print by print."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]  # type: ignore[attr-defined]
    return [[one.get("text") or max(one["data"], key=len) for one in cell.outputs] for cell in cells]


def test_a_vignette_says_what_it_is() -> None:
    one = vignette()
    assert (one.title, one.place, one.columns) == ("Is it so?", 1, (1, 2))


def test_every_picture_is_shown(tmp_path: Path) -> None:
    """Also the second one: the backend of notebooks is loaded by the first, and must outlive its style."""
    notebook = executed(notebook_of(vignette(DRAWS, DRAWS, DRAWS)), tmp_path, "one")
    assert outputs(notebook) == [[], *[["image/svg+xml"]] * 3]


@pytest.mark.parametrize(("quick", "printed"), [(True, "3 ['a'] 1.0\n"), (False, "100 ['a'] 1.0\n")])
def test_quick_values_are_taken_where_they_are_asked_for(tmp_path: Path, quick: bool, printed: str) -> None:
    notebook = executed(notebook_of(vignette("print(trials, columns, epsilon)"), quick=quick), tmp_path, "one")
    assert outputs(notebook) == [[], [printed]]


def test_own_data_take_the_place_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "my answers.csv").write_text("x,y,age\n" + "1,a,30\n2,b,50\n" * 30, "utf-8")
    own = OwnData("my answers.csv", ("x", "age"), 0.5, cuts={"age": "40,"}, notes=("column 'age' was cut",))
    code = "print(data.shape, columns, epsilon, trials, list(data['age'].cat.categories))"
    notebook = executed(notebook_of(vignette(code), own), tmp_path, "one")
    assert outputs(notebook)[-1] == ["(60, 2) ['x', 'age'] 0.5 100 ['under 40', '40 or more']\n"]
    assert "# column 'age' was cut" in notebook.cells[2].source


def test_a_cell_that_fails_says_what_the_package_said(tmp_path: Path) -> None:
    code = "import ldpstats as ldp\nldp.Domain({'a': [1]})"
    with pytest.raises(
        CellError, match=r"the vignette one stopped at DomainError: .*'a'.*`ldpstats vignettes open one`"
    ):
        executed(notebook_of(vignette(code)), tmp_path, "one")


def test_a_page_needs_nothing_else(tmp_path: Path) -> None:
    notebook = executed(notebook_of(vignette(DRAWS, "print('<i>')")), tmp_path, "one")
    page = as_html(notebook, "<Is it so?>")
    assert "&lt;Is it so?&gt;" in page
    assert "&lt;i&gt;" in page
    assert "data:image/svg" in page
    assert "<script" not in page
    assert "other.md" not in page
    assert "gallery/one.svg" not in page
    assert 'href="https://example.org"' in page
    assert "other.md" in notebook.cells[0].source


def test_text_has_what_is_printed(tmp_path: Path) -> None:
    notebook = executed(notebook_of(vignette("1 + 1", DRAWS)), tmp_path, "one")
    assert as_text(notebook).endswith("(a picture: -o PAGE.html shows it)\n")
    assert ">>> 1 + 1\n2\n" in as_text(notebook)


def test_a_vignette_has_one_cell_of_parameters() -> None:
    with pytest.raises(ValueError, match="2 cells of parameters in one"):
        notebook_of(vignette(":tags: [parameters]\n\na = 1"))
