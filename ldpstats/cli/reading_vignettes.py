"""Vignettes from the shell: those that came with the package are listed, printed and run."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from ldpstats.cli import options, pipes
from ldpstats.cli.options import examples

_BLOCK = re.compile(r"```python\n(.*?)```\n", flags=re.DOTALL)


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in _vignettes() if name.startswith(incomplete)]


@click.command(
    short_help="List, print or run the packaged vignettes.",
    epilog=examples(
        "ldpstats vignettes list",
        "ldpstats vignettes open your-own-questionnaire | less",
        "ldpstats vignettes run your-own-questionnaire",
    ),
)
@click.argument("action", type=click.Choice(["list", "open", "run"]))
@click.argument("name", required=False, shell_complete=_complete)
@options.as_json
def vignettes(action: str, name: str | None, as_json: bool) -> None:
    """List the vignettes that came with the package, print one, or run its code.

    `run` runs the code of a vignette as it stands, on its simulated data, and prints what it prints; files that it
    writes go to a folder that is removed afterwards.
    """
    known = _vignettes()
    if action == "list":
        titles = {one: _title(file) for one, file in known.items()}
        width = max(map(len, titles), default=0)
        pipes.tell("\n".join(f"{one:{width}}  {words}" for one, words in titles.items()), titles, as_json=as_json)
        return
    if name is None or name not in known:
        raise click.UsageError(f"{f'no vignette {name!r}' if name else 'no name'}. Allowed: {', '.join(known)}.")
    text = known[name].read_text("utf-8")
    if action == "open":
        pipes.tell(text.rstrip(), {"name": name, "text": text}, as_json=as_json)
        return
    printed = []
    for code, output in _outputs(text):
        printed.append({"code": code, "output": output})
        if not as_json:
            click.echo("\n".join(f">>> {line}".rstrip() for line in code.splitlines()) + f"\n{output}")
    if as_json:
        click.echo(pipes.as_text(printed))


def _vignettes() -> Mapping[str, Traversable]:
    """Return the vignettes by name: those of the installed package, or of the checkout that it runs from."""
    packaged = files("ldpstats") / "data" / "vignettes"
    folder = packaged if packaged.is_dir() else Path(__file__).parents[2] / "vignettes"
    found = {file.name.removesuffix(".md"): file for file in folder.iterdir() if file.name.endswith(".md")}
    return dict(sorted(found.items()))


def _title(file: Traversable) -> str:
    return file.read_text("utf-8").partition("\n")[0].lstrip("# ")


def _outputs(text: str) -> Iterator[tuple[str, str]]:
    """Run the blocks of code in a text one after another; return each with what it prints."""
    names: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for code in _BLOCK.findall(text):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, "a vignette", "exec"), names)  # noqa: S102  # it came with the package
            yield code, printed.getvalue()
