"""Linear hypotheses about cells: goodness of fit, symmetry and marginal homogeneity (McNemar, Stuart and Maxwell)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ldpstats.errors import LdpstatsError
from ldpstats.inference.engine.families import LinearSubspace
from ldpstats.inference.engine.null_model import proper_frequencies
from ldpstats.inference.engine.procedure import Method, PValue, listing
from ldpstats.inference.hypothesis_tests.result import Hypothesis, HypothesisResult, null_model_test
from ldpstats.numbers.arrays import FloatArray, as_array, unweighted
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


@unweighted
def symmetry_test(table: Table, method: Method = "auto", pvalue: PValue = "auto") -> HypothesisResult:
    """Test whether a square table is symmetric: each cell as frequent as the one across the diagonal (Bowker).

    Parameters
    ----------
    table : Table
        A table of two attributes with the same categories.
    method, pvalue
        As in `independence_test`.

    Returns
    -------
    HypothesisResult of a χ² (chi-squared) test; it unpacks to (statistic, pvalue)

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, symmetry_test
    >>> domain = Domain({"before": ["no", "maybe", "yes"], "after": ["no", "maybe", "yes"]})
    >>> tables = SampledGroups(domain, epsilon=3.0).simulate(np.full(9, 1000), rng=1)
    >>> symmetry_test(tables["before", "after"]).df
    3
    """
    side, (first, second) = _square(table), table.attributes
    upper = [(row, column) for row in range(side) for column in range(row + 1, side)]
    cells = np.eye(side * side).reshape(side, side, -1)
    constraints = np.array([cells[row, column] - cells[column, row] for row, column in upper])
    about = Hypothesis(
        "symmetry",
        f"the table of {first} and {second} is symmetric",
        f"the table of {first} and {second} is not symmetric",
    )
    return null_model_test(table, _uniform_under(constraints), about, method, pvalue)


@unweighted
def marginal_homogeneity_test(table: Table, method: Method = "auto", pvalue: PValue = "auto") -> HypothesisResult:
    """Test whether the two attributes of a square table have the same frequencies.

    For 2 × 2 tables without noise this is McNemar's statistic. For larger ones "wald" is that of Stuart and Maxwell;
    the score lies between it and Bhapkar's, as its covariance is that of the most likely table with equal margins.

    Parameters
    ----------
    table : Table
        A table of two attributes with the same categories.
    method, pvalue
        As in `independence_test`.

    Returns
    -------
    HypothesisResult of a χ² (chi-squared) test; it unpacks to (statistic, pvalue)

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, marginal_homogeneity_test
    >>> domain = Domain({"before": ["no", "maybe", "yes"], "after": ["no", "maybe", "yes"]})
    >>> tables = SampledGroups(domain, epsilon=3.0).simulate(np.full(9, 1000), rng=1)
    >>> marginal_homogeneity_test(tables["before", "after"]).df
    2
    """
    side, (first, second) = _square(table), table.attributes
    constraints = np.array([np.repeat(row, side) - np.tile(row, side) for row in np.eye(side)[:-1]])
    about = Hypothesis(
        "marginal homogeneity",
        f"{first} and {second} have the same frequencies",
        f"the frequencies of {first} and {second} differ",
    )
    return null_model_test(table, _uniform_under(constraints), about, method, pvalue)


def _square(table: Table) -> int:
    categories = list(checked_table(table).domain.categories.values())
    if len(categories) != 2 or categories[0] != categories[1]:
        raise LdpstatsError(
            f"a table of {', '.join(f'{name} {list(values)}' for name, values in table.domain.categories.items())}",
            "two attributes with the same categories, in the same order",
        )
    return len(categories[0])


def _uniform_under(constraints: FloatArray) -> LinearSubspace:
    cells = constraints.shape[1]
    return LinearSubspace.constrained(np.full(cells, 1 / cells), constraints)
