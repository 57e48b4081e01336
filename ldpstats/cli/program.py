"""The program: how every command ends, with an exit code and a message instead of a traceback."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click
from click.exceptions import Exit

from ldpstats.errors import LdpstatsError

DEFECT, USAGE, BAD_DATA, UNFORESEEN, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 70, 130, 141
_TRACEBACK = "LDPSTATS_TRACEBACK"


class Program(click.Group):
    """A group of commands that ends with the exit codes that its help states, whatever happens in a command."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # as click calls it
        **extra: Any,
    ) -> Any:
        """Run a command and end the process; without `standalone_mode` errors are raised, and the process goes on."""

        def run() -> Any:
            return super(Program, self).main(args, prog_name, complete_var, standalone_mode=False, **extra)

        if not standalone_mode:
            return run()
        sys.exit(_ended(run))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's
        """Return the commands in the order in which people need them."""
        return list(self.commands)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the arguments; a broken pipe while help is printed is no error."""
        with _quiet_pipe():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; a broken pipe while it prints is no error."""
        with _quiet_pipe():
            return super().invoke(ctx)


@contextlib.contextmanager
def wrong_usage() -> Iterator[None]:
    """Turn errors of the package into usage errors, where only an argument can be wrong."""
    try:
        yield
    except LdpstatsError as error:
        raise click.UsageError(str(error)) from error


@contextlib.contextmanager
def _quiet_pipe() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        # what is left in the buffer would be complained about when Python ends
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise Exit(BROKEN_PIPE) from error


def _ended(run: Callable[[], Any]) -> int:
    """Run a command, print its error if there is one, and return the exit code."""
    try:
        # letters that the terminal's encoding does not have are spelt out
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError, OSError):
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # of what is replaced by tests
        with _warnings_as_notes():
            code = run()
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except Exception as error:
        words, code = _told(error)
        if code == UNFORESEEN and os.environ.get(_TRACEBACK):
            raise
        from ldpstats.presentation.formats import visible

        with contextlib.suppress(OSError):
            click.echo(f"Error: {visible(words)}", err=True)
        return code


def _told(error: Exception) -> tuple[str, int]:
    """Return the message of an error, and the exit code."""
    if isinstance(error, click.Abort):  # of which click has two kinds
        if isinstance(error.__cause__, EOFError):
            return "an input that ends too early", BAD_DATA
        return "interrupted", INTERRUPTED
    if isinstance(error, LdpstatsError):
        return str(error), BAD_DATA
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"the file {str(error.filename)!r}: "
        missed = isinstance(error, (FileNotFoundError, IsADirectoryError, PermissionError))
        allowed = ". Allowed: a file that is there and may be read." if where and missed else ""
        return f"{where}{error.strerror or error}{allowed}", BAD_DATA
    if isinstance(error, MemoryError):
        return "there is not enough memory for this", BAD_DATA
    said = f"something nobody foresaw ({type(error).__name__}: {error})"
    return f"{said}. Please report it; {_TRACEBACK}=1 in the environment says where it happened.", UNFORESEEN


@contextlib.contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Print warnings as notes, without the place in the code that they come from."""

    def shown(message: Warning | str, *_: Any, **__: Any) -> None:
        click.echo(f"Note: {message}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = shown
        yield
