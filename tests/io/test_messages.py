"""Answers of clients: a line is counted as it was meant, or refused by its number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.report_files import PROTOCOLS, messages, people, write_lines

import ldpstats as ldp
from ldpstats.client import Respondent
from ldpstats.io.headers import DamagedFileError

NUMBERS = PROTOCOLS["numbers"]
ASSIGNED = [kind for kind in PROTOCOLS if not PROTOCOLS[kind].adaptive]


@pytest.mark.parametrize("kind", ASSIGNED)
def test_a_file_of_messages_counts_what_was_sent(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.io.messages._AT_ONCE", 11)
    protocol = PROTOCOLS[kind]
    path = write_lines(tmp_path / "answers.jsonl", messages(protocol))
    expected = protocol.collect(people(60, 7), rng=7)
    for table, one in zip(ldp.tables_of(path, protocol), expected, strict=True):
        assert (table.n, table.simulated) == (one.n, one.n)
        assert np.array_equal(table.blocks[0].tally.counts, one.blocks[0].tally.counts)


WRONG: dict[str, dict[str, Any]] = {
    "the report 7000": {"reports": [7000]},
    "the report": {"reports": ["x00"]},
    "the report 1.5": {"reports": [1.5]},
    "the report True": {"reports": [True]},
    "0 reports about the unit 0": {"reports": []},
    "2 reports about the unit 0": {"reports": [0, 0]},
    "1 reports about the unit 3": {"unit": 3},
    "1 reports about the unit '0'": {"unit": "0"},
    "1 reports about the unit True": {"unit": True},
    "an answer to the protocol 'p0'": {"protocol": "p0"},
    "version 2": {"version": 2},
    "a message with": {"more": 1},
    "simulated nor not": {"simulated": "yes"},
    "token is no text": {"token": 3},
    "a token of 300 bytes": {"token": "x" * 300},
}


@pytest.mark.parametrize("said", WRONG)
def test_a_message_that_nobody_sends_is_refused_or_set_aside(tmp_path: Path, said: str) -> None:
    found = messages(NUMBERS)
    path = write_lines(tmp_path / "answers.jsonl", [*found[:7], {**found[0], **WRONG[said]}, *found[7:]])
    with pytest.raises(ldp.ReportError, match=f"{said}.* in line 8 of '{path}'"):
        ldp.tables_of(path, NUMBERS)
    tables = ldp.tables_of(path, NUMBERS, quarantine=tmp_path / "aside.csv")
    assert (sum(one.n for one in tables), tables.privacy.set_aside) == (60, 1)


@pytest.mark.parametrize("line", ["", "{", "[]", "null", '{"a": 1, "a": 2}', "[" * 5000, "\x00", '{"format": NaN}'])
def test_a_line_that_is_no_message_is_refused_or_set_aside(tmp_path: Path, line: str) -> None:
    path = write_lines(tmp_path / "answers.jsonl", messages(NUMBERS))
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(ldp.ReportError, match=f"in line 61 of '{path}'"):
        ldp.tables_of(path, NUMBERS)
    assert ldp.tables_of(path, NUMBERS, quarantine=tmp_path / "aside.csv").privacy.set_aside == 1


def test_a_last_line_that_was_cut_is_refused_naming_it(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "answers.jsonl", messages(NUMBERS))
    raw = path.read_bytes()
    path.write_bytes(raw[:-20])
    with pytest.raises(DamagedFileError, match="its last line, 60, was cut off"):
        ldp.tables_of(path, NUMBERS)
    # only the end of the line is missing: an editor took it
    path.write_bytes(raw[:-1])
    assert sum(table.n for table in ldp.tables_of(path, NUMBERS)) == 60


def test_a_respondent_of_several_rows_is_set_aside_as_a_whole(tmp_path: Path) -> None:
    protocol = PROTOCOLS["several rows of a unit"]
    found = messages(protocol)
    rows = found[0]["reports"]
    path = write_lines(tmp_path / "a.jsonl", [*found, {**found[0], "reports": [*rows[:-1], 9999]}])
    tables = ldp.tables_of(path, protocol, quarantine=tmp_path / "aside.csv")
    assert {table.n for table in tables} == {60}


def test_what_devices_send_is_read(tmp_path: Path) -> None:
    record, text = {"sex": "F", "age": "old", "size": "j"}, NUMBERS.to_json()
    sent = [Respondent(text).answer(record, token=f"r{number}") for number in range(30)]
    path = write_lines(tmp_path / "answers.jsonl", [json.loads(one) for one in sent])
    tables = ldp.tables_of(path, NUMBERS)
    assert sum(table.n for table in tables) == 30
    assert not tables.simulated


def test_adaptive_protocols_have_no_messages_of_this_kind(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "answers.jsonl", messages(NUMBERS))
    with pytest.raises(ldp.LdpstatsError, match="aggregator"):
        ldp.tables_of(path, PROTOCOLS["blocks"])


def test_a_copy_with_other_ends_of_lines_is_the_same_collection(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "answers.jsonl", messages(NUMBERS))
    raw = path.read_bytes()
    for copied in (raw[:-1], raw.replace(b"\n", b"\r\n")):
        (tmp_path / "copy.jsonl").write_bytes(copied)
        with pytest.raises(ldp.ReportError, match="the same collection as"):
            ldp.tables_of([path, tmp_path / "copy.jsonl"], NUMBERS)
        with pytest.raises(ldp.LdpstatsError, match="twice"):
            ldp.tables_of(path, NUMBERS) + ldp.tables_of(tmp_path / "copy.jsonl", NUMBERS)
