"""Tables nobody collected: what every way agrees on, their covariances, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from ldpstats import (
    Domain,
    LdpstatsError,
    NotIdentifiedError,
    SampledGroups,
    Table,
    TableSet,
    association,
    independence_test,
)
from ldpstats.consistency.consistent import make_consistent
from ldpstats.consistency.least_violation import fitted_joint, least_violating_refits, shortest_refits
from ldpstats.consistency.marginals import Marginal
from ldpstats.consistency.reconstruction import reconstruct
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.simplex import nearest_proper, proportionally_fitted
from ldpstats.noise import Tally

DOMAIN = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1]})
PAIRS = [("a", "b"), ("b", "c")]
METHODS = ["max-entropy", "em", "shrinkage", "l2", "l1", "elastic-net"]
each_method = pytest.mark.parametrize("method", METHODS)


def chain() -> Any:
    """Return frequencies in which a and c depend on each other through b only; d on nothing."""
    b = np.array([0.5, 0.3, 0.2])
    a_given_b, c_given_b = (
        np.array([[0.8, 0.2], [0.4, 0.6], [0.1, 0.9]]),
        np.array([[0.3, 0.7], [0.6, 0.4], [0.9, 0.1]]),
    )
    abc = np.einsum("b,ba,bc->abc", b, a_given_b, c_given_b)
    return abc[..., None] * np.array([0.6, 0.4])


def collected(epsilon: float, n: int = 40_000, seed: int = 1, **options: Any) -> TableSet:
    protocol = SampledGroups(DOMAIN, epsilon=epsilon, **{"mechanism": "grr", **options})
    counts = np.random.default_rng(seed).multinomial(n, chain().ravel())
    return protocol.simulate(counts, rng=seed)


def nearly_exact() -> TableSet:
    return collected(40.0, 9 * 10**8)


@each_method
def test_without_noise_the_tables_that_were_collected_come_back(method: Any) -> None:
    tables = nearly_exact()
    made = reconstruct(tables, tuple("abc"), method, n_resamples=2)
    for pair in combinations("abc", 2):
        assert made.marginal(pair).estimate == pytest.approx(tables[pair].estimate, abs=3e-4)


@pytest.mark.parametrize("method", ["max-entropy", "em", "shrinkage"])
def test_a_chain_is_found_from_its_pairs(method: Any) -> None:
    made = reconstruct(nearly_exact(), tuple("abc"), method, n_resamples=2)
    assert made.estimate == pytest.approx(chain().sum(axis=-1), abs=2e-2 if method == "em" else 1e-3)


def test_maximum_entropy_goes_through_attributes_that_nobody_asked_for() -> None:
    """The pair (a, c) was never collected: what its attributes share is what both share with b."""
    tables = collected(40.0, 9 * 10**8, groups=PAIRS)
    assert reconstruct(tables, tuple("ac")).estimate == pytest.approx(chain().sum(axis=(1, 3)), abs=1e-3)


@each_method
def test_proportions_are_proper_and_attributes_may_stand_in_any_order(method: Any) -> None:
    tables = collected(1.0, 4_000)
    made, turned = (reconstruct(tables, tuple(names), method, n_resamples=2) for names in ("abd", "dba"))
    assert made.estimate.min() >= 0
    assert made.estimate.sum() == pytest.approx(1, abs=1e-12)
    assert turned.estimate.transpose() == pytest.approx(made.estimate, abs=2e-5)
    assert made.attributes == ("a", "b", "d")


@pytest.mark.parametrize("method", ["em", pytest.param("l2", marks=pytest.mark.exhaustive)])
def test_standard_errors_are_those_of_repeated_collections(method: Any) -> None:
    """The ratio of mean variances from 100 collections strays by a tenth; by half never, the seeds being fixed.

    Those of maximum entropy are compared with a simulation in test_maximum_entropy.py.
    """
    estimates, variances = [], []
    for seed in range(100):
        tables = collected(4.0, seed=seed)
        made = reconstruct(tables, tuple("abc"), method, n_resamples=20 if seed < 10 else 2)
        estimates.append(made.estimate.ravel())
        if seed < 10:
            variances.append(np.diagonal(made.covariance))
    assert np.mean(variances) == pytest.approx(np.var(estimates, axis=0, ddof=1).mean(), rel=0.5)


def test_what_nobody_was_asked_is_not_tested_and_an_effect_rests_on_the_model() -> None:
    made = reconstruct(collected(4.0, groups=PAIRS), tuple("ac"))
    with pytest.raises(NotIdentifiedError):
        independence_test(made)
    low, high = association(made).conf_int()
    pairs = chain().sum(axis=(1, 3))
    gaps = pairs - np.outer(pairs.sum(axis=1), pairs.sum(axis=0))
    assert low < np.sqrt((gaps**2 / np.outer(pairs.sum(axis=1), pairs.sum(axis=0))).sum()) < high


def test_the_result_says_how_it_was_made() -> None:
    tables = collected(2.0)
    made = reconstruct(tables, tuple("abc"), "l2", n_resamples=3)
    assert (made.method, made.simulated, made.privacy) == ("reconstructed (l2)", made.n, tables.privacy)
    assert made.n == tables.n
    text = str(made.summary())
    assert "Reconstructed from 6 tables" in text
    assert "3 sets of tables" in text
    assert "maximum entropy" in str(reconstruct(tables, tuple("abc")).summary())


def test_covariances_are_reproducible_and_a_seed_changes_them() -> None:
    tables = collected(2.0)
    one, again, other = (
        reconstruct(tables, tuple("ab"), "em", n_resamples=5, rng=rng).covariance for rng in (None, None, 3)
    )
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("method", ["max-entropy", "shrinkage", "l2"])
def test_tables_that_were_made_consistent_can_be_put_together(method: Any) -> None:
    tables = collected(4.0)
    from_raw, from_fitted = (
        reconstruct(one, tuple("abc"), method, n_resamples=3) for one in (tables, make_consistent(tables))
    )
    assert from_fitted.estimate == pytest.approx(from_raw.estimate, abs=0.03)
    assert np.all(np.isfinite(from_fitted.covariance))


def test_what_cannot_be_put_together_is_refused() -> None:
    tables = collected(2.0)
    with pytest.raises(LdpstatsError, match="a list\\. Allowed: a TableSet"):
        reconstruct(list(tables), tuple("ab"))  # type: ignore[arg-type]  # this is what is refused
    with pytest.raises(LdpstatsError, match="'max-entropy', 'em', 'shrinkage'"):
        reconstruct(tables, tuple("ab"), "entropy")  # type: ignore[arg-type]  # this is what is refused
    with pytest.raises(LdpstatsError, match="'x'"):
        reconstruct(tables, tuple("ax"))
    with pytest.raises(NotIdentifiedError, match="'d'"):
        reconstruct(collected(2.0, groups=PAIRS), tuple("ad"))
    with pytest.raises(LdpstatsError, match="without a likelihood"):
        reconstruct(collected(2.0, mechanism="olh"), tuple("ab"), "em")
    with pytest.raises(LdpstatsError, match="no reports behind the tables"):
        reconstruct(SampledGroups(DOMAIN, epsilon=1.0).simulate(np.zeros(24, dtype=int), rng=1), tuple("ab"))


@pytest.mark.parametrize(
    ("method", "share", "error"), [("l2", 0.0, 1e-5), ("l1", 1.0, 1e-3), ("elastic-net", 0.5, 1e-5)]
)
def test_refits_are_what_a_solver_finds_for_each(method: str, share: float, error: float) -> None:
    """Ten sets of estimates that contradict one another, and have negative cells."""
    target = DOMAIN.project(tuple("abc"))
    rng = np.random.default_rng(4)
    marginals, estimates = [], []
    for names in (("a", "b"), ("b", "c"), ("a", "c"), ("a",)):
        sides = target.project(names).shape
        cells = math.prod(sides)
        covariance = (np.eye(cells) - 1 / cells) * rng.uniform(0.001, 0.003)
        truth = rng.dirichlet(np.ones(cells))
        marginals.append(Marginal(names, sides, truth, covariance, 1000))
        estimates.append(rng.multivariate_normal(truth, covariance, size=10, method="eigh"))
    sums = [target.onto(one.attributes) for one in marginals]
    exact = np.array(
        [
            fitted_joint([replace(one, estimate=own) for one, own in zip(marginals, row, strict=True)], target, method)
            for row in zip(*estimates, strict=True)
        ]
    )
    if share == 0:
        found = shortest_refits(marginals, estimates, target)
        assert np.abs(found - exact).max() < error
        return
    start = fitted_joint(marginals, target, method)
    found = least_violating_refits(marginals, estimates, target, share, start)
    even = [proportionally_fitted(one, sums) for one in (found, exact)]
    assert np.abs(even[0] - even[1]).max() < error


def redrawn(table: Table, rng: np.random.Generator) -> Table:
    """Draw a table of as many reports, through the same noise, whose truth is its estimate, made proper."""
    proper = nearest_proper(table.unbiased.estimate)
    return replace(
        table,
        blocks=tuple(
            Block(block.question, Tally(block.noise, block.draw(proper, 1, rng)[0], block.n, simulated=True))
            for block in table.blocks
        ),
    )


@pytest.mark.parametrize("method", ["l2", "l1", "elastic-net", "shrinkage"])
def test_covariances_of_refits_are_those_of_reconstructions_of_tables_drawn_anew(method: Any) -> None:
    """Each of 30 drawn sets is put together from the start; mean variances of 30 stray by a quarter at most."""
    tables = collected(3.0)
    made = reconstruct(tables, tuple("abc"), method, n_resamples=200)
    rng = np.random.default_rng(5)
    drawn = [TableSet(tables.domain, [redrawn(one, rng) for one in tables], tables.privacy) for _ in range(30)]
    again = np.var([reconstruct(one, tuple("abc"), method, n_resamples=2).estimate.ravel() for one in drawn], axis=0)
    assert np.diagonal(made.covariance).mean() == pytest.approx(again.mean(), rel=0.6)
