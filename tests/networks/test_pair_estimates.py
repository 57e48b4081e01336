"""Estimates of pairs: each report once, margins from all other tables, and sets that are drawn again."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, helmert
from scipy.stats import chi2

import ldpstats as ldp
from ldpstats import Domain
from ldpstats.conformance.requirements import FALSE_FAILURE_RATE
from ldpstats.networks.interactions import interactions_of
from ldpstats.networks.pair_estimates import PairSources
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import TableSet

DOMAIN = Domain({"a": ["x", "y"], "b": ["x", "y", "z"], "c": ["x", "y"]})
PEOPLE = np.random.default_rng(1).multinomial(20_000, np.random.default_rng(2).dirichlet(np.full(12, 9.0)))


def pairs_of(tables: TableSet) -> PairSources:
    return PairSources.of(tables.domain, tables)


def combined(estimates: list[FloatArray], spreads: list[FloatArray], sums: list[FloatArray]) -> FloatArray:
    """Return generalized least squares in the contrasts of the cells, of what is known about sums of them."""
    contrasts = helmert(sums[0].shape[1]).T
    even = np.full(sums[0].shape[1], 1 / sums[0].shape[1])
    information, score = np.zeros((contrasts.shape[1],) * 2), np.zeros(contrasts.shape[1])
    for estimate, spread, added in zip(estimates, spreads, sums, strict=True):
        weighted = (added @ contrasts).T @ np.linalg.pinv(spread, rcond=1e-10, hermitian=True)
        information += weighted @ added @ contrasts
        score += weighted @ (estimate - added @ even)
    found: FloatArray = even + contrasts @ np.linalg.solve(information, score)
    return found


def test_margins_of_the_other_tables_come_in_by_generalized_least_squares() -> None:
    tables = ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="grr").simulate(PEOPLE, rng=1)
    sources = pairs_of(tables)
    (found,) = (one for one in sources.estimated(sources.observed) if ("a", "b") in one.pairs)
    place = found.pairs.index(("a", "b"))
    assert found.pools[place].domain.names == ("b", "a")  # b has more categories
    own = found.own[place].ravel()
    margins = [sources.margins[name].among(sources.holding["a", "b"], inside=False) for name in "ba"]
    shares = [one[place] for one in found.margins]
    expected = combined(
        [own, *(pool.mean(sources.observed)[0] for pool in margins)],
        [found.pools[place].covariance(own)]
        + [pool.covariance(own)[0] for pool, own in zip(margins, shares, strict=True)],
        [np.eye(6), np.kron(np.eye(3), np.ones(2)), np.kron(np.ones(3), np.eye(2))],
    )
    seen = interactions_of(expected, np.zeros((6, 6)), *(one[0] for one in shares))
    assert np.allclose(found.seen.correlations(found.seen.along)[place, 0], seen.correlations, atol=1e-9)


def test_a_single_table_is_itself() -> None:
    tables = ldp.SampledGroups(DOMAIN, epsilon=2.0, groups=[("b", "a")]).simulate(PEOPLE, rng=1)
    sources = pairs_of(tables)
    assert sources.missing == (("a", "c"), ("b", "c"))
    (found,) = sources.estimated(sources.observed)
    assert found.errors is None
    assert np.allclose(found.own[0, 0].T, tables["a", "b"].estimate)


def test_a_pair_is_read_from_every_table_that_holds_it() -> None:
    protocol = ldp.SampledGroups(DOMAIN, epsilon=2.0, groups=[("a", "b"), ("a", "b", "c")], mechanism="grr")
    tables = protocol.simulate(PEOPLE, rng=1)
    sources = pairs_of(tables)
    pool, pooled = sources.pools["a", "b"], tables.pooled(["a", "b"])
    assert pool.n == pooled.n == PEOPLE.sum()
    own = pool.mean(sources.observed)
    assert np.allclose(own[0], pooled.estimate.T.ravel(), atol=3e-3)
    assert np.trace(pool.covariance(own)[0]) == pytest.approx(np.trace(pooled.covariance), rel=0.02)


@pytest.mark.parametrize(
    "protocol", [ldp.PerAttribute(DOMAIN, epsilon=6.0, k=2), ldp.ProductDomain(DOMAIN, epsilon=4.0)]
)
def test_reports_that_tell_about_several_pairs_count_once(protocol: ldp.PerAttribute | ldp.ProductDomain) -> None:
    sources = pairs_of(protocol.simulate(PEOPLE, rng=1))
    assert all(one.errors is None for one in sources.estimated(sources.observed))
    assert all(pool.n == PEOPLE.sum() for pool in sources.pools.values())


@pytest.mark.parametrize(
    "protocol",
    [
        ldp.SampledGroups(DOMAIN, epsilon=3.0),
        ldp.HadamardCoefficients(DOMAIN, epsilon=4.0),
        ldp.PerAttribute(DOMAIN, epsilon=9.0, k=2),
    ],
    ids=["each by itself", "reports in common", "answers of the same rows"],
)
def test_sets_are_drawn_again_with_the_covariance_that_they_claim(
    protocol: ldp.SampledGroups | ldp.HadamardCoefficients | ldp.PerAttribute,
) -> None:
    size = 4000
    sources = pairs_of(protocol.simulate(PEOPLE, rng=3))
    drawn = sources.redrawn(size, np.random.default_rng(4))
    table = sources.tables[0]
    contrast = np.linspace(-1, 1, table.domain.size())
    variance = contrast @ table.unbiased.covariance @ contrast
    squares = ((drawn[0] @ contrast - contrast @ drawn[0].mean(axis=0)) ** 2).sum() / variance
    low, high = chi2.ppf([FALSE_FAILURE_RATE / 2, 1 - FALSE_FAILURE_RATE / 2], size - 1)
    assert low < squares < high


COLLECTIONS = {
    "grr": ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="grr"),
    "oue": ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="oue"),
    "hr": ldp.SampledGroups(DOMAIN, epsilon=4.0, mechanism="hr"),
    "hr, triples": ldp.SampledGroups(DOMAIN, k=3, epsilon=4.0, mechanism="hr"),
    "parities of two": ldp.HadamardCoefficients(DOMAIN, epsilon=2.0),
    "parities of three": ldp.HadamardCoefficients(DOMAIN, k=3, epsilon=2.0),
    "whole view": ldp.WholeView(DOMAIN, epsilon=6.0, mechanism="hr"),
}


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("merged", [False, True])
def test_covariances_are_those_of_the_estimates(name: str, merged: bool) -> None:
    tables = COLLECTIONS[name].simulate(PEOPLE, rng=1)
    if merged:
        tables += ldp.SampledGroups(DOMAIN, epsilon=1.0, mechanism="oue").simulate(PEOPLE, rng=2)
    sources = pairs_of(tables)
    for pool in [*sources.pools.values(), *sources.margins.values(), *sources.shown.values()]:
        for part in pool.parts:
            estimate, covariance = sources.tables[part.table].linear
            sums = np.eye(pool.domain.size())[part.of_cell]
            expected = sums.T @ covariance @ sums
            found = part.law.covariance(estimate @ sums) / part.n
            contrasts = helmert(len(found))
            ratios = eigh(contrasts @ found @ contrasts.T, contrasts @ expected @ contrasts.T, eigvals_only=True)
            # at the estimate, and a little beside it; n, and n - 1
            assert np.allclose(ratios, 1, atol=0.05)
