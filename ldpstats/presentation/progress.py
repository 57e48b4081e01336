"""Progress bars: on a terminal, of work that has taken two seconds already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm import tqdm

_DELAY = 2.0


def progress(items: Iterable[Any] | None, what: str, total: int | None = None, unit: str = "it") -> tqdm[Any]:
    """Return the items behind a progress bar that shows itself where there is a terminal, after two seconds.

    Parameters
    ----------
    items : iterable, optional
        Without them the caller says by `update` how much is done.
    what : str
        What is done, in a word or two.
    total : int, optional
        How many there are, where they do not know it.
    unit : str
        What one of them is.
    """
    # the plain one: in a notebook tqdm.auto makes widgets, also for work that is done at once
    from tqdm import tqdm

    # miniters: left to itself tqdm waits for as many as went by in a moment before, however long each now takes
    return tqdm(items, desc=what, total=total, unit=unit, leave=False, disable=None, delay=_DELAY, miniters=1)
