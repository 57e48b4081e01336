"""Commands that read answers: their categories, what leaves the respondents, an analysis, and a demonstration."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ldpstats.cli import pipes, program
from ldpstats.cli.contents import ANSWERS, expected, saved_protocol
from ldpstats.cli.program import FILE, MechanismName, Names, examples, wrong_usage
from ldpstats.errors import LdpstatsError

if TYPE_CHECKING:
    from ldpstats.analysis import Analysis
    from ldpstats.answers.answer_file import AnswerFile
    from ldpstats.answers.preparation import Cut

_MISSING = "(missing)"
_DEMO_PAGE = "ldpstats-demo.html"
_NETWORKS = "survey, asia, sachs, child or alarm"
_data = click.argument("data", type=FILE)
_counts = click.option("--counts", default=None, help="Of a frequency table: the column that holds its counts.")


@click.command(
    short_help="Read the categories off a file of answers.",
    epilog=examples(
        "ldpstats domain answers.csv -o domain.json",
        "ldpstats domain answers.csv --cut age=18,40,65 --missing-as '(missing)' -o domain.json",
        "ldpstats domain answers.csv --missing 99 --columns sex,age,region -o domain.json --json",
    ),
)
@_data
@program.questions
@program.missing
@click.option("--missing-as", default=None, help="Make missing answers a category of this name.  [default: none]")
@_counts
@program.output("The domain as JSON")
@program.as_json
def domain(data: str, columns: Names, cut: Names, missing: Names, output: str, as_json: bool, **asked: Any) -> None:
    """Read the categories of every question off a file of answers, and point out what is none.

    DATA is CSV (with commas, semicolons, tabs or bars; in UTF-8, UTF-16 or Windows-1252; also packed by gzip) or
    Parquet, with a row per respondent. Identifiers, free texts, columns with one answer alone and columns with more
    than 30 different numbers are left out, and named. Check the categories: they should be those of the
    questionnaire, not those that happened to be answered. Others are stated by a file of your own: {"sex": ["F",
    "M"], ...} with all attributes is a domain, too.
    """
    from ldpstats.answers import prepared

    cuts, file = _cuts(cut), read(data, missing)
    made = prepared(file, chosen(columns, file), cuts, **asked)
    domain = made.domain
    notes = [*file.notes, *made.lines()]
    _tell_notes(notes, output, as_json=as_json)
    pipes.write_to(output, domain.to_json())
    plain = {"domain": domain.to_dict(), "left_out": made.left_out, "notes": notes, "rows": len(file), "output": output}
    pipes.tell(domain.summary(), plain, as_json=as_json, output=output)


@click.command(
    short_help="Randomize answers as respondents' devices do.",
    epilog=examples(
        "ldpstats privatize answers.csv --protocol protocol.json -o reports.csv",
        "ldpstats privatize answers.csv --protocol protocol.json --seed 1 -o - |",
        "  ldpstats tables - --protocol protocol.json -o tables.json",
    ),
)
@_data
@click.option("--protocol", required=True, type=FILE, help="The protocol file.")
@program.seed("Simulate: the same seed gives the same reports, and they say that they are simulated.")
@program.missing
@click.option("--missing-as", default=None, help=f"The category that missing answers are.  [default: {_MISSING}]")
@_counts
@click.option(
    "--tokens",
    default=None,
    metavar="COLUMN",
    help="Write the texts of this column beside the reports: each is one respondent's alone, and tells nothing else.",
)
@program.output("The reports, as .parquet or .csv")
@program.as_json
def privatize(
    data: str, protocol: str, seed: int | None, missing: Names, output: str, as_json: bool, **own: Any
) -> None:
    """Do what the devices of all respondents do: randomize each row of answers into what leaves the device.

    Without --seed, chance comes from the operating system. A missing or unknown answer is refused, unless the protocol
    has a category for it or lets a random one take its place. Numbers fall into the classes of the protocol.
    """
    from ldpstats.answers import coded_answers
    from ldpstats.answers.preparation import codes_in_words
    from ldpstats.io import write_reports

    pipes.refuse_two_inputs(data, protocol)
    asked = saved_protocol(protocol)
    file = read(data, missing)
    substitutes = getattr(asked, "outside", "refuse") == "random"
    counts, tokens = own["counts"], own.pop("tokens")
    people = coded_answers(file, asked.domain, substitutes=substitutes, **own)
    codes = filter(None, (codes_in_words(file, file[name]) for name in asked.domain.names))
    outside = {name: int(people[name].isna().sum()) for name in asked.domain.names}
    replaced = [
        f"column {name!r}: {rows:,} answers are missing or no category; random ones take their place"
        for name, rows in outside.items()
        if rows
    ]
    notes = [*file.notes, *replaced, *codes]
    _tell_notes(notes, output, as_json=as_json)
    write_reports(output, asked, people, seed, tokens=tokens, counts=counts)
    respondents, simulated = len(people) if counts is None else int(people[counts].sum()), seed is not None
    words = f"Reports of {respondents:,} respondents{' (simulated)' if simulated else ''}: {pipes.written_as(output)}"
    plain = {
        "respondents": respondents,
        "simulated": simulated,
        "protocol": asked.fingerprint(),
        "privacy": asked.privacy().to_dict(),
        "notes": notes,
        "output": output,
    }
    pipes.tell(words, plain, as_json=as_json, output=output)


@click.command(
    short_help="From a file of answers to a report in one step.",
    epilog=examples(
        "ldpstats analyse answers.csv --epsilon 2",
        "ldpstats analyse answers.csv --epsilon 1 --columns sex,age,income --cut age=18,40,65 -o report.html",
        "ldpstats analyse answers.csv --epsilon 2 --json -o - > report.html 2> findings.json",
    ),
)
@_data
@program.epsilon
@program.questions
@click.option("--k", default=2, show_default=True, type=click.IntRange(2, 3), help="Questions asked together.")
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Of the simulation.")
@program.missing
@click.option(
    "--missing-as", default=_MISSING, show_default=True, help="The category of missing answers, in columns with some."
)
@_counts
@click.option(
    "-o",
    "--output",
    default=None,
    type=FILE,
    help="The HTML page; - is standard output.  [default: NAME-report.html in this folder, over no file but an earlier "
    "report]",
)
@program.as_json
def analyse(
    data: str, columns: Names, cut: Names, missing: Names, output: str | None, as_json: bool, **asked: Any
) -> None:
    """From a file of answers to a report in one step: what a private survey of these people would have shown.

    Simulates what the devices of all respondents would do, tests all pairs, prints the findings beside what the raw
    answers show, and writes them as a page. Numbers of more than 30 values are put into four classes, missing answers
    become a category, identifiers and free texts are left out: all of it is said.
    """
    from ldpstats.analysis import analyse as analysed

    program.check_level(asked["epsilon"])
    pipes.refuse_unwritable(output, "report")
    cuts, file = _cuts(cut), read(data, missing)
    name = "answers" if data == pipes.STANDARD else Path(data).name.partition(".")[0] or "answers"
    page = output or f"{name}-report.html"
    tell = partial(_tell_notes, output=page, as_json=as_json)
    analysis = analysed(file, columns=chosen(columns, file), cuts=cuts, tell=tell, **asked)
    if not as_json:  # before the page, which may find no room
        pipes.tell(analysis.findings(), None, as_json=False, output=page)
    where = _write_page(analysis, page, must=output is not None)
    report = f"Report: {where}{pipes.without_pictures()}"
    pipes.tell(report, {**analysis.to_dict(), "report": where} if as_json else None, as_json=as_json, output=page)


@click.command(
    short_help="A sensitive question, asked and tested privately.",
    epilog=examples("ldpstats demo", "ldpstats demo --network asia --n 20000 --epsilon 1 --json"),
)
@click.option("--network", "name", default=None, help=f"Ask respondents of a network instead: {_NETWORKS}.")
@click.option("--n", default=100_000, show_default=True, type=click.IntRange(min=1), help="How many respondents.")
@click.option(
    "--epsilon", default=2.0, show_default=True, type=program.Level(), help="Strict privacy level of every respondent."
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
@program.as_json
def demo(report: str | None, no_report: bool, as_json: bool, **asked: Any) -> None:
    """A sensitive question, from what leaves a phone to the tests of all pairs, beside the true answers."""
    from ldpstats.analysis import demonstrate

    if report and no_report:
        raise click.UsageError("--report and --no-report: give one of the two.")
    pipes.refuse_unwritable(report, "report")
    with wrong_usage():
        shown = demonstrate(**asked)
    pipes.tell(shown, shown.to_dict() if as_json else None, as_json=as_json, output=report or "")
    if not report and (no_report or as_json):
        return
    if report or find_spec("matplotlib"):
        where = _write_page(shown, report or _DEMO_PAGE, must=report is not None)
    else:
        where = "needs its pictures: pip install 'ldpstats[plots]'"
    if not as_json:
        click.echo(f"This demonstration on such a page: {where}", err=report == pipes.STANDARD)


def _write_page(analysis: Analysis, page: str, *, must: bool) -> str:
    """Write the page; return where it is or, unless it `must` be written, why not (such as a file in the way)."""
    text = analysis.page()
    try:
        pipes.write_to(page, text)
    except LdpstatsError as error:
        if must:
            raise
        return f"not written: {error} -o says where to."
    return pipes.written_as(page)


def read(name: str, missing: Iterable[str] = ()) -> AnswerFile:
    """Read answers from a file or standard input; `missing` are cells that are no answer, by default the usual ones."""
    from ldpstats.answers import MISSING, read_answers
    from ldpstats.limits import LARGEST_ANSWERS

    called = "standard input" if name == pipes.STANDARD else Path(name).name
    with expected(ANSWERS, name):
        return read_answers(pipes.bytes_of(name, LARGEST_ANSWERS), called, tuple(missing) or MISSING)


def _tell_notes(notes: Iterable[str], output: str, *, as_json: bool) -> None:
    """Print notes beside the output, but not where JSON goes there: it holds them."""
    if as_json and output == pipes.STANDARD:
        return
    for words in notes:
        pipes.note(words)


def chosen(columns: Names, file: AnswerFile) -> list[str]:
    """Return the names in --columns; names may hold commas themselves."""
    return [name for text in columns for name in program.names_in(text, file.names)]


def _cuts(texts: Names) -> dict[str, Cut]:
    """Parse the --cut options: how to put numbers into classes, by column."""
    from ldpstats.answers.preparation import Cut

    return {name: Cut.read(classes) for name, classes in program.cuts_as_texts(texts).items()}
