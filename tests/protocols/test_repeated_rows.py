"""Repeated rows: rows drawn anew are never taken for copies, and copied ones are found, in any chunks."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import ldpstats as ldp
from ldpstats.conformance.enumeration import TooManyCoursesError, exact_channel
from ldpstats.mechanisms import REGISTRY, Mechanism, mechanism
from ldpstats.protocols import repeated_rows
from ldpstats.protocols.counting import Layout, SentRows
from ldpstats.protocols.repeated_rows import CHANCE, RepeatedRows, RepetitionSearch, largest_probability, telling_window

DOMAIN = ldp.Domain({"a": [0, 1, 2], "b": [0, 1], "c": [0, 1, 2, 3]})
NAMES = ("grr", "oue", "sue", "ss", "olh", "hr")


def protocol(name: str, epsilon: float = 1.0) -> ldp.SampledGroups:
    return ldp.SampledGroups(DOMAIN, epsilon=epsilon, mechanism=name)


def sent(asked: ldp.SampledGroups, n: int, seed: int = 1) -> SentRows:
    """Return rows of respondents who all hold the first categories, which is what makes reports most alike."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, len(asked.sent_rows), n).astype(np.uint8)
    layout = Layout(asked.sent_rows)
    reports = layout.column(n)
    for number, row in enumerate(asked.sent_rows):
        places = np.flatnonzero(rows == number)
        truths = np.zeros(len(places), dtype=np.int64)
        layout.put(reports, places, number, cast("Mechanism", row.wire).privatize(truths, rng=rng).data)
    return SentRows("0" * 32, rows, reports)


def looked(asked: ldp.SampledGroups, *parts: SentRows) -> RepeatedRows:
    search = RepetitionSearch(asked.sent_rows)
    for part in parts:
        search.take(part)
    return search.found()


def some(rows: SentRows, start: int, stop: int) -> SentRows:
    return rows.taken(np.arange(start, stop))


@pytest.mark.parametrize("name", NAMES)
def test_rows_that_were_drawn_anew_are_no_copies(name: str) -> None:
    # wrong with a probability below 10^-9 each
    found = looked(protocol(name), sent(protocol(name), 30_000))
    assert found.copies == ()
    assert found.warning == ()
    assert "1 stretch" not in found.headline


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_is_pasted_twice_is_found(name: str) -> None:
    rows = sent(protocol(name), 3000)
    found = looked(protocol(name), rows, rows)
    assert len(found.copies) == 1
    (copy,) = found.copies
    assert copy.again - copy.first == 3000
    # windows are chosen by chance, so that the ends may be missing
    assert 2500 < copy.rows <= copy.last - copy.first + 1 <= 3000
    assert found.warning[0].startswith("REPEATED ROWS: at least ")


def test_a_second_attempt_at_sending_is_found_among_many_rows() -> None:
    asked = protocol("grr")
    rows = sent(asked, 200_000)
    found = looked(asked, some(rows, 0, 150_000), some(rows, 100_000, 102_000), some(rows, 150_000, 200_000))
    (copy,) = found.copies
    assert copy.again - copy.first == 50_000
    assert 100_000 < copy.first <= copy.last <= 102_000
    assert 1000 < copy.rows <= 2000


@settings(max_examples=10)
@given(st.lists(st.integers(0, 6000), max_size=5), st.integers(0, 1000))
def test_chunks_make_no_difference(ends: list[int], seed: int) -> None:
    asked = protocol("oue")
    rows = sent(asked, 3000, seed)
    twice = rows.taken(np.tile(np.arange(3000), 2))
    borders = [0, *sorted(ends), 6000]
    parts = [some(twice, start, stop) for start, stop in pairwise(borders)]
    assert looked(asked, *parts).to_dict() == looked(asked, twice).to_dict()


def test_several_stretches_are_ranked_by_their_length() -> None:
    asked = protocol("grr")
    rows = sent(asked, 40_000)
    found = looked(asked, rows, some(rows, 30_000, 32_000), some(rows, 1000, 9000))
    assert [one.first // 1000 for one in found.copies] == [1, 30]
    assert "and 1 further stretches" in found.warning[0]
    assert found.to_frame()["rows"].is_monotonic_decreasing
    assert found.headline == "50,000 rows: 2 stretches stand twice"


def test_sorted_rows_are_no_copies() -> None:
    asked = protocol("grr")
    rows = sent(asked, 50_000)
    order = np.lexsort((rows.reports, rows.rows))
    found = looked(asked, rows.taken(order))
    assert found.copies == ()
    assert found.warning == ()
    assert found.same
    assert "the rows are sorted by their reports" in " ".join(str(found).split())


def test_memory_does_not_grow_with_the_rows() -> None:
    asked = protocol("olh")
    search = RepetitionSearch(asked.sent_rows)
    rng = np.random.default_rng(1)
    for _ in range(12):
        raw = rng.integers(0, 256, (100_000, 17)).astype(np.uint8)
        search.take(SentRows("0" * 32, np.zeros(len(raw), dtype=np.uint8), raw))
    assert len(search._kept) <= repeated_rows._MOST_KEPT < 1_200_000 // 8
    assert search._words.size == repeated_rows._AT_ONCE + 64
    search.take(SentRows("0" * 32, np.zeros(50_000, dtype=np.uint8), raw[:50_000]))
    (copy,) = search.found().copies
    assert copy.again - copy.first == 100_000


@pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_no_report_is_more_probable_than_the_bound_by_enumeration(kind: type[Mechanism], epsilon: float) -> None:
    made = mechanism(kind.name, k=kind.only_k or 3, epsilon=epsilon)
    bound = largest_probability(made)
    if bound is None or made.hash_symbols is not None:
        assert made.hash_symbols is None or bound is None or bound <= 2.0**-64
        return
    try:
        laws = exact_channel(made)
    except TooManyCoursesError:
        return
    exact = max(float(chance) for law in laws for chance in law.values())
    assert bound >= exact * (1 - 1e-9)
    if kind.name in ("grr", "rr", "oue", "sue", "ss"):
        assert bound == pytest.approx(exact)


def test_the_window_keeps_the_chance_of_a_false_alarm() -> None:
    for bound in (0.5, 0.9, 0.999):
        window = telling_window([bound, 0.1])
        assert window is not None
        assert 2.0**79 * bound**window <= CHANCE < 2.0**79 * bound ** (window - 1)
    assert telling_window([1e-9]) == 64
    assert telling_window([]) is None
    assert telling_window([0.9999999]) is None


def test_what_chance_could_make_equal_is_not_looked_at() -> None:
    asked = ldp.RRBA(DOMAIN, k=2, epsilon=1.0)
    search = RepetitionSearch(asked.sent_rows)
    search.take(SentRows("0" * 32, np.zeros(500, np.uint8), np.zeros(500, np.uint8)))
    found = search.found()
    assert found.headline == "500 rows: not told from chance"
    assert "nothing was looked at" in str(found)
    assert found.warning == ()


def test_crossed_answers_are_looked_at() -> None:
    asked = ldp.PerAttribute(DOMAIN, epsilon=3.0, k=2)
    (row,) = asked.sent_rows
    bound = largest_probability(row.wire)
    assert bound is not None
    assert bound < 1
    reports = np.random.default_rng(1).integers(0, 2, (2000, 3)).astype(np.uint8)
    rows = SentRows("0" * 32, np.zeros(2000, np.uint8), reports)
    search = RepetitionSearch(asked.sent_rows)
    search.take(rows)
    assert search.found().copies == ()
    search.take(rows)
    assert len(search.found().copies) == 1


def test_tables_keep_what_was_found() -> None:
    asked = protocol("grr")
    rows = sent(asked, 3000)
    found = looked(asked, rows, rows)
    tables = asked.simulate(np.full(24, 50), rng=1)
    marked = ldp.TableSet(tables.domain, tables, tables.privacy, (found,))
    assert "REPEATED ROWS: at least" in str(marked)
    assert ldp.TableSet.from_json(marked.to_json()).checks == (found,)


def test_a_stretch_that_stands_twice_in_a_file_is_said_by_its_tables(tmp_path: Path) -> None:
    asked, path = protocol("grr"), tmp_path / "reports.csv"
    frame = DOMAIN.decode(np.random.default_rng(1).integers(0, [3, 2, 4], (4000, 3)))
    ldp.write_reports(path, asked, frame)
    assert ldp.tables_of(path, asked).checks == ()
    first, *lines, _ = path.read_text("utf-8").splitlines(keepends=True)
    # whoever pastes lines makes the last one anew, too
    body = "".join([first, *lines, *lines[1001:3001]])
    digest = hashlib.sha256(body.encode()).hexdigest()
    path.write_text(f"{body}# end {len(lines) - 1 + 2000} {digest}\n", "utf-8")
    tables = ldp.tables_of(path, asked)
    (found,) = tables.checks
    assert isinstance(found, RepeatedRows)
    assert [one.again - one.first for one in found.copies] == [3000]
    assert "REPEATED ROWS: at least" in str(tables)


@pytest.mark.parametrize("n", [1000, 3000, 30_000])
@pytest.mark.parametrize("k", [2, 4, 16])
def test_sorted_files_are_not_taken_for_copies(n: int, k: int) -> None:
    # every report is drawn anew, and every file is sorted before it is sent: seeds are fixed
    asked = ldp.SampledGroups(ldp.Domain({"a": list(range(k)), "b": [0, 1]}), epsilon=1.0, mechanism="grr")
    search = RepetitionSearch(asked.sent_rows)
    for seed in range(4):
        reports = np.sort(np.random.default_rng(seed).integers(0, 2 * k, n)).astype(np.uint8)
        search.take(SentRows(f"{seed:032}", np.zeros(n, dtype=np.uint8), reports))
    assert search.found().warning == ()
    assert search.found().same
