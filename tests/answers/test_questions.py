"""Questions: what a record answers, under bijections, coarsenings and other orders of the attributes."""

from __future__ import annotations

import itertools
import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from support.comparisons import refused

from ldpstats.answers.domain import Domain
from ldpstats.answers.questions import Question
from ldpstats.errors import DomainError, LdpstatsError

NAMES = ("a", "b", "c")


@st.composite
def surjections(draw: st.DrawFn, cells: int) -> list[int]:
    """Draw a new answer for each of `cells` old ones, numbered without gaps."""
    answers = draw(st.integers(2, cells))
    rest = draw(st.lists(st.integers(0, answers - 1), min_size=cells - answers, max_size=cells - answers))
    return draw(st.permutations([*range(answers), *rest]))


@st.composite
def domains(draw: st.DrawFn) -> Domain:
    return Domain({name: range(draw(st.integers(2, 4))) for name in NAMES[: draw(st.integers(1, 3))]})


@st.composite
def questions(draw: st.DrawFn) -> tuple[Domain, Question]:
    domain = draw(domains())
    names = draw(st.permutations(domain.names))[: draw(st.integers(1, len(domain)))]
    plain = Question.of(domain, names)
    return domain, plain.coarsened(draw(surjections(plain.cells))) if draw(st.booleans()) else plain


def every_record(domain: Domain) -> np.ndarray:
    return np.array(list(itertools.product(*map(range, domain.shape))))


@pytest.fixture
def domain() -> Domain:
    return Domain({"a": ["x", "y"], "b": [0, 1, 2], "c": [False, True]})


@pytest.fixture
def question(domain: Domain) -> Question:
    return Question.of(domain, ["a", "b"])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_plain_question_answers_with_the_cell(data: st.DataObject) -> None:
    domain = data.draw(domains())
    names = tuple(data.draw(st.permutations(domain.names)))
    question, records = Question.of(domain, names), every_record(domain)
    columns = [records[:, domain.names.index(name)] for name in names]
    np.testing.assert_array_equal(question.answer(domain, records), np.ravel_multi_index(columns, question.shape))
    assert question.is_identity
    assert question.is_bijection
    assert question.answers == question.cells == math.prod(domain.shape)


@settings(max_examples=60, deadline=None)
@given(questions(), st.data())
def test_reordered_question_gets_the_same_answers(pair: tuple[Domain, Question], data: st.DataObject) -> None:
    domain, question = pair
    order = tuple(data.draw(st.permutations(question.attributes)))
    reordered, records = question.reordered(order), every_record(domain)
    np.testing.assert_array_equal(reordered.answer(domain, records), question.answer(domain, records))
    assert reordered.attributes == order
    assert reordered.shape == domain.project(order).shape
    assert reordered.reordered(question.attributes) == question
    assert (reordered.answers, reordered.is_bijection) == (question.answers, question.is_bijection)


@settings(max_examples=60, deadline=None)
@given(questions(), st.data())
def test_coarsening_composes(pair: tuple[Domain, Question], data: st.DataObject) -> None:
    domain, question = pair
    records = every_record(domain)
    first = np.array(data.draw(surjections(question.answers)))
    second = np.array(data.draw(surjections(int(first.max()) + 1)))
    once = question.coarsened(first)
    twice = once.coarsened(second)
    np.testing.assert_array_equal(once.answer(domain, records), first[question.answer(domain, records)])
    np.testing.assert_array_equal(twice.answer(domain, records), second[once.answer(domain, records)])
    assert twice == question.coarsened(second[first])


@settings(max_examples=60, deadline=None)
@given(questions(), st.data())
def test_coarsening_and_reordering_commute(pair: tuple[Domain, Question], data: st.DataObject) -> None:
    _, question = pair
    order = tuple(data.draw(st.permutations(question.attributes)))
    classes = data.draw(surjections(question.answers))
    assert question.coarsened(classes).reordered(order) == question.reordered(order).coarsened(classes)


@settings(max_examples=60, deadline=None)
@given(questions(), st.lists(st.integers(0, 3), max_size=2), st.sampled_from([np.int64, np.float64]), st.data())
def test_answer_frequencies_equal_brute_force(
    pair: tuple[Domain, Question], batch: list[int], dtype: type, data: st.DataObject
) -> None:
    _, question = pair
    size = math.prod(batch) * question.cells
    flat = data.draw(st.lists(st.integers(-1000, 1000), min_size=size, max_size=size))
    cells = np.array(flat, dtype=dtype).reshape(*batch, question.cells)
    brute = np.zeros((*batch, question.answers), dtype=dtype)
    for place in np.ndindex(*batch):
        for cell, answer in enumerate(question.classes):
            brute[(*place, answer)] += cells[(*place, cell)]
    totals = question.answer_frequencies(cells)
    assert totals.dtype == dtype
    np.testing.assert_array_equal(totals, brute)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool])
def test_totals_of_small_integers_do_not_wrap_around(question: Question, dtype: type) -> None:
    cells = np.full(6, 100 if dtype is not bool else 1, dtype=dtype)
    totals = question.coarsened([0, 0, 0, 0, 0, 1]).answer_frequencies(cells)
    assert totals.tolist() == [5 * int(cells[0]), int(cells[0])]


def test_adding_up_leaves_the_cells_alone(question: Question) -> None:
    cells = np.arange(6.0)
    question.coarsened([0, 1, 0, 1, 0, 1]).answer_frequencies(cells)
    assert cells.tolist() == [0, 1, 2, 3, 4, 5]


def test_permuted_answers_are_a_bijection_and_no_identity(domain: Domain, question: Question) -> None:
    permuted = question.coarsened([5, 4, 3, 2, 1, 0])
    assert permuted.is_bijection
    assert not permuted.is_identity
    assert permuted.answer(domain, [[0, 0, 1], [1, 2, 0]]).tolist() == [5, 0]
    assert permuted.coarsened([5, 4, 3, 2, 1, 0]) == question
    assert permuted.answer_frequencies(np.arange(6)).tolist() == [5, 4, 3, 2, 1, 0]


def test_one_bit_question(domain: Domain, question: Question) -> None:
    bit = question.coarsened(np.array([False, True, False, True, False, True]))
    assert bit == question.coarsened(iter([0, 1, 0, 1, 0, 1]))
    assert (bit.answers, bit.cells, bit.is_bijection, bit.is_identity) == (2, 6, False, False)
    assert bit.answer(domain, [[1, 0, 0], [0, 0, 1]]).tolist() == [1, 0]
    assert all(type(answer) is int for answer in bit.classes)


def test_questions_are_values(domain: Domain, question: Question) -> None:
    again = Question.of(domain, ("a", "b"))
    assert again == question
    assert hash(again) == hash(question)
    assert pickle.loads(pickle.dumps(question)) == question  # noqa: S301  # pickled in this very line
    with pytest.raises(FrozenInstanceError):
        question.shape = (3, 2)  # type: ignore[misc]  # this is what is refused


def test_a_name_alone_asks_for_one_attribute(domain: Domain) -> None:
    assert Question.of(domain, "b") == Question(("b",), (3,), (0, 1, 2))


def test_no_records_give_no_answers(domain: Domain, question: Question) -> None:
    answers = question.answer(domain, np.empty((0, 3), dtype=np.int64))
    assert answers.shape == (0,)
    assert answers.dtype == np.int64


# Refusals


def test_question_with_too_many_cells_is_refused() -> None:
    domain = Domain({f"a{i}": [0, 1] for i in range(100)})
    with refused(LdpstatsError, "100 attributes", str(2**100), "fewer attributes"):
        Question.of(domain, domain.names)


@pytest.mark.parametrize(
    ("attributes", "shape", "classes", "part"),
    [
        (("a",), (2,), (), "0 classes"),
        (("a",), (2,), (0,), "1 classes"),
        (("a",), (2,), (0, 0), "at least two"),
        (("a",), (3,), (0, 2, 2), "without gaps"),
        (("a",), (3,), (1, 2, 1), "without gaps"),
        (("a",), (2,), (0, 2), "2 at position 1"),
        (("a",), (2,), (0, -1), "-1 at position 1"),
        (("a",), (2,), (0.0, 1.0), "float64"),
        (("a",), (2,), ("x", 1), "the classes of a question"),
        (("a",), (2,), (False, True), "bool"),
        (("a",), (2,), ((0,), (1, 2)), "different lengths"),
        (("a",), (2.0,), (0, 1), "'a' = 2.0"),
        (("a", "b"), (0, 2), (), "'a' = 0"),
        (("a", "a"), (2, 2), (0, 1, 2, 3), "different attribute names"),
        (("a",), (2, 2), (0, 1, 2, 3), "(2, 2)"),
        ((), (), (0,), "at least two"),
        ((3,), (2,), (0, 1), "(3,)"),
        ("a", (2,), (0, 1), "tuples"),
        (["a"], (2,), (0, 1), "tuples"),
        (("a",), [2], (0, 1), "tuples"),
        (("a",), (2,), [0, 1], "tuples"),
        (("a",), None, None, "tuples"),
    ],
)
def test_question_that_does_not_fit_together_is_refused(
    attributes: object, shape: object, classes: object, part: str
) -> None:
    with refused(LdpstatsError, part):
        Question(attributes, shape, classes)


@pytest.mark.parametrize(
    ("classes", "part"),
    [
        ([0, 1], "2 classes"),
        ([0] * 6, "at least two"),
        ([0, 1, 2, 3, 4, 6], "6 at position 5"),
        (list("abcdef"), "<U1"),
        ([0, 2**70] * 3, "object"),
        ([[0], [1]] * 3, "(6, 1)"),
        ([[0], [1, 2]] * 3, "different lengths"),
        (None, "object"),
    ],
)
def test_wrong_coarsening_is_refused(question: Question, classes: object, part: str) -> None:
    with refused(LdpstatsError, "classes", part):
        question.coarsened(classes)


@pytest.mark.parametrize("attributes", [("a",), ("a", "a"), ("a", "z"), ("a", "b", "c"), (), None, "ab", ["b", "a"]])
def test_order_of_other_attributes_is_refused(question: Question, attributes: object) -> None:
    with refused(LdpstatsError, repr(attributes), "'a', 'b' in any order"):
        question.reordered(attributes)


def test_records_of_another_domain_or_none_are_refused(question: Question, domain: Domain) -> None:
    with refused(LdpstatsError, "3 at position 0"):
        question.answer(domain, [[0, 3, 0]])
    with refused(DomainError, "attributes", "'a', 'b', 'c'"):
        Question.of(domain, ["zz"])
    with refused(LdpstatsError, "'a', 'b'", "(2, 2)", "(2, 3)"):
        question.answer(Domain({"a": [0, 1], "b": [0, 1]}), [[1, 1]])
    with refused(DomainError, "'a'"):
        question.answer(Domain({"b": [0, 1, 2]}), [[1]])


@pytest.mark.parametrize("cells", [np.zeros(5), np.zeros((6, 2)), np.float64(3), [], [[1, 2], [3]]])
def test_cells_of_another_table_are_refused(question: Question, cells: object) -> None:
    for asked in (question, question.coarsened([0, 1, 0, 1, 0, 1])):
        with refused(LdpstatsError, "cells"):
            asked.answer_frequencies(cells)
