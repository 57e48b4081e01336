"""The costs of collections: every step works and is measured; the script's name hides no module of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import collection_costs as study
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_every_step_of_a_file_is_measured_in_a_process_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(study, "SIZES", (("grr", ".parquet", 5000),))
    rows = list(study.file_costs(tmp_path, divisor=1))
    assert [row["rows"] for row in rows] == ["5,000"] * 3
    assert all(float(row["peak memory, MB"]) > 20 for row in rows)
    assert float(rows[-1]["speed / reading"]) > 0
    assert not list(tmp_path.iterdir())


def test_the_script_stands_in_nobodys_way() -> None:
    code = f"""import sys
sys.path.insert(0, {str(FOLDER)!r})
assert 'collections' not in sys.modules
from collections import Counter
import collections.abc
print(Counter('aab')['a'], collections.__file__.startswith(sys.path[0]), sys.path[0] == {str(FOLDER)!r})"""
    found = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == ["2", "False", "True"]


@pytest.mark.exhaustive
def test_all_of_it_runs(capfd: pytest.CaptureFixture[str]) -> None:
    assert subprocess.run([sys.executable, str(FOLDER / "collections.py"), "20000"], check=False).returncode == 0
    said = capfd.readouterr().out
    assert "the same counts to the last unit" in said
    assert "Real answers to a report" in said
