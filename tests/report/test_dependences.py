"""Dependences in a report: every figure is that of the tests, effects and respondents needed of the same tables."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.estimation import pvalue_in_words
from ldpstats.presentation import Panel
from ldpstats.report.content import Figure, Part, Rows
from ldpstats.report.dependences import not_found, pairs
from ldpstats.report.estimates import raw_and_private
from ldpstats.report.studied_tables import StudiedTables

DOMAIN = ldp.Domain({"age": ["young", "adult", "old"], "sex": ["F", "M"], "car": ["yes", "no"], "pet": [0, 1]})
PEOPLE = np.random.default_rng(1).multinomial(20_000, np.random.default_rng(2).dirichlet(np.full(24, 20.0)))


@pytest.fixture(scope="module", name="tables")
def all_pairs() -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="grr").simulate(PEOPLE, rng=1)


def rows_of(section: Iterable[Part]) -> pd.DataFrame:
    panel: Panel = next(part for part in section if isinstance(part, Rows)).panel
    return pd.DataFrame(panel.rows, columns=list(panel.headers)).set_index("pair")


def test_rows_are_tests_with_adjusted_p_values_and_effects(tables: ldp.TableSet) -> None:
    tests, shown = ldp.independence_tests(tables), rows_of(pairs(StudiedTables(tables)))
    assert len(shown) == len(tests) == 6
    for test in tests:
        table = tables[test.attributes]
        low, high = ldp.association(table).conf_int()
        assert shown.loc[" × ".join(table.attributes)].tolist() == [
            f"{test.cramers_v:.3f}",
            f"{low:.3f}",
            f"{high:.3f}",
            f"{test.statistic:.4g}",
            str(test.df),
            pvalue_in_words(test.pvalue, 2),
            pvalue_in_words(test.adjusted, 2),
            test.verdict,
        ]
    assert (shown["p-value"] != shown["adjusted p"]).any()


def test_a_pair_is_spoken_of_with_its_adjusted_p_value(tables: ldp.TableSet) -> None:
    tests = ldp.independence_tests(tables)
    for pair in StudiedTables(tables).ranked_pairs:
        test = tests[pair.table.attributes]
        assert f"adjusted p {pvalue_in_words(test.adjusted, 2)};" in pair.said
    assert any(pvalue_in_words(test.adjusted, 2) != pvalue_in_words(test.pvalue, 2) for test in tests)


def test_what_was_not_found_has_the_upper_end_the_power_and_the_respondents_of_its_own_pair(
    tables: ldp.TableSet,
) -> None:
    tests = ldp.independence_tests(tables)
    needed = dict(zip(tests, tests.respondents_needed()["least"], strict=True))
    missed = {test: number for test, number in needed.items() if test.verdict == "no dependence shown"}
    shown = rows_of(not_found(StudiedTables(tables)))
    assert 1 < len(shown) == len(missed)
    for test, number in missed.items():
        table = tables[test.attributes]
        assert shown.loc[" × ".join(table.attributes)].tolist() == [
            f"{ldp.association(table).conf_int()[1]:.3f}",
            f"{test.power:.2f}",
            f"at least {float(f'{number:.2g}'):,.0f}",
        ]
    assert shown["V is at most"].tolist() == sorted(shown["V is at most"], reverse=True)


def test_raw_figures_stand_for_raw_ones_and_it_says_that_all_is_simulated(tables: ldp.TableSet) -> None:
    section = raw_and_private(StudiedTables(tables), PEOPLE)
    shares, effects = (part.picture for part in section if isinstance(part, Figure))
    joint = PEOPLE.reshape(DOMAIN.shape) / PEOPLE.sum()
    np.testing.assert_allclose(shares.to_frame()["raw"][:3], joint.sum(axis=(1, 2, 3)))
    np.testing.assert_allclose(shares.to_frame()["private"][:3], tables.pooled("age").estimate)
    frame = effects.to_frame().set_index("label")
    for table in tables:
        if " × ".join(table.attributes) in frame.index:
            raw, private = frame.loc[" × ".join(table.attributes), ["raw", "private"]]
            others = tuple(place for place, name in enumerate(DOMAIN.names) if name not in table.attributes)
            exact = joint.sum(axis=others)
            expected = np.outer(exact.sum(axis=1), exact.sum(axis=0))
            chi2 = ((exact - expected) ** 2 / expected).sum()
            assert raw == pytest.approx(np.sqrt(chi2 / (min(exact.shape) - 1)))
            assert private == ldp.association(table).cramers_v
    assert all(picture.notes[0].startswith("simulated: 20,000 reports") for picture in (shares, effects))
