"""Shrinkage towards independence: the path and its risk against formulas and optimizers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy
import numpy as np
import pytest
from cvxpy.atoms.elementwise.kl_div import kl_div
from support.joint_tables import (
    ABC,
    Array,
    collected,
    marginal_of,
    pairs_of,
    reordered,
    some_joint,
    with_swapped_b,
)

from ldpstats import Domain
from ldpstats.consistency import shrinkage
from ldpstats.consistency.marginals import Marginal
from ldpstats.consistency.shrinkage import (
    _least_risk,
    _one_way,
    _RidgePaths,
    independent,
    shrunken_joint,
    shrunken_refits,
)


def path_of(marginals: Any) -> _RidgePaths:
    return _RidgePaths.of(marginals, [one.estimate[None] for one in marginals], ABC)


def risk_of(marginals: Any, domain: Domain = ABC) -> tuple[float, float]:
    """Return the discrepancy of the table that is taken, and the df there."""
    path = _RidgePaths.of(marginals, [one.estimate[None] for one in marginals], domain)
    multipliers, df = _least_risk(path.compressed(), _one_way(domain))
    return path.discrepancies(path.compressed().tables(multipliers))[0], df[0]


@pytest.mark.parametrize("penalty", [0.3, 10.0, 1000.0])
def test_the_path_minimizes_discrepancy_and_distance_from_independence(penalty: float) -> None:
    marginals = pairs_of(some_joint(spread=1), noise := 0.02)
    path, start = path_of(marginals), path_of(marginals).independent[0]
    sums = [np.eye(one.estimate.size)[ABC.onto(one.attributes)].T for one in marginals]
    cells: Any = cvxpy.Variable(ABC.size())
    missed = [(own @ cells - one.estimate) / noise for own, one in zip(sums, marginals, strict=True)]
    objective = sum((part**2).sum() for part in missed) / 2 + penalty * kl_div(cells, start).sum()
    problem: Any = cvxpy.Problem(cvxpy.Minimize(objective), [cells.sum() == 1])
    problem.solve(solver=cvxpy.CLARABEL)
    tables = path.tables(path.at(np.array([penalty]), np.zeros(path.observed.shape)))
    assert tables[0] == pytest.approx(cells.value, abs=1e-5)


def test_the_table_with_the_least_estimated_error_is_taken() -> None:
    marginals = pairs_of(some_joint(spread=1), 0.03)
    (discrepancy, least), path = risk_of(marginals), path_of(marginals)
    for penalty in np.geomspace(0.01, 1e5, 30):
        tables = path.tables(path.at(np.array([penalty]), np.zeros(path.observed.shape)))
        spread = path.covariances_beyond(_one_way(ABC), tables)[0]
        df = 1 + 2 + 1 + np.trace(spread @ np.linalg.inv(spread + penalty * np.eye(len(spread))))
        assert discrepancy + 2 * least <= path.discrepancies(tables)[0] + 2 * df + 0.05


def test_where_noise_explains_everything_independence_is_kept() -> None:
    marginals = [replace(one, covariance=np.eye(one.estimate.size)) for one in pairs_of(some_joint())]
    found = shrunken_joint(marginals, ABC)
    assert risk_of(marginals)[1] == 1 + 2 + 1
    assert found == pytest.approx(path_of(marginals).independent[0], abs=1e-15)


def test_zeros_do_not_stop_shrinkage_from_reaching_the_data() -> None:
    joint = some_joint()
    joint[0, 0], joint[1, :, 1], joint[:, 2] = 0, 0, 0
    joint /= joint.sum()
    found = shrunken_joint([marginal_of(joint, ABC.names)], ABC)
    assert found == pytest.approx(joint.ravel(), abs=1e-5)


def test_the_truth_is_as_far_from_the_marginals_as_their_covariances_say() -> None:
    joint, rng = some_joint(), np.random.default_rng(8)
    exact = pairs_of(joint)
    roots = [rng.standard_normal((one.estimate.size,) * 2) / 50 for one in exact]
    roots[0] -= roots[0].mean(axis=0)  # so that a total is known for sure
    known = [replace(one, covariance=root @ root.T) for one, root in zip(exact, roots, strict=True)]
    drawn = [rng.standard_normal(one.estimate.size) for one in known]
    errors = [root @ own for root, own in zip(roots, drawn, strict=True)]
    noisy = [replace(one, estimate=one.estimate + error) for one, error in zip(known, errors, strict=True)]
    inverses = [np.linalg.pinv(one.covariance, rcond=1e-10, hermitian=True) for one in known]
    expected = sum(error @ inverse @ error for error, inverse in zip(errors, inverses, strict=True))
    assert path_of(noisy).discrepancies(joint.ravel()[None])[0] == pytest.approx(expected, rel=1e-6)
    assert path_of(known).observed.size == 5 + 6 + 4


def test_directions_are_those_of_the_noise() -> None:
    """Counts of single answers have a known total, those of unary encoding have not."""
    for mechanism, df in (("grr", 5 + 5 + 3), ("oue", 6 + 6 + 4)):
        marginals = [Marginal.of(table) for table in collected(mechanism=mechanism)]
        assert path_of(marginals).observed.size == df


def test_margins_are_pooled_by_their_precision() -> None:
    first = Marginal(("a",), (2,), np.array([0.3, 0.7]), 0.01 * np.eye(2), 100)
    second = Marginal(("a", "b"), (2, 2), np.array([0.2, 0.4, 0.3, 0.1]), 0.02 * np.eye(4), 100)
    expected = np.outer([(4 * 0.3 + 0.6) / 5, (4 * 0.7 + 0.4) / 5], [0.5, 0.5]).ravel()
    assert independent([first, second], [first.estimate[None], second.estimate[None]], ("a", "b"))[0] == pytest.approx(
        expected
    )


def test_no_category_is_ruled_out_by_its_margin() -> None:
    negative = Marginal(("a",), (2,), np.array([1.1, -0.1]), np.eye(2) / 100, 100)
    assert independent([negative], [negative.estimate[None]], ("a",))[0] == pytest.approx(
        np.array([1, 1 / 200]) / (1 + 1 / 200)
    )


def test_margins_that_contradict_each_other_meet_in_the_middle() -> None:
    """Two precise margins that contradict each other: their mean is as near as one can get, at 2 · 2 · 50."""
    margins = [Marginal(("a",), (2,), np.array([s, 1 - s]), np.eye(2) / 1e4, 10**6) for s in (0.3, 0.4)]
    found = shrunken_joint(margins, ABC.project("a"))
    assert risk_of(margins, ABC.project("a"))[0] == pytest.approx(100, rel=1e-9)
    assert found == pytest.approx([0.35, 0.65], abs=1e-6)


def test_neither_order_nor_labels_matter_to_shrinkage() -> None:
    marginals = pairs_of(some_joint(), 0.02)
    found = shrunken_joint(marginals, ABC)
    order = ("b", "c", "a")
    turned = shrunken_joint(marginals[::-1], ABC.project(order))
    assert turned == pytest.approx(reordered(found, ABC, order), abs=1e-8)
    swapped = shrunken_joint([with_swapped_b(one) for one in marginals], ABC)
    assert swapped == pytest.approx(found.reshape(ABC.shape)[:, ::-1].ravel(), abs=1e-8)


@pytest.mark.parametrize("noise", [0.002, 0.02, 0.2])
def test_shrunken_refits_are_what_each_gives_alone(noise: float) -> None:
    marginals, rng = pairs_of(some_joint(spread=1), noise), np.random.default_rng(6)
    estimates = [one.estimate + noise * rng.standard_normal((20, one.estimate.size)) for one in marginals]
    together = shrunken_refits(marginals, estimates, ABC)
    for found, *own in zip(together, *estimates, strict=True):
        moved = [replace(one, estimate=row) for one, row in zip(marginals, own, strict=True)]
        assert found == pytest.approx(shrunken_joint(moved, ABC), abs=1e-8)


def test_refits_walk_the_path_together_as_far_as_memory_allows(monkeypatch: Any) -> None:
    marginals, walked = pairs_of(some_joint(spread=1), 0.02), []
    estimates = [np.tile(one.estimate, (50, 1)) for one in marginals]

    def counted(paths: _RidgePaths, margins: Array) -> tuple[Array, Array]:
        walked.append(len(paths.observed))
        return _least_risk(paths, margins)

    monkeypatch.setattr(shrinkage, "_least_risk", counted)
    together = shrunken_refits(marginals, estimates, ABC)
    entries = path_of(marginals).compressed().whitened.size
    monkeypatch.setattr(shrinkage, "_MOST_NUMBERS", 20 * entries)
    assert shrunken_refits(marginals, estimates, ABC) == pytest.approx(together, abs=1e-12)
    assert walked == [50, 20, 20, 10]
