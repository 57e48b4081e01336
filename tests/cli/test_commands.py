"""The command line: the demonstration in text and JSON, and errors as messages."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.shell import run
from support.spoken import spoken

from ldpstats import Domain, SampledGroups
from ldpstats.analysis import Demonstration, demonstrate
from ldpstats.datasets import NETWORKS
from ldpstats.inference.planning.plans import plan
from ldpstats.mechanisms import GRR, REGISTRY


@pytest.fixture(scope="module")
def shown() -> Demonstration:
    return demonstrate(n=500)


@pytest.fixture
def short_demo(shown: Demonstration, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to write into, and a demonstration that is made once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ldpstats.analysis.demonstrate", lambda **_: shown)
    return tmp_path


def test_demo_writes_its_page_but_over_no_other_file(short_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run("demo")
    assert first.exit_code == 0
    assert first.output.endswith("This demonstration on such a page: ldpstats-demo.html\n")
    page = short_demo / "ldpstats-demo.html"
    written = page.read_text("utf-8")
    assert "Demonstration: affairs" in written
    monkeypatch.setattr("ldpstats.analysis.report_page", lambda *_, **__: written)
    assert run("demo").output == first.output, "an older page is replaced"
    page.write_text("mine")
    refused = run("demo")
    assert refused.exit_code == 0
    assert "not written: " in refused.output
    assert page.read_text() == "mine"
    assert run("demo", "--report", str(page)).exit_code == 3
    page_alone = run("demo", "--report", "-")
    assert page_alone.stdout.startswith("<!DOCTYPE html>")
    assert "This demonstration on such a page: standard output" in page_alone.stderr
    assert not (short_demo / "-").exists()
    assert json.loads(run("demo", "--json", "--report", "here.html").output)["n"] == 500
    assert (short_demo / "here.html").exists()


def test_demo_without_matplotlib_says_what_is_missing(short_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.cli.answering.find_spec", {}.get)
    assert "pip install 'ldpstats[plots]'" in run("demo").output
    assert not list(short_demo.iterdir())


def test_demo_in_json_says_the_same_and_depends_on_its_seed() -> None:
    first, other = (run("demo", "--json", "--n", "20000", "--seed", seed) for seed in ("3", "4"))
    assert first.output != other.output
    shown = json.loads(first.output)
    assert shown["simulated"] == 20_000
    assert shown["n"] == 20_000
    assert len(shown["pairs"]) == 10
    assert {row["raw_verdict"] for row in shown["pairs"]} == {"dependent", "no dependence shown"}
    assert sum(row["n"] for row in shown["pairs"]) == 20_000
    assert 2 - 1e-9 < shown["privacy"]["epsilon"] <= 2


def test_help_names_every_network() -> None:
    assert all(name in run("demo", "--help").output for name in NETWORKS)


@pytest.mark.parametrize("mechanism", [pytest.param("oue", marks=pytest.mark.exhaustive), "auto"])
def test_demo_takes_other_networks_and_mechanisms(mechanism: str) -> None:
    result = run("demo", "--network", "asia", "--mechanism", mechanism, "--epsilon", "0.5", "--n", "5000", "--json")
    assert result.exit_code == 0, result.output
    shown = json.loads(result.output)
    assert shown["population"] == "asia"
    assert 0.5 - 1e-9 < shown["privacy"]["epsilon"] <= 0.5


def test_a_handful_of_respondents_gives_few_answers_but_gives_them_again() -> None:
    few, first, again = (run("demo", "--n", n, "--json") for n in ("3", "20", "20"))
    assert {one.exit_code for one in (few, first)} == {0}
    assert first.output == again.output, "Monte Carlo p-values take their seed from the counts"
    of_few, of_more = ({row["verdict"] for row in json.loads(one.output)["pairs"]} for one in (few, first))
    assert "dependent" not in of_few | of_more
    assert "not testable" in of_few - of_more


def test_an_output_without_room_is_a_message() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no device that is full")
    with full.open("w") as out:
        command = [sys.executable, "-m", "ldpstats", "vignettes", "list"]
        done = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def test_mechanisms_are_listed_with_their_figures() -> None:
    result = run("mechanisms", "--k", "4", "--epsilon", "2")
    assert result.exit_code == 0
    rows = {line.split()[0]: line for line in result.output.splitlines() if line}
    assert {kind.name for kind in REGISTRY} <= set(rows)
    grr = GRR(4, 2.0)
    figures = (f"{grr.strict_epsilon():.4f}", str(grr.report_bits), f"{grr.variance(0.25, 1):.3f}")
    assert tuple(rows["grr"].split()[1:4]) == figures
    assert "k-rr" in rows["grr"]
    assert "Kairouz" in rows["grr"]


def test_an_audit_can_be_read_and_parsed() -> None:
    text, plain = (
        run("audit", "oue", "--k", "4", "--seed", "1"),
        run("audit", "oue", "--k", "4", "--seed", "1", "--json"),
    )
    assert text.exit_code == plain.exit_code == 0
    found = json.loads(plain.output)
    assert found["exact"] == found["claimed"] == pytest.approx(1)
    assert 0 < found["lower_bound"] <= 1
    assert found["verdict"] in spoken(text.output)


def test_an_audit_walks_settings_and_mechanisms() -> None:
    walk = run("audit", "grr", "--settings", "3", "--k", "50", "--n", "1000", "--seed", "1")
    assert walk.exit_code == 0
    assert [line.split("(")[0] for line in walk.output.splitlines()] == ["GRR"] * 3
    assert all("power" in line for line in walk.output.splitlines())
    every = run("audit", "--all", "--k", "2", "--n", "1000", "--seed", "1", "--json")
    assert every.exit_code == 0
    assert [one["mechanism"]["name"] for one in json.loads(every.output)] == [kind.name for kind in REGISTRY]


def test_an_audit_that_finds_a_defect_ends_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GRR, "strict_epsilon", lambda self: self.epsilon / 2)
    found = run("audit", "grr", "--k", "4", "--n", "1000", "--seed", "1")
    assert found.exit_code == 1
    assert "FAILS: strict_epsilon() states 0.5, which is less than 1" in found.output


def test_a_plan_for_a_table_can_be_read_and_parsed() -> None:
    asked = ("plan", "--shape", "4x4", "--effect", "0.1", "--power", "0.8", "--epsilon", "1")
    text, plain = run(*asked), run(*asked, "--json")
    assert text.exit_code == plain.exit_code == 0
    assert "To find a dependence of V = 0.1 in a 4x4 table with 80 % power at level 0.05" in spoken(text.output)
    assert "ask 28,900 respondents with SS; OUE needs 31,800" in spoken(text.output)
    assert json.loads(plain.output) == plan((4, 4), epsilon=1.0).to_dict()


@pytest.mark.parametrize(
    ("two", "third"),
    [
        (("--epsilon", "1"), "n"),
        (("--n", "20000"), "epsilon"),
        (("--n", "20000", "--power", "0.9"), "epsilon"),
        (("--n", "20000", "--epsilon", "1"), "power"),
    ],
)
def test_a_plan_finds_the_third_from_two(two: tuple[str, ...], third: str) -> None:
    result = run("plan", "--shape", "2x3", "--mechanism", "grr", "--mechanism", "oue", "--json", *two)
    shown = json.loads(result.output)
    assert shown["found"] == third
    assert {row["mechanism"] for row in shown["mechanisms"]} == {"grr", "oue"}


def test_a_plan_for_a_domain_is_for_all_its_pairs_or_for_mutual_information_and_triples(tmp_path: Path) -> None:
    domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"], "size": ["S", "M", "L"]})
    domain.save(tmp_path / "domain.json")
    asked = ("plan", "--domain", str(tmp_path / "domain.json"), "--epsilon", "2", "--mechanism", "ss", "--json")
    pairs = json.loads(run(*asked).output)
    assert pairs["groups"] == pairs["tests"] == 3
    assert pairs["mechanisms"] == plan("ss", domain, epsilon=2.0).to_dict()["mechanisms"]
    triples = json.loads(run(*asked, "--mutual-information", "0.01", "--conditional").output)
    assert triples["asked"] == [["sex", "car", "size"]]
    assert triples == plan("ss", domain, epsilon=2.0, mutual_information=0.01, conditional=True).to_dict()


def test_a_level_that_is_not_enough_is_null_in_json() -> None:
    result = run("plan", "--shape", "4x4", "--n", "100", "--mechanism", "grr", "--json")
    assert json.loads(result.output)["mechanisms"][0]["epsilon"] is None
    assert "Infinity" not in result.output


def test_a_report_is_written_from_saved_tables_and_answers(tmp_path: Path) -> None:
    domain = Domain({"sex": ["F", "M"], "car": ["1", "0"]})
    rows = ["sex,car,more"] + 300 * ["F,1,x"] + 300 * ["M,0,x"] + 200 * ["F,0,x"]
    (tmp_path / "answers.csv").write_text("\n".join(rows))
    tables = SampledGroups(domain, epsilon=3.0).simulate(np.array([300, 200, 0, 300]), rng=1)
    tables.save(tmp_path / "tables.json")
    asked = ("report", str(tmp_path / "tables.json"), "-o", str(tmp_path / "report.html"), "--title", "Cars & sex")
    made = run(*asked, "--truth", str(tmp_path / "answers.csv"), "--network")
    assert made.exit_code == 0, made.output
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "<h1>Cars &amp; sex</h1>" in page
    assert "Raw against private" in page
    assert ">Network</h2>" in page
    plain = run(*asked)
    assert plain.exit_code == 0
    assert "Raw against private" not in (tmp_path / "report.html").read_text("utf-8")
