"""The command line: all commands of `ldpstats` as one program, with what its help says about files and exit codes."""

from __future__ import annotations

import click

from ldpstats import __version__
from ldpstats.cli.answering import analyse, demo, domain, privatize
from ldpstats.cli.collecting import merge, protocol, tables
from ldpstats.cli.inferring import effects, network, report, test
from ldpstats.cli.inspecting import audit, mechanisms, plan, show
from ldpstats.cli.program import Program
from ldpstats.cli.reading_vignettes import vignettes

_ENDS = """\b
From data to a report, step by step (or in one: ldpstats analyse answers.csv --epsilon 2):
  ldpstats domain answers.csv -o domain.json
  ldpstats protocol domain.json --epsilon 2 -o protocol.json
  ldpstats privatize answers.csv --protocol protocol.json -o reports.csv
  ldpstats tables reports.csv --protocol protocol.json -o tables.json
  ldpstats test tables.json
  ldpstats report tables.json -o report.html

\b
A file named - is standard input or output, so that steps can be piped:
  ldpstats privatize answers.csv --protocol protocol.json -o - |
    ldpstats tables - --protocol protocol.json -o - | ldpstats test - sex age --json

\b
Exit codes: 0 done (also where a test rejects); 1 `audit` or `show` found a
defect; 2 wrong usage; 3 data or a file that cannot be used; 130 interrupted.

\b
Completion of commands, options, files and names (bash; zsh and fish alike):
  eval "$(_LDPSTATS_COMPLETE=bash_source ldpstats)"
"""


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_ENDS,
    commands=[
        *(analyse, domain, protocol, privatize, tables, merge),
        *(test, effects, network, report),
        *(show, audit, mechanisms, plan, demo, vignettes),
    ],
)
@click.version_option(__version__)
def main() -> None:
    """The statistics of privatized categorical data."""
