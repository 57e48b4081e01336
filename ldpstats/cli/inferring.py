"""Commands that infer: tests, effects, a network and a report, all from a file of tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ldpstats.cli import pipes, program
from ldpstats.cli.contents import saved_tables
from ldpstats.cli.program import FILE, Names, examples, wrong_usage
from ldpstats.errors import LdpstatsError, one_line

if TYPE_CHECKING:
    from ldpstats.answers.columns import Category
    from ldpstats.inference.effects.effect_size import Effect
    from ldpstats.tables import Table, TableSet

_METHODS = ("auto", "score", "gls", "lr", "wald")
_NETWORKS = ("auto", "chow-liu", "pruned", "hill-climb", "pc")
_ADJUST, _ALPHA = "holm", 0.05


@click.command(
    short_help="Test whether attributes are independent.",
    epilog=examples(
        "ldpstats test tables.json                      (all pairs)",
        "ldpstats test tables.json sex age",
        "ldpstats test tables.json sex age --given region --json",
    ),
)
@click.argument("tables", type=FILE)
@click.argument("attributes", nargs=-1)
@click.option("--given", multiple=True, help="Test independence where this attribute is the same; again for more.")
@click.option("--method", default="auto", show_default=True, type=click.Choice(_METHODS), help="The test statistic.")
@click.option("--adjust", default=None, help=f"Of all pairs: a method of multipletests, or none.  [default: {_ADJUST}]")
@click.option("--alpha", default=None, type=float, help=f"Of all pairs: the level of verdicts.  [default: {_ALPHA}]")
@program.as_json
def test(
    tables: str, attributes: Names, given: Names, method: Any, adjust: str | None, alpha: float | None, as_json: bool
) -> None:
    """Test whether attributes are independent: all pairs, those that are named, or those given others.

    Ends with 0, also where independence is rejected.
    """
    if len(attributes) == 1 or (given and len(attributes) != 2):
        raise click.UsageError("Name two attributes (or more without --given), or none for all pairs.")
    if attributes and not (adjust is None and alpha is None):
        raise click.UsageError("--adjust and --alpha are for the tests of all pairs.")
    import numpy as np

    from ldpstats.inference import conditional_independence_test, independence_test, independence_tests
    from ldpstats.inference.hypothesis_tests.adjustment import adjusted_pvalues
    from ldpstats.numbers.arrays import significance

    table_set = saved_tables(tables)
    result: Any
    if attributes:
        table = _table_of(table_set, (*attributes, *given))
        result = (
            conditional_independence_test(table, attributes[0], attributes[1], given, method)
            if given
            else independence_test(table, method)
        )
    else:
        level, adjustment = _ALPHA if alpha is None else alpha, adjust or _ADJUST
        with wrong_usage():
            adjusted_pvalues(np.ones(2), significance(level), adjustment)
        result = independence_tests(table_set, method, adjust=adjustment, alpha=level)
    pipes.tell(result.summary(), result.to_dict(), as_json=as_json)


def _table_of(tables: TableSet, attributes: tuple[str, ...]) -> Table:
    """Return the table of some attributes, as the tests of all pairs have it: of all tables that hold them."""
    from ldpstats.inference.hypothesis_tests.all_pairs import told_by

    with wrong_usage():
        target = tables.domain.project(attributes)
    holding = [table for table in tables if {*attributes} <= {*table.attributes}]
    if attributes in tables and len(holding) < 2:
        return tables[attributes]
    pooled = told_by(holding, target, tables.privacy) if holding else tables.pooled(attributes)
    if isinstance(pooled, LdpstatsError):
        raise pooled
    return pooled


@click.command(
    short_help="How strongly attributes depend on each other.",
    epilog=examples(
        "ldpstats effects tables.json                   (all pairs)",
        "ldpstats effects tables.json sex age --json",
        "ldpstats effects tables.json sex car --rows F,M --columns yes,no",
    ),
)
@click.argument("tables", type=FILE)
@click.argument("attributes", nargs=-1)
@click.option(
    "--rows", default=None, help="For an odds ratio: the categories of the first attribute to compare, as F,M."
)
@click.option("--columns", default=None, help="And those of the second: the first of the two against the other one.")
@program.as_json
def effects(tables: str, attributes: Names, rows: str | None, columns: str | None, as_json: bool) -> None:
    """How strongly attributes depend on each other: Cramér's V and mutual information, with 95 % intervals.

    Those of two attributes, or of all pairs. Of two attributes the odds ratio, too, where it is said which categories
    are compared.
    """
    from ldpstats.inference.hypothesis_tests.all_pairs import pair_tables
    from ldpstats.tables import Table

    if len(attributes) not in (0, 2) or (rows is None) != (columns is None) or (rows and not attributes):
        raise click.UsageError("Name two attributes, or none for all pairs; --rows and --columns both, or neither.")
    table_set = saved_tables(tables)
    if attributes:
        measures = _measures(_table_of(table_set, attributes), rows, columns)
        plain = {name: measure.to_dict() for name, measure in measures.items()}
        pipes.tell("\n\n".join(str(measure.summary()) for measure in measures.values()), plain, as_json=as_json)
        return
    pairs = [(pair.attributes, _measures(pair)) for pair in pair_tables(table_set).values() if isinstance(pair, Table)]
    if not pairs:
        raise LdpstatsError("tables of single attributes", "tables of at least two attributes asked for together")
    plain_rows = [
        {"attributes": list(names)} | {name: measure.to_dict() for name, measure in own.items()} for names, own in pairs
    ]
    pipes.tell(_effects_of_pairs(pairs, table_set), plain_rows, as_json=as_json)


def _measures(table: Table, rows: str | None = None, columns: str | None = None) -> dict[str, Effect]:
    from ldpstats.inference import association, mutual_information, odds_ratio

    measures: dict[str, Effect] = {"cramers_v": association(table), "mutual_information": mutual_information(table)}
    if rows is not None and columns is not None:
        first, second = table.domain.categories.values()
        with wrong_usage():
            measures["odds_ratio"] = odds_ratio(table, rows=_two(first, rows), columns=_two(second, columns))
    return measures


def _two(categories: tuple[Category, ...], text: str) -> Any:
    """Parse two categories with a comma between them."""
    written = {str(category): category for category in categories}
    named = [part.strip() for part in text.split(",")]
    if len(named) != 2 or not all(part in written for part in named):
        raise LdpstatsError(f"the categories {text!r}", f"two of {one_line(list(written))} with a comma between them")
    return written[named[0]], written[named[1]]


def _effects_of_pairs(rows: list[tuple[tuple[str, ...], dict[str, Effect]]], tables: TableSet) -> Any:
    """Return the effects of all pairs, the strongest first, as a summary."""
    import numpy as np

    from ldpstats.presentation import summary_of_figures

    strongest = sorted(rows, key=lambda row: -np.nan_to_num(row[1]["cramers_v"].estimate))
    lines = [[" × ".join(names), *map(_figure, own.values())] for names, own in strongest]
    sentences = [
        "With 95 % intervals, each by itself; both are corrected for noise, and mutual information is in nats.",
        *tables.privacy.sentences(tables.n),
        *tables.channel_fit().warning,
    ]
    return summary_of_figures(
        f"Effects of {len(rows):,} pairs of attributes", ["pair", "Cramér's V", "mutual information"], lines, sentences
    )


def _figure(effect: Effect) -> str:
    """Format an estimate with its interval."""
    if effect.estimate != effect.estimate:
        return "not estimable"
    low, high = effect.conf_int()
    return f"{effect.estimate:.3f} ({low:.3f} to {high:.3f})"


@click.command(
    epilog=examples(
        "ldpstats network tables.json -o network.bif",
        "ldpstats network tables.json --method chow-liu -o network.json",
    )
)
@click.argument("tables", type=FILE)
@click.option("--method", default="auto", show_default=True, type=click.Choice(_NETWORKS), help="How edges are found.")
@program.output("The network: as .json with everything that was learned, else in the interchange format BIF")
@program.as_json
def network(tables: str, method: str, output: str, as_json: bool) -> None:
    """Learn a Bayesian network."""
    from ldpstats.networks import learn_network

    pipes.refuse_unwritable(output, "LearnedNetwork" if output.endswith(".json") else "Bayesian network")
    learned = learn_network(saved_tables(tables), method)
    pipes.write_to(output, learned.to_json() if output.endswith(".json") else learned.network.as_bif())
    pipes.tell(learned.summary(), learned.to_dict(), as_json=as_json, output=output)


@click.command(
    short_help="Write all that tables tell as an HTML page.",
    epilog=examples(
        "ldpstats report tables.json -o report.html",
        "ldpstats report tables.json --network --title 'Travel 2026' -o - > report.html",
    ),
)
@click.argument("tables", type=FILE)
@program.output("The HTML page")
@click.option("--title", default=None, help="What stands above it.")
@click.option("--network", is_flag=True, help="Learn a Bayesian network, too.")
@click.option(
    "--truth", default=None, type=FILE, help="Of simulated reports: what the respondents would have answered."
)
@program.as_json
def report(tables: str, output: str, title: str | None, network: bool, truth: str | None, as_json: bool) -> None:
    """Write all that tables tell as one HTML page to send or print."""
    from ldpstats.answers import coded_answers
    from ldpstats.cli.answering import read
    from ldpstats.report import report_page

    pipes.refuse_two_inputs(tables, truth or "")
    pipes.refuse_unwritable(output, "report")
    table_set = saved_tables(tables)
    people = None if truth is None else coded_answers(read(truth), table_set.domain)
    pipes.write_to(output, report_page(table_set, title, people, network=network))
    plain = {"report": output, "tables": len(table_set), "n": table_set.n}
    pipes.tell(f"Report: {pipes.written_as(output)}{pipes.without_pictures()}", plain, as_json=as_json, output=output)
