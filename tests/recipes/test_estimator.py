"""Estimators added by following ARCHITECTURE.md: of one tally, of a table's blocks, and of a table nobody collected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import ldpstats as ldp
from ldpstats.extend import (
    METHODS,
    RECONSTRUCTION_METHODS,
    TABLE_METHODS,
    Block,
    Estimate,
    ReconstructionMethod,
    TableMethod,
    Tally,
    from_marginals,
)

DOMAIN = ldp.Domain({name: ["yes", "no"] for name in "abc"})


@pytest.fixture
def tables() -> ldp.TableSet:
    return ldp.SampledGroups(DOMAIN, epsilon=2.0).simulate(np.arange(1, 9) * 300, rng=1)


def half_even(_tally: Tally, unbiased: Estimate) -> NDArray[np.float64]:
    """Shrink half the way to equal frequencies."""
    return unbiased.estimate / 2 + 1 / (2 * unbiased.estimate.size)


def latest(blocks: Sequence[Block]) -> Estimate:
    """Take the last block alone."""
    return TABLE_METHODS["unbiased"].estimated(blocks[-1:])


def independent(marginals: Any, target: ldp.Domain) -> NDArray[np.float64]:
    """Multiply the margins."""
    table = np.ones(1)
    for name in target.names:
        table = np.kron(table, next(one for one in marginals if name in one.attributes).summed((name,)))
    return table


def test_one_tally(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "half even", half_even)
    mechanism = ldp.GRR(4, epsilon=1.0)
    reports = mechanism.privatize([0] * 500 + [1] * 100, rng=1)
    found = mechanism.estimate(reports, "half even")
    assert found.estimate == pytest.approx(mechanism.estimate(reports).estimate / 2 + 1 / 8)
    with pytest.raises(ldp.LdpstatsError, match="a biased estimate"):
        found.conf_int()


def test_the_blocks_of_a_table(monkeypatch: pytest.MonkeyPatch, tables: ldp.TableSet) -> None:
    monkeypatch.setitem(TABLE_METHODS, "latest", TableMethod(latest, "Of the last block alone."))
    table = (tables + ldp.SampledGroups(DOMAIN, epsilon=1.0).simulate(np.full(8, 100), rng=2))["a", "b"]
    alone = ldp.SampledGroups(DOMAIN, epsilon=1.0).simulate(np.full(8, 100), rng=2)["a", "b"]
    found = table.estimated_by("latest")
    assert np.array_equal(found.estimate, alone.estimate)
    assert "Of the last block alone." in str(found.summary())


def test_a_table_that_nobody_collected(monkeypatch: pytest.MonkeyPatch, tables: ldp.TableSet) -> None:
    method = ReconstructionMethod(
        from_marginals(independent), "the product of the margins.", lambda _groups, _names: "all are independent"
    )
    monkeypatch.setitem(RECONSTRUCTION_METHODS, "independence", method)
    found = ldp.reconstruct(tables, ["a", "b", "c"], "independence", n_resamples=20)
    assert found.estimate.sum() == pytest.approx(1)
    assert found.assumption == "all are independent"
    assert "all are independent" in str(found.summary())
    odds = found.estimate[..., 0] / found.estimate[..., 1]
    assert odds == pytest.approx(np.full((2, 2), odds[0, 0]))
