"""Conditional proportions: quotients with intervals, by enumeration of all tallies, and for tables of every origin."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from rare_cells import every_tally
from scipy.stats import multinomial
from statsmodels.stats.proportion import proportion_confint
from support.rare_tables import block_of, table_of

import ldpstats as ldp
from ldpstats.errors import LdpstatsError, NotIdentifiedError

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [0, 1]})
PEOPLE = np.array([300, 100, 50, 50, 80, 20, 100, 300, 10, 40, 60, 90]) * 10


@cache
def pairs() -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, k=2, epsilon=3.0).simulate(PEOPLE, rng=1)


@cache
def overlapping() -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, epsilon=4.0, groups=[("a", "b"), ("b", "c")]).simulate(PEOPLE, rng=1)


def triples(**options: Any) -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, k=3, **{"epsilon": 3.0, **options}).simulate(PEOPLE, rng=1)


def whole(**options: Any) -> ldp.Table:
    return triples(**options)["a", "b", "c"]


PROTOCOLS: dict[str, Any] = {
    "a whole view": ldp.WholeView(DOMAIN, k=2, epsilon=6.0),
    "Hadamard coefficients": ldp.HadamardCoefficients(DOMAIN, k=2, epsilon=3.0),
    "crossed answers": ldp.PerAttribute(DOMAIN, epsilon=6.0, k=2),
    "blocks with fakes": ldp.RRBA(DOMAIN, k=2, epsilon=4.0, block_size=500),
    "a curator's": ldp.CentralLaplace(DOMAIN, k=2, epsilon=1.0),
}
ORIGINS: dict[str, Callable[[], ldp.Table]] = {
    "collected": lambda: pairs()["a", "b"],
    "two given": whole,
    "two of": whole,
    "summed": whole,
    "most likely": lambda: whole(epsilon=1.0, mechanism="grr").estimated_by("mle"),
    "sums without a law": lambda: whole(mechanism="hr"),
    "collapsed": lambda: pairs()["a", "b"].collapse({"b": {"other": ["q", "r"]}}),
    "consistent": lambda: ldp.make_consistent(pairs())["a", "b"],
    "a margin of a consistent table": lambda: ldp.make_consistent(triples())["a", "b", "c"],
    "reconstructed": lambda: ldp.reconstruct(overlapping(), ["a", "c"]),
    "reconstructed from what was asked": lambda: ldp.reconstruct(pairs(), ["a", "b"]),
    "pooled": lambda: pairs().pooled(["b", "a"]),
    "merged": lambda: (pairs() + ldp.SampledGroups(DOMAIN, k=2, epsilon=2.0).simulate(PEOPLE, rng=2))["a", "b"],
    **{name: lambda one=one: one.simulate(PEOPLE, rng=1)["a", "b"] for name, one in PROTOCOLS.items()},
}
ASKED: dict[str, Any] = {"two given": ("b", ["c", "a"]), "two of": (["c", "b"], "a"), "reconstructed": ("c", "a")}


@pytest.mark.parametrize("name", ORIGINS)
def test_every_origin(name: str) -> None:
    """The proportions of the population are within four standard errors, and intervals hold the estimates."""
    of_what, given = ASKED.get(name, ("b", "a"))
    found = ORIGINS[name]().conditional(of_what, given=given)
    axes = [DOMAIN.names.index(one) for one in (*found.given, *found.of)]
    people = np.moveaxis(PEOPLE.reshape(DOMAIN.shape), axes, range(len(axes)))
    people = people.sum(axis=tuple(range(len(axes), people.ndim)))
    if name == "collapsed":
        people = np.stack([people[:, 0], people[:, 1:].sum(axis=1)], axis=1)
    rows = people.reshape(*found.shape[: len(found.given)], -1)
    truth = (rows / rows.sum(axis=-1, keepdims=True)).reshape(found.shape)
    of = tuple(range(len(found.given), len(found.shape)))
    assert np.allclose(found.estimate.sum(axis=of), 1)
    if not found.assumption:
        assert np.abs(found.estimate - truth).max() <= 4.9 * found.std_err.max() + 1e-12
    low, high = np.moveaxis(found.conf_int(), -1, 0)
    assert np.all((low >= 0) & (low <= found.estimate) & (found.estimate <= high) & (high <= 1))
    wide_low, wide_high = np.moveaxis(found.conf_int(0.001), -1, 0)
    assert np.all((wide_low <= low) & (wide_high >= high))
    assert f"given {' and '.join(found.given)}" in str(found)
    assert (found.assumption in str(found)) or not found.assumption


class TestEveryTallyOfTwentyReports:
    """Exact coverage of 2-by-2 randomized response, over all that can be counted in a cell, its row and elsewhere."""

    @staticmethod
    @cache
    def limits(epsilon: float) -> tuple[np.ndarray, np.ndarray]:
        counts = every_tally(20, 3)
        tables = [table_of(block_of(ldp.GRR(4, epsilon).noise, [*map(int, one), 0])) for one in counts]
        return counts, np.array([one.conditional("column", given="row").conf_int()[0, 0] for one in tables])

    @pytest.mark.parametrize("epsilon", [1.0, 4.0])
    @pytest.mark.parametrize(
        "shares",
        [(0.25, 0.25, 0.5), (0.05, 0.45, 0.5), (0.0, 0.5, 0.5), (0.02, 0.03, 0.95), (0.0, 0.02, 0.98), (0.5, 0.5, 0.0)],
    )
    def test_coverage(self, epsilon: float, shares: tuple[float, float, float]) -> None:
        counts, limits = self.limits(epsilon)
        assert np.all(limits[:, 0] <= limits[:, 1])
        mean = ldp.GRR(4, epsilon).noise.mean(np.array([*shares, 0.0]))
        chance = multinomial.pmf(counts, 20, [mean[0], mean[1], mean[2] + mean[3]])
        assert chance.sum() == pytest.approx(1)
        truth = shares[0] / (shares[0] + shares[1])
        inside = (limits[:, 0] <= truth + 1e-9) & (truth - 1e-9 <= limits[:, 1])
        assert chance @ inside >= 0.93


def test_without_noise_it_is_the_classical_one() -> None:
    counts = np.array([[3000, 1000], [40, 160]])
    found = table_of(block_of(ldp.GRR(4, 60.0).noise, counts.ravel().tolist())).conditional("column", given="row")
    assert np.allclose(found.estimate, counts / counts.sum(axis=1, keepdims=True), atol=1e-12)
    classical = np.array([[proportion_confint(one, row.sum(), method="normal") for one in row] for row in counts])
    # the number in the row is random here, and known there
    assert np.allclose(found.conf_int(), classical, atol=0.003)
    assert np.allclose(np.diff(found.conf_int(), axis=-1), np.diff(classical, axis=-1), rtol=0.02)


def test_the_delta_method_is_the_derivative() -> None:
    table = pairs()["a", "b"]
    found = table.conditional("b", given="a")
    cells = table.estimate
    slopes = np.zeros((6, 6))
    for place in range(6):
        moved = cells.ravel().copy()
        moved[place] += 1e-6
        rows = moved.reshape(2, 3)
        slopes[:, place] = ((rows / rows.sum(axis=1, keepdims=True)).ravel() - found.estimate.ravel()) / 1e-6
    errors = np.sqrt(np.diagonal(slopes @ table.covariance @ slopes.T))
    assert np.allclose(found.std_err.ravel(), errors, rtol=1e-4)


class TestGivenCategoriesThatMayBeEmpty:
    """What is not estimable, and what is said."""

    def test_an_empty_row_has_no_estimate_and_says_so(self) -> None:
        found = table_of(block_of(ldp.GRR(4, 2.0).noise, [4000, 1200, 640, 640])).conditional("column", given="row")
        assert np.isnan(found.estimate[1]).all()
        assert np.isnan(found.std_err[1]).all()
        assert np.isfinite(found.estimate[0]).all()
        assert found.conf_int()[1].tolist() == [[0, 1], [0, 1]]
        assert "not estimated clearly above zero: row r1" in found.why_not
        assert "No estimate: not estimated clearly above zero: row r1" in str(found)
        assert found.to_dict()["estimate"][1] == [None, None]

    def test_negative_cells_stay_negative(self) -> None:
        found = table_of(block_of(ldp.GRR(4, 2.0).noise, [4000, 500, 2000, 2000])).conditional("column", given="row")
        assert found.estimate[0, 1] < 0
        low, high = found.conf_int()[0, 1]
        assert low == found.estimate[0, 1]
        assert 0 < high < 0.1

    def test_a_single_report_tells_nothing(self) -> None:
        found = table_of(block_of(ldp.GRR(4, 2.0).noise, [1, 0, 0, 0])).conditional("column", given="row")
        assert np.isnan(found.estimate).all()
        assert found.conf_int().reshape(-1, 2).tolist() == [[0, 1]] * 4
        assert "a single report" in found.why_not


class TestWhatIsAsked:
    """Attributes, their order, and refusals."""

    def test_rows_stand_in_the_order_of_the_domain(self) -> None:
        frame = pairs()["a", "b"].conditional("a", given=["b"]).to_frame()
        assert frame.index.names == ["b", "a"]
        assert list(frame.index) == [(one, other) for one in "pqr" for other in "xy"]
        assert list(frame.columns) == ["estimate", "std_err", "lower", "upper"]

    @pytest.mark.parametrize("counts", [[900, 300, 200, 300, 500, 250], [9, 3, 0, 3, 5, 2]])
    def test_the_order_of_categories_and_attributes_changes_nothing(self, counts: list[int]) -> None:
        noise = ldp.GRR(6, 3.0).noise
        plain = table_of(block_of(noise, counts))
        turned = table_of(block_of(noise, np.reshape(counts, (2, 3))[::-1, [2, 0, 1]].ravel().tolist()))
        one, other = (table.conditional("column", given="row") for table in (plain, turned))
        for name in ("estimate", "std_err"):
            assert np.allclose(getattr(other, name), getattr(one, name)[::-1, [2, 0, 1]], atol=1e-12, equal_nan=True)
        assert np.allclose(other.conf_int(), one.conf_int()[::-1, [2, 0, 1]], atol=1e-9)
        swapped = plain.reordered(["column", "row"]).conditional("column", given="row")
        assert np.allclose(swapped.conf_int(), one.conf_int(), atol=1e-9)

    @pytest.mark.parametrize(
        ("of", "given"),
        [("b", []), ([], "a"), ("b", "b"), (["a", "b"], ["b"]), ("z", "a"), ("b", "z"), (["b", "b"], "a")],
    )
    def test_impossible_questions_are_refused(self, of: object, given: object) -> None:
        with pytest.raises(LdpstatsError):
            pairs()["a", "b"].conditional(of, given=given)

    def test_what_fills_in_without_a_model_is_refused(self) -> None:
        table = ldp.reconstruct(overlapping(), ["a", "c"], "l2", n_resamples=20)
        with pytest.raises(NotIdentifiedError, match="smallest norm"):
            table.conditional("c", given="a")


def test_a_row_of_rare_reports_has_an_interval_by_the_score() -> None:
    found = table_of(block_of(ldp.GRR(4, 8.0).noise, [9, 1, 0, 10])).conditional("column", given="row")
    assert "score test with the exact law" in found.kind_of_intervals
    limits = found.conf_int()
    assert np.allclose(limits[:, 0], 1 - limits[:, 1, ::-1])
    assert limits[1, 1, 1] == found.estimate[1, 1] > 1
    # ten of ten are π ** 10 likely, half of which is the tail; at 1 itself it is a half, of which .025 is left
    assert limits[1, 1, 0] == pytest.approx(0.025 ** (1 / 10), abs=0.02)
    assert not math.isnan(found.estimate[1, 0])


def test_a_consistent_table_of_rare_reports_goes_by_these() -> None:
    """Their estimated variance would call an empty cell certain."""
    people = np.array([40, 10, 0, 0, 0, 1, 10, 30, 0, 4, 6, 9])
    tables = ldp.SampledGroups(DOMAIN, k=2, epsilon=6.0).simulate(people, rng=1)
    collected, moved = (one["a", "b"].conditional("b", given="a") for one in (tables, ldp.make_consistent(tables)))
    assert moved.kind_of_intervals == collected.kind_of_intervals
    assert "score test" in moved.kind_of_intervals
    own, of_moved, shown = np.clip(collected.conf_int(), 0, 1), moved.conf_int(), moved.estimate
    assert np.allclose(of_moved[..., 0], np.minimum(own[..., 0], shown))
    assert np.allclose(of_moved[..., 1], np.maximum(own[..., 1], shown))
