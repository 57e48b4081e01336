"""The costs of collections: every step works and is measured; no study hides a module of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import collection_costs as study
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.exhaustive
def test_every_step_of_a_file_is_measured_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(study, "SIZES", (("grr", ".parquet", 5000),))
    rows = list(study.file_costs(tmp_path, divisor=1))
    assert [row["rows"] for row in rows] == ["5,000"] * 3
    assert all(float(row["peak memory, MB"]) > 20 for row in rows)
    assert float(rows[-1]["speed / reading"]) >= 0  # of so few rows it may be rounded to nothing
    assert not list(tmp_path.iterdir())


def test_no_study_is_called_like_a_module_of_the_standard_library() -> None:
    """Python finds the files of this folder first when one of them is run."""
    assert not {path.stem for path in FOLDER.iterdir()} & sys.stdlib_module_names


@pytest.mark.exhaustive
def test_all_of_it_runs(capfd: pytest.CaptureFixture[str]) -> None:
    assert subprocess.run([sys.executable, str(FOLDER / "collection_costs.py"), "20000"], check=False).returncode == 0
    said = capfd.readouterr().out
    assert "the same counts to the last unit" in said
    assert "Real answers to a report" in said
