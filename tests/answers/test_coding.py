"""Coding: cells become the categories that they are written as, or errors that name their line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from ldpstats import Domain, DomainError, LdpstatsError
from ldpstats.answers import coded_answers, prepared, read_answers
from ldpstats.answers.preparation import MISSING_CATEGORY

CELLS = st.text(st.sampled_from('ab01.-,;"\n \tNAü\u00a0'), max_size=5)


def coded(text: str, categories: list[Any], **options: Any) -> list[Any]:
    frame = coded_answers(read_answers(text.encode(), "a file"), Domain({"it": categories}), **options)
    assert frame["it"].cat.categories.tolist() == categories
    return frame["it"].astype(object).where(frame["it"].notna(), None).tolist()


@pytest.mark.parametrize(
    ("cells", "categories", "expected"),
    [
        (["1", "1,0", "2,0"], [1, 2], [1, 1, 2]),
        (["0,5", "1.5"], [0.5, 1.5], None),
        (["0,5", "1,5"], [0.5, 1.5], [0.5, 1.5]),
        (["01", "1"], ["01", "1"], ["01", "1"]),
        (["TRUE", "false"], [False, True], [True, False]),
        (["True", "no"], ["no", "True"], ["True", "no"]),
        (["-", "NA"], ["-", "NA"], ["-", "NA"]),
        (["17,9", "18", "64", "65", "-3"], ["under 18", "18 to under 65", "65 or more"], [0, 1, 1, 2, 0]),
        (["under 18", "70"], ["under 18", "18 or more"], [0, 1]),
        (["5", "6"], [5, "6", "under 18"], [5, "6"]),
    ],
)
def test_cells_are_the_categories_that_they_mean(cells: list[str], categories: list[Any], expected: Any) -> None:
    text = "\n".join(["it;x", *(f"{cell};1" for cell in cells)])
    if expected is None:
        with pytest.raises(DomainError, match="unknown category '0,5' in line 2"):
            coded(text, categories)
        return
    if all(isinstance(one, int) for one in expected) and all(isinstance(one, str) for one in categories):
        expected = [categories[place] for place in expected]
    assert coded(text, categories) == expected


def test_unknown_and_missing_answers_are_refused_by_their_line() -> None:
    with pytest.raises(DomainError, match=r"unknown category 'z' in line 4 \(2 such rows\)"):
        coded("it,x\na,1\nb,1\nz,1\n,1\nz,1\n", ["a", "b"])
    with pytest.raises(DomainError, match=r"no answer in line 3 \(1 such rows, '-' there\)"):
        coded("it,x\na,1\n-,1\nb,1\n", ["a", "b"])
    with pytest.raises(DomainError, match="no column 'it' in a file"):
        coded("id,x\na,1\n", ["a", "b"])


def test_substitutes_are_left_to_the_protocol() -> None:
    assert coded("it,x\na,1\nz,1\n-,1\n", ["a", "b"], substitutes=True) == ["a", None, None]


def test_missing_answers_are_the_category_of_that_name() -> None:
    text = "it,x\na,1\nNA,1\n"
    assert coded(text, ["a", "b", "(missing)"]) == ["a", "(missing)"]
    assert coded(text, ["a", "b", "none"], missing_as="none") == ["a", "none"]
    with pytest.raises(DomainError, match="--missing-as 'nothing'"):
        coded(text, ["a", "b", "none"], missing_as="nothing")


def test_counts_are_whole_numbers_or_refused_by_their_line() -> None:
    domain = Domain({"it": ["a", "b"]})
    file = read_answers(b"it,n\na,3\nb,0\n", "a file")
    assert coded_answers(file, domain, counts="n")["n"].tolist() == [3, 0]
    for wrong in ("-1", "1.5", "many", ""):
        file = read_answers(f"it,n\na,3\nb,{wrong}\n".encode(), "a file")
        with pytest.raises(DomainError, match="in line 3 of the column of counts 'n'"):
            coded_answers(file, domain, counts="n")


@given(
    st.binary(max_size=200)
    | st.lists(st.lists(CELLS, max_size=4).map(";".join)).map(lambda rows: "\n".join(rows).encode())
)
def test_whatever_is_in_a_file_it_is_read_or_refused(content: bytes) -> None:
    """What is prepared with a category for missing answers is coded by its own domain, every row of it."""
    try:
        file = read_answers(content, "a file")
        domain = prepared(file, classes=2, missing_as=MISSING_CATEGORY).domain
    except LdpstatsError:
        return
    coded_frame = coded_answers(file, domain)
    assert len(coded_frame) == len(file)
    assert not coded_frame[list(domain.names)].isna().any(axis=None)
