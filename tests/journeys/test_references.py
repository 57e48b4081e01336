"""What documents name is there: files, commands, vignettes, targets of make; README links to no file.

The page of a package index shows README without the files beside it, so that no relative link leads anywhere.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from ldpstats.cli import main

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "RELEASING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")
FENCED = re.compile(r"^```.*?^```\n", flags=re.DOTALL | re.MULTILINE)
INDENTED = re.compile(r"^    (\S.*?)(?:  +#.*)?$", flags=re.MULTILINE)
SPAN = re.compile(r"`([^`]+)`")
FILE = re.compile(r"[\w.-]+(?:/[\w.-]+)*\.(?:md|py|pyi|mjs|json|toml|cff|txt|bib)|\.?[\w-]+(?:/[\w-]+)+/?")
MADE_BY_READERS = {"tables.json", "protocol.json", "answers.csv", "report.html"}


def said(name: str) -> tuple[str, list[str]]:
    """Return a document without its fenced examples, which tests run, and what stands as code in it."""
    text = FENCED.sub("", (ROOT / name).read_text(encoding="utf-8"))
    return text, [*SPAN.findall(text), *INDENTED.findall(text)]


def unknown_words(line: str) -> list[str]:
    """Return the words of a command line of ldpstats that this program does not know: commands, options, vignettes."""
    name, *words = shlex.split(line)[1:] or ["--help"]
    command = main.commands.get(name) if isinstance(main, click.Group) else None
    if command is None:
        return [] if name in {"--help", "--version"} else [name]
    known = {one for parameter in command.params for one in parameter.opts} | {"--help"}
    unknown = [word for word in words if word.startswith("-") and word != "-" and word not in known]
    if name == "vignettes" and words[:1] in (["open"], ["run"]):
        unknown += [word for word in words[1:2] if not (ROOT / "vignettes" / f"{word}.md").is_file()]
    return unknown


def test_readme_links_to_no_file() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]*)\)|^\[[^]]+\]: *(\S+)|(?:href|src)=[\"']([^\"']*)", text, flags=re.MULTILINE)
    assert not [link for found in links for link in found if link and not link.startswith(("https://", "http://"))]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_are_named_exist(name: str) -> None:
    named = {code for code in said(name)[1] if FILE.fullmatch(code)} - MADE_BY_READERS
    assert not sorted(one for one in named if not (ROOT / one).exists())


@pytest.mark.parametrize("name", DOCUMENTS)
def test_commands_that_are_named_exist(name: str) -> None:
    lines = [code for code in said(name)[1] if code.split()[0] == "ldpstats"]
    assert lines or name != "README.md"
    assert not {line: unknown_words(line) for line in lines if unknown_words(line)}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_targets_of_make_that_are_named_exist(name: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = {words[1] for code in said(name)[1] if (words := code.split())[0] == "make" and len(words) > 1}
    assert not {one for one in named if "=" not in one} - targets


def test_vignettes_that_readme_names_exist() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    paragraph = text[text.index("Vignettes answer") :].partition("\n\n")[0]
    named = [code for code in SPAN.findall(paragraph) if re.fullmatch(r"[a-z-]+", code)]
    assert "gallery" in named
    assert not [one for one in named if not (ROOT / "vignettes" / f"{one}.md").is_file()]


@pytest.mark.parametrize(
    ("line", "unknown"),
    [
        ("ldpstats", []),
        ("ldpstats frobnicate", ["frobnicate"]),
        ("ldpstats analyse answers.csv --epsilon 2", []),
        ("ldpstats analyse answers.csv --epsilom 2", ["--epsilom"]),
        ("ldpstats vignettes open gallery", []),
        ("ldpstats vignettes open galery", ["galery"]),
    ],
)
def test_what_does_not_exist_is_found(line: str, unknown: list[str]) -> None:
    assert unknown_words(line) == unknown
