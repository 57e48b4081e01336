"""Rows that travel: through files and columns of any type they count as if they had not, or are refused by row."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.comparisons import same

import ldpstats as ldp
from ldpstats import SS, Domain, ReportError, SampledGroups
from ldpstats.protocols.wire import from_column, to_bytes, to_column

MECHANISMS = ["grr", "oue", "ss"]


def through_csv(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.read_csv(StringIO(rows.to_csv(index=False)))


def through_json(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.read_json(StringIO(rows.to_json()))


def through_json_lines(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.read_json(StringIO(rows.to_json(orient="records", lines=True)), lines=True)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("journey", [lambda rows: rows, through_csv, through_json, through_json_lines])
def test_rows_that_travelled_count_like_collect(
    domain: Domain, people: pd.DataFrame, mechanism: str, journey: Callable[[pd.DataFrame], pd.DataFrame]
) -> None:
    protocol = SampledGroups(domain, epsilon=1.0, mechanism=mechanism)
    rows = protocol.reports(people, rng=5)
    assert list(rows.columns) == ["protocol", "collection", "number", "group", "report", "simulated"]
    assert same(protocol.tables(journey(rows)), protocol.collect(people, rng=5))
    assert same(protocol.tables(journey(rows.sample(frac=1, random_state=1))), protocol.collect(people, rng=5))
    secret = protocol.reports(people.head(40))
    assert same(protocol.tables(journey(secret)), protocol.tables(secret))


def test_fingerprints_are_no_numbers_to_a_file_reader(domain: Domain) -> None:
    # about one in 120 bare hexadecimal digests reads as a number, such as 12345e678901
    mark = SampledGroups(domain, epsilon=1.0, groups=[["age"]]).fingerprint()
    assert re.fullmatch("p[0-9a-f]{12}", mark)
    for one in (mark, "p" + 12 * "1", "p12345e678901"):
        assert pd.read_csv(StringIO(f"mark\n{one}"))["mark"].tolist() == [one]


def spoiled(rows: pd.DataFrame, column: str, value: Any) -> pd.DataFrame:
    """Return rows from two files, one below the other, with a spoiled value in the row labelled 17 of the second."""
    second = rows.assign(collection=f"c{0:032x}").astype({"report": object, "protocol": object, "group": object})
    second = second.astype({column: object})
    second.loc[17, column] = value
    return pd.concat([rows.drop(index=17), second])


BAD_REPORTS: tuple[Any, ...] = (
    *("", "x", "1.5", "1e0", "null", "true", "nan", np.nan, None, "{}", "[0]", "[" * 100_000, "٣", "01", "+1"),
    *("-1", "6", "9" * 30, "9" * 5000, "xff", "x0001020304", "x0g", "x 0", "X00", f"x{'0' * 5000}"),
)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("report", BAD_REPORTS, ids=lambda report: str(report)[:8])
def test_bad_reports_are_refused_by_row(domain: Domain, people: pd.DataFrame, mechanism: str, report: Any) -> None:
    protocol = SampledGroups(domain, epsilon=1.0, mechanism=mechanism)
    rows = spoiled(protocol.reports(people.head(60), rng=1), "report", report)
    with pytest.raises(ReportError, match=r"in row 17\. Allowed: "):
        protocol.tables(rows)


def test_alphabets_differ_from_group_to_group(domain: Domain, people: pd.DataFrame) -> None:
    protocol = SampledGroups(domain, mechanism="grr", epsilon=1.0)
    rows = protocol.reports(people.head(60), rng=1).astype({"report": object})
    small = rows.index[rows["group"] == "sex × car"][0]
    rows.loc[small, "report"] = "4"
    with pytest.raises(ReportError, match=rf"the report 4 in row {small}\. Allowed: reports that GRR\(k=4"):
        protocol.tables(rows)


def test_padding_bits_and_unordered_subsets_are_refused(domain: Domain, people: pd.DataFrame) -> None:
    assert SS(6, 0.2).omega == 3
    for mechanism, report in (("oue", "x01"), ("ss", "x010302"), ("ss", "x010303"), ("ss", "x010306")):
        protocol = SampledGroups(domain, epsilon=0.2, mechanism=mechanism, groups=[("age", "sex")])
        rows = spoiled(protocol.reports(people.head(60), rng=1), "report", report)
        with pytest.raises(ReportError, match=r"in row 17\. Allowed: reports that (OUE|SS)\(k=6"):
            protocol.tables(rows)


def test_rows_of_another_protocol_or_group_are_refused(domain: Domain, people: pd.DataFrame) -> None:
    protocol = SampledGroups(domain, mechanism="grr", epsilon=1.0)
    rows = protocol.reports(people.head(60), rng=1)
    foreign = SampledGroups(domain, epsilon=2.0, mechanism="grr")
    cases = {
        r"60 rows of another protocol, the first of them row 0": rows.assign(protocol=foreign.fingerprint()),
        r"1 rows of another protocol, the first of them row 17": spoiled(rows, "protocol", None),
        r"row 17 answers the group 'height'": spoiled(rows, "group", "height"),
        r"row 17 answers the group nan": spoiled(rows, "group", np.nan),
        r"row 17 does not say whether it is simulated": spoiled(rows, "simulated", "yes"),
        r"reports with 'protocol', 'collection', 'number', 'group', 'simulated'": rows.drop(columns="report"),
        r"each once": pd.concat([rows, rows[["report"]]], axis=1),
        r"reports with 'list'": rows.to_dict(orient="records"),
    }
    for told, bad in cases.items():
        with pytest.raises(ReportError, match=told):
            protocol.tables(bad)
    assert protocol.tables(rows).n == 60


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
