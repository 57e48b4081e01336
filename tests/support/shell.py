"""The command line from Python: commands with what they are given, and steps that are piped."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from ldpstats.cli import main


def run(*arguments: str | Path, given: str | bytes | None = None) -> Result:
    """Run a command; `given` comes from standard input."""
    return CliRunner().invoke(main, list(map(str, arguments)), input=given)


def done(*arguments: str | Path, given: str | bytes | None = None) -> Result:
    """Run a command that must succeed."""
    result = run(*arguments, given=given)
    assert result.exit_code == 0, result.output
    return result


def piped(*steps: str, given: str | bytes | None = None) -> Result:
    """Run commands in a row, each of which reads what the one before wrote to standard output."""
    for step in steps:
        result = done(*step.split(), given=given)
        given = result.stdout_bytes
    return result
