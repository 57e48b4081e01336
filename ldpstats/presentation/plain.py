"""Plain rows: a data frame as values that JSON can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

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
