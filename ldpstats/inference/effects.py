"""Effect sizes of two-way tables, corrected for the randomization noise that inflates them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.inference.statistics import interaction, interaction_derivative
from ldpstats.tables import Table

_LARGE_NOISE = 0.3


@dataclass(frozen=True, slots=True)
class Association:
    """How strongly two attributes hang together.

    Parameters
    ----------
    cramers_v : float
        Cramér's V without the bias that noise adds: 0 for independence, 1 for the strongest dependence;
        nan where it is not estimable.
    plug_in : float
        V of the estimated table as it stands; noise alone makes it positive.
    noise : float
        The V that noise alone would show on average (root mean square).
    why_not : str
        The reason where V is not estimable.
    """

    cramers_v: float
    plug_in: float
    noise: float
    why_not: str = ""

    def __str__(self) -> str:
        if self.why_not:
            return f"Cramér's V is not estimable: {self.why_not}"
        return f"Cramér's V = {self.cramers_v:.3f} (corrected for noise, which alone would show about {self.noise:.3f})"


def association(table: Table) -> Association:
    """Return the bias-corrected Cramér's V of a two-way table.

    With E the product of the estimated margins, g the deviations from it and V their covariance,
    φ² = Σ g²/E − Σ V_vv/E, and Cramér's V is the root of max(φ², 0) / (min(r, c) − 1), at most 1. Where noise
    alone would show a V of .3 or more, V is called not estimable. It always starts from the table's "unbiased"
    estimate, whatever its method: what is taken off is the excess of a linear, unbiased estimate (a derived table
    has no other than its own).

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> import numpy as np
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 100, 100, 400]) * 100, rng=1)
    >>> round(association(tables["sex", "car"]).cramers_v, 2)
    0.6
    """
    two_way_shape(table)
    linear = table if table.derived is not None else table.estimated_by("unbiased")
    try:
        estimate, covariance = linear.estimate, linear.covariance
    except NotIdentifiedError as error:
        return _not_estimable(error.came)
    row, column = estimate.sum(axis=1), estimate.sum(axis=0)
    if table.n < 2 or min(row.min(), column.min()) <= 0:
        return _not_estimable("a category's estimated share is not above zero, or there is a single report")
    expected = np.outer(row, column) / estimate.sum()
    derivative = interaction_derivative(estimate)
    variance = np.diagonal(derivative @ covariance @ derivative.T).reshape(expected.shape)
    largest = min(estimate.shape) - 1
    squared = float((interaction(estimate) ** 2 / expected).sum()) / largest
    bias = max(float((variance / expected).sum()) / largest, 0.0)
    if bias >= _LARGE_NOISE**2:
        return _not_estimable(f"noise alone would show V = {math.sqrt(bias):.2f}", squared, bias)
    if squared - bias > (1 + 2 * math.sqrt(bias)) ** 2:
        return _not_estimable("the estimated table is too far from any possible one", squared, bias)
    return Association(math.sqrt(min(max(squared - bias, 0.0), 1.0)), math.sqrt(squared), math.sqrt(bias))


def _not_estimable(why: str, squared: float = math.nan, bias: float = math.nan) -> Association:
    return Association(math.nan, math.sqrt(squared), math.sqrt(bias), why)


def two_way_shape(table: Table) -> tuple[int, int]:
    """Return rows and columns of a two-way table; refuse anything else."""
    if not isinstance(table, Table):
        raise LdpstatsError(f"a {type(table).__name__}", "a Table, such as tables['age', 'sex']")
    if len(table.shape) != 2:
        raise LdpstatsError(
            f"a table of {len(table.shape)} attributes {table.attributes!r}",
            "a two-way table",
            "Take one with table.marginal([...]).",
        )
    return table.shape[0], table.shape[1]
