"""Evidence: the score and Fisher information of cell frequencies that reports give, for many tables at once.

It has two makers: blocks, which say it through their channels, and estimated sums of cells with their covariance.
Null models, statistics, Monte Carlo and power see nothing else of a table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ldpstats.noise import Information
from ldpstats.numbers.arrays import BoolArray, FloatArray


class Evidence(Protocol):
    """What is known of the cells of one or many tables that were asked the same; all have a leading axis of tables.

    Frequencies, scores and draws are of the cells that can have respondents alone, where some are known not to.
    """

    @property
    def has_likelihood(self) -> bool:
        """Whether the score is that of the reports' likelihood, and not only of their first two moments."""

    @property
    def has_null_covariance(self) -> bool:
        """Whether the covariance of the unbiased estimate is known under any hypothesis, not only at the estimate."""

    @property
    def words(self) -> str:
        """What least squares are on, in words that follow the method."""

    @property
    def fingerprint(self) -> bytes:
        """What was seen, as bytes to make seeds of."""

    def among(self, possible: NDArray[np.intp] | None) -> Self:
        """Return the same evidence about tables of which only some cells can have respondents."""

    def estimator(self) -> Callable[[Evidence], FloatArray] | None:
        """Return the function that estimates cells of such tables without bias; None where some contrasts are open."""

    def replicates(self, frequencies: FloatArray, size: int, rng: np.random.Generator) -> Self:
        """Draw `size` tables of as many respondents whose cells have these frequencies."""

    def expected(self, frequencies: FloatArray) -> Self:
        """Return the one table without chance, of as many respondents whose cells have these frequencies."""

    def subset(self, tables: NDArray[np.intp]) -> Self:
        """Return some of the tables."""

    def whole(self, frequencies: FloatArray) -> FloatArray:
        """Return the frequencies of all cells of the table."""

    def __len__(self) -> int: ...

    def score(self, frequencies: FloatArray) -> tuple[FloatArray, Information]:
        """Return the score of the cell frequencies (up to a multiple of ones) and its information."""

    def log_likelihood(self, frequencies: FloatArray) -> FloatArray:
        """Return each table's log-likelihood, where there is one."""

    def supports(self, frequencies: FloatArray) -> BoolArray:
        """Say for which tables these frequencies give a proper law of the reports."""

    def rarest_expected_report(self, frequencies: FloatArray) -> FloatArray:
        """Return for every table how many reports the rarest one is worth if the cells have these frequencies."""


def identified_contrasts(evidence: Evidence, frequencies: FloatArray) -> FloatArray:
    """Return an orthonormal basis of the contrasts of cells that the evidence tells of, at whatever frequencies."""
    _, information = evidence.score(frequencies[None, :])
    cells = frequencies.size
    # contrasts first: where the total is known almost exactly, centring would leave rounding for one direction more
    contrasts = np.linalg.svd(np.ones((1, cells)))[2][1:].T
    values, vectors = np.linalg.eigh(information.between(contrasts)[0])
    found: FloatArray = contrasts @ vectors[:, values > values.max() * cells * 1e-12]
    return found


def whole_cells(possible: NDArray[np.intp] | None, frequencies: FloatArray, cells: int) -> FloatArray:
    """Return frequencies of all cells, zero for those that cannot have respondents."""
    if possible is None:
        return frequencies
    whole = np.zeros((*frequencies.shape[:-1], cells))
    whole[..., possible] = frequencies
    return whole


def own_cells(possible: NDArray[np.intp] | None, cells: FloatArray) -> FloatArray:
    """Return the frequencies of the cells that can have respondents."""
    return cells if possible is None else cells[..., possible]
