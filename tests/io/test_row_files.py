"""Rows in CSV files as data frames are written: what is no row is refused."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from support.report_files import PROTOCOLS, people

import ldpstats as ldp
from ldpstats.io import row_files


def test_rows_that_are_cut_or_of_another_protocol_are_refused(tmp_path: Path) -> None:
    protocol = PROTOCOLS["numbers"]
    text = protocol.reports(people(20), rng=1).to_csv(index=False)
    path = tmp_path / "rows.csv"
    for damaged, said in [
        (text[:-40], r"rows.csv': row 19 answers the group"),
        (text.replace(protocol.fingerprint(), "p0123456789ab", 1), "of another protocol"),
        (text.replace("True", "perhaps", 1), "simulated"),
        (text.replace("sex × age", "sex", 1), "answers the group 'sex'"),
        (text + text.splitlines()[1] + "\n", "same respondent"),
        (text + "a,b\n" * 2 + "1,2,3,4,5,6,7,8,9\n", "cannot be read as rows|another protocol"),
    ]:
        path.write_text(damaged, encoding="utf-8")
        with pytest.raises(ldp.LdpstatsError, match=said):
            ldp.tables_of(path, protocol)


def test_rows_that_stand_twice_in_different_chunks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_files, "_ROWS", 10)
    protocol = PROTOCOLS["numbers"]
    frame = protocol.reports(people(30), rng=1)
    pd.concat([frame, frame[:1]]).to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(ldp.LdpstatsError, match="reports of the same respondents twice"):
        ldp.tables_of(tmp_path / "rows.csv", protocol)
