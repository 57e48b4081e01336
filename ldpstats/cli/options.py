"""Options that several commands share, and what the shell completes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(allow_dash=True)
"""The name of a file, completed by the shell; whether it can be read says who reads it."""


class MechanismName(click.types.StringParamType):
    """The name of a mechanism, completed by the shell; whether there is one of that name says who makes it.

    Parameters
    ----------
    auto : bool
        Whether "auto" is one, too.
    files : bool
        Whether the name of a file may stand there instead.
    """

    def __init__(self, *, auto: bool = False, files: bool = False) -> None:
        self._auto, self._files = auto, files

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Return the names that begin so."""
        from ldpstats.mechanisms import registered_mechanisms

        names = [*(["auto"] if self._auto else []), *(kind.name for kind in registered_mechanisms())]
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")] if self._files else found


def as_json(command: Command) -> Command:
    """Let a command print JSON.

    Parameters
    ----------
    command : callable
    """
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


def output(what: str) -> Callable[[Command], Command]:
    """Let a command write a file.

    Parameters
    ----------
    what : str
        What is written.
    """
    return click.option("-o", "--output", required=True, type=FILE, help=f"{what}; - is standard output.")


def epsilon(command: Command) -> Command:
    """Ask for the privacy level.

    Parameters
    ----------
    command : callable
    """
    return click.option("--epsilon", required=True, type=float, help="Strict privacy level of every respondent.")(
        command
    )


def seed(words: str) -> Callable[[Command], Command]:
    """Let a command simulate.

    Parameters
    ----------
    words : str
        What becomes of it with a seed, and without.
    """
    return click.option("--seed", default=None, type=click.IntRange(min=0), help=words)


def names_in(text: str, known: Iterable[str]) -> list[str]:
    """Return the names that stand between commas; a text that is a name itself is that alone.

    Parameters
    ----------
    text : str
    known : iterable of str

    Examples
    --------
    >>> names_in("sex, age", ["sex", "age"]), names_in("city, country", ["city, country"])
    (['sex', 'age'], ['city, country'])
    """
    return [text] if text in known else [name.strip() for name in text.split(",")]


def examples(*lines: str) -> str:
    """Return examples as the end of a help text, a line each.

    Parameters
    ----------
    *lines : str
    """
    shown = "\n".join(f"  {line}" for line in lines)
    return f"\b\nExamples:\n{shown}"
