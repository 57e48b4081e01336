"""The domain: the way from answers to codes and back, and every refusal of answers it does not know."""

from __future__ import annotations

import ast
import copy
import datetime as dt
import json
import math
import pickle
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from ldpstats.arrays import at_least, counts_array, integers_below, positive_epsilon, significance
from ldpstats.domain import Domain
from ldpstats.errors import DomainError, LdpstatsError, one_line

ROWS = ["first", "second", "third"]

texts = st.text(max_size=6)
whole_numbers = st.integers(-(2**70), 2**70)
fractions = st.floats(allow_nan=False, allow_infinity=False)
category_lists = st.one_of(
    *(
        st.lists(values, min_size=2, max_size=6, unique=True)
        for values in (
            texts,
            whole_numbers,
            fractions,
            st.booleans(),
            texts | whole_numbers | fractions | st.booleans(),
        )
    )
)
attribute_maps = st.dictionaries(st.text(min_size=1, max_size=5), category_lists, min_size=1, max_size=4)


@st.composite
def domains_with_codes(draw: st.DrawFn) -> tuple[Domain, np.ndarray]:
    domain = Domain(draw(attribute_maps))
    row = st.tuples(*(st.integers(0, size - 1) for size in domain.shape))
    rows = draw(st.lists(row, max_size=5))
    return domain, np.array(rows, dtype=np.int64).reshape(len(rows), len(domain))


@pytest.fixture
def travel() -> Domain:
    return Domain({"sex": ["F", "M"], "travel": ["car", "train", "other"], "age": [1, 2, 3, 4]})


@pytest.fixture
def answers() -> pd.DataFrame:
    return pd.DataFrame({"sex": ["M", "F", "M"], "travel": ["other", "car", "train"], "age": [4, 1, 2]}, index=ROWS)


def assert_tells(error: pytest.ExceptionInfo[LdpstatsError], *parts: str) -> None:
    """Check that the message holds every part, and says what would have been accepted."""
    message = str(error.value)
    assert [part for part in (*parts, "Allowed: ") if part not in message] == []


def typed(values: object) -> list[tuple[type, object]]:
    return [(type(value), value) for value in values]


# Round trips


@settings(max_examples=60, deadline=None)
@given(domains_with_codes())
def test_decoded_codes_encode_to_themselves(pair: tuple[Domain, np.ndarray]) -> None:
    domain, codes = pair
    encoded = domain.encode(domain.decode(codes))
    assert encoded.dtype == np.int64
    np.testing.assert_array_equal(encoded, codes)


@settings(max_examples=60, deadline=None)
@given(domains_with_codes())
def test_decoding_gives_the_categories_themselves(pair: tuple[Domain, np.ndarray]) -> None:
    domain, codes = pair
    frame = domain.decode(codes)
    assert tuple(frame.columns) == domain.names
    for position, name in enumerate(domain.names):
        assert typed(frame[name].tolist()) == typed(domain.categories[name][code] for code in codes[:, position])


@settings(max_examples=60, deadline=None)
@given(attribute_maps)
def test_json_round_trip(categories: dict[str, list[object]]) -> None:
    domain = Domain(categories)
    again = Domain.from_json(domain.to_json())
    assert again == domain
    assert hash(again) == hash(domain)
    assert again.names == tuple(categories)
    assert all(typed(again.categories[name]) == typed(values) for name, values in categories.items())


@settings(max_examples=40, deadline=None)
@given(attribute_maps)
def test_copies_are_equal(categories: dict[str, list[object]]) -> None:
    domain = Domain(categories)
    assert pickle.loads(pickle.dumps(domain)) == domain  # noqa: S301  # pickled in this very line
    assert copy.deepcopy(domain) == domain


def test_json_is_readable_and_strict() -> None:
    text = Domain({"größe": ["klein", "groß"], "日": [1, 2.5, True + 2]}).to_json()
    assert text == '{"größe": ["klein", "groß"], "日": [1, 2.5, 3]}'
    assert json.loads(text, parse_constant=pytest.fail)["日"] == [1, 2.5, 3]


def test_largest_whole_numbers_beside_fractions_keep_their_digits() -> None:
    domain = Domain({"a": [2**53 + 1, 2**53, 0.5]})
    assert domain.decode([[0], [1], [2]])["a"].tolist() == [2**53 + 1, 2**53, 0.5]


def test_domains_differ_by_the_type_of_a_category() -> None:
    assert Domain({"a": [0, 1]}) != Domain({"a": [False, True]})
    assert Domain({"a": [0, 1], "b": [0, 1]}) != Domain({"b": [0, 1], "a": [0, 1]})
    assert Domain({"a": [0, 1]}) != {"a": (0, 1)}


def test_repr_builds_the_domain_again(travel: Domain) -> None:
    stated = repr(travel).removeprefix("Domain(").removesuffix(")")
    assert Domain(ast.literal_eval(stated)) == travel


def test_categories_cannot_be_changed(travel: Domain) -> None:
    with pytest.raises(TypeError):
        travel.categories["sex"] = ("X", "Y")  # type: ignore[index]  # this is what is refused
    assert travel.categories["sex"] == ("F", "M")


# Products


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_cells_in_any_order_agree_with_numpy_and_with_the_index(data: st.DataObject) -> None:
    domain, codes = data.draw(domains_with_codes())
    names = data.draw(st.permutations(domain.names))[: data.draw(st.integers(1, len(domain)))]
    columns = [codes[:, domain.names.index(name)] for name in names]
    shape = tuple(len(domain.categories[name]) for name in names)
    cells = domain.cells(codes, names)
    np.testing.assert_array_equal(cells, np.ravel_multi_index(columns, shape))
    index = domain.index(names)
    assert list(index.names) == list(names)
    assert len(index) == domain.size(names) == math.prod(shape)
    rows = zip(*columns, strict=True)
    labels = [tuple(domain.categories[name][code] for name, code in zip(names, row, strict=True)) for row in rows]
    assert [index[cell] for cell in cells] == labels


def test_sizes_shapes_and_projections(travel: Domain) -> None:
    assert (len(travel), travel.shape, travel.size()) == (3, (2, 3, 4), 24)
    assert travel.project(["age", "sex"]) == Domain({"age": [1, 2, 3, 4], "sex": ["F", "M"]})
    assert travel.size("travel") == travel.size(("travel",)) == 3
    assert travel.project("age").names == ("age",)


def test_size_of_a_huge_product_is_exact() -> None:
    domain = Domain({f"a{i}": [0, 1] for i in range(100)})
    assert domain.size() == 2**100
    for refused in (lambda: domain.cells(np.zeros((1, 100), dtype=int), domain.names), domain.index):
        with pytest.raises(DomainError) as error:
            refused()
        assert_tells(error, "100 attributes", str(2**100), "2**63")


@pytest.mark.parametrize("attributes", [["zz"], ["sex", "sex"], [], 3, None, [["sex"]], [np.array([1, 2])]])
def test_unknown_attributes_are_refused(travel: Domain, attributes: object) -> None:
    for ask in (travel.project, travel.size, lambda names: travel.cells([[0, 0, 0]], names)):
        if attributes is None and ask == travel.size:
            continue  # None asks for the size of the whole domain.
        with pytest.raises(DomainError) as error:
            ask(attributes)
        assert_tells(error, "attributes", "'sex', 'travel', 'age'")


@pytest.mark.parametrize(
    ("codes", "parts"),
    [
        ([[0, 0, 0], [0, 3, 0]], ("'travel'", "3", "position 1", "0 to 2")),
        ([[0, -1, 0]], ("'travel'", "-1", "position 0")),
        ([[0.0, 1.0, 0.0]], ("float64", "'sex'")),
        ([["F", "car", 1]], ("'sex'", "Domain.encode")),
        ([0, 1, 2], ("(3,)", "(n, 3)")),
        ([[0, 1]], ("(1, 2)", "(n, 3)")),
        ([[0, 1, 2, 3]], ("(1, 4)", "(n, 3)")),
        ([[0, 1, 2], [0]], ("codes", "different lengths")),
        (None, ("codes", "(n, 3)")),
        ([[0, 1, 2**70]], ("integers from 0",)),
    ],
)
def test_wrong_codes_are_refused(travel: Domain, codes: object, parts: tuple[str, ...]) -> None:
    for use in (travel.decode, lambda wrong: travel.cells(wrong, travel.names)):
        with pytest.raises(LdpstatsError) as error:
            use(codes)
        assert_tells(error, *parts)


# Frames


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


def test_equal_numbers_are_the_same_category() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [1, 0]})
    assert Domain({"a": [1, 2], "b": [True, False]}).encode(frame).tolist() == [[0, 0], [1, 1]]


def test_categorical_keeps_its_order_and_the_categories_nobody_chose() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["b", "b"], categories=["c", "b", "a"])})
    domain = Domain.from_frame(frame)
    assert domain.categories["a"] == ("c", "b", "a")
    assert domain.encode(frame).ravel().tolist() == [1, 1]


def test_codes_follow_the_domain_and_not_the_categorical() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["b", "a"], categories=["b", "a"])})
    assert Domain({"a": ["a", "b"]}).encode(frame).ravel().tolist() == [1, 0]


def test_some_columns_of_a_frame(answers: pd.DataFrame) -> None:
    assert Domain.from_frame(answers, columns=["travel", "sex"]).names == ("travel", "sex")
    assert Domain.from_frame(answers, columns="sex") == Domain({"sex": ["F", "M"]})


def test_texts_that_end_in_zero_bytes_stay_apart() -> None:
    frame = pd.DataFrame({"a": ["x", "x\0", "x\0y"]})
    assert Domain.from_frame(frame).encode(frame).ravel().tolist() == [0, 1, 2]


# Refused answers


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
    with pytest.raises(DomainError) as error:
        travel.encode(frame)
    assert_tells(error, "column 'travel'", "'bus'", row, "2 in all", "'car', 'train', 'other'")


@pytest.mark.parametrize(("index", "row"), INDICES)
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, Decimal("NaN")])
def test_missing_value_names_column_value_and_row(index: object, row: str, missing: object) -> None:
    frame = pd.DataFrame({"a": pd.Series(["x", missing, missing], dtype=object)})
    if index is not None:
        frame.index = pd.Index(index)
    for read in (Domain({"a": ["x", "y"]}).encode, Domain.from_frame):
        with pytest.raises(DomainError) as error:
            read(frame)
        assert_tells(error, "column 'a'", f"missing value {missing!r}", row, "2 in all", "'no answer'")


@pytest.mark.parametrize("dtype", ["str", "string", "category", "float64", "Int64", "boolean", "datetime64[ns]"])
def test_every_dtype_of_missing_value_is_refused(dtype: str) -> None:
    frame = pd.DataFrame({"a": pd.Series([None, None], dtype=dtype)}, index=["p", "q"])
    with pytest.raises(DomainError) as error:
        Domain.from_frame(frame)
    assert_tells(error, "column 'a'", "missing value", "row 'p'", "2 in all")


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
    with pytest.raises(DomainError) as error:
        Domain({"sex": ["F", "M"]}).encode(frame)
    assert_tells(error, "column 'sex'", repr(value), "row 'second'", "2 in all", "'F', 'M'")
    with pytest.raises(DomainError) as error:
        Domain.from_frame(frame)
    assert_tells(error, "column 'sex'", repr(value), "row 'second'", "strings")


def test_column_of_pairs_is_refused() -> None:
    frame = pd.DataFrame({"a": [(1, 2), (3, 4)]}, index=["p", "q"])
    for read in (Domain({"a": [1, 2]}).encode, Domain.from_frame):
        with pytest.raises(DomainError) as error:
            read(frame)
        assert_tells(error, "column 'a'", "(1, 2)", "row 'p'")


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
    with pytest.raises(DomainError) as error:
        Domain.from_frame(frame)
    assert_tells(error, "column 'when'", repr(frame["when"].tolist()[0]), "row 'p'", "strings", "Convert the column")
    with pytest.raises(DomainError) as error:
        Domain({"when": ["then", "now"]}).encode(frame)
    assert_tells(error, "column 'when'", repr(frame["when"].tolist()[0]), "row 'p'", "'then', 'now'")


def test_column_of_measurements_is_refused() -> None:
    with pytest.raises(DomainError) as error:
        Domain.from_frame(pd.DataFrame({"income": np.linspace(0, 1, 30)}))
    assert_tells(error, "column 'income'", "30 different fractional numbers", "pandas.cut")


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
    for quiet in (ages.head(30), ages.astype(str), ages.astype("category"), ages.apply(pd.cut, bins=5)):
        assert len(Domain.from_frame(quiet)) == 1


def test_exports_keep_the_order_of_the_domain() -> None:
    domain = Domain({"size": ["small", "large", "huge"], "sex": ["M", "F"]})
    cells = pd.Series(range(6), index=domain.index())
    table = cells.unstack()  # noqa: PD010  # it is what people do with a frame of cells
    assert (table.index.tolist(), table.columns.tolist()) == (["small", "large", "huge"], ["M", "F"])
    assert cells.groupby(level="size", observed=False).sum().index.tolist() == ["small", "large", "huge"]
    frame = cells.rename("n").reset_index()
    turned = frame.pivot_table(index="sex", columns="size", values="n", observed=False)
    assert turned.columns.tolist() == ["small", "large", "huge"]
    assert frame.sort_values(["size", "sex"])["n"].tolist() == list(range(6))
    people = pd.DataFrame({"size": ["huge", "small", "huge"], "sex": ["M", "F", "M"]})
    assert people.value_counts().reindex(domain.index(), fill_value=0).tolist() == [0, 1, 0, 0, 2, 0]


def test_column_of_texts_and_numbers_names_both_rows() -> None:
    with pytest.raises(DomainError) as error:
        Domain.from_frame(pd.DataFrame({"a": [1, 2, "x"]}, index=ROWS))
    assert_tells(error, "column 'a'", "1 in row 'first'", "'x' in row 'third'")


@pytest.mark.parametrize("values", [["x", "x"], pd.Categorical(["x"], categories=["x"])])
def test_one_valued_column_is_refused(values: object) -> None:
    with pytest.raises(DomainError) as error:
        Domain.from_frame(pd.DataFrame({"a": values}))
    assert_tells(error, "'a'", "'x'", "at least two categories")


@pytest.mark.parametrize("frame", [{"sex": ["F"]}, [1, 2], None, pd.Series(["F"], name="sex"), np.eye(2), "sex"])
def test_data_that_are_no_frame_are_refused(travel: Domain, frame: object) -> None:
    for read in (travel.encode, Domain.from_frame, lambda data: Domain.from_frame(data, columns=["sex"])):
        with pytest.raises(DomainError) as error:
            read(frame)
        assert_tells(error, f"data of type {type(frame).__name__}", "DataFrame")


def test_empty_frames_are_refused(travel: Domain) -> None:
    for frame, columns in ((pd.DataFrame(), None), (pd.DataFrame({"a": [1, 2]}), [])):
        with pytest.raises(DomainError) as error:
            Domain.from_frame(frame, columns)
        assert_tells(error, "columns", "at least one column")
    with pytest.raises(DomainError) as error:
        Domain.from_frame(pd.DataFrame({"a": []}))
    assert_tells(error, "'a'", "at least two categories")
    with pytest.raises(DomainError) as error:
        travel.encode(pd.DataFrame())
    assert_tells(error, "no column 'sex'", "the frame has nothing")


def test_absent_column_is_refused(travel: Domain, answers: pd.DataFrame) -> None:
    with pytest.raises(DomainError) as error:
        travel.encode(answers.rename(columns={"travel": "Travel"}))
    assert_tells(error, "no column 'travel'", "'sex', 'Travel', 'age'")


def test_repeated_columns_are_refused(travel: Domain, answers: pd.DataFrame) -> None:
    twice = pd.concat([answers, answers[["travel"]]], axis=1)
    for read in (travel.encode, Domain.from_frame, lambda frame: Domain.from_frame(frame, columns=["travel"])):
        with pytest.raises(DomainError) as error:
            read(twice)
        assert_tells(error, "'travel'")
    with pytest.raises(DomainError) as error:
        Domain.from_frame(answers, columns=["sex", "sex"])
    assert_tells(error, "'sex', 'sex'", "once")
    assert travel.project(["age", "sex"]).encode(twice).shape == (3, 2)


@pytest.mark.parametrize("columns", [[0, 1], pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])])
def test_columns_not_named_by_text_are_refused(columns: object) -> None:
    frame = pd.DataFrame([[1, 2], [2, 1]], columns=columns)
    with pytest.raises(DomainError) as error:
        Domain.from_frame(frame)
    assert_tells(error, repr(frame.columns.tolist()[0]), "string")
    with pytest.raises(DomainError) as error:
        Domain({"a": [1, 2]}).encode(frame)
    assert_tells(error, "column 'a'")


@pytest.mark.parametrize("columns", [3, ["absent"], [["sex"]], [None]])
def test_columns_that_cannot_be_asked_for_are_refused(answers: pd.DataFrame, columns: object) -> None:
    with pytest.raises(DomainError) as error:
        Domain.from_frame(answers, columns=columns)
    assert_tells(error, repr(columns[0] if isinstance(columns, list) else columns))


# Refused domains


@pytest.mark.parametrize(
    "value",
    [
        None, math.nan, np.float64("nan"), pd.NA, pd.NaT, math.inf, -math.inf, [1], {"x": 1}, (1, 2), b"x", 1j,
        np.datetime64("2020-01-01"), np.datetime64(5, "ns"), np.timedelta64(5, "ns"), Decimal(1), "\ud800",
        dt.date(2020, 1, 1),
    ],
)  # fmt: skip
def test_value_that_cannot_be_a_category_is_refused(value: object) -> None:
    with pytest.raises(DomainError) as error:
        Domain({"a": ["x", value]})
    plain = value.item() if isinstance(value, np.float64) else value
    assert_tells(error, "'a'", repr(plain), type(plain).__name__, "strings")


@pytest.mark.parametrize(
    "values", ["xy", b"xy", None, 3, {"x", "y"}, {"x": 1, "y": 2}, np.array(3), pd.DataFrame({"x": [1], "y": [2]})]
)
def test_categories_without_an_order_are_refused(values: object) -> None:
    with pytest.raises(DomainError) as error:
        Domain({"a": values})
    assert_tells(error, "'a'", repr(values), type(values).__name__, "list")


@pytest.mark.parametrize(
    "values", [["x", "y"], ("x", "y"), np.array(["x", "y"]), pd.Series(["x", "y"]), pd.Index(["x", "y"]), iter("xy")]
)
def test_every_ordered_collection_of_categories_is_read(values: object) -> None:
    assert typed(Domain({"a": values}).categories["a"]) == typed(["x", "y"])


def test_numpy_scalars_become_plain_categories() -> None:
    categories = Domain({"a": [np.int8(3), np.float32(0.5), np.bool_(True), np.str_("x")]}).categories["a"]
    assert typed(categories) == typed([3, 0.5, True, "x"])


@pytest.mark.parametrize(
    ("values", "twice"),
    [
        (["x", "y", "x"], "'x' and again 'x'"),
        ([True, 1], "True and again 1"),
        ([0, 1, False], "0 and again False"),
        ([1, 1.0], "1 and again 1.0"),
        ([0.0, -0.0], "0.0 and again -0.0"),
    ],
)
def test_repeated_categories_are_refused(values: list[object], twice: str) -> None:
    with pytest.raises(DomainError) as error:
        Domain({"a": values})
    assert_tells(error, "'a'", twice, "True equals 1")


@pytest.mark.parametrize("values", [[], ["only"]])
def test_attribute_that_cannot_vary_is_refused(values: list[str]) -> None:
    with pytest.raises(DomainError) as error:
        Domain({"sex": ["F", "M"], "a": values})
    assert_tells(error, "'a'", one_line(values), "at least two")


@pytest.mark.parametrize("name", [1, "", None, ("a", "b"), "\udfff"])
def test_attribute_without_a_proper_name_is_refused(name: object) -> None:
    with pytest.raises(DomainError) as error:
        Domain({name: ["x", "y"]})
    assert_tells(error, repr(name), "non-empty string")


@pytest.mark.parametrize("categories", [None, {}, [("a", ["x", "y"])], "a", 3, pd.DataFrame({"a": ["x", "y"]})])
def test_domain_from_something_else_is_refused(categories: object) -> None:
    with pytest.raises(DomainError) as error:
        Domain(categories)
    assert_tells(error, type(categories).__name__, "mapping", "from_frame")


# JSON


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[1, 2]", ("list", "mapping")),
        ("3", ("int", "mapping")),
        ("null", ("NoneType", "mapping")),
        ('"x"', ("str", "mapping")),
        ("{}", ("dict", "at least one attribute")),
        ("", ("not JSON", '{"sex": ["F", "M"]}')),
        ("{sex: F}", ("not JSON", "char 1")),
        ('\ufeff{"a": ["x", "y"]}', ("not JSON", "BOM")),
        (b"\xff\xfe\xfa", ("not JSON",)),
        ("[" * 100_000, ("not JSON", "recursion")),
        ('{"a": [' + "1" * 5000 + ", 2]}", ("not JSON", "digits")),
        (None, ("not JSON", "NoneType")),
        ({"a": ["x", "y"]}, ("not JSON", "dict")),
        ('{"a": ["x", "y"], "b": [1, 2], "a": ["x", "z"]}', ("'a'", "more than once")),
        ('{"a": ["x"]}', ("'a'", "'x'", "at least two")),
        ('{"a": ["x", "x"]}', ("'a'", "'x'", "different")),
        ('{"a": [NaN, 1]}', ("'a'", "nan", "finite")),
        ('{"a": [Infinity, 1]}', ("'a'", "inf", "finite")),
        ('{"a": [1e400, 1]}', ("'a'", "inf", "finite")),
        ('{"a": [null, 1]}', ("'a'", "None", "'no answer'")),
        ('{"a": [["x"], ["y"]]}', ("'a'", "['x']", "list")),
        ('{"a": "xy"}', ("'a'", "'xy'", "list")),
        ('{"a": {"x": 1, "y": 2}}', ("'a'", "dict", "list")),
        ('{"": ["x", "y"]}', ("''", "non-empty")),
        ('{"a": ["\\ud800", "y"]}', ("'a'", "'\\ud800'", "strings")),
    ],
)
def test_wrong_json_is_refused(text: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(DomainError) as error:
        Domain.from_json(text)
    assert_tells(error, *parts)


# Errors and arguments, on which the domain stands


@pytest.mark.parametrize("kind", [LdpstatsError, DomainError])
def test_errors_survive_the_way_back_from_a_worker(kind: type[LdpstatsError]) -> None:
    error = pickle.loads(pickle.dumps(kind("a value", "another", "Change it.")))  # noqa: S301  # pickled in this very line
    assert (type(error), error.came, error.allowed, error.advice) == (kind, "a value", "another", "Change it.")
    assert str(error) == "a value. Allowed: another. Change it."
    assert isinstance(error, ValueError)


def test_long_collections_are_cut_in_messages() -> None:
    assert one_line(range(3)) == "range(0, 3)"
    assert one_line(["x", 1]) == "'x', 1"
    assert one_line(list(range(100)), limit=2) == "0, 1, ... (100 in all)"
    assert one_line([]) == "nothing"


@pytest.mark.parametrize("values", [[1.5], ["a"], None, 3, [[1]], [True], [-1], [3], [[1], [1, 2]], [2**70]])
def test_wrong_integers_are_refused(values: object) -> None:
    with pytest.raises(LdpstatsError) as error:
        integers_below(values, 3, "the reports")
    assert_tells(error, "the reports")
    assert integers_below([], 3, "the reports").dtype == integers_below([2], 3, "the reports").dtype == np.int64


@pytest.mark.parametrize(
    ("counts", "part"),
    [
        ([1, 1.5], "1.5 at position (1,)"), ([[1, 2], [3, -4]], "-4 at position (1, 1)"), ([np.nan, 1], "nan"),
        ([np.inf, 1], "inf"), ([1e300, 1], "1e+300"), (np.array([2**63, 1], dtype=np.uint64), str(2**63)),
        ([2**70, 1], "object"), ([True, True], "bool"), ("ab", "<U2"), (None, "object"), (3, "()"), ([1, 2, 3], "(3,)"),
        ([[1], [1, 2]], "different lengths"),
    ],
)  # fmt: skip
def test_wrong_counts_are_refused(counts: object, part: str) -> None:
    with pytest.raises(LdpstatsError) as error:
        counts_array(counts, 2, "the tally")
    assert_tells(error, "the tally", part)


def test_whole_counts_of_any_type_are_read() -> None:
    for counts in ([[1, 2]], [[1.0, 2.0]], np.array([[1, 2]], dtype=np.uint8)):
        assert typed(counts_array(counts, 2, "the tally").ravel().tolist()) == typed([1, 2])


@pytest.mark.parametrize("value", [None, "1", True, 0, -1.0, math.nan, math.inf, 10**400, [1], np.array([1, 2])])
def test_wrong_epsilon_is_refused(value: object) -> None:
    with pytest.raises(LdpstatsError, match="epsilon = "):
        positive_epsilon(value)
    assert typed(positive_epsilon(one) for one in (1, np.float32(1), np.int8(1))) == typed([1.0] * 3)


@pytest.mark.parametrize("value", [None, "0.1", 0, 1, True, math.nan, [0.1], np.array([0.1, 0.2])])
def test_wrong_level_is_refused(value: object) -> None:
    with pytest.raises(LdpstatsError, match="alpha = "):
        significance(value)
    assert typed([significance(np.float32(0.5))]) == typed([0.5])


@pytest.mark.parametrize("value", [None, "3", 3.0, True, np.bool_(True), 1, [3], np.array([3, 4])])
def test_wrong_whole_number_is_refused(value: object) -> None:
    with pytest.raises(LdpstatsError, match=r"k = .*at least 2"):
        at_least(value, 2, "k")
    assert typed([at_least(np.int8(3), 2, "k")]) == typed([3])


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


def test_intervals_may_be_stated_as_categories() -> None:
    categories = OPEN.cat.categories
    assert Domain({"age": categories}) == Domain({"age": list(categories)}) == Domain({"age": ["(9, 30]", "(30, 60]"]})


def test_dates_as_categories_are_refused_with_advice_that_helps() -> None:
    dates = pd.DataFrame({"day": pd.Categorical(pd.to_datetime(["2020-01-01", "2020-01-02"]))})
    with pytest.raises(DomainError, match="Convert the categories"):
        Domain.from_frame(dates)
    with pytest.raises(DomainError, match="such as 'no answer'"):
        Domain({"day": ["Monday", None]})
