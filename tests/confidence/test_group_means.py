"""Means of groups as quantities of score tests: their constrained fits, slopes, and what they have in common."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

import ldpstats as ldp
from ldpstats.confidence.group_means import GroupMeans, likeliest
from ldpstats.confidence.inversion import Comparison, PooledReports, ScoreInversion
from ldpstats.errors import LdpstatsError

EVERYTHING = np.ones((1, 6), dtype=bool)
FIRST = np.arange(6) < 3
PAIR = np.stack([FIRST, ~FIRST])
SCORES = np.array([0.0, 1.0, 4.0, 0.5, 2.0, 3.0])
SHARES = np.array([0.1, 0.2, 0.15, 0.25, 0.2, 0.1])
KINDS = {
    "mean": GroupMeans.of_cells(EVERYTHING, SCORES[None], "mean"),
    "given": GroupMeans.of_cells(FIRST[None], SCORES[None], "mean"),
    "difference": GroupMeans.of_cells(PAIR, np.stack([SCORES, SCORES]), "difference"),
    "ratio": GroupMeans.of_cells(PAIR, np.stack([SCORES, SCORES]), "ratio"),
}
VALUES = {"mean": (0.3, 1.7, 3.9), "given": (0.1, 1.9, 3.9), "difference": (-2.5, 0.0, 3.0), "ratio": (0.05, 1.0, 7.0)}


@pytest.mark.parametrize("kind", KINDS)
def test_fits_are_the_most_likely_shares_with_a_value(kind: str) -> None:
    means = KINDS[kind]
    shares = SHARES @ means.members
    for value in VALUES[kind]:
        fitted = means.quantity.fitted(shares[None], np.array([value]))[0]
        assert fitted.sum() == pytest.approx(1, abs=1e-6)
        assert means.value(fitted) == pytest.approx(value, abs=1e-5)
        constraints = [
            {"type": "eq", "fun": lambda own: own.sum() - 1},
            {"type": "eq", "fun": lambda own, value=value: means.value(own) - value},
        ]
        other = minimize(
            lambda own: -(shares * np.log(np.maximum(own, 1e-12))).sum(),
            fitted + 0.01 * np.sin(np.arange(shares.size)),
            bounds=[(1e-7, 1)] * shares.size,
            constraints=constraints,
            options={"ftol": 1e-13, "maxiter": 500},
        )
        assert other.fun >= -(shares * np.log(fitted)).sum() - 1e-6


def test_what_cannot_have_the_sums_stays_finite() -> None:
    fitted = likeliest(np.full((1, 3), 1 / 3), np.array([[[1.0, 1, 1], [0, 1, 2]]]), np.array([[1.0, 2.5]]))
    assert np.isfinite(fitted).all()
    assert (fitted > 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_slopes_are_the_derivatives(kind: str) -> None:
    means = KINDS[kind]
    shares, step = SHARES @ means.members, 1e-6
    for part in range(shares.size):
        moved = step * np.eye(shares.size)[part]
        numeric = (means.value(shares + moved) - means.value(shares - moved)) / (2 * step)
        assert means.slope(shares)[part] == pytest.approx(numeric, abs=1e-6)
    # the gradient of the constraint at the shares' own value points the same way
    gradient = means.quantity.gradient(shares[None], means.value(shares)[None])[0]
    assert gradient / np.linalg.norm(gradient) == pytest.approx(
        means.slope(shares) / np.linalg.norm(means.slope(shares)), abs=1e-9
    )


@pytest.mark.parametrize(("name", "old"), [("difference", "risk difference"), ("ratio", "risk ratio")])
def test_of_zeros_and_ones_they_are_the_closed_forms_of_risks(name: str, old: str) -> None:
    domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    blocks = (
        ldp.SampledGroups(domain, epsilon=4.0, mechanism="grr").simulate([10, 10, 30, 60], rng=5)["sex", "car"].blocks
    )
    reports = PooledReports.of(blocks)
    assert reports is not None
    groups, cases = np.array([[1, 1, 0, 0], [0, 0, 1, 1]]) > 0, np.array([[1.0, 0, 1, 0]] * 2)
    ours = ScoreInversion(reports, GroupMeans(np.arange(4), groups, cases, name))  # type: ignore[arg-type]
    theirs = ScoreInversion(reports, Comparison(np.arange(4), old))  # type: ignore[arg-type]
    assert ours.limits(0.05) == pytest.approx(theirs.limits(0.05), rel=1e-4)
    assert ours.sides(0.6) == pytest.approx(theirs.sides(0.6), rel=1e-4)


def test_one_sided_pvalues_agree_with_the_limits() -> None:
    domain = ldp.Domain({"cars": [0, 1, 2]})
    table = ldp.SampledGroups(domain, epsilon=1.0, k=1).simulate([50, 30, 20], rng=3)["cars"]
    (test,) = table.mean("cars").tests
    low, high = test.limits(0.1)[0]
    assert test.sides(low)[1] == pytest.approx(0.05, abs=0.002)
    assert test.sides(high)[0] == pytest.approx(0.05, abs=0.002)
    # but for the tails at the ends of the range, of which they are shares
    assert sum(test.sides(1.0)) == pytest.approx(1, abs=1e-4)


def test_reports_whose_estimates_do_not_add_up_are_made_to() -> None:
    """Of supports: the variance along the total is what other slopes than those with a mean of zero would add."""
    domain = ldp.Domain({"cars": [0, 1, 2, 3]})
    (block,) = ldp.SampledGroups(domain, epsilon=1.0, k=1, mechanism="oue").simulate([100] * 4, rng=3)["cars"].blocks
    reports = PooledReports.of([block])
    assert reports is not None
    assert reports.pooling.of_total == pytest.approx(np.full(4, 0.25))
    tables = [
        ldp.SampledGroups(domain, epsilon=1.0, k=1, mechanism=name).simulate([100] * 4, rng=3)["cars"]
        for name in ("grr", "ss")
    ]
    assert all(not PooledReports.of(table.blocks).pooling.of_total.any() for table in tables)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("groups", "scores", "name", "came"),
    [
        ([[1, 1]], [[1, 1]], "mean", "all the same"),
        ([[0, 0]], [[1, 2]], "mean", "no cell"),
        ([[1, 1]], [[1, 1e101]], "mean", "too large"),
        ([[1, 1]], [[1, np.nan]], "mean", "too large"),
        ([[1, 1], [0, 1]], [[1, 2], [1, 2]], "difference", "share some cells"),
        ([[1, 1]], [[1, 2]], "difference", "1 groups"),
        ([[1, 1, 0], [0, 0, 1]], [[1, -2, 0], [1, 2, 3]], "ratio", "negative"),
        ([[1, 1, 0], [0, 0, 1]], [[1, 2, 0], [1, 2, 0]], "ratio", "zeros"),
    ],
)
def test_wrong_groups_are_refused(groups: list[list[int]], scores: list[list[float]], name: str, came: str) -> None:
    cells = np.arange(len(groups[0]))
    with pytest.raises(LdpstatsError, match=came):
        GroupMeans(cells, np.array(groups) > 0, np.array(scores, dtype=float), name)  # type: ignore[arg-type]
