"""Whose reports were counted: nobody twice, wherever the tables were in between, and halves give the whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.forged_files import forged

import ldpstats as ldp
from ldpstats import Domain, PerAttribute
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.estimation.blocks import Block
from ldpstats.saving.codec import encoded
from ldpstats.tables.respondents import RespondentSet, new_identity

DOMAIN = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": [1, 2, 3]})
ONE, OTHER = "0" * 31 + "1", "f" * 32
PROTOCOLS: dict[str, Any] = {
    "sampled groups": ldp.SampledGroups(DOMAIN, epsilon=1.0, mechanism="grr"),
    "whole view": ldp.WholeView(DOMAIN, epsilon=2.0, k=1),
    "product domain": ldp.ProductDomain(DOMAIN, epsilon=1.0),
    "per attribute": ldp.PerAttribute(DOMAIN, epsilon=2.0),
    "per attribute, crossed": ldp.PerAttribute(DOMAIN, epsilon=2.0, k=2),
    "hadamard coefficients": ldp.HadamardCoefficients(DOMAIN, epsilon=1.0),
    "rrba": ldp.RRBA(DOMAIN, epsilon=1.0, block_size=20),
    "central": ldp.CentralLaplace(DOMAIN, epsilon=1.0),
}
LOCAL = [name for name in PROTOCOLS if name not in ("rrba", "central")]
each_way_to_count = pytest.mark.parametrize("kind", ["sampled groups", "per attribute, crossed"])
"""The conformance suite refuses rows and adds parts of every protocol."""


@pytest.fixture
def people() -> pd.DataFrame:
    return DOMAIN.decode(np.column_stack([np.arange(121) % size for size in DOMAIN.shape]))


def read(tables: ldp.TableSet) -> ldp.TableSet:
    return ldp.TableSet.from_json(tables.to_json())


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_nobody_is_counted_twice(people: pd.DataFrame, kind: str) -> None:
    """`tables + tables` doubled n without a word."""
    protocol = PROTOCOLS[kind]
    tables = protocol.collect(people)
    for again in (tables, read(tables), ldp.TableSet(DOMAIN, list(tables)[:1], tables.privacy)):
        with pytest.raises(LdpstatsError, match="the same respondents twice"):
            tables + again
        with pytest.raises(LdpstatsError, match="the same respondents twice"):
            sum([read(tables), again])
    fresh = protocol.collect(people, rng=8)
    both = tables + fresh
    assert both.n == tables.n + fresh.n > tables.n
    for part in (tables, fresh, read(both)):
        with pytest.raises(LdpstatsError, match="the same respondents twice"):
            read(both) + part


@pytest.mark.parametrize("kind", PROTOCOLS)
def test_a_seed_and_its_respondents_make_one_collection(people: pd.DataFrame, kind: str) -> None:
    protocol, others = PROTOCOLS[kind], people.assign(sex="F", car="no")
    for way in (protocol.collect, protocol.simulate):
        one, again, other = way(people, rng=3), way(people, rng=3), way(others, rng=3)
        assert one.to_json() == again.to_json()
        assert one.collections == again.collections != other.collections
        assert (one + other).n == one.n + other.n
        source = np.random.default_rng(5)
        first, second = way(people, rng=source), way(people, rng=source)
        assert first.collections != second.collections


@each_way_to_count
def test_counting_halves_and_adding_equals_counting_the_whole(people: pd.DataFrame, kind: str) -> None:
    protocol = PROTOCOLS[kind]
    rows = protocol.reports(people)
    rows = pd.read_csv(StringIO(rows.to_csv(index=False)))
    whole = protocol.tables(rows)
    # also where a cut goes through a respondent, who then has some groups in one part and some in another
    for first in (rows.index < 50, rows.index % 3 == 0, rows.index.isin(rows.sample(60, random_state=2).index)):
        one, other = protocol.tables(rows[first]), protocol.tables(rows[~first])
        assert (one + other).to_json() == (read(other) + one).to_json() == whole.to_json()
        for part in (one, other):
            with pytest.raises(LdpstatsError, match="the same respondents twice"):
                whole + read(part)
    with pytest.raises(LdpstatsError, match="the same respondents twice"):
        protocol.tables(rows[:40]) + protocol.tables(rows[30:])


def test_crossed_rows_are_added_to_those_of_their_own_tables(people: pd.DataFrame) -> None:
    """In one set stand tables behind different rows: each gets what was added to its own."""
    pairs = [ldp.PerAttribute(DOMAIN, epsilon=2.0, groups=[group]) for group in (("sex", "car"), ("car", "age"))]
    halves = [[one.collect(people, rng=seed) for one in pairs] for seed in (1, 2)]
    added = (halves[0][0] + halves[0][1]) + (halves[1][0] + halves[1][1])
    for place, group in enumerate((("sex", "car"), ("car", "age"))):
        alone = halves[0][place] + halves[1][place]
        assert [encoded(rows) for rows in added[group].rows] == [encoded(rows) for rows in alone[group].rows]
        assert added[group].n == alone[group].n == 242


def test_rrba_rows_are_of_one_collection_and_of_all_its_respondents(people: pd.DataFrame) -> None:
    protocol = PROTOCOLS["rrba"]
    rows = protocol.reports(people, rng=4)
    tables = protocol.tables(rows)
    assert tables.to_json() == protocol.collect(people, rng=4).to_json()
    with pytest.raises(LdpstatsError, match="the same respondents twice"):
        tables + protocol.collect(people, rng=4)
    mixed = rows.assign(collection=np.where(rows.index < 60, rows["collection"], f"c{OTHER}"))
    with pytest.raises(ReportError, match="rows of 2 collections"):
        protocol.tables(mixed)
    view = ldp.RRBA(DOMAIN, epsilon=1.0, k=1, answer="view", block_size=20)
    rows = view.reports(people, rng=4)
    rows.loc[rows.index[-1], "number"] = 999
    with pytest.raises(ReportError, match="of different respondents"):
        view.tables(rows)


def test_tables_that_an_aggregator_gives_at_two_times_overlap() -> None:
    aggregator = PROTOCOLS["rrba"].aggregator()
    client = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": [1, 2, 3]})
    from ldpstats.protocols.rrba import Client

    taken = []
    for _ in range(2):
        for _ in range(4):
            aggregator.take(Client(client, {"sex": "F", "car": "no", "age": 2}, limit=1.0).answer(aggregator.query()))
        taken.append(aggregator.tables())
    assert [tables.n for tables in taken] == [4, 8]
    with pytest.raises(LdpstatsError, match="the same respondents twice"):
        read(taken[0]) + taken[1]
    assert (taken[1] + PROTOCOLS["rrba"].collect(DOMAIN.decode([[0, 0, 0]] * 5))).n == 13


def test_marginals_other_estimates_and_tables_made_by_hand_stay_known(people: pd.DataFrame) -> None:
    protocol = ldp.ProductDomain(DOMAIN, epsilon=1.0, mechanism="grr")
    (table,) = protocol.collect(people)
    same = [table.marginal(["sex", "car"]), table.estimated_by("mle").marginal(["car", "sex"])]
    sets = [ldp.TableSet(DOMAIN, [one.estimated_by("unbiased")], table.privacy) for one in same]
    with pytest.raises(LdpstatsError, match="the same respondents twice"):
        sets[0] + sets[1]
    question = Question.of(DOMAIN, ["age"])
    tally = ldp.GRR(3, 1.0).simulate([5, 5, 5], rng=1)
    made = ldp.Table(DOMAIN.project(["age"]), (Block(question, tally),), ldp.GRR(3, 1.0).privacy())
    by_hand = ldp.TableSet(DOMAIN, [made], made.privacy)
    with pytest.raises(LdpstatsError, match="the same respondents twice"):
        by_hand + read(by_hand)
    with pytest.raises(LdpstatsError, match="the same respondents twice"):
        ldp.homogeneity_test([table.marginal("age"), table.marginal("age")])


ROWS: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "a row twice": (lambda rows: pd.concat([rows, rows.iloc[[4]].rename({4: 900})]), "row 900, which is .* as row 4"),
    "another collection": (lambda rows: rows.assign(collection="c12"), "the collection 'c12' in row 0"),
    "digits alone": (lambda rows: rows.assign(collection=ONE), "the collection .* in row 0"),
    "numbers below 0": (lambda rows: rows.assign(number=-1), "number -1 in row 0"),
    "numbers that are none": (lambda rows: rows.assign(number="x"), "number 'x' in row 0"),
}


@pytest.mark.parametrize("case", ROWS)
def test_rows_that_do_not_say_whose_they_are_are_refused(people: pd.DataFrame, case: str) -> None:
    protocol, (spoil, told) = PROTOCOLS["whole view"], ROWS[case]
    with pytest.raises(ReportError, match=told):
        protocol.tables(spoil(protocol.reports(people, rng=1)))


def test_identities_are_no_numbers_to_a_file_reader(people: pd.DataFrame) -> None:
    rows = PROTOCOLS["sampled groups"].reports(people, rng=1).assign(collection=f"c{'1' * 20}e{'2' * 11}")
    again = pd.read_csv(StringIO(rows.to_csv(index=False)))
    assert again["collection"].tolist() == rows["collection"].tolist()


def test_parts_are_disjoint_intervals_in_order() -> None:
    numbers = np.array([5, 3, 4, 9, 0])
    parts = RespondentSet.numbered(pd.Series([OTHER, OTHER, OTHER, OTHER, ONE]), 2, numbers)
    one, other = (0, 1), (2**64 - 1, 2**64 - 1)
    assert parts == in_order((*one, 2, 0, 1), (*other, 2, 3, 6), (*other, 2, 9, 10))
    assert (parts.n, parts.collections) == (5, (ONE, OTHER))
    rest = in_order((*other, 1, 3, 6), (*other, 2, 6, 9))
    whole = in_order((*one, 2, 0, 1), (*other, 1, 3, 6), (*other, 2, 3, 10))
    assert RespondentSet.together([rest, parts]) == whole
    assert RespondentSet.together([]) == RespondentSet.none()
    for rows in (parts.intervals[[0, 1, 1]], parts.intervals[::-1]):
        with pytest.raises(LdpstatsError, match="out of order, or with some respondents twice"):
            RespondentSet(rows)
    for overlapping in ((*other, 2, 5, 6), (*other, 2, 0, 100), (*one, 2, 0, 1), (*other, 2, 4, 5)):
        with pytest.raises(LdpstatsError, match="1 collections, among them"):
            RespondentSet.together([parts, in_order(overlapping)])


def in_order(*rows: tuple[int, ...]) -> RespondentSet:
    return RespondentSet(np.array(rows, dtype=np.uint64))


@pytest.mark.parametrize("seed", range(20))
def test_parts_agree_with_sets_of_respondents(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def drawn() -> tuple[RespondentSet, set[tuple[str, int]]]:
        chosen = rng.permutation(30)[: rng.integers(1, 12)]
        names = pd.Series([(ONE, OTHER)[place] for place in chosen // 15])
        return RespondentSet.numbered(names, 0, chosen % 15), set(zip(names, (chosen % 15).tolist(), strict=True))

    (one, first), (other, second) = drawn(), drawn()
    assert (one.n, other.n) == (len(first), len(second))
    if first & second:
        with pytest.raises(LdpstatsError, match="twice"):
            RespondentSet.together([one, other])
    else:
        assert RespondentSet.together([one, other]).n == len(first | second)


@pytest.mark.parametrize("identity", ["x" * 32, ONE[:-1], 5])
def test_identities_have_32_digits(identity: Any) -> None:
    with pytest.raises((LdpstatsError, ValueError), match="hexadecimal"):
        RespondentSet.whole(identity, 0, 4)


INTERVALS: dict[str, list[int]] = {
    "fewer respondents than reports": [1, 2, 0, 0, 120],
    "an interval that ends before it begins": [1, 2, 0, 5, 4],
    "places beyond the last one": [1, 2, 0, 0, (1 << 62) + 1],
    "respondents twice": [1, 2, 0, 0, 200, 1, 2, 0, 100, 300],
    "an interval out of order": [1, 2, 0, 100, 300, 1, 2, 0, 0, 50],
}


@pytest.mark.parametrize("case", INTERVALS)
def test_files_whose_respondents_cannot_be_are_refused(people: pd.DataFrame, case: str) -> None:
    text, rows = PROTOCOLS["product domain"].collect(people).to_json(), INTERVALS[case]
    path = "tables 0 parts intervals"
    whole = encoded(np.array([[1, 2, 0, 0, 121]], dtype=np.uint64))
    assert ldp.TableSet.from_json(forged(text, path, whole)).n == len(people)
    with pytest.raises(LdpstatsError, match="not a saved table set"):
        ldp.TableSet.from_json(forged(text, path, encoded(np.array(rows, dtype=np.uint64).reshape(-1, 5))))


def test_secure_identities_differ_and_simulated_ones_follow_from_the_generator() -> None:
    assert new_identity(None, ()) != new_identity(None, ())
    for make in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64):
        one, again, other = (np.random.Generator(make(seed)) for seed in (1, 1, 2))
        counted = [np.arange(3)]
        assert new_identity(one, counted) == new_identity(again, counted) != new_identity(other, counted)
        assert new_identity(one, counted) != new_identity(one, [np.arange(4)])


def test_how_many_reports_are_simulated_is_counted_and_said(people: pd.DataFrame) -> None:
    protocol = PROTOCOLS["sampled groups"]
    both = protocol.collect(people) + protocol.collect(people.head(12), rng=1)
    assert (both.n, both.simulated) == (133, 12)
    assert "(12 of 133 reports simulated)" in both.summary().title
    assert "(12 of 133 reports simulated)" in repr(read(both))
    table = both["sex", "car"]
    words = f"({table.simulated} of {table.n} reports simulated)"
    assert table.simulated == 4
    result = ldp.independence_test(table)
    for text in (table.summary(), repr(table), result.summary(), ldp.association(table).summary()):
        assert words in str(text)
    assert result.simulated == table.estimated_by("mle").cells.simulated == 4
    assert not protocol.collect(people).simulated
    consistent = ldp.make_consistent(both)["sex", "car"]
    assert 0 < consistent.simulated < consistent.n


def test_rows_say_one_by_one_whether_they_are_simulated(people: pd.DataFrame) -> None:
    for kind in LOCAL:
        protocol = PROTOCOLS[kind]
        real, drawn = protocol.reports(people), protocol.reports(people.head(30), rng=1)
        tables = protocol.tables(pd.concat([real, drawn]))
        assert tables.simulated == protocol.tables(drawn).n
        assert 0 < tables.simulated < tables.n


@each_way_to_count
def test_reports_under_another_name_are_not_counted_again(people: pd.DataFrame, kind: str) -> None:
    """A marginal holds the reports of its table, also where it stands in a set of its own."""
    tables = PROTOCOLS[kind].collect(people, rng=1)
    for table in tables:
        if len(table.attributes) > 1:
            part = ldp.TableSet(DOMAIN, [table.marginal(table.attributes[:1])], tables.privacy)
            for one, other in ((part, tables), (tables, part)):
                with pytest.raises(LdpstatsError, match="the same respondents twice"):
                    one + other


LARGEST = 2**62 - 1
NUMBERS: dict[str, Callable[[pd.Series], pd.Series]] = {
    "beyond the largest": lambda numbers: numbers.replace(3, LARGEST + 1),
    "the largest of 63 bits": lambda numbers: numbers.replace(3, 2**63 - 1),
    "of 64 bits": lambda numbers: numbers.astype(np.uint64).replace(3, 2**64 - 1),
    "beyond 64 bits": lambda numbers: numbers.astype(object).replace(3, 2**70),
    "missing": lambda numbers: numbers.astype("Int64").replace(3, pd.NA),
    "fractions": lambda numbers: numbers.astype(float),
    "text": lambda numbers: numbers.astype(str),
}


@each_way_to_count
@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_that_could_not_be_saved_are_refused(people: pd.DataFrame, kind: str, case: str) -> None:
    protocol = PROTOCOLS[kind]
    rows = protocol.reports(people, rng=1)
    with pytest.raises(ReportError, match=r"number .* in row"):
        protocol.tables(rows.assign(number=NUMBERS[case](rows["number"])))
    read(protocol.tables(rows.convert_dtypes()))


def test_the_largest_number_can_be_saved(people: pd.DataFrame) -> None:
    protocol = PROTOCOLS["sampled groups"]
    rows = protocol.reports(people, rng=1)
    tables = protocol.tables(rows.assign(number=rows["number"].replace(3, LARGEST)))
    assert read(tables).to_json() == tables.to_json()


@pytest.mark.parametrize("column", ["report", "block"])
def test_rrba_rows_with_gaps_are_refused_and_with_other_types_are_read(people: pd.DataFrame, column: str) -> None:
    protocol = PROTOCOLS["rrba"]
    rows = protocol.reports(people, rng=1)
    for wrong in (pd.NA, -1, 2**62):
        spoilt = rows[column].astype("Int64").where(rows.index != 7, wrong)
        with pytest.raises(ReportError, match="in row 7"):
            protocol.tables(rows.assign(**{column: spoilt}))
    assert protocol.tables(rows.astype(object)).to_json() == protocol.tables(rows).to_json()


SQUARE = Domain({"a": ["x", "y"], "b": ["x", "y"]})
(CROSSED,) = PerAttribute(SQUARE, epsilon=4.0, k=2).simulate(np.array([5, 3, 2, 4]), rng=1)["a", "b"].rows


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"copies": CROSSED.copies - 2 * CROSSED.copies * (CROSSED.copies == CROSSED.copies.min())},
            "rows of 14 respondents",
        ),
        ({"copies": 2 * CROSSED.copies}, "28 rows of 14 respondents"),
        ({"copies": CROSSED.copies + (np.arange(CROSSED.copies.size) < 4) * 2**62}, "18,446,744,073,709,551,6.. rows"),
        ({"parts": RespondentSet.whole("0" * 32, 0, 13)}, "14 rows of 13 respondents"),
        ({"simulated": 15}, "simulated = 15"),
        ({"simulated": -1}, "simulated = -1"),
        ({"answers": CROSSED.answers - 1}, "a row for each number of copies"),
        ({"answers": CROSSED.answers[:, :1]}, "a row for each number of copies"),
    ],
)
def test_rows_of_other_respondents_are_refused(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(LdpstatsError, match=said):
        replace(CROSSED, **wrong)
    assert replace(CROSSED, parts=RespondentSet.none()).n == CROSSED.n == 14
