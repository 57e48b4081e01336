"""Parametric bootstrap of tables: the same collections drawn again, and their estimates for a target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Table, pooled_measured
from ldpstats.tables.shared import overlapping


def redrawn_estimates(
    tables: Sequence[Table], target: Domain, size: int, rng: np.random.Generator
) -> tuple[list[FloatArray], str]:
    """Draw so many sets like these tables (parametric bootstrap), with estimates added up to the target's attributes.

    Tables that have respondents in common are drawn together, as normal estimates; the words say why their covariance
    is an upper bound, if it is one.
    """
    if not overlapping(tables):
        return [_redrawn(table, target, size, rng) for table in tables], ""
    measured = pooled_measured(tables, target)
    moved = rng.multivariate_normal(measured.estimate, measured.covariance, size=size, method="eigh")
    ends = np.cumsum([target.size([name for name in target.names if name in one.attributes]) for one in tables])
    return np.split(moved, ends[:-1], axis=1), measured.bound


def _redrawn(table: Table, target: Domain, size: int, rng: np.random.Generator) -> FloatArray:
    kept = tuple(name for name in target.names if name in table.attributes)
    sums = np.eye(target.size(kept))[table.domain.onto(kept)]
    if table.figures:
        cells = table.figures.shown
        return rng.multivariate_normal(cells.estimate, cells.covariance, size=size, method="eigh") @ sums
    proper = nearest_proper(table.unbiased.estimate)
    drawn = [block.draw(proper, size, rng) for block in table.blocks]
    return UnbiasedPooling(table.blocks).estimate(drawn) @ sums
