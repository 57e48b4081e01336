"""How pages are made: links that lead to pages, commands with their output, and what is new appears by itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import docstrings, reference, shell, tutorials
from pages.catalogue import write_catalogue
from pages.markdown import number, plain, power_of_ten, table
from pages.places import DESIGN, RECIPES, ROOT, divided, page_of, texts, with_links_to_pages
from pages.public_names import public_names
from pages.reference import place_of_names, write_reference
from pages.staging import Staging
from pages.synonyms import SYNONYMS
from support.public_names import public_names as relied_upon

import ldpstats as ldp
from ldpstats.extend import register_mechanism
from ldpstats.mechanisms import registry


def test_every_text_of_the_repository_has_a_page_of_its_own() -> None:
    found = texts()
    root = {path.name for path in ROOT.glob("*.md")}
    assert root <= set(found)
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")} <= set(found)
    # two are made from what they describe, and not copied
    copied = [page for source, page in found.items() if source not in {"README.md", "benchmarks/papers/README.md"}]
    assert len(copied) == len(set(copied))


@pytest.mark.parametrize(
    ("link", "source", "page", "led"),
    [
        ("[a](SECURITY.md)", "ARCHITECTURE.md", DESIGN, "[a](security.md)"),
        ("[a](ARCHITECTURE.md#how-to-add-a-mechanism)", "README.md", "x.md", f"[a]({RECIPES}#how-to-add-a-mechanism)"),
        ("[a](../SECURITY.md#x)", "docs/scale.md", "how-to/scale.md", "[a](../explanation/security.md#x)"),
        ("[a](tests)", "README.md", "x.md", "a"),
        ("[a](https://a.org/LICENSE)", "README.md", "x.md", "[a](https://a.org/LICENSE)"),
        ("[a](nowhere.md)", "README.md", "x.md", "[a](nowhere.md)"),
        ('tables["A", "R"](x)', "README.md", "x.md", 'tables["A", "R"](x)'),
    ],
)
def test_links_lead_to_pages(link: str, source: str, page: str, led: str) -> None:
    assert with_links_to_pages(link, source, page) == (led, {})


def test_a_linked_file_that_is_no_page_comes_along() -> None:
    text, needed = with_links_to_pages("[vectors](../test_vectors.json)", "clients/js/README.md", "how-to/a.md")
    assert text == "[vectors](../files/clients/test_vectors.json)"
    assert needed == {"files/clients/test_vectors.json": "clients/test_vectors.json"}


def test_vignettes_are_tutorials() -> None:
    assert page_of("vignettes/gallery.md") == "tutorials/gallery.ipynb"


def test_the_recipes_have_a_page_of_their_own_and_nothing_is_lost() -> None:
    whole = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    design, recipes = divided(whole)
    assert recipes.startswith("## How to add a mechanism")
    assert "How to add" not in design.partition("## How a result")[2].partition("\n## ")[2]
    assert (design + recipes).split() == whole.split()


def test_what_is_no_page_any_more_is_removed_and_two_pages_do_not_share_a_place(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "page.md").write_text("gone")
    pages = Staging(tmp_path)
    pages.write("new/page.md", "here")
    pages.write("new/page.md", "here")
    with pytest.raises(ValueError, match="two pages"):
        pages.write("new/page.md", "something else")
    pages.finish()
    assert [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")] == ["new/page.md"]
    assert not (tmp_path / "old").exists()


def test_markdown_says_what_was_meant() -> None:
    assert table(["a", ">b"], [["1", "2"]]) == "| a | b |\n| :--- | ---: |\n| 1 | 2 |\n"
    assert plain("a|b <i> *c* d_e") == "a\\|b &lt;i> \\*c\\* d\\_e"
    assert [number(value) for value in (float("nan"), 0.12345, 12345.6)] == ["–", "0.123", "12,346"]
    assert power_of_ten(5.27e-7) == "5 · 10⁻⁷"


def test_docstrings_are_read_as_they_are_written() -> None:
    lines = ["Return |x| and *every* pair, shape (*shape, 2).", "", "    >>> a = b * c | d", ""]
    assert list(docstrings.without_markup(lines)) == [
        "Return \\|x\\| and *every* pair, shape (\\*shape, 2).",
        "",
        "    >>> a = b * c | d",
        "",
    ]


def test_commands_are_run_and_a_failing_one_stops_everything() -> None:
    text, pages = shell.with_output("```console\n$ head -n 1 answers.csv\n```\n")
    assert text == "```console\n$ head -n 1 answers.csv\naffair,marriage,children,religious,husband\n```\n"
    assert not pages
    with pytest.raises(RuntimeError, match="nowhere"):
        shell.with_output("```console\n$ ldpstats show nowhere.json\n```\n")


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the pages that are written, by their places."""
    found: dict[str, str] = {}
    monkeypatch.setattr(Staging, "write", lambda _, page, content: found.__setitem__(page, content))
    return found


def test_a_mechanism_that_is_registered_appears_by_itself(
    monkeypatch: pytest.MonkeyPatch, written: dict[str, str], tmp_path: Path
) -> None:
    class Another(ldp.GRR):  # a name is all that is new
        name = "grr-by-another-name"
        aliases = ()

    monkeypatch.setattr(registry, "_registered", ())
    register_mechanism(Another)
    write_catalogue(Staging(tmp_path))
    page = written["reference/mechanisms.md"]
    assert "(mechanism-grr-by-another-name)=" in page
    assert ".. autoclass:: ldpstats.Another" in page
    assert page.count("(#mechanism-") == len(ldp.mechanisms())
    assert "6.23" in page  # the variance of GRR at k = 16, ε = 1


def test_a_public_name_without_a_topic_stops_the_making(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reference, "public_names", lambda: {**public_names(), "brand_new": print})
    with pytest.raises(ValueError, match="brand_new"):
        write_reference(Staging(tmp_path))


def test_every_name_is_documented_once_and_synonyms_lead_to_names(written: dict[str, str], tmp_path: Path) -> None:
    write_reference(Staging(tmp_path))
    write_catalogue(Staging(tmp_path))
    directives = re.findall(r":: ldpstats\.(\S+)$", "\n".join(written.values()), flags=re.MULTILINE)
    assert sorted(directives) == sorted([*public_names(), "presentation.Result"])
    assert set(place_of_names()) == set(public_names())
    assert {name for names in SYNONYMS.values() for name in names} <= set(public_names())


def test_missing_notebooks_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tutorials, "NOTEBOOKS", tmp_path)
    with pytest.raises(FileNotFoundError, match="make vignettes"):
        tutorials.write_tutorials(Staging(tmp_path / "site"))


def test_everything_that_users_may_rely_on_is_in_the_reference() -> None:
    documented = {id(thing) for thing in public_names().values()}
    assert not [name for name, thing in relied_upon().items() if id(thing) not in documented]
