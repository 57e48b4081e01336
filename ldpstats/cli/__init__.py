"""The command line: `ldpstats COMMAND`, a module per family of commands."""

from ldpstats.cli.commands import main

__all__ = ["main"]
