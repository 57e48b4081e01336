"""The page of a report, opened in a real Chromium: by day and by night, wide and narrow, and printed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.chromium import CHROMIUM, Chromium, chromium
from support.doubted_tables import doubted
from support.page_checks import assert_well_formed, poor_contrasts, too_wide

from ldpstats import Domain, SampledGroups, TableSet
from ldpstats.report import content

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium to open pages with")

HOSTILE = Domain(
    {
        "<script>alert('name')</script>": ['"><img src=x onerror=alert(1)>', "a & b", "]]>", "$x_1$ 100 % \\frac"],
        "a very long name of an attribute that goes on and on, " * 3: ["x" * 120, "two\nlines", "\u202egnorw\u202c"],
        "喜欢": ["是", "否"],
        "flag": [True, False],
        "number": [1, 2.5, -3],
    }
)


def simulated(domain: Domain, seed: int = 1, n: int = 20_000) -> TableSet:
    rng = np.random.default_rng(seed)
    people = rng.multinomial(n, rng.dirichlet(np.full(domain.size(), 0.3)))
    return SampledGroups(domain, epsilon=3.0).simulate(people, rng=seed)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return reports about well-behaved names, and about names that try to break out of the page."""
    folder = tmp_path_factory.mktemp("reports")
    plain = Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "adult", "old"]})
    found = {"plain": plain, "hostile": HOSTILE}
    for name, domain in found.items():
        simulated(domain).report(folder / f"{name}.html", title=f"Of {next(iter(domain.categories))}")
    doubted().report(folder / "doubted.html", title="Of doubts")
    return {name: folder / f"{name}.html" for name in (*found, "doubted")}


@pytest.mark.parametrize("name", ["plain", "hostile", "doubted"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "light"), (400, "dark")])
def test_the_page_is_readable_by_day_and_by_night_wide_and_narrow(
    browser: Chromium, reports: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    browser.open(reports[name], width, 900, scheme)
    assert not too_wide(browser)
    assert not poor_contrasts(browser)
    # every part unfolded, as that check left it
    assert not too_wide(browser)
    assert not browser.said()
    assert browser.asked_for() == [reports[name].resolve().as_uri()]


@pytest.mark.parametrize("name", ["plain", "hostile", "doubted"])
def test_links_land_and_everything_has_a_name(browser: Chromium, reports: dict[str, Path], name: str) -> None:
    browser.open(reports[name])
    found = assert_well_formed(browser)
    assert found["title"].startswith("Of ")


def test_there_is_room_for_the_text(browser: Chromium, reports: dict[str, Path]) -> None:
    width = "document.querySelector('main').clientWidth"
    browser.open(reports["plain"], 1280)
    assert browser.value(width) > 800
    browser.open(reports["plain"], 400)
    assert browser.value(width) > 350


def test_night_is_dark_and_paper_is_white(browser: Chromium, reports: dict[str, Path]) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.open(reports["plain"], scheme="dark")
    assert browser.value(ground) == "rgb(22, 24, 27)"
    browser.send("Emulation.setEmulatedMedia", media="print", features=[])
    assert browser.value(ground) == "rgb(255, 255, 255)"
    browser.send("Emulation.setEmulatedMedia", media="")


def test_what_is_folded_is_printed(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.open(reports["plain"])
    page = browser.printed()
    assert page.startswith(b"%PDF-")
    assert page.count(b"/Type /Page\n") + page.count(b"/Type /Page ") >= 2
    browser.send("Emulation.setEmulatedMedia", media="print", features=[])
    folded = "[...document.querySelectorAll('details.printed > :not(summary)')]"
    assert browser.value(f"{folded}.length") > 0
    assert browser.value(f"{folded}.filter(one => !one.checkVisibility()).length") == 0
    browser.send("Emulation.setEmulatedMedia", media="")


def test_going_to_a_folded_table_unfolds_it(browser: Chromium, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "find_spec", lambda _: None)  # 24 pictures, of which nothing is asked
    many = Domain({f"a{place}": ["no", "yes"] for place in range(8)})
    simulated(many).report(tmp_path / "many.html")
    browser.open(tmp_path / "many.html")
    name = browser.value("document.querySelector('details.line > [id]').id")
    assert browser.value(f"document.getElementById('{name}').checkVisibility()") is False
    browser.value(f"location.hash = '{name}'")
    assert browser.value(f"document.getElementById('{name}').checkVisibility()") is True
