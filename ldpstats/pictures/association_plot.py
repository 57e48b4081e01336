"""Association plots: adjusted residuals as bars on a baseline, as wide as the root of what independence expects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.pictures.colours import INK
from ldpstats.pictures.drawing import LONGEST_LINE, Axes, Picture, label_lines, legend_below, literal
from ldpstats.pictures.shading import Shading

_LETTER = 0.07
_ROW, _LEAST, _MOST, _CROWDED = 0.62, 2.4, 12.0, 0.3
_WIDE, _COLUMN = 5.0, 0.25
_AROUND = 0.6, 1.3
"""Inches that names, titles and gaps take across and up, beside labels and legend."""
_LEGEND_LINE = 0.2
_FILLED = 0.86
"""Of the room of a column and of a row that the largest bar takes."""
_MOST_SPOKEN = 4


@dataclass(frozen=True, slots=True)
class AssociationPlot(Picture):
    """Association plot: a bar per cell (Cohen 1980; Friendly 1992), up where counts exceed independence, else down.

    Its height is the adjusted residual, its width proportional to the root of the expected share.
    """

    names: tuple[str, str]  # the attribute of the rows, and that of the columns
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    residuals: tuple[tuple[float, ...], ...]  # by row; nan where there is none
    expected: tuple[tuple[float, ...], ...]  # shares under independence
    quantile: float = 1.96  # of the residuals under independence; beyond it shades are stronger

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches, with room for labels."""
        below = _LETTER * self._longest if self._is_turned else 0.0
        beside = _LETTER * min(max(map(len, self.rows)), LONGEST_LINE)
        high = max(min(max(_ROW * len(self.rows), _LEAST), _MOST), _CROWDED * len(self.rows))
        high += _AROUND[1] + below + _LEGEND_LINE * len(self._levels)
        return self._wide + _AROUND[0] + beside, high

    def to_frame(self) -> pd.DataFrame:
        """Return a row per bar."""
        rows = [
            (row, column, residual, expected)
            for row, residuals, shares in zip(self.rows, self.residuals, self.expected, strict=True)
            for column, residual, expected in zip(self.columns, residuals, shares, strict=True)
        ]
        return pd.DataFrame(rows, columns=["row", "column", "residual", "expected"])

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        frame = self.to_frame()
        sizes = frame["residual"].abs()
        shown = frame[sizes > self.quantile].assign(size=sizes).sort_values("size", ascending=False, kind="stable")
        largest = [f"{one.row}, {one.column} {one.residual:+.1f}" for one in shown.head(_MOST_SPOKEN).itertuples()]
        among = f": {'; '.join(largest)}" if largest else ""
        beyond = f"{len(shown)} beyond ±{self.quantile:.3g}{among}"
        return (
            f"{self.title}: adjusted residuals of {self.names[0]} by {self.names[1]}, {len(frame)} cells. "
            f"{beyond if sizes.notna().any() else 'None of them has a residual'}."
        )

    @property
    def _wide(self) -> float:
        """Width of all columns together, in inches."""
        return max(_WIDE, _COLUMN * len(self.columns))

    @property
    def _longest(self) -> int:
        return min(max(map(len, self.columns)), LONGEST_LINE)

    @property
    def _is_turned(self) -> bool:
        """Whether labels of columns are turned, since they have too little room beside each other."""
        return (self._longest + 2) * _LETTER * len(self.columns) > self._wide

    @property
    def _levels(self) -> set[int | None]:
        return {Shading(self.quantile).level(one) for row in self.residuals for one in row}

    def _draw_on(self, ax: Axes) -> None:
        from matplotlib.patches import Rectangle

        heights, widths = _scaled(self.residuals, 0.5), _scaled(np.sqrt(np.array(self.expected, dtype=float)), 1.0)
        shading, columns = Shading(self.quantile), len(self.columns)
        for row, residuals in enumerate(self.residuals):
            ax.plot([-0.5, columns - 0.5], [row, row], color=INK, linewidth=0.7, zorder=3)
            for column, residual in enumerate(residuals):
                if np.isnan(residual):
                    ax.text(column, row, "–", ha="center", va="bottom")
                    continue
                width, height = widths[row, column], heights[row, column]
                # rows go down, and so does a negative height
                ax.add_patch(Rectangle((column - width / 2, row), width, -height, **shading.area(residual)))
        ax.set(xlim=(-0.5, columns - 0.5), ylim=(len(self.rows) - 0.5, -0.5))
        ax.set_xticks(range(columns), list(map(label_lines, self.columns)), rotation=90 if self._is_turned else 0)
        ax.set_yticks(range(len(self.rows)), list(map(label_lines, self.rows)))
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set(xlabel=literal(self.names[1]), ylabel=literal(self.names[0]))
        shown = shading.legend([one for row in self.residuals for one in row])
        legend_below(ax, shown, 1, 38 + (72 * _LETTER * self._longest if self._is_turned else 0))


def _scaled(values: NDArray[np.float64] | tuple[tuple[float, ...], ...], room: float) -> NDArray[np.float64]:
    """Scale values so that the largest takes most of the room."""
    array = np.array(values, dtype=float)
    largest = np.abs(array[np.isfinite(array)]).max(initial=0.0)
    return array * (_FILLED * room / largest) if largest > 0 else array
