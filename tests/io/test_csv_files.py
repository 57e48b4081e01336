"""CSV: no damage to a file is overlooked, and every program reads it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support.report_files import PROTOCOLS, people, with_digest

import ldpstats as ldp
from ldpstats.io import csv_files
from ldpstats.io.headers import DamagedFileError
from ldpstats.io.sources import open_source

NUMBERS = PROTOCOLS["numbers"]


def test_every_damage_is_refused(tmp_path: Path) -> None:
    path, rng = tmp_path / "r.csv", random.Random(1)  # noqa: S311  # where a file is damaged
    ldp.write_reports(path, NUMBERS, people(20), rng=1, tokens="token")
    raw = path.read_bytes()
    cuts = [raw[:place] for place in range(0, len(raw), 5)]
    flips = [raw[:at] + bytes([raw[at] ^ rng.randrange(1, 256)]) + raw[at + 1 :] for at in range(0, len(raw), 3)]
    more = [raw[:at] + raw[at - 9 : at] + raw[at:] for at in range(9, len(raw), 11)]
    for damaged in (*cuts, *flips, *more):
        if damaged != raw:
            path.write_bytes(damaged)
            with pytest.raises(ldp.LdpstatsError) as refused:
                ldp.tables_of(path, NUMBERS)
            assert repr(str(path)) in str(refused.value)


def test_a_program_that_changed_a_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    ldp.write_reports(path, NUMBERS, people(), rng=1)
    whole = path.read_bytes()
    for changed, said in [
        (b"\xef\xbb\xbf" + whole, "a program changed"),
        (whole.replace(b"\n", b"\r\n"), "carriage return"),
        (whole + b"\n", "not as it was written"),
        (
            b"".join(line for line in whole.splitlines(keepends=True) if not line.startswith(b"# end")),
            "without the line",
        ),
    ]:
        path.write_bytes(changed)
        with pytest.raises(ldp.LdpstatsError, match=said):
            ldp.tables_of(path, NUMBERS)


def test_an_edited_file_is_no_file_with_bad_rows(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    ldp.write_reports(path, NUMBERS, people(), rng=1)
    path.write_bytes(path.read_bytes().replace(b"\n0,", b"\n0,x", 1))
    with pytest.raises(DamagedFileError, match="of another text than that of these 300"):
        ldp.tables_of(path, NUMBERS, quarantine=tmp_path / "aside.csv")
    for line in ("# end 300 0", "# end 301 " + "0" * 64, "# something else", "#"):
        path.write_text("".join(f"{one}\n" for one in [*path.read_text("utf-8").splitlines()[:-1], line]), "utf-8")
        with pytest.raises(DamagedFileError, match=r"it ends with|its last line tells"):
            ldp.describe_reports(path)


def test_a_line_that_does_not_end_takes_no_more_memory_than_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_files, "_PIECE", 4096)
    path = tmp_path / "r.csv"
    ldp.write_reports(path, NUMBERS, people(5), rng=1)
    with path.open("ab") as file:
        file.write(b"0" * 100_000)
    with pytest.raises(DamagedFileError):
        ldp.tables_of(path, NUMBERS)
    lines = path.read_text("utf-8").splitlines()[:2]
    with_digest(path, [*lines, "0" * 100_000])
    with pytest.raises(DamagedFileError, match="its line 3 does not end"):
        ldp.tables_of(path, NUMBERS)


def test_the_example_of_the_page_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "report-files.md").read_text("utf-8")
    (tmp_path / "r.csv").write_text(page.split("```\n")[1], encoding="utf-8", newline="")
    protocol = ldp.SampledGroups(ldp.Domain({"sex": ["F", "M"], "travel": ["car", "train", "other"]}), k=1, epsilon=1.0)
    tables = ldp.tables_of(tmp_path / "r.csv", protocol)
    assert [table.n for table in tables] == [2, 2]
    assert ldp.describe_reports(tmp_path / "r.csv").mechanisms == ("RR(k=2, epsilon=1.0)", "GRR(k=3, epsilon=1.0)")


def test_a_file_that_takes_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    ldp.write_reports(path, NUMBERS, people(), rng=1)
    read = open_source(str(path)).fits(NUMBERS)
    ldp.write_reports(path, NUMBERS, people(), rng=2)
    with pytest.raises(DamagedFileError, match="another file took its place"):
        list(read(0))
