"""Sets of tables: merging in any order, lookups by attributes, and saved files."""

from __future__ import annotations

import gc
import weakref
from functools import reduce
from itertools import permutations
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.comparisons import assert_close as close
from support.forged_files import forged

from ldpstats import DomainError, LdpstatsError, PrivacyStatement, SampledGroups, TableSet, independence_tests
from ldpstats.answers.domain import Domain
from ldpstats.tables import Collected, Summed

ALL = ("age", "sex", "car")


def test_merging_parts_is_counting_the_whole(domain: Domain, people: pd.DataFrame) -> None:
    protocol = SampledGroups(domain, epsilon=1.0)
    reports = protocol.reports(people, rng=2)
    whole = protocol.tables(reports)
    parts = [protocol.tables(reports[place::3]) for place in range(3)]
    for order in permutations([*parts, protocol.tables(reports[:0])]):
        merged = reduce(add, order)
        assert merged.to_json() == whole.to_json()


def test_collected_tables_leave_memory_as_soon_as_nobody_holds_them(
    domain: Domain, people: pd.DataFrame, tmp_path: Path
) -> None:
    tables = SampledGroups(domain, epsilon=1.0).collect(people, rng=2)
    independence_tests(tables)
    tables.report(tmp_path / "report.html")
    held = [weakref.ref(table) for table in tables]
    gc.disable()
    try:
        del tables
        assert not any(one() for one in held)
    finally:
        gc.enable()


def test_different_mechanisms_become_blocks_of_one_pooled_table(domain: Domain, people: pd.DataFrame) -> None:
    sets = [SampledGroups(domain, epsilon=1.0, mechanism=m).collect(people, rng=4) for m in ("grr", "oue")]
    merged, turned = (sets[0] + sets[1])["sex", "car"], (sets[1] + sets[0])["sex", "car"]
    assert [block.n for block in merged.blocks] == [1000, 1000]
    assert merged.n == 2000
    # weighted least squares, as a textbook has it
    rows, values = [], []
    for block in (one.by_value for one in merged.blocks):
        (matrix, offset), report = block.design(), block.report_covariance(np.full(4, 0.25))
        weight = np.sqrt(1000 / np.diag(report))
        rows.append(matrix * weight[:, None])
        values.append((block.tally.proportions - offset) * weight)
    close(merged.estimate.ravel(), np.linalg.lstsq(np.vstack(rows), np.concatenate(values))[0])
    close(turned.estimate, merged.estimate)
    close(turned.covariance, merged.covariance)
    assert np.all(merged.std_err < np.minimum(*(one["sex", "car"].std_err for one in sets)))


def test_merging_takes_the_weaker_guarantee(domain: Domain, people: pd.DataFrame) -> None:
    strong, weak = (SampledGroups(domain, epsilon=level).collect(people, rng=4) for level in (0.5, 2.0))
    for merged in (strong + weak, weak + strong):
        assert merged.privacy.epsilon == merged["sex", "car"].privacy.epsilon == weak.privacy.epsilon


def test_groups_of_only_one_set_are_kept(domain: Domain, people: pd.DataFrame) -> None:
    one, other = (
        SampledGroups(domain, groups=[g], epsilon=1.0).collect(people, 4) for g in (("age", "sex"), ("sex", "car"))
    )
    merged = one + other
    assert len(merged) == 2
    assert merged.n == 6000
    np.testing.assert_array_equal(merged["car", "sex"].estimate, other["sex", "car"].estimate.T)


def test_what_cannot_be_merged_is_refused(domain: Domain, people: pd.DataFrame) -> None:
    tables = SampledGroups(domain, epsilon=1.0).collect(people, rng=1)
    swapped = Domain(domain.categories | {"sex": ["M", "F"]})
    with pytest.raises(LdpstatsError, match="one domain"):
        tables + SampledGroups(swapped, epsilon=1.0).collect(people, rng=1)
    other_unit = TableSet(domain, [], PrivacyStatement(1.0, "one attribute"))
    with pytest.raises(LdpstatsError, match=r"'one attribute'.*same unit"):
        tables + other_unit
    wide = (
        SampledGroups(domain, mechanism="hr", groups=[ALL], epsilon=1.0)
        .collect(people, rng=1)[ALL]
        .marginal(["age", "sex"])
    )
    derived = TableSet(domain, [wide], tables.privacy)
    with pytest.raises(LdpstatsError, match="one not estimated from its own reports"):
        derived + tables
    with pytest.raises(TypeError):
        tables + 1


def test_lookups_work_in_any_order_and_help_when_they_fail(domain: Domain, people: pd.DataFrame) -> None:
    tables = SampledGroups(domain, epsilon=1.0).collect(people, rng=1)
    np.testing.assert_array_equal(tables["car", "sex"].estimate, tables[["sex", "car"]].estimate.T)
    assert ("car", "sex") in tables
    assert "sex" not in tables
    assert 0 not in tables
    with pytest.raises(LdpstatsError, match=r"no table of \('age',\).*pooled\('age'\).*marginal\('age'\)"):
        tables["age"]
    with pytest.raises(LdpstatsError, match=r"no table of .*Allowed: \('age', 'sex'\)"):
        tables[ALL]
    for unknown in ("height", ("sex", "height"), ("sex", "sex"), (), 0, None, slice(1), [["sex"]]):
        with pytest.raises(DomainError, match="out of 'age', 'sex', 'car'"):
            tables[unknown]
    for order in (("sex",), ("sex", "age"), ("sex", 1), None, "sex", ("sex", "sex")):
        with pytest.raises(LdpstatsError, match="in any order"):
            tables["sex", "car"].reordered(order)


def test_reports_of_equal_noise_are_one_block(domain: Domain, people: pd.DataFrame) -> None:
    """Subset selection of one value out of four is randomized response."""
    sets = [SampledGroups(domain, mechanism=m, epsilon=1.0).collect(people, rng=7) for m in ("grr", "oue", "ss")]
    assert {table.domain.size(): len(table.blocks) for table in reduce(add, sets)} == {4: 2, 6: 3}


@pytest.fixture
def saved(domain: Domain, people: pd.DataFrame) -> str:
    return SampledGroups(domain, mechanism="oue", groups=[("age", "sex")], epsilon=1.0).collect(people, rng=1).to_json()


def test_truncated_and_foreign_texts_are_refused(domain: Domain, saved: str) -> None:
    foreign = ["null", "{}", "3", domain.to_json(), SampledGroups(domain, epsilon=1.0).to_json(), None, 5]
    for text in [*(saved[:cut] for cut in range(0, len(saved), 7)), saved + "}", *foreign]:
        with pytest.raises(LdpstatsError, match=r"not a saved table set.*Allowed: "):
            TableSet.from_json(text)


WRONG: dict[str, list[Any]] = {
    "tally n": [-1, 10, 3000.5, "3000", True, [], None],
    "tally counts": [[1, 2], {"array": ["<f8", [6], [1.5] * 6]}, {"array": ["<i8", [6], [-1] * 6]}, None],
    "tally simulated": ["no", -1, 3001, True, None],
    "tally": [{"same": 0}, {"same": 99}, None, "0", True],
    "question attributes": [["age"], ["sex", "age"], ["age", "age"], [1, 2], None],
    "question shape": [[2, 3], [6], [3, 2, 1], [3.0, 2.0], [10**30, 1], ["a", "b"], None],
    "question classes": [[0, 1], [0] * 6, [0, 1, 2, 3, 4, 7], "012345", 3, {"range": 7}, {"range": 10**9}, None],
    "answers": [None, 3],
    "tally noise": [{}, [], {"Magic": {}}, {"DenseChannel": {"rows": []}}, {"SupportNoise": {"cells": 6}}, None],
}


@pytest.mark.parametrize("path", WRONG)
def test_damaged_blocks_are_refused(saved: str, path: str) -> None:
    for value in WRONG[path]:
        with pytest.raises(LdpstatsError, match="not a saved table set"):
            TableSet.from_json(forged(saved, f"tables 0 blocks 0 {path}", value))


def test_saved_and_merged_tables_say_what_was_added_up() -> None:
    domain = Domain({name: ["x", "y"] for name in "abc"})
    tables, others = (SampledGroups(domain, epsilon=1.0).simulate(np.full(8, 100), rng=seed) for seed in (1, 2))
    added = [tables["a", "b"].marginal("a"), tables.pooled("b"), tables["a", "c"]]
    kept = TableSet(domain, added, tables.privacy)
    assert [one.provenance for one in TableSet.from_json(kept.to_json())] == [one.provenance for one in added]
    more = TableSet(
        domain, [others["a", "c"].marginal("a"), others["a", "b"].marginal("b"), others["a", "c"]], kept.privacy
    )
    first, second, third = (one.provenance for one in kept + more)
    assert first == Summed(("a",), (("a", "b"), ("a", "c")))
    assert second.words == "What reports tell about b, each counted once: pooled from a and b; b and c."
    assert third == Collected()


def test_pooled_tables_of_several_attributes_leave_memory(domain: Domain, people: pd.DataFrame) -> None:
    tables = SampledGroups(domain, epsilon=1.0).collect(people, rng=2)
    assert tables.pooled("sex") is tables.pooled("sex")
    held = weakref.ref(tables.pooled("sex", "car"))
    gc.collect()
    assert not held()
