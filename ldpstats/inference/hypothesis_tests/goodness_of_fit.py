"""Goodness of fit: whether the cells of a table have given frequencies, tested through the noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ldpstats.inference.engine.families import LinearSubspace
from ldpstats.inference.engine.null_model import proper_frequencies
from ldpstats.inference.engine.procedure import Method, PValue
from ldpstats.inference.engine.scope import listing
from ldpstats.inference.hypothesis_tests.reporting import null_model_test
from ldpstats.inference.hypothesis_tests.result import Hypothesis, HypothesisResult
from ldpstats.numbers.arrays import as_array, unweighted
from ldpstats.tables import Table, checked_table


@unweighted
def goodness_of_fit_test(
    table: Table, frequencies: ArrayLike | None = None, method: Method = "auto", pvalue: PValue = "auto"
) -> HypothesisResult:
    """Test whether the cells of a table have given frequencies in the population.

    Without noise the score is Pearson's chi-squared (chi-square) statistic for given probabilities.

    Parameters
    ----------
    table : Table
        A table of any number of attributes.
    frequencies : array, optional
        The frequencies, in the table's shape (or flattened), summing to one; uniform by default.
    method, pvalue
        As in `independence_test`.

    Returns
    -------
    HypothesisResult of a χ² (chi-squared) test; it unpacks to (statistic, pvalue)

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, goodness_of_fit_test
    >>> tables = SampledGroups(Domain({"die": range(1, 7)}), k=1, epsilon=1.0).simulate(np.full(6, 1000), rng=1)
    >>> round(goodness_of_fit_test(tables["die"]).pvalue, 3)
    0.629
    """
    cells = checked_table(table).domain.size()
    if frequencies is None:
        expected = np.full(cells, 1 / cells)
    else:
        given = as_array(frequencies, "frequencies")
        expected = proper_frequencies(given, (cells,) if given.ndim == 1 else table.shape, "frequencies").ravel()
    model = LinearSubspace(expected, np.zeros((cells, 0)))
    about = Hypothesis(
        "goodness of fit",
        f"the frequencies of {listing(table.attributes)} are those that were given",
        "the frequencies differ from those that were given",
    )
    return null_model_test(table, model, about, method, pvalue)
