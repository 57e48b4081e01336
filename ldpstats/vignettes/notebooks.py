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
    """What takes the place of a vignette's own data.

    Parameters
    ----------
    file : str
        Of answers, in the folder where the notebook runs; "" where its own data stay.
    columns : sequence of str
    epsilon : float, optional
    cuts : mapping of str to str
        How numbers are put into classes, by column.
    missing : sequence of str
        Cells that are no answer.
    notes : sequence of str
        What must be said about the columns.
    """

    file: str = ""
    columns: Sequence[str] = ()
    epsilon: float | None = None
    cuts: Mapping[str, str] = field(default_factory=dict)
    missing: Sequence[str] = ()
    notes: Sequence[str] = ()

    def code(self) -> str:
        """Return what stands in the place of the vignette's own parameters: the same lines always, and JSON."""
        given = {name: value for name, value in asdict(self).items() if value or (self.file and value is not None)}
        lines = [line for name, line in _LINES.items() if given.get(name)]
        imports = "import json\n\n" + "from ldpstats.answers import categorical_answers\n\n" * bool(self.file)
        return "\n".join([f'{imports}given = json.loads(r"""{_literal(given)}""")', *lines]) if lines else ""


def notebook_of(vignette: Vignette, own: OwnData | None = None, *, quick: bool = False) -> Notebook:
    """Return a vignette as a notebook that can be executed.

    Images that the file shows to readers without Jupyter are left out: the cells draw them.

    Parameters
    ----------
    vignette : Vignette
    own : OwnData, optional
        What takes the place of its data.
    quick : bool
        Whether parameters with a comment such as "# quick: 20" take that value.
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
    r"""Return code in which every line with a quick value has it.

    Parameters
    ----------
    code : str

    Examples
    --------
    >>> quickened("epsilon = 1.0\ntrials = 2_000  # quick: 20")
    'epsilon = 1.0\ntrials = 20'
    """
    return _QUICK.sub(r"\1\2", code)


def _literal(plain: Mapping[str, Any]) -> str:
    """Return plain values as JSON in which everything is seen.

    It cannot end a literal: within JSON's texts every quotation mark stands behind a backslash, and nowhere are three.
    """
    text = json.dumps(plain, ensure_ascii=False, indent=1)
    return "".join(one if one == "\n" or one.isprintable() else _escaped(one) for one in text)


def _escaped(one: str) -> str:
    digits = one.encode("utf-16-be", "surrogatepass").hex()
    return "".join(rf"\u{digits[place : place + 4]}" for place in range(0, len(digits), 4))
