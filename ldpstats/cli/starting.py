"""Commands to start with: a demonstration, and a plan of one's own survey."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpstats.cli import options, pipes
from ldpstats.cli.expected import saved_domain
from ldpstats.cli.options import FILE, MechanismName, examples
from ldpstats.cli.program import wrong_usage
from ldpstats.errors import LdpstatsError

if TYPE_CHECKING:
    from ldpstats.demo import Demonstration

_DEMO_PAGE = "ldpstats-demo.html"
_NETWORKS = "survey, asia, sachs, child or alarm"


@click.command(
    short_help="A sensitive question, asked and tested privately.",
    epilog=examples("ldpstats demo", "ldpstats demo --network asia --n 20000 --epsilon 1 --json"),
)
@click.option("--network", "name", default=None, help=f"Ask respondents of a network instead: {_NETWORKS}.")
@click.option("--n", default=100_000, show_default=True, type=click.IntRange(min=1), help="How many respondents.")
@click.option(
    "--epsilon", default=2.0, show_default=True, type=options.Level(), help="Strict privacy level of every respondent."
)
@click.option(
    "--mechanism",
    default="auto",
    show_default=True,
    type=MechanismName(auto=True),
    help="A name from `ldpstats mechanisms`, or auto.",
)
@click.option(
    "--seed",
    default=1,
    show_default=True,
    type=click.IntRange(min=0),
    help="The demonstration is a simulation: same seed, same result.",
)
@click.option(
    "--report",
    default=None,
    type=FILE,
    help=f"Where to write all of it as a page; - is standard output.  [default: {_DEMO_PAGE} here, with text and where "
    "matplotlib is]",
)
@click.option("--no-report", is_flag=True, help="Write no page.")
@options.as_json
def demo(report: str | None, no_report: bool, as_json: bool, **asked: Any) -> None:
    """A sensitive question, from what leaves a phone to the tests of all pairs, beside the true answers."""
    from ldpstats.demo import demonstrate

    if report and no_report:
        raise click.UsageError("--report and --no-report: give one of the two.")
    pipes.refuse_unwritable(report, "report")
    with wrong_usage():
        shown = demonstrate(**asked)
    pipes.tell(shown, shown.to_dict() if as_json else None, as_json=as_json, output=report or "")
    if report:
        pipes.write_to(report, shown.page())
    if not (no_report or as_json):
        where = pipes.written_as(report) if report else _usual_page(shown)
        click.echo(f"This demonstration on such a page: {where}", err=report == pipes.STANDARD)


def _usual_page(shown: Demonstration) -> str:
    """Write the demonstration's page under its usual name; return where it is, or why there is none."""
    if find_spec("matplotlib") is None:
        return "needs its pictures: pip install 'ldpstats[plots]'"
    try:
        shown.report(Path(_DEMO_PAGE))
    except LdpstatsError as error:
        return f"not written: {error}"
    return _DEMO_PAGE


@click.command(
    short_help="How many respondents, which level or what power.",
    epilog=examples(
        "ldpstats plan --shape 4x4 --effect 0.1 --power 0.8 --epsilon 1",
        "ldpstats plan --domain domain.json --epsilon 2 --n 20000",
    ),
)
@click.option("--shape", default=None, help="The categories of a table's attributes, such as 4x4.")
@click.option(
    "--domain",
    default=None,
    type=FILE,
    help="Instead of a shape: a file with a domain as JSON; all its pairs are asked for, one of each respondent.",
)
@click.option(
    "--effect",
    default=None,
    type=float,
    help="Cramér's V; Cohen's w unless there are two attributes.  [default: 0.1]",
)
@click.option(
    "--mutual-information", default=None, type=float, help="Instead of an effect: nats that two attributes share."
)
@click.option(
    "--conditional",
    is_flag=True,
    help="Test two attributes given the others: the first two of a shape; of a domain every two of each triple.",
)
@click.option(
    "--power", default=None, type=float, help="The power wanted.  [default: 0.8 unless n and epsilon are given]"
)
@click.option("--alpha", default=0.05, show_default=True, help="The level; for pairs, of all together (Holm).")
@click.option("--epsilon", default=None, type=options.Level(), help="Strict privacy level of every respondent.")
@click.option("--n", default=None, type=click.IntRange(min=1), help="How many respondents.")
@click.option(
    "--mechanism",
    multiple=True,
    type=MechanismName(),
    help="A name from `ldpstats mechanisms`; again for more.  [default: all]",
)
@options.as_json
def plan(shape: str | None, domain: str | None, mechanism: tuple[str, ...], as_json: bool, **asked: Any) -> None:
    """How many respondents, which level or what power: give two of the three."""
    from ldpstats.inference import plan as planned

    if (shape is None) == (domain is None):
        raise click.UsageError(f"{'a shape and' if shape else 'neither a shape nor'} a domain: give one of the two.")
    table = _shape(shape or "") if domain is None else saved_domain(domain)
    with wrong_usage():
        found = planned(mechanism or None, table, **asked)
    pipes.tell(found.summary(), found.to_dict(), as_json=as_json)


def _shape(text: str) -> tuple[int, ...]:
    """Parse a shape such as 4x4."""
    try:
        return tuple(int(side) for side in text.split("x"))
    except ValueError as error:
        raise click.UsageError(
            f"the shape {text!r}. Allowed: numbers of categories with an x between them, such as 4x4."
        ) from error
