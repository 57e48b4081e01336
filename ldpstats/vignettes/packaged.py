"""The vignettes that came with the package: their names, titles, texts, and which data each takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ldpstats.errors import LdpstatsError, shortened

_TITLE = re.compile(r"^# (.+)$", flags=re.MULTILINE)
_PLACE = re.compile(r"^  place: (\d+)$", flags=re.MULTILINE)
_COLUMNS = re.compile(r"^  columns: \[(\d+), (\d+)\]$", flags=re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Vignette:
    """Notebook in MyST Markdown whose header says what it needs."""

    name: str  # of the file, without its ending
    text: str

    @property
    def title(self) -> str:
        """First heading: the question that it answers."""
        return self._stated(_TITLE, "a heading")[1]

    @property
    def place(self) -> int:
        """Position among the vignettes."""
        return int(self._stated(_PLACE, "a place")[1])

    @property
    def columns(self) -> tuple[int, int]:
        """Least and largest number of columns that it takes."""
        least, most = self._stated(_COLUMNS, "columns").groups()
        return int(least), int(most)

    def _stated(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        found = pattern.search(self.text)
        if found is None:
            raise LdpstatsError(
                f"the vignette {shortened(self.name)} without {what}", f"a line such as {pattern.pattern}"
            )
        return found


def vignettes() -> Mapping[str, Vignette]:
    """Return the vignettes by name, in the order in which they are read."""
    found = [
        Vignette(file.name.removesuffix(".md"), file.read_text("utf-8"))
        for file in _folder().iterdir()
        if file.name.endswith(".md")
    ]
    return {one.name: one for one in sorted(found, key=lambda one: (one.place, one.name))}


def _folder() -> Traversable:
    """Return the folder of the installed package, or of the checkout that it runs from."""
    packaged = files("ldpstats") / "data" / "vignettes"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "vignettes"
