"""Frames of other libraries: the same domain, codes, tables and errors as those of pandas."""

from __future__ import annotations

import builtins
import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.comparisons import refused

import ldpstats as ldp
from ldpstats.answers.frames import checked_frame, known_frame
from ldpstats.errors import DomainError, LdpstatsError

PEOPLE = pd.DataFrame(
    {
        "text": ["b", "a", "ä", "b"],
        "chosen": pd.Categorical(["y", "x", "y", "y"], categories=["y", "never", "x"], ordered=True),
        "whole": [2**60 + 1, 7, 2**60, 7],
        "small": np.array([3, 1, 1, 3], dtype=np.uint8),
        "said": [True, False, False, True],
        "part": [0.5, 1.0, 1.0, 0.5],
    }
)
MAKERS = {
    "polars": lambda frame: pl.from_pandas(frame).with_columns(
        pl.col(name).cast(pl.Enum(list(column.cat.categories)))
        for name, column in frame.items()
        if isinstance(column.dtype, pd.CategoricalDtype)
    ),
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "chunks of arrow": lambda frame: pa.concat_tables(
        [pa.Table.from_pandas(frame, preserve_index=False).slice(*part) for part in ((0, 1), (1, 0), (1,))]
    ),
    "arrow in pandas": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
}


@pytest.fixture(params=MAKERS)
def made(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]


def test_every_library_gives_the_same_domain_and_codes(made: Any) -> None:
    domain = ldp.Domain.from_frame(PEOPLE)
    assert ldp.Domain.from_frame(made(PEOPLE)) == domain
    assert domain.categories["chosen"] == ("y", "never", "x")
    assert domain.encode(made(PEOPLE)).tolist() == domain.encode(PEOPLE).tolist()
    assert ldp.Domain.from_frame(made(PEOPLE), ["said"]).names == ("said",)


def test_missing_values_stay_missing_and_whole_numbers_whole(made: Any) -> None:
    holes = PEOPLE.convert_dtypes()
    holes.loc[1] = None
    domain = ldp.Domain.from_frame(PEOPLE)
    expected = domain.encode(PEOPLE)
    expected[1] = -1
    assert domain.encode(made(holes), marked=True).tolist() == expected.tolist()
    for name in domain.names:
        for read in (domain.project([name]).encode, lambda frame, name=name: ldp.Domain.from_frame(frame, [name])):
            with refused(DomainError, f"column '{name}' has the missing value", "in row 1 (1 in all)"):
                read(made(holes))


def test_errors_name_column_value_and_row(made: Any) -> None:
    frame = made(PEOPLE[["text", "whole"]])
    with refused(DomainError, "column 'text'", "'ä' in row 2", "'a', 'b'"):
        ldp.Domain({"text": ["a", "b"]}).encode(frame)
    with refused(DomainError, f"{2**60 + 1} in row 0", "convert it"):
        ldp.Domain({"whole": ["7", str(2**60 + 1)]}).encode(frame)
    with refused(DomainError, "no column 'absent'", "'text', 'whole'"):
        ldp.Domain({"absent": ["a", "b"]}).encode(frame)


def test_dates_measurements_and_lists_are_refused(made: Any) -> None:
    for values in ([dt.date(2020, 1, 1), dt.date(2021, 1, 1)], [["a"], ["b"]], [{"a": 1}, {"a": 2}]):
        with refused(DomainError, "column 'a'", "in row 0", "plain strings, finite numbers or booleans"):
            ldp.Domain.from_frame(made(pd.DataFrame({"a": values})))
    with refused(DomainError, "30 different fractional numbers", "pandas.cut"):
        ldp.Domain.from_frame(made(pd.DataFrame({"a": np.arange(30) / 7})))


@pytest.mark.parametrize("protocol", ["sampled", "rrba", "curator"])
def test_every_library_goes_in_where_pandas_does(protocol: str, made: Any) -> None:
    frame = PEOPLE[["chosen", "said"]].astype({"said": "object"}).sample(400, replace=True, random_state=0)
    frame = frame.reset_index(drop=True)
    frame["said"] = frame["said"].astype(bool)
    domain = ldp.Domain.from_frame(frame)
    used = {
        "sampled": lambda: ldp.SampledGroups(domain, epsilon=2.0, outside="random"),
        "rrba": lambda: ldp.RRBA(domain, p=0.5, block_size=100),
        "curator": lambda: ldp.CentralLaplace(domain, epsilon=1.0),
    }[protocol]()
    others = made(frame)
    for ask in (used.collect, used.simulate):
        assert ask(others, rng=1).to_json() == ask(frame, rng=1).to_json()
    if protocol != "curator":
        pd.testing.assert_frame_equal(used.reports(others, rng=1), used.reports(frame, rng=1))


def test_frequency_tables_and_counts_of_every_library(made: Any) -> None:
    frame = pd.DataFrame({"sex": ["F", "M"], "n": [30, 20]})
    domain = ldp.Domain({"sex": ["F", "M"]})
    used = ldp.SampledGroups(domain, k=1, epsilon=2.0)
    assert used.collect(made(frame), rng=1, counts="n").n == 50
    assert used.simulate(made(frame), rng=1, counts="n").n == 50
    with pytest.raises(DomainError, match="looks like a frequency table"):
        used.collect(made(frame), rng=1)
    with pytest.raises(LdpstatsError, match="no column 'm'"):
        used.collect(made(frame), rng=1, counts="m")


def test_classifiers_and_truths_take_every_library(made: Any) -> None:
    g = np.random.default_rng(1)
    sex = g.integers(2, size=3000)
    frame = pd.DataFrame({"sex": np.array(["F", "M"])[sex], "car": np.where(g.random(3000) < 0.9, sex, 1 - sex)})
    tables = ldp.SampledGroups(ldp.Domain.from_frame(frame), epsilon=4.0).simulate(frame, rng=1)
    classifier = ldp.naive_bayes(tables, "sex")
    assert classifier.predict(made(frame)).tolist() == classifier.predict(frame).tolist()
    assert classifier.predict_proba(made(frame)).equals(classifier.predict_proba(frame))
    assert classifier.accuracy(made(frame)) == classifier.accuracy(frame)
    network = classifier.network
    assert network.log_likelihood(made(frame)).tolist() == network.log_likelihood(frame).tolist()
    compared = [ldp.compare_networks(network, network, records).to_dict() for records in (frame, made(frame))]
    assert compared[0] == compared[1]
    assert compared[0]["records"] == 3000


def test_categoricals_of_polars_keep_the_order_in_which_they_came() -> None:
    frame = pl.DataFrame({"a": pl.Series(["y", "x", None, "y"], dtype=pl.Categorical)})
    assert ldp.Domain({"a": ["x", "y"]}).encode(frame, marked=True).ravel().tolist() == [1, 0, -1, 1]
    assert set(ldp.Domain.from_frame(frame.drop_nulls()).categories["a"]) == {"x", "y"}


TAGGED = (pa.array([0, 0, 0, 1], pa.int8()), pa.array([0, 1, 2, 0], pa.int32()), [pa.array([*"yxx"]), pa.nulls(1)])


@pytest.mark.parametrize(
    "column",
    [
        pa.chunked_array([pa.array(["y", "x"]).dictionary_encode(), pa.array(["x", None]).dictionary_encode()]),
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), pa.array(["y", "x", "x", None]))]),
        pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None], pa.uint8()), pa.array(["y", "x"]))]),
        pa.chunked_array([["y", "x"], ["x", None]], pa.string_view()),
        pa.chunked_array([["y", "x"], ["x", None]], pa.large_string()),
        pa.chunked_array([pa.ExtensionArray.from_storage(pa.opaque(pa.string(), "t", "v"), pa.array([*"yxx", None]))]),
        pa.chunked_array([pa.UnionArray.from_dense(*TAGGED)]),
        pa.chunked_array([pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 4]), pa.array(["y", "x", None]))]),
    ],
    ids=["two dictionaries", "odd dictionary", "small indices", "views", "large", "opaque", "union", "runs"],
)
def test_text_of_arrow_is_read_however_it_is_stored(column: pa.ChunkedArray) -> None:
    frame = pa.table({"a": column})
    domain = ldp.Domain({"a": ["x", "y"]})
    assert domain.encode(frame, marked=True).ravel().tolist() == [1, 0, 0, -1]
    assert set(ldp.Domain.from_frame(frame.slice(0, 3)).categories["a"]) == {"x", "y"}


def test_a_dictionary_of_lists_is_no_column_of_categories() -> None:
    lists = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([["y"], ["x"]]))
    with pytest.raises(DomainError, match="'a' has the category"):
        ldp.Domain.from_frame(pa.table({"a": lists}))


@pytest.mark.parametrize("dtype", [pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_()], ids=str)
def test_numbers_of_arrow_are_not_copied_but_read(dtype: pa.DataType) -> None:
    column = pa.array([1, 0, 1], type=pa.int8()).cast(dtype)
    frame = checked_frame(pa.table({"a": column}))
    assert ldp.Domain({"a": [0, 1]}).encode(frame).ravel().tolist() == [1, 0, 1]
    if dtype != pa.bool_():  # bits become bytes
        assert np.shares_memory(frame["a"].to_numpy(), column.to_numpy())


def test_missing_numbers_of_polars_are_missing_whether_null_or_nan() -> None:
    frame = pl.DataFrame({"a": [0.5, None, float("nan")]})
    with pytest.raises(DomainError, match="missing value nan in row 1 \\(2 in all\\)"):
        ldp.Domain({"a": [0.5, 1]}).encode(frame)


@pytest.mark.parametrize(
    "beside", [pl.Series([2**100, 1], dtype=pl.Int128), pl.Series([object()] * 2, dtype=pl.Object)]
)
def test_columns_of_types_that_arrow_does_not_know_do_no_harm(beside: pl.Series) -> None:
    frame = pl.DataFrame({"a": ["x", "y"]}).with_columns(b=beside)
    assert ldp.Domain({"a": ["x", "y"]}).encode(frame).ravel().tolist() == [0, 1]
    assert ldp.Domain({"b": [1, 2**100]}).encode(frame, marked=True)[1, 0] in (0, -1)


def test_objects_of_polars_are_what_they_are_and_no_addresses() -> None:
    frame = pl.DataFrame({"a": pl.Series(["x", "y", "x"], dtype=pl.Object), "b": [1, 2, 1]})
    assert ldp.Domain.from_frame(frame).categories == {"a": ("x", "y"), "b": (1, 2)}
    with pytest.raises(DomainError, match="unknown category 'x' in row 0"):
        ldp.Domain({"a": ["z", "y"]}).encode(frame)


def test_errors_name_values_of_views_too() -> None:
    with pytest.raises(DomainError, match="unknown category '0' in row 0"):
        ldp.Domain({"a": [0, 1]}).encode(pa.table({"a": pa.array(["0", "1"], pa.string_view())}))


def test_lazy_frames_are_refused_until_they_are_collected() -> None:
    lazy = pl.DataFrame({"a": ["x", "y"]}).lazy()
    for read in (ldp.Domain.from_frame, ldp.Domain({"a": ["x", "y"]}).encode):
        with refused(DomainError, "LazyFrame", "not been computed", ".collect()"):
            read(lazy)


def test_repeated_columns_are_refused_as_those_of_pandas() -> None:
    column = pa.array(["x", "y"])
    with pytest.raises(DomainError, match="different column names"):
        ldp.Domain.from_frame(pa.Table.from_arrays([column, column], ["a", "a"]))


@pytest.mark.parametrize("frame", [pl.DataFrame(), pa.table({}), pl.DataFrame({"a": []}), pa.table({"a": pa.nulls(0)})])
def test_empty_frames_are_refused(frame: Any) -> None:
    with pytest.raises(DomainError):
        ldp.Domain.from_frame(frame)


@pytest.mark.parametrize("kind", [pl.DataFrame, pa.table])
def test_nobody_is_a_frame_too(kind: Any) -> None:
    domain = ldp.Domain({"a": ["x", "y"]})
    assert domain.encode(kind({"a": pa.array([], pa.string())})).shape == (0, 1)
    empty = pa.chunked_array([], pa.dictionary(pa.int32(), pa.string()))
    assert domain.encode(pa.table({"a": empty})).shape == (0, 1)


@pytest.mark.parametrize("data", [pl.Series([1, 2]), pa.array([1, 2]), 5, None, object(), np.eye(2), [1], "a", {}])
def test_what_is_no_frame_is_none(data: Any) -> None:
    assert known_frame(data) is None
    for read in (checked_frame, ldp.Domain.from_frame, ldp.Domain({"a": ["x", "y"]}).encode):
        with refused(DomainError, f"data of type {type(data).__name__}", "DataFrame"):
            read(data)


def test_joint_counts_may_come_as_a_series_of_polars() -> None:
    used = ldp.SampledGroups(ldp.Domain({"a": ["x", "y"], "b": ["x", "y"]}), epsilon=2.0)
    assert used.simulate(pl.Series([1, 2, 3, 4]), rng=1).n == 10


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refusing(name: str, *rest: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refusing)
    with refused(LdpstatsError, "without the package pyarrow", "pip install 'ldpstats[scale]'"):
        checked_frame(pl.DataFrame({"a": [1]}))
