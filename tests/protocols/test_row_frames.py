"""Rows in data frames: they count however they are stored, and what is no row is refused."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.protocols.wire import from_column, to_bytes, to_column

DOMAIN = ldp.Domain({"age": ["young", "adult", "old"], "sex": ["F", "M"], "car": ["yes", "no"]})


@pytest.mark.parametrize("kind", [one for one in ldp.mechanisms(k=9)["name"] if one != "rr"])
def test_reports_of_every_mechanism_travel_as_bytes_and_as_text(kind: str) -> None:
    mechanism = ldp.mechanism(kind, k=9, epsilon=1.0)
    data, form = mechanism.privatize(np.arange(9).repeat(4), rng=1).data, mechanism.report_format
    column = to_column(data, form)
    for read in (column, column.tolist(), pd.read_csv(StringIO(pd.Series(column).to_csv(index=False)))["0"].tolist()):
        found, reasons = from_column(read, form)
        assert not reasons
        assert np.array_equal(found, data)
        assert found.dtype == form.dtype
    if form.width is not None:
        assert to_bytes(data, form).shape[1] * 2 + 1 == len(column[0])


def test_a_symbol_of_a_hash_function_takes_the_bytes_that_it_needs() -> None:
    for symbols, size in ((2, 17), (256, 17), (257, 18), (65_536, 18)):
        form = ldp.mechanism("lh", k=4, epsilon=1.0, symbols=symbols).report_format
        data = np.array([[2**64 - 1, 0, symbols - 1]], dtype=np.uint64)
        assert to_bytes(data, form).shape == (1, size)
        assert np.array_equal(from_column(to_column(data, form), form)[0], data)


NO_CELLS = [[1], {"a": 1}, None, np.nan, pd.NA, 1.5, "x", "1\0", "01", "+1", -1, 2**70, b"x", "5" * 30, "٣", ""]


@pytest.mark.parametrize("mechanism", ["grr", "oue"])
@pytest.mark.parametrize("column", ["protocol", "collection", "number", "group", "report", "simulated"])
def test_what_cannot_stand_in_a_column_is_refused_and_nothing_is_dropped(mechanism: str, column: str) -> None:
    domain = ldp.Domain({"a": ["x", "y"], "b": ["x", "y"]})
    protocol = ldp.SampledGroups(domain, epsilon=1.0, mechanism=mechanism)
    rows = protocol.reports(domain.decode(np.argwhere(np.ones((2, 2)))), rng=1)
    for wrong in NO_CELLS:
        spoilt = rows.copy()
        spoilt[column] = pd.Series([*rows[column][:2], wrong, *rows[column][3:]], dtype=object)
        with pytest.raises(ldp.ReportError, match=r"row [02]"):
            protocol.tables(spoilt)


@pytest.mark.parametrize("mechanism", ["grr", "oue", "auto"])
@pytest.mark.parametrize(
    "stored",
    [
        lambda rows: rows.astype(object),
        lambda rows: rows.astype({"report": str, "simulated": str}),
        lambda rows: rows.astype(dict.fromkeys(rows.columns.drop("number"), "category")),
        lambda rows: rows.convert_dtypes(),
        lambda rows: rows.convert_dtypes(dtype_backend="pyarrow"),
    ],
    ids=["objects", "texts", "categories", "of pandas", "of Arrow"],
)
def test_rows_count_however_their_columns_are_stored(mechanism: str, stored: Any) -> None:
    domain = ldp.Domain({"a": ["x", "y"], "b": [*"pqrstuvw"], "c": [*"pqrstuvw"]})
    protocol = ldp.SampledGroups(domain, epsilon=1.0, mechanism=mechanism)
    people = domain.decode(np.random.default_rng(1).integers([2, 8, 8], size=(90, 3)))
    rows = protocol.reports(people, rng=1)
    assert protocol.tables(stored(rows)).to_json() == protocol.collect(people, rng=1).to_json()
