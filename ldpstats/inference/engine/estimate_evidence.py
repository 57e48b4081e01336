"""Evidence of estimates: sums of a table's cells, estimated without bias, with the covariance of their errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ldpstats.estimation import Measured
from ldpstats.inference.engine.evidence import Evidence, own_cells, whole_cells
from ldpstats.noise import Information
from ldpstats.numbers.arrays import BoolArray, FloatArray

# eigenvalues of a correlation matrix below this share of the largest are rounding: such sums are known, as totals are
_SAME = 1e-9
# an estimated cell may be negative or exceed one; a fit that leaves even this range is lost
_LEAST_CELL, _LARGEST_CELL = -1.0, 2.0


@dataclass(frozen=True, slots=True, eq=False)
class EstimateEvidence:
    """Sums of cells that were estimated without bias, with normal errors whose covariance is known.

    With x = A π + error and the covariance C of the errors, the whitened sums W x (`seen`, a row per table) and W A
    (`design`) are sufficient, where Wᵀ W = C⁻: their errors are independent and of variance one. A sum without noise,
    as a total, has no part in them. `possible` are the cells that can have respondents, if not all.
    """

    measured: Measured
    design: FloatArray
    seen: FloatArray
    possible: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, measured: Measured) -> EstimateEvidence:
        """Return the one table that was estimated."""
        whitener = _whitener(measured.covariance)
        return cls(measured, whitener @ measured.sums, (whitener @ measured.estimate)[None, :])

    @property
    def has_likelihood(self) -> bool:
        """False: the errors are known by their moments."""
        return False

    @property
    def has_null_covariance(self) -> bool:
        """False: the covariance is that at the estimate."""
        return False

    @property
    def words(self) -> str:
        """What least squares are on: estimated sums, and whether their covariance is a bound."""
        bound = self.measured.bound
        upper = f", with an upper bound of their covariance ({bound}): conservative" if bound else ""
        return f"on estimated sums of cells, by their covariance at the estimate{upper}"

    @property
    def fingerprint(self) -> bytes:
        """The estimates as bytes."""
        return self.seen.tobytes()

    def among(self, possible: NDArray[np.intp] | None) -> EstimateEvidence:
        """Return the same sums of tables of which only some cells can have respondents."""
        return replace(self, possible=possible)

    def estimator(self) -> Callable[[Evidence], FloatArray] | None:
        """Return least squares of the whitened sums and the total; None where these do not identify the cells."""
        rows = np.vstack([self.design, np.full((1, self.design.shape[1]), np.abs(self.design).max(initial=1.0))])
        if np.linalg.matrix_rank(rows) < rows.shape[1]:
            return None
        inverse = np.linalg.pinv(rows)
        total = rows[-1, 0] * inverse[:, -1]

        def estimated(drawn: Evidence) -> FloatArray:
            assert isinstance(drawn, EstimateEvidence)  # of the same sums
            return own_cells(self.possible, drawn.seen @ inverse[:, :-1].T + total)

        return estimated

    def replicates(self, frequencies: FloatArray, size: int, rng: np.random.Generator) -> EstimateEvidence:
        """Draw `size` estimates with normal errors if the cells have these frequencies."""
        expected = self.design @ self.whole(frequencies)
        return replace(self, seen=expected + rng.standard_normal((size, expected.size)))

    def expected(self, frequencies: FloatArray) -> EstimateEvidence:
        """Return the one table without chance, if the cells have these frequencies."""
        return replace(self, seen=(self.design @ self.whole(frequencies))[None, :])

    def subset(self, tables: NDArray[np.intp]) -> EstimateEvidence:
        """Return some of the tables."""
        return replace(self, seen=self.seen[tables])

    def whole(self, frequencies: FloatArray) -> FloatArray:
        """Return the frequencies of all cells of the table."""
        return whole_cells(self.possible, frequencies, self.design.shape[1])

    def __len__(self) -> int:
        return len(self.seen)

    def score(self, frequencies: FloatArray) -> tuple[FloatArray, Information]:
        """Return the score Aᵀ C⁻ (x − A π) and the information Aᵀ C⁻ A."""
        design = own_cells(self.possible, self.design)
        score = self._errors(frequencies) @ design
        leading = score.shape[:-1]
        left = np.broadcast_to(design.T, (*leading, *design.T.shape))
        core = np.broadcast_to(np.eye(len(design)), (*leading, len(design), len(design)))
        return score, Information(np.zeros(score.shape), left, core)

    def log_likelihood(self, frequencies: FloatArray) -> FloatArray:
        """Return the log-likelihood of normal errors, up to a constant."""
        total: FloatArray = -0.5 * (self._errors(frequencies) ** 2).sum(axis=-1)
        return total

    def supports(self, frequencies: FloatArray) -> BoolArray:
        """Say for which tables these frequencies are such as estimates can be; the errors have a law with any."""
        within: BoolArray = np.all((frequencies > _LEAST_CELL) & (frequencies < _LARGEST_CELL), axis=-1)
        return within

    def rarest_expected_report(self, frequencies: FloatArray) -> FloatArray:
        """Return the least variance of a sum, in reports: nf(1 − f) without noise, its count where it is rare."""
        n, sums = self.measured.n, self.measured.sums
        shares = self.whole(frequencies) @ sums.T
        sampled = n * shares * (sums.sum(axis=1) - shares) * self.measured.is_of_cells
        spread = np.maximum(n**2 * np.diagonal(self.measured.covariance), sampled)
        least: FloatArray = spread.min(axis=-1, initial=np.inf)
        return least

    def _errors(self, frequencies: FloatArray) -> FloatArray:
        return self.seen - self.whole(frequencies) @ self.design.T


def _whitener(covariance: FloatArray) -> FloatArray:
    """Return W with Wᵀ W = C⁻ and W C Wᵀ = 1, leaving out what has no variance."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    known = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(known, known))
    varying = values > _SAME * max(float(values.max(initial=0.0)), _SAME)
    whitener: FloatArray = (vectors[:, varying] / np.sqrt(values[varying])).T / known
    return whitener
