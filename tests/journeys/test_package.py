"""The package as strangers meet it: a light import, a complete wheel, documents that are true."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import ldpstats as ldp

ROOT = Path(__file__).parents[2]
HEAVY = {"numpy", "scipy", "pandas", "cvxpy", "pgmpy", "numba", "matplotlib", "dask", "statsmodels", "sklearn", "torch"}
MODULES = [path.name for path in (ROOT / "ldpstats").glob("*.py")]
NEEDED = {"numpy", "scipy", "pandas"}


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


def libraries(code: str) -> set[str]:
    """Return the top-level modules that are loaded after some code, printed last."""
    loaded = python("-c", f"import json, sys; {code}; print(json.dumps(list(sys.modules)))").splitlines()[-1]
    return {name.partition(".")[0] for name in json.loads(loaded)}


def test_importing_loads_no_library() -> None:
    loaded = libraries("import ldpstats")
    assert "ldpstats" in loaded
    assert not loaded & HEAVY


def test_a_table_and_its_test_load_what_they_need() -> None:
    code = """import ldpstats as ldp; ldp.independence_test(ldp.SampledGroups(ldp.Domain({'a': [0, 1], 'b': [0, 1]}),
        epsilon=1.0).simulate([[500, 500], [500, 500]], rng=1)['a', 'b'])"""
    assert not libraries(code.replace("\n", " ")) & (HEAVY - NEEDED)


def test_functions_with_the_name_of_a_module_stay_functions() -> None:
    code = "import ldpstats.views, ldpstats.mechanisms.grr, ldpstats as ldp"
    names = [name for name in ldp.__all__ if (ROOT / "ldpstats" / name).exists() or f"{name}.py" in MODULES]
    names = [name for name in names if name not in {"plots", "designs"}]  # are modules, and meant to be
    assert {"views", "mechanisms"} <= set(names)
    shown = python("-c", f"{code}; print([callable(getattr(ldp, name)) for name in {names}])")
    assert shown.strip() == str([True] * len(names))


def test_every_name_is_there_and_every_mechanism_by_its_own() -> None:
    assert all(getattr(ldp, name) is not None for name in ldp.__all__)
    for name in ("LGRR", "LOSUE", "CMS", "OpenRR", "OneHotCMS"):
        assert name not in ldp.__all__
        assert getattr(ldp, name).__name__ == name
    with pytest.raises(AttributeError):
        ldp.Nothing  # noqa: B018  # looking is what fails


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    code = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    return folder / python("-c", code, str(folder)).split()[-1]


def test_the_wheel_holds_data_and_types_but_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"ldpstats/data/{name}.bif" for name in ("survey", "asia", "sachs", "child", "alarm")} <= set(names)
    assert {"ldpstats/data/README.md", "ldpstats/py.typed", "ldpstats/data/vignettes/gallery.md"} <= set(names)
    assert {f"ldpstats/report/templates/{name}" for name in ("page.html", "parts.html", "page.css")} <= set(names)
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
    assert json.loads((ROOT / "clients/js/package.json").read_text(encoding="utf-8"))["version"] == ldp.__version__


def test_requirements_have_both_ends_and_the_build_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    tested = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split() if "==" in line
    )
    [build] = project["build-system"]["requires"]
    assert build == f"hatchling=={tested['hatchling']}"
    groups = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    wanted = [Requirement(text) for group in groups for text in group]
    for one in wanted:
        assert one.name == "ldpstats" or {item.operator for item in one.specifier} in ({">=", "<"}, {"=="}), one
        assert one.name not in tested or tested[one.name] in one.specifier, f"{one}, but tested with {tested[one.name]}"


def test_authors_and_licence_agree(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        name = next(one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        said = message_from_string(archive.read(name).decode("utf-8"))
    cited = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert said["Author"] == said["Maintainer"] == "The ldpstats developers"
    assert f'authors:\n  - name: "{said["Author"]}"\nversion' in cited
    assert said["Author"].lower() in (ROOT / "LICENSE").read_text(encoding="utf-8").lower()
    assert f"license: {said['License-Expression']}\n" in cited
    assert (said["Version"], said.get_all("Project-URL")) == (ldp.__version__, None), "RELEASING.md: no home yet"


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
