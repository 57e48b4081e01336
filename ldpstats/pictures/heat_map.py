"""Heat maps: a number for every pair of attributes, as strength of colour; grey where reports do not decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.pictures.colours import INK, SEQUENTIAL, UNDECIDED, ink_on
from ldpstats.pictures.drawing import Axes, Picture, label_lines, literal

_GREY, _STRIPES = (UNDECIDED, 0.25), (UNDECIDED, 0.5)
"""Of what is not decided: they let the page through, so that on a dark one they do not shine."""
_MOST_NUMBERED, _UPRIGHT = 12, 5
_CELL, _SMALL_CELL = 0.5, 0.25
_LETTER, _LEAST_WIDTH = 0.08, 5.0
_SHORTEST, _LONGEST = 4, 40
# below it a colour could be taken for none
_FAINTEST, _DARKEST = 0.15, 0.9
_SIDE, _SPOKEN = 0.94, 5
_STEPS = 64


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap(Picture):
    """Heat map of a number for every pair of attributes: the lower triangle of a square."""

    labels: tuple[str, ...]  # the attributes
    values: NDArray[np.float64]  # symmetric, shape (attributes, attributes), from 0 on; nan where there is none
    decided: NDArray[np.bool_]  # pairs for which the reports show that there is anything
    asked: NDArray[np.bool_]  # pairs that were asked for; others are left blank
    scale: str  # what the numbers are

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        longest = _LETTER * min(max(map(len, self.labels)), _LONGEST)
        side = (_CELL if self._numbered else _SMALL_CELL) * max(len(self.labels) - 1, _SHORTEST)
        return max(side + longest + 1.6, _LEAST_WIDTH), side + longest + 1.1

    def to_frame(self) -> pd.DataFrame:
        """Return a row per pair that was asked for."""
        rows = [
            (self.labels[second], self.labels[first], self.values[first, second], bool(self.decided[first, second]))
            for first, second in self._places
        ]
        return pd.DataFrame(rows, columns=["first", "second", "value", "decided"])

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        frame = self.to_frame()
        shown = frame[frame["decided"]].sort_values("value", ascending=False, kind="stable")
        known = shown[shown["value"].notna()].head(_SPOKEN)
        strongest = [f"{row.first} and {row.second} {row.value:.2f}" for row in known.itertuples()]
        among = f" The strongest: {'; '.join(strongest)}." if strongest else ""
        pairs = "pair" if len(frame) == 1 else "pairs"
        return f"{self.title}: {self.scale} of {len(frame)} {pairs}, {len(shown)} of them shown to be dependent.{among}"

    @property
    def _numbered(self) -> bool:
        return len(self.labels) <= _MOST_NUMBERED

    @property
    def _places(self) -> list[tuple[int, int]]:
        """The pairs that were asked for, as (row, column) below the diagonal, column by column."""
        side = len(self.labels)
        return [(row, column) for column in range(side) for row in range(column + 1, side) if self.asked[row, column]]

    def _draw_on(self, ax: Axes) -> None:
        from matplotlib import colormaps
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LinearSegmentedColormap, Normalize, to_hex

        strengths = colormaps[SEQUENTIAL](np.linspace(_FAINTEST, _DARKEST, 256))
        known = [self.values[cell] for cell in self._places if np.isfinite(self.values[cell])]
        most = max(known, default=0.0) or 1.0
        scale, strength = Normalize(0, most), LinearSegmentedColormap.from_list("strength", strengths, _STEPS)
        shown = self.decided & np.isfinite(self.values)
        colours = {cell: strength(scale(float(self.values[cell]))) for cell in self._places if shown[cell]}
        striped = [cell for cell in self._places if not self.decided[cell]]
        framed = [cell for cell in self._places if self.decided[cell] and cell not in colours]
        stripes = "////" if self._numbered else ""
        self._draw_squares(ax, list(colours), facecolors=list(colours.values()), linewidths=0.0)
        self._draw_squares(ax, striped, facecolors=[_GREY], edgecolors=[_STRIPES], linewidths=0.8, hatch=stripes)
        self._draw_squares(ax, framed, facecolors=[_GREY], edgecolors=[INK], linewidths=0.8)
        for cell in self._places if self._numbered else ():
            words = f"{self.values[cell]:.2f}" if np.isfinite(self.values[cell]) else "–"
            ink = ink_on(to_hex(colours[cell])) if cell in colours else INK
            ax.text(*cell[::-1], words, color=ink, ha="center", va="center", fontsize="small")
        self._name_axes(ax)
        figure = ax.get_figure()
        assert figure is not None  # axes that are drawn on stand in one
        bar = figure.colorbar(
            ScalarMappable(scale, strength), ax=ax, label=literal(self.scale), shrink=0.7, aspect=25, pad=0.02
        )
        bar.ax.spines[:].set_visible(False)
        # as areas: pages of a report hold no bitmaps, and an area each has seams without edges
        assert bar.solids is not None  # there are some wherever there are colours
        bar.solids.set(rasterized=False, edgecolor="face")

    def _draw_squares(self, ax: Axes, places: list[tuple[int, int]], **look: Any) -> None:
        """Draw squares of one kind, perhaps thousands of them, as one artist."""
        from matplotlib.collections import PolyCollection

        corners = _SIDE / 2 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
        ax.add_collection(PolyCollection([np.array(cell[::-1]) + corners for cell in places], **look))

    def _name_axes(self, ax: Axes) -> None:
        side = len(self.labels)
        names, size = [label_lines(label) for label in self.labels], "medium" if self._numbered else "x-small"
        ax.set(xlim=(-0.5, side - 1.5), ylim=(side - 0.5, 0.5))
        ax.set_xticks(range(side - 1), names[:-1], rotation=90 if max(map(len, names)) > _UPRIGHT else 0, fontsize=size)
        ax.set_yticks(range(1, side), names[1:], fontsize=size)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
