"""Vignettes from the shell: listed, printed and run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.shell import done, run

FOLDER = Path(__file__).parents[2] / "vignettes"


def test_all_vignettes_are_listed_by_their_titles() -> None:
    listed = json.loads(done("vignettes", "list", "--json").stdout)
    assert list(listed) == sorted(path.stem for path in FOLDER.glob("*.md"))
    assert listed["gallery"] == "Gallery"
    assert len(done("vignettes", "list").stdout.splitlines()) == len(listed)


def test_a_vignette_is_printed_as_it_is() -> None:
    text = (FOLDER / "gallery.md").read_text("utf-8")
    assert done("vignettes", "open", "gallery").stdout == text
    assert json.loads(done("vignettes", "open", "gallery", "--json").stdout)["text"] == text


def test_a_vignette_runs_and_prints_what_it_shows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sums.md").write_text(
        "# Sums\n\n```python\na = 1\n```\n\n```python\nprint(a + 1)\nopen('x', 'w').close()\n```\n"
    )
    found = {"sums": tmp_path / "sums.md"}
    monkeypatch.setattr("ldpstats.cli.reading_vignettes._vignettes", lambda: found)
    monkeypatch.chdir(tmp_path)
    assert done("vignettes", "run", "sums").stdout == ">>> a = 1\n\n>>> print(a + 1)\n>>> open('x', 'w').close()\n2\n\n"
    assert not Path("x").exists()
    assert [one["output"] for one in json.loads(done("vignettes", "run", "sums", "--json").stdout)] == ["", "2\n"]


@pytest.mark.parametrize("arguments", [("open",), ("run", "moon"), ("read", "gallery"), ()])
def test_other_vignettes_are_refused(arguments: tuple[str, ...]) -> None:
    result = run("vignettes", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
