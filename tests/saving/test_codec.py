"""The codec: every value comes back as it was, of the same type, and no other JSON is taken for one."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from support.forged_files import forged

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError
from ldpstats.saving import codec, registered
from ldpstats.saving.codec import decoded, encoded
from ldpstats.saving.files import UNREADABLE


def back(value: Any) -> Any:
    """Write a value as text, and read it again."""
    return decoded(json.loads(json.dumps(encoded(value), allow_nan=False)))


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    scalars | st.fractions(),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner)
        | st.frozensets(st.integers() | st.text())
    ),
    max_leaves=12,
)


@given(values)
def test_plain_values_come_back_with_their_types(value: Any):
    read = back(value)
    assert read == value
    assert repr(read) == repr(value) or isinstance(value, frozenset) or "frozenset" in repr(value)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", "u4", "i8", "u8", "f4", "f8", ">i4", ">f8"])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3), (9, 9)])
def test_arrays_come_back_to_the_last_bit(dtype: str, shape: tuple[int, ...]):
    drawn = np.random.default_rng(1).integers(0, 256, (*shape, np.dtype(dtype).itemsize), dtype=np.uint8)
    array = (drawn % 2 if dtype == "?" else drawn).copy().view(dtype).reshape(shape)
    read = back(array)
    assert read.shape == shape
    assert read.dtype == array.dtype.newbyteorder("=")
    assert read.astype(array.dtype).tobytes() == array.tobytes()


def test_odd_numbers_come_back():
    assert back((float("inf"), -float("inf"), -0.0, 5e-324, 2**63 - 1, -(2**200))) == (
        *(float("inf"), -float("inf"), -0.0, 5e-324, 2**63 - 1, -(2**200)),
    )
    assert np.isnan(back(float("nan")))
    assert back(np.float64(0.1)) == 0.1
    assert back(np.int64(3)) == 3
    assert str(back(Fraction(10**40, 3))) == str(Fraction(10**40, 3))


def test_frames_come_back_with_their_types():
    frame = pd.DataFrame({"name": ["a", "b"], "n": [1, 2], "share": [0.5, np.nan], "odd": [None, 1]})
    frame["odd"] = frame["odd"].astype(object)
    pd.testing.assert_frame_equal(back(frame), frame)
    for odd in (frame.set_index("name"), frame.rename(columns={"n": 1}), frame.iloc[[1, 0]]):
        with pytest.raises(LdpstatsError, match="an index of its own"):
            encoded(odd)


@pytest.mark.parametrize("name", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_generators_go_on_where_they_stood(name: str):
    generator = np.random.Generator(getattr(np.random, name)(7))
    generator.random(3)
    assert np.array_equal(back(generator).random(5), generator.random(5))


def test_what_occurs_twice_is_one_object_again():
    shared, array = ldp.GRR(3, epsilon=1.0), np.arange(3)
    one, two, (three, first), second = back((shared, shared, [shared, array], array))
    assert one is two is three
    assert first is second
    assert encoded((shared, shared))[1] == {"same": 0}


def test_what_is_equal_is_one_object_but_for_signs_types_and_states():
    one, two, other = back((ldp.GRR(3, epsilon=1.0), ldp.GRR(3, epsilon=1.0), ldp.GRR(4, epsilon=1.0)))
    assert one is two is not other
    zero, sign, whole = back((np.array([0.0]), np.array([-0.0]), np.array([0])))
    assert (np.signbit(zero[0]), np.signbit(sign[0]), whole.dtype) == (False, True, np.int64)
    first, second = back((np.random.default_rng(1), np.random.default_rng(1)))
    assert first is not second


def test_ranges_and_counts_are_short_and_no_bomb():
    plain = Question(("a",), (99,), (*range(99),))
    assert encoded(plain)["Question"]["classes"] == {"range": 99}
    assert back(plain) == plain
    assert encoded(np.full(99, 1000))["array"][2] == [1000] * 99
    question = encoded(plain)["Question"]
    for wrong in (10**9, codec._MOST_IN_RANGES + 1, -1, True, 1.0, "99", [99]):
        with pytest.raises(LdpstatsError, match="all different ranges together"):
            decoded({"Question": {**question, "classes": {"range": wrong}}})
    for outside in ({"range": 99}, [{"range": 99}], {"Question": {**question, "shape": [{"range": 99}]}}):
        with pytest.raises(LdpstatsError):
            decoded(outside)


def test_ranges_of_a_file_are_bounded_together_and_whatever_is_written_is_read(monkeypatch: pytest.MonkeyPatch):
    """Many objects that hold one range came to too many ways through them; many different ranges took all memory."""
    monkeypatch.setattr(codec, "_MOST_IN_RANGES", 1000)
    questions = tuple(Question(("a",), (size,), (*range(size),)) for size in (500, 499, 498))
    written, read = encoded(questions * 3), back(questions * 3)
    assert read == questions * 3
    assert [type(one["Question"]["classes"]) for one in written[:3]] == [dict, dict, list]
    same = [{"Question": {**written[0]["Question"], "attributes": [name]}} for name in "ab"]
    first, second = decoded(same)
    assert first.classes is second.classes
    written[2]["Question"]["classes"] = {"range": 498}
    with pytest.raises(LdpstatsError, match="all different ranges together"):
        decoded(written)


def test_what_may_change_stays_two():
    @dataclass
    class Basket:
        items: list[int]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(registered, "_FROM_OUTSIDE", {"Basket": Basket})
        one, other = back((Basket([1]), Basket([1])))
    one.items.append(2)
    assert other.items == [1]
    first, second = back((np.zeros(3), np.zeros(3)))
    first[0] = 5
    assert second[0] == 0


GRR = {"GRR": {"k": 3, "epsilon": 1.0}}
TALLY: dict[str, Any] = encoded(ldp.GRR(3, epsilon=1.0).simulate(np.array([5, 5, 5]), rng=1))


def tally(**changes: Any) -> dict[str, Any]:
    return {"Tally": {**TALLY["Tally"], **changes}}


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ({}, "one name"),
        ({"GRR": {}, "OUE": {}}, "one name"),
        ({"GRR": {"k": 3}}, "the fields k, epsilon"),
        ({"GRR": {"k": 3, "epsilon": 1.0, "delta": 0}}, "the fields k, epsilon"),
        ({"GRR": {"K": 3, "epsilon": 1.0}}, "the fields"),
        ({"GRR": [3, 1.0]}, "the fields"),
        ({"GRR": {"k": "3", "epsilon": 1.0}}, "GRR with k = '3'"),
        ({"GRR": {"k": 3.0, "epsilon": 1.0}}, "GRR with k = 3.0"),
        ({"GRR": {"k": True, "epsilon": 1.0}}, "GRR with k = True"),
        ({"GRR": {"k": 3, "epsilon": {"float": "nan"}}}, "epsilon = nan"),
        ({"GRR": {"k": 3, "epsilon": None}}, "epsilon = None"),
        ({"GRR": {"k": 1, "epsilon": 1.0}}, "k = 1|cells"),
        ({"GRR": {"k": {"int": "9" * 40}, "epsilon": 1.0}}, "999"),
        ({"Popen": {"args": ["ls"]}}, "the class 'Popen'"),
        ({"os.system": ["ls"]}, "the class 'os.system'"),
        ({"LdpstatsError": {}}, "the class 'LdpstatsError'"),
        ({"__class__": {}}, "the class '__class__'"),
        ({"same": 0}, "a reference to 0"),
        ([GRR, {"same": 1}], "a reference to 1"),
        ([GRR, {"same": -1}], "a reference to -1"),
        ([GRR, {"same": True}], "a reference to True"),
        ({"list": [{"same": 0}]}, "a reference to 0"),
        ({"Table": {"same": 0}}, "the fields"),
        ({"int": 5}, "whole number 5"),
        ({"int": "5.0"}, "invalid literal"),
        ({"int": "0005"}, "its digits"),
        ({"int": "9" * 5000}, "digits"),
        ({"float": "1.0"}, "'nan', 'inf'"),
        ({"fraction": [1, 0]}, "fraction"),
        ({"fraction": [1]}, "missing|argument"),
        ({"mapping": [[[], 1, 2]]}, "too many values"),
        ({"mapping": [[{"list": []}, 1]]}, "a list as a name"),
        ({"frozenset": [[1, GRR]]}, "a GRR as a name"),
        ({"frozenset": 3}, "a list"),
        ({"array": ["|O", [1], [1]]}, "'|O'"),
        ({"array": ["<U9", [1], ["x"]]}, "'<U9'"),
        ({"array": [["<f8"], [1], [1.0]]}, "unhashable|type"),
        ({"array": ["<f8", [10**12], [1.0]]}, "entries for the shape"),
        ({"array": ["<f8", [2**40, 2**40], "AAAA"]}, "buffer size|entries"),
        ({"array": ["<f8", [-1], [1.0]]}, "whole sides"),
        ({"array": ["<f8", [1] * 40, [1.0]]}, "whole sides"),
        ({"array": ["<f8", [1], ["1.0"]]}, "entries"),
        ({"array": ["<i8", [1], [1.5]]}, "entries"),
        ({"array": ["|i1", [1], [300]]}, "out of bounds"),
        ({"array": ["|b1", [1], "Ag=="]}, "entries"),
        ({"array": ["<f8", [1], "not base64!"]}, "base64|Only"),
        ({"frame": [["a", "a"], [[], []]]}, "different names"),
        ({"frame": [["a"], [["object", [1]]]]}, "collections in its cells"),
        ({"frame": [["a"], [["category", "x"]]]}, "a column of another type"),
        ({"generator": [{"mapping": [["bit_generator", "RandomState"]]}]}, "a generator of another kind"),
        ({"graph": [[], [["a", "b", {"mapping": []}]]]}, "pairs of nodes"),
        ({"graph": [[["z", {"mapping": []}]], "zz"]}, "pairs of nodes"),
        (tally(noise=GRR), "Tally with noise"),
        ({"RespondentSet": {"intervals": {"array": ["<u8", [2], [1, 2]]}}}, "parts of shape"),
        ({"RespondentSet": {"intervals": {"array": ["<u8", [1, 5], [1, 2, 0, 9, 3]]}}}, "an interval of places"),
        (tally(noise={"DiscreteLaplace": {"scale": 1.0}}), "Tally with noise"),
        (tally(counts=[5, 5, 5]), "Tally with counts"),
        (tally(counts={"array": ["<f8", [3], [5.0, 5.0, 5.0]]}), "Tally with counts"),
        (tally(counts={"array": ["<i8", [2], [5, 10]]}), "counts|entries"),
        (tally(n=14), "add up to"),
        (tally(n=-1), "number of reports"),
        (tally(simulated=16), "simulated = 16"),
    ],
)
def test_other_json_is_refused(plain: Any, said: str):
    """By an error of ours, or by one that the envelope turns into one."""
    with pytest.raises(UNREADABLE, match=said):
        decoded(plain)


def test_depth_alone_does_no_harm():
    deep: Any = 0
    for _ in range(50_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        decoded(deep)


def doubled(levels: int) -> ldp.TableSet:
    """Return a table made of one twice, which was made of one twice, ...: small in a file, and in memory."""
    tables = ldp.SampledGroups(ldp.Domain({"a": ["x", "y"]}), epsilon=1.0, k=1).simulate([5, 5], rng=1)
    made = tables["a"]
    for _ in range(levels):
        made = replace(made, sources=(made, made))
    return tables.replaced(tables=[made])


def test_what_would_take_years_to_walk_through_is_neither_written_nor_read(monkeypatch: pytest.MonkeyPatch):
    text = doubled(12).to_json()
    assert ldp.TableSet.from_json(text).to_json() == text
    with pytest.raises(LdpstatsError, match="on more than 10,000,000 ways"):
        doubled(60).to_json()
    with monkeypatch.context() as patched:
        patched.setattr(codec, "_MOST_MET", math.inf)
        text = doubled(60).to_json()
    assert len(text) < 20_000
    with pytest.raises(LdpstatsError, match="on more than 10,000,000 ways"):
        ldp.TableSet.from_json(text)


@pytest.mark.parametrize("name", ["domain", "k"])
def test_what_would_be_endless_if_it_was_printed_is_refused_at_once(name: str, monkeypatch: pytest.MonkeyPatch):
    """A table set of 2.3 kB took `load` forever to say what was wrong with it."""
    monkeypatch.setattr(codec, "_MOST_MET", math.inf)
    start, bomb = time.process_time(), encoded(doubled(60)["a"])
    mechanism = {"GRR": {"k": [bomb], "epsilon": 1.0}}
    empty = forged(doubled(0).to_json(), "tables", [])
    with pytest.raises(LdpstatsError, match=r"GRR with k = |TableSet with domain = "):
        decoded(mechanism) if name == "k" else ldp.TableSet.from_json(forged(empty, name, [bomb]))
    assert time.process_time() - start < 2


@pytest.mark.parametrize("tag", ["list", "frozenset", "mapping", "fraction"])
def test_what_its_holders_look_through_is_written_out(tag: str):
    value: Any = {"list": [1], "frozenset": frozenset([1]), "mapping": {1: 2}, "fraction": Fraction(1, 2)}[tag]
    plain = encoded((value, value))
    assert plain[0] == plain[1]
    with pytest.raises(LdpstatsError, match="a reference to 0"):
        decoded([plain[0], {"same": 0}])


def test_what_cannot_be_read_again_is_not_written():
    privacy = ldp.PrivacyStatement(1.0, "a record")
    table = ldp.Table(ldp.Domain({"a": ["x", "y"]}), [], privacy)  # type: ignore[arg-type]  # a list
    with pytest.raises(LdpstatsError, match=r"Table with blocks = \[\]"):
        table.to_json()
    for odd in (object(), lambda: 0, open, np.array([None]), np.array(["x"])):
        with pytest.raises(LdpstatsError, match=r"can be saved|numbers"):
            encoded(odd)
