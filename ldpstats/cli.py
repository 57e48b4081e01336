"""The command line: `ldpstats demo | mechanisms | audit`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec

import click

from ldpstats.datasets import NETWORKS
from ldpstats.errors import LdpstatsError

if TYPE_CHECKING:
    import pandas as pd

Parameters = ParamSpec("Parameters")


def _told_plainly(command: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Show an error of this package as a message instead of a traceback."""

    @wraps(command)
    def guarded(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except LdpstatsError as error:
            raise click.ClickException(str(error)) from error

    return guarded


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ldpstats")
def main() -> None:
    """The statistics of privatized categorical data."""


@main.command()
@click.option("--network", default="survey", show_default=True, type=click.Choice(NETWORKS), help="Who is asked.")
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
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@_told_plainly
def demo(network: str, n: int, epsilon: float, mechanism: str, seed: int, as_json: bool) -> None:
    """From a questionnaire to p-values, on simulated respondents."""
    from ldpstats.demo import demonstrate

    shown = demonstrate(network, n, epsilon, mechanism, seed)
    click.echo(json.dumps(shown.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) if as_json else shown.text())


@main.command()
@click.option("--k", default=16, show_default=True, type=click.IntRange(min=2), help="How many values.")
@click.option("--epsilon", default=1.0, show_default=True, help="The privacy level asked for.")
@_told_plainly
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
@click.argument("name")
@click.option("--k", default=16, show_default=True, help="How many values.")
@click.option("--epsilon", default=1.0, show_default=True, help="The privacy level asked for.")
@click.option("--n", default=100_000, show_default=True, help="How many reports to draw.")
@click.option("--confidence", default=0.99, show_default=True, help="Of the lower bound that the reports show.")
@click.option("--seed", default=None, type=click.IntRange(min=0), help="Simulate; else the reports are secure ones.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@_told_plainly
def audit(name: str, k: int, epsilon: float, n: int, confidence: float, seed: int | None, as_json: bool) -> None:
    """What a mechanism claims to spend, what it spends exactly, and what its reports show."""
    from ldpstats.auditing import audit as audited
    from ldpstats.mechanisms import mechanism

    found = audited(mechanism(name, k=k, epsilon=epsilon), n, confidence, seed)
    click.echo(json.dumps(found.to_dict(), indent=1, ensure_ascii=False) if as_json else found.summary())
    if found.failures:
        raise SystemExit(1)


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
