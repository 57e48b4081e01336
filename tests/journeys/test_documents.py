"""Documents with examples run, and print what they show; run as a script, this writes their outputs anew."""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "docs/how-to/answers-on-paper.md")
CODE = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", flags=re.DOTALL)


def rendered(text: str) -> str:
    """Run the python blocks of a document one after another, and put what each prints into the text block below it."""
    names: dict[str, Any] = {}

    def run(block: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block[1], "a document", "exec"), names)  # noqa: S102  # our own documents
        shown = "\n".join(line.rstrip() for line in printed.getvalue().splitlines())
        return f"```python\n{block[1]}```\n" + (f"\n```text\n{shown}\n```\n" if shown else "")

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        return CODE.sub(run, text)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_print_what_they_show(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert CODE.search(text), "a document without an example"
    assert rendered(text) == text


if __name__ == "__main__":
    os.chdir(ROOT)
    for document in map(Path, DOCUMENTS):
        document.write_text(rendered(document.read_text(encoding="utf-8")), encoding="utf-8")
