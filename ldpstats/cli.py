"""The command line: `ldpstats demo | mechanisms | audit | plan | report`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import click

from ldpstats.errors import LdpstatsError

if TYPE_CHECKING:
    import pandas as pd

    from ldpstats.auditing import Audit
    from ldpstats.demo import Demonstration
    from ldpstats.domain import Domain

Parameters = ParamSpec("Parameters")

_DEMO_PAGE = "ldpstats-demo.html"
_NETWORKS = "survey, asia, sachs, child or alarm"


def _errors_as_messages(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Show an error of this package as a message instead of a traceback."""

    @wraps(command)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except LdpstatsError as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:
            # whoever reads has seen enough
            raise
        except OSError as error:
            raise click.ClickException(str(error)) from error

    return guarded


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ldpstats")
def main() -> None:
    """The statistics of privatized categorical data."""


@main.command()
@click.option("--network", "name", default=None, help=f"Ask respondents of a network instead: {_NETWORKS}.")
@click.option("--n", default=100_000, show_default=True, type=click.IntRange(min=1), help="How many respondents.")
@click.option("--epsilon", default=2.0, show_default=True, help="Strict privacy level of every respondent.")
@click.option("--mechanism", default="auto", show_default=True, help="A name from `ldpstats mechanisms`, or auto.")
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
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"Where to write all of it as a page.  [default: {_DEMO_PAGE} here, with text and where matplotlib is]",
)
@click.option("--no-report", is_flag=True, help="Write no page.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@_errors_as_messages
def demo(report: Path | None, no_report: bool, as_json: bool, **asked: Any) -> None:
    """A sensitive question, from what leaves a phone to the tests of all pairs, beside the true answers."""
    from ldpstats.demo import demonstrate

    if report and no_report:
        raise LdpstatsError("--report and --no-report", "one of the two")
    shown = demonstrate(**asked)
    click.echo(json.dumps(shown.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) if as_json else str(shown))
    if report:
        shown.report(report)
    if not (no_report or as_json):
        click.echo(f"This demonstration on such a page: {report or _usual_page(shown)}")


def _usual_page(shown: Demonstration) -> str:
    """Write the demonstration's page where nobody said where to; say where it is, or why there is none."""
    if find_spec("matplotlib") is None:
        return "needs its pictures: pip install 'ldpstats[plots]'"
    try:
        shown.report(Path(_DEMO_PAGE))
    except LdpstatsError as error:
        return f"not written: {error}"
    return _DEMO_PAGE


@main.command()
@click.option("--k", default=16, show_default=True, type=click.IntRange(min=2), help="How many values.")
@click.option("--epsilon", default=1.0, show_default=True, help="The privacy level asked for.")
@_errors_as_messages
def mechanisms(k: int, epsilon: float) -> None:
    """List the mechanisms with their exact privacy, cost and variance."""
    from ldpstats.mechanisms import mechanisms as all_mechanisms

    listed = all_mechanisms(k, epsilon)
    listed["name"] += [f" (k = {own})" if own != k else "" for own in listed["k"]]
    listed["epsilon"] = listed["epsilon"].map("{:.4f}".format)
    listed["variance"] = listed["variance"].map("{:.3f}".format)
    shown = listed[["name", "epsilon", "bits", "variance", "purpose", "aliases", "source"]]
    click.echo(f"Mechanisms for {k} values at epsilon = {epsilon:g}")
    click.echo(
        _columns(
            shown.rename(columns={"variance": "n x variance", "purpose": "for", "aliases": "also known as"}).astype(str)
        )
    )
    click.echo(
        "\nepsilon: strict, for all that a respondent sends about one value; bits: per report; "
        "\nn x variance: of the unbiased frequency of a value that one respondent in k has."
    )


@main.command()
@click.argument("name", required=False)
@click.option("--all", "every", is_flag=True, help="All mechanisms, instead of one by name.")
@click.option("--k", default=16, show_default=True, help="How many values; of a walk, the most.")
@click.option("--epsilon", default=1.0, show_default=True, help="The privacy level asked for; of a walk, the highest.")
@click.option(
    "--settings",
    default=None,
    type=click.IntRange(min=1),
    help="A walk: so many settings of k and epsilon, along a Halton sequence.  [default: the one that is given]",
)
@click.option("--n", default=100_000, show_default=True, help="How many reports to draw, in each setting.")
@click.option("--confidence", default=0.99, show_default=True, help="Of all that reports show, together.")
@click.option("--seed", default=None, type=click.IntRange(min=0), help="Simulate; else the reports are secure ones.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def audit(name: str | None, every: bool, as_json: bool, settings: int | None, **asked: Any) -> None:
    """What a mechanism claims to spend, what it spends exactly, and what its reports show.

    Ends with 0 where nothing contradicts the claims, with 1 where something does, with 2 if it cannot be asked so.
    """
    try:
        found = _audited(name, every, settings, **asked)
    except LdpstatsError as error:
        raise click.UsageError(str(error)) from error
    plain = [one.to_dict() for one in found]
    walked = every or settings is not None
    if as_json:
        click.echo(json.dumps(plain if walked else plain[0], indent=1, ensure_ascii=False))
    else:
        click.echo("\n".join(one.headline for one in found) if walked else found[0].summary())
    if any(one.failures for one in found):
        raise SystemExit(1)


def _audited(
    name: str | None,
    every: bool,
    settings: int | None,
    k: int,
    epsilon: float,
    n: int,
    confidence: float,
    seed: int | None,
) -> list[Audit]:
    """Audit one mechanism or all, in one setting or along a walk; each audit gets its share of what may err."""
    from ldpstats.auditing import audit as audit_one, audits
    from ldpstats.mechanisms import mechanism, registered_mechanisms

    if every == (name is not None):
        raise LdpstatsError("a name and --all" if name else "neither a name nor --all", "one of the two")
    kinds = registered_mechanisms() if every else (type(mechanism(str(name), k=k, epsilon=epsilon)),)
    each = 1 - (1 - confidence) / len(kinds)
    if settings is not None:
        walks = (audits(kind, settings, k, epsilon, n, each, seed) for kind in kinds)
        return [one for walk in walks for one in walk]
    made = (mechanism(kind.name, k=kind.only_k or k if every else k, epsilon=epsilon) for kind in kinds)
    return [audit_one(one, n, each, seed) for one in made]


@main.command()
@click.option("--shape", default=None, help="The categories of a table's attributes, such as 4x4.")
@click.option(
    "--domain",
    default=None,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
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
@click.option("--epsilon", default=None, type=float, help="Strict privacy level of every respondent.")
@click.option("--n", default=None, type=click.IntRange(min=1), help="How many respondents.")
@click.option("--mechanism", multiple=True, help="A name from `ldpstats mechanisms`; again for more.  [default: all]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@_errors_as_messages
def plan(
    shape: str | None,
    domain: Path | None,
    effect: float | None,
    mutual_information: float | None,
    conditional: bool,
    power: float | None,
    alpha: float,
    epsilon: float | None,
    n: int | None,
    mechanism: tuple[str, ...],
    as_json: bool,
) -> None:
    """How many respondents, which level or what power: give two of the three."""
    from ldpstats.domain import Domain
    from ldpstats.inference import plan as planned

    if (shape is None) == (domain is None):
        raise LdpstatsError("a shape and a domain" if shape else "neither a shape nor a domain", "one of the two")
    # only the numbers of categories matter, so that a letter in another encoding does no harm
    table = _shape(shape or "") if domain is None else Domain.from_json(domain.read_text("utf-8", errors="replace"))
    found = planned(
        mechanism or None,
        table,
        epsilon=epsilon,
        n=n,
        effect=effect,
        mutual_information=mutual_information,
        power=power,
        alpha=alpha,
        conditional=conditional,
    )
    click.echo(json.dumps(found.to_dict(), indent=1, ensure_ascii=False) if as_json else found.summary())


@main.command()
@click.argument("tables", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The HTML page to write.")
@click.option("--title", default=None, help="What stands above it.")
@click.option("--network", is_flag=True, help="Learn a Bayesian network, too.")
@click.option(
    "--truth",
    default=None,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Of simulated reports: a CSV file of what the respondents would have answered.",
)
@_errors_as_messages
def report(tables: Path, output: Path, title: str | None, network: bool, truth: Path | None) -> None:
    """Write all that a saved table set tells as one HTML page to send or print."""
    from ldpstats.loading import load
    from ldpstats.tables import checked_table_set

    found = checked_table_set(load(tables))
    found.report(output, title, None if truth is None else _answers(truth, found.domain), network=network)
    click.echo(f"Report: {output}")


def _answers(path: Path, domain: Domain) -> pd.DataFrame:
    """Read a file of answers, in which those to questions whose categories are texts are texts, too."""
    import pandas as pd

    texts = {name: str for name, values in domain.categories.items() if all(isinstance(one, str) for one in values)}
    try:
        return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values={})
    except (ValueError, UnicodeError, OSError) as error:
        raise LdpstatsError(f"the file {str(path)!r}, which cannot be read ({error})", "answers as CSV") from error


def _shape(text: str) -> tuple[int, ...]:
    """Read a shape such as 4x4."""
    try:
        return tuple(int(side) for side in text.split("x"))
    except ValueError as error:
        raise LdpstatsError(
            f"the shape {text!r}", "numbers of categories with an x between them, such as 4x4"
        ) from error


def _columns(frame: pd.DataFrame) -> str:
    """Set a table of texts: figures to the right, words to the left."""
    widths = [max(len(name), *map(len, frame[name])) for name in frame.columns]
    figures = ("epsilon", "bits", "n x variance")
    rows = [list(frame.columns), *frame.itertuples(index=False)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if name in figures else text.ljust(width)
            for name, text, width in zip(frame.columns, row, widths, strict=True)
        ).rstrip()
        for row in rows
    )
