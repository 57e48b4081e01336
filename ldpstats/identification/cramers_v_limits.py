"""Limits of Cramér's V of two attributes whose joint table is only partially identified."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpstats.identification.possible_tables import PossibleTables
from ldpstats.numbers.arrays import FloatArray

# what the solver may miss of the least φ², which then counts for nothing
_MISSED = 1e-7


@dataclass(frozen=True, slots=True, eq=False)
class _MarginLimits:
    """Limits of the margin of one attribute, whose categories add up these sums of cells."""

    sums: FloatArray
    low: FloatArray
    high: FloatArray

    @classmethod
    def of(cls, tables: PossibleTables, sums: FloatArray) -> _MarginLimits:
        low, high = tables.least(sums), -tables.least(-sums)
        return cls(sums, np.clip(low, 0, 1), np.clip(high, 0, 1))

    @property
    def middle(self) -> FloatArray:
        """Midpoints of the limits."""
        return (self.low + self.high) / 2

    @property
    def reach(self) -> FloatArray:
        """Half the distances between the limits."""
        return (self.high - self.low) / 2


@dataclass(frozen=True, slots=True, eq=False)
class _IndependenceResiduals:
    """The deviations P − r c from independence in all possible tables: linear in the cells but for a bounded rest.

    With r₀ and c₀ the middles of the margins' limits, r c = r₀ c + c₀ r − r₀ c₀ + (r − r₀)(c − c₀), and the last
    product is at most the product of their reaches: of second order in the uncertainty of the margins, zero where they
    are known.
    """

    linear: FloatArray  # shape (cells of the two-way table, cells)
    rest: FloatArray  # most by which a deviation differs from its linear part
    least: FloatArray  # r c of the margins at least
    largest: FloatArray  # and at most

    @classmethod
    def of(cls, cells: FloatArray, rows: _MarginLimits, columns: _MarginLimits) -> _IndependenceResiduals:
        many = cells.shape[1]
        products = (
            rows.middle[:, None, None] * columns.sums
            + columns.middle[:, None] * rows.sums[:, None]
            - np.outer(rows.middle, columns.middle)[:, :, None]
        )
        return cls(
            cells - products.reshape(-1, many),
            np.outer(rows.reach, columns.reach).ravel(),
            np.outer(rows.low, columns.low).ravel(),
            np.outer(rows.high, columns.high).ravel(),
        )


def cramers_v_limits(tables: PossibleTables, cells: FloatArray, shape: tuple[int, int]) -> tuple[float, float]:
    """Limits of Cramér's V of a two-way table over all possible tables.

    With D = P − r c, φ² = Σ D² / (r c) and V = √(φ² / (min(rows, columns) − 1)). Where the margins r and c are known:

    - the lower limit is the least V there is (φ² is convex in the cells: a quadratic programme);
    - the upper limit is the largest V there is in a table of 2 by 2, and at least as large in larger ones: the maximum
      of a convex function is bounded by that of the chords of D² over the limits of each D, which is linear.

    Where they are not, both are outer limits: each r c in a denominator is taken between the limits of the margins, and
    what of D is not linear is allowed for in full. `cells`, shape (rows × columns, cells of the possible tables), adds
    up the cells of the two-way table.
    """
    side = min(shape)
    grid = cells.reshape(*shape, -1)
    margins = [_MarginLimits.of(tables, grid.sum(axis=1 - axis)) for axis in (0, 1)]
    deviations = _IndependenceResiduals.of(cells, *margins)
    low = _least_square(tables, deviations)
    high = _largest_of_four(tables, deviations, margins) if shape == (2, 2) else _largest_square(tables, deviations)
    return min(math.sqrt(low / (side - 1)), 1.0), min(math.sqrt(high / (side - 1)), 1.0)


def _least_square(tables: PossibleTables, deviations: _IndependenceResiduals) -> float:
    """Lower limit of φ²: the least Σ h² / (r c), at the largest r c, with h ≥ |linear part| − rest."""
    from scipy.sparse import csc_array, eye_array, hstack

    there = deviations.largest > 0
    linear, rest = deviations.linear[there], deviations.rest[there]
    base = tables.constraints()
    between = base.matrix.shape[1] - tables.cells
    padded = csc_array(hstack([csc_array(linear), csc_array((len(rest), between))]))
    lengths = -eye_array(len(rest))
    constraints = base.widened(
        len(rest),
        ("nonnegative", hstack([padded, lengths]), rest),
        ("nonnegative", hstack([-padded, lengths]), rest),
    )
    curvature = np.r_[np.zeros(base.matrix.shape[1]), 2 / deviations.largest[there]]
    bound = next(constraints.minimized([np.zeros(curvature.size)], curvature)).bound
    return max(bound - _MISSED, 0.0)


def _largest_square(tables: PossibleTables, deviations: _IndependenceResiduals) -> float:
    """Upper limit of φ²: the largest sum of the chords of D² / (r c), at the least r c."""
    if deviations.least.min() <= 0:
        return math.inf
    low = tables.least(deviations.linear) - deviations.rest
    high = -tables.least(-deviations.linear) + deviations.rest
    slopes, weights = low + high, 1 / deviations.least
    chords = (weights * slopes) @ deviations.linear
    linear = -float(tables.least(-chords[None])[0])
    return linear + float(weights @ (np.abs(slopes) * deviations.rest - low * high))


def _largest_of_four(tables: PossibleTables, deviations: _IndependenceResiduals, margins: list[_MarginLimits]) -> float:
    """Upper limit of φ² of a table of 2 by 2: D² / (r₁ r₂ c₁ c₂), as all four D are ±D."""
    first = deviations.linear[:1]
    farthest = max(float(-tables.least(-first)[0]), float(-tables.least(first)[0])) + deviations.rest[0]
    # r (1 − r) is least at one of the limits of r
    least = [min(margin.low[0] * (1 - margin.low[0]), margin.high[0] * (1 - margin.high[0])) for margin in margins]
    return float(farthest**2 / (least[0] * least[1])) if min(least) > 0 else math.inf
