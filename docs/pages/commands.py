"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re

import click

from ldpstats.cli import main
from pages import markdown
from pages.staging import Staging

_NOT_WRAPPED = "\b"


def write_commands(pages: Staging) -> None:
    """Write the page of all commands.

    Parameters
    ----------
    pages : Staging
    """
    above = click.Context(main, info_name="ldpstats")
    found = {name: command for name in main.list_commands(above) if (command := main.get_command(above, name))}
    words = {name: markdown.plain(command.get_short_help_str(200)) for name, command in found.items()}
    rows = [[f"[`{name}`](#command-{name})", short] for name, short in words.items()]
    above_all = f"{main.help}\n\n{markdown.table(['command', 'what it does'], rows)}\n{_epilog(main)}"
    sections = [_section(name, command, above) for name, command in found.items()]
    pages.write("reference/command-line.md", "\n".join(["# The command line\n", above_all, *sections]))


def _section(name: str, command: click.Command, above: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=above)
    usage = " ".join(command.collect_usage_pieces(context))
    named = [one for one in command.params if isinstance(one, click.Option) and not one.hidden]
    rows = [_row(option, context) for option in named]
    table = markdown.table(["option", "what it is"], rows) if rows else ""
    heading = f"(command-{name})=\n## `ldpstats {name}`\n"
    shown = f"```text\nldpstats {name} {usage}\n```\n"
    return "\n".join([heading, _paragraphs(command.help or ""), shown, table, _epilog(command)])


def _row(option: click.Option, context: click.Context) -> list[str]:
    record = option.get_help_record(context)
    names, words = record or (" / ".join(option.opts), option.help or "")
    return [f"`{names}`", markdown.plain(words)]


def _paragraphs(text: str) -> str:
    """Return text for a terminal as Markdown: paragraphs that must not be wrapped are shown as they stand."""
    parts = [part for part in re.split(r"\n\s*\n", text.strip("\n")) if part.strip()]
    return "\n\n".join(_paragraph(part) for part in parts) + "\n"


def _paragraph(part: str) -> str:
    lines = part.strip("\n").splitlines()
    if lines[0].strip() == _NOT_WRAPPED and any(line.startswith(" ") for line in lines[2:]):
        heading, rest = markdown.plain(lines[1]), "\n".join(lines[2:])
        return f"{heading}\n\n```text\n{rest}\n```" if rest else heading
    return markdown.plain(" ".join(line.strip() for line in lines).removeprefix(_NOT_WRAPPED).strip())


def _epilog(command: click.Command) -> str:
    return _paragraphs(command.epilog) if command.epilog else ""
