"""Commands on a page, run when the site is made, with what they print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from ldpstats.datasets import affairs
from pages.places import ROOT

_BLOCK = re.compile(r"```console\n(.*?)```\n", flags=re.DOTALL)
_PROMPT = "$ "
_LINES = 60


def with_output(text: str) -> tuple[str, dict[str, bytes]]:
    """Run the commands of a page one after another; return it with their output, and the HTML pages that they wrote.

    The folder that they run in has one file, `answers.csv`: what people answered in `ldpstats.datasets.affairs`.

    Parameters
    ----------
    text : str
        Markdown; commands stand in blocks of the language "console", each behind a dollar sign.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        affairs().to_csv(folder / "answers.csv", index=False)
        shown = _BLOCK.sub(lambda block: f"```console\n{_session(block[1], folder)}```\n", text)
        return shown, {path.name: path.read_bytes() for path in sorted(folder.glob("*.html"))}


def _session(commands: str, folder: Path) -> str:
    lines = []
    for line in commands.splitlines():
        command = line.removeprefix(_PROMPT)
        lines += [line, *_printed(command, folder)]
    return "\n".join(lines) + "\n"


def _printed(command: str, folder: Path) -> list[str]:
    """Return what a command prints; one that fails stops the making of the site."""
    program, *arguments = shlex.split(command)
    known = {"ldpstats": [sys.executable, "-m", "ldpstats"], "head": ["head"]}
    done = subprocess.run(  # noqa: S603  # commands of our own pages
        [*known[program], *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{command}\n{done.stdout}{done.stderr}")
    lines = done.stdout.rstrip().splitlines()
    return [*lines[:_LINES], "..."] if len(lines) > _LINES else lines
