"""Tables of common respondents: what they save, count and say, and what is made of them stands for all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.spoken import spoken
from support.three_attributes import THREE, TRUTH

import ldpstats as ldp
from ldpstats import LdpstatsError, TableSet
from ldpstats.consistency.agreement import AgreeingFit, shared_quantities
from ldpstats.consistency.marginals import Marginal, marginals_of


@pytest.fixture
def frame() -> pd.DataFrame:
    codes = np.stack(np.unravel_index(np.random.default_rng(7).choice(12, size=150, p=TRUTH), THREE.shape), axis=1)
    return THREE.decode(codes)


def test_a_saved_set_writes_every_tally_and_every_row_once(frame: pd.DataFrame) -> None:
    tables = ldp.HadamardCoefficients(THREE, epsilon=1.0).collect(frame, rng=1)
    tallies = [block.tally for table in tables for block in table.blocks]
    different = {(one.noise, one.n, one.counts.tobytes()) for one in tallies}
    assert tables.to_json().count('"Tally"') == len(different) < len(tallies)
    again = TableSet.from_json(tables.to_json())
    blocks = {block.answers: block.tally for block in again["a", "b"].blocks}
    assert any(blocks.get(block.answers) is block.tally for block in again["a", "c"].blocks)
    crossed_tables = ldp.PerAttribute(THREE, epsilon=3.0, k=2).collect(frame, rng=1)
    assert crossed_tables.to_json().count('"CrossedRows"') == 1
    loaded = TableSet.from_json(crossed_tables.to_json())
    assert len({id(rows) for table in loaded for rows in table.rows}) == 1
    assert loaded.to_json() == crossed_tables.to_json()


def test_a_set_counts_every_report_once_and_says_which_tables_share(frame: pd.DataFrame) -> None:
    for protocol, n, told in (
        (ldp.SampledGroups(THREE, epsilon=1.0), 150, ""),
        (ldp.HadamardCoefficients(THREE, epsilon=1.0), 150, "3 tables share reports"),
        (ldp.PerAttribute(THREE, epsilon=1.0, k=2), 150, "3 tables share reports"),
        (ldp.PerAttribute(THREE, epsilon=1.0), 450, "3 tables share respondents"),
    ):
        real, drawn = protocol.collect(frame), protocol.collect(frame, rng=1)
        assert (real.n, real.simulated, drawn.simulated) == (n, 0, n)
        assert ((real + drawn).n, (real + drawn).simulated) == (2 * n, n)
        assert told in spoken(real.summary())
        assert ("share" in spoken(real.summary())) == bool(told)


def test_consistent_tables_stand_for_those_that_they_were_made_of() -> None:
    joint = np.rint(3000 * TRUTH).astype(int)
    tables = ldp.SampledGroups(THREE, epsilon=2.0).simulate(joint, rng=1)
    fitted = ldp.make_consistent(tables)
    direct, indirect = (ldp.reconstruct(one, list("abc")) for one in (tables, fitted))
    assert indirect.estimate == pytest.approx(direct.estimate, abs=1e-12)
    assert indirect.covariance == pytest.approx(direct.covariance, rel=1e-9)
    assert fitted.pooled("a").estimate == pytest.approx(tables.pooled("a").estimate, abs=1e-12)
    with pytest.raises(LdpstatsError, match="a reconstructed table"):
        ldp.make_consistent(TableSet(THREE, [*tables, direct], tables.privacy))
    collapsed = fitted["a", "b"].collapse({"b": {"one": [0, 1], "other": [2]}})
    with pytest.raises(LdpstatsError, match="whose categories were put together since"):
        Marginal.of(collapsed)


def test_tests_and_intervals_of_consistent_tables_are_those_of_the_linear_fit() -> None:
    joint = np.rint(300 * TRUTH).astype(int)
    tables = ldp.SampledGroups(THREE, epsilon=0.5).simulate(joint, rng=2)
    marginals = marginals_of(tables)
    fit = AgreeingFit(marginals, shared_quantities(marginals))
    linear = fit.tables([one.estimate for one in marginals])
    for table, expected_cells in zip(ldp.make_consistent(tables), linear, strict=True):
        assert table.estimate.min() >= 0
        assert table.measured.estimate == pytest.approx(expected_cells, abs=1e-12)
        limits = table.conf_int().reshape(-1, 2)
        assert np.all((limits[:, 0] < expected_cells) & (expected_cells < limits[:, 1]))
    assert min(one.min() for one in linear) < 0


@pytest.mark.parametrize(
    "protocol", [ldp.PerAttribute(THREE, epsilon=4.0, k=2), ldp.HadamardCoefficients(THREE, epsilon=2.0)]
)
def test_reconstructed_tables_say_how_many_reports_they_are_made_of_each_counted_once(protocol: Any) -> None:
    tables = protocol.simulate(np.rint(3000 * TRUTH).astype(int), rng=1)
    for method in ("max-entropy", "shrinkage"):
        made = ldp.reconstruct(tables, list("abc"), method, n_resamples=2)
        assert made.n == made.simulated == tables.n
        assert made.parts.n == tables.n
        assert TableSet(THREE, [*tables, made], tables.privacy).n == tables.n


def test_a_reconstructed_table_has_the_respondents_of_those_that_it_was_made_of() -> None:
    joint = np.rint(3000 * TRUTH).astype(int)
    protocol = ldp.WholeView(THREE, epsilon=4.0, views=[[("a", "b"), ("c",)], [("a", "c"), ("b",)]])
    tables, others = (protocol.simulate(joint, rng=seed) for seed in (1, 2))
    made, other = (ldp.reconstruct(one, list("abc")) for one in (tables, others))
    alone = TableSet(THREE, [made], tables.privacy)
    assert TableSet(THREE, [*tables, made, tables.pooled("a")], tables.privacy).n == tables.n == 2 * made.parts.n
    assert (alone + others).n == tables.n + others.n
    with pytest.raises(LdpstatsError, match="same respondents twice"):
        alone + tables
    with pytest.raises(LdpstatsError, match="same respondents twice"):
        ldp.homogeneity_test([made, ldp.reconstruct(tables, list("abc"), "l1", n_resamples=2)])
    assert ldp.homogeneity_test([made, other]).pvalue > 1e-6
    both = [TableSet(THREE, [one.pooled("a")], one.privacy) for one in (tables, others)]
    assert (both[0] + both[1]).n == sum(one["a", "b"].n + one["a", "c"].n for one in (tables, others))


def test_classes_of_crossed_answers_are_not_counted_beside_their_rows() -> None:
    tables = ldp.PerAttribute(THREE, epsilon=4.0, k=2).simulate(np.rint(3000 * TRUTH).astype(int), rng=1)
    classes = {"b": {"one": [0, 1], "other": [2]}}
    plain, collapsed = tables.pooled("a"), tables.collapse(classes).pooled("a")
    assert collapsed.n == plain.n == tables.n
    assert np.all(collapsed.std_err > 0.999 * plain.std_err)


def test_consistent_tables_of_other_classes_are_not_reconstructed_from() -> None:
    tables = ldp.SampledGroups(THREE, epsilon=2.0).simulate(np.rint(3000 * TRUTH).astype(int), rng=1)
    collapsed = ldp.make_consistent(tables).collapse({"b": {"one": [0, 1], "other": [2]}})
    with pytest.raises(LdpstatsError, match="whose categories were put together since"):
        ldp.reconstruct(collapsed, list("abc"))


def test_a_consistent_table_has_the_respondents_of_all_that_it_agrees_with() -> None:
    protocol = ldp.SampledGroups(THREE, epsilon=2.0, groups=[("a", "b"), ("b", "c")])
    tables, others = (protocol.simulate(np.rint(3000 * TRUTH).astype(int), rng=seed) for seed in (1, 2))
    fitted = ldp.make_consistent(tables)
    assert fitted.n == tables.n == fitted["a", "b"].parts.n
    assert fitted["a", "b"].n == tables["a", "b"].n
    assert "share" not in spoken(fitted.summary())
    heard = fitted["a", "b"].marginal("b")
    with pytest.raises(LdpstatsError, match="same respondents twice"):
        ldp.homogeneity_test([heard, tables["b", "c"].marginal("b")])
    assert ldp.homogeneity_test([heard, others["b", "c"].marginal("b")]).pvalue > 1e-6
    apart = TableSet(THREE, [tables["a", "b"], others["b", "c"].marginal("c")], tables.privacy)
    assert ldp.make_consistent(apart)["a", "b"].parts == tables["a", "b"].parts
