"""Independence of attributes, mutual, joint or conditional, tested through the noise of their answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ldpstats.answers.columns import listed
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import Method, PValue, listing
from ldpstats.inference.hypothesis_tests.result import Hypothesis, HypothesisResult, null_model_test
from ldpstats.numbers.arrays import unweighted
from ldpstats.tables import Table, checked_table


@unweighted
def independence_test(table: Table, method: Method = "auto", pvalue: PValue = "auto") -> HypothesisResult:
    """Test whether the attributes of a table are independent in the population: of more than two, mutually.

    Without noise "score" and "wald" of a two-way contingency table are Pearson's chi-squared (chi-square, χ²)
    statistic, and "lr" is the G statistic.

    Parameters
    ----------
    table : Table
        A table of at least two attributes. A wider one has `marginal`. Of a reconstructed table what was asked is
        tested, and nothing of what it assumes; where nobody was asked about the attributes together, that is refused.
    method : {"auto", "score", "gls", "lr", "wald"}
        "score" is the Rao score test for reports that are one draw of a channel; "gls" its
        generalized-least-squares counterpart where only moments are known (supports, bits, sums), identical to it
        for randomized response; where there are only estimated sums of cells (Hadamard marginals, consistent tables) it
        takes their covariance as estimated; "lr" is the likelihood ratio of the reports; "wald" measures how far the
        unbiased estimate is from the hypothesis, by its covariance there (with rare categories in long tables it may
        exceed its level). "auto" takes the score where it exists, else least squares.
    pvalue : {"auto", "asymptotic"}, MonteCarlo or AmongMany
        The χ² approximation, or tables drawn under the fitted hypothesis. "auto" is the approximation, unless
        some report is expected fewer than 5 times under independence (or the noise of a count is as far from normal),
        or the noise is so wide that the fit absorbs more than 3 % of the degrees of freedom. Beyond 10 % drawn tables
        would depend on a fit that is hardly more than noise: there a score statistic is averaged over the margins that
        the reports leave possible and compared with χ²; it still rejects too seldom where the noise is widest.
        `inference.AmongMany(tests)` is "auto" for one of many tests: smallest p-values are then drawn more precisely.

    Returns
    -------
    HypothesisResult
        For two attributes with Cramér's V and the power against it.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, independence_test
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=1.0).simulate(np.array([3000, 2000, 2000, 3000]), rng=1)
    >>> statistic, pvalue = independence_test(tables["sex", "car"])
    >>> pvalue < 0.001
    True
    """
    if len(checked_table(table).shape) < 2:
        raise LdpstatsError(f"a table of {table.attributes!r} alone", "a table of at least two attributes")
    model = ProductOfConditionals.independent(table.shape)
    return null_model_test(table, model, mutual_independence(table.attributes), method, pvalue)


@unweighted
def joint_independence_test(
    table: Table, x: str | Sequence[str], y: str | Sequence[str], method: Method = "auto", pvalue: PValue = "auto"
) -> HypothesisResult:
    """Test whether some attributes together are independent of some others together.

    Parameters
    ----------
    table : Table
        A table of just these attributes.
    x, y : str or sequence of str
        Which attributes are which.
    method, pvalue
        As in `independence_test`.

    Returns
    -------
    HypothesisResult of a χ² (chi-squared) test; it unpacks to (statistic, pvalue)

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, joint_independence_test
    >>> domain = Domain({name: ["no", "yes"] for name in "abc"})
    >>> tables = SampledGroups(domain, k=3, epsilon=3.0).simulate(np.full(8, 1000), rng=1)
    >>> joint_independence_test(tables["a", "b", "c"], ["a", "b"], "c").df
    3
    """
    first, second = _partition(table, x=x, y=y)
    model = ProductOfConditionals.independent(table.shape, [_axes(table, first), _axes(table, second)])
    about = Hypothesis(
        "joint independence",
        f"{listing(first)} {'together ' if len(first) > 1 else ''}and {listing(second)} are independent",
        f"{listing(first)} {'depend' if len(first) > 1 else 'depends'} on {listing(second)}",
        ("dependent", "no dependence shown"),
    )
    return null_model_test(table, model, about, method, pvalue)


@unweighted
def conditional_independence_test(
    table: Table,
    x: str | Sequence[str],
    y: str | Sequence[str],
    given: str | Sequence[str],
    method: Method = "auto",
    pvalue: PValue = "auto",
) -> HypothesisResult:
    """Test whether some attributes are independent of others wherever the given ones are the same.

    It asks for no association in any stratum: each category of the given attributes is a contingency table of its own.

    Parameters
    ----------
    table : Table
        A table of just these attributes.
    x, y, given : str or sequence of str
        Which attributes are which.
    method, pvalue
        As in `independence_test`.

    Returns
    -------
    HypothesisResult of a χ² (chi-squared) test; it unpacks to (statistic, pvalue)

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, conditional_independence_test
    >>> domain = Domain({name: ["no", "yes"] for name in "abc"})
    >>> tables = SampledGroups(domain, k=3, epsilon=3.0).simulate(np.full(8, 1000), rng=1)
    >>> conditional_independence_test(tables["a", "b", "c"], "a", "b", given="c").df
    2
    """
    first, second, known = _partition(table, x=x, y=y, given=given)
    axes = [_axes(table, names) for names in (first, second, known)]
    both = f"{listing(first)} and {listing(second)}"
    about = Hypothesis(
        "conditional independence",
        f"{both} are independent given {listing(known)}",
        f"{both} are dependent given {listing(known)}",
        ("dependent", "no dependence shown"),
    )
    return null_model_test(table, ProductOfConditionals.independent_given(table.shape, *axes), about, method, pvalue)


def mutual_independence(attributes: Sequence[str]) -> Hypothesis:
    """Put into words that some attributes are independent: of more than two, each of all the others."""
    named, mutually = listing(attributes), "mutually " if len(attributes) > 2 else ""
    return Hypothesis(
        f"{'mutual ' if mutually else ''}independence",
        f"{named} are {mutually}independent",
        f"{named} are {'not all independent of each other' if mutually else 'dependent'}",
        ("dependent", "no dependence shown"),
        "w" if mutually else "V",
    )


def _partition(table: Table, **sets: str | Sequence[str]) -> list[tuple[str, ...]]:
    named = [checked_table(table).domain.project(attributes).names for attributes in sets.values()]
    together = [name for names in named for name in names]
    if sorted(together) != sorted(table.attributes):
        raise LdpstatsError(
            f"{', '.join(f'{what} = {listed(attributes)!r}' for what, attributes in sets.items())}",
            f"each of {one_line(table.attributes)} once",
            "A wider table has `marginal`.",
        )
    return named


def _axes(table: Table, names: Iterable[str]) -> tuple[int, ...]:
    return tuple(table.attributes.index(name) for name in names)
