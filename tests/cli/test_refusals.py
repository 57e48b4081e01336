"""What commands refuse: an exit code, a message on standard error alone, and no file that is written or changed."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.shell import piped, run

import ldpstats as ldp

DOMAIN = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "mid", "old"]})
PEOPLE = np.array([[[9, 5, 1], [2, 3, 4]], [[1, 5, 3], [6, 7, 8]]]) * 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a file of every step, in which commands run."""
    with pytest.MonkeyPatch.context() as patch:
        path = tmp_path_factory.mktemp("refused")
        patch.chdir(path)
        Path("people.csv").write_text("sex,car,age,years\n" + "F,yes,old,71\nM,no,young,20\nF,no,mid,40\n" * 9)
        for name, content in {
            "empty.json": "{}",
            "one.json": '{"a": ["x"], "b": ["y", "z"]}',
            "cut.json": "[1",
        }.items():
            Path(name).write_text(content)
        Path("bytes.json").write_bytes(b"\xff\xfe")
        DOMAIN.save("d.json")
        ldp.SampledGroups(DOMAIN, epsilon=1.0).save("p.json")
        for k in (2, 3):
            ldp.SampledGroups(DOMAIN, k=k, epsilon=3.0).simulate(PEOPLE, rng=1).save(f"t{k}.json")
        ldp.PerAttribute(DOMAIN, epsilon=3.0, k=1, sampled=True).simulate(PEOPLE, rng=1).save("t1.json")
        piped("privatize people.csv --protocol p.json -o r.csv")
        yield path


@pytest.mark.parametrize(
    ("command", "code", "message"),
    [
        ("domain missing.csv -o -", 3, "missing.csv"),
        ("domain . -o -", 3, "Is a directory. Allowed: a file"),
        ("domain people.csv --columns sex,shoe -o -", 3, "no column 'shoe'"),
        ("domain people.csv --cut years -o -", 2, "COLUMN=CLASSES"),
        ("domain people.csv --cut years=5,3 -o -", 2, "ascending order"),
        ("domain people.csv --cut sex=2 -o -", 3, "'F', 'M'"),
        ("domain people.csv", 2, "--output"),
        ("analyse people.csv --epsilon 0", 2, "epsilon = 0.0"),
        ("analyse people.csv --epsilon 2 --k 9", 2, "--k"),
        ("analyse people.csv --epsilon 2 --columns sex", 3, "sex. Allowed: at least 2. `ldpstats protocol DOMAIN"),
        ("protocol d.json -o - --epsilon two", 2, "'two'. Allowed: a number above 0"),
        ("protocol d.json -o - --epsilon 1 --groups sex,shoe", 2, "shoe"),
        ("protocol d.json -o - --epsilon 1 --mechanism laplace", 2, "the mechanism 'laplace'"),
        ("protocol d.json -o - --epsilon 1 --k 4", 2, "k"),
        ("protocol d.json -o - --epsilon 1 --kind 'product domain' --k 2", 2, "'product domain' does not have"),
        ("protocol d.json -o - --epsilon 1 --kind 'central laplace'", 2, "is not one of"),
        ("protocol - --epsilon 1 -o -", 3, "standard input"),
        ("protocol d.json --epsilon 1 -o nowhere/p.json", 3, "could not be written"),
        ("protocol d.json --epsilon 1 -o d.json", 3, "holds something else"),
        ("privatize - --protocol - -o -", 2, "one file only"),
        ("privatize people.csv --protocol p.json -o r.txt", 3, "r.txt"),
        ("privatize people.csv --protocol p.json -o people.csv", 3, "people.csv"),
        ("tables r.csv --protocol p.json --quarantine - -o t.json", 2, "name files: - is none"),
        ("tables r.csv --protocol p.json --resume c.json -o c.json", 2, "different files"),
        ("tables r.csv --protocol p.json --scheduler 'no address' -o t.json", 3, "no address"),
        ("merge t2.json t2.json -o t.json", 2, "named twice. Allowed: each file once"),
        ("merge t2.json ./t2.json -o t.json", 3, "reports of the same respondents twice"),
        ("test t2.json sex", 2, "Name two attributes"),
        ("test t2.json sex shoe", 2, "'shoe'"),
        ("test t2.json sex sex", 2, "'sex'"),
        ("test t2.json sex car --alpha 0.1", 2, "all pairs"),
        ("test t2.json --alpha 2", 2, "alpha = 2"),
        ("test t2.json --adjust 'none at all'", 2, "adjust = 'none at all'"),
        ("test t2.json sex car --given age", 3, "Allowed"),
        ("test t1.json", 3, "tables of single attributes"),
        ("test nothere.json", 3, "does not exist"),
        ("effects t2.json sex car --rows F,M", 2, "both, or neither"),
        ("effects t2.json sex car --rows F,X --columns yes,no", 2, "two of 'F', 'M'"),
        ("effects t2.json sex car --rows F,F --columns yes,no", 2, "different categories"),
        ("network t1.json -o n.bif", 3, "Allowed"),
        ("report - --truth - -o -", 2, "one file only"),
        ("audit laplace", 2, "laplace"),
        ("audit oue --k 1", 2, "k = 1"),
        ("audit", 2, "one of the three"),
        ("audit oue --all", 2, "one of the three"),
        ("plan", 2, "neither a shape nor a domain"),
        ("plan --shape four", 2, "the shape 'four'"),
        ("plan --shape 4x1 --epsilon 1", 2, "at least 2"),
        ("plan --shape 4x4", 2, "two of them"),
        ("plan --shape 4x4 --epsilon 1 --n 9 --power 0.8", 2, "two of them"),
        ("plan --shape 4x4 --epsilon 1 --effect 1.5", 2, "effect = 1.5"),
        ("plan --shape 4x4 --n 0", 2, "0 is not in the range x>=1"),
        *((f"plan --domain {name}.json --epsilon 1", 3, f"{name}.json") for name in ("empty", "one", "cut", "bytes")),
        ("demo --mechanism laplace", 2, "'rr', 'grr', 'sue'"),
        ("demo --report a.html --no-report", 2, "--report and --no-report"),
        ("demo --network moon", 2, "survey, asia, sachs, child, alarm"),
        ("demo --seed -1", 2, "-1 is not in the range x>=0"),
        ("vignettes open", 2, "no name. Allowed: private-survey"),
        ("vignettes run moon", 2, "no vignette 'moon'"),
        ("vignettes read gallery", 2, "'read' is not one of"),
    ],
)
def test_what_cannot_be_done_is_refused(folder: Path, command: str, code: int, message: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = run(*shlex.split(command))
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("output", ["p.json", "t1.json/x.json", ".", "new.json"])
@pytest.mark.parametrize(
    ("command", "work"),
    [
        ("tables r.csv --protocol p.json -o", "io.tables_of"),
        ("network t2.json -o", "networks.learn_network"),
        ("report t2.json -o", "report.report_page"),
        ("analyse people.csv --epsilon 2 -o", "analysis.analyse"),
        ("demo --report", "analysis.demonstrate"),
    ],
)
def test_a_name_that_cannot_be_written_to_is_refused_before_the_work(
    command: str, work: str, output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"ldpstats.{work}", lambda *_, **__: pytest.fail("worked"))
    arguments = (*command.split(), output)
    if output == "new.json":
        with pytest.raises(pytest.fail.Exception):
            run(*arguments)
        return
    refused = run(*arguments)
    assert refused.exit_code == 3, refused.output
    said = ("Allowed: a new name", "could not be written", "which is no file")
    assert any(words in refused.stderr for words in said)
