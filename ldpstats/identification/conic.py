"""Conic programming with Clarabel: one set of constraints, minimized over for one cost after another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ldpstats.numbers.arrays import FloatArray
from ldpstats.presentation import progress

Cone = Literal["zero", "nonnegative", "second order"]

# of what is minimized, and of the constraints, which are of the size of proportions
_TOLERANCE = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class ConicSolution:
    """The solution of a conic programme, with its dual certificate."""

    point: FloatArray
    multipliers: FloatArray  # per row of the constraints; zeros where the solver found none
    bound: float  # lower bound of the objective by the multipliers; else -inf


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """The points v with M v + w = r for some w in a product of cones."""

    matrix: Any  # sparse; M
    right: FloatArray  # r
    cones: tuple[tuple[Cone, int], ...]  # from the first row on, each with its number of rows

    @classmethod
    def of(cls, *parts: tuple[Cone, Any, FloatArray]) -> Constraints:
        """Stack constraints; those without rows are left out."""
        from scipy.sparse import csc_array, vstack

        filled = [part for part in parts if part[2].size]
        matrix = csc_array(vstack([rows for _, rows, _ in filled]))
        return cls(matrix, np.concatenate([right for *_, right in filled]), tuple((c, r.size) for c, _, r in filled))

    def widened(self, columns: int, *parts: tuple[Cone, Any, FloatArray]) -> Constraints:
        """Append variables, and constraints on all variables."""
        from scipy.sparse import csc_array, hstack, vstack

        padded = hstack([self.matrix, csc_array((self.right.size, columns))])
        more = Constraints.of(*parts)
        matrix = csc_array(vstack([padded, more.matrix]))
        return Constraints(matrix, np.concatenate([self.right, more.right]), self.cones + more.cones)

    def minimized(self, costs: Iterable[FloatArray], curvature: FloatArray | None = None) -> Iterator[ConicSolution]:
        """Minimize ½ Σ h v² + c·v for every c of the costs; without a curvature h, c·v."""
        import clarabel
        from scipy.sparse import csc_array, diags_array

        kinds = {
            "zero": clarabel.ZeroConeT,
            "nonnegative": clarabel.NonnegativeConeT,
            "second order": clarabel.SecondOrderConeT,
        }
        many = self.matrix.shape[1]
        curved = csc_array((many, many)) if curvature is None else csc_array(diags_array(curvature))
        solver = clarabel.DefaultSolver(
            curved,
            np.zeros(many),
            self.matrix,
            self.right,
            [kinds[kind](rows) for kind, rows in self.cones],
            _settings(),
        )
        for cost in progress(costs, "bounds", unit="programme"):
            solver.update(q=cost)
            found = solver.solve()
            multipliers = np.asarray(found.z)
            sound = bool(np.isfinite(multipliers).all()) and np.isfinite(found.obj_val_dual)
            yield ConicSolution(
                np.asarray(found.x),
                multipliers if sound else np.zeros(self.right.size),
                float(found.obj_val_dual) if sound else -np.inf,
            )


def _settings() -> Any:
    """Settings of Clarabel by which constraints are set up once for many costs."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.presolve_enable = False
    settings.direct_solve_method = "qdldl"
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TOLERANCE
    return settings
