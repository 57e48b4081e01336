"""What a report file says about itself, in every form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from support.report_files import PROTOCOLS, SUFFIXES, messages, people, with_digest, write_lines

import ldpstats as ldp
from ldpstats.io import parquet_files
from ldpstats.io.headers import DamagedFileError
from ldpstats.io.parquet_files import checksum
from ldpstats.saving.files import digest


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
    for plain in (found, rows):
        assert "Nothing in the file shows whether it is whole" in str(plain)
    ldp.write_messages(tmp_path / "r.csv", protocol, messages(protocol))
    assert "The file is as it was written" in str(ldp.describe_reports(tmp_path / "r.csv"))


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


def with_header(folder: Path, said: dict[str, Any]) -> Path:
    """Write a file whose header says something else, with digests that fit."""
    ldp.write_reports(folder / "r.csv", PROTOCOLS["numbers"], people(20), rng=1)
    first, *rest = (folder / "r.csv").read_text("utf-8").splitlines()[:-1]
    header = {**json.loads(first.removeprefix("# ldpstats reports ")), **said}
    del header["digest"]
    return with_digest(
        folder / "other.csv", [f"# ldpstats reports {json.dumps({**header, 'digest': digest(header)})}", *rest]
    )


@pytest.mark.parametrize(
    "said",
    [
        *({"epsilon": level} for level in (-1.0, [1], "huge", None, True, {"a": 1})),
        *({"mechanisms": names} for names in ([], ["grr"], "grr")),
        *({"rows": names} for names in ([], ["a"])),
        {"rows": [], "mechanisms": []},
        {"simulated": 1},
        {"collection": "A" * 32},
    ],
)
def test_headers_that_nobody_writes_are_refused(tmp_path: Path, said: dict[str, Any]) -> None:
    path = with_header(tmp_path, said)
    for read in (ldp.describe_reports, lambda path: ldp.tables_of(path, PROTOCOLS["numbers"])):
        with pytest.raises(DamagedFileError, match="its header cannot be read"):
            read(path)


def test_a_file_of_a_later_version_is_not_called_damaged(tmp_path: Path) -> None:
    with pytest.raises(ldp.ReportError, match=r"other.csv' of version 3\. .*A newer ldpstats wrote it") as refused:
        ldp.describe_reports(with_header(tmp_path, {"version": 3}))
    assert not isinstance(refused.value, DamagedFileError)


def test_columns_that_no_report_file_has_are_refused(tmp_path: Path) -> None:
    ldp.write_reports(tmp_path / "r.parquet", PROTOCOLS["numbers"], people(20), rng=1)
    table = parquet.read_table(tmp_path / "r.parquet")
    header = json.loads(parquet.ParquetFile(tmp_path / "r.parquet").metadata.metadata[b"ldpstats"])
    texts = table.set_column(0, "row", pa.array(["x"] * 20))
    for other in (table.drop(["row"]), table.select(["report", "row"]), texts):
        said = {**header, "groups": [[20, checksum(parquet_files._arrays(other))]]}
        del said["digest"]
        metadata = {b"ldpstats": json.dumps({**said, "digest": digest(said)}).encode()}
        parquet.write_table(other.replace_schema_metadata(metadata), tmp_path / "other.parquet")
        with pytest.raises(DamagedFileError):
            ldp.describe_reports(tmp_path / "other.parquet")
