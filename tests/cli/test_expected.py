"""Files of every kind at every command: what came, what the command takes, and which command makes that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.shell import done, run

from ldpstats.cli.contents import ANSWERS, DOMAIN, PROTOCOL, REPORTS, TABLES, FileKind
from ldpstats.client import Respondent

ROWS = "F,yes,old\nM,no,young\nF,no,old\nM,yes,old\nM,no,old\n" * 40
HOLDS = {
    "answers.csv": ANSWERS,
    "answers.parquet": ANSWERS,
    "domain.json": DOMAIN,
    "protocol.json": PROTOCOL,
    "reports.csv": REPORTS,
    "reports.parquet": REPORTS,
    "messages.jsonl": REPORTS,
    "tables.json": TABLES,
    "network.bif": "a network in the format BIF",
    "network.json": "a saved LearnedNetwork",
    "report.html": "a page for a browser",
}
TAKES = {
    "domain FILE -o -": ANSWERS,
    "privatize FILE --protocol protocol.json -o -": ANSWERS,
    "analyse FILE --epsilon 2 -o -": ANSWERS,
    "vignettes run effects-and-odds --data FILE": ANSWERS,
    "report tables.json --truth FILE -o -": ANSWERS,
    "protocol FILE --epsilon 2 -o -": DOMAIN,
    "plan --domain FILE --epsilon 2 --n 1000": DOMAIN,
    "privatize answers.csv --protocol FILE -o -": PROTOCOL,
    "tables reports.csv --protocol FILE -o -": PROTOCOL,
    "audit FILE": PROTOCOL,
    "tables FILE --protocol protocol.json -o -": REPORTS,
    "tables reports.csv FILE --protocol protocol.json -o -": REPORTS,
    **dict.fromkeys(["merge FILE -o -", "test FILE", "effects FILE", "network FILE -o -", "report FILE -o -"], TABLES),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    import pandas as pd

    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("files")
        patch.chdir(folder)
        Path("answers.csv").write_text(f"sex,car,age\n{ROWS}")
        pd.read_csv("answers.csv").to_parquet("answers.parquet")
        for command in (
            "domain answers.csv -o domain.json",
            "protocol domain.json --epsilon 2 -o protocol.json",
            "privatize answers.csv --protocol protocol.json --seed 1 -o reports.csv",
            "privatize answers.csv --protocol protocol.json -o reports.parquet",
            "tables reports.csv --protocol protocol.json -o tables.json",
            "network tables.json -o network.bif",
            "network tables.json -o network.json",
            "report tables.json -o report.html",
        ):
            done(*command.split())
        sent = Respondent(Path("protocol.json").read_text()).answer({"sex": "F", "car": "no", "age": "old"}, "a")
        Path("messages.jsonl").write_text(sent)
        yield folder


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", TAKES)
def test_a_file_of_another_kind_is_named_with_the_command_that_makes_the_right_one(command: str) -> None:
    kind = TAKES[command]
    for name, held in HOLDS.items():
        if held == kind:
            continue
        refused = run(*[name if word == "FILE" else word for word in command.split()])
        came = held.came if isinstance(held, FileKind) else held
        assert (refused.exit_code, refused.stdout) == (3, ""), name
        assert f"the file {name!r}, which holds {came}. Allowed: {kind.allowed}." in refused.stderr
        assert kind.made in refused.stderr
        assert "from_frame" not in refused.stderr, "advice for Python"


@pytest.mark.usefixtures("files")
def test_a_damaged_file_of_the_right_kind_is_said_to_be_damaged() -> None:
    for name, command in {
        "tables.json": "test FILE",
        "reports.csv": "tables FILE --protocol protocol.json -o -",
    }.items():
        Path("damaged").write_bytes(Path(name).read_bytes()[:-40])
        refused = run(*command.replace("FILE", "damaged").split())
        assert refused.exit_code == 3
        assert "which holds" not in refused.stderr
