"""The page about large collections: its program runs, and its sums are right."""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest

import ldpstats as ldp

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text("utf-8")


def test_the_program_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    domain = ldp.Domain({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y", "z"]})
    people = domain.decode(np.random.default_rng(1).integers([2, 2, 3], size=(600, 3)))
    protocol = ldp.SampledGroups(domain, epsilon=2.0)
    monkeypatch.chdir(tmp_path)
    Path("protocol.json").write_text(protocol.to_json(), "utf-8")
    Path("answers").mkdir()
    people[:400].to_parquet("answers/one.parquet")
    people[400:].to_parquet("answers/two.parquet")
    ldp.write_reports("monday.parquet", protocol, people[:500])
    ldp.write_reports("tuesday.parquet", protocol, people[500:])
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    asked, counted = program.replace('Client("tcp://scheduler:8786")', "here").split("# report files")
    options = {
        "local_directory": str(tmp_path),
        "processes": False,
        "n_workers": 1,
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
    }
    with distributed.Client(**options) as here:
        known: dict[str, Any] = {"here": here}
        exec(asked, known)  # noqa: S102  # it is ours
        assert known["tables"].n == 600
        assert len(known["tables"]["a", "b"].parts.collections) == 2
        exec(counted.partition("\n")[2], known)  # noqa: S102
        assert known["tables"].n == 600
        assert known["tests"].to_frame().equals(ldp.independence_tests(known["tables"]).to_frame())


def test_the_sums_of_the_page_are_right() -> None:
    respondents, pairs = 10**9, math.comb(100, 2)
    assert pairs == 4950
    said = partial(str.__contains__, PAGE)
    grr = ldp.mechanism("grr", k=16, epsilon=2.0)
    assert said(f"10⁹ / 4,950 = {respondents // pairs:,}")
    assert said(f"| {grr.variance(1 / 16, respondents // pairs) ** 0.5:.4f} |".replace("| 0", "| "))
    assert said(f"{math.comb(100, 3):,} questions with {respondents // math.comb(100, 3):,} reports each")
    assert round((100 * 0.8 + respondents * 0.75e-6) / 60) == 14
    assert round(respondents * 50e-6 / 3600) == 14
    assert round(100e9 / (14 * 60) / 1e6, -1) == 120
