"""Vignettes as notebooks: those of the package, given data of one's own, and set as one HTML page or plain text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

from ldpstats.errors import LdpstatsError, shortened

_TITLE = re.compile(r"^# (.+)$", flags=re.MULTILINE)
_PLACE = re.compile(r"^  place: (\d+)$", flags=re.MULTILINE)
_COLUMNS = re.compile(r"^  columns: \[(\d+), (\d+)\]$", flags=re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Vignette:
    """Notebook in MyST Markdown whose header says what it needs."""

    name: str  # of the file, without its ending
    text: str

    @property
    def title(self) -> str:
        """First heading: the question that it answers."""
        return self._stated(_TITLE, "a heading")[1]

    @property
    def place(self) -> int:
        """Position among the vignettes."""
        return int(self._stated(_PLACE, "a place")[1])

    @property
    def columns(self) -> tuple[int, int]:
        """Least and largest number of columns that it takes."""
        least, most = self._stated(_COLUMNS, "columns").groups()
        return int(least), int(most)

    def _stated(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        match = pattern.search(self.text)
        if match is None:
            raise LdpstatsError(
                f"the vignette {shortened(self.name)} without {what}", f"a line such as {pattern.pattern}"
            )
        return match


def vignettes() -> Mapping[str, Vignette]:
    """Return the vignettes by name, in the order in which they are read."""
    known = [
        Vignette(file.name.removesuffix(".md"), file.read_text("utf-8"))
        for file in _folder().iterdir()
        if file.name.endswith(".md")
    ]
    return {vignette.name: vignette for vignette in sorted(known, key=lambda vignette: (vignette.place, vignette.name))}


def _folder() -> Traversable:
    """Return the folder of the installed package, or of the checkout that it runs from."""
    packaged = files("ldpstats") / "data" / "vignettes"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "vignettes"


Notebook: TypeAlias = Any
"""A notebook as nbformat has it, which has no types."""
PARAMETERS, GIVEN = "parameters", "injected-parameters"
"""Tags of cells, as papermill has them."""
_QUICK = re.compile(r"^(\w+ = ).*  # quick: (.+)$", flags=re.MULTILINE)
_LINES = {
    "file": 'data = categorical_answers(given["file"], given["columns"], given["cuts"], given["missing"])',
    "columns": 'columns = given["columns"]',
    "epsilon": 'epsilon = given["epsilon"]',
}
"""All the code that there is about data of one's own, by the fields that call for it."""
_IMAGE = re.compile(r"^!\[[^\n]*\]\((?!https?:)[^)]*\)$", flags=re.MULTILINE)


def require(*packages: str) -> None:
    """Refuse to go on without packages that only vignettes need."""
    for package in packages:
        if find_spec(package) is None:
            came = f"vignettes cannot run without the package {package}"
            raise LdpstatsError(came, f"an installed {package}", "pip install 'ldpstats[vignettes]'")


@dataclass(frozen=True, slots=True)
class OwnData:
    """Own data, or a level, that takes the place of a vignette's."""

    file: str = ""  # of answers, in the folder where the notebook runs; "" keeps the vignette's data
    columns: Sequence[str] = ()
    epsilon: float | None = None
    cuts: Mapping[str, str] = field(default_factory=dict)  # how numbers are put into classes, by column
    missing: Sequence[str] = ()  # cells that are no answer
    notes: Sequence[str] = ()  # what must be said about the columns

    def code(self) -> str:
        """Return the code of the injected cell: always the same lines, and the values as JSON."""
        given = {name: value for name, value in asdict(self).items() if value or (self.file and value is not None)}
        lines = [line for name, line in _LINES.items() if given.get(name)]
        imports = "import json\n\n" + "from ldpstats.answers import categorical_answers\n\n" * bool(self.file)
        return "\n".join([f'{imports}given = json.loads(r"""{_literal(given)}""")', *lines]) if lines else ""


def notebook_of(vignette: Vignette, own: OwnData | None = None, *, quick: bool = False) -> Notebook:
    """Return a vignette as a notebook to execute, without the images for readers without Jupyter: its cells draw them.

    Parameters
    ----------
    vignette, own, quick
        With `quick`, parameters with a comment such as "# quick: 20" take that value.
    """
    require("jupytext")
    import jupytext
    from nbformat.v4 import new_code_cell

    notebook = jupytext.reads(vignette.text, fmt="md:myst")
    places = [index for index, cell in enumerate(notebook.cells) if PARAMETERS in cell.metadata.get("tags", ())]
    if len(places) != 1:
        raise LdpstatsError(f"{len(places)} cells of parameters in {vignette.name}", f"one, tagged {PARAMETERS!r}")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _IMAGE.sub("", cell.source)
    if quick:
        notebook.cells[places[0]].source = _QUICK.sub(r"\1\2", notebook.cells[places[0]].source)
    if own and own.code():
        notebook.cells.insert(places[0] + 1, new_code_cell(own.code(), metadata={"tags": [GIVEN]}))
    return notebook


def _literal(plain: Mapping[str, Any]) -> str:
    """Return plain values as JSON whose every character is visible, for a Python literal in triple quotes.

    It cannot end the literal: in JSON texts every quotation mark stands behind a backslash, and nowhere are three.
    """
    text = json.dumps(plain, ensure_ascii=False, indent=1)
    return "".join(letter if letter == "\n" or letter.isprintable() else _escaped(letter) for letter in text)


def _escaped(letter: str) -> str:
    digits = letter.encode("utf-16-be", "surrogatepass").hex()
    return "".join(rf"\u{digits[start : start + 4]}" for start in range(0, len(digits), 4))


_TEMPLATES = Path(__file__).parent / "templates"
_OUTPUT = re.compile(r'<div class="output_area[^"]*"')
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\((?!https?:|#)[^)\s]*\)")


def as_html(notebook: Notebook, title: str) -> str:
    """Return an executed notebook as one HTML page without scripts and without links to files that are not with it.

    Parameters
    ----------
    notebook, title
    """
    require("nbconvert")
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
    body = _OUTPUT.sub(lambda match: f'{match[0]} role="region" tabindex="0" aria-label="Output {next(numbers)}"', body)
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
