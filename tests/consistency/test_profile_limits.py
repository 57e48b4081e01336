"""Intervals of cells that may be empty: a solver as oracle, what must not change them, and what they cover."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

from ldpstats import GRR, OUE, SS, Domain, SampledGroups, mechanism
from ldpstats.consistency.marginals import Attributes, Marginal, rise_of_variance
from ldpstats.consistency.maximum_entropy import MaximumEntropy, fit_maximum_entropy, weighed_together
from ldpstats.consistency.profile_limits import ProfileLimits
from ldpstats.consistency.reconstruction import reconstruct
from ldpstats.numbers.arrays import FloatArray

Z = 1.959963984540054
SIZES = {"a": 2, "b": 3, "c": 4, "d": 2}
DOMAIN = Domain({name: [str(value) for value in range(size)] for name, size in SIZES.items()})


def adult_like(groups: Iterable[Attributes] = tuple(combinations(SIZES, 2))) -> FloatArray:
    """Return a distribution with one frequent category each, and with interactions within the groups only."""
    rng = np.random.default_rng(3)
    logs = sum(np.ix_(*[-2.0 * np.arange(size) for size in SIZES.values()]))
    for group in groups:
        weights = rng.normal(scale=0.8, size=[SIZES[name] for name in group])
        logs = logs + weights[tuple(slice(None) if name in group else None for name in SIZES)]
    return np.asarray(np.exp(logs) / np.exp(logs).sum())


def measured(sizes: Mapping[str, int], noise: float, seed: int, tilt: float, n: int = 10**9) -> list[Marginal]:
    """Return noisy marginals of all pairs of attributes whose later categories are ever rarer."""
    rng, names = np.random.default_rng(seed), list(sizes)
    joint = np.exp(sum(np.ix_(*[-tilt * np.arange(size) for size in sizes.values()])))
    found = []
    for pair in combinations(names, 2):
        cells = (joint / joint.sum()).sum(axis=tuple(i for i, name in enumerate(names) if name not in pair)).ravel()
        centred = noise * (np.eye(cells.size) - 1 / cells.size) + 1e-3 * noise * np.eye(cells.size)
        moved = rng.multivariate_normal(cells, noise * (np.eye(cells.size) - 1 / cells.size))
        found.append(Marginal(pair, tuple(sizes[name] for name in pair), moved, centred, n))
    return found


def least(model: MaximumEntropy, cell: int, up: bool) -> float:
    """Return a limit as a solver finds it, over the weights of the terms, best of four starts."""
    sizes = model.terms.tree.sizes
    cells = np.indices(tuple(sizes.values())).reshape(len(sizes), -1).T[:, None]
    has = ((model.terms.levels == 0) | (model.terms.levels == cells)).all(axis=2).astype(float)
    precision = np.linalg.inv(model.known.covariance_of(np.eye(len(model.known.means))))

    def proportions(weights: FloatArray) -> FloatArray:
        logs = has @ weights
        return np.asarray(np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum())

    def misfit(weights: FloatArray) -> float:
        away = proportions(weights) @ has - model.known.means
        return float(away @ precision @ away)

    def solved(goal: Any, start: FloatArray, **options: Any) -> Any:
        bounds = [(-30.0, 30.0)] * has.shape[1]
        return minimize(goal, start, method="SLSQP", bounds=bounds, options={"maxiter": 500, "ftol": 1e-10}, **options)

    starts = [
        np.zeros(has.shape[1]),
        3 * has[cell] - 1.5,
        np.clip(model.point.weights, -3, 3),
        np.clip(model.point.weights, -9, 9),
    ]
    lowest = min(solved(misfit, start).fun for start in starts)
    within = {"type": "ineq", "fun": lambda weights: Z**2 - misfit(weights) + lowest}

    def goal(weights: FloatArray) -> float:
        share = float(proportions(weights)[cell])
        return -math.log(share) if up else 100 * share

    ends = [solved(goal, start, constraints=[within]).x for start in starts]
    shares = [proportions(end)[cell] for end in ends if misfit(end) - lowest < 1.02 * Z**2]
    return float(max(shares) if up else min(shares))


# Oracles.


@pytest.mark.parametrize(("sizes", "seed"), [({"a": 2, "b": 2, "c": 2}, 1), ({"a": 3, "b": 2, "c": 2}, 4)])
def test_limits_are_what_a_solver_finds(sizes: Mapping[str, int], seed: int) -> None:
    """To 3 % of the interval's length: Newton's method stops a little before the least misfit."""
    marginals = measured(sizes, 1e-4, seed, 2.5)
    found = ProfileLimits.of(marginals, tuple(sizes))
    model = found.profile.model
    assert model.marginal(tuple(sizes)).min() < 0.003
    for cell in range(0, found.size, 5):
        low, high = found.profile.interval(np.arange(found.size) == cell, Z)
        assert high == pytest.approx(least(model, cell, up=True), abs=0.03 * (high - low))
        assert low == pytest.approx(least(model, cell, up=False), abs=0.03 * (high - low))


def test_limits_are_normal_where_no_cell_is_near_zero() -> None:
    """The profile itself, which is not asked there."""
    found = ProfileLimits.of(measured({"a": 2, "b": 3, "c": 2}, 1e-8, 1, 0.3), ("a", "b", "c"))
    cells, errors = found.profile.model.marginal(("a", "b", "c")), found.std_err
    assert found.kind == "normal, by the delta method"
    assert np.allclose(
        found.limits(0.05), np.stack([cells - Z * errors, cells + Z * errors], axis=-1), rtol=0, atol=1e-12
    )
    for cell in range(found.size):
        low, high = found.profile.interval(np.arange(found.size) == cell, Z)
        assert [cells[cell] - low, high - cells[cell]] == pytest.approx([Z * errors[cell]] * 2, rel=0.02)


def test_a_table_by_itself_has_the_limits_of_its_cells() -> None:
    """One cell is estimated as less than nothing: its limit is where the squared distance has grown by 3.84."""
    spread = np.diag([4.0, 4.0, 1.0]) * 1e-4
    covariance = np.block([[spread, -spread.sum(axis=1)[:, None]], [-spread.sum(axis=0)[None], spread.sum()]])
    one = Marginal(("a",), (4,), np.array([0.3, 0.3, -0.01, 0.41]), covariance + 1e-12 * np.eye(4), 10**9)
    found = ProfileLimits.of([one], ("a",)).limits(0.05)
    assert found[2] == pytest.approx([0.0, math.sqrt(Z**2 + 1) * 0.01 - 0.01], abs=2e-4)


# What must not change them.


def test_limits_are_nested_and_contain_the_estimate() -> None:
    found = ProfileLimits.of(measured({"a": 3, "b": 2, "c": 2}, 1e-4, 4, 2.5), ("a", "b", "c"))
    estimate = found.profile.model.marginal(("a", "b", "c"))
    levels = [found.limits(alpha) for alpha in (0.32, 0.1, 0.05, 0.01)]
    assert all(np.all(limits[:, 0] <= estimate) and np.all(limits[:, 1] >= estimate) for limits in levels)
    for inner, outer in pairwise(levels):
        assert np.all(outer[:, 0] <= inner[:, 0])
        assert np.all(outer[:, 1] > inner[:, 1])


def test_limits_of_sums_are_those_of_the_table_of_sums() -> None:
    marginals = measured({"a": 3, "b": 2, "c": 2}, 1e-4, 4, 2.5)
    found = ProfileLimits.of(marginals, ("a", "b", "c"))
    onto_ac = np.array([2 * (cell // 4) + cell % 2 for cell in range(12)])
    added, other = found.summed(onto_ac, 6).limits(0.05), ProfileLimits.of(marginals, ("a", "c")).limits(0.05)
    assert np.all(np.abs(added - other) < 0.02 * (other[:, 1] - other[:, 0])[:, None])
    twice = found.summed(onto_ac, 6).summed(np.array([0, 0, 1, 1, 2, 2]), 3).limits(0.05)
    assert np.all(np.abs(twice - ProfileLimits.of(marginals, ("a",)).limits(0.05)) < 1e-3)
    assert np.allclose(found.summed(np.zeros(12, dtype=np.int64), 1).limits(0.05), 1, rtol=0, atol=1e-12)
    turned = np.arange(12)[::-1]
    assert np.array_equal(found.summed(turned, 12).limits(0.05), found.limits(0.05)[::-1])


def test_a_fit_that_does_not_converge_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.consistency.maximum_entropy._MOST_STEPS", 1)
    found = ProfileLimits.of(measured({"a": 2, "b": 2, "c": 2}, 1e-4, 1, 2.5), ("a", "b", "c"))
    assert not found.profile.model.converged
    assert found.kind == "none, as the fit did not converge"
    assert found.limits(0.05).tolist() == [[0.0, 1.0]] * 8
    assert np.all(found.std_err > 0.25)


# Tables.


def test_a_cell_that_is_estimated_as_zero_is_not_certain() -> None:
    """Adult-like margins, 10,000 respondents: a truth of some thousandths is not 0.0000 ± 0.0007."""
    truth = adult_like().sum(axis=3).ravel()
    rare = int(np.argmin(np.abs(truth - 0.0041)))
    assert truth[rare] == pytest.approx(0.0041, abs=1e-3)
    seen = []
    for seed in range(5):
        counts = np.random.default_rng(seed).multinomial(10_000, adult_like().ravel())
        made = reconstruct(SampledGroups(DOMAIN, epsilon=2.0).simulate(counts, rng=seed), ["a", "b", "c"])
        if made.estimate.flat[rare] < 5e-5:
            seen.append((made.cells.std_err[rare], *made.conf_int().reshape(-1, 2)[rare]))
    assert len(seen) >= 2
    errors, low, high = np.transpose(seen)
    assert np.all(low == 0)
    assert np.all(high > truth[rare])
    assert np.all(high < 0.05)
    assert errors == pytest.approx(high / Z, rel=0.02)


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_twenty_respondents_have_intervals(epsilon: float) -> None:
    counts = np.random.default_rng(1).multinomial(20, adult_like().ravel())
    tables = SampledGroups(DOMAIN, groups=[("a", "b"), ("b", "c")], epsilon=epsilon).simulate(counts, rng=1)
    made = reconstruct(tables, ["a", "c"])
    limits = made.conf_int().reshape(-1, 2)
    assert np.all((limits[:, 0] <= made.cells.estimate) & (made.cells.estimate <= limits[:, 1]))
    assert np.all(np.isfinite(limits))
    assert np.all(limits[:, 1] > 0.02)
    assert np.all(made.cells.std_err > 0)


def test_tables_made_of_a_reconstructed_one_keep_its_intervals() -> None:
    counts = np.random.default_rng(1).multinomial(10_000, adult_like().ravel())
    groups = [("a", "b"), ("b", "c"), ("c", "d")]
    made = reconstruct(SampledGroups(DOMAIN, groups=groups, epsilon=2.0).simulate(counts, rng=1), ["a", "b", "d"])
    limits = made.conf_int().reshape(2, 3, 2, 2)
    assert "profile likelihood" in made.cells.kind_of_intervals
    assert np.array_equal(made.reordered(["d", "b", "a"]).conf_int().reshape(2, 3, 2, 2), limits.transpose(2, 1, 0, 3))
    added = made.marginal(["a", "d"])
    assert "delta method" in added.cells.kind_of_intervals
    inside = added.conf_int().reshape(-1, 2)
    assert np.all((inside[:, 0] <= added.cells.estimate) & (added.cells.estimate <= inside[:, 1]))


# Weights and variances.


@pytest.mark.parametrize(
    "noise", [GRR(5, 2.0).noise, OUE(6, 3.0).noise, SS(8, 1.5).noise, mechanism("sue", k=4, epsilon=1.0).noise]
)
def test_a_variance_rises_as_steeply_as_that_of_a_count(noise: Any) -> None:
    """From q (1 - q) / (p - q)² by (1 - 2 q) / (p - q), less the square of the frequency."""
    none, every = noise.bounds()
    gap, q = float((1 / (every - none))[0]), float((-none / (every - none))[0])
    assert rise_of_variance(noise) == pytest.approx((1 - 2 * q) / gap, rel=1e-9)


def test_weighed_together_frequent_cells_are_not_favoured() -> None:
    """All pairs of two samples of 20, of which .8 have a property: what is expected to be found, exactly."""
    law, expected = binom.pmf(np.arange(21), 20, 0.8), np.zeros(2)
    for one, other in combinations(range(8, 21), 2):
        shares = [np.array([count, 20 - count]) / 20 for count in (one, other)]
        answers = [
            Marginal(("a",), (2,), share, (np.diag(share) - np.outer(share, share)) / 20 + np.eye(2) / 400, 20)
            for share in shares
        ]
        both = [fit_maximum_entropy(some).marginal("a")[0] for some in (answers, weighed_together(answers))]
        expected += 2 * law[one] * law[other] * (np.array(both) - 0.8)
    same = sum(law[count] ** 2 * (count / 20 - 0.8) for count in range(8, 21))
    by_themselves, together = np.abs(expected + same)
    assert by_themselves > 0.008
    assert together < 0.1 * by_themselves


def test_curvatures_that_are_rounding_are_not_followed() -> None:
    """A large push multiplies the rounding of a probability of zero, which once overflowed."""
    rng = np.random.default_rng(1)
    domain = Domain({"a": ["x", "y", "z"], "b": ["p", "q"], "c": [True, False], "d": [1, 2, 3]})
    people = rng.multinomial(4000, rng.dirichlet(np.ones(domain.size())))
    few = np.random.default_rng(34).multinomial(20, people / people.sum())
    tables = SampledGroups(domain, epsilon=1.0, mechanism="ss").simulate(few, rng=34)
    found = reconstruct(tables, ["a", "b", "c"])
    rows = found.cells.summed(np.repeat(np.arange(6), 2), 6)
    assert np.isfinite(rows.std_err).all()
    assert (rows.conf_int() >= 0).all()
