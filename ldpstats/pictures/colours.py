"""Colours that people with any kind of colour vision tell apart, on light and dark paper, and shades of residuals."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.patches import Patch

BLUE = "#0072b2"
VERMILLION = "#d55e00"
GREEN = "#009e73"
PURPLE = "#cc79a7"
SKY = "#56b4e9"
ORANGE = "#e69f00"
SERIES = (BLUE, VERMILLION, GREEN, PURPLE, SKY, ORANGE)
"""For what stands beside each other, in this order."""

UNDECIDED = "#8c8c8c"
"""For what reports do not decide."""

INK = "#1b1b1c"
"""For words, axes and rules; a page that is dark at night gives them its own colour."""

PAPER = "#fefefd"
"""For gaps between areas; the page's own background in a report."""

DIVERGING, SEQUENTIAL = "PuOr_r", "Blues"
"""matplotlib's maps: from below to above what is expected, and from nothing to much."""


NOT_KNOWN = "#b9c4cc"
"""For what has no residual."""
HATCH, DASHES = "////", (0, (3, 2))
_PALE, _STRIPES = "#e9e9e9", "#a6a6a6"
# ink upon shades, which are the same on light and on dark pages
_DARK, _LIGHT = "#000000", "#ffffff"
# of a colour by WCAG 2, and where black and white have the same contrast to it: 4.58
_LUMINANCE, _EVEN = (0.2126, 0.7152, 0.0722), 0.179
# where the shades stand on the map, from far below to far above
_PLACES = {0: 0.1, 1: 0.28, 3: 0.72, 4: 0.9}
_MIDDLE = 2


@dataclass(frozen=True, slots=True)
class Shading:
    """Shades by residuals: pale and hatched up to the quantile, stronger beyond it, strongest beyond twice of it."""

    quantile: float  # of residuals under independence

    def level(self, residual: float) -> int | None:
        """Return the shade of a residual: 0 (far below) to 4 (far above), None for nan."""
        if math.isnan(residual):
            return None
        beyond = (abs(residual) > self.quantile) + (abs(residual) > 2 * self.quantile)
        return _MIDDLE + (beyond if residual > 0 else -beyond)

    def colour(self, residual: float) -> str:
        """Return the colour of a residual's shade."""
        from matplotlib import colormaps
        from matplotlib.colors import to_hex

        level = self.level(residual)
        if level is None:
            return NOT_KNOWN
        return _PALE if level == _MIDDLE else to_hex(colormaps[DIVERGING](_PLACES[level]))

    def area(self, residual: float) -> dict[str, Any]:
        """Return matplotlib's settings for an area of this residual."""
        hatch = {"hatch": HATCH, "edgecolor": _STRIPES} if self.level(residual) == _MIDDLE else {}
        return {"facecolor": self.colour(residual), "linewidth": 0, **hatch}

    def legend(self, residuals: list[float]) -> list[Patch]:
        """Return a patch with its words for every shade that these residuals have."""
        from matplotlib.patches import Patch

        known = {self.level(residual): residual for residual in residuals}
        levels = [level for level in (4, 3, 2, 1, 0, None) if level in known]
        return [Patch(label=self._words(level), **self.area(known[level])) for level in levels]

    def _words(self, level: int | None) -> str:
        near, far = (f"{times * self.quantile:.3g}" for times in (1, 2))
        if level is None:
            return "no residual"
        return (
            f"far fewer than independence expects (residual < −{far})",
            f"fewer than independence expects (−{far} to −{near})",
            f"hatched: the interval holds zero (−{near} to {near})",
            f"more than independence expects ({near} to {far})",
            f"far more than independence expects (residual > {far})",
        )[level]


def ink_on(colour: str) -> str:
    """Return black or white, whichever is easier to read on a colour."""
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in parts)
    return _LIGHT if sum(map(operator.mul, _LUMINANCE, linear)) < _EVEN else _DARK
