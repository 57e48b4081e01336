"""A vignette as a notebook: read from MyST Markdown, quickened, and given data of one's own in place of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, TypeAlias

from ldpstats.errors import LdpstatsError
from ldpstats.vignettes.packaged import Vignette

Notebook: TypeAlias = Any
"""A notebook as nbformat has it, which has no types."""
PARAMETERS, GIVEN = "parameters", "injected-parameters"
"""Tags of cells, as papermill has them."""
_QUICK = re.compile(r"^(\w+ = ).*  # quick: (.+)$", flags=re.MULTILINE)
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
        """Return the lines that stand in the place of the vignette's own parameters."""
        lines = []
        if self.file:
            options = {"columns": list(self.columns), "cuts": dict(self.cuts), "missing": list(self.missing)}
            given = "".join(f", {name}={value!r}" for name, value in options.items() if value)
            reads = "from ldpstats.answers import categorical_answers"
            lines += [
                f"{reads}\n",
                f"data = categorical_answers({self.file!r}{given})",
                *(f"# {note}" for note in self.notes),
            ]
        if self.columns:
            lines.append(f"columns = {list(self.columns)!r}")
        if self.epsilon is not None:
            lines.append(f"epsilon = {self.epsilon!r}")
        return "\n".join(lines)


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
        raise _without("jupytext")
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


def _without(package: str) -> LdpstatsError:
    return LdpstatsError(
        f"vignettes cannot run without the package {package}",
        f"an installed {package}",
        "pip install 'ldpstats[vignettes]'",
    )
