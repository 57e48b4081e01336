"""Contents: what `show` says of every file, and of those that are damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.shell import done, run

import ldpstats as ldp
from ldpstats.client import Respondent
from ldpstats.datasets import network
from ldpstats.protocols.rrba import Client

DOMAIN = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
PROTOCOL = ldp.SampledGroups(DOMAIN, epsilon=2.0)
TABLES = PROTOCOL.simulate(np.array([300, 100, 100, 300]), rng=1)
SAVED: dict[str, Any] = {
    "protocol": PROTOCOL,
    "table set": TABLES,
    "HypothesisResult": ldp.independence_test(TABLES["sex", "car"]),
    "GRR": ldp.GRR(3, 1.0),
}


@pytest.mark.parametrize("kind", SAVED)
def test_saved_objects_say_what_they_are(kind: str, tmp_path: Path) -> None:
    SAVED[kind].save(tmp_path / "it.json")
    shown = json.loads(done("show", tmp_path / "it.json", "--json").stdout)
    assert (shown["kind"], shown["defects"]) == (kind, [])
    text = done("show", "-", given=SAVED[kind].to_json()).stdout
    assert text.rstrip("\n") == (str(SAVED[kind]) if kind != "GRR" else repr(SAVED[kind]))


def test_domains_and_networks_say_what_they_are(tmp_path: Path) -> None:
    assert done("show", "-", given=DOMAIN.to_json()).stdout.rstrip() == str(DOMAIN)
    network("asia").to_bif(tmp_path / "asia.bif")
    assert json.loads(done("show", tmp_path / "asia.bif", "--json").stdout)["kind"] == "BIF"
    cut = (tmp_path / "asia.bif").read_text()[:300]
    assert run("show", "-", given=cut).exit_code == 1


def test_answers_and_keys_that_a_file_keeps_are_not_shown() -> None:
    client = Client(DOMAIN, {"sex": "F", "car": "yes"}, 2.0)
    shown = done("show", "-", given=client.to_json())
    assert shown.stdout == "A saved client. It holds private answers or keys, which are not shown.\n"


@pytest.mark.parametrize("kind", SAVED)
def test_a_damaged_file_is_a_defect(kind: str) -> None:
    text = SAVED[kind].to_json()
    for damaged in (text[:-20], text[:200], text.replace("2", "3"), text.replace("sex", "six")):
        if damaged != text and len(damaged) > 60:
            result = run("show", "-", "--json", given=damaged)
            assert result.exit_code == 1
            assert json.loads(result.stdout)["defects"]


def test_reports_that_no_channel_sends_are_a_defect() -> None:
    grr = ldp.SampledGroups(DOMAIN, epsilon=0.1, mechanism="grr")
    rows = grr.reports(DOMAIN.decode(np.zeros((5000, 2), dtype=int)), rng=1).assign(report="0")
    forged = grr.tables(rows)
    result = run("show", "-", given=forged.to_json())
    assert result.exit_code == 1
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "which is no file of ldpstats"),
        (b"sex,car\nF,yes\n", "`ldpstats domain` and `ldpstats analyse` read them"),
        (b"\xff\xfe\x00", "no text in UTF-8"),
        (b"{}", "standard input"),
        (b'{"a": [1', "standard input"),
        (b"\x00" * 100, "no file of ldpstats"),
    ],
)
def test_what_is_no_file_of_ours_is_refused(content: bytes, message: str) -> None:
    result = run("show", "-", given=content)
    assert (result.exit_code, result.stdout) == (3, "")
    assert message in result.stderr


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of reports in every form that there is."""
    folder = tmp_path_factory.mktemp("reports")
    people = DOMAIN.decode(np.repeat([[0, 0], [1, 1]], 50, axis=0))
    found = {name: folder / f"r.{name}" for name in ("csv", "parquet", "old", "jsonl")}
    for name in ("csv", "parquet"):
        ldp.write_reports(found[name], PROTOCOL, people, rng=1)
    PROTOCOL.reports(people, rng=1).to_csv(found["old"], index=False)
    messages = [Respondent(PROTOCOL.to_json()).answer({"sex": "F", "car": "yes"}) for _ in range(100)]
    found["jsonl"].write_text("\n".join(messages) + "\n")
    return found


@pytest.mark.parametrize("form", ["csv", "parquet", "old", "jsonl"])
def test_reports_say_what_they_are(form: str, reports: dict[str, Path]) -> None:
    told = json.loads(done("show", reports[form], "--json").stdout)
    assert (told["kind"], told["content"]["n"]) == ("reports", 100)
    assert told["content"]["protocol"] == PROTOCOL.fingerprint()
    assert "100 reports" in done("show", "-", given=reports[form].read_bytes()).stdout


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_damaged_reports_are_a_defect(form: str, reports: dict[str, Path]) -> None:
    whole = reports[form].read_bytes()
    for damaged in (whole[:-7], whole[: len(whole) // 2]):
        result = run("show", "-", given=damaged)
        assert result.exit_code == 1, result.output
        assert result.stdout.startswith("What should be a file of reports cannot be read: ")


def test_parquet_of_another_program_is_no_file_of_ours(tmp_path: Path) -> None:
    DOMAIN.decode([[0, 0]]).to_parquet(tmp_path / "answers.parquet")
    result = run("show", tmp_path / "answers.parquet")
    assert result.exit_code == 3
    assert "read answers in Parquet" in result.stderr


def test_what_commands_write_beside_saved_objects_says_what_it_is(tmp_path: Path) -> None:
    messages = [Respondent(PROTOCOL.to_json()).answer({"sex": "F", "car": "yes"}) for _ in range(100)]
    (tmp_path / "sent.jsonl").write_text("\n".join([*messages, "no, message"]) + "\n")
    aside, checkpoint, page = tmp_path / "aside.csv", tmp_path / "count.json", tmp_path / "page.html"
    tables = ldp.tables_of(tmp_path / "sent.jsonl", PROTOCOL, quarantine=aside, resume=checkpoint)
    tables.report(page)
    words = {aside: "set aside, with reasons: 1.", checkpoint: "goes on from it", page: "kind 'report', for a browser"}
    for file, said in words.items():
        assert said in done("show", file).stdout
        assert json.loads(done("show", file, "--json").stdout)["defects"] == []
    checkpoint.write_text(checkpoint.read_text().replace(PROTOCOL.fingerprint(), "p0123456789ab"))
    assert run("show", checkpoint).exit_code == 1
