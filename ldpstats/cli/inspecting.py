"""Commands that inspect and plan: what files hold, what mechanisms claim and cost, how many respondents it takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.exceptions import Exit

from ldpstats.cli import pipes, program
from ldpstats.cli.contents import saved_domain, saved_protocol
from ldpstats.cli.program import DEFECT, FILE, MechanismName, examples, wrong_usage
from ldpstats.errors import LdpstatsError

if TYPE_CHECKING:
    import pandas as pd

    from ldpstats.attacks.auditing import Audit
    from ldpstats.mechanisms import Mechanism


@click.command(
    short_help="List the mechanisms: privacy, cost, variance.",
    epilog=examples("ldpstats mechanisms --k 4 --epsilon 2", "ldpstats mechanisms --json"),
)
@click.option("--k", default=16, show_default=True, type=click.IntRange(min=2), help="How many values.")
@click.option("--epsilon", default=1.0, show_default=True, type=program.Level(), help="The privacy level asked for.")
@program.as_json
def mechanisms(k: int, epsilon: float, as_json: bool) -> None:
    """List the mechanisms with their exact privacy, cost and variance."""
    from ldpstats.mechanisms import mechanisms as all_mechanisms
    from ldpstats.presentation import plain_rows

    with wrong_usage():
        listed = all_mechanisms(k, epsilon)
    plain = plain_rows(listed)
    listed["name"] += [f" (k = {own})" if own != k else "" for own in listed["k"]]
    listed["epsilon"] = listed["epsilon"].map("{:.4f}".format)
    listed["variance"] = listed["variance"].map("{:.3f}".format)
    shown = listed[["name", "epsilon", "bits", "variance", "purpose", "aliases", "source"]]
    columns = _columns(
        shown.rename(columns={"variance": "n x variance", "purpose": "for", "aliases": "also known as"}).astype(str)
    )
    legend = (
        "epsilon: strict, for all that a respondent sends about one value; bits: per report; "
        "\nn x variance: of the unbiased frequency of a value that one respondent in k has."
    )
    pipes.tell(f"Mechanisms for {k} values at epsilon = {epsilon:g}\n{columns}\n\n{legend}", plain, as_json=as_json)


def _columns(frame: pd.DataFrame) -> str:
    """Format a table of texts: figures to the right, words to the left."""
    widths = [max(len(name), *map(len, frame[name])) for name in frame.columns]
    rows = [list(frame.columns), *frame.itertuples(index=False)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if name in ("epsilon", "bits", "n x variance") else text.ljust(width)
            for name, text, width in zip(frame.columns, row, widths, strict=True)
        ).rstrip()
        for row in rows
    )


@click.command(
    short_help="What mechanisms claim to spend, and do spend.",
    epilog=examples(
        "ldpstats audit grr --k 4 --epsilon 2",
        "ldpstats audit protocol.json                   (the mechanisms of a protocol)",
        "ldpstats audit --all --settings 5 --json",
    ),
)
@click.argument("name", required=False, type=MechanismName(files=True))
@click.option("--all", "every", is_flag=True, help="All mechanisms, instead of one by name.")
@click.option("--k", default=16, show_default=True, help="How many values; of a walk, the most.")
@click.option(
    "--epsilon",
    default=1.0,
    show_default=True,
    type=program.Level(),
    help="The privacy level asked for; of a walk, the highest.",
)
@click.option(
    "--settings",
    default=None,
    type=click.IntRange(min=1),
    help="A walk: so many settings of k and epsilon, along a Halton sequence.  [default: the one that is given]",
)
@click.option("--n", default=100_000, show_default=True, help="How many reports to draw, in each setting.")
@click.option("--confidence", default=0.99, show_default=True, help="Of all that reports show, together.")
@program.seed("Simulate; else the reports are secure ones.")
@program.as_json
def audit(name: str | None, every: bool, as_json: bool, settings: int | None, **asked: Any) -> None:
    """What a mechanism, or those of a protocol file, claim to spend, what they spend exactly, and what reports show.

    Ends with 0 where nothing contradicts the claims, with 1 where something does, with 2 if it cannot be asked so.
    """
    if every == (name is not None):
        raise click.UsageError("Give a name, the file of a protocol, or --all: one of the three.")
    is_file = name is not None and (name == pipes.STANDARD or Path(name).exists() or name.endswith(".json"))
    of_file = _mechanisms_of(name or "") if is_file else None
    with wrong_usage():
        audits = _audited(name, of_file, settings, **asked)
    plain = [audit.to_dict() for audit in audits]
    walked = every or settings is not None or of_file is not None
    words = "\n".join(audit.headline for audit in audits) if walked else audits[0].summary()
    pipes.tell(words, plain if walked else plain[0], as_json=as_json)
    if any(audit.failures for audit in audits):
        raise Exit(DEFECT)


def _mechanisms_of(name: str) -> list[Mechanism]:
    """Return the different mechanisms of a protocol in a file."""
    protocol = saved_protocol(name)
    used = dict.fromkeys(map(protocol.mechanism_for, getattr(protocol, "groups", ())))
    if not used:
        raise LdpstatsError(f"the protocol in {name!r} without groups", "one whose groups have mechanisms")
    return list(used)


def _audited(
    name: str | None,
    given: list[Mechanism] | None,
    settings: int | None,
    k: int,
    epsilon: float,
    n: int,
    confidence: float,
    seed: int | None,
) -> list[Audit]:
    """Audit mechanisms, in one setting or along a walk, with a Bonferroni share of the error for each audit."""
    from ldpstats.attacks.auditing import audit as audit_one, audits
    from ldpstats.mechanisms import mechanism, registered_mechanisms

    if given is not None:
        each = 1 - (1 - confidence) / len(given)
        return [audit_one(single, n, each, seed) for single in given]
    kinds = registered_mechanisms() if name is None else (type(mechanism(name, k=k, epsilon=epsilon)),)
    each = 1 - (1 - confidence) / len(kinds)
    if settings is not None:
        walks = (audits(kind, settings, k, epsilon, n, each, seed) for kind in kinds)
        return [result for walk in walks for result in walk]
    made = (mechanism(kind.name, k=kind.only_k or k if name is None else k, epsilon=epsilon) for kind in kinds)
    return [audit_one(single, n, each, seed) for single in made]


@click.command(epilog=examples("ldpstats show tables.json", "ldpstats show - --json < protocol.json"))
@click.argument("file", type=FILE)
@program.as_json
def show(file: str, as_json: bool) -> None:
    """Say what a file holds, and what that says.

    A domain, a protocol, tables, any other saved object, reports, a page, or a network as BIF. Ends with 1 if the file
    was changed, damaged or cut short after it was written, or if its reports cannot have come through their channel;
    with 3 if it is no file of ldpstats.
    """
    from ldpstats.cli.contents import contents_of

    contents = contents_of(file)
    pipes.tell(contents.words, contents.plain, as_json=as_json)
    if contents.defects:
        raise Exit(DEFECT)


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
@click.option("--epsilon", default=None, type=program.Level(), help="Strict privacy level of every respondent.")
@click.option("--n", default=None, type=click.IntRange(min=1), help="How many respondents.")
@click.option(
    "--mechanism",
    multiple=True,
    type=MechanismName(),
    help="A name from `ldpstats mechanisms`; again for more.  [default: all]",
)
@program.as_json
def plan(shape: str | None, domain: str | None, mechanism: tuple[str, ...], as_json: bool, **asked: Any) -> None:
    """How many respondents, which level or what power: give two of the three."""
    from ldpstats.inference import plan as planned

    if (shape is None) == (domain is None):
        raise click.UsageError(f"{'a shape and' if shape else 'neither a shape nor'} a domain: give one of the two.")
    table = _shape(shape or "") if domain is None else saved_domain(domain)
    with wrong_usage():
        plan = planned(mechanism or None, table, **asked)
    pipes.tell(plan.summary(), plan.to_dict(), as_json=as_json)


def _shape(text: str) -> tuple[int, ...]:
    """Parse a shape such as 4x4."""
    try:
        return tuple(int(side) for side in text.split("x"))
    except ValueError as error:
        raise click.UsageError(
            f"the shape {text!r}. Allowed: numbers of categories with an x between them, such as 4x4."
        ) from error
