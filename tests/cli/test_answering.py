"""Commands that read answers: step by step through files and pipes, and in one step."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.shell import done, piped, run

import ldpstats as ldp


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with answers of 3,000 people, in which commands run."""
    rng = np.random.default_rng(1)
    sex = rng.choice(["F", "M"], 3000)
    car = np.where(rng.random(3000) < np.where(sex == "F", 0.3, 0.8), "yes", "no")
    rows = [
        f"{number},{one},{other},{rng.integers(18, 90)}"
        for number, (one, other) in enumerate(zip(sex, car, strict=True))
    ]
    (tmp_path / "people.csv").write_text("\n".join(["id,sex,car,age", *rows]), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_steps_through_files_find_the_dependence() -> None:
    domain = json.loads(done("domain", "people.csv", "--cut", "age=3", "-o", "d.json", "--json").stdout)
    assert domain["domain"]["sex"] == ["F", "M"]
    assert domain["left_out"] == {"id": "all 3,000 answers differ, as those of an identifier do"}
    made = json.loads(done("protocol", "d.json", "--epsilon", "3", "-o", "p.json", "--json").stdout)
    assert made["fingerprint"] == ldp.load("p.json").fingerprint()
    sent = json.loads(
        done("privatize", "people.csv", "--protocol", "p.json", "--seed", "1", "-o", "r.csv", "--json").stdout
    )
    assert (sent["respondents"], sent["simulated"]) == (3000, True)
    counted = json.loads(done("tables", "r.csv", "--protocol", "p.json", "-o", "t.json", "--json").stdout)
    assert (counted["n"], counted["simulated"]) == (3000, 3000)
    found = json.loads(done("test", "t.json", "sex", "car", "--json").stdout)
    assert found["pvalue"] < 1e-6
    assert "car × sex" in done("test", "t.json").output or "sex × car" in done("test", "t.json").output


def test_steps_pipe(folder: Path) -> None:
    protocol = piped(
        "domain - --cut age=3 -o -", "protocol - --epsilon 3 -o -", given=(folder / "people.csv").read_bytes()
    )
    (folder / "p.json").write_bytes(protocol.stdout_bytes)
    found = piped(
        "privatize people.csv --protocol p.json --seed 1 -o -",
        "tables - --protocol p.json -o -",
        "test - sex car --json",
    )
    assert json.loads(found.stdout)["pvalue"] < 1e-6


@pytest.mark.usefixtures("folder")
def test_without_a_seed_reports_are_real_ones() -> None:
    piped("domain people.csv -o d.json")
    piped("protocol d.json --epsilon 3 -o p.json")
    counted = piped("privatize people.csv --protocol p.json -o -", "tables - --protocol p.json -o -", "show - --json")
    assert json.loads(counted.stdout)["content"]["simulated"] == 0


def test_an_analysis_says_all_that_it_did(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = done("analyse", "people.csv", "--epsilon", "3")
    assert "sex × car" in made.stdout
    assert "column 'id' is left out: all 3,000 answers differ" in made.stderr
    assert made.stdout.endswith("Report: people-report.html\n")
    assert "Analysis of people.csv" in (folder / "people-report.html").read_text("utf-8")
    monkeypatch.setattr("ldpstats.report.report_page", lambda *_: "a page")
    plain = json.loads(done("analyse", "people.csv", "--epsilon", "3", "--json").stdout)
    assert plain["report"].startswith("people-report.html") or "not written" in plain["report"]
    strongest = plain["pairs"][0]
    assert (strongest["first"], strongest["second"], strongest["verdict"]) == ("sex", "car", "dependent")
    assert 0.4 < strongest["raw_v"] < 0.6
    assert plain["simulated"] == plain["n"] == 3000


def test_steps_from_parquet_are_those_from_the_same_csv(folder: Path) -> None:
    people = pd.read_csv(folder / "people.csv", dtype={"sex": "category"})
    people.to_parquet(folder / "people.parquet")
    for name in ("people.csv", "people.parquet"):
        done("domain", name, "--columns", "sex,car", "-o", f"{name}.d.json")
        done("protocol", f"{name}.d.json", "--epsilon", "2", "-o", f"{name}.p.json")
        done("privatize", name, "--protocol", f"{name}.p.json", "--seed", "1", "-o", f"{name}.r.csv")
    for made in ("d.json", "p.json", "r.csv"):
        assert (folder / f"people.csv.{made}").read_bytes() == (folder / f"people.parquet.{made}").read_bytes()


def test_an_analysis_overwrites_no_other_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.report.report_page", lambda *_: "a page")
    (folder / "people-report.html").write_text("mine")
    made = done("analyse", "people.csv", "--epsilon", "3")
    assert "Report: not written: " in made.stdout
    assert (folder / "people-report.html").read_text() == "mine"
    assert run("analyse", "people.csv", "--epsilon", "3", "-o", "people-report.html").exit_code == 3


@pytest.mark.parametrize(
    "command",
    [
        "domain people.csv --json -o -",
        "analyse people.csv --epsilon 2 --columns sex,car,age --json -o -",
        "privatize gaps.csv --protocol random.json --json -o -",
    ],
)
def test_json_beside_a_file_on_standard_output_is_nothing_but_json(folder: Path, command: str) -> None:
    text = (folder / "people.csv").read_text("utf-8").replace(",yes,", ",,", 30)
    (folder / "gaps.csv").write_text(text, "utf-8")
    piped(
        "domain people.csv --columns sex,car -o d.json", "protocol d.json --epsilon 1 --outside random -o random.json"
    )
    assert json.loads(done(*command.split()).stderr)["notes"]


def test_a_page_on_standard_output_is_nothing_but_the_page(folder: Path) -> None:
    made = done(
        "analyse", "-", "--epsilon", "3", "--columns", "sex,car", "-o", "-", given=(folder / "people.csv").read_bytes()
    )
    assert made.stdout.startswith("<!DOCTYPE html>")
    assert made.stdout.rstrip().endswith("</html>")
    assert "raw answers show" in made.stderr


def test_missing_answers_are_refused_unless_somebody_said_what_they_mean(folder: Path) -> None:
    (folder / "gaps.csv").write_text("sex,car\n" + "F,yes\nM,no\nM,NA\nF,no\n" * 50)
    told = done("domain", "gaps.csv", "-o", "d.json")
    assert "column 'car' has 50 missing answers, which will be refused" in told.stderr
    done("protocol", "d.json", "--epsilon", "2", "-o", "p.json")
    refused = run("privatize", "gaps.csv", "--protocol", "p.json", "-o", "r.csv")
    assert refused.exit_code == 3
    assert "column 'car' of gaps.csv has no answer in line 4 (50 such rows, 'NA' there)" in refused.stderr
    done("protocol", "d.json", "--epsilon", "2", "--outside", "random", "-o", "random.json")
    sent = done("privatize", "gaps.csv", "--protocol", "random.json", "-o", "-")
    assert sent.stdout.splitlines()[-1].startswith("# end 200 ")
    assert "column 'car': 50 answers are missing or no category; random ones take their place" in sent.stderr
    done("domain", "gaps.csv", "--missing-as", "(missing)", "-o", "m.json")
    assert ldp.load("m.json").categories["car"] == ("no", "yes", "(missing)")
    done("protocol", "m.json", "--epsilon", "2", "-o", "pm.json")
    done("privatize", "gaps.csv", "--protocol", "pm.json", "-o", "r.csv")
    done("domain", "gaps.csv", "--missing-as", "none", "-o", "n.json")
    done("protocol", "n.json", "--epsilon", "2", "-o", "pn.json")
    assert run("privatize", "gaps.csv", "--protocol", "pn.json", "-o", "r.csv").exit_code == 3
    done("privatize", "gaps.csv", "--protocol", "pn.json", "--missing-as", "none", "-o", "-")


def test_codes_for_missing_answers_are_said_in_every_step(folder: Path) -> None:
    (folder / "codes.csv").write_text("sex,car\n" + "F,yes\nM,no\nM,?\nF,NA\n" * 50)
    said = "column 'car' has '?' in 50 rows, which looks like a code for a missing answer: it is kept as an answer"
    assert said in done("domain", "codes.csv", "--missing-as", "(missing)", "-o", "d.json").stderr
    done("protocol", "d.json", "--epsilon", "2", "-o", "p.json")
    assert said in done("privatize", "codes.csv", "--protocol", "p.json", "-o", "-").stderr
    assert any(
        said in note for note in json.loads(done("analyse", "codes.csv", "--epsilon", "2", "--json").stdout)["notes"]
    )
    named = ("--missing", "?", "--missing", "NA")
    assert "code" not in done("domain", "codes.csv", *named, "--missing-as", "(missing)", "-o", "other.json").stderr
    assert ldp.load("other.json").categories["car"] == ("no", "yes", "(missing)")
    done("protocol", "other.json", "--epsilon", "2", "-o", "q.json")
    assert done("privatize", "codes.csv", "--protocol", "q.json", *named, "-o", "-").stderr.startswith("Reports of 200")


def test_a_frequency_table_is_refused_until_its_counts_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.report.report_page", lambda *_: "a page")
    (folder / "counted.csv").write_text("sex,car,n\nF,yes,300\nF,no,700\nM,yes,800\nM,no,200\n")
    refused = run("analyse", "counted.csv", "--epsilon", "3")
    assert refused.exit_code == 3
    assert "--counts" in refused.stderr
    assert run("domain", "counted.csv", "-o", "d.json").exit_code == 3
    made = json.loads(done("analyse", "counted.csv", "--epsilon", "3", "--counts", "n", "--json").stdout)
    assert made["n"] == 2000
    assert made["pairs"][0]["verdict"] == "dependent"
    done("domain", "counted.csv", "--counts", "n", "-o", "d.json")
    done("protocol", "d.json", "--epsilon", "3", "-o", "p.json")
    assert run("privatize", "counted.csv", "--protocol", "p.json", "-o", "r.csv").exit_code == 3
    sent = done("privatize", "counted.csv", "--protocol", "p.json", "--counts", "n", "-o", "-", "--json")
    assert json.loads(sent.stderr)["respondents"] == 2000
