"""The picture that explains the idea: true answers, what leaves the devices, and what is estimated from that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

import numpy as np

import ldpstats as ldp
from ldpstats.datasets import affairs, true_cramers_v
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.grid import GRID
from pages import markdown

_EPSILON, _SEED = 1.0, 1
_ROWS, _COLUMNS = "marriage", "affair"
_LEFT, _WIDE, _RIGHT, _BAR, _GAP, _TOP = 76, 140, 18, 15, 14, 4
"""Widths of the labels, of the longest bar and beside it, and heights, in units of the drawing."""
_MOST, _TICKS = 0.4, (0.0, 0.2, 0.4)


@dataclass(frozen=True, slots=True)
class Idea:
    """A simulated survey of everyone in `affairs`, asked two things together through randomized response.

    Parameters
    ----------
    table : Table
        Estimated from the reports.
    truth, reports : array, shape (rows, columns)
        Shares of the true answers and of the reports.
    """

    table: ldp.Table
    truth: FloatArray
    reports: FloatArray

    @classmethod
    def simulated(cls) -> Idea:
        """Ask them."""
        people = affairs()[[_ROWS, _COLUMNS]]
        domain = ldp.Domain.from_frame(people)
        protocol = ldp.SampledGroups(domain, groups=[(_ROWS, _COLUMNS)], epsilon=_EPSILON, mechanism="grr")
        table = protocol.collect(people, rng=_SEED)[_ROWS, _COLUMNS]
        (block,) = table.blocks
        truth = np.zeros(table.estimate.shape)
        np.add.at(truth, tuple(domain.encode(people).T), 1 / len(people))
        return cls(table, truth, (block.tally.counts / block.tally.n).reshape(table.estimate.shape))

    def words(self) -> dict[str, str]:
        """Return the numbers that the words around the picture say."""
        kept = ldp.GRR(self.table.estimate.size, _EPSILON).probabilities["truth"]
        strength = ldp.association(self.table)
        low, high = strength.conf_int()
        return {
            "n": f"{self.table.n:,}",
            "epsilon": f"{_EPSILON:g}",
            "kept": f"{100 * kept / GRID:.0f} %",
            "p": markdown.power_of_ten(ldp.independence_test(self.table).pvalue),
            "v": f"{strength.estimate:.2f}",
            "low": f"{low:.2f}",
            "high": f"{high:.2f}",
            "v_true": f"{true_cramers_v(self.truth):.2f}",
        }

    def figure(self) -> str:
        """Return the three panels as HTML that needs nothing else."""
        words = self.words()
        panels = (
            ("What is true", "It stays on the devices: nobody collects it.", self._bars(self.truth)),
            (
                f"What leaves the devices, ε = {words['epsilon']}",
                f"A device sends the true cell with probability {words['kept']}, else one of the others.",
                self._bars(self.reports),
            ),
            ("What is estimated", "The noise undone, with 95 % intervals. A tick marks the truth.", self._estimates()),
        )
        parts = [_panel(title, line, drawn, self._described(title, drawn)) for title, line, drawn in panels]
        colours = "".join(f'<span class="key {name}">affair: {name}</span>' for name in self._categories(_COLUMNS))
        return f'<div class="idea">{"".join(parts)}</div>\n<p class="keys">{colours}</p>\n'

    def _categories(self, attribute: str) -> tuple[str, ...]:
        return tuple(map(str, self.table.domain.categories[attribute]))

    def _described(self, title: str, drawn: tuple[str, FloatArray]) -> str:
        cells = [
            f"marriage {row}, affair {column}: {100 * drawn[1][i, j]:.0f} %" for i, j, row, column in self._cells()
        ]
        return f"{title}. {'; '.join(cells)}."

    def _cells(self) -> Iterator[tuple[int, int, str, str]]:
        for i, row in enumerate(self._categories(_ROWS)):
            for j, column in enumerate(self._categories(_COLUMNS)):
                yield i, j, row, column

    def _bars(self, shares: FloatArray) -> tuple[str, FloatArray]:
        place = f'x="{_LEFT}" height="{_BAR - 3}"'
        bars = [
            f'<rect class="{column}" {place} y="{_height(i, j)}" width="{_x(shares[i, j]) - _LEFT:.1f}"/>'
            for i, j, _, column in self._cells()
        ]
        return "".join([*self._labels(), *bars]), shares

    def _estimates(self) -> tuple[str, FloatArray]:
        limits, marks = self.table.conf_int(), []
        for i, j, _, _column in self._cells():
            middle = _height(i, j) + (_BAR - 3) / 2
            low, high = (_x(one) for one in limits[i, j])
            true = _x(self.truth[i, j])
            marks.append(f'<line class="interval" x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}"/>')
            marks.append(f'<line class="true" x1="{true:.1f}" x2="{true:.1f}" y1="{middle - 7}" y2="{middle + 7}"/>')
        bars, shown = self._bars(self.table.estimate)
        return bars + "".join(marks), shown

    def _labels(self) -> Iterator[str]:
        height = _height(len(self._categories(_ROWS)), 0) - _GAP
        for share in _TICKS:
            x = _x(share)
            yield f'<line class="grid" x1="{x}" x2="{x}" y1="0" y2="{height + 4}"/>'
            yield f'<text x="{x}" y="{height + 18}" text-anchor="middle">{100 * share:.0f} %</text>'
        columns = len(self._categories(_COLUMNS))
        for i, row in enumerate(self._categories(_ROWS)):
            y = _height(i, 0) + _BAR * columns / 2 + 2
            yield f'<text x="{_LEFT - 8}" y="{y}" text-anchor="end">{escape(row)}</text>'


def _height(row: int, column: int) -> int:
    return _TOP + row * (2 * _BAR + _GAP) + column * _BAR


def _x(share: float) -> float:
    return _LEFT + _WIDE * min(max(share, 0.0), _MOST) / _MOST


def _panel(title: str, line: str, drawn: tuple[str, FloatArray], described: str) -> str:
    size = f"0 0 {_LEFT + _WIDE + _RIGHT} {_height(3, 0) + 12}"
    svg = f'<svg viewBox="{size}" role="img" aria-label="{escape(described)}">{drawn[0]}</svg>'
    return f"<section><h3>{escape(title)}</h3>{svg}<p>{escape(line)}</p></section>"
