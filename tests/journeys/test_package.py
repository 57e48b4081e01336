"""The package as strangers meet it: a light import, a complete wheel, documents that are true."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import ldpstats as ldp

ROOT = Path(__file__).parents[2]
HEAVY = ("cvxpy", "pgmpy", "numba", "matplotlib", "dask", "statsmodels", "sklearn", "torch")


def python(*arguments: str, cwd: Path = ROOT, **environment: str) -> str:
    """Run this Python in a process of its own."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_loads_no_heavy_library() -> None:
    loaded = json.loads(python("-c", "import json, sys, ldpstats; print(json.dumps(list(sys.modules)))"))
    assert "ldpstats" in loaded
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    code = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    return folder / python("-c", code, str(folder)).split()[-1]


def test_the_wheel_holds_data_and_types_but_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"ldpstats/data/{name}.bif" for name in ("survey", "asia", "sachs", "child", "alarm")} <= set(names)
    assert {"ldpstats/data/README.md", "ldpstats/py.typed"} <= set(names)
    assert not [name for name in names if name.startswith("tests/") or "/test_" in name]


def test_the_demonstration_runs_from_the_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    installed = tmp_path / "site"
    python("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(installed), str(wheel))
    where = python("-c", "import ldpstats; print(ldpstats.__file__)", cwd=tmp_path, PYTHONPATH=str(installed))
    assert Path(where.strip()).is_relative_to(installed), "the checkout got in the way of the wheel"
    shown = json.loads(
        python("-m", "ldpstats", "demo", "--json", "--n", "9000", cwd=tmp_path, PYTHONPATH=str(installed))
    )
    assert shown["n"] == 9000


def test_versions_agree() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'version = "{ldp.__version__}"' in project
    assert f"version: {ldp.__version__}" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {ldp.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_architecture_names_every_module() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    modules = {
        path.relative_to(ROOT / "ldpstats").parts[0].removesuffix(".py") for path in (ROOT / "ldpstats").rglob("*.py")
    }
    missing = [name for name in sorted(modules - {"__init__", "__main__"}) if f"`{name}" not in text]
    assert not missing


def test_no_document_names_a_path_of_some_machine() -> None:
    for path in [
        *ROOT.glob("*.md"),
        *ROOT.glob("*.txt"),
        ROOT / "pyproject.toml",
        ROOT / "Makefile",
        ROOT / "data" / "README.md",
    ]:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(^|[\s\"'(])/(home|root|work|tmp|opt)/", text), path
        assert "index-url" not in text, path
