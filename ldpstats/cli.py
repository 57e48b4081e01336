"""The command line: `ldpstats demo` and `ldpstats mechanisms`."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

import click

from ldpstats.datasets import NETWORKS
from ldpstats.errors import LdpstatsError

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
@_told_plainly
def mechanisms() -> None:
    """List the mechanisms."""
    from ldpstats.mechanisms import mechanisms as all_mechanisms

    for row in all_mechanisms().itertuples(index=False):
        name, aliases, source, summary = row
        click.echo(f"{name}  {summary}\n     also known as: {aliases}\n     source: {source}")
