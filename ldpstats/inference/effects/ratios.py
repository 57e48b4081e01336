"""Odds ratio, risk ratio, risk difference and difference of proportions, with intervals of Fieller or by the score.

Where every report was counted often their intervals are Fieller's. Where some was counted fewer than 20 times, as in
nearly empty cells, the score test is inverted with the law of the reports themselves (see `inversion`), unless these
are of more than 300 kinds and cannot be counted by part. How often both hold the truth is measured in
benchmarks/interval_coverage.py and benchmarks/rare_cells.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ldpstats.confidence.confidence_sets import FiellerQuotient, Inversion, PossibleRange
from ldpstats.confidence.inversion import Comparison, PooledReports, ScoreInversion, counted_by_part
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.inference.effects.cramers_v import two_way_shape
from ldpstats.inference.effects.effect_size import Effect
from ldpstats.numbers.arrays import FloatArray, IntArray, unweighted
from ldpstats.tables import Table, checked_table
from ldpstats.tables.unbiased_cells import is_sparse, never_certain, own_reports, unbiased_cells

_DIFFERENCE = "difference of proportions"
Pair = Sequence[Any] | None
Forms = tuple[FloatArray, FloatArray]
Shape = tuple[int, int]
Positions = tuple[int, int]
Part = tuple[int, int | None]


@unweighted
def odds_ratio(table: Table, alpha: float = 0.05, rows: Pair = None, columns: Pair = None) -> Effect:
    """Return the odds ratio π11 π22 / (π12 π21) of two rows and two columns.

    Where all reports are frequent the interval holds the ψ with (π11 π22 - ψ π12 π21)² at most z² times the variance of
    what is squared; where some are rare, what a score test with the exact law of the reports does not reject. It may
    have no upper end, and the former may fall into two. Where one of the four cells is not estimated above zero the
    ratio itself is not estimable, but there is still an interval. The odds ratio (cross-product ratio) is the measure
    of case-control studies: how many cases and how many controls are asked does not change it. The first kind of
    interval is Fieller's.

    Parameters
    ----------
    table : Table
        A two-way table.
    alpha : float
        One minus the level of the interval.
    rows, columns : pair of categories
        The categories to compare, first against second. They are never guessed: which one is the event decides
        between the ratio and its inverse.

    Returns
    -------
    Effect
        The estimate, nan where there is none, and its interval by `conf_int`.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, odds_ratio
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 200, 200, 200]) * 100, rng=1)
    >>> print(odds_ratio(tables["sex", "car"], rows=("F", "M"), columns=("yes", "no")).headline)
    odds ratio of car (yes : no) between sex F and M = 2.006; 95 % interval from 1.951 to 2.063 (simulated)
    """
    shape = two_way_shape(table)
    (first, second), (yes, no) = groups, cases = _pair(table, 0, rows), _pair(table, 1, columns)
    name = f"odds ratio of {_compared(table, yes, no)} between {_between(table, first, second)}"
    needed = [(row, column) for row in groups for column in cases]
    # the four cells of two rows and two columns, and everything else as one part
    parts = np.full(shape, 4)
    parts[np.ix_(groups, cases)] = [[0, 1], [2, 3]]
    comparison = Comparison(parts.ravel(), "odds ratio")
    return _quotient(table, name, comparison, odds_forms(shape, groups, cases), needed, alpha)


@unweighted
def risk_ratio(table: Table, alpha: float = 0.05, rows: Pair = None, column: Any = None) -> Effect:
    """Return how many times as large a column's share is in one row as in another: (π1c / π1.) / (π2c / π2.).

    Where all reports are frequent the interval is Fieller's, for the quotient of π1c π2. and π2c π1., so that no
    estimated margin is divided by; where some are rare, it is that of a score test, as for `odds_ratio`. It is also
    called relative risk, or prevalence ratio.

    Parameters
    ----------
    table : Table
        A two-way table.
    alpha : float
        One minus the level of the interval.
    rows : pair of categories
        The rows to compare, first over second.
    column : category
        The column: the event whose risk it is.

    Returns
    -------
    Effect
        The estimate, nan where there is none, and its interval by `conf_int`.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, risk_ratio
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 200, 200, 200]) * 100, rng=1)
    >>> print(risk_ratio(tables["sex", "car"], rows=("F", "M"), column="yes").headline)
    risk ratio of car yes between sex F and M = 1.335; 95 % interval from 1.319 to 1.351 (simulated)
    """
    groups, case, words = _risks(table, rows, column)
    needed = [(row, part) for row in groups for part in (case, None)]
    shape = two_way_shape(table)
    comparison = Comparison(_rows(shape, groups, case), "risk ratio")
    forms = risk_ratio_forms(shape, groups, case)
    return _quotient(table, f"risk ratio of {words}", comparison, forms, needed, alpha)


@unweighted
def risk_difference(table: Table, alpha: float = 0.05, rows: Pair = None, column: Any = None) -> Effect:
    """Return how much larger a column's share is in one row than in another: π1c / π1. - π2c / π2.

    This is (π1c π2. - π2c π1.) / (π1. π2.). Where all reports are frequent the interval is Fieller's for that quotient
    (the plain delta method takes estimated margins for known to be far from zero); where some are rare, it is that of a
    score test, as for `odds_ratio`. It is also called the difference of two proportions, the absolute risk reduction,
    or the prevalence difference.

    Parameters
    ----------
    table, alpha, rows, column
        As in `risk_ratio`.

    Returns
    -------
    Effect
        The estimate, nan where there is none, and its interval by `conf_int`.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, risk_difference
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 200, 200, 200]) * 100, rng=1)
    >>> print(risk_difference(tables["sex", "car"], rows=("F", "M"), column="yes").headline)
    risk difference of car yes between sex F and M = 0.1673; 95 % interval from 0.1607 to 0.174 (simulated)
    """
    groups, case, words = _risks(table, rows, column)
    shape = two_way_shape(table)
    comparison = Comparison(_rows(shape, groups, case), "risk difference")
    forms, needed = risk_difference_forms(shape, groups, case), [(row, None) for row in groups]
    return _quotient(table, f"risk difference of {words}", comparison, forms, needed, alpha)


@unweighted
def proportion_difference(table: Table, first: Any, second: Any, alpha: float = 0.05) -> Effect:
    """Return the difference of two cells' proportions, with the covariance that one table gives them.

    Parameters
    ----------
    table : Table
        A table of any number of attributes.
    first, second : category, or tuple of categories
        The cells: a category of a one-way table, else one category for each attribute.
    alpha : float
        One minus the level of the interval.

    Returns
    -------
    Effect
        The estimate, nan where there is none, and its interval by `conf_int`.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, proportion_difference
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 200, 200, 200]) * 100, rng=1)
    >>> print(proportion_difference(tables["sex", "car"], ("F", "yes"), ("M", "no")).headline)
    proportion of F, yes minus that of M, no = 0.2008; 95 % interval from 0.1958 to 0.2058 (simulated)
    """
    checked_table(table)
    cells = unbiased_cells(table)
    indices = [_cell_index(table, cell) for cell in (first, second)]
    labels = [", ".join(map(str, table.domain.index()[index])) for index in indices]
    name = f"proportion of {labels[0]} minus that of {labels[1]}"
    if isinstance(cells, str):
        return Effect.of(table, name, math.nan, PossibleRange(-1.0, 1.0), cells, alpha, quantity=_DIFFERENCE)
    contrast = np.zeros(table.domain.size())
    np.add.at(contrast, indices, [1, -1])
    difference = FiellerQuotient.of_contrast(cells.estimate, never_certain(table, cells), contrast)
    parts = np.full(contrast.size, 2)
    parts[indices] = [0, 1]
    same = indices[0] == indices[1]
    inversion = difference if same else _inversion(table, difference, Comparison(parts, "difference"))
    return Effect.of(table, name, float(difference.pair[0]), inversion, "", alpha, quantity=_DIFFERENCE)


def odds_forms(shape: Shape, rows: Positions, columns: Positions) -> Forms:
    """Return the products whose quotient is the odds ratio, as quadratic forms in the flattened cells."""
    (first, second), (yes, no) = rows, columns
    return _product(shape, (first, yes), (second, no)), _product(shape, (first, no), (second, yes))


def risk_ratio_forms(shape: Shape, rows: Positions, case: int) -> Forms:
    """Return the products whose quotient is the risk ratio, as quadratic forms."""
    first, second = rows
    return _product(shape, (first, case), (second, None)), _product(shape, (second, case), (first, None))


def risk_difference_forms(shape: Shape, rows: Positions, case: int) -> Forms:
    """Return the quadratic forms whose quotient is the risk difference."""
    first, second = rows
    above, below = risk_ratio_forms(shape, rows, case)
    return above - below, _product(shape, (first, None), (second, None))


def _product(shape: Shape, first: Part, second: Part) -> FloatArray:
    outer = np.outer(_indicator(shape, first), _indicator(shape, second))
    return (outer + outer.T) / 2


def _indicator(shape: Shape, part: Part) -> FloatArray:
    row, column = part
    chosen = np.zeros(shape)
    chosen[row, slice(None) if column is None else column] = 1
    return chosen.ravel()


def _rows(shape: Shape, rows: Positions, case: int) -> IntArray:
    """Number a column's cells and the others of two rows as four parts, and everything else as a fifth."""
    parts = np.full(shape, 4)
    for row, (inside, outside) in zip(rows, ((0, 1), (2, 3)), strict=True):
        parts[row] = outside
        parts[row, case] = inside
    return parts.ravel()


def _quotient(
    table: Table, name: str, comparison: Comparison, forms: Forms, needed: Sequence[Part], alpha: float
) -> Effect:
    """Return the effect that is the quotient of two forms; no estimate unless every needed share is above zero."""
    possible = comparison.quantity.lowest, comparison.quantity.highest
    cells, what = unbiased_cells(table), {"quantity": comparison.name}
    if isinstance(cells, str):
        return Effect.of(table, name, math.nan, PossibleRange(*possible), cells, alpha, **what)
    quotient = FiellerQuotient.of_forms(cells.estimate, never_certain(table, cells), forms, *possible)
    inversion = _inversion(table, quotient, comparison)
    shape = two_way_shape(table)
    if min(float(_indicator(shape, part) @ cells.estimate) for part in needed) <= 0:
        why = "a share that it depends on is not estimated above zero"
        return Effect.of(table, name, math.nan, inversion, why, alpha, **what)
    return Effect.of(table, name, float(quotient.pair[0] / quotient.pair[1]), inversion, "", alpha, **what)


def _inversion(table: Table, quotient: FiellerQuotient, comparison: Comparison) -> Inversion:
    """Return the inverted score test where some report is rare and reports can be counted by part, else Fieller's."""
    if not is_sparse(table):
        return quotient
    blocks, compared = counted_by_part(own_reports(table), comparison)
    reports = PooledReports.of(blocks)
    return quotient if reports is None else ScoreInversion(reports, compared)


def _risks(table: Table, rows: Pair, column: Any) -> tuple[Positions, int, str]:
    """Return which rows are compared, the column whose shares are, and both in words."""
    two_way_shape(table)
    if column is None:
        known = _categories(table, 1)
        raise LdpstatsError(
            f"no column of {table.attributes[1]!r}",
            one_line(known),
            f"Say which category is the event: column={known[0]!r}, for example.",
        )
    groups, case = _pair(table, 0, rows), _position(table, 1, column)
    return groups, case, f"{_labelled(table, 1, case)} between {_between(table, *groups)}"


def _pair(table: Table, axis: int, chosen: Pair) -> tuple[int, int]:
    known, side = _categories(table, axis), ("rows", "columns")[axis]
    if isinstance(chosen, str) or not isinstance(chosen, Sequence) or len(chosen) != 2 or chosen[0] == chosen[1]:
        raise LdpstatsError(
            f"{side} = {chosen!r} of {table.attributes[axis]!r}",
            f"a pair of different categories out of {one_line(known)}",
            f"Say which is compared with which: {side}=({known[0]!r}, {known[1]!r}) or the other way round. "
            "table.collapse({...}) puts categories together.",
        )
    return _position(table, axis, chosen[0]), _position(table, axis, chosen[1])


def _position(table: Table, axis: int, category: Any) -> int:
    known = _categories(table, axis)
    if category not in known:
        raise LdpstatsError(f"category {category!r} of {table.attributes[axis]!r}", one_line(known))
    return known.index(category)


def _cell_index(table: Table, cell: Any) -> int:
    labels = (cell,) if len(table.shape) == 1 else cell
    if not isinstance(labels, tuple) or len(labels) != len(table.shape):
        raise LdpstatsError(f"the cell {cell!r}", f"a tuple with one category for each of {one_line(table.attributes)}")
    positions = [_position(table, axis, label) for axis, label in enumerate(labels)]
    return int(np.ravel_multi_index(positions, table.shape))


def _categories(table: Table, axis: int) -> list[Any]:
    return list(table.domain.categories[table.attributes[axis]])


def _labelled(table: Table, axis: int, position: int) -> str:
    return f"{table.attributes[axis]} {_categories(table, axis)[position]}"


def _compared(table: Table, yes: int, no: int) -> str:
    known = _categories(table, 1)
    return f"{table.attributes[1]} ({known[yes]} : {known[no]})"


def _between(table: Table, first: int, second: int) -> str:
    return f"{_labelled(table, 0, first)} and {_categories(table, 0)[second]}"
