"""The gallery: its code draws its pictures, whose data are as they were; run as a script, this writes them anew."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import isabstract
from pathlib import Path
from textwrap import shorten
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from ldpstats.pictures.drawing import Axes, Picture
from ldpstats.presentation import plain_rows

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "vignettes" / "gallery.md"
GOLDEN = ROOT / "tests" / "pictures" / "golden"
BLOCK = re.compile(
    r"```\{code-cell\} ipython3\n(?::tags: [^\n]*\n\n)?(.*?)```\n(?:\n!\[([^\n]*)\]\(gallery/([a-z-]+)\.svg\)\n)?",
    flags=re.DOTALL,
)
# an image has no page around it whose colours it could take
STYLE = """<style>
svg { color: #1b1b1c; background: #fefefd; --paper: #fefefd }
@media (prefers-color-scheme: dark) { svg { color: #e6e6e3; background: #17181a; --paper: #17181a } }
</style>"""
DIGITS = 1e-6
MOST_LETTERS = 240


@contextmanager
def drawn() -> Iterator[list[Picture]]:
    """Note the pictures that are drawn."""
    noted: list[Picture] = []
    draw = Picture.draw

    def noting(self: Picture, ax: Axes | None = None) -> Axes:
        noted.append(self)
        return draw(self, ax)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Picture, "draw", noting)
        yield noted


def pictures() -> dict[str, Picture]:
    """Run the code of the page, and return the picture that each block with an image below it draws."""
    from matplotlib import pyplot as plt

    names: dict[str, Any] = {}
    found = {}
    with drawn() as noted:
        for code, _, image in BLOCK.findall(PAGE.read_text("utf-8")):
            exec(compile(code, f"the gallery, {image}", "exec"), names)  # noqa: S102  # our own page
            plt.close("all")
            if image:
                found[image] = noted[0]
                noted.clear()
            assert not noted, f"a picture without an image below it: {code}"
    return found


def data_of(picture: Picture) -> dict[str, Any]:
    """Return what is drawn, as plain values."""
    heading = {"kind": type(picture).__name__, "title": picture.title, "notes": list(picture.notes)}
    return heading | {"figures": plain_rows(picture.to_frame().reset_index(drop=True))}


def nearly(one: Any, other: Any) -> bool:
    """Say whether plain values are equal, numbers up to rounding."""
    if isinstance(one, float) or isinstance(other, float):
        numbers = isinstance(one, int | float) and isinstance(other, int | float)
        return numbers and math.isclose(one, other, rel_tol=DIGITS, abs_tol=DIGITS)
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(nearly(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(nearly, one, other))
    return bool(one == other)


def kinds() -> set[str]:
    """Return the names of all kinds of pictures."""
    known, left = set(), list(Picture.__subclasses__())
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        if kind.__module__.startswith("ldpstats.") and not isabstract(kind):
            known.add(kind.__name__)
    return known


def write() -> None:
    """Write images, their texts in the page, and the data that they are compared with."""
    found = pictures()
    for folder in (PAGE.parent / "gallery", GOLDEN):
        folder.mkdir(exist_ok=True)
        for path in folder.iterdir():
            path.unlink()
    for name, picture in found.items():
        element = picture.svg(name).replace(">", f">{STYLE}", 1)
        (PAGE.parent / "gallery" / f"{name}.svg").write_text(element + "\n", "utf-8")
        text = json.dumps(data_of(picture), indent=1, ensure_ascii=False, allow_nan=False)
        text = re.sub(r"\n {3,}|\n {2}(?=\})", " ", text)  # a row of figures on a line
        (GOLDEN / f"{name}.json").write_text(text + "\n", "utf-8")
    text = PAGE.read_text("utf-8")
    for name, picture in found.items():
        text = re.sub(rf"!\[[^\n]*\](?=\(gallery/{name}\.svg\))", f"![{alternative(picture)}]", text)
    PAGE.write_text(text, "utf-8")


def alternative(picture: Picture) -> str:
    """Return the text in the place of an image: how the description begins, as figures may be many, and the notes."""
    begins = shorten(picture.described(), MOST_LETTERS, placeholder=" ...")
    return re.sub(r"[\[\]\\]", " ", f"{begins} {picture.remarks()}".strip())


@pytest.fixture(scope="module")
def found() -> dict[str, Picture]:
    return pictures()


def test_every_picture_shows_what_it_showed(found: dict[str, Picture]) -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == set(found)
    for name, picture in found.items():
        known = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
        assert nearly(json.loads(json.dumps(data_of(picture))), known), f"{name}: `make gallery` writes it anew"


def test_every_kind_of_picture_hangs_in_the_gallery(found: dict[str, Picture]) -> None:
    assert kinds() == {type(picture).__name__ for picture in found.values()}


def test_every_image_is_there_and_is_an_image(found: dict[str, Picture]) -> None:
    images = sorted((PAGE.parent / "gallery").iterdir())
    assert {path.stem for path in images} == set(found)
    for path in images:
        assert path.stat().st_size < 200_000
        text = path.read_text("utf-8")
        ET.fromstring(text)  # noqa: S314  # our own file
        assert "<text" in text


def test_the_page_says_what_its_images_are(found: dict[str, Picture]) -> None:
    said = {image: words for _, words, image in BLOCK.findall(PAGE.read_text("utf-8")) if image}
    assert said == {name: alternative(picture) for name, picture in found.items()}


if __name__ == "__main__":
    os.chdir(ROOT)
    write()
