"""Commands that collect: protocols of every kind, tables of several files, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.shell import done, run

import ldpstats as ldp
from ldpstats.cli.collecting import KINDS
from ldpstats.protocols import LocalProtocol, PersonalLevels
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
    # levels of several kinds are named in Python
    assert [*KINDS] == [kind for kind in local if kind != PersonalLevels.kind]


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
def test_tables_of_different_respondents_are_merged() -> None:
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


@pytest.fixture
def sent(folder: Path) -> Path:
    """The folder with a protocol and the reports of 720 respondents, each of whom has a token."""
    rows = DOMAIN.decode(np.repeat(np.argwhere(np.ones(DOMAIN.shape)), PEOPLE, axis=0))
    rows.assign(token=[f"t{place}" for place in range(len(rows))]).to_csv("people.csv", index=False)
    done("protocol", "d.json", "--epsilon", "2", "--mechanism", "grr", "-o", "p.json")
    for name in ("r.csv", "r.parquet"):
        done("privatize", "people.csv", "--protocol", "p.json", "--seed", "1", "--tokens", "token", "-o", name)
    return folder


@pytest.mark.usefixtures("sent")
def test_files_of_both_forms_are_counted_and_counting_goes_on() -> None:
    asked = ("--protocol", "p.json", "-o")
    done("tables", "r.parquet", *asked, "parquet.json")
    done("tables", "r.csv", *asked, "csv.json", "--resume", "state.json")
    done("tables", "r.csv", *asked, "again.json", "--resume", "state.json")
    done("tables", "-", *asked, "pipe.json", given=Path("r.csv").read_bytes())
    assert len({Path(f"{name}.json").read_text() for name in ("parquet", "csv", "again", "pipe")}) == 1
    assert run("tables", "r.csv", "r.parquet", *asked, "twice.json").exit_code == 3


@pytest.mark.usefixtures("sent")
def test_a_scheduler_is_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    handed = {}
    counted = ldp.tables_of(["r.csv"], ldp.load("p.json"))

    def tables_of(_: object, __: object, **asked: object) -> ldp.TableSet:
        handed.update(asked)
        return counted

    monkeypatch.setattr("ldpstats.io.tables_of", tables_of)
    done("tables", "r.csv", "--protocol", "p.json", "--scheduler", "tcp://10.0.0.1:8786", "-o", "t.json")
    assert handed["scheduler"] == "tcp://10.0.0.1:8786"


@pytest.mark.usefixtures("sent")
def test_bad_rows_are_errors_or_set_aside_and_said() -> None:
    protocol = ldp.load("p.json")
    rows = protocol.reports(DOMAIN.decode(np.zeros((90, 3), dtype=int)), rng=1)
    rows.assign(report=np.where(np.arange(90) == 5, 77, rows["report"])).to_csv("old.csv", index=False)
    refused = run("tables", "old.csv", "--protocol", "p.json", "-o", "t.json")
    assert refused.exit_code == 3
    assert "77" in refused.stderr
    assert not Path("t.json").exists()
    told = done("tables", "old.csv", "--protocol", "p.json", "--quarantine", "bad.csv", "-o", "t.json")
    assert "77" in Path("bad.csv").read_text()
    assert "set aside" in told.stdout
    assert ldp.load("t.json").n == 89
    assert "set aside" in done("test", "t.json").stdout


@pytest.mark.usefixtures("sent")
def test_a_token_that_comes_twice_is_refused_or_counted_once() -> None:
    Path("more.csv").write_text("\n".join(Path("people.csv").read_text().splitlines()[:11]) + "\n")
    done("privatize", "more.csv", "--protocol", "p.json", "--seed", "2", "--tokens", "token", "-o", "r2.csv")
    assert run("tables", "r.csv", "r2.csv", "--protocol", "p.json", "-o", "t.json").exit_code == 3
    done("tables", "r.csv", "r2.csv", "--protocol", "p.json", "--tokens", "once", "-o", "t.json")
    assert ldp.load("t.json").n == 720


@pytest.mark.usefixtures("sent")
@pytest.mark.parametrize("spoil", [lambda text: text[:-30], lambda text: text.replace("1,0", "1,2", 1), lambda _: ""])
def test_damaged_files_of_reports_are_refused(spoil: Callable[[str], str]) -> None:
    Path("r.csv").write_text(spoil(Path("r.csv").read_text()))
    result = run("tables", "r.csv", "--protocol", "p.json", "-o", "t.json")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "r.csv" in result.stderr
    assert not Path("t.json").exists()
