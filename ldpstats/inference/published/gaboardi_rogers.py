"""The χ² tests of fit of Gaboardi & Rogers (2018) to locally private counts, by GRR or flipped bits."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from ldpstats.errors import LdpstatsError
from ldpstats.inference.engine.null_model import proper_frequencies
from ldpstats.inference.engine.procedure import listing
from ldpstats.inference.published.published_result import PublishedResult, counted_blocks
from ldpstats.noise import SupportNoise, TruthOrFake
from ldpstats.numbers.arrays import as_array
from ldpstats.tables import Table


def gaboardi_rogers_test(table: Table, frequencies: ArrayLike, alpha: float = 0.05) -> PublishedResult:
    """Test whether cells have given frequencies, by the local χ² tests of Gaboardi & Rogers (2018).

    With v = H/n - μ for the counts H of the n reports, which expect μ and have the covariance Σ under the hypothesis,
    the statistic is n vᵀ Π Σ⁺ Π v with Π = I - 11ᵀ/k, and has k - 1 degrees of freedom. For GRR that is Pearson's χ² of
    the reports. For flipped bits (SUE) with z = e^(ε/2), μ = ((z - 1) p + 1) / (z + 1) and
    Σ = ((z - 1) / (z + 1))² (diag p - p pᵀ) + z / (z + 1)² I.

    Parameters
    ----------
    table : Table
        A table of any number of attributes, with one block of reports through GRR or SUE.
    frequencies : array
        The frequencies, in the table's shape (or flattened), summing to one.
    alpha : float
        The level.

    Returns
    -------
    PublishedResult
        With `rejected`, the decision.

    Examples
    --------
    >>> import numpy as np
    >>> import ldpstats as ldp
    >>> protocol = ldp.SampledGroups(ldp.Domain({"die": range(1, 7)}), k=1, epsilon=1.0, mechanism="sue")
    >>> table = protocol.simulate(np.full(6, 1000), rng=1)["die"]
    >>> round(ldp.published.gaboardi_rogers_test(table, np.full(6, 1 / 6)).pvalue, 3)
    0.252
    """
    first, *others = counted_blocks(table, least=1)
    block, noise, cells = first.by_value, first.by_value.noise, table.domain.size()
    flips = isinstance(noise, SupportNoise) and noise.size is None and math.isclose(noise.p + noise.q, 1)
    uniform = isinstance(noise, TruthOrFake) and noise.exchangeable
    if others or not block.question.is_identity or not (flips or uniform):
        raise LdpstatsError(
            f"a table of {' and '.join(table.attributes)} with {1 + len(others)} blocks through {noise!r}",
            "one block of reports about its cells, through GRR or SUE",
            "goodness_of_fit_test takes any reports.",
        )
    given, centred = as_array(frequencies, "frequencies"), np.eye(cells) - 1 / cells
    expected = proper_frequencies(given, (cells,) if given.ndim == 1 else table.shape, "frequencies").ravel()
    gap = block.tally.counts / block.n - noise.mean(expected)
    values, vectors = np.linalg.eigh(centred @ block.report_covariance(expected) @ centred)
    along = (gap @ vectors)[1:]  # the first is the vector of ones
    return PublishedResult.asymptotic(
        table,
        expected=expected,
        hypothesis=f"the frequencies of {listing(table.attributes)} are those that were given",
        name="Local χ² test of fit (Gaboardi & Rogers 2018)",
        statistic=block.n * float(along**2 @ (1 / values[1:])),
        df=cells - 1,
        alpha=alpha,
        small_cells=0,
        method=f"χ² of the reports with df = {cells - 1}, by their covariance under the hypothesis",
        pvalue_source="asymptotic χ²",
        caveats=("The paper's test, for comparison: it takes counts by value, and holds for many reports.",),
    )
