"""Preparation: what columns are, and what is said of them; classes of numbers say where each number belongs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ldpstats import LdpstatsError
from ldpstats.answers import read_answers
from ldpstats.answers.preparation import Cut, Preparation, class_labels, classes_of, prepared, quantile_limits


def made(answers: Sequence[object], **options: object) -> Preparation:
    """Prepare a file with the column "it" of these answers, beside one that is always a question."""
    rows = "\n".join(f"{one};{place % 2}" for place, one in enumerate(answers))
    return prepared(read_answers(f"it;sex\n{rows}\n".encode(), "a file"), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answers", "categories"),
    [
        (["b", "a", "B"], ["B", "a", "b"]),
        (["10", "9", "9.0"], [9, 10]),
        (["0,5", "1", "2,25"], [0.5, 1, 2.25]),
        (["007", "008"], ["007", "008"]),
        (["true", "FALSE", "True"], [False, True]),
        (["3", "4+", "1", "10"], ["1", "3", "10", "4+"]),
        (["2024-01-31", "2023-12-01"], ["2023-12-01", "2024-01-31"]),
        (["99999999999999999999", "1"], ["1", "99999999999999999999"]),
        (["inf", "1"], ["1", "inf"]),
        (["x", "-", "NA", "null"], []),
        (["x", "y", "", " "], ["x", "y"]),
    ],
)
def test_categories_are_numbers_truth_values_or_texts(answers: list[str], categories: list[object]) -> None:
    found = made(answers).categories.get("it", [])
    assert found == categories
    assert list(map(type, found)) == list(map(type, categories))


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        (["x"] * 5, "all answers are 'x'"),
        (["", "-", ""], "it has no answers"),
        ([f"person {n}" for n in range(40)], "all 40 answers differ, as those of an identifier do"),
        (range(40), "all 40 answers differ"),
        (["x" * 201, "y"], "it has texts of up to 201 letters"),
        ([f"{n % 35} Elm Street" for n in range(400)], "it has 35 different texts"),
        ([f"2024-01-{1 + n % 31:02}" for n in range(400)], "it has 31 different dates"),
        ([n % 80 for n in range(400)], "it has 80 different numbers; --cut it=4 puts them into classes, for example"),
        ([n % 80 if n % 9 else "refused" for n in range(400)], "numbers and words ('refused')"),
        ([n / 2 for n in range(400)], "it has 400 different numbers"),
    ],
)
def test_columns_that_are_no_questions_are_left_out_and_named(answers: Sequence[object], why: str) -> None:
    found = made(answers)
    assert found.left_out["it"].startswith(why) or why in found.left_out["it"]
    assert list(found.categories) == ["sex"]


def test_numbers_that_come_twice_are_no_identifier() -> None:
    assert len(made([n // 2 for n in range(400)], classes=4).categories["it"]) == 4
    assert "identifier" in made(range(400), classes=4).left_out["it"]


def test_a_column_that_is_asked_for_is_taken() -> None:
    assert len(made([f"person {n}" for n in range(40)], columns=["it", "sex"]).categories["it"]) == 40
    with pytest.raises(LdpstatsError, match="--cut for 'it'"):
        made(["1", "2"], columns=["sex"], cuts={"it": Cut(2)})
    with pytest.raises(LdpstatsError, match="no column 'shoe'"):
        made(["x", "y"], columns=["shoe"])


def test_20_000_different_numbers_become_classes() -> None:
    found = made([n + 0.5 for n in range(20_000)], classes=4)
    assert list(found.categories["it"]) == [
        "under 5000",
        "5000 to under 10000",
        "10000 to under 15000",
        "15000 or more",
    ]
    assert "20,000 different numbers, put into the classes under 5000" in found.notes[0]
    assert "state them before" in found.notes[0]


def test_classes_are_cut_where_it_was_said() -> None:
    ages = [n % 80 for n in range(400)]
    cut = made(ages, cuts={"it": Cut.read("18,65")})
    assert list(cut.categories["it"]) == ["under 18", "18 to under 65", "65 or more"]
    assert cut.domain.is_ordered("it")
    assert list(made(ages, cuts={"it": Cut.read("40,")}).categories["it"]) == ["under 40", "40 or more"]
    assert len(made(ages, cuts={"it": Cut.read("5")}).categories["it"]) == 5
    with pytest.raises(LdpstatsError, match="'refused'"):
        made([*ages, "refused"], cuts={"it": Cut.read("5")})


def test_most_answers_being_one_number_leaves_fewer_classes() -> None:
    found = made([0] * 9000 + [n / 10 for n in range(1000)], classes=4)
    assert found.left_out == {"it": "all answers are 0"} or len(found.categories["it"]) < 4


@pytest.mark.parametrize("text", ["", "1", "0", "x", "5,5", "5,3", "nan,", "1e9", "1001", ","])
def test_classes_that_make_no_sense_are_refused(text: str) -> None:
    with pytest.raises(LdpstatsError, match="ascending order"):
        Cut.read(text)


def test_missing_answers_are_said_and_become_a_category_only_where_asked() -> None:
    answers = ["x", "y", "NA", "x", ""]
    assert made(answers).categories["it"] == ["x", "y"]
    assert "has 2 missing answers, which will be refused" in made(answers).notes[0]
    assert made(answers, missing_as="none").categories["it"] == ["x", "y", "none"]
    assert made(answers, missing_as="x").categories["it"] == ["x", "y"]
    assert made(["x", "", "x"], missing_as="(missing)").categories["it"] == ["x", "(missing)"]
    assert made(["x", "", "x"]).left_out["it"] == "all answers are 'x'"


def test_dots_that_may_separate_thousands_are_pointed_out() -> None:
    assert "1.234: if the dot separates thousands" in made(["1.234", "999", "12.000"]).notes[0]
    assert not made(["1.234", "2.5", "3"]).notes
    plain = prepared(read_answers(b"it,sex\n1.234,1\n2.345,2\n", "a file"))
    assert not plain.notes


def test_answers_that_differ_in_capitals_are_pointed_out() -> None:
    assert "capital letters" in made(["Yes", "yes", "no"]).notes[0]


@pytest.mark.parametrize("other", ["caf\N{LATIN SMALL LETTER E}\N{COMBINING ACUTE ACCENT}", "café\N{ZERO WIDTH SPACE}"])
def test_answers_that_look_alike_are_pointed_out(other: str) -> None:
    found = made(["café", other, "tea", "café", "tea"])
    assert found.categories["it"] == sorted(["café", other, "tea"])
    assert any("look alike" in note and ascii(other) in note for note in found.notes)
    assert not any("look alike" in note for note in made(["café", "cafe", "tea"]).notes)


def test_codes_for_missing_answers_are_said_with_the_options_that_make_them_none() -> None:
    answers = ["1", "2", "2", "9", "9", "3", "4", "NA", "?"]
    [note] = [note for note in made(answers).notes if "code" in note]
    assert note.startswith("column 'it' has '?' in 1 rows, '9' in 2 rows, which looks like a code")
    assert "--missing '?' --missing 9 --missing NA makes it none" in note
    rows = "\n".join(f"{one};{place % 2}" for place, one in enumerate(answers))
    again = prepared(read_answers(f"it;sex\n{rows}\n".encode(), "a file", ["?", "9", "NA"]), missing_as="(missing)")
    assert again.categories["it"] == [1, 2, 3, 4, "(missing)"]
    assert again.notes == ["column 'it' has 4 missing answers, which are the category '(missing)'"]
    assert not any("code" in note for note in made(range(1, 10)).notes)


def test_codes_in_classes_of_numbers_are_said() -> None:
    ages = [n % 80 for n in range(400)]
    found = made([*ages, -9, -9], classes=4)
    assert found.categories["it"][0].startswith("under")
    assert any("has '-9' in 2 rows" in note for note in found.notes)
    assert not any("code" in note for note in made(ages, classes=4).notes)


NUMBERS = st.floats(-1e12, 1e12, allow_nan=False)


@given(st.lists(NUMBERS, min_size=1, max_size=6, unique=True), st.lists(NUMBERS, max_size=20))
def test_every_number_falls_into_exactly_the_class_between_its_limits(
    limits: list[float], numbers: list[float]
) -> None:
    limits = sorted(limits)
    found = classes_of([*numbers, *limits], class_labels(limits))
    assert found.tolist() == np.searchsorted(limits, [*numbers, *limits], side="right").tolist()


@given(st.lists(NUMBERS, min_size=2, unique=True), st.integers(2, 10), st.data())
def test_no_class_of_quantiles_is_empty(numbers: list[float], classes: int, data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 50), min_size=len(numbers), max_size=len(numbers)))
    limits = quantile_limits(numbers, counts, classes)
    assert limits == sorted(set(limits))
    assert len(limits) < classes
    parts = np.searchsorted(limits, numbers, side="right")
    assert set(parts.tolist()) == set(range(len(limits) + 1))


@pytest.mark.parametrize("start", [1.0, 36.5, 100.2, 20_231.5, -7e5])
def test_limits_have_as_many_digits_as_it_takes_to_tell_numbers_apart(start: float) -> None:
    numbers = (start + np.arange(1000) * 1e-6).tolist()
    limits = quantile_limits(numbers, [1] * 1000, 4)
    sizes = np.bincount(np.searchsorted(limits, numbers, side="right"))
    assert len(sizes) == 4
    assert sizes.min() > 100


@pytest.mark.parametrize("category", ["under", "under x", "under 1.2.3", "1 to under", "more", "", 5, True])
def test_other_words_hold_no_number(category: object) -> None:
    assert classes_of([1, 5, math.inf, None], [category]).tolist() == [-1] * 4  # type: ignore[list-item]


def test_a_number_in_two_classes_is_in_none() -> None:
    categories = ["under 50", "under 20", "50 or more", "60 or more"]
    assert classes_of([10, 20, 49.5, 50, 60], categories).tolist() == [-1, 0, 0, 2, -1]
