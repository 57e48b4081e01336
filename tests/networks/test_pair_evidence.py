"""Evidence of pairs: what changes it and what does not, corrected and shrunken information, and sets drawn again."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

import ldpstats as ldp
from ldpstats import Domain, LdpstatsError
from ldpstats.datasets import network
from ldpstats.networks import pair_evidence
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.shrunken_information import plug_in_information
from ldpstats.tables import TableSet

ASIA = network("asia")
EXACT = 60.0
FIGURES = ("information", "shrunken", "pvalue")


@pytest.fixture(scope="module")
def tables() -> TableSet:
    return ldp.SampledGroups(ASIA.domain, epsilon=4.0).simulate(ASIA.sample(50_000, 1), rng=1)


@pytest.fixture(scope="module")
def evidence(tables: TableSet) -> PairEvidence:
    return PairEvidence.of(tables)


def by_pair(evidence: PairEvidence) -> pd.DataFrame:
    rows = {frozenset(pair): place for place, pair in enumerate(evidence.pairs)}
    order = [rows[pair] for pair in sorted(rows, key=sorted)]
    return pd.DataFrame({figure: getattr(evidence, figure)[order] for figure in FIGURES})


def test_the_order_of_attributes_and_tables_changes_nothing(tables: TableSet, evidence: PairEvidence) -> None:
    names = tables.domain.names[::-1]
    turned = TableSet(tables.domain.project(names), list(tables)[::-1], tables.privacy)
    found = PairEvidence.of(turned)
    assert found.pairs[0] == names[:2]
    pd.testing.assert_frame_equal(by_pair(found), by_pair(evidence), rtol=1e-7, atol=1e-12)


def test_the_order_of_categories_changes_nothing() -> None:
    people = ASIA.sample(20_000, 2)
    turned = Domain({name: values[::-1] for name, values in ASIA.domain.categories.items()})
    # as good as without noise, so that both see the same
    found, other = (
        PairEvidence.of(ldp.ProductDomain(domain, epsilon=EXACT).simulate(people, rng=1))
        for domain in (ASIA.domain, turned)
    )
    pd.testing.assert_frame_equal(by_pair(found), by_pair(other), rtol=1e-6, atol=1e-9)


def test_as_good_as_without_noise_information_is_that_of_the_records() -> None:
    tables = ldp.ProductDomain(ASIA.domain, epsilon=EXACT).simulate(ASIA.sample(100_000, 3), rng=1)
    (whole,) = tables
    found = PairEvidence.of(tables)
    for pair, shrunken, information in zip(found.pairs, found.shrunken, found.information, strict=True):
        table = whole.marginal(pair)
        assert information == pytest.approx(ldp.mutual_information(table).estimate, rel=1e-3, abs=1e-8)
        # of next to nothing, what there is may be noise
        assert shrunken == pytest.approx(plug_in_information(table.estimate), rel=0.01, abs=5e-5)


def test_pvalues_are_adjusted_for_all_pairs(tables: TableSet, evidence: PairEvidence) -> None:
    assert np.array_equal(evidence.adjusted, false_discovery_control(evidence.pvalue))
    shared = PairEvidence.of(ldp.WholeView(ASIA.domain, epsilon=9.0).simulate(ASIA.sample(5000, 1), rng=1))
    assert np.array_equal(shared.adjusted, false_discovery_control(shared.pvalue, method="by"))
    assert tables.n == 50_000


def test_sets_are_drawn_again_as_often_as_asked_and_by_their_seed(evidence: PairEvidence) -> None:
    found, same = (list(evidence.redrawn(27, rng=5)) for _ in range(2))
    assert len(found) == 27
    assert all(np.array_equal(one.shrunken, other.shrunken) for one, other in zip(found, same, strict=True))
    strongest = int(np.argmax(evidence.shrunken))
    drawn = np.array([one.shrunken[strongest] for one in found])
    assert drawn.mean() == pytest.approx(evidence.shrunken[strongest], rel=0.05)
    assert drawn.std() > 0
    with pytest.raises(LdpstatsError, match="size"):
        next(evidence.redrawn(0))


def test_a_set_read_again_gives_the_same(tables: TableSet, evidence: PairEvidence) -> None:
    again = PairEvidence.of(TableSet.from_json(tables.to_json()))
    for figure in FIGURES:
        assert np.array_equal(getattr(again, figure), getattr(evidence, figure))


def test_consistent_tables_are_taken_as_they_were_collected(tables: TableSet, evidence: PairEvidence) -> None:
    consistent = PairEvidence.of(ldp.make_consistent(tables))
    assert np.allclose(consistent.shrunken, evidence.shrunken)


@pytest.mark.parametrize("n", [3, 20, 200])
@pytest.mark.parametrize("epsilon", [1.0, EXACT])
def test_few_respondents_and_categories_nobody_has_leave_numbers(n: int, epsilon: float) -> None:
    people = ASIA.sample(n, 1).assign(asia="no", tub="no")
    evidence = PairEvidence.of(ldp.SampledGroups(ASIA.domain, epsilon=epsilon).simulate(people, rng=1))
    assert len(evidence.pairs) + len(evidence.missing) == 28
    for found in (evidence, *evidence.redrawn(3, rng=1)):
        assert all(np.all(np.isfinite(getattr(found, figure))) for figure in FIGURES)
        assert found.shrunken.min() >= 0
    nothing = [place for place, pair in enumerate(evidence.pairs) if {"asia", "tub"}.intersection(pair)]
    assert evidence.pvalue[nothing].min() > 0.05 / 28


def test_tables_of_single_attributes_are_refused() -> None:
    alone = ldp.SampledGroups(ASIA.domain, epsilon=2.0, k=1).simulate(ASIA.sample(100, 1), rng=1)
    with pytest.raises(LdpstatsError, match="no two of"):
        PairEvidence.of(alone)


def test_pvalues_by_drawn_tables_are_fine_enough_for_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    domain, tests = Domain({name: ["x", "y"] for name in "abcd"}), list[int]()

    def seen(_: object, __: object, pvalue: float, among: int, **___: object) -> float:
        tests.append(among)
        return pvalue

    monkeypatch.setattr(pair_evidence, "checked_pvalue", seen)
    PairEvidence.of(ldp.SampledGroups(domain, epsilon=2.0).simulate(np.full(16, 50), rng=1))
    assert tests == [6] * 6
