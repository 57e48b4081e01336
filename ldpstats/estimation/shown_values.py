"""Shown values: which of many frequencies a summary and a picture have, and how they are called."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldpstats.errors import LdpstatsError
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, IntArray
from ldpstats.presentation import Picture, Summary, summary_of_facts, summary_of_figures
from ldpstats.privacy import PrivacyStatement

MOST_SHOWN = 60
"""So many values are shown at most; data frames have all."""


def shown_values(estimate: FloatArray, most: int = MOST_SHOWN) -> IntArray:
    """Return the values to show, in their order: all of them, or the most frequent of many."""
    order = np.argsort(-estimate, kind="stable")
    return np.sort(order[:most])


def refuse_many_tables(estimate: FloatArray) -> None:
    """Refuse to show frequencies of several tables at once."""
    if estimate.ndim != 1:
        raise LdpstatsError(f"estimates of shape {estimate.shape}", "one table", "Take one estimate at a time.")


def counted_values(estimate: FloatArray, n: int, simulated: int) -> str:
    """Say of how many values the frequencies are, and from how many reports."""
    *tables, cells = estimate.shape
    many = f"{int(np.prod(tables)):,} tables of " if tables else ""
    reports = f"{n:,} {'report' if n == 1 else 'reports'}{simulation(simulated, n)}"
    return f"{many}{cells:,} {'value' if cells == 1 else 'values'} from {reports}"


def summary_of_values(
    title: str, estimate: FloatArray, names: tuple[str, ...], columns: dict[str, FloatArray], sentences: Sequence[str]
) -> Summary:
    """Return a row per value that is shown, beside these columns; of several tables, how many there are."""
    if estimate.ndim != 1:
        return summary_of_facts(title, {"Shape": " × ".join(map(str, estimate.shape))}, sentences)
    values = shown_values(estimate)
    figures = {"proportion": estimate, **columns}
    rows = [
        [name, *(f"{one[value]:.4f}" for one in figures.values())]
        for name, value in zip(names_of(names, values), values, strict=True)
    ]
    left_out = f"Shown are the {values.size} most frequent of {estimate.size:,} values; to_frame() has all."
    chosen = "Nothing allows for this choice: values that look most frequent tend to be less so."
    more = [left_out, chosen] if values.size < estimate.size else []
    return summary_of_figures(title, ["value", *figures], rows, [*more, *sentences])


def names_of(names: tuple[str, ...], values: IntArray) -> tuple[str, ...]:
    """Return what values are called: their names, or their numbers."""
    return tuple(names[value] if names else str(value) for value in values.tolist())


def refuse_other_names(names: tuple[str, ...], cells: int) -> None:
    """Refuse names that are not those of every value."""
    if names and len(names) != cells:
        raise LdpstatsError(f"{len(names)} names of {cells} values", "a name for every value, or none")


def notes_of(simulated: int, n: int, estimate: FloatArray, *said: str, most: int = MOST_SHOWN) -> tuple[str, ...]:
    """Return what a picture of frequencies must say beside them."""
    kind = simulation(simulated, n).strip(" ()")
    some = f"the {most} most frequent of {estimate.size:,} values" if estimate.size > most else ""
    return tuple(filter(None, (kind, some, *said)))


def picture_of_values(
    estimate: FloatArray, limits: FloatArray, names: tuple[str, ...], reports: tuple[int, int], said: str
) -> Picture:
    """Return a picture of the values shown, with limits; `reports` are how many were simulated, and how many came."""
    from ldpstats.pictures.intervals import Intervals

    shown = shown_values(estimate)
    drawn, lower, upper = map(tuple, np.column_stack([estimate, limits])[shown].T.tolist())
    notes, labels = notes_of(*reports, estimate, said), names_of(names, shown)
    return Intervals("Estimated frequencies", notes, labels, drawn, lower, upper, "proportion")


def reports_in_sentences(n: int, privacy: PrivacyStatement | None) -> list[str]:
    """Return how many reports there are and what was promised, if that is known."""
    return [f"{n:,} {'report' if n == 1 else 'reports'}."] if privacy is None else privacy.sentences(n)
