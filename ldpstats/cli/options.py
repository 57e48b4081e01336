"""Options that several commands share, and what the shell completes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ldpstats.cli.program import wrong_usage
from ldpstats.errors import LdpstatsError

Command = TypeVar("Command", bound=Callable[..., Any])

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
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")] if self._files else found


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
