"""The domain: the way from codes to categories and back, products, its files, and what no domain is made of."""

from __future__ import annotations

import ast
import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from support.comparisons import assert_tells, refused, typed

from ldpstats.answers.domain import Domain
from ldpstats.errors import DomainError, LdpstatsError, one_line

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


def test_json_is_readable_and_strict() -> None:
    text = Domain({"größe": ["klein", "groß"], "日": [1, 2.5, True + 2]}).to_json()
    assert text.endswith('"body": {"größe":["klein","groß"],"日":[1,2.5,3]}}')
    assert json.loads(text, parse_constant=pytest.fail)["body"]["日"] == [1, 2.5, 3]


def test_a_changed_file_is_noticed_and_one_written_by_hand_is_read() -> None:
    text = Domain({"a": ["x", "y"]}).to_json()
    with pytest.raises(LdpstatsError, match=r"its digest is that of another body.* a file without a digest"):
        Domain.from_json(text.replace('"y"', '"z"'))
    for plain in ('{"a": ["x", "y"]}', '{"format": ["x", "y"], "version": [1, 2], "body": ["p", "q"]}'):
        assert Domain.from_json(plain).to_dict() == json.loads(plain)
    assert Domain.from_json(text) == Domain({"a": ["x", "y"]})


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
    for asked in (lambda: domain.cells(np.zeros((1, 100), dtype=int), domain.names), domain.index):
        with refused(DomainError, "100 attributes", str(2**100), "2**63"):
            asked()


@pytest.mark.parametrize("attributes", [["zz"], ["sex", "sex"], [], 3, None, [["sex"]], [np.array([1, 2])]])
def test_unknown_attributes_are_refused(travel: Domain, attributes: object) -> None:
    for ask in (travel.project, travel.size, lambda names: travel.cells([[0, 0, 0]], names)):
        if attributes is None and ask == travel.size:
            continue  # None asks for the size of the whole domain.
        with refused(DomainError, "attributes", "'sex', 'travel', 'age'"):
            ask(attributes)


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
        with refused(LdpstatsError, *parts):
            use(codes)


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
    with refused(DomainError, "'a'", repr(values), type(values).__name__, "list"):
        Domain({"a": values})


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
    with refused(DomainError, "'a'", twice, "True equals 1"):
        Domain({"a": values})


@pytest.mark.parametrize("values", [[], ["only"], pd.Categorical(["only"], categories=["only"])])
def test_attribute_that_cannot_vary_is_refused(values: Any) -> None:
    with refused(DomainError, "'a'", one_line(list(values)), "at least two"):
        Domain({"sex": ["F", "M"], "a": values})


@pytest.mark.parametrize("name", [1, "", None, ("a", "b"), "\udfff"])
def test_attribute_without_a_proper_name_is_refused(name: object) -> None:
    with refused(DomainError, repr(name), "non-empty string"):
        Domain({name: ["x", "y"]})


@pytest.mark.parametrize("categories", [None, {}, [("a", ["x", "y"])], "a", 3, pd.DataFrame({"a": ["x", "y"]})])
def test_domain_from_something_else_is_refused(categories: object) -> None:
    with refused(DomainError, type(categories).__name__, "mapping", "from_frame"):
        Domain(categories)


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
        ('{"a": ["x", "x"]}', ("'a'", "'x'", "different")),
        ('{"a": [NaN, 1]}', ("'a'", "nan", "finite")),
        ('{"a": [1e400, 1]}', ("'a'", "inf", "finite")),
        ('{"a": [null, 1]}', ("'a'", "None", "'no answer'")),
        ('{"a": "xy"}', ("'a'", "'xy'", "list")),
        ('{"a": ["\\ud800", "y"]}', ("'a'", "'\\ud800'", "strings")),
    ],
)
def test_wrong_json_is_refused(text: str, parts: tuple[str, ...]) -> None:
    with refused(DomainError, *parts):
        Domain.from_json(text)


# Errors and their words


AGES = pd.Series([18, 25, 40, 67, 30, 52])
OPEN = pd.cut(AGES, [9, 30, 60])  # one answer is outside


def test_intervals_may_be_stated_as_categories() -> None:
    categories = OPEN.cat.categories
    assert Domain({"age": categories}) == Domain({"age": list(categories)}) == Domain({"age": ["(9, 30]", "(30, 60]"]})


def test_dates_as_categories_are_refused_with_advice_that_helps() -> None:
    dates = pd.DataFrame({"day": pd.Categorical(pd.to_datetime(["2020-01-01", "2020-01-02"]))})
    with pytest.raises(DomainError, match="Convert the categories"):
        Domain.from_frame(dates)
    with pytest.raises(DomainError, match="such as 'no answer'"):
        Domain({"day": ["Monday", None]})


def test_names_in_a_set_are_refused_as_their_order_differs_between_runs():
    domain = Domain({"a": [0, 1], "b": [0, 1]})
    with pytest.raises(DomainError, match="a list or a tuple, which has an order"):
        domain.project({"a", "b"})


def test_names_of_numpy_become_plain_ones():
    domain = Domain({"a": [0, 1], "b": [0, 1]})
    projected = domain.project(np.array(["b", "a"]))
    assert projected == Domain({"b": [0, 1], "a": [0, 1]})
    assert {type(name) for name in projected.names} == {str}


def test_a_domain_shows_its_attributes_and_categories_in_every_format() -> None:
    domain = Domain({"sex": ["F", "M"], "<b>": range(40), "$": ["x\ny", "中文"]})
    rows = domain.summary().panels[0].rows
    assert rows[0] == ("sex", "2", "F, M")
    assert rows[1] == ("<b>", "40", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, …, 39")
    assert "160 possible records" in str(domain)
    assert "&lt;b&gt;" in domain._repr_html_()
    assert domain.as_latex()
    assert domain.as_markdown()
    assert repr(Domain({"a": [1, 2]})) == "Domain({'a': [1, 2]})"
