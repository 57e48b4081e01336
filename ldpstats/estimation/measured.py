"""What reports measure of a table: sums of its cells, without bias, and how far they scatter together."""

from __future__ import annotations

from dataclasses import dataclass

from ldpstats.arrays import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """Sums of a table's cells that were estimated without bias, with the covariance of their errors.

    Parameters
    ----------
    sums : array, shape (m, cells)
        Which cells each sum adds, and how often; the last attribute of the table varies fastest.
    estimate : array, shape (m,)
        The estimated sums; they may contradict one another, be negative or exceed one.
    covariance : array, shape (m, m)
        The covariance of the estimates. It is singular wherever sums are known, as totals are, or agree by design.
    n : int
        The reports behind them.
    bound : str
        Why the covariance is an upper bound, in words; empty if it is the covariance itself.

    Examples
    --------
    The margins of a table of 2 by 2, from the same 100 respondents:

    >>> import numpy as np
    >>> from ldpstats.estimation import Measured
    >>> rows, columns = np.repeat(np.eye(2), 2, axis=1), np.tile(np.eye(2), 2)
    >>> spread = np.array([[1, -1], [-1, 1]])
    >>> margins = Measured(
    ...     np.vstack([rows, columns]),
    ...     np.array([0.6, 0.4, 0.3, 0.7]),
    ...     np.kron(np.diag([0.24, 0.21]), spread) / 100,
    ...     n=100,
    ... )
    >>> margins.sums @ np.array([0.2, 0.4, 0.1, 0.3])
    array([0.6, 0.4, 0.3, 0.7])
    """

    sums: FloatArray
    estimate: FloatArray
    covariance: FloatArray
    n: int
    bound: str = ""
