"""Iterative proportional fitting: the maximum entropy that an optimizer finds, and zeros."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pytest
from support.joint_tables import ABC, PAIRS, some_joint

from ldpstats.consistency.reconstruction_methods import proportionally_fitted


def test_the_proportionally_fitted_table_is_that_of_maximum_entropy() -> None:
    joint = some_joint(spread=0.3).ravel()
    partitions = [ABC.onto(group) for group in PAIRS]
    found = proportionally_fitted(joint, partitions)
    sums = np.concatenate([np.eye(classes.max() + 1)[classes].T for classes in partitions])
    assert sums @ found == pytest.approx(sums @ joint, abs=1e-8)
    cells: Any = cvxpy.Variable(12)
    problem: Any = cvxpy.Problem(cvxpy.Maximize(cvxpy.entr(cells).sum()), [sums @ cells == sums @ joint])
    problem.solve(solver=cvxpy.CLARABEL)
    assert found == pytest.approx(cells.value, abs=1e-5)
    margins = [ABC.project(("a", "b")).onto(name) for name in "ab"]
    table = some_joint()[:, :, 0] / some_joint()[:, :, 0].sum()
    assert proportionally_fitted(table.ravel(), margins) == pytest.approx(
        np.outer(table.sum(1), table.sum(0)).ravel(), abs=1e-12
    )
