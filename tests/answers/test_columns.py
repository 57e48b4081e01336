"""Categories read off data frames: in their order, of any type, and refused with column, value and row."""

from __future__ import annotations

import datetime as dt
import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from support.comparisons import assert_tells, refused, typed

from ldpstats.answers.columns import known_category
from ldpstats.answers.domain import Domain
from ldpstats.errors import DomainError, one_line

ROWS = ["first", "second", "third"]


@pytest.fixture
def travel() -> Domain:
    return Domain({"sex": ["F", "M"], "travel": ["car", "train", "other"], "age": [1, 2, 3, 4]})


@pytest.fixture
def answers() -> pd.DataFrame:
    return pd.DataFrame({"sex": ["M", "F", "M"], "travel": ["other", "car", "train"], "age": [4, 1, 2]}, index=ROWS)


def test_encode_answers(travel: Domain, answers: pd.DataFrame) -> None:
    expected = [[1, 2, 3], [0, 0, 0], [1, 1, 1]]
    assert travel.encode(answers).tolist() == expected
    assert travel.encode(answers[["age", "sex", "travel"]].assign(other=None)).tolist() == expected
    assert travel.encode(answers.iloc[:0]).shape == (0, 3)


@pytest.mark.parametrize("dtype", ["str", "object", "string", "category"])
def test_every_dtype_of_text_is_encoded(dtype: str) -> None:
    frame = pd.DataFrame({"a": pd.Series(["y", "x", "z"], dtype=dtype)})
    domain = Domain.from_frame(frame)
    assert domain == Domain({"a": ["x", "y", "z"]})
    assert domain.encode(frame).ravel().tolist() == [1, 0, 2]
    assert domain.decode(domain.encode(frame))["a"].dtype == "str"


@pytest.mark.parametrize(
    ("values", "categories"),
    [
        ([3, 1, 2], [1, 2, 3]),
        (pd.array([3, 1], dtype="Int64"), [1, 3]),
        (pd.array([True, False], dtype="boolean"), [False, True]),
        (np.array([True, False]), [False, True]),
        (np.array([3, 1], dtype=np.uint8), [1, 3]),
        ([2.5, 1.0], [1.0, 2.5]),
        ([2.5, 1], [1.0, 2.5]),
        (pd.Series([2.5, 1, True], dtype=object), [1, 2.5]),
        (pd.Series([np.int64(2), np.float64(0.5)], dtype=object), [0.5, 2]),
        (pd.arrays.SparseArray([0, 1, 0]), [0, 1]),
    ],
)
def test_numbers_are_read_off_a_frame_in_order(values: object, categories: list[object]) -> None:
    frame = pd.DataFrame({"a": values})
    domain = Domain.from_frame(frame)
    assert typed(domain.categories["a"]) == typed(categories)
    assert domain.decode(domain.encode(frame))["a"].tolist() == frame["a"].tolist()


def test_categorical_keeps_its_order_and_the_categories_nobody_chose() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["b", "b"], categories=["c", "b", "a"])})
    domain = Domain.from_frame(frame)
    assert domain.categories["a"] == ("c", "b", "a")
    assert domain.encode(frame).ravel().tolist() == [1, 1]


def test_some_columns_of_a_frame(answers: pd.DataFrame) -> None:
    assert Domain.from_frame(answers, columns=["travel", "sex"]).names == ("travel", "sex")
    assert Domain.from_frame(answers, columns="sex") == Domain({"sex": ["F", "M"]})


def test_texts_that_end_in_zero_bytes_stay_apart() -> None:
    frame = pd.DataFrame({"a": ["x", "x\0", "x\0y"]})
    assert Domain.from_frame(frame).encode(frame).ravel().tolist() == [0, 1, 2]


INDICES = [
    (["first", "second", "third"], "row 'second'"),
    ([7, 7, 7], "row 7 "),
    ([10, 20, 30], "row 20 "),
    (pd.MultiIndex.from_tuples([(0, "a"), (0, "b"), (1, "a")]), "row (0, 'b')"),
    (pd.date_range("2020-01-01", periods=3), "row Timestamp('2020-01-02 00:00:00')"),
    (None, "row 1 "),
]


@pytest.mark.parametrize(("index", "row"), INDICES)
def test_unknown_category_names_column_value_and_row(travel: Domain, index: object, row: str) -> None:
    frame = pd.DataFrame({"sex": list("FFM"), "travel": ["car", "bus", "boat"], "age": [1, 1, 1]}, index=index)
    with refused(DomainError, "column 'travel'", "'bus'", row, "2 in all", "'car', 'train', 'other'"):
        travel.encode(frame)


@pytest.mark.parametrize(("index", "row"), INDICES)
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, Decimal("NaN")])
def test_missing_value_names_column_value_and_row(index: object, row: str, missing: object) -> None:
    frame = pd.DataFrame({"a": pd.Series(["x", missing, missing], dtype=object)})
    if index is not None:
        frame.index = pd.Index(index)
    for read in (Domain({"a": ["x", "y"]}).encode, Domain.from_frame):
        with refused(DomainError, "column 'a'", f"missing value {missing!r}", row, "2 in all", "'no answer'"):
            read(frame)


@pytest.mark.parametrize("dtype", ["str", "string", "category", "float64", "Int64", "boolean", "datetime64[ns]"])
def test_every_dtype_of_missing_value_is_refused(dtype: str) -> None:
    frame = pd.DataFrame({"a": pd.Series([None, None], dtype=dtype)}, index=["p", "q"])
    with refused(DomainError, "column 'a'", "missing value", "row 'p'", "2 in all"):
        Domain.from_frame(frame)


@pytest.mark.parametrize(
    ("known", "came", "types"),
    [
        ([1, 2], ["1", "2"], ("str", "int")),
        (["1", "2"], [1, 2], ("int", "str")),
        (["1.5", "2.5"], [1.5, 2.5], ("float", "str")),
        (["True", "False"], [True, False], ("bool", "str")),
        ([True, False], ["True", "False"], ("str", "bool")),
    ],
)
def test_number_and_its_text_are_told_apart(known: list[object], came: list[object], types: tuple[str, str]) -> None:
    with pytest.raises(DomainError) as error:
        Domain({"a": known}).encode(pd.DataFrame({"a": came}, index=["p", "q"]))
    advice = f"The column holds {types[0]} where the domain has {types[1]}: convert it."
    assert_tells(error, "column 'a'", f"{came[0]!r} in row 'p'", one_line(known), advice)


@pytest.mark.parametrize("value", [["M"], {"M": 1}, {"M"}, np.array([1, 2]), ("M", ["F"]), ("M", "F"), b"M"])
def test_value_that_is_no_category_names_column_value_and_row(value: object) -> None:
    frame = pd.DataFrame({"sex": pd.Series(["F", value, "X"], index=ROWS, dtype=object)})
    with refused(DomainError, "column 'sex'", repr(value), "row 'second'", "2 in all", "'F', 'M'"):
        Domain({"sex": ["F", "M"]}).encode(frame)
    with refused(DomainError, "column 'sex'", repr(value), "row 'second'", "strings"):
        Domain.from_frame(frame)


@pytest.mark.parametrize("kind", [list, tuple, set, np.array])
def test_several_answers_in_a_cell_are_several_questions_as_the_error_says(kind: Callable[[list[str]], Any]) -> None:
    cells = [kind(["tv", "radio"]), kind(["tv"]), kind([])]
    frame = pd.DataFrame({"media": pd.Series(cells, dtype=object)})
    advice = "pandas.get_dummies(frame['media'].explode(), prefix='media').groupby(level=0).max()"
    for read in (Domain.from_frame, Domain({"media": ["tv", "radio"]}).encode):
        with refused(DomainError, "several questions", advice):
            read(frame)
    options = pd.get_dummies(frame["media"].explode(), prefix="media").groupby(level=0).max()
    assert Domain.from_frame(options).encode(options).tolist() == [[1, 1], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        pd.to_timedelta([1, 2], unit="D"),
        pd.period_range("2020", periods=2, freq="Y"),
        [dt.date(2020, 1, 1), dt.date(2021, 1, 1)],
        [Decimal("1.5"), Decimal("2.5")],
        [1 + 2j, 2 + 1j],
        [math.inf, 1.0],
    ],
)
def test_column_of_other_types_is_refused(values: object) -> None:
    frame = pd.DataFrame({"when": values}, index=["p", "q"])
    with refused(
        DomainError, "column 'when'", repr(frame["when"].tolist()[0]), "row 'p'", "strings", "Convert the column"
    ):
        Domain.from_frame(frame)
    with refused(DomainError, "column 'when'", repr(frame["when"].tolist()[0]), "row 'p'", "'then', 'now'"):
        Domain({"when": ["then", "now"]}).encode(frame)


def test_column_of_measurements_is_refused() -> None:
    with refused(DomainError, "column 'income'", "30 different fractional numbers", "pandas.cut"):
        Domain.from_frame(pd.DataFrame({"income": np.linspace(0, 1, 30)}))


@pytest.mark.parametrize("turned", [lambda column: column, lambda column: column.astype(object), pd.Series.sort_values])
def test_the_classes_of_pandas_cut_keep_their_order(turned: Callable[[pd.Series], pd.Series]) -> None:
    """The advice against many numbers, to cut them into classes, used to end in another error."""
    ages = pd.Series([5.0, 15.0, 95.0, 25.0, 100.0])
    frame = pd.DataFrame({"age": turned(pd.cut(ages, [0, 10, 20, 30, 110]))}).sort_index()
    domain = Domain.from_frame(frame)
    assert domain.categories["age"] == ("(0, 10]", "(10, 20]", "(20, 30]", "(30, 110]")
    assert domain.encode(frame).ravel().tolist() == [0, 1, 3, 2, 3]
    assert Domain.from_json(domain.to_json()).encode(frame).ravel().tolist() == [0, 1, 3, 2, 3]
    assert domain.encode(pd.DataFrame({"age": ["(20, 30]"]})).tolist() == [[2]]
    labelled = pd.DataFrame({"age": pd.cut(ages, 2, labels=["low", "high"])})
    assert Domain.from_frame(labelled).categories["age"] == ("low", "high")
    outside = pd.DataFrame({"age": pd.cut(ages, [0, 10, 20, 30])})
    with pytest.raises(DomainError, match="missing value"):
        Domain.from_frame(outside)
    with pytest.raises(DomainError, match=r"unknown category '\(0, 50\]'"):
        domain.encode(pd.DataFrame({"age": pd.cut(ages, [0, 50, 110])}))


def test_many_numbers_are_warned_of_with_classes_to_take() -> None:
    ages = pd.DataFrame({"age": range(18, 92)})
    with pytest.warns(UserWarning, match=r"'age' has 74 different numbers.*pandas\.cut") as warned:
        Domain.from_frame(ages)
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match=r"Column 'age'.*\nColumn 'x' has the category 99 in 1 rows") as warned:
        Domain.from_frame(ages.assign(x=[99, 1, 2, 3, *[1] * (len(ages) - 4)]))
    assert len(warned) == 1, "a call warns once, with a line for every column"
    for quiet in (ages.head(30), ages.astype(str), ages.astype("category"), ages.apply(pd.cut, bins=5)):
        assert len(Domain.from_frame(quiet)) == 1


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([1, 2, 3, 4, 5, 9], [9]),
        ([1, 2, 3, 4, 8, 9], [8, 9]),
        ([1, 2, 77, 88, 99], [77, 88, 99]),
        ([*range(18, 91), 99], [99]),
        ([*range(0, 50_000, 500), 99_999], [99_999]),
        ([-9, -8, 0, 1], [-9, -8]),
        ([-9, *range(10)], [-9]),
        (["1", "2", "9"], ["9"]),
        (["yes", "?", "Refused", "NA", "no answer"], ["?", "NA", "Refused"]),
        (["low", "", "."], ["", "."]),
        # what numbers reach step by step is no code, nor what is small anyway
        ([*range(1, 10)], []),
        ([*range(1, 121)], []),
        ([*range(18, 100)], []),
        ([0, 1, 2, 3, 7], []),
        ([0, 1, 2, 3, 8], []),
        ([-9, -5, 0, 5], []),
        ([-1, 0, 1], []),
        ([1, 9], []),
        ([True, False], []),
    ],
)
def test_codes_for_missing_answers_are_warned_of_and_kept(values: list[Any], codes: list[Any]) -> None:
    frame = pd.DataFrame({"it": values * 2})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        domain = Domain.from_frame(frame)
    assert set(domain.categories["it"]) == set(values)
    told = [one for one in told if "missing answer" in str(one.message)]
    assert [*map(str, {one.category for one in told})] == ["<class 'UserWarning'>"] * bool(codes)
    if codes:
        words = str(told[0].message)
        assert f"{', '.join(map(repr, codes))} in {2 * len(codes)} rows" in words
        assert told[0].filename == __file__
        # both that it advises
        assert not {*frame[~frame["it"].isin(codes)]["it"]} & {*codes}
        named = frame["it"].astype(str).replace(str(codes[0]), "no answer")
        assert "no answer" in Domain.from_frame(pd.DataFrame({"it": pd.Categorical(named)})).categories["it"]
    Domain.from_frame(frame.astype("category"))  # chosen: any warning is an error


def test_column_of_texts_and_numbers_names_both_rows() -> None:
    with refused(DomainError, "column 'a'", "1 in row 'first'", "'x' in row 'third'"):
        Domain.from_frame(pd.DataFrame({"a": [1, 2, "x"]}, index=ROWS))


def test_empty_frames_are_refused(travel: Domain) -> None:
    for frame, columns in ((pd.DataFrame(), None), (pd.DataFrame({"a": [1, 2]}), [])):
        with refused(DomainError, "columns", "at least one column"):
            Domain.from_frame(frame, columns)
    with refused(DomainError, "'a'", "at least two categories"):
        Domain.from_frame(pd.DataFrame({"a": []}))
    with refused(DomainError, "no column 'sex'", "the frame has nothing"):
        travel.encode(pd.DataFrame())


def test_absent_column_is_refused(travel: Domain, answers: pd.DataFrame) -> None:
    with refused(DomainError, "no column 'travel'", "'sex', 'Travel', 'age'"):
        travel.encode(answers.rename(columns={"travel": "Travel"}))


def test_repeated_columns_are_refused(travel: Domain, answers: pd.DataFrame) -> None:
    twice = pd.concat([answers, answers[["travel"]]], axis=1)
    for read in (travel.encode, Domain.from_frame, lambda frame: Domain.from_frame(frame, columns=["travel"])):
        with refused(DomainError, "'travel'"):
            read(twice)
    with refused(DomainError, "'sex', 'sex'", "once"):
        Domain.from_frame(answers, columns=["sex", "sex"])
    assert travel.project(["age", "sex"]).encode(twice).shape == (3, 2)


@pytest.mark.parametrize("columns", [[0, 1], pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])])
def test_columns_not_named_by_text_are_refused(columns: object) -> None:
    frame = pd.DataFrame([[1, 2], [2, 1]], columns=columns)
    with refused(DomainError, repr(frame.columns.tolist()[0]), "string"):
        Domain.from_frame(frame)
    with refused(DomainError, "column 'a'"):
        Domain({"a": [1, 2]}).encode(frame)


@pytest.mark.parametrize("columns", [3, ["absent"], [["sex"]], [None]])
def test_columns_that_cannot_be_asked_for_are_refused(answers: pd.DataFrame, columns: object) -> None:
    with refused(DomainError, repr(columns[0] if isinstance(columns, list) else columns)):
        Domain.from_frame(answers, columns=columns)


AGES = pd.Series([18, 25, 40, 67, 30, 52])
OPEN = pd.cut(AGES, [9, 30, 60])  # one answer is outside


@pytest.mark.parametrize(
    "column",
    [
        OPEN.cat.add_categories(["no answer"]).fillna("no answer"),
        OPEN.astype(object).fillna("no answer"),
        OPEN.iloc[::-1].astype(object).fillna("no answer"),
    ],
)
def test_intervals_beside_a_category_for_missing_answers_are_read(column: pd.Series) -> None:
    """What the error about a missing interval advises; as text "(9, 30]" would come after "(30, 60]"."""
    with pytest.raises(DomainError, match="category of their own, such as 'no answer'"):
        Domain.from_frame(pd.DataFrame({"age": OPEN}))
    domain = Domain.from_frame(pd.DataFrame({"age": column}))
    assert domain.categories["age"] == ("(9, 30]", "(30, 60]", "no answer")
    assert domain.encode(pd.DataFrame({"age": column})).ravel().tolist() == [
        {"(9, 30]": 0, "(30, 60]": 1, "no answer": 2}[str(one)] for one in column
    ]


CELLS = st.one_of(
    st.sampled_from(["a", "1", "True", "ä", "x\0", "(0, 1]", 1, 0, 1.0, 0.5, -0.0, True, False, 2**53, 2**53 + 1]),
    st.sampled_from([None, np.nan, pd.NA, pd.NaT, Decimal(1), np.int8(1), np.float32(0.5), np.str_("a"), (1, 2), [1]]),
    st.sampled_from([pd.Interval(0, 1), dt.date(2020, 1, 1), 2**70, 1 + 0j, float("inf"), b"a"]),
)
"""What may stand in a column, the equal beside the different."""
KNOWN = st.lists(st.sampled_from(["a", "1", "(0, 1]", 1, 0, 0.5, 2**53, 2**53 + 1, 2**70]), min_size=2, unique=True)


def by_definition(column: pd.Series, allowed: tuple[object, ...]) -> list[int]:
    """Look every value up by itself, as Python compares them."""
    found = [known_category(value, allowed) for value in column.astype(object)]
    return [-1 if one is None else allowed.index(one) for one in found]


def is_interval(value: object) -> bool:
    return isinstance(value, pd.Interval)


@settings(max_examples=200, deadline=None)
@given(values=st.lists(CELLS, max_size=8), allowed=KNOWN)
def test_codes_are_looked_up_as_python_compares(values: list[object], allowed: list[object]) -> None:
    # intervals go by their text beside texts alone, which has tests of its own
    values = [None if is_interval(one) and not all(isinstance(v, str) for v in values) else one for one in values]
    column = pd.Series(values, dtype=object)
    domain = Domain({"a": allowed})
    expected = by_definition(column, tuple(allowed))
    assert domain.encode(pd.DataFrame({"a": column}), marked=True).ravel().tolist() == expected


@pytest.mark.parametrize(
    "values",
    [
        pd.Categorical([2**53 + 1, None, 2**53], categories=[2**53, 5, 2**53 + 1]),
        pd.Categorical([0.5, True, None, "a"], categories=["a", True, 0.5, "never"], ordered=True),
        pd.Categorical([None, None], categories=pd.Index([], dtype=object)),
        pd.Categorical([pd.Interval(0, 1), pd.Interval(1, 2), None]),
        pd.Categorical(pd.to_datetime(["2020-01-01", None])),
        pd.array([2**53, 2**53 + 1, None], dtype="Int64"),
        pd.array([2**53, 2**53 + 1, None], dtype="int64[pyarrow]"),
        pd.array([True, None], dtype="boolean"),
        pd.array([True, None], dtype="bool[pyarrow]"),
        pd.array(["a", None, "1"], dtype="str"),
        pd.array(["a", None, "1"], dtype=pd.StringDtype("python")),
        pd.array(["a", None, "1"], dtype="string[pyarrow]"),
        pd.array([0.5, 1, None], dtype="double[pyarrow]"),
        pd.arrays.SparseArray([0, 1, 7]),
        pd.interval_range(0, 2),
        np.array([0.5, np.nan, -0.0, np.inf]),
        np.array([0.5, 1], dtype=np.float16),
        np.array([0.5, 1], dtype=np.longdouble),
        np.array([1, 0.5], dtype=np.complex128),
        np.array([1, 200], dtype=np.uint8),
        np.array([2**63 + 1, 1], dtype=np.uint64),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.array([], dtype=np.int64),
    ],
    ids=lambda values: str(getattr(values, "dtype", "")),
)
def test_every_dtype_is_looked_up_as_python_compares(values: object) -> None:
    column = pd.Series(values)
    allowed = ("a", "1", "(0, 1]", 1, 0, 0.5, 2**53, 2**53 + 1, 2**63 + 1)
    held = column.astype(object)
    if isinstance(column.dtype, pd.CategoricalDtype):  # pandas itself goes through floats where one is missing
        kinds = [*column.cat.categories.astype(object), None]
        held = pd.Series([kinds[code] for code in column.cat.codes], dtype=object)
    labelled = [str(one) if is_interval(one) else one for one in held]
    expected = by_definition(pd.Series(labelled, dtype=object), allowed)
    frame = pd.DataFrame({"a": column})
    assert Domain({"a": allowed}).encode(frame, marked=True).ravel().tolist() == expected
    assert Domain({"a": allowed}).compact_codes(frame, marked=True).ravel().tolist() == expected


@pytest.mark.parametrize("categories", [127, 128, 129, 32769])
def test_compact_codes_hold_every_position(categories: int) -> None:
    frame = pd.DataFrame({"a": range(categories)})
    domain = Domain.from_frame(frame.astype("category"))
    assert domain.compact_codes(frame).ravel().tolist() == list(range(categories))
    assert domain.compact_codes(frame - 1, marked=True)[:2].ravel().tolist() == [-1, 0]
