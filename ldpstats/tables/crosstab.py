"""Crosstabs: shares of rows by columns, with totals, errors, and adjusted residuals through the channel."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd

from ldpstats.answers.columns import listed
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import ASSUMED, TABLE_METHODS, Estimate
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, significance
from ldpstats.presentation import Axes, Panel, Picture, Summary, panel_of_figures, plain_values
from ldpstats.tables.conditional import Conditional, TableResult
from ldpstats.tables.table import Table
from ldpstats.tables.unbiased_cells import (
    AdjustedResiduals,
    adjusted_residuals,
    assuming,
    improper_in_words,
    provenance_in_words,
)

# letters that the columns of one panel may take together
_WIDTH = 84
_GAP = 2
# how many digits of an error are shown, and of a share at least
_OF_ERRORS, _LEAST = 2, 3
# the root of what rounding leaves of a variance of zero
_NO_ERROR = 1e-7


def with_errors(shares: FloatArray, errors: FloatArray, *, percent: bool) -> list[list[str]]:
    """Return shares as texts, each with its standard error where it has one; a dash where the share is nan."""
    known = errors[np.isfinite(errors) & (errors > _NO_ERROR)]
    # a table of many cells has small ones, whose digits count
    fine = _OF_ERRORS - 1 - math.floor(math.log10(float(np.median(known)))) if known.size else _LEAST
    digits = min(max(fine, _LEAST), 6) - (2 if percent else 0)
    scale, unit = (100, " %") if percent else (1, "")

    def text(share: float, error: float) -> str:
        if math.isnan(share):
            return "-"
        shown = f"{scale * share:z.{digits}f}{unit}"
        return f"{shown} ± {scale * error:.{digits}f}" if error > _NO_ERROR else shown

    return [[text(*pair) for pair in zip(*row, strict=True)] for row in zip(shares, errors, strict=True)]


def wide_panels(
    title: str,
    heads: Sequence[str],
    labels: Sequence[Sequence[str]],
    beside: Sequence[str],
    texts: Sequence[Sequence[str]],
) -> list[Panel]:
    """Return panels with the same labelled rows, as many as it takes for all columns; `beside` labels the columns."""
    panels = []
    parts = list(_parts([max(map(len, column)) for column in zip(beside, *texts, strict=True)]))
    for part in parts:
        which = f", from {beside[part][0]} to {beside[part][-1]}" if len(parts) > 1 else ""
        rows = [[*label, *row[part]] for label, row in zip(labels, texts, strict=True)]
        panels.append(panel_of_figures([*heads, *beside[part]], rows, f"{title}{which}"))
    return panels


def _parts(widths: Sequence[int]) -> Iterator[slice]:
    """Yield runs of columns that have room beside each other."""
    first, taken = 0, 0
    for column, width in enumerate(widths):
        if taken + width > _WIDTH and column > first:
            yield slice(first, column)
            first, taken = column, 0
        taken += width + _GAP
    yield slice(first, len(widths))


Normalization: TypeAlias = Literal["all", "rows", "columns"]
"""What the cells of a crosstab are shares of."""
CrosstabKind: TypeAlias = Literal["mosaic", "residuals"]
"""Pictures of a crosstab."""

# what the last row and the last column are called
_ENDS = {"all": ("total", "total"), "rows": ("all", "share of all"), "columns": ("share of all", "all")}


@dataclass(frozen=True, eq=False, repr=False)
class Crosstab(TableResult):
    """Rows by columns in the order of the domain, as `Table.crosstab` makes them.

    Parameters
    ----------
    table : Table
        Of exactly these attributes, those of the rows first.
    columns : tuple of str
        The attributes whose categories stand beside each other; the others stand below each other. None of one
        attribute.
    normalize : {"all", "rows", "columns"}
        What the cells are shares of.
    alpha : float
        One minus the confidence of the intervals, and the level beyond which residuals are marked.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 200, 100, 300]) * 10, rng=1)
    >>> crosstab = tables["sex", "car"].crosstab(normalize="rows")
    >>> for row in crosstab.summary().panels[0].rows:
    ...     print(*row, sep=" | ")
    F | 66.79 % ± 0.65 | 33.21 % ± 0.65 | 60.26 % ± 0.53
    M | 24.94 % ± 0.77 | 75.06 % ± 0.77 | 39.74 % ± 0.53
    all | 50.16 % ± 0.54 | 49.84 % ± 0.54 | 100.00 %
    """

    table: Table
    columns: tuple[str, ...]
    normalize: Normalization = "all"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        attributes, beside = self.table.attributes, len(self.columns)
        if attributes[len(attributes) - beside :] != self.columns or beside >= len(attributes):
            raise LdpstatsError(
                f"a table of {one_line(attributes)} with the columns {one_line(self.columns)}",
                "at least one attribute for the rows; those of the columns come last",
            )
        if self.normalize not in get_args(Normalization):
            raise LdpstatsError(f"normalize = {self.normalize!r}", one_line(get_args(Normalization)))
        if self.normalize != "all" and not self.columns:
            raise LdpstatsError(
                f"normalize = {self.normalize!r} for the single attribute {attributes[0]}",
                "'all', or a table of two attributes",
            )
        significance(self.alpha)
        # refused where there are no such proportions
        _ = self.table.cells, self._conditional

    @classmethod
    def of(
        cls,
        table: Table,
        rows: str | Iterable[str] | None = None,
        columns: str | Iterable[str] | None = None,
        normalize: Normalization = "all",
        alpha: float = 0.05,
    ) -> Crosstab:
        """Return the crosstab of a table; see `Table.crosstab`.

        Parameters
        ----------
        table : Table
        rows, columns : str or sequence of str, optional
        normalize : {"all", "rows", "columns"}
        alpha : float
        """
        names = table.attributes
        below = None if rows is None else listed(rows)
        beside = None if columns is None else listed(columns)
        if below is None and beside is None:
            beside = names[1:][-1:]
        if beside is None:
            beside = tuple(name for name in names if name not in (below or ()))
        if below is None:
            below = tuple(name for name in names if name not in beside)
        return cls(table.marginal((*below, *beside)), tuple(beside), normalize, alpha)

    @property
    def rows(self) -> tuple[str, ...]:
        """The attributes whose categories stand below each other."""
        return self.table.attributes[: len(self.table.attributes) - len(self.columns)]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return self.table.domain.size(self.rows), self.table.domain.size(self.columns) if self.columns else 1

    @property
    def estimate(self) -> FloatArray:
        """The shares, a row of cells for each row; some may be negative, and nan where they are not estimable."""
        conditional = self._conditional
        if conditional is not None:
            return self._placed(conditional.estimate)
        return self.table.cells.estimate.reshape(self.shape)

    @property
    def std_err(self) -> FloatArray:
        """The standard errors of the shares; nan where there are none."""
        conditional = self._conditional
        if conditional is not None:
            return self._placed(conditional.std_err)
        if self.table.provenance.refused:
            return np.full(self.shape, math.nan)
        return self.table.cells.std_err.reshape(self.shape)

    def conf_int(self, alpha: float | None = None) -> FloatArray:
        """Return pointwise intervals, shape (rows, columns, 2); nan where there are none.

        They are those of `Table.conf_int`; of shares of rows or columns, those of `Conditional.conf_int`.

        Parameters
        ----------
        alpha : float, optional
            One minus the confidence; by default the crosstab's own.
        """
        level, conditional = significance(self.alpha if alpha is None else alpha), self._conditional
        if conditional is not None:
            return np.stack([self._placed(conditional.conf_int(level)[..., end]) for end in (0, 1)], axis=-1)
        if self.table.provenance.refused:
            return np.full((*self.shape, 2), math.nan)
        return self.table.conf_int(level).reshape(*self.shape, 2)

    @cached_property
    def row_totals(self) -> Estimate:
        """The rows' shares of all, with their covariance."""
        rows, columns = self.shape
        return self.table.cells.summed(np.repeat(np.arange(rows), columns), rows)

    @cached_property
    def column_totals(self) -> Estimate:
        """The columns' shares of all, with their covariance."""
        rows, columns = self.shape
        return self.table.cells.summed(np.tile(np.arange(columns), rows), columns)

    @property
    def expected(self) -> FloatArray:
        """What the shares would be if rows and columns were independent, by the unbiased estimate of the totals."""
        joint = self.expected_of_all
        if self.normalize != "all":
            joint = joint / np.nansum(joint, axis=1 if self.normalize == "rows" else 0, keepdims=True)
        return joint

    @property
    def expected_of_all(self) -> FloatArray:
        """The same as shares of all respondents, whatever the cells are shares of."""
        return self._adjusted.expected

    @property
    def residuals(self) -> FloatArray:
        """How far the cells are from independence of rows and columns, in standard errors under independence.

        The adjusted residuals of Haberman (1973), with the covariance that randomization and sampling give the
        unbiased estimate under independence; nan where there are none, for which `why_no_residuals` has the reason.
        """
        return self._adjusted.scaled

    @property
    def why_no_residuals(self) -> str:
        """Why some cells, or all, have no adjusted residual; empty if all have one."""
        return self._adjusted.why_not

    @property
    def why_rough(self) -> str:
        """Why residuals may be far from standard normal under independence; empty if nothing is known against it."""
        return self._adjusted.approximate if np.isfinite(self.residuals).any() else ""

    @cached_property
    def _adjusted(self) -> AdjustedResiduals:
        if not self.columns:
            return AdjustedResiduals.none(self.shape, "there is one attribute")
        if not self.table.channel_fit().plausible:
            return AdjustedResiduals.none(self.shape, "the reports do not fit their channel")
        return adjusted_residuals(self.table, self.rows, self.columns)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per cell: proportion, std_err, its interval, what independence expects, adjusted residual."""
        limits, columns = self.conf_int(), {"proportion": self.estimate, "std_err": self.std_err}
        columns |= {"lower": limits[..., 0], "upper": limits[..., 1]}
        if self.columns:
            columns |= {"expected": self.expected, "residual": self.residuals}
        frame = pd.DataFrame(
            {name: values.ravel() for name, values in columns.items()}, index=self.table.domain.index()
        )
        return frame.rename_axis(columns=self.table.method)

    def to_wide(self) -> pd.DataFrame:
        """Return the shares alone, shaped as the crosstab."""
        index = self.table.domain.index
        beside = index(self.columns) if self.columns else pd.Index(["proportion"])
        return pd.DataFrame(self.estimate, index=index(self.rows), columns=beside)

    def to_dict(self) -> dict[str, Any]:
        """Return the crosstab as plain values; None stands for what there is not."""
        refused = {"std_err": None} if self.table.provenance.refused else {}
        return plain_values(
            self,
            "rows columns normalize categories=table.domain level proportion=estimate std_err intervals=conf_int "
            "expected residuals row_totals column_totals why_no_residuals provenance=table.provenance "
            "n privacy simulated channel_fit=table.channel_fit",
            level=1 - self.alpha,
            row_totals=plain_values(self.row_totals, "estimate std_err", **refused),
            column_totals=plain_values(self.column_totals, "estimate std_err", **refused),
        )

    def picture(self, kind: CrosstabKind | None = None) -> Picture:
        """Return what `plot` draws, as data.

        Parameters
        ----------
        kind : {"mosaic", "residuals"}, optional
            Shares as areas, shaded by residuals and hatched where the interval of a cell's deviation from
            independence holds zero; or the residuals as bars (an association plot). By default a mosaic; without
            columns, intervals.
        """
        from ldpstats.tables.drawn import association_plot, intervals, mosaic

        if kind is not None and kind not in get_args(CrosstabKind):
            raise LdpstatsError(f"kind = {kind!r}", one_line(get_args(CrosstabKind)))
        if not self.columns and kind:
            raise LdpstatsError(
                f"{kind} of {one_line(self.rows)} by nothing",
                "attributes in the columns, too",
                "picture() has intervals.",
            )
        if not self.columns:
            return intervals(self.table)
        return association_plot(self) if kind == "residuals" else mosaic(self)

    def plot(self, ax: Axes | None = None, kind: CrosstabKind | None = None) -> Axes:
        """Draw it; return the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        kind : {"mosaic", "residuals"}, optional
            As in `picture`.
        """
        return self.picture(kind).draw(ax)

    @property
    def headline(self) -> str:
        """What it is of, what its cells are shares of, and how many reports are behind it."""
        kind, cells = simulation(self.simulated, self.n), " × ".join(map(str, self.shape))
        return f"{self._about}: {cells} cells, n = {self.n:,}{kind}{assuming(self.table)}"

    def summary(self) -> Summary:
        """Return the crosstab with standard errors and totals, its adjusted residuals, and what they rest on."""
        title = f"Crosstab of {self._about}: {self.table.provenance.title.lower()}"
        kind = f"{simulation(self.simulated, self.n)}{assuming(self.table)}"
        index, beside = self.table.domain.index, ["proportion"]
        labels = [[str(category) for category in cell] for cell in index(self.rows)]
        if self.columns:
            beside = [" · ".join(map(str, cell)) for cell in index(self.columns)]
        down, across = _ENDS[self.normalize]
        body = [*labels, [down, *[""] * (len(self.rows) - 1)]]
        ends = [across] if self.columns else []
        above = f"Columns: {' · '.join(self.columns)}" if self.columns else ""
        panels = wide_panels(above, self.rows, body, [*beside, *ends], self._texts())
        residuals, z = self.residuals, self.quantile
        if np.isfinite(residuals).any():
            marked = [
                ["-" if math.isnan(value) else f"{value:+.1f}{' *' if abs(value) > z else ''}" for value in row]
                for row in residuals
            ]
            panels += wide_panels("Adjusted residuals", self.rows, labels, beside, marked)
        return Summary(f"{title}{kind}", tuple(panels), tuple(self._sentences()))

    def _texts(self) -> list[list[str]]:
        parts = (self.row_totals, self.column_totals, self.table.cells.summed(np.zeros(self.estimate.size, int), 1))
        shares = _framed(self.estimate, *(part.estimate for part in parts))
        errors = _framed(self.std_err, *(part.std_err for part in parts))
        if self.why_no_errors:
            errors = np.full(shares.shape, math.nan)
        width = self.shape[1] + bool(self.columns)
        return with_errors(shares[:, :width], errors[:, :width], percent=self.normalize != "all")

    @property
    def why_no_errors(self) -> str:
        """Why no standard errors are shown; empty if they are."""
        if not self.table.channel_fit().plausible:
            return "the reports do not fit their channel"
        return self.table.provenance.refused

    @property
    def quantile(self) -> float:
        """How far from zero a residual may be that says nothing, by the crosstab's level."""
        return -NormalDist().inv_cdf(self.alpha / 2)

    @property
    def _about(self) -> str:
        names = " by ".join(" and ".join(side) for side in (self.rows, self.columns) if side)
        return names if self.normalize == "all" else f"{names}, percentages of {self.normalize}"

    def _sentences(self) -> list[str]:
        table, conditional = self.table, self._conditional
        errors = "one standard error, for the population, randomization and sampling included"
        return [
            *self.privacy.sentences(self.n),
            f"Standard errors: none, as {self.why_no_errors}." if self.why_no_errors else f"±: {errors}.",
            *([f"No estimate: {conditional.why_not}."] if conditional is not None and conditional.why_not else []),
            *(f"{line[0].upper()}{line[1:]}." for line in improper_in_words(self.estimate) if conditional is not None),
            *(self._of_residuals() if self.columns else []),
            *provenance_in_words(table),
            *([] if table.figures else [TABLE_METHODS[table.method].words]),
            ASSUMED,
            *table.channel_fit().warning,
        ]

    def _of_residuals(self) -> list[str]:
        adjusted = self._adjusted
        missing = [f"No adjusted residuals: {adjusted.why_not}."] if adjusted.why_not else []
        if not np.isfinite(adjusted.scaled).any():
            return missing
        words = (
            "Adjusted residuals: deviations from independence in standard errors under it, randomization and sampling "
            f"included; about standard normal if it holds, * beyond ±{self.quantile:.3g}, each cell by itself."
        )
        return [words, *([f"Of these, {self.why_rough}."] if self.why_rough else []), *missing]

    @cached_property
    def _conditional(self) -> Conditional | None:
        """Shares of rows or of columns; None where cells are shares of all."""
        if self.normalize == "all":
            return None
        if self.normalize == "rows":
            return Conditional(self.table, self.rows)
        return Conditional(self.table.reordered((*self.columns, *self.rows)), self.columns)

    def _placed(self, figures: FloatArray) -> FloatArray:
        return figures.reshape(self.shape) if self.normalize == "rows" else figures.reshape(self.shape[::-1]).T


def _framed(cells: FloatArray, rows: FloatArray, columns: FloatArray, total: FloatArray) -> FloatArray:
    return np.block([[cells, rows[:, None]], [columns[None, :], total[None, :]]])
