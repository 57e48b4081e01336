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
    """Refuse to read two things from standard input.

    Parameters
    ----------
    *names : str
        Of files that a command reads.
    """
    if names.count(STANDARD) > 1:
        raise click.UsageError("Standard input ('-') can be one file only. Name the others.")


def bytes_stream(stream: TextIO | None) -> BinaryIO:
    """Return what takes or gives the bytes of standard input or output, which a shell can close.

    Parameters
    ----------
    stream : TextIO or None
    """
    found: BinaryIO | None = getattr(stream, "buffer", None)
    if found is None:
        raise LdpstatsError("standard input or output that is closed", "an open one, or the name of a file instead")
    return found


def bytes_of_input(most: int) -> bytes:
    """Return what comes from standard input.

    Parameters
    ----------
    most : int
        More bytes are refused.
    """
    from ldpstats.limits import enough_memory

    with enough_memory("standard input"):
        given = bytes_stream(sys.stdin).read(most + 1)
    if len(given) > most:
        raise LdpstatsError("standard input of too many bytes", f"up to {most:,}")
    return given


def bytes_of(name: str, most: int) -> bytes:
    """Return what is in a file, or comes from standard input.

    Parameters
    ----------
    name : str
    most : int
        More bytes are refused.
    """
    if name == STANDARD:
        return bytes_of_input(most)
    from ldpstats.limits import bytes_of_file

    return bytes_of_file(name, most)


def named(name: str) -> str:
    """Return what messages call a file.

    Parameters
    ----------
    name : str
    """
    return "standard input" if name == STANDARD else f"the file {shortened(name, 200)}"


def saved_object(name: str) -> Any:
    """Return the object that a file, or standard input, holds.

    Parameters
    ----------
    name : str
    """
    from ldpstats.limits import LARGEST_FILE
    from ldpstats.loading import load, loaded

    if name != STANDARD:
        return load(name)
    try:
        return loaded(bytes_of_input(LARGEST_FILE).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise LdpstatsError("standard input that is no text in UTF-8", "a saved object") from error
    except LdpstatsError as error:
        raise type(error)(f"standard input: {error.came}", error.allowed, error.advice) from error


def write_to(name: str, text: str) -> None:
    """Write a text to a file as a whole, or to standard output.

    Parameters
    ----------
    name : str
    text : str
    """
    if name != STANDARD:
        from ldpstats.saving import write

        write(name, text)
        return
    stream = bytes_stream(sys.stdout)
    stream.write(text.encode() if text.endswith("\n") else f"{text}\n".encode())
    stream.flush()


def refuse_unwritable(name: str | None, kind: str | None) -> None:
    """Refuse the name of a file that could not be written, before the work.

    Parameters
    ----------
    name : str, optional
    kind : str, optional
        What the file will say that it is; None of one that takes the place of no other.
    """
    if name not in (None, STANDARD):
        from ldpstats.saving import refuse_unwritable as refuse

        refuse(name, kind)


def tell(words: object, plain: Any, *, as_json: bool, output: str = "") -> None:
    """Print what a command has to say: on standard output, or beside it where that carries a file.

    Parameters
    ----------
    words : object
        For people.
    plain : dict or list
        The same as plain values.
    as_json : bool
        Whether a program reads it.
    output : str
        Where the command wrote its file.
    """
    from ldpstats.presentation.text import visible

    # names of files and columns are among the words: none of them steers the terminal
    text = as_text(plain) if as_json else "\n".join(map(visible, str(words).split("\n")))
    click.echo(text, err=output == STANDARD)


def note(words: str) -> None:
    """Print a line that people must know, beside the output.

    Parameters
    ----------
    words : str
    """
    from ldpstats.presentation.text import visible

    click.echo(f"Note: {visible(words)}", err=True)


def as_text(plain: Any) -> str:
    """Return plain values as JSON: null for what JSON has no number for, texts for whole numbers that are rounded.

    Parameters
    ----------
    plain : dict or list

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
    """Say where a file was written.

    Parameters
    ----------
    name : str
    """
    return "standard output" if name == STANDARD else str(Path(name))


def without_pictures() -> str:
    """Say behind the name of a page why it has no pictures, if it has none."""
    from ldpstats.report.page import can_draw

    return "" if can_draw() else " (without pictures: these need pip install 'ldpstats[plots]')"


def _kept(plain: Any) -> Any:
    """Return values that every reader of JSON keeps: no numbers that are none, and long whole ones as texts."""
    if isinstance(plain, dict):
        return {key: _kept(value) for key, value in plain.items()}
    if isinstance(plain, (list, tuple)):
        return [_kept(value) for value in plain]
    if isinstance(plain, int) and abs(plain) > _EXACT:
        return str(plain)
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
