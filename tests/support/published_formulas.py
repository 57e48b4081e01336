"""The elastic net of Imran & Meo, and Pearson's statistic, written anew."""

from __future__ import annotations

import cvxpy
import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2_contingency


def pearson(table: NDArray[np.float64]) -> float:
    """Pearson's statistic with the classic expected counts, from scratch."""
    return float(chi2_contingency(table, correction=False).statistic)


def elastic_net(counts: NDArray[np.float64], n: float, gamma: float) -> float:
    """Return the least value of the paper's objective, per respondent squared, by a general solver."""
    cells = cvxpy.Variable(counts.size)
    gap = counts / n - cells
    objective = gamma / n * cvxpy.norm1(gap) + (1 - gamma) * cvxpy.sum_squares(gap)
    cvxpy.Problem(cvxpy.Minimize(objective), [cvxpy.sum(cells) == 1, cells >= 0]).solve(
        solver=cvxpy.CLARABEL, tol_gap_abs=1e-14, tol_gap_rel=1e-14, tol_feas=1e-12
    )
    found: NDArray[np.float64] = n * cells.value
    return found
