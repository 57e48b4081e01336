"""Plain values: data frames and arrays as what JSON can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a dict per row, with None for what JSON has no number for: nan, infinity and missing values.

    Parameters
    ----------
    frame : DataFrame
        Its index is left out.

    Examples
    --------
    >>> import pandas as pd
    >>> plain_rows(pd.DataFrame({"name": ["a", "b"], "p": [0.5, np.nan]}))
    [{'name': 'a', 'p': 0.5}, {'name': 'b', 'p': None}]
    """
    finite = frame.astype(object).where(frame.notna() & ~frame.isin([np.inf, -np.inf]), None)
    return [{str(name): value for name, value in row.items()} for row in finite.to_dict(orient="records")]


def plain_list(values: ArrayLike) -> Any:
    """Return an array of numbers as nested lists, with None for what JSON has no number for.

    Parameters
    ----------
    values : array

    Examples
    --------
    >>> plain_list(np.array([[0.5, np.inf], [np.nan, 1.0]]))
    [[0.5, None], [None, 1.0]]
    """
    given = np.asarray(values, dtype=float)
    plain = given.astype(object)
    plain[~np.isfinite(given)] = None
    return plain.tolist()
