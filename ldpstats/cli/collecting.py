"""Commands that collect: answers become categories, a protocol, reports and tables, each in a file."""

from __future__ import annotations

from typing import Any

import click

from ldpstats.cli import pipes, program
from ldpstats.cli.contents import REPORTS, expected, saved_domain, saved_protocol, saved_tables
from ldpstats.cli.program import FILE, MechanismName, examples, wrong_usage
from ldpstats.errors import LdpstatsError

KINDS = ("sampled groups", "whole view", "product domain", "per attribute", "hadamard coefficients", "rrba")
"""The kinds of protocols whose respondents randomize their answers; here, so that help needs no other module."""


@click.command(
    short_help="Say who is asked what, and how it is randomized.",
    epilog=examples(
        "ldpstats protocol domain.json --epsilon 2 -o protocol.json",
        "ldpstats protocol domain.json --epsilon 2 --groups sex,age --groups sex,income -o protocol.json",
        "ldpstats domain answers.csv -o - | ldpstats protocol - --epsilon 2 -o protocol.json",
    ),
)
@click.argument("domain", type=FILE)
@program.epsilon
@click.option("--k", default=None, type=click.IntRange(min=1), help="How many attributes are asked for together.")
@click.option("--groups", multiple=True, help="Attributes asked for together, as sex,age; again for more groups.")
@click.option("--mechanism", default=None, type=MechanismName(auto=True), help="As `ldpstats mechanisms` names them.")
@click.option(
    "--outside",
    default="refuse",
    show_default=True,
    type=click.Choice(["refuse", "random"]),
    help="What becomes of missing and unknown answers: an error, or a random category.",
)
@click.option("--kind", default=KINDS[0], show_default=True, type=click.Choice(KINDS), help="Who is asked what.")
@program.output("The protocol file")
@program.as_json
def protocol(domain: str, kind: str, output: str, as_json: bool, groups: tuple[str, ...], **asked: Any) -> None:
    """Say who is asked what, and how the answers are randomized: all that respondents' devices need."""
    from ldpstats.protocols.kinds import PROTOCOLS

    known = saved_domain(domain)
    given = {name: value for name, value in asked.items() if value is not None}
    if groups:
        given["groups"] = [program.names_in(group.replace(" × ", ","), known.names) for group in groups]
    with wrong_usage():
        try:
            made: Any = PROTOCOLS[kind](known, **given)  # type: ignore[call-arg]  # every kind takes a domain
        except TypeError as error:  # such as groups for a product domain
            raise LdpstatsError(f"options that {kind!r} does not have ({error})", "those of its class") from error
    pipes.write_to(output, made.to_json())
    plain = {"kind": kind, "fingerprint": made.fingerprint(), "privacy": made.privacy().to_dict(), "output": output}
    pipes.tell(made.summary(), plain, as_json=as_json, output=output)


@click.command(
    short_help="Add up the tables of different respondents.",
    epilog=examples(
        "ldpstats merge monday.json tuesday.json -o both.json",
        "ldpstats merge *.tables.json -o - | ldpstats test -",
    ),
)
@click.argument("tables", nargs=-1, required=True, type=FILE)
@program.output("All tables, added up")
@program.as_json
def merge(tables: tuple[str, ...], output: str, as_json: bool) -> None:
    """Add up the tables of different respondents, to the last count; nobody is counted twice.

    Each file is taken for one collector: where the counts of one differ from those of the others, the tables say so.
    """
    pipes.refuse_two_inputs(*tables)
    twice = [name for name in dict.fromkeys(tables) if tables.count(name) > 1]
    if twice:
        raise click.UsageError(f"{pipes.named(twice[0])}, named twice. Allowed: each file once.")
    from ldpstats.inference import merge as merged

    sets = [saved_tables(name) for name in tables]
    _write_tables(sets[0] if len(sets) == 1 else merged(sets, tables), output, as_json=as_json)


@click.command(
    short_help="Count reports, each of them checked.",
    epilog=examples(
        "ldpstats tables reports.csv --protocol protocol.json -o tables.json",
        "ldpstats tables *.parquet --protocol protocol.json --quarantine bad.csv --resume count.json -o tables.json",
        "ldpstats tables reports/*.parquet --protocol protocol.json --scheduler tcp://10.0.0.1:8786 -o tables.json",
        "ldpstats tables monday.csv tuesday.csv --protocol protocol.json -o - | ldpstats test -",
    ),
)
@click.argument("reports", nargs=-1, required=True, type=FILE)
@click.option("--protocol", required=True, type=FILE, help="The protocol file.")
@click.option(
    "--quarantine",
    default=None,
    type=FILE,
    help="Write rows that cannot be counted there, with reasons; results say how many. Without it they are errors.",
)
@click.option(
    "--tokens",
    default="refuse",
    show_default=True,
    type=click.Choice(["refuse", "once"]),
    help="A respondent's token that comes twice: an error, or the first counts.",
)
@click.option(
    "--resume",
    default=None,
    type=FILE,
    help="A file that keeps how far counting is: the same command goes on from there after an interruption.",
)
@click.option(
    "--scheduler", default=None, metavar="ADDRESS", help="Count on the workers of this Dask scheduler, tcp://HOST:PORT."
)
@program.output("The tables")
@program.as_json
def tables(reports: tuple[str, ...], protocol: str, output: str, as_json: bool, **asked: Any) -> None:
    """Count reports, each of them checked: what the protocol cannot have produced is refused, naming it.

    REPORTS are files of `ldpstats privatize`, as Parquet or CSV, or messages of clients, one JSON object per line.
    They may be larger than memory. Ends with 0 also where reports do not fit their channel: the tables say so, and
    `ldpstats show` ends with 1.
    """
    from ldpstats.io import tables_of

    pipes.refuse_two_inputs(protocol, *reports)
    if pipes.STANDARD in (asked["quarantine"], asked["resume"]):
        raise click.UsageError("--quarantine and --resume name files: - is none.")
    if output in (asked["quarantine"], asked["resume"]):
        raise click.UsageError("--output, --quarantine and --resume name different files.")
    pipes.refuse_unwritable(output, "table set")
    known = saved_protocol(protocol)
    with expected(REPORTS, *reports):
        counted = tables_of(list(reports), known, **asked)
    _write_tables(counted, output, as_json=as_json)


def _write_tables(tables: Any, output: str, *, as_json: bool) -> None:
    pipes.write_to(output, tables.to_json())
    plain = {"tables": len(tables), "n": tables.n, "simulated": tables.simulated, "output": output}
    pipes.tell(tables.summary(), plain, as_json=as_json, output=output)
