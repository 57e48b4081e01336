"""Vignettes from the shell: listed, printed, and run on data of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.shell import done, run

from ldpstats.cli import reading_vignettes
from ldpstats.vignettes import Vignette, vignettes

FOLDER = Path(__file__).parents[2] / "vignettes"
SUMS = """# Are sums right?

  place: 1
  columns: [1, 2]

```{code-cell} ipython3
:tags: [parameters]

data = None
columns = ["a"]
epsilon = 1.0
```

```{code-cell} ipython3
print(columns, epsilon)
open("x", "w").close()
```
"""
ROWS = "a,b,c\n" + "1,2,3\n2,3,4\n" * 40


@pytest.fixture
def sums(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Have one vignette alone, in an empty folder."""
    monkeypatch.setattr("ldpstats.cli.reading_vignettes._vignettes", lambda: {"sums": Vignette("sums", SUMS)})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_vignettes_are_listed_by_their_titles() -> None:
    listed = json.loads(done("vignettes", "list", "--json").stdout)
    assert set(listed) == {path.stem for path in FOLDER.glob("*.md")}
    assert next(iter(listed)) == "private-survey-in-ten-minutes"
    assert len(done("vignettes", "list").stdout.splitlines()) == len(listed)


def test_a_vignette_is_printed_as_it_is() -> None:
    text = vignettes()["gallery"].text
    assert done("vignettes", "open", "gallery").stdout == text
    assert json.loads(done("vignettes", "open", "gallery", "--json").stdout)["text"] == text


def test_a_vignette_runs_and_prints_what_it_shows(sums: Path) -> None:
    assert done("vignettes", "run", "sums").stdout.endswith('>>> open("x", "w").close()\n[\'a\'] 1.0\n\n')
    assert not list(sums.iterdir())
    assert json.loads(done("vignettes", "run", "sums", "--json").stdout)[1]["output"][0]["text"] == "['a'] 1.0\n"


def test_a_vignette_runs_on_a_file_of_answers(sums: Path) -> None:
    (sums / "mine.csv").write_text(ROWS, "utf-8")
    options = ("--data", "mine.csv", "--columns", "b,c", "--epsilon", "0.5")
    done("vignettes", "run", "sums", *options, "-o", "page.html")
    page = (sums / "page.html").read_text("utf-8")
    assert "['b', 'c'] 0.5" in page
    assert str(sums) not in page
    done("vignettes", "run", "sums", "--data", "-", "--columns", "b", "-o", "page.ipynb", given=ROWS)
    notebook = (sums / "page.ipynb").read_text("utf-8")
    assert json.loads(notebook)["nbformat"] == 4
    assert "['b'] 1.0" in notebook
    # a page takes the place of an older one
    done("vignettes", "run", "sums", "--epsilon", "0.25", "-o", "page.html")
    newer = (sums / "page.html").read_text("utf-8")
    assert "0.25" in newer
    assert "['b', 'c'] 0.5" not in newer


def test_no_copy_of_answers_is_made(sums: Path) -> None:
    """A process that is killed leaves its folder behind."""
    (sums / "mine.csv").write_text(ROWS, "utf-8")
    (sums / "folder").mkdir()
    one = reading_vignettes._vignettes()["sums"]
    given: Any = {"columns": ("a",), "cut": (), "missing": (), "epsilon": None}
    reading_vignettes._own_data(one, "mine.csv", sums / "folder", **given)
    assert (sums / "folder" / "mine.csv").readlink() == sums / "mine.csv"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--data", "mine.csv"), 3, "3 columns that are questions: a, b, c. Allowed: 1 to 2"),
        (("--data", "mine.csv", "--columns", "a,moon"), 3, "'moon'"),
        (("--data", "gone.csv"), 3, "gone.csv"),
        (("--data", "mine.csv", "--columns", "a", "--epsilon", "0"), 2, "epsilon"),
        (("--columns", "a"), 2, "name it by --data"),
        (("-o", "page.pdf"), 2, "ends with .html or .ipynb"),
        (("--data", "mine.csv", "--columns", "a", "-o", "none/page.html"), 3, "none"),
        (("-o", "mine.html"), 3, "holds something else"),
        (("-o", "mine.ipynb"), 3, "holds something else"),
    ],
)
def test_what_cannot_run_is_refused_before_it_runs(
    sums: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], code: int, said: str
) -> None:
    monkeypatch.setattr("ldpstats.vignettes.executed", lambda *_: pytest.fail("executed"))
    for name in ("mine.csv", "mine.html", "mine.ipynb"):
        (sums / name).write_text(ROWS, "utf-8")
    result = run("vignettes", "run", "sums", *options)
    assert result.exit_code == code, result.output
    assert said in result.stderr
    assert {path.name: path.read_text("utf-8") for path in sums.iterdir()} == dict.fromkeys(
        ("mine.csv", "mine.html", "mine.ipynb"), ROWS
    )
