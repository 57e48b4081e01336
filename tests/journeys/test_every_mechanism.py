"""Every registered mechanism goes the whole way: protocol, wire, tables, files, tests, estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ldpstats as ldp
from ldpstats.mechanisms import REGISTRY, Mechanism, mechanism

LASTING = "repeated answers"
KINDS = [kind for kind in REGISTRY if kind.only_k is None]
DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q"]})


def respondents(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    same = rng.random(n) < 0.9
    a = rng.integers(0, 2, n)
    return DOMAIN.decode(np.column_stack([a, np.where(same, a, 1 - a)]))


def shares(people: pd.DataFrame) -> np.ndarray:
    codes = DOMAIN.encode(people)
    return np.bincount(codes[:, 0] * 2 + codes[:, 1], minlength=4) / len(people)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_it_carries_a_survey_from_answers_to_a_verdict(kind: type[Mechanism]) -> None:
    people = respondents(6000)
    protocol = ldp.SampledGroups(DOMAIN, groups=[("a", "b")], epsilon=4.0, mechanism=kind.name)
    assert ldp.SampledGroups.from_json(protocol.to_json()) == protocol
    over_the_wire = protocol.tables(protocol.reports(people, rng=1))
    for tables in (over_the_wire, protocol.collect(people, rng=2), protocol.simulate(people, rng=3)):
        table = tables["a", "b"]
        deviation = table.estimate.ravel() - shares(people)
        # 6 standard errors of four cells: below 1e-7
        assert np.all(np.abs(deviation) < 6 * np.sqrt(np.diagonal(table.covariance)) + 1e-9)
        assert ldp.independence_test(table).pvalue < 1e-3
        again = ldp.TableSet.from_json(tables.to_json())["a", "b"]
        assert np.array_equal(again.estimate, table.estimate)
        assert again.blocks[0].noise == table.blocks[0].noise


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_all_its_names_find_it(kind: type[Mechanism]) -> None:
    for name in (kind.name, *kind.aliases, kind.name.upper()):
        assert type(mechanism(name, k=5, epsilon=1.0)) is kind


def test_no_two_mechanisms_share_a_name() -> None:
    names = [name for kind in REGISTRY for name in (kind.name, *kind.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_its_figures_are_sensible(kind: type[Mechanism]) -> None:
    for k, epsilon in ((2, 0.5), (9, 1.0), (100, 3.0)):
        made = kind(k=k, epsilon=epsilon)
        assert 0 < made.strict_epsilon() <= epsilon
        assert 1 <= made.report_bits <= made.report_format.bits
        assert made.variance(1 / k, 100) > (1 / k) * (1 - 1 / k) / 100


EXTREME = [(kind, epsilon) for kind in KINDS for epsilon in (50.0, 100.0) if epsilon == 50 or kind.purpose != LASTING]


@pytest.mark.parametrize(("kind", "epsilon"), EXTREME, ids=str)
def test_levels_beyond_what_doubles_tell_still_give_the_truth(kind: type[Mechanism], epsilon: float) -> None:
    """Probabilities are 0 and 1 there but for rounding; warnings are errors."""
    made = kind(k=4, epsilon=epsilon)
    reports = made.privatize(np.repeat([0, 1], [600, 300]), rng=6)
    for method in ("unbiased", "mle", "simplex"):
        estimate = made.estimate(reports, method).estimate
        # a cohort or a revealed bit is chance even without noise: 6 standard deviations of 900 reports
        assert estimate == pytest.approx([2 / 3, 1 / 3, 0, 0], abs=6 * np.sqrt(made.variance(0.5, 900)) + 1e-9)


def test_two_rounds_that_do_not_both_fit_on_the_grid_are_refused() -> None:
    with pytest.raises(ldp.LdpstatsError, match=r"first_epsilon = 50.*levels below about 45"):
        ldp.LGRR(4, 100.0)
