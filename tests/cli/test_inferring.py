"""Commands that infer: each says what the function of its name says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.shell import done, run

import ldpstats as ldp

DOMAIN = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "mid", "old"]})
PEOPLE = np.array([[[9, 5, 1], [2, 3, 4]], [[1, 5, 3], [6, 7, 8]]]) * 100
TABLES = {k: ldp.SampledGroups(DOMAIN, k=k, epsilon=3.0).simulate(PEOPLE, rng=1) for k in (2, 3)}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tables of pairs and of triples, in which commands run."""
    monkeypatch.chdir(tmp_path)
    TABLES[2].save("t.json")
    TABLES[3].save("t3.json")
    ldp.PerAttribute(DOMAIN, epsilon=3.0, k=1, sampled=True).simulate(PEOPLE, rng=1).save("t1.json")
    return tmp_path


def as_json(value: object) -> object:
    return json.loads(json.dumps(value))


def test_tests_are_those_of_the_package() -> None:
    pairs = done("test", "t.json", "--adjust", "fdr_bh", "--alpha", "0.01", "--method", "wald")
    assert pairs.stdout.rstrip() == str(ldp.independence_tests(TABLES[2], "wald", adjust="fdr_bh", alpha=0.01))
    one = done("test", "t.json", "car", "sex", "--json")
    assert json.loads(one.stdout)["pvalue"] == ldp.independence_test(TABLES[2]["car", "sex"]).pvalue
    mutual = json.loads(done("test", "t3.json", "sex", "car", "age", "--json").stdout)
    assert mutual["pvalue"] == ldp.independence_test(TABLES[3]["sex", "car", "age"]).pvalue
    given = json.loads(done("test", "t3.json", "sex", "car", "--given", "age", "--json").stdout)
    expected = ldp.conditional_independence_test(TABLES[3]["sex", "car", "age"], "sex", "car", "age")
    assert given["pvalue"] == expected.pvalue
    assert done("test", "-", given=TABLES[2].to_json()).stdout == done("test", "t.json").stdout


def test_pairs_of_wider_tables_are_tested_too() -> None:
    found = json.loads(done("test", "t3.json", "--json").stdout)
    assert len(found["pairs"]) == 3
    assert json.loads(done("test", "t3.json", "sex", "age", "--json").stdout)["n"] == PEOPLE.sum()


def test_effects_are_those_of_the_package() -> None:
    named = ("--rows", "F,M", "--columns", "yes, no")
    one = json.loads(done("effects", "t.json", "sex", "car", *named, "--json").stdout)
    assert one["cramers_v"]["estimate"] == ldp.association(TABLES[2]["sex", "car"]).estimate
    assert (
        one["odds_ratio"]["estimate"]
        == ldp.odds_ratio(TABLES[2]["sex", "car"], 0.05, ("F", "M"), ("yes", "no")).estimate
    )
    assert "odds_ratio" not in json.loads(done("effects", "t.json", "sex", "car", "--json").stdout)
    every = json.loads(done("effects", "t.json", "--json").stdout)
    assert [row["attributes"] for row in every] == [["sex", "car"], ["sex", "age"], ["car", "age"]]
    assert every[0]["cramers_v"] == one["cramers_v"]
    lines = done("effects", "t.json").stdout.splitlines()
    strengths = [float(line.split()[3]) for line in lines if " × " in line]
    assert strengths == sorted(strengths, reverse=True)


def test_a_network_is_written_as_bif_or_with_all_that_was_learned() -> None:
    told = json.loads(done("network", "t.json", "-o", "n.bif", "--json").stdout)
    assert ldp.BayesianNetwork.from_bif("n.bif").domain.names == DOMAIN.names
    done("network", "t.json", "--method", "chow-liu", "-o", "n.json")
    assert as_json(ldp.load("n.json").to_dict())["attributes"] == told["attributes"]
    made = done("network", "t.json", "-o", "-")
    assert made.stdout == Path("n.bif").read_text("utf-8")
    assert "Network of 3 attributes" in made.stderr
    assert run("network", "t.json", "-o", "t.json").exit_code == 3


def test_a_report_goes_to_standard_output_too() -> None:
    made = done("report", "t.json", "--title", "Cars", "-o", "-")
    assert made.stdout.startswith("<!DOCTYPE html>")
    assert "<h1>Cars</h1>" in made.stdout
    assert made.stderr == "Report: standard output\n"
    assert not Path("-").exists()


@pytest.mark.parametrize(
    ("command", "work"),
    [
        ("network t.json -o", "networks.learn_network"),
        ("report t.json -o", "report.report_page"),
        ("analyse people.csv --epsilon 2 -o", "analysis.analyse"),
        ("demo --report", "analysis.demonstrate"),
    ],
)
def test_a_name_that_cannot_be_written_to_is_refused_before_the_work(
    command: str, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"ldpstats.{work}", lambda *_, **__: pytest.fail("worked"))
    Path("people.csv").write_text("sex,car\nF,yes\nM,no\n")
    for output in ("t.json", "t1.json/x.json"):
        refused = run(*command.split(), output)
        assert refused.exit_code == 3, refused.output
        assert "Allowed: a new name" in refused.stderr or "could not be written" in refused.stderr
    with pytest.raises(pytest.fail.Exception):
        run(*command.split(), "new.json")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("test", "t.json", "sex"), 2, "Name two attributes"),
        (("test", "t.json", "sex", "shoe"), 2, "'shoe'"),
        (("test", "t.json", "sex", "sex"), 2, "'sex'"),
        (("test", "t.json", "--given", "age"), 2, "Name two attributes"),
        (("test", "t.json", "sex", "car", "--alpha", "0.1"), 2, "all pairs"),
        (("test", "t.json", "--alpha", "2"), 2, "alpha = 2"),
        (("test", "t.json", "--adjust", "none at all"), 2, "adjust = 'none at all'"),
        (("test", "t.json", "sex", "car", "--given", "age"), 3, "Allowed"),
        (("test", "t1.json"), 3, "tables of single attributes"),
        (("test", "nothere.json"), 3, "does not exist"),
        (("effects", "t.json", "sex"), 2, "Name two attributes"),
        (("effects", "t.json", "sex", "car", "--rows", "F,M"), 2, "both, or neither"),
        (("effects", "t.json", "sex", "car", "--rows", "F,X", "--columns", "yes,no"), 2, "two of 'F', 'M'"),
        (("effects", "t.json", "sex", "car", "--rows", "F,F", "--columns", "yes,no"), 2, "different categories"),
        (("effects", "t1.json"), 3, "tables of single attributes"),
        (("network", "t1.json", "-o", "n.bif"), 3, "Allowed"),
        (("report", "-", "--truth", "-", "-o", "-"), 2, "one file only"),
    ],
)
def test_what_cannot_be_asked_is_refused(arguments: tuple[str, ...], code: int, message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
