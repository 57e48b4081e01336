"""What a report file says about itself, in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.report_files import PROTOCOLS, SUFFIXES, messages, people, write_lines

import ldpstats as ldp


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_report_file_says_what_it_holds(tmp_path: Path, kind: str, suffix: str) -> None:
    protocol, path = PROTOCOLS[kind], tmp_path / f"r.{suffix}"
    ldp.write_reports(path, protocol, people(), rng=1, tokens="token")
    found = ldp.describe_reports(path)
    rows = protocol.reports(people(), rng=1)
    assert (found.n, found.simulated, found.tokens) == (len(rows), len(rows), True)
    counted = rows["group"].value_counts()
    assert dict(zip(found.labels, found.counts, strict=False)) == {
        row.label: counted[row.label] for row in protocol.sent_rows
    }
    assert (found.protocol, found.epsilon) == (protocol.fingerprint(), protocol.privacy().epsilon)
    assert found.mechanisms == tuple(str(row.wire) for row in protocol.sent_rows)
    assert found.collection in rows["collection"].iloc[0]
    assert json.loads(json.dumps(found.to_dict()))["n"] == len(rows)
    assert ldp.ReportFile.from_json(found.to_json()).to_dict() == found.to_dict()


def test_messages_and_rows_say_what_they_name(tmp_path: Path) -> None:
    protocol = PROTOCOLS["numbers"]
    lines = write_lines(tmp_path / "answers.jsonl", [*messages(protocol), {"format": "nothing"}])
    found = ldp.describe_reports(lines)
    assert (found.counts, found.protocol, found.n) == ((20, 20, 20, 1), protocol.fingerprint(), 61)
    protocol.reports(people(), rng=1).to_csv(tmp_path / "rows.csv", index=False)
    rows = ldp.describe_reports(tmp_path / "rows.csv")
    assert (rows.n, rows.simulated, rows.protocol) == (300, 300, protocol.fingerprint())
    assert str(rows)
    assert found.headline.startswith("61 reports (simulated)")


def test_levels_without_a_guarantee_are_said(tmp_path: Path) -> None:
    protocol = ldp.RRBA(PROTOCOLS["numbers"].domain, p=0.5, block_size=50)
    for suffix in SUFFIXES:
        ldp.write_reports(tmp_path / f"r.{suffix}", protocol, people(), rng=1)
        found = ldp.describe_reports(tmp_path / f"r.{suffix}")
        assert found.epsilon == float("inf")
        assert ldp.ReportFile.from_json(found.to_json()).epsilon == float("inf")
        assert "epsilon = inf" in str(found)


def test_impossible_files_are_refused() -> None:
    for counts, simulated in [((1,), 0), ((1, 2, 3), 0), ((-1, 2), 0), ((1, 2), 4)]:
        with pytest.raises(ldp.LdpstatsError, match="a file with"):
            ldp.ReportFile("a", "CSV", "p", ("x",), (), counts, simulated, tokens=False)
