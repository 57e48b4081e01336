"""Plots of more than one object: forests of effects, private estimates against the raw data of a simulation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from pandas.api.types import is_list_like

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.inference import Effect
from ldpstats.inference.effects.effect_size import forest_picture
from ldpstats.numbers.arrays import FloatArray, significance
from ldpstats.pictures.drawing import Axes
from ldpstats.pictures.intervals import RawAndPrivate
from ldpstats.presentation import progress
from ldpstats.protocols.population import Population, raw_proportions
from ldpstats.tables import Table, TableSet

ComparedCell: TypeAlias = tuple[str, float, float, float, float]
"""A label, what the raw data have, the private estimate, and the ends of its interval."""


def raw_against_private(
    tables: Table | TableSet, truth: Population, alpha: float = 0.05, ax: Axes | None = None
) -> Axes:
    """Draw what the raw data of a simulation show against what the private reports show, cell by cell.

    Parameters
    ----------
    tables : Table or TableSet
        All of whose reports were simulated.
    truth : DataFrame or array
        Those whose answers were simulated: a data frame, or joint counts of the table's or the set's attributes in
        domain order.
    alpha : float
        One minus the confidence of the intervals, each by itself.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        Those that were drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups
    >>> from ldpstats.plots import raw_against_private
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> people = np.array([400, 100, 200, 300])
    >>> tables = SampledGroups(domain, epsilon=2.0).simulate(people, rng=1)
    >>> axes = raw_against_private(tables, people)
    >>> print(axes.get_title(loc="left"))
    Raw data against private reports: sex and car
    simulated: 1,000 reports; pointwise 95 % intervals
    """
    return raw_against_private_picture(tables, truth, alpha).draw(ax)


def raw_against_private_picture(tables: Table | TableSet, truth: Population, alpha: float = 0.05) -> RawAndPrivate:
    """Return what `raw_against_private` draws, as data.

    Parameters
    ----------
    tables, truth, alpha
        As there.

    Returns
    -------
    RawAndPrivate
        Labels, raw proportions, estimates and intervals; `draw` draws them.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> people = [400, 100, 200, 300]
    >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate(people, rng=1)
    >>> picture = ldp.plots.raw_against_private_picture(tables, people)
    >>> picture.labels[0], picture.raw[0], round(picture.private[0], 2)
    ('F, yes', 0.4, 0.38)
    """
    raw_of, level = raw_proportions(tables, truth), f"{100 * (1 - significance(alpha)):g} %"
    drawn = [table for table in tables if table.n] if isinstance(tables, TableSet) else [tables]
    shown = progress(drawn, "comparing", unit="table")
    cells = [
        cell for table in shown for cell in compared_cells(table, raw_of(table.attributes), alpha, named=len(drawn) > 1)
    ]
    what = " and ".join(drawn[0].attributes) if len(drawn) == 1 else f"{len(drawn)} tables"
    fit = tables.channel_fit()
    notes = (
        f"simulated: {tables.n:,} reports" + (f"; pointwise {level} intervals" if fit.plausible else ""),
        *dict.fromkeys(f"assumes: {table.assumption}" for table in drawn if table.assumption),
        *fit.warning,
    )
    title = f"Raw data against private reports: {what}"
    return RawAndPrivate.of(title, notes, cells, "proportion")


def compared_cells(table: Table, shown: FloatArray, alpha: float, *, named: bool = True) -> Iterator[ComparedCell]:
    """Yield every cell of a table: its label, what the raw data have, the estimate and its interval.

    Parameters
    ----------
    table : Table
    shown : array
        What the raw data have, in the table's shape.
    alpha : float
        One minus the confidence of the intervals.
    named : bool
        Whether labels say what the table is about.

    Yields
    ------
    tuple of (str, float, float, float, float)
        The label, what the raw data have, the estimate, and the lower and upper end of its interval.

    Examples
    --------
    >>> import numpy as np
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> people = np.array([[400, 100], [200, 300]])
    >>> table = ldp.SampledGroups(domain, epsilon=2.0).simulate(people, rng=1)["sex", "car"]
    >>> for label, raw, *private in ldp.plots.compared_cells(table, people / people.sum(), 0.05, named=False):
    ...     print(label, raw, *(round(figure, 2) for figure in private))
    F, yes 0.4 0.38 0.33 0.43
    F, no 0.1 0.11 0.08 0.15
    M, yes 0.2 0.21 0.17 0.25
    M, no 0.3 0.3 0.25 0.34
    """
    fits = table.channel_fit().plausible
    limits = table.conf_int(alpha).reshape(-1, 2) if fits else np.full((table.domain.size(), 2), np.nan)
    about = f"{', '.join(table.attributes)}: " if named else ""
    for labels, true, private, (lower, upper) in zip(
        table.domain.index(), shown.ravel().tolist(), table.estimate.ravel().tolist(), limits.tolist(), strict=True
    ):
        yield about + ", ".join(map(str, labels)), true, private, lower, upper


def forest(effects: Sequence[Effect], ax: Axes | None = None) -> Axes:
    """Draw several effects below each other with their intervals, beside the value of no effect: a forest plot.

    Ratios are drawn on a logarithmic scale, with 1 as the value of no effect. Intervals without an end are arrows,
    and of sets in two pieces a note says so.

    Parameters
    ----------
    effects : sequence of Effect
        Of one kind: ratios, or differences, or all of them Cramér's V.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        Those that were drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, association
    >>> from ldpstats.plots import forest
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"], "dog": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=2.0).simulate(np.array([4, 1, 1, 4, 2, 3, 3, 2]) * 900, rng=1)
    >>> axes = forest([association(table) for table in tables])
    >>> print(axes.get_title(loc="left"))
    Cramér's V: 3 effects
    95 % intervals, each by itself; 6,000 reports (simulated)
    """
    if not is_list_like(effects) or not all(isinstance(effect, Effect) for effect in effects):
        raise LdpstatsError(f"{shortened(effects)} in the place of effects", "a list, such as [association(table)]")
    return forest_picture(effects).draw(ax)
