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


def test_a_pair_is_the_same_by_name_and_among_all() -> None:
    groups = [("sex", "car"), ("sex", "car", "age")]
    ldp.SampledGroups(DOMAIN, groups=groups, epsilon=3.0).simulate(PEOPLE, rng=1).save("both.json")
    among = json.loads(done("test", "both.json", "--json").stdout)["pairs"]
    (listed,) = [one for one in among if {one["first"], one["second"]} == {"sex", "car"}]
    named = json.loads(done("test", "both.json", "sex", "car", "--json").stdout)
    assert (named["n"], named["statistic"]) == (PEOPLE.sum(), pytest.approx(listed["statistic"]))
    strength = json.loads(done("effects", "both.json", "sex", "car", "--json").stdout)
    assert strength["cramers_v"]["estimate"] == pytest.approx(listed["cramers_v"])


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
