"""The program: how every command ends, with a message instead of a traceback, and options that several share."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

import click
from click.exceptions import Exit
from click.shell_completion import CompletionItem

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
        with warnings.catch_warnings():  # printed as notes, without the place in the code that they come from
            warnings.showwarning = lambda message, *_, **__: click.echo(f"Note: {message}", err=True)
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


Command = TypeVar("Command", bound=Callable[..., Any])
Names: TypeAlias = tuple[str, ...]
"""What an option that comes again was given."""

FILE = click.Path(allow_dash=True)
"""The name of a file, completed by the shell; whether it can be read says who reads it."""


class MechanismName(click.types.StringParamType):
    """The name of a mechanism, completed by the shell but not checked here.

    With `auto` "auto" is one, too; with `files` the name of a file may stand there instead.
    """

    def __init__(self, *, auto: bool = False, files: bool = False) -> None:
        self._auto, self._files = auto, files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the names that begin with what was typed."""
        from ldpstats.mechanisms import registered_mechanisms

        names = [*(["auto"] if self._auto else []), *(kind.name for kind in registered_mechanisms())]
        completions = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*completions, CompletionItem(incomplete, type="file")] if self._files else completions


class Level(click.types.FloatParamType):
    """A privacy level: any number here; whoever uses it checks the range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse a number."""
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r}. Allowed: a number above 0, such as 2.", param, ctx)


def as_json(command: Command) -> Command:
    """Add the option --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def output(what: str) -> Callable[[Command], Command]:
    """Add the option --output; `what` is written, says its help."""
    return click.option("-o", "--output", required=True, type=FILE, help=f"{what}; - is standard output.")


def epsilon(command: Command) -> Command:
    """Add the option --epsilon."""
    return click.option("--epsilon", required=True, type=Level(), help="Strict privacy level of every respondent.")(
        command
    )


def seed(words: str) -> Callable[[Command], Command]:
    """Add the option --seed; `words` are its help."""
    return click.option("--seed", default=None, type=click.IntRange(min=0), help=words)


def questions(command: Command) -> Command:
    """Add the options --columns and --cut."""
    chosen = click.option(
        "--columns", multiple=True, help="Those to take, with commas between them; again for more.  [default: all]"
    )
    cut = click.option(
        "--cut",
        multiple=True,
        metavar="COLUMN=CLASSES",
        help="Put the numbers of a column into classes: age=5 makes five of about equal size, age=18,65 three with "
        "these limits; again for more columns.",
    )
    return chosen(cut(command))


def missing(command: Command) -> Command:
    """Add the option --missing: cells that are no answer."""
    return click.option(
        "--missing",
        multiple=True,
        help="A cell that is no answer, beside empty ones; again for more, and the same in every step.  [default: NA, "
        "N/A, n/a, NaN, nan, NULL, null, #N/A and -]",
    )(command)


def check_level(epsilon: float) -> None:
    """Refuse an invalid privacy level as wrong usage."""
    from ldpstats.mechanisms import mechanism

    with wrong_usage():
        mechanism("rr", k=2, epsilon=epsilon)


def cuts_as_texts(texts: Iterable[str]) -> dict[str, str]:
    """Return the classes of --cut options such as "age=18,65", by column, after checking that they can be parsed."""
    from ldpstats.answers.preparation import Cut

    cuts = {}
    with wrong_usage():
        for text in texts:
            name, equals, classes = text.rpartition("=")
            if not equals:
                raise LdpstatsError(f"--cut {text}", "COLUMN=CLASSES, such as age=5 or age=18,40,65")
            Cut.read(classes)
            cuts[name] = classes
    return cuts


def names_in(text: str, known: Iterable[str]) -> list[str]:
    """Split names at commas, unless the whole text is one of the known names.

    Examples
    --------
    >>> names_in("sex, age", ["sex", "age"]), names_in("city, country", ["city, country"])
    (['sex', 'age'], ['city, country'])
    """
    return [text] if text in known else [name.strip() for name in text.split(",")]


def examples(*lines: str) -> str:
    """Format examples as the end of a help text, a line each."""
    shown = "\n".join(f"  {line}" for line in lines)
    return f"\b\nExamples:\n{shown}"
