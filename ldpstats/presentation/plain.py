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


def plain_fields(shown: object, names: str) -> dict[str, Any]:
    """Return attributes by name as plain values: data frames as rows, tuples as lists, objects by their `to_dict`.

    Parameters
    ----------
    shown : object
    names : str
        The names with spaces between them, in the order of the dict.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> plain_fields(domain, "names shape")
    {'names': ['sex', 'car'], 'shape': [2, 2]}
    """
    return {name: _plain(getattr(shown, name)) for name in names.split()}


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if hasattr(value, "columns"):
        return plain_rows(value)
    return value.to_dict() if hasattr(value, "to_dict") else value


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
