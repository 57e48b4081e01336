"""Drawn tables: pictures of tables, conditional proportions, crosstabs and sets, made of what these show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import ChannelFit
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray
from ldpstats.pictures.intervals import MOST_LINES, Intervals
from ldpstats.pictures.mosaic import AssociationPlot, Mosaic
from ldpstats.tables.unbiased_cells import assuming, improper_in_words

if TYPE_CHECKING:
    import pandas as pd

    from ldpstats.tables.conditional import Conditional
    from ldpstats.tables.crosstab import Crosstab
    from ldpstats.tables.functionals import FiguresByLine
    from ldpstats.tables.table import Table
    from ldpstats.tables.table_set import TableSet

_ALPHA, _LEVEL = 0.05, "95 % intervals"
_NAMED = 6
Floats: TypeAlias = tuple[float, ...]


def intervals(table: Table) -> Intervals:
    """Return the proportions of all cells with their intervals."""
    _refuse_too_many(table)
    limits, why = _limits(table)
    return Intervals(
        f"Proportions of {' · '.join(table.attributes)}",
        (*_notes(table), *improper_in_words(table.cells.estimate), *([f"no intervals: {why}"] if why else [])),
        _labels(table, table.attributes),
        _floats(table.cells.estimate),
        _floats(limits[0]),
        _floats(limits[1]),
        "proportion" if why else f"proportion, {_LEVEL}",
    )


def conditional_intervals(conditional: Conditional) -> Intervals:
    """Return conditional proportions with their intervals, grouped by what is given."""
    table, given = conditional.table, " · ".join(conditional.given)
    _refuse_too_many(table)
    within, of = _labels(table, conditional.given), _labels(table, conditional.of)
    plausible = table.channel_fit().plausible
    limits = conditional.conf_int(_ALPHA) if plausible else np.full((*conditional.shape, 2), math.nan)
    return Intervals(
        f"Proportions of {' · '.join(conditional.of)} given {given}",
        (
            *_notes(table),
            *improper_in_words(conditional.estimate),
            *([f"no estimate: {conditional.why_not}"] if conditional.why_not else []),
        ),
        of * len(within),
        _floats(conditional.estimate),
        _floats(limits[..., 0]),
        _floats(limits[..., 1]),
        f"proportion, {_LEVEL}" if plausible else "proportion",
        groups=tuple(f"{given} {label}" for label in within for _ in of),
    )


def intervals_by_line(
    result: FiguresByLine, frame: pd.DataFrame, scale: str, reference: float | None = None
) -> Intervals:
    """Return estimates with their intervals, as a frame has them, perhaps beside a value."""
    if not result.table.channel_fit().plausible:
        frame.loc[:, ["lower", "upper"]] = math.nan
    labels = [label if isinstance(label, tuple) else (label,) for label in frame.index]
    return Intervals(
        f"{result.name[0].upper()}{result.name[1:]}",
        _notes(result.table),
        tuple(" · ".join(map(str, dict.fromkeys(label))) for label in labels),
        _floats(frame["estimate"].to_numpy()),
        _floats(frame["lower"].to_numpy()),
        _floats(frame["upper"].to_numpy()),
        f"{scale}, {100 * (1 - result.alpha):g} % interval",
        reference,
    )


def one_way_intervals(tables: TableSet, known: Mapping[str, Table] | None = None) -> Intervals:
    """Return the pooled proportions of every attribute of a set, with intervals; of `known` tables alone, if given."""
    shown: dict[str, Table] = {}
    for name in tables.domain.names if known is None else known:
        taken = sum(1 + table.domain.size() for table in shown.values())
        if taken + tables.domain.size([name]) >= MOST_LINES:
            break
        try:
            shown[name] = tables.pooled(name) if known is None else known[name]
        except NotIdentifiedError:
            continue
    fit = tables.channel_fit()
    missing = [str(name) for name in (tables.domain.names if known is None else known) if name not in shown]
    limits = [_limits(table)[0] if fit.plausible else _no_limits(table) for table in shown.values()]
    estimates = tuple(value for table in shown.values() for value in _floats(table.cells.estimate))
    named = ", ".join(missing[:_NAMED]) + (f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else "")
    return Intervals(
        f"Proportions of {len(shown)} attributes" if len(shown) > 1 else "Proportions",
        (
            *_said(tables.simulated, tables.n, fit),
            *improper_in_words(np.array(estimates)),
            *([f"not shown: {named}"] if missing else []),
        ),
        tuple(label for name, table in shown.items() for label in _labels(table, [name])),
        estimates,
        tuple(value for low, _ in limits for value in _floats(low)),
        tuple(value for _, high in limits for value in _floats(high)),
        f"proportion, {_LEVEL}" if fit.plausible else "proportion",
        groups=tuple(str(name) for name, table in shown.items() for _ in range(table.domain.size())),
    )


def mosaic(crosstab: Crosstab) -> Mosaic:
    """Return a crosstab's shares as areas: rows stand beside each other, or columns if these are normalized."""
    table, shape = crosstab.table, crosstab.shape
    cells, residuals = table.cells.estimate.reshape(shape), crosstab.residuals
    below = int((cells < 0).sum())
    # areas are none of what is below zero, nor above all of it
    cells = nearest_proper(cells.ravel()).reshape(shape) if below else cells
    limits, why = _limits(table, crosstab.alpha)
    none = (limits[0].reshape(shape) <= 0) & np.isfinite(residuals)
    sides = (crosstab.rows, crosstab.columns)
    if crosstab.normalize == "columns":
        cells, residuals, none, sides = cells.T, residuals.T, none.T, sides[::-1]
    widths = cells.sum(axis=1)
    shares = cells / np.where(widths > 0, widths, math.nan)[:, None]
    return Mosaic(
        " within ".join(" · ".join(side) for side in sides[::-1]),
        (*_notes(table), *_undrawn(below, int((cells <= 0).sum())), *_of_residuals(crosstab, why)),
        (" · ".join(sides[0]), " · ".join(sides[1])),
        _labels(table, sides[0]),
        _labels(table, sides[1]),
        _floats(widths),
        tuple(map(_floats, shares)),
        tuple(map(_floats, residuals)),
        tuple(tuple(map(bool, row)) for row in none),
        crosstab.quantile,
    )


def association_plot(crosstab: Crosstab) -> AssociationPlot:
    """Return the adjusted residuals of a crosstab as bars."""
    table = crosstab.table
    return AssociationPlot(
        f"Residuals of {' · '.join(crosstab.rows)} by {' · '.join(crosstab.columns)}",
        (*_notes(table), *_of_residuals(crosstab, "")),
        (" · ".join(crosstab.rows), " · ".join(crosstab.columns)),
        _labels(table, crosstab.rows),
        _labels(table, crosstab.columns),
        tuple(map(_floats, crosstab.residuals)),
        tuple(map(_floats, crosstab.expected_of_all)),
        crosstab.quantile,
    )


def _notes(table: Table) -> tuple[str, ...]:
    assumed = assuming(table).removeprefix(", ")
    return (*_said(table.simulated, table.n, table.channel_fit()), *([assumed] if assumed else []))


def _said(simulated: int, n: int, fit: ChannelFit) -> tuple[str, ...]:
    kind = simulation(simulated, n).strip(" ()")
    return (*([kind] if kind else []), *fit.warning[:1])


def _undrawn(below: int, none: int) -> list[str]:
    negative, empty = ("1 cell is" if number == 1 else f"{number} cells are" for number in (below, none))
    if below:
        return [f"{negative} estimated below zero: drawn is the nearest possible table, in which {empty} zero"]
    return [f"{empty} estimated at zero, and not drawn"] if none else []


def _of_residuals(crosstab: Crosstab, why_no_limits: str) -> list[str]:
    missing = [f"no residuals: {crosstab.why_no_residuals}"] if crosstab.why_no_residuals else []
    missing += [f"residuals: {crosstab.why_rough}"] if crosstab.why_rough else []
    return [*missing, *([f"no intervals: {why_no_limits}"] if why_no_limits else [])]


def _limits(table: Table, alpha: float = _ALPHA) -> tuple[FloatArray, str]:
    """Return lower and upper ends of all intervals, shape (2, cells), and why there are none (nan), or ""."""
    if not table.channel_fit().plausible:
        return _no_limits(table), "the reports do not fit their channel"
    if table.provenance.refused:
        return _no_limits(table), table.provenance.refused
    return np.moveaxis(table.conf_int(alpha).reshape(-1, 2), -1, 0), ""


def _no_limits(table: Table) -> FloatArray:
    return np.full((2, table.domain.size()), math.nan)


def _labels(table: Table, attributes: Iterable[str]) -> tuple[str, ...]:
    return tuple(" · ".join(map(str, cell)) for cell in table.domain.index(attributes))


def _floats(values: NDArray[np.floating]) -> Floats:
    return tuple(map(float, values.ravel()))


def _refuse_too_many(table: Table) -> None:
    if table.domain.size() > MOST_LINES:
        raise LdpstatsError(
            f"intervals of {table.domain.size():,} cells in one picture",
            f"up to {MOST_LINES}",
            "marginal() or collapse() has fewer cells; to_frame() has the intervals of all.",
        )
