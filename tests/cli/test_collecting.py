"""Commands that collect: protocols of every kind, tables of several files, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.shell import done, run

import ldpstats as ldp
from ldpstats.cli.collecting import KINDS
from ldpstats.protocols import LocalProtocol
from ldpstats.protocols.contract import missing
from ldpstats.protocols.kinds import PROTOCOLS

DOMAIN = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "old"]})
PEOPLE = np.arange(1, 9) * 20


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a domain, in which commands run."""
    monkeypatch.chdir(tmp_path)
    DOMAIN.save("d.json")
    return tmp_path


def test_the_kinds_are_those_whose_respondents_randomize() -> None:
    local = [
        kind for kind, cls in PROTOCOLS.items() if not missing(cls, LocalProtocol) and cls.__module__[:4] == "ldps"
    ]
    assert list(KINDS) == local


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("kind", KINDS)
def test_reports_of_every_kind_travel_through_the_shell(kind: str) -> None:
    done("protocol", "d.json", "--epsilon", "2", "--kind", kind, "-o", "p.json")
    protocol = ldp.load("p.json")
    assert protocol.kind == kind
    rows = DOMAIN.decode(np.repeat(np.argwhere(np.ones(DOMAIN.shape)), PEOPLE, axis=0))
    rows.to_csv("people.csv", index=False)
    done("privatize", "people.csv", "--protocol", "p.json", "--seed", "1", "-o", "r.csv")
    done("tables", "r.csv", "--protocol", "p.json", "-o", "t.json")
    assert ldp.load("t.json").to_json() == protocol.collect(rows, rng=1).to_json()


@pytest.mark.usefixtures("folder")
def test_options_of_protocols_are_those_of_their_classes() -> None:
    asked = ("--groups", "sex,car", "--groups", "car × age", "--mechanism", "oue", "--outside", "random")
    done("protocol", "d.json", "--epsilon", "1.5", *asked, "-o", "p.json")
    groups = [("sex", "car"), ("car", "age")]
    assert ldp.load("p.json") == ldp.SampledGroups(
        DOMAIN, epsilon=1.5, groups=groups, mechanism="oue", outside="random"
    )
    made = done("protocol", "d.json", "--epsilon", "1.5", "--k", "3", "-o", "-")
    assert ldp.Protocol.from_json(made.stdout).k == 3
    assert "SampledGroups over 3 attributes" in made.stderr


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("d.json", "--epsilon", "0"), 2, "epsilon = 0"),
        (("d.json", "--epsilon", "inf"), 2, "epsilon = inf"),
        (("d.json", "--epsilon", "two"), 2, "'two' is not a valid float"),
        (("d.json", "--epsilon", "1", "--groups", "sex,shoe"), 2, "shoe"),
        (("d.json", "--epsilon", "1", "--mechanism", "laplace"), 2, "the mechanism 'laplace'"),
        (("d.json", "--epsilon", "1", "--k", "4"), 2, "k"),
        (("d.json", "--epsilon", "1", "--kind", "product domain", "--k", "2"), 2, "'product domain' does not have"),
        (("d.json", "--epsilon", "1", "--kind", "central laplace"), 2, "is not one of"),
        (("nothere.json", "--epsilon", "1"), 3, "does not exist"),
        (("-", "--epsilon", "1"), 3, "standard input"),
        (("p.json", "--epsilon", "1"), 3, "holds a SampledGroups. Allowed: a domain"),
        (("d.json", "--epsilon", "1", "-o", "nowhere/p.json"), 3, "could not be written"),
        (("d.json", "--epsilon", "1", "-o", "d.json"), 3, "holds something else"),
    ],
)
def test_protocols_that_cannot_be_made_are_refused(arguments: tuple[str, ...], code: int, message: str) -> None:
    ldp.SampledGroups(DOMAIN, epsilon=1.0).save("p.json")
    result = run("protocol", *arguments, *([] if "-o" in arguments else ["-o", "-"]))
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert ldp.load("d.json") == DOMAIN


@pytest.mark.usefixtures("folder")
def test_tables_of_different_respondents_are_merged_and_of_the_same_are_not() -> None:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=2.0)
    sets = [protocol.simulate(PEOPLE, rng=seed) for seed in (1, 2)]
    for place, one in enumerate(sets):
        one.save(f"{place}.json")
    plain = json.loads(done("merge", "0.json", "1.json", "-o", "both.json", "--json").stdout)
    assert plain["n"] == 2 * PEOPLE.sum()
    assert ldp.load("both.json").to_json() == ldp.merge(sets, ["0.json", "1.json"]).to_json()
    assert done("merge", "0.json", "-o", "-").stdout.strip() == sets[0].to_json()
    piped = done("merge", "-", "1.json", "-o", "-", given=sets[0].to_json())
    assert ldp.TableSet.from_json(piped.stdout).n == 2 * PEOPLE.sum()
    again = run("merge", "0.json", "0.json", "-o", "both.json")
    assert again.exit_code in (2, 3)
    assert run("merge", "0.json", "./0.json", "-o", "both.json").exit_code == 3
    assert run("merge", "-", "-", "-o", "both.json").exit_code == 2
    assert run("merge", "0.json", "d.json", "-o", "both.json").exit_code == 3
    assert ldp.load("both.json").n == 2 * PEOPLE.sum()
