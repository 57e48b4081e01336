"""Errors of pairs by their structure: the same as by the whole covariance of all cells."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats import Domain
from ldpstats.networks import pair_estimates
from ldpstats.networks.pair_errors import even_law
from ldpstats.networks.pair_estimates import PairSources
from ldpstats.networks.pair_evidence import PairEvidence

DOMAIN = Domain({"a": [*"uvwxyz"], "b": [*"xyz"], "c": [*"xy"], "d": [*"vwxyz"]})
PEOPLE = np.random.default_rng(1).multinomial(5000, np.random.default_rng(2).dirichlet(np.full(180, 0.3)))
COLLECTIONS = {
    "grr": ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="grr"),
    "oue": ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="oue"),
    "olh": ldp.SampledGroups(DOMAIN, epsilon=1.0, mechanism="olh"),
    "hardly any noise": ldp.SampledGroups(DOMAIN, epsilon=12.0),
    "some pairs": ldp.SampledGroups(DOMAIN, epsilon=3.0, groups=[("a", "b"), ("c", "a"), ("d", "b")]),
    "triples": ldp.SampledGroups(DOMAIN, k=3, epsilon=3.0),
    "whole view": ldp.WholeView(DOMAIN, epsilon=6.0),
}


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("few", [0, 5])
def test_evidence_by_structure_is_that_by_whole_covariances(
    name: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_estimates, "_FEW", few)  # so that structure is used for tables of that many interactions
    tables = COLLECTIONS[name].simulate(PEOPLE, rng=1)
    laws = {id(part.law): part.law for pool in PairSources.of(DOMAIN, tables).pools.values() for part in pool.parts}
    assert all(law.even is not None for law in laws.values())
    found = [PairEvidence.of(tables), *PairEvidence.of(tables).redrawn(2, rng=1)]
    monkeypatch.setattr(pair_estimates, "even_law", lambda _: None)
    whole = [PairEvidence.of(tables), *PairEvidence.of(tables).redrawn(2, rng=1)]
    for one, other in zip(found, whole, strict=True):
        for figure in ("information", "shrunken", "pvalue"):
            assert np.allclose(getattr(one, figure), getattr(other, figure), rtol=1e-9, atol=1e-14)
        for own, same in zip(one.interactions, other.interactions, strict=True):
            assert np.allclose(own.correlations, same.correlations, rtol=1e-9, atol=1e-12)
            assert np.allclose(own.covariance, same.covariance, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["grr", "oue", "olh", "triples"])
def test_an_even_law_is_that_of_the_estimates(name: str) -> None:
    sources = PairSources.of(DOMAIN, COLLECTIONS[name].simulate(PEOPLE, rng=1))
    for pool in [*sources.pools.values(), *sources.shown.values()]:
        shares = np.random.default_rng(3).dirichlet(np.ones(pool.domain.size()))
        own, rise, common, slope, square = pool.even
        expected = common + slope * (shares[:, None] + shares) - square * np.outer(shares, shares)
        assert np.allclose(pool.covariance(shares), expected + np.diag(own + rise * shares), rtol=1e-12, atol=1e-18)


def test_reports_that_treat_cells_differently_have_no_even_law() -> None:
    tables = ldp.RRBA(DOMAIN, k=2, p=0.5, block_size=250).simulate(PEOPLE, rng=1)
    assert even_law(tables["a", "b"].blocks) is None
    assert even_law(tables["a", "b"].blocks[1:2]) is None
