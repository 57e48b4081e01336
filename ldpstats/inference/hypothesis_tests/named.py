"""Hypotheses by name: about one table, or about several groups, each tested through the noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ldpstats.arrays import FloatArray, as_array
from ldpstats.columns import listed
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.inference.effects.cramers_v import Association
from ldpstats.inference.engine.detectability import information_beyond, power_of
from ldpstats.inference.engine.families import LinearSubspace, LogLinear, ProductOfConditionals
from ldpstats.inference.engine.null_model import NullModel
from ldpstats.inference.engine.procedure import Method, Outcome, PValue, fitted_and_tested
from ldpstats.inference.engine.scope import said
from ldpstats.inference.hypothesis_tests.result import Hypothesis, HypothesisResult
from ldpstats.tables import Table, checked_table

SIZES = (0.1, 0.3)
_PROPER = 1e-9


def goodness_of_fit_test(
    table: Table, frequencies: ArrayLike | None = None, method: Method = "auto", pvalue: PValue = "auto"
) -> HypothesisResult:
    """Test whether the cells of a table have given frequencies in the population.

    Parameters
    ----------
    table : Table
        A table of any number of attributes.
    frequencies : array, optional
        The frequencies, in the table's shape (or flattened), summing to one; uniform by default.
    method, pvalue
        As in `independence_test`; "wald" is for independence only.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> tables = SampledGroups(Domain({"die": range(1, 7)}), k=1, epsilon=1.0).simulate(np.full(6, 1000), rng=1)
    >>> round(goodness_of_fit_test(tables["die"]).pvalue, 3)
    0.629
    """
    cells = checked_table(table).domain.size()
    expected = np.full(cells, 1 / cells) if frequencies is None else _proper(frequencies, table)
    model = LinearSubspace(expected, np.zeros((cells, 0)))
    about = Hypothesis(
        "goodness of fit",
        f"{said(table.attributes)} {_have(table.attributes)} the frequencies that were given",
        "the frequencies are others",
    )
    return _tested(table, model, about, method, pvalue)


def joint_independence_test(
    table: Table, x: str | Sequence[str], y: str | Sequence[str], method: Method = "auto", pvalue: PValue = "auto"
) -> HypothesisResult:
    """Test whether some attributes together are independent of some others together.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({name: ["no", "yes"] for name in "abc"})
    >>> tables = SampledGroups(domain, k=3, epsilon=3.0).simulate(np.full(8, 1000), rng=1)
    >>> joint_independence_test(tables["a", "b", "c"], ["a", "b"], "c").df
    3
    """
    first, second = _partition(table, x=x, y=y)
    model = ProductOfConditionals.independent(table.shape, [_axes(table, first), _axes(table, second)])
    about = Hypothesis(
        "joint independence",
        f"{said(first)} {'together ' if len(first) > 1 else ''}and {said(second)} are independent",
        f"{said(first)} {'depend' if len(first) > 1 else 'depends'} on {said(second)}",
        ("dependent", "no dependence shown"),
    )
    return _tested(table, model, about, method, pvalue)


def conditional_independence_test(
    table: Table,
    x: str | Sequence[str],
    y: str | Sequence[str],
    given: str | Sequence[str],
    method: Method = "auto",
    pvalue: PValue = "auto",
) -> HypothesisResult:
    """Test whether some attributes are independent of others wherever the given ones are the same.

    Parameters
    ----------
    table : Table
        A table of just these attributes.
    x, y, given : str or sequence of str
        Which attributes are which.
    method, pvalue
        As in `goodness_of_fit_test`.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({name: ["no", "yes"] for name in "abc"})
    >>> tables = SampledGroups(domain, k=3, epsilon=3.0).simulate(np.full(8, 1000), rng=1)
    >>> conditional_independence_test(tables["a", "b", "c"], "a", "b", given="c").df
    2
    """
    first, second, known = _partition(table, x=x, y=y, given=given)
    within = _axes(table, known)
    factors = ((within, ()), (_axes(table, first), within), (_axes(table, second), within))
    about = Hypothesis(
        "conditional independence",
        f"{said(first)} and {said(second)} are independent given {said(known)}",
        f"{said(first)} and {said(second)} are dependent where {said(known)} {_have(known, 'is', 'are')} the same",
        ("dependent", "no dependence shown"),
    )
    return _tested(table, ProductOfConditionals(table.shape, factors), about, method, pvalue)


def no_three_way_interaction_test(table: Table, method: Method = "auto", pvalue: PValue = "auto") -> HypothesisResult:
    """Test whether each two of three attributes hang together in the same way, whatever the third is.

    The odds ratios of any two attributes are then the same in all categories of the third (homogeneous association).

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({name: ["no", "yes"] for name in "abc"})
    >>> tables = SampledGroups(domain, k=3, epsilon=3.0).simulate(np.full(8, 1000), rng=1)
    >>> no_three_way_interaction_test(tables["a", "b", "c"]).df
    1
    """
    if len(checked_table(table).shape) != 3:
        raise LdpstatsError(f"a table of {table.attributes!r}", "a table of three attributes")
    first, second, third = table.attributes
    about = Hypothesis(
        "no three-way interaction",
        f"{first} and {second} hang together in the same way whatever {third} is",
        f"how {first} and {second} hang together depends on {third}",
    )
    return _tested(table, LogLinear(table.shape, ((0, 1), (0, 2), (1, 2))), about, method, pvalue)


def symmetry_test(table: Table, method: Method = "auto", pvalue: PValue = "auto") -> HypothesisResult:
    """Test whether a square table is symmetric: each cell as frequent as the one across the diagonal (Bowker).

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({"before": ["no", "maybe", "yes"], "after": ["no", "maybe", "yes"]})
    >>> tables = SampledGroups(domain, epsilon=3.0).simulate(np.full(9, 1000), rng=1)
    >>> symmetry_test(tables["before", "after"]).df
    3
    """
    side, (first, second) = _square(table), table.attributes
    upper = [(row, column) for row in range(side) for column in range(row + 1, side)]
    constraints = np.array([_difference(side, (row, column), (column, row)) for row, column in upper])
    about = Hypothesis(
        "symmetry",
        f"{first} and {second} can be exchanged without changing the table",
        f"the table of {first} and {second} is not symmetric",
    )
    return _tested(table, _uniform_under(constraints), about, method, pvalue)


def marginal_homogeneity_test(table: Table, method: Method = "auto", pvalue: PValue = "auto") -> HypothesisResult:
    """Test whether the two attributes of a square table have the same frequencies.

    For 2 × 2 tables without noise this is McNemar's statistic. For larger ones it lies between those of Stuart and
    Maxwell and of Bhapkar, as its covariance is that of the most likely table with equal margins.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({"before": ["no", "maybe", "yes"], "after": ["no", "maybe", "yes"]})
    >>> tables = SampledGroups(domain, epsilon=3.0).simulate(np.full(9, 1000), rng=1)
    >>> marginal_homogeneity_test(tables["before", "after"]).df
    2
    """
    side, (first, second) = _square(table), table.attributes
    constraints = np.array([np.repeat(one, side) - np.tile(one, side) for one in np.eye(side)[:-1]])
    about = Hypothesis(
        "marginal homogeneity",
        f"{first} and {second} have the same frequencies",
        f"the frequencies of {first} and {second} differ",
    )
    return _tested(table, _uniform_under(constraints), about, method, pvalue)


def mutual_independence(attributes: Sequence[str]) -> Hypothesis:
    """Put into words that some attributes are independent: of more than two, each of all the others."""
    named, mutually = said(attributes), "mutually " if len(attributes) > 2 else ""
    return Hypothesis(
        f"{'mutual ' if mutually else ''}independence",
        f"{named} are {mutually}independent",
        f"{named} are {'not all independent of each other' if mutually else 'dependent'}",
        ("dependent", "no dependence shown"),
        "w" if mutually else "V",
    )


def result_of(
    table: Table, about: Hypothesis, outcome: Outcome, power: dict[float, float], effect: Association | None = None
) -> HypothesisResult:
    """Put an outcome into words."""
    return HypothesisResult(
        about=about,
        attributes=table.attributes,
        statistic=outcome.statistic,
        pvalue=outcome.pvalue,
        df=outcome.df,
        method=outcome.method,
        pvalue_source=outcome.pvalue_source,
        seed=outcome.seed,
        n=table.n,
        effect=effect,
        power=power,
        expected=outcome.evidence.whole(outcome.null).reshape(table.shape),
        converged=outcome.converged,
        privacy=table.privacy,
        simulated=table.simulated,
        table=table,
    )


def power_against(model: NullModel, outcome: Outcome) -> dict[float, float]:
    """Return the approximate power at level .05 against deviations of two sizes, averaged over their directions."""
    information = information_beyond(model, outcome.evidence, outcome.null)
    return {size: power_of(information, outcome.df, size, 2) for size in SIZES}


def _tested(table: Table, model: NullModel, about: Hypothesis, method: Method, pvalue: PValue) -> HypothesisResult:
    outcome = fitted_and_tested(table, model, method, pvalue)
    return result_of(table, about, outcome, power_against(model, outcome))


def _proper(frequencies: ArrayLike, table: Table) -> FloatArray:
    given = as_array(frequencies, "frequencies").astype(float)
    if given.size != table.domain.size() or given.shape not in (table.shape, (given.size,)):
        raise LdpstatsError(f"frequencies of shape {given.shape}", f"an array of shape {table.shape}, or flattened")
    # written so that a NaN fails
    if not (given.min() >= 0 and abs(given.sum() - 1) <= _PROPER):
        raise LdpstatsError(f"frequencies that sum to {given.sum():g}", "nonnegative frequencies that sum to one")
    return given.ravel()


def _partition(table: Table, **sets: str | Sequence[str]) -> list[tuple[str, ...]]:
    """Return sets of attributes that together are all of the table's, each once."""
    named = [checked_table(table).domain.project(one).names for one in sets.values()]
    together = [name for one in named for name in one]
    if sorted(together) != sorted(table.attributes):
        raise LdpstatsError(
            f"{', '.join(f'{what} = {listed(one)!r}' for what, one in sets.items())}",
            f"each of {one_line(table.attributes)} once",
            "A wider table has `marginal`.",
        )
    return named


def _axes(table: Table, names: Iterable[str]) -> tuple[int, ...]:
    return tuple(table.attributes.index(name) for name in names)


def _square(table: Table) -> int:
    """Return the side of a square table whose attributes have the same categories."""
    categories = list(checked_table(table).domain.categories.values())
    if len(categories) != 2 or categories[0] != categories[1]:
        raise LdpstatsError(
            f"a table of {', '.join(f'{name} {list(values)}' for name, values in table.domain.categories.items())}",
            "two attributes with the same categories, in the same order",
        )
    return len(categories[0])


def _difference(side: int, plus: tuple[int, int], minus: tuple[int, int]) -> FloatArray:
    table = np.zeros((side, side))
    table[plus], table[minus] = 1, -1
    return table.ravel()


def _uniform_under(constraints: FloatArray) -> LinearSubspace:
    cells = constraints.shape[1]
    return LinearSubspace.constrained(np.full(cells, 1 / cells), constraints)


def _have(names: Sequence[str], one: str = "has", more: str = "have") -> str:
    return one if len(names) == 1 else more
