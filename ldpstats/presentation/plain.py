"""Plain values: what results, data frames and arrays hold, as what JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a dict per row, without the index; None stands for nan, infinity and missing values.

    Parameters
    ----------
    frame : DataFrame
    """
    finite = frame.astype(object).where(frame.notna() & ~frame.isin([np.inf, -np.inf]), None)
    return [{str(name): value for name, value in row.items()} for row in finite.to_dict(orient="records")]


def plain_list(values: ArrayLike) -> Any:
    """Return an array of numbers as nested lists; None stands for nan and infinity.

    Parameters
    ----------
    values : array
    """
    given = np.asarray(values, dtype=float)
    plain = given.astype(object)
    plain[~np.isfinite(given)] = None
    return plain.tolist()


def plain_values(thing: object, names: str, **given: Any) -> dict[str, Any]:
    """Return attributes as plain values, in the order of `names`, with None for nan.

    Parameters
    ----------
    thing, names, **given
        Names stand with spaces between; "key=path.to.attribute" renames. Methods are called; attributes of None: None.
        `given` has values that stand under some names instead; other names in it are ignored.
    """
    paths = {key: path or key for key, _, path in (name.partition("=") for name in names.split())}
    return {key: given[key] if key in given else _plain(_reached(thing, path)) for key, path in paths.items()}


def _reached(thing: Any, path: str) -> Any:
    for name in path.split("."):
        thing = None if thing is None else getattr(thing, name)
        thing = thing() if callable(thing) else thing
    return thing


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if hasattr(value, "iterrows"):
        return plain_rows(value)
    return value.to_dict() if hasattr(value, "to_dict") else value
