"""Exhibits: the tables and figures of a paper, how each is measured, drawn and stored."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from papers.comparisons import Comparison, as_frame

MEASURED = Path(__file__).parent / "measured"
ERRORS = ("printed_std_err", "reproduced_std_err")
"""Columns that most exhibits have no use for: they are stored where there is one."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is simulated.

    Parameters
    ----------
    full : bool
        As much as the printed figures need; else just enough to see that it runs.
    """

    full: bool

    def runs(self, full: int, quick: int = 2) -> int:
        """Return the number of repetitions."""
        return full if self.full else quick


@dataclass(frozen=True, slots=True)
class Measured:
    """What measuring an exhibit gives.

    Parameters
    ----------
    comparisons : iterable of Comparison
        One for every row of the file of printed figures, in its order.
    curves : DataFrame, optional
        What the picture shows beside, in long form.
    """

    comparisons: Iterable[Comparison]
    curves: pd.DataFrame | None = None


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A table or figure of a paper.

    Parameters
    ----------
    name : str
        As its files are called: `printed/NAME.csv`, `measured/NAME.csv`.
    title : str
        What it shows.
    words : str
        What came out, and what was chosen where the paper is silent; Markdown, a few sentences.
    measure : callable
        From the effort to what is measured. Seeds are its own and fixed.
    draw : callable, optional
        Draws ours beside the printed ones: `draw(comparisons, curves)` returns a figure of matplotlib.
    """

    name: str
    title: str
    words: str
    measure: Callable[[Effort], Measured]
    draw: Callable[[pd.DataFrame, pd.DataFrame | None], Any] | None = None

    def stored(self) -> tuple[pd.DataFrame, pd.DataFrame | None]:
        """Return the comparisons and curves that were measured last, in full."""
        curves = self._path("-curves")
        comparisons = _read(self._path()).reindex(columns=list(Comparison.__slots__))
        return comparisons, _read(curves) if curves.exists() else None

    def store(self, measured: Measured) -> pd.DataFrame:
        """Keep what was measured; return the comparisons."""
        comparisons = as_frame(measured.comparisons)
        short = comparisons.assign(ours=[_with_six_digits(one) for one in comparisons["ours"]])
        short = short.drop(columns=[name for name in ERRORS if short[name].isna().all()])
        short.to_csv(self._path(), index=False, float_format="%.6g")
        if measured.curves is not None:
            measured.curves.to_csv(self._path("-curves"), index=False, float_format="%.6g")
        return comparisons

    def _path(self, suffix: str = "") -> Path:
        return MEASURED / f"{self.name}{suffix}.csv"


def _read(path: Path) -> pd.DataFrame:
    texts = dict.fromkeys(("source", "row", "column", "printed", "ours", "verdict", "because"), str)
    empty = {name: [""] for name in ("std_err", "reproduced", *ERRORS)}
    return pd.read_csv(path, dtype=texts, keep_default_na=False, na_values=empty)


def _with_six_digits(ours: float | str) -> str:
    """Words stand in the same column, so that the format of the file does not reach its numbers."""
    if isinstance(ours, str):
        return ours
    return "" if math.isnan(ours) else f"{ours:.6g}"
