"""Tables of two attributes as mosaics, whose areas are shares, and as association plots, whose bars are residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.pictures.colours import DASHES, INK, Shading, ink_on
from ldpstats.pictures.drawing import LONGEST_LINE, Axes, Axis, Picture, label_lines, legend_below, literal

_GAP, _GAPS = 0.012, 0.12
"""Between two tiles and between all of them at most, of the width or height of the whole."""
_LETTER, _LARGER, _LINE = 0.07, 0.085, 0.17
"""Inches that a letter takes across, one of names beside tiles, and a line of them up."""
_LONGEST = 26
"""Letters of a label across."""
_WIDE, _HIGH, _ROOM = 5.0, 3.4, 0.2
"""Inches of all tiles together at least, and of a category that is to be read."""
_AROUND = 0.6, 1.3
"""Inches that names, titles and gaps take across and up, beside labels and legend."""
_LEADER = 0.14
"""Inches of a line that leads from a label to what it names."""
_BESIDE, _MOST_BESIDE, _SHORTEST = 4.5, 12, 8
"""Inches for names between columns, the most columns that have them, and letters of a shortened name at least."""
_MOST_SPOKEN = 4


@dataclass(frozen=True, slots=True)
class Mosaic(Picture):
    """Mosaic plot: widths are shares of one attribute, heights those of another within it (Hartigan & Kleiner 1981)."""

    names: tuple[str, str]  # the attribute across, and the one down
    across: tuple[str, ...]  # its categories
    down: tuple[str, ...]
    widths: tuple[float, ...]  # shares of those across; negative ones have no width
    # of those down within each of those across; negative ones have no height
    shares: tuple[tuple[float, ...], ...]
    residuals: tuple[tuple[float, ...], ...]  # from independence; nan if unknown
    possibly_none: tuple[tuple[bool, ...], ...]  # tiles whose interval holds zero
    quantile: float = 1.96  # of the residuals under independence; beyond it shades are stronger

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in inches."""
        (wide, high), (more, above) = self._area, _AROUND
        beside = _LARGER * min(max(map(len, self.down)), LONGEST_LINE)
        below = _LETTER * self._longest_across if self._is_turned else 0.0
        return wide + more + beside, high + above + below + _ROOM * self._lines_of_legend

    def to_frame(self) -> pd.DataFrame:
        """Return a row per tile."""
        rows = [
            (column, row, *figures)
            for column, width, *rest in zip(
                self.across, self.widths, self.shares, self.residuals, self.possibly_none, strict=True
            )
            for row, *figures in zip(self.down, [width] * len(self.down), *rest, strict=True)
        ]
        names = ["across", "down", "width", "share", "residual", "may be none"]
        return pd.DataFrame(rows, columns=names).assign(
            hatched=[Shading(self.quantile).level(row[4]) == 2 for row in rows]
        )

    def described(self) -> str:
        """Describe the picture in a sentence or two (alternative text)."""
        frame = self.to_frame()
        said = [f"{self.title}: a mosaic of {len(frame)} tiles"]
        for word, sign in (("More", 1), ("Fewer", -1)):
            shown = frame[sign * frame["residual"] > self.quantile].sort_values("residual", ascending=sign < 0)
            tiles = [f"{tile.down} of {tile.across} ({tile.residual:+.1f})" for tile in shown.itertuples()]
            further = f" and {len(tiles) - _MOST_SPOKEN} further" if len(tiles) > _MOST_SPOKEN else ""
            said += [f"{word} than independence expects: {', '.join(tiles[:_MOST_SPOKEN])}{further}"] if tiles else []
        hatched = f"{frame['hatched'].sum()} of them may be as independence expects"
        return ". ".join([*said, hatched if frame["residual"].notna().any() else "None of them has a residual"]) + "."

    @property
    def _area(self) -> tuple[float, float]:
        """Width and height of all tiles together, in inches."""
        between = (len(self.across) - 1) * self._strip
        return max(_WIDE, _ROOM * len(self.across)) + between, max(_HIGH, _ROOM * len(self.down))

    @property
    def _keys(self) -> tuple[str, ...]:
        """Names of tiles between columns: shortened categories, or numbers where too few letters have room."""
        columns = max(len(self.across) - 1, 1)
        letters = min(int((_BESIDE / columns - 2 * _LEADER) / _LARGER), _LONGEST)
        fitting = max(map(len, self.down)) <= letters or letters >= _SHORTEST
        return _told_apart(self.down, letters) if fitting and columns < _MOST_BESIDE else _numbers(self.down)

    @property
    def _strip(self) -> float:
        """Width of the names before a column, in inches."""
        return _LARGER * max(map(len, self._keys)) + 3 * _LEADER if 1 < len(self.across) <= _MOST_BESIDE else 0.0

    @property
    def _longest_across(self) -> int:
        return min(max(map(len, self.across)), _LONGEST)

    @property
    def _is_turned(self) -> bool:
        """Whether labels across are turned, since they have too little room beside each other."""
        return sum(min(len(label), _LONGEST) + 2 for label in self.across) * _LETTER > self._area[0]

    @property
    def _shown_residuals(self) -> list[float]:
        """The residuals of tiles that are drawn."""
        columns = [column for column in zip(self.widths, self.shares, self.residuals, strict=True) if column[0] > 0]
        return [
            residual
            for _, shares, residuals in columns
            for share, residual in zip(shares, residuals, strict=True)
            if share > 0
        ]

    @property
    def _lines_of_legend(self) -> int:
        shading = Shading(self.quantile)
        return len({shading.level(residual) for residual in self._shown_residuals}) + any(map(any, self.possibly_none))

    def _draw_on(self, ax: Axes) -> None:
        extent, figure = ax.get_window_extent(), ax.get_figure()
        assert figure is not None  # axes that are drawn on stand in one
        # the layout is not known before it is drawn; what is given may be smaller
        inches = min(extent.width / figure.dpi, self._area[0]), min(extent.height / figure.dpi, self._area[1])
        widths = _of_one(np.array(self.widths, dtype=float))
        heights = [_of_one(np.array(shares, dtype=float)) for shares in self.shares]
        lefts, wide = _placed(widths, max(_GAP, self._strip / inches[0]), _GAPS if not self._strip else 0.5)
        for column in np.flatnonzero(wide > 0):
            tops, high = _placed(heights[column])
            for tile in np.flatnonzero(high > 0):
                box = (lefts[column], tops[tile], wide[column], high[tile])
                self._draw_tile(ax, (int(column), int(tile)), box, inches)
        ax.set(xlim=(0, 1), ylim=(1, 0))
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        first = int(np.argmax(wide > 0))
        self._name_across(ax, lefts + wide / 2, inches)
        self._name_down(ax, *_placed(heights[first]), inches)
        for column in np.flatnonzero(wide > 0):
            if column > first and self._strip:
                self._name_before(ax, lefts[column], *_placed(heights[column]), inches)
        self._explain(ax)

    def _draw_tile(
        self, ax: Axes, tile: tuple[int, int], box: tuple[float, float, float, float], inches: tuple[float, float]
    ) -> None:
        from matplotlib.patches import Rectangle

        (column, row), (left, top, width, height) = tile, box
        shading, residual = Shading(self.quantile), self.residuals[column][row]
        ink = ink_on(shading.colour(residual))
        ax.add_patch(Rectangle((left, top), width, height, **shading.area(residual)))
        if self.possibly_none[column][row]:
            ax.add_patch(Rectangle((left, top), width, height, **_dashed(ink)))
        share, key = f"{self.shares[column][row]:.0%}", self._keys[row]
        # where there are too many columns for names between them, tiles have numbers
        written = [f"{key}: {share}", key] if len(self.across) > _MOST_BESIDE else [share]
        fitting = [words for words in written if width * inches[0] > len(words) * _LETTER]
        if fitting and height * inches[1] > _LINE:
            middle = left + width / 2, top + height / 2
            ax.text(*middle, fitting[0], color=ink, ha="center", va="center", fontsize="small")

    def _name_across(self, ax: Axes, centres: NDArray[np.float64], inches: tuple[float, float]) -> None:
        labels = list(map(literal, _told_apart(self.across, _LONGEST)))
        lengths = [_LINE if self._is_turned else (len(label) + 2) * _LETTER for label in labels]
        places = moved_apart(centres, np.array(lengths) / inches[0])
        ax.set_xticks(places, labels, rotation=90 if self._is_turned else 0)
        ax.set_xlabel(literal(self.names[0]))
        if _is_moved(places, centres, inches[0]):
            _lead(ax.xaxis, np.column_stack([places, centres]), (1 + _LEADER / inches[1], 1))

    def _name_down(
        self, ax: Axes, tops: NDArray[np.float64], high: NDArray[np.float64], inches: tuple[float, float]
    ) -> None:
        centres = tops + high / 2
        places = moved_apart(centres, np.full(centres.size, _LINE / inches[1]))
        names = _told_apart(self.down, LONGEST_LINE)
        if self._keys == _numbers(self.down) != self.down:
            names = tuple(f"{key}: {name}" for key, name in zip(self._keys, names, strict=True))
        # what has no tile is said to have none: its name stands where one would be
        shown = [f"{literal(name)}{'' if there else ' (0%)'}" for name, there in zip(names, high > 0, strict=True)]
        ax.set_yticks(places, shown)
        ax.set_ylabel(literal(self.names[1]))
        if _is_moved(places, centres, inches[1]):
            _lead(ax.yaxis, np.column_stack([places, centres]), (-_LEADER / inches[0], 0))

    def _name_before(
        self, ax: Axes, left: float, tops: NDArray[np.float64], high: NDArray[np.float64], inches: tuple[float, float]
    ) -> None:
        """Name the tiles of a column at its left."""
        drawn = np.flatnonzero(high > 0)
        centres = (tops + high / 2)[drawn]
        places = moved_apart(centres, np.full(centres.size, _LINE / inches[1]))
        end = left - _LEADER / inches[0]
        for height, centre, row in zip(places, centres, drawn, strict=True):
            ax.plot((end, left), (height, centre), color=INK, linewidth=0.5, clip_on=False)
            ax.text(end, height, literal(self._keys[row]), ha="right", va="center", fontsize="small")

    def _explain(self, ax: Axes) -> None:
        """Explain shades and borders below the tiles."""
        from matplotlib.patches import Patch

        shown = Shading(self.quantile).legend(self._shown_residuals)
        if any(map(any, self.possibly_none)):
            shown.append(Patch(label="dashed: the interval of the share itself holds zero", **_dashed(INK)))
        # what leads to tiles keeps labels away from them
        legend_below(ax, shown, 1, 38 + 72 * _LEADER + (72 * _LETTER * self._longest_across if self._is_turned else 0))


def moved_apart(centres: NDArray[np.float64], lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place labels (ascending centres, between 0 and 1) near their centres, as far as they fit without overlap."""
    from scipy.optimize import isotonic_regression

    # without the lengths before each of them, places that keep apart are places in ascending order
    before = np.concatenate([[0.0], np.cumsum((lengths[:-1] + lengths[1:]) / 2)])
    ascending = isotonic_regression(centres - before).x
    least, most = lengths[0] / 2, 1 - before[-1] - lengths[-1] / 2
    return np.asarray(np.clip(ascending, min(least, most), max(least, most)) + before)


def _is_moved(places: NDArray[np.float64], centres: NDArray[np.float64], inches: float) -> bool:
    """Say whether some label stands so far from its tile that leader lines are needed."""
    return bool((np.abs(places - centres) * inches).max() > _LINE / 2)


def _lead(axis: Axis, ends: NDArray[np.float64], across: tuple[float, float]) -> None:
    """Draw a leader line from every label to its tile."""
    for end in ends:
        pair = (end, across) if axis is axis.axes.xaxis else (across, end)
        axis.axes.plot(*pair, color=INK, linewidth=0.5, clip_on=False)
    axis.set_tick_params(pad=_LEADER * 72 + 2)


def _of_one(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale the shares above zero to one in all; the others are not drawn."""
    drawn = np.nan_to_num(np.maximum(values, 0))
    total = drawn.sum()
    return drawn / total if total > 0 else drawn


def _placed(
    sizes: NDArray[np.float64], between: float = _GAP, together: float = _GAPS
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return where tiles of these sizes begin, and how large they are, with gaps between them."""
    gap = min(between, together / sizes.size)
    drawn = sizes * (1 - gap * (sizes.size - 1))
    return np.concatenate([[0.0], np.cumsum(drawn + gap)[:-1]]), drawn


def _dashed(ink: str) -> dict[str, Any]:
    return {"fill": False, "edgecolor": ink, "linestyle": DASHES, "linewidth": 0.8}


def _numbers(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(number) for number in range(1, len(names) + 1))


def _told_apart(names: tuple[str, ...], most: int) -> tuple[str, ...]:
    """Shorten names to `most` letters that still differ: cut at the end, else in the middle; else number them."""
    end, tail = most - 1, (most - 1) // 2
    for kept in (0, tail):
        cut = tuple(name if len(name) <= most else f"{name[: end - kept]}…{name[len(name) - kept :]}" for name in names)
        if len({*cut}) == len({*names}):
            return cut
    return _numbers(names)


_ROW, _LEAST, _MOST, _CROWDED, _COLUMN = 0.62, 2.4, 12.0, 0.3, 0.25
_FILLED = 0.86
"""Of the room of a column and of a row that the largest bar takes."""


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
        high += _AROUND[1] + below + _ROOM * len(self._levels)
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
        largest = [f"{cell.row}, {cell.column} {cell.residual:+.1f}" for cell in shown.head(_MOST_SPOKEN).itertuples()]
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
        return {Shading(self.quantile).level(residual) for row in self.residuals for residual in row}

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
        shown = shading.legend([residual for row in self.residuals for residual in row])
        legend_below(ax, shown, 1, 38 + (72 * _LETTER * self._longest if self._is_turned else 0))


def _scaled(values: NDArray[np.float64] | tuple[tuple[float, ...], ...], room: float) -> NDArray[np.float64]:
    """Scale values so that the largest takes most of the room."""
    array = np.array(values, dtype=float)
    largest = np.abs(array[np.isfinite(array)]).max(initial=0.0)
    return array * (_FILLED * room / largest) if largest > 0 else array
