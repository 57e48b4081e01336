"""Pipes: files, or standard input and output where a name is `-`."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import click

from ldpstats.errors import LdpstatsError, shortened

STANDARD = "-"
_EXACT = (1 << 53) - 1
"""Longer whole numbers are rounded wherever numbers of JSON are doubles."""


def refuse_two_inputs(*names: str) -> None:
    """Refuse to read two files from standard input."""
    if names.count(STANDARD) > 1:
        raise click.UsageError("Standard input ('-') can be one file only. Name the others.")


def bytes_stream(stream: TextIO | None) -> BinaryIO:
    """Return the binary stream under standard input or output; refuse one that the shell has closed."""
    binary: BinaryIO | None = getattr(stream, "buffer", None)
    if binary is None:
        raise LdpstatsError("standard input or output that is closed", "an open one, or the name of a file instead")
    return binary


def bytes_of(name: str, most: int) -> bytes:
    """Read a file or standard input, up to `most` bytes."""
    from ldpstats.limits import bytes_of_file, enough_memory

    if name != STANDARD:
        return bytes_of_file(name, most)
    with enough_memory("standard input"):
        given = bytes_stream(sys.stdin).read(most + 1)
    if len(given) > most:
        raise LdpstatsError("standard input of too many bytes", f"up to {most:,}")
    return given


def named(name: str) -> str:
    """Return what messages call a file."""
    return "standard input" if name == STANDARD else f"the file {shortened(name, 200)}"


def write_to(name: str, text: str) -> None:
    """Write a text to a file, whole or not at all, or to standard output."""
    if name != STANDARD:
        from ldpstats.saving.files import write

        write(name, text)
        return
    stream = bytes_stream(sys.stdout)
    stream.write(text.encode() if text.endswith("\n") else f"{text}\n".encode())
    stream.flush()


def refuse_unwritable(name: str | None, kind: str | None) -> None:
    """Refuse, before the work, the name of a file that cannot be written; only files of `kind` may be replaced."""
    if name not in (None, STANDARD):
        from ldpstats.saving.files import refuse_unwritable as refuse

        refuse(name, kind)


def tell(words: object, plain: Any, *, as_json: bool, output: str = "") -> None:
    """Print the result, as words or JSON, on standard output; on standard error where `output` is standard output."""
    from ldpstats.presentation.formats import visible

    # names of files and columns are among the words: none of them steers the terminal
    text = as_text(plain) if as_json else "\n".join(map(visible, str(words).split("\n")))
    click.echo(text, err=output == STANDARD)


def note(words: str) -> None:
    """Print a note on standard error."""
    from ldpstats.presentation.formats import visible

    click.echo(f"Note: {visible(words)}", err=True)


def as_text(plain: Any) -> str:
    """Format plain values as JSON: nan and inf as null, whole numbers beyond 2^53 as texts.

    Examples
    --------
    >>> print(as_text({"p": float("nan"), "seed": 1 << 60}))
    {
     "p": null,
     "seed": "1152921504606846976"
    }
    """
    return json.dumps(_kept(plain), indent=1, ensure_ascii=False, allow_nan=False)


def written_as(name: str) -> str:
    """Return where a file was written, for messages."""
    return "standard output" if name == STANDARD else str(Path(name))


def without_pictures() -> str:
    """Return a remark that the page has no pictures, and why; empty if it has some."""
    from ldpstats.report.content import can_draw

    return "" if can_draw() else " (without pictures: these need pip install 'ldpstats[plots]')"


def _kept(plain: Any) -> Any:
    """Replace values that not every reader of JSON keeps: nan, inf, and long whole numbers."""
    if isinstance(plain, dict):
        return {key: _kept(value) for key, value in plain.items()}
    if isinstance(plain, (list, tuple)):
        return [_kept(value) for value in plain]
    if isinstance(plain, int) and abs(plain) > _EXACT:
        return str(plain)
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
