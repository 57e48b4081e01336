"""Vignettes from the shell: those that came with the package are listed, printed, and run on data of one's own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ldpstats.cli import pipes, program
from ldpstats.cli.answering import chosen, read
from ldpstats.cli.contents import ANSWERS, expected
from ldpstats.cli.program import FILE, Names, examples
from ldpstats.errors import LdpstatsError

if TYPE_CHECKING:
    from ldpstats.vignettes import OwnData, Vignette


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in _vignettes() if name.startswith(incomplete)]


@click.command(
    short_help="List, print or run the packaged vignettes.",
    epilog=examples(
        "ldpstats vignettes list",
        "ldpstats vignettes open how-private-is-it | less",
        "ldpstats vignettes run effects-and-odds -o page.html",
        "ldpstats vignettes run effects-and-odds --data answers.csv --columns smokes,asthma -o page.html",
    ),
)
@click.argument("action", type=click.Choice(["list", "open", "run"]))
@click.argument("name", required=False, shell_complete=_complete)
@click.option(
    "--data", default=None, type=FILE, help="A file of answers, CSV or Parquet, that takes the place of its data."
)
@program.questions
@program.missing
@click.option(
    "--epsilon",
    default=None,
    type=program.Level(),
    help="Strict privacy level of every respondent.  [default: its own]",
)
@click.option("--quick", is_flag=True, help="Simulate less: enough to see what it shows, not for its figures.")
@click.option(
    "-o", "--output", default=None, type=FILE, help="A page (.html) or notebook (.ipynb); - is standard output."
)
@program.as_json
def vignettes(
    action: str, name: str | None, data: str | None, output: str | None, as_json: bool, quick: bool, **given: Any
) -> None:
    """List the vignettes that came with the package, print one, or run its notebook.

    A vignette answers a question that statisticians have, on data that come with the package, or on a file of answers:
    --data, --columns and --epsilon take the place of what stands in its first cell. Numbers of more than 30 values
    become four classes (--cut chooses), missing answers a category; all of it is said. Files that a vignette writes go
    to a folder that is removed afterwards. Running needs: pip install 'ldpstats[vignettes]'.
    """
    known = _vignettes()
    if action == "list":
        titles = {vignette.name: vignette.title for vignette in known.values()}
        width = max(map(len, titles), default=0)
        pipes.tell("\n".join(f"{key:{width}}  {words}" for key, words in titles.items()), titles, as_json=as_json)
        return
    if name is None or name not in known:
        raise click.UsageError(f"{f'no vignette {name!r}' if name else 'no name'}. Allowed: {', '.join(known)}.")
    if action == "open":
        pipes.tell(known[name].text.rstrip(), {"name": name, "text": known[name].text}, as_json=as_json)
        return
    # notebooks are edited, hence never replaced
    if output not in (None, pipes.STANDARD) and Path(output).suffix not in {".html", ".ipynb"}:
        raise click.UsageError(f"--output {output!r}. Allowed: a name that ends with .html or .ipynb, or -.")
    pipes.refuse_unwritable(output, None if output is not None and output.endswith(".ipynb") else "vignettes")
    with tempfile.TemporaryDirectory() as folder:
        own = _own_data(known[name], data, Path(folder), **given)
        _run(known[name], own, Path(folder), output, quick=quick, as_json=as_json)


def _vignettes() -> Mapping[str, Vignette]:
    from ldpstats.vignettes import vignettes as packaged

    return packaged()


def _run(vignette: Vignette, own: OwnData, folder: Path, output: str | None, *, quick: bool, as_json: bool) -> None:
    """Execute a vignette, and write or print it."""
    from ldpstats.vignettes import as_html, as_text, executed, notebook_of

    notebook = executed(notebook_of(vignette, own, quick=quick), folder, vignette.name)
    if output is None:
        cells = [
            {"code": cell.source, "output": cell.get("outputs", [])} for cell in notebook.cells if "outputs" in cell
        ]
        pipes.tell(as_text(notebook), cells, as_json=as_json)
        return
    if output.endswith(".ipynb"):
        import nbformat

        text = nbformat.writes(notebook)
    else:
        text = as_html(notebook, vignette.title)
    pipes.write_to(output, text)
    plain = {"name": vignette.name, "quick": quick, "notes": list(own.notes), "output": output}
    pipes.tell(f"{vignette.title}: {pipes.written_as(output)}", plain, as_json=as_json, output=output)


def _own_data(
    vignette: Vignette,
    data: str | None,
    folder: Path,
    *,
    columns: Names,
    cut: Names,
    missing: Names,
    epsilon: float | None,
) -> OwnData:
    """Link the user's answers into the folder where the vignette runs, and check that they fit it."""
    from ldpstats.answers import categorical_answers
    from ldpstats.limits import LARGEST_ANSWERS
    from ldpstats.vignettes import OwnData

    if epsilon is not None:
        program.check_level(epsilon)
    if data is None:
        if columns or cut or missing:
            raise click.UsageError("--columns, --cut and --missing are about a file: name it by --data.")
        return OwnData(epsilon=epsilon)
    path = folder / ("answers.csv" if data == pipes.STANDARD else Path(data).name)
    given = pipes.bytes_of(data, LARGEST_ANSWERS)
    if Path(data).is_file() and os.name != "nt":
        # a link, since a copy of answers would stay behind if this process were killed
        path.symlink_to(Path(data).absolute())
    else:
        path.write_bytes(given)
    cuts = program.cuts_as_texts(cut)
    with expected(ANSWERS, data):
        wanted = chosen(columns, read(str(path), missing)) if columns else []
        people = categorical_answers(path, wanted, cuts, missing)
    taken, notes = [*people.columns], people.attrs["notes"]
    for words in notes:
        pipes.note(words)
    least, most = vignette.columns
    if not least <= len(taken) <= most:
        allowed = f"{least}" if least == most else f"{least} to {most}"
        raise LdpstatsError(
            f"{len(taken)} columns that are questions: {', '.join(taken)}", allowed, "--columns chooses them."
        )
    return OwnData(path.name, taken, epsilon, cuts, missing, notes)
