"""The site as its readers meet it: links land, names are found, nothing comes from elsewhere, any window will do.

`make docs` makes build/site and then runs this.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
from pages.public_names import public_names
from pages.reference import place_of_names
from pages.synonyms import SYNONYMS
from papers.catalogue import EXHIBITS
from support.chromium import CHROMIUM, Chromium, chromium
from support.page_checks import poor_contrasts

import ldpstats as ldp
from ldpstats.cli import main
from ldpstats.mechanisms import registered_mechanisms
from ldpstats.vignettes import vignettes

pytestmark = pytest.mark.site

SITE = Path(__file__).parents[2] / "build" / "site"
REMOTE = re.compile(r"^(?:[a-z]+:)?//", flags=re.IGNORECASE)
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*:", flags=re.IGNORECASE)
LOADED = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)|@import\s+['\"]?((?:https?:)?//[^;'\"]+)")
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium to open pages with")


@dataclass
class Page(HTMLParser):
    """What a page links to, what it loads, and which names it has for parts of itself."""

    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names |= {found[name] for name in ("id", "name") if name in found}
        target = found.get("href") or found.get("src") or found.get("data")
        if target is not None:
            self.links.append(target)
            if tag not in {"a", "area"}:
                self.loads.append(target)
        self.loads += [one.split()[0] for one in found.get("srcset", "").split(",") if one.strip()]


@cache
def page(path: Path) -> Page:
    read = Page()
    read.feed(path.read_text("utf-8"))
    return read


def all_pages() -> list[Path]:
    found = sorted(SITE.rglob("*.html"))
    assert (SITE / "index.html") in found, "no site: `make docs` makes it"
    return found


def lost(path: Path, link: str) -> bool:
    """Say whether a link leads to no file, or to no part of its page."""
    target, fragment = urldefrag(link)
    target = unquote(target.partition("?")[0])
    file = (SITE / target.lstrip("/") if target.startswith("/") else path.parent / target) if target else path
    if file.is_dir():
        file /= "index.html"
    if not file.resolve().is_relative_to(SITE.resolve()) or not file.exists():
        return True
    return bool(fragment) and file.suffix == ".html" and unquote(fragment) not in page(file.resolve()).names


def test_every_link_lands() -> None:
    found = {path: [one for one in page(path).links if not SCHEME.match(one)] for path in all_pages()}
    assert sum(map(len, found.values())) > 1_000
    nowhere = [(path.name, link) for path, links in found.items() for link in set(links) if lost(path.resolve(), link)]
    assert not nowhere


def test_nothing_comes_from_elsewhere() -> None:
    remote = [(path.name, one) for path in all_pages() for one in page(path).loads if REMOTE.match(one)]
    styles = [(path.name, *found) for path in SITE.rglob("*.css") for found in LOADED.findall(path.read_text("utf-8"))]
    assert not remote
    assert not styles
    assert not [path.name for path in all_pages() if "mathjax" in path.read_text("utf-8").lower()]


def test_every_public_name_has_an_entry() -> None:
    places = place_of_names()
    missing = [
        name
        for name in public_names()
        if f"ldpstats.{name}" not in page((SITE / "reference" / f"{places[name]}.html").resolve()).names
    ]
    assert set(ldp.__all__) - {"designs", "plots", "published", "rrba"} <= set(places)
    assert not missing


def test_every_mechanism_command_exhibit_and_vignette_has_a_place() -> None:
    names = {path: page(path).names for path in all_pages()}
    catalogue, commands = names[SITE / "reference/mechanisms.html"], names[SITE / "reference/command-line.html"]
    papers = set().union(*(found for path, found in names.items() if path.parent.name == "papers"))
    assert {f"mechanism-{kind.name}" for kind in registered_mechanisms()} <= catalogue
    assert {f"command-{name}" for name in main.commands} <= commands
    assert {f"exhibit-{name.replace('.', '-')}" for name in EXHIBITS} <= papers
    assert {f"{name}.html" for name in vignettes()} <= {path.name for path in (SITE / "tutorials").iterdir()}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as running:
        yield running


OUT_OF_THE_WINDOW = """
(() => {
  const scrolls = one => ["auto", "scroll", "hidden"].includes(getComputedStyle(one).overflowX);
  const inside = one => { for (let up = one.parentElement; up && up.localName !== "article"; up = up.parentElement)
    if (scrolls(up)) return true; return scrolls(one); };
  const width = document.documentElement.clientWidth;
  const out = [...document.querySelectorAll("article *")]
    .filter(one => one.getBoundingClientRect().right > width + 0.5 && one.checkVisibility() && !inside(one))
    .map(one => one.outerHTML.slice(0, 80));
  return document.documentElement.scrollWidth > width ? [...out, "the page itself"] : out;
})()
"""


def kinds_of_pages() -> list[str]:
    """Return the pages of every kind; all tutorials and papers, as each has pictures and tables of its own."""
    chosen = ["index.html", "reference/mechanisms.html", "reference/words.html", "reference/tables.html", "search.html"]
    chosen += ["reference/command-line.html", "how-to/command-line.html", "how-to/protocol-file.html", "genindex.html"]
    chosen += ["explanation/privacy.html", "explanation/identified.html", "explanation/design.html"]
    chosen += [f"tutorials/{name}.html" for name in vignettes()]
    return chosen + [f"papers/{path.name}" for path in sorted((SITE / "papers").glob("*.html"))]


@in_a_browser
@pytest.mark.parametrize("name", kinds_of_pages())
def test_pages_fit_wide_and_narrow_windows_and_nothing_complains(browser: Chromium, address: str, name: str) -> None:
    for width, scheme in ((1600, "light"), (1400, "light"), (390, "dark")):
        browser.shape(width, 900, scheme)
        browser.visit(f"{address}/{name}")
        assert not browser.value(OUT_OF_THE_WINDOW)
        assert not browser.said()
        assert all(one.startswith((address, "data:")) for one in browser.asked_for())


@in_a_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "explanation/privacy.html", "reference/planning.html"])
def test_pages_are_readable_by_day_and_by_night(browser: Chromium, address: str, name: str, scheme: str) -> None:
    browser.shape(1400, 900, scheme)
    browser.visit(f"{address}/{name}")
    assert not poor_contrasts(browser)


FOUND = "[...document.querySelectorAll('#search-results ul.search li > a')].map(one => one.getAttribute('href'))"
FINISHED = "/page|not match/.test((document.querySelector('#search-results .search-summary') || {}).textContent)"


@in_a_browser
@pytest.mark.parametrize(
    "words",
    [
        "chi-square test",
        "Warner",
        "Cramer's V",
        "Cramér's V",
        "power analysis",
        "contingency table",
        "randomized response",
        "local differential privacy",
        "Fréchet bounds",
        "sample size",
        "odds ratio",
        "McNemar",
        "confidence interval",
        "independence_test",
        "SampledGroups",
    ],
)
def test_the_search_finds_what_statisticians_look_for(browser: Chromium, address: str, words: str) -> None:
    browser.shape()
    browser.visit(f"{address}/search.html?q={words.replace(' ', '+')}")
    browser.awaited(FINISHED)
    found = browser.value(FOUND)
    wanted = [name for word, names in SYNONYMS.items() if words.lower() in word.lower() for name in names] or [words]
    places = {f"reference/{place_of_names()[name]}.html" for name in wanted}
    assert places & {link.partition("#")[0] for link in found[:6]}
    assert not browser.said()
