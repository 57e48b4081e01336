"""One printed figure beside ours, and the verdict: agrees, or differs, is not reproducible or not tested, because."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

PRINTED = Path(__file__).parent / "printed"
NEAR = 3.3
"""Standard errors within which a simulated figure agrees: of a thousand that do, one is called different."""

AGREES, DIFFERS, NOT_REPRODUCIBLE, NOT_TESTED = "agrees", "differs", "not reproducible", "not tested"
VERDICTS = (AGREES, DIFFERS, NOT_REPRODUCIBLE, NOT_TESTED)
KEYS = ["source", "row", "column", "printed"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A printed figure, or a statement in words, beside ours.

    Parameters
    ----------
    source : str
        Paper and exhibit, as in the file of printed figures.
    row, column : str
        Where it stands there.
    printed : str
        As printed: the last digit says how exact it is.
    ours : float or str
        By the paper's description at its word; words where a statement is compared; "" where nothing can be.
    verdict : str
        One of `VERDICTS`.
    because : str, optional
        Why it differs, or cannot be reproduced or tested; never empty for these. Beside "agrees": which choice was
        open, if any.
    std_err : float, optional
        Of ours, from the simulation.
    reproduced : float, optional
        What the reading named in `because` gives.
    printed_std_err : float, optional
        Of the printed number, where its runs are known.
    reproduced_std_err : float, optional
        Of what is reproduced.
    """

    source: str
    row: str
    column: str
    printed: str
    ours: float | str
    verdict: str
    because: str = ""
    std_err: float = math.nan
    reproduced: float = math.nan
    printed_std_err: float = math.nan
    reproduced_std_err: float = math.nan

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict {self.verdict!r}. Allowed: {', '.join(VERDICTS)}.")
        if self.verdict != AGREES and not self.because:
            raise ValueError(f"{self.source}, {self.row}, {self.column}: no reason. Say why it is {self.verdict!r}.")


def near(printed: str, ours: float, std_err: float = 0.0, printed_std_err: float = 0.0) -> bool:
    """Say whether two figures agree: within half a unit of the last printed digit, and `NEAR` standard errors."""
    noise = math.hypot(std_err, printed_std_err)
    return abs(float(printed) - ours) <= half_unit(printed) + NEAR * noise


def half_unit(printed: str) -> float:
    """Return half a unit of the last digit of a printed number.

    >>> half_unit("0.25"), half_unit("2.5e-3"), half_unit("14")
    (0.005, 5e-05, 0.5)
    """
    mantissa, _, exponent = printed.lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    # a number that is itself halfway between two is not refused for its binary fraction
    return float(f"0.5e{int(exponent or 0) - digits}") * (1 + 1e-9)


def compared(
    place: tuple[str, str, str, str],
    ours: float,
    std_err: float = 0.0,
    *,
    printed_std_err: float = 0.0,
    reproduced: float = math.nan,
    reproduced_std_err: float = 0.0,
    because: str = "",
) -> Comparison:
    """Judge one number: it agrees, or a named reading gives what is printed (it differs), or nothing does.

    Parameters
    ----------
    place : tuple of str
        Source, row, column and the printed number.
    ours, std_err : float
        By the paper's description at its word.
    printed_std_err : float, optional
        Of the printed number, where its runs are known.
    reproduced, reproduced_std_err : float, optional
        By the reading that `because` names.
    because : str, optional
    """
    errors = {"printed_std_err": printed_std_err, "reproduced_std_err": reproduced_std_err}
    verdict = verdict_on(place[3], ours, std_err, reproduced=reproduced, **errors)
    kept = {name: error for name, error in errors.items() if error}
    return Comparison(*place, ours, verdict, because, std_err, reproduced, **kept)


def verdict_on(
    printed: str,
    ours: float,
    std_err: float,
    *,
    reproduced: float,
    printed_std_err: float,
    reproduced_std_err: float,
) -> str:
    """Return the verdict that follows from the figures; the parameters are those of `compared`."""
    if near(printed, ours, std_err, printed_std_err):
        return AGREES
    return DIFFERS if near(printed, reproduced, reproduced_std_err, printed_std_err) else NOT_REPRODUCIBLE


def stated(place: tuple[str, str, str, str], ours: str, *, holds: bool, because: str = "") -> Comparison:
    """Judge a statement in words: it holds here, or it does not, because."""
    return Comparison(*place, ours, AGREES if holds else DIFFERS, because)


def printed_figures(name: str) -> pd.DataFrame:
    """Read the printed figures of an exhibit: source, row, column, and what is printed, as text."""
    return pd.read_csv(PRINTED / f"{name}.csv", dtype=str, keep_default_na=False)


def as_frame(comparisons: Iterable[Comparison]) -> pd.DataFrame:
    """Return comparisons as a frame, a row each."""
    return pd.DataFrame([{name: getattr(one, name) for name in Comparison.__slots__} for one in comparisons])
