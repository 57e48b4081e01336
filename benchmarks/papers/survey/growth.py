"""Orders of growth that a table prints: is what is measured bounded by a constant times them."""

from __future__ import annotations

from collections.abc import Sequence

from papers.comparisons import Comparison
from papers.formulas import Place, claimed

_GROWS, _FALLS = 1.25, 0.5
"""A ratio that grows by less from the first case to the last is taken to be bounded; that falls by more, vanishing."""


def of_order(
    place: Place, found: Sequence[float], order: Sequence[float], cases: str, *, unless: str, sharp: bool = True
) -> Comparison:
    """Judge O(...): the ratio of what is found to it must not grow from the first case to the last.

    Parameters
    ----------
    place : tuple of str
        Source, row, column and the printed order.
    found, order : sequence of float
        What is measured and the printed expression, in cases of growing size.
    cases : str
        What the cases are, in words.
    unless : str
        Why it is of another order, if it is.
    sharp : bool
        Whether a ratio that falls is worth a note.
    """
    ratios = [one / other for one, other in zip(found, order, strict=True)]
    words = f"{', '.join(f'{one:.3g}' for one in ratios)} times this for {cases}"
    note = "The bound holds, but it is not sharp: the ratio falls." if sharp and ratios[-1] < _FALLS * ratios[0] else ""
    return claimed(place, words, holds=ratios[-1] <= _GROWS * ratios[0], unless=unless, note=note)
