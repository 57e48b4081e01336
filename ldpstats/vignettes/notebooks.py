"""A vignette as a notebook: read from MyST Markdown, quickened, and given data of one's own in place of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import Any, TypeAlias

from ldpstats.errors import LdpstatsError
from ldpstats.vignettes.packaged import Vignette

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
    if find_spec("jupytext") is None:
        raise LdpstatsError(
            "vignettes cannot run without the package jupytext",
            "an installed jupytext",
            "pip install 'ldpstats[vignettes]'",
        )
    import jupytext
    from nbformat.v4 import new_code_cell

    notebook = jupytext.reads(vignette.text, fmt="md:myst")
    places = [place for place, cell in enumerate(notebook.cells) if PARAMETERS in cell.metadata.get("tags", ())]
    if len(places) != 1:
        raise LdpstatsError(f"{len(places)} cells of parameters in {vignette.name}", f"one, tagged {PARAMETERS!r}")
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _IMAGE.sub("", cell.source)
    if quick:
        notebook.cells[places[0]].source = quickened(notebook.cells[places[0]].source)
    if own and own.code():
        notebook.cells.insert(places[0] + 1, new_code_cell(own.code(), metadata={"tags": [GIVEN]}))
    return notebook


def quickened(code: str) -> str:
    """Replace values by those in comments such as "# quick: 20"."""
    return _QUICK.sub(r"\1\2", code)


def _literal(plain: Mapping[str, Any]) -> str:
    """Return plain values as JSON whose every character is visible, for a Python literal in triple quotes.

    It cannot end the literal: in JSON texts every quotation mark stands behind a backslash, and nowhere are three.
    """
    text = json.dumps(plain, ensure_ascii=False, indent=1)
    return "".join(one if one == "\n" or one.isprintable() else _escaped(one) for one in text)


def _escaped(one: str) -> str:
    digits = one.encode("utf-16-be", "surrogatepass").hex()
    return "".join(rf"\u{digits[place : place + 4]}" for place in range(0, len(digits), 4))
