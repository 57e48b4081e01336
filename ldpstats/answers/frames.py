"""Frames: data frames of any library, told apart from other things, as frames of pandas without needless copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

from ldpstats.errors import DomainError, LdpstatsError

if TYPE_CHECKING:
    import pyarrow as pa
    from narwhals.stable.v2.typing import IntoDataFrame

Frame: TypeAlias = "pd.DataFrame | IntoDataFrame"
"""A row per respondent: a frame of pandas, polars or Arrow, or any other that narwhals knows."""


def checked_frame(frame: Frame) -> pd.DataFrame:
    """Return a data frame of any library as one of pandas; refuse what is none."""
    known = known_frame(frame)
    if known is None:
        raise DomainError(
            f"data of type {type(frame).__name__}",
            "a DataFrame of pandas or polars, an Arrow table, or another frame that narwhals knows: "
            "a row per respondent",
        )
    return known


def known_frame(data: object) -> pd.DataFrame | None:
    """Return a data frame of any library as one of pandas; None for what is none, such as an array."""
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, (np.ndarray, pd.Series, str, list, tuple, dict)):
        return None  # without loading what would say so
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import NarwhalsError

    try:
        told = nw.from_native(data, pass_through=True)
    except NarwhalsError as error:
        raise DomainError(f"a {type(data).__name__} ({error})", "a frame with different column names") from error
    if isinstance(told, nw.LazyFrame):
        raise DomainError(
            f"a {type(data).__name__} of {told.implementation}, which has not been computed",
            "a frame whose rows are there",
            "Call its .collect() or .compute() first. Only a protocol's collect takes a Dask data frame as it is, "
            "with a stated domain.",
        )
    return _by_columns(told) if isinstance(told, nw.DataFrame) else None


def _by_columns(frame: Any) -> pd.DataFrame:
    """Return a frame of narwhals as one of pandas, column by column through Arrow."""
    try:
        import pyarrow as pa
    except ModuleNotFoundError as error:
        raise LdpstatsError(
            f"a frame of {frame.implementation} without the package pyarrow, through which it is read",
            "a frame of pandas, or pyarrow beside it",
            "pip install 'ldpstats[scale]'",
        ) from error
    import narwhals.stable.v2 as nw

    # objects of Python are addresses to Arrow
    objects = [name for name, kind in frame.schema.items() if kind == nw.Object]
    try:
        read = dict(zip(frame.drop(objects).columns, frame.drop(objects).to_arrow().columns, strict=True))
    except pa.ArrowException:  # a type that Arrow does not know, such as whole numbers of 128 bits
        read = {}
    columns = [
        _series(read[name]) if name in read else pd.Series(frame[name].to_list(), dtype=object)
        for name in frame.columns
    ]
    return pd.DataFrame(dict(enumerate(columns)), copy=False).set_axis(frame.columns, axis=1)


def _series(column: pa.ChunkedArray) -> pd.Series[Any]:
    """Return a column of Arrow as one of pandas, with its nulls missing and its whole numbers whole."""
    import pyarrow as pa

    plain = _unwrapped(column)
    kind = plain.type
    if pa.types.is_dictionary(kind):
        return _categorical(plain)
    if pa.types.is_union(kind):
        return pd.Series(plain.to_pylist(), dtype=object)
    if pa.types.is_floating(kind) or (plain.null_count == 0 and (pa.types.is_integer(kind) or kind == pa.bool_())):
        return pd.Series(plain.to_numpy(), copy=False)
    return pd.Series(pd.arrays.ArrowExtensionArray(plain), copy=False)


def _unwrapped(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of plain values: run-end encoding, string views and extension types are undone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        return _unwrapped(pc.run_end_decode(column))
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):  # of which little can be computed
        return column.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
    return _unwrapped(column.cast(kind.storage_type)) if isinstance(kind, pa.BaseExtensionType) else column


def _categorical(column: pa.ChunkedArray) -> pd.Series[Any]:
    import pyarrow as pa

    whole = column.unify_dictionaries().combine_chunks()
    codes = whole.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    kinds = pd.Index(whole.dictionary.to_pylist(), dtype=object, tupleize_cols=False)
    try:
        return pd.Series(pd.Categorical.from_codes(codes, kinds, ordered=column.type.ordered))
    except (TypeError, ValueError):  # a dictionary that lists a value twice, none, or what has no hash
        return _series(column.cast(column.type.value_type))
