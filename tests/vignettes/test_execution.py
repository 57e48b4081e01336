"""Vignettes are executed as notebooks: pictures are shown, failures are told, and own data take the place of theirs."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from jupyter_client.manager import AsyncKernelManager

from ldpstats.answers import categorical_answers
from ldpstats.errors import LdpstatsError
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


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a notebook that was executed with its quick values: every Python for one takes seconds."""
    cells = (DRAWS, DRAWS, "print('<i>', trials, columns, epsilon)", "1 + 1", DRAWS)
    return executed(notebook_of(vignette(*cells), quick=True), tmp_path_factory.mktemp("shown"), "one")


def test_every_picture_is_shown(shown: Any) -> None:
    """Also the second one: the backend of notebooks is loaded by the first, and must outlive its style."""
    assert [outputs(shown)[place] for place in (1, 2, 5)] == [["image/svg+xml"]] * 3


def test_quick_values_are_taken_where_they_are_asked_for(shown: Any) -> None:
    """Where they are not, own data tell it."""
    assert [outputs(shown)[place] for place in (0, 3)] == [[], ["<i> 3 ['a'] 1.0\n"]]


def test_own_data_take_the_place_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "my answers.csv").write_text("x,y,age\n" + "1,a,30\n2,b,50\n9,b,50\n" * 30, "utf-8")
    notes = ("column 'age' was cut",)
    own = OwnData("my answers.csv", ("x", "age"), 0.5, cuts={"age": "40,"}, missing=("9",), notes=notes)
    code = "print(data.shape, columns, epsilon, trials, *(list(data[name].cat.categories) for name in columns))"
    notebook = executed(notebook_of(vignette(code), own), tmp_path, "one")
    said = "(90, 2) ['x', 'age'] 0.5 100 [1, 2, '(missing)'] ['under 40', '40 or more']\n"
    assert outputs(notebook)[-1] == [said]
    assert "column 'age' was cut" in notebook.cells[2].source


HOSTILE = (
    *(
        "a\nopen('ran', 'w')",
        "a\r\nopen('ran', 'w')",
        '""")\nopen("ran", "w")\n#',
        "'''",
        '\\"""',
        "\\",
        '\\\\"',
        "\\u0022",
    ),
    *(
        "!touch ran",
        "%%bash\ntouch ran",
        "$(touch ran)",
        "-rf",
        "x?",
        ">>> x",
        "{0}",
        "</script><img src=x onerror=open>",
    ),
    *("\x7f\x1b[2J", "\u202e", "\u2028open('ran', 'w')", "\udcff", "\0", "ö漢\U000e0001"),
)


def test_no_value_is_ever_code() -> None:
    """As a name of a file, column or category, or in a note: the lines are always the same, the values as they were."""
    whole = "\n".join(HOSTILE)
    hostile = OwnData(whole, HOSTILE, 0.5, {}, HOSTILE, HOSTILE).code()
    tree, plain = (ast.parse(code) for code in (hostile, OwnData("a", ("a",), 0.5).code()))
    literals: list[Any] = [one.body[2].value.args for one in (tree, plain)]  # type: ignore[attr-defined]
    read = json.loads(ast.literal_eval(literals[0][0]))
    assert (read["file"], read["columns"], read["missing"], read["notes"]) == (whole, *[[*HOSTILE]] * 3)
    literals[0][:] = literals[1]
    assert ast.dump(tree) == ast.dump(plain)
    assert TransformerManager().transform_cell(hostile) == f"{hostile}\n"
    assert all(map(str.isprintable, hostile.split("\n")))


def test_hostile_names_of_files_are_read_and_shown_as_they_are(tmp_path: Path) -> None:
    name = """!ls <img src=x onerror=alert(1)> \"\"\" a;'b'\nopen('ran', 'w')\n#.csv"""
    (tmp_path / name).write_text("x;y\n" + "1;<i>\n2;b\n" * 30, "utf-8")
    note = categorical_answers(tmp_path / name).attrs["notes"][0]
    own = OwnData(name, ("x", "y"), notes=(note, "# heading <b>", "$$x$$"))
    notebook = executed(notebook_of(vignette("print(*data.attrs['notes'])"), own), tmp_path, "one")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    page = as_html(notebook, "title")
    assert not re.search(r"<img|<script|<b>", page.partition("<main>")[2].partition("<b>not this</b>")[2])
    assert "semicolons" in notebook.cells[-1].outputs[0]["text"]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import ldpstats as ldp\nldp.Domain({'a': [1]})", "DomainError: .*'a'.*`ldpstats vignettes open one`"),
        ("raise ValueError(\"it's \\x1b[2J\\n'so'.\")", r"ValueError: it's \\x1b\[2J 'so'\. Allowed: data"),
        # drawn behind the end of its cell, where an error does not make the cell fail
        ("from matplotlib import pyplot\npyplot.title('$^$');", "ValueError"),
    ],
)
def test_a_cell_that_fails_says_why_on_one_line(tmp_path: Path, code: str, said: str) -> None:
    with pytest.raises(CellError, match=f"the vignette one stopped at {said}") as caught:
        executed(notebook_of(vignette(code)), tmp_path, "one")
    assert "\x1b" not in str(caught.value)


def test_what_stands_around_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beside the answers, settings of a user, and a temporary folder with a name too long for sockets.

    The files are no modules, neither for the kernel while it starts, nor for its cells; and no file of its own takes
    a name of theirs. Before there was a way around long names, the kernel was waited for forever.
    """
    answers, settings, temporary = (tmp_path / name for name in ("answers", "settings", "long" * 30))
    startup = settings / "profile_default" / "startup"
    for folder in (answers, startup, temporary):
        folder.mkdir(parents=True)
    for name in ("random.py", "runpy.py", "kernel.json"):
        (answers / name).write_text("raise RuntimeError", "utf-8")
    (startup / "first.py").write_text("import builtins\nbuiltins.print = None", "utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(settings))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    code = "import random\nprint(random.Random(1).random() < 1)"
    notebook = executed(notebook_of(vignette(DRAWS, code)), answers, "one")
    assert outputs(notebook)[1:] == [["image/svg+xml"], ["True\n"]]
    assert (answers / "kernel.json").read_text("utf-8") == "raise RuntimeError"
    assert len([*answers.iterdir()]) == 3
    assert not list(temporary.iterdir())


def test_a_kernel_that_ends_is_told(tmp_path: Path) -> None:
    with pytest.raises(LdpstatsError, match="the vignette one stopped, since the Python that executes it ended"):
        executed(notebook_of(vignette("import os\nos._exit(1)")), tmp_path, "one")


def test_a_python_that_cannot_be_a_kernel_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "no number")
    with pytest.raises(LdpstatsError, match="ipykernel_launcher` must start"):
        executed(notebook_of(vignette()), tmp_path, "one")


@pytest.mark.skipif(sys.platform == "win32", reason="signals that another process sends")
@pytest.mark.parametrize(
    "name", ["SIGTERM", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("SIGINT", "SIGHUP"))]
)
def test_signals_end_the_kernel_and_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    code = f"import os, signal, time\nos.kill(os.getppid(), signal.{name})\ntime.sleep(600)"
    with pytest.raises(KeyboardInterrupt):
        executed(notebook_of(vignette(code)), tmp_path, "one")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="signals that another process sends")
def test_a_kernel_that_two_end_at_once_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal's handler and nbclient both do; within ten milliseconds of each other the second one fails."""
    ended = AsyncKernelManager.shutdown_kernel

    async def of_two(manager: AsyncKernelManager, *, now: bool) -> None:
        if not now:  # nbclient, while the handler is under way
            await ended(manager, now=True)
            raise asyncio.InvalidStateError

    monkeypatch.setattr(AsyncKernelManager, "shutdown_kernel", of_two)
    with pytest.raises(KeyboardInterrupt):
        executed(notebook_of(vignette("import os, signal\nos.kill(os.getppid(), signal.SIGINT)")), tmp_path, "one")


def test_a_page_needs_nothing_else(shown: Any) -> None:
    page = as_html(shown, "<Is it so?>")
    assert "&lt;Is it so?&gt;" in page
    assert "&lt;i&gt;" in page
    assert "data:image/svg" in page
    assert "<script" not in page
    assert "other.md" not in page
    assert "gallery/one.svg" not in page
    assert 'href="https://example.org"' in page
    assert "other.md" in shown.cells[0].source


def test_text_has_what_is_printed(shown: Any) -> None:
    assert as_text(shown).endswith("(a picture: -o PAGE.html shows it)\n")
    assert ">>> 1 + 1\n2\n" in as_text(shown)


def test_a_vignette_has_one_cell_of_parameters() -> None:
    with pytest.raises(ValueError, match="2 cells of parameters in one"):
        notebook_of(vignette(":tags: [parameters]\n\na = 1"))
