"""The agreeing linear fit: a projection, as a formula says, with the standard errors of repeated collections."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.linalg import block_diag, null_space
from scipy.stats import chi2
from support.overlapping_tables import FOUR, GROUPS, Array, collected, each_group, flat, marginals, sums_onto, truth

from ldpstats import SampledGroups
from ldpstats.consistency.agreement import AgreeingFit, shared_quantities
from ldpstats.consistency.consistent import make_consistent
from ldpstats.consistency.marginals import Marginal


def agreement_by_definition(found: list[Marginal]) -> tuple[Array, Array]:
    """Return A and a of A x = a, redundant equations and all: totals, and equal marginals of every two tables."""
    ends = np.cumsum([0, *(one.estimate.size for one in found)])
    rows, values = [], []
    for start, end in pairwise(ends):
        row = np.zeros((1, ends[-1]))
        row[:, start:end] = 1
        rows.append(row)
        values.append(np.ones(1))
    for (place, one), (others_place, other) in combinations(enumerate(found), 2):
        shared = tuple(name for name in one.attributes if name in other.attributes)
        if shared:
            matrix = sums_onto(one, shared)
            row = np.zeros((len(matrix), ends[-1]))
            row[:, ends[place] : ends[place + 1]] = matrix
            row[:, ends[others_place] : ends[others_place + 1]] = -sums_onto(other, shared)
            rows.append(row)
            values.append(np.zeros(len(matrix)))
    return np.concatenate(rows), np.concatenate(values)


@each_group
def test_the_linear_fit_is_the_projection_that_the_formula_gives(groups: str) -> None:
    found = marginals(collected(GROUPS[groups], seed=11))
    equations, values = agreement_by_definition(found)
    variance = 1 / np.concatenate([one.precision for one in found])
    estimate = np.concatenate([one.estimate for one in found])
    gain = variance[:, None] * equations.T @ np.linalg.pinv(equations * variance @ equations.T, hermitian=True)
    projector = np.eye(estimate.size) - gain @ equations
    fit = AgreeingFit(found, shared_quantities(found))
    fitted = np.concatenate(fit.tables([one.estimate for one in found]))
    assert fitted == pytest.approx(projector @ estimate + gain @ values, abs=1e-9)
    joint = projector @ block_diag(*(one.covariance for one in found)) @ projector.T
    start = 0
    for one, covariance in zip(found, fit.covariances(), strict=True):
        block = slice(start, start + one.estimate.size)
        assert covariance == pytest.approx(joint[block, block], rel=1e-8, abs=1e-12)
        start += one.estimate.size


@each_group
def test_no_quantity_held_in_common_follows_from_others_and_none_is_missing(groups: str) -> None:
    found = marginals(collected(GROUPS[groups]))
    held = shared_quantities(found)
    for own in held:
        assert np.linalg.matrix_rank(own.sums) == len(own.sums) == len(own.places)
    counts = np.bincount(np.concatenate([own.places for own in held]))
    assert counts[0] == len(found)
    assert counts[1:].min() >= 2
    equations, _ = agreement_by_definition(found)
    assert null_space(equations).shape[1] == equations.shape[1] - len(found) - (counts[1:] - 1).sum()


@each_group
def test_away_from_zero_least_squares_are_the_linear_fit(groups: str) -> None:
    even = np.full(FOUR.shape, 3000)
    tables = SampledGroups(FOUR, epsilon=3.0, mechanism="grr", groups=GROUPS[groups]).simulate(even, rng=12)
    found = marginals(tables)
    linear = np.concatenate(AgreeingFit(found, shared_quantities(found)).tables([one.estimate for one in found]))
    assert linear.min() > 0
    assert flat(make_consistent(tables)) == pytest.approx(linear, abs=1e-9)


def test_standard_errors_are_those_of_repeated_collections() -> None:
    """Sums of 250 squared errors, divided by their mean variance: a false-failure rate of 1e-6 for each cell."""
    frequencies = np.random.default_rng(13).dirichlet(np.full(FOUR.size(), 20.0))
    protocol = SampledGroups(FOUR, epsilon=3.0, mechanism="grr", groups=GROUPS["nested"])
    rng, squares, variances, runs = np.random.default_rng(14), 0.0, 0.0, 250
    for _ in range(runs):
        joint = rng.multinomial(40_000, frequencies).reshape(FOUR.shape)
        found = marginals(protocol.simulate(joint, rng=rng))
        fit = AgreeingFit(found, shared_quantities(found))
        fitted = np.concatenate(fit.tables([one.estimate for one in found]))
        squares += (fitted - truth(frequencies, found)) ** 2
        variances += np.concatenate([np.diagonal(one) for one in fit.covariances()]) / runs
    lower, upper = chi2.ppf([5e-7, 1 - 5e-7], runs)
    assert np.all((lower < squares / variances) & (squares / variances < upper))
