"""Conditional proportions of a table, each with the interval of a quotient: by Fieller, or by the score test."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ldpstats.confidence.confidence_sets import FiellerQuotient
from ldpstats.confidence.inversion import Comparison, PooledReports, ScoreInversion, counted_by_part
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation import ASSUMED
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import BoolArray, FloatArray, significance
from ldpstats.presentation import Picture, Result, Summary, plain_values, summary_of_figures
from ldpstats.privacy import PrivacyStatement
from ldpstats.tables.provenance import Consistent
from ldpstats.tables.table import Table
from ldpstats.tables.unbiased_cells import (
    assuming,
    bound_of,
    improper_in_words,
    is_sparse,
    named_categories,
    never_certain,
    own_reports,
    provenance_in_words,
    unbiased_cells,
)


class TableResult(Result, Protocol):
    """What is worked out of one table, with the reports and the privacy of that."""

    __slots__ = ()

    table: Table

    @property
    def n(self) -> int:
        """The number of reports behind the table."""
        return self.table.n

    @property
    def privacy(self) -> PrivacyStatement:
        """What the respondents were promised."""
        return self.table.privacy

    @property
    def simulated(self) -> int:
        """How many of the reports came from a simulation instead of a respondent."""
        return self.table.simulated


_CLEAR = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class Conditional(TableResult):
    """The proportions of some attributes within the categories of others, as `Table.conditional` finds them.

    Parameters
    ----------
    table : Table
        Of exactly these attributes, those of `given` first.
    given : tuple of str
        The attributes within whose categories the proportions sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 200, 100, 300]) * 100, rng=1)
    >>> shares = tables["sex", "car"].conditional("car", given="sex")
    >>> shares.conf_int()[0].round(3)
    array([[0.663, 0.671],
           [0.329, 0.337]])
    """

    table: Table
    given: tuple[str, ...]
    _limits: dict[float, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        kept = len(self.given)
        if self.table.attributes[:kept] != self.given or not 0 < kept < len(self.table.attributes):
            raise LdpstatsError(
                f"a table of {one_line(self.table.attributes)}, given {one_line(self.given)}",
                "at least one attribute that is given, and one that is not; those that are given come first",
            )
        if self.table.provenance.refused:
            raise NotIdentifiedError(
                f"proportions of {' and '.join(self.of)} given {' and '.join(self.given)}: "
                f"{self.table.provenance.refused}",
                "tables whose cells the reports identify, or a model that could be true",
                "bounds().conditional(of, given) says what is known without an assumption; method = 'max-entropy' has "
                "a model.",
            )

    @property
    def of(self) -> tuple[str, ...]:
        """The attributes whose proportions these are."""
        return self.table.attributes[len(self.given) :]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories along each axis: first those of `given`, then those of `of`."""
        return self.table.shape

    @property
    def assumption(self) -> str:
        """What must hold beside what the reports tell; empty where these identify all cells of the table."""
        return self.table.assumption

    @cached_property
    def estimate(self) -> FloatArray:
        """The proportions by the table's method; those of a row sum to one, and some may be negative.

        nan where the given categories are not estimated clearly above zero, by two standard errors: there Fieller's set
        of .95 would have no end, were it not for 0 and 1.
        """
        cells = self._rows(self.table.cells.estimate)
        totals = np.where(self._estimable, cells.sum(axis=1), math.nan)
        proportions: FloatArray = (cells / totals[:, None]).reshape(self.shape)
        return proportions

    @cached_property
    def std_err(self) -> FloatArray:
        """Standard errors by the delta method, with the covariance of the unbiased cells; nan without an estimate."""
        if isinstance(self._quotients, str):
            return np.full(self.shape, math.nan)
        shares, covariance = self._rows(self.estimate), self._quotients.covariance
        variances = covariance[..., 0, 0] - 2 * shares * covariance[..., 0, 1] + shares**2 * covariance[..., 1, 1]
        totals = self._rows(self.table.cells.estimate).sum(axis=1, keepdims=True)
        errors: FloatArray = (np.sqrt(np.maximum(variances, 0)) / totals).reshape(self.shape)
        return errors

    @property
    def why_not(self) -> str:
        """Why some proportions, or all, are not estimable; empty if all are."""
        if isinstance(self._quotients, str):
            return self._quotients
        unclear = np.flatnonzero(~self._estimable)
        if not unclear.size:
            return ""
        return f"not estimated clearly above zero: {named_categories(self.table, self.given, unclear)}"

    def conf_int(self, alpha: float = 0.05) -> FloatArray:
        """Return pointwise intervals for the population's proportions, shape `(*shape, 2)`: from 0 to 1 at most.

        Only an estimate that is itself below 0 or above 1 has an interval beyond, which reaches as far as that.
        Each holds what is not rejected by a test of its own. Where all reports are frequent that is Fieller's, so that
        no estimate is divided by; where some report was counted fewer than 20 times, it is the score test with the
        exact law of the reports, as for `risk_ratio`. Where the given categories may be empty, it is everything:
        from 0 to 1. A proportion that is not estimable has an interval all the same. What they cover is measured in
        benchmarks/conditional_coverage.py.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        level = float(significance(alpha))
        if level not in self._limits:
            shown, score = self._rows(self.estimate), self._score_tests
            if isinstance(self._quotients, str):
                limits = np.tile([0.0, 1.0], (*shown.shape, 1))
            elif score is None:
                limits = self._quotients.limits_of_parts(level)
            else:
                limits = np.array([test.limits(level)[0] for test in score]).reshape(len(shown), -1, 2)
                if limits.shape[1] < shown.shape[1]:  # of two columns, the second one is the rest
                    limits = np.concatenate([limits, 1 - limits[..., ::-1]], axis=1)
            # widened to hold the estimate, which may be that of another method, or improper
            wide = np.stack([np.fmin(limits[..., 0], shown), np.fmax(limits[..., 1], shown)], axis=-1)
            self._limits[level] = wide.reshape(*self.shape, 2)
        return self._limits[level].copy()

    @property
    def kind_of_intervals(self) -> str:
        """Where the intervals come from, in words."""
        if isinstance(self._quotients, str):
            return "what was possible beforehand"
        return self._quotients.words if self._score_tests is None else self._score_tests[0].words

    @property
    def covers(self) -> str:
        """What the intervals hold, and what they allow for."""
        bound = bound_of(self.table)
        if_it_holds = (
            f" if this holds: {self.assumption}; if not, any other: bounds().conditional(of, given) of the table says "
            "what is known without it"
            if self.assumption
            else ""
        )
        return (
            f"the population's proportions{if_it_holds}; pointwise (each proportion by itself); about as often as the "
            "level says, more often where noise is larger than the cells; the noise of the randomization and the "
            "sampling of the respondents are both allowed for"
            f"{f'; with an upper bound of their covariance ({bound}): more often' if bound else ''}"
        )

    def to_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return a row per cell, the given categories first: estimate, std_err and pointwise interval.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        limits = self.conf_int(alpha)
        figures = np.stack([self.estimate, self.std_err, limits[..., 0], limits[..., 1]], axis=-1).reshape(-1, 4)
        columns = pd.Index(["estimate", "std_err", "lower", "upper"], name=self.table.method)
        return pd.DataFrame(figures, index=self.table.domain.index(), columns=columns)

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return a table to read aloud: proportions with standard errors and intervals, and what they rest on.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        frame = self.to_frame(alpha)
        if not self.table.channel_fit().plausible:
            frame.loc[:, ["std_err", "lower", "upper"]] = math.nan
        level = f"{100 * (1 - alpha):g} %"
        rows = [
            [*map(str, labels), *("-" if math.isnan(figure) else f"{figure:.4f}" for figure in figures)]
            for labels, figures in zip(frame.index, frame.to_numpy(), strict=True)
        ]
        headers = [*self.table.attributes, "proportion", "std err", f"{level} from", "to"]
        title = (
            f"Proportions of {' and '.join(self.of)} given {' and '.join(self.given)}: "
            f"{self.table.provenance.title.lower()}{simulation(self.simulated, self.n)}{assuming(self.table)}"
        )
        return summary_of_figures(title, headers, rows, self._sentences(level))

    def _sentences(self, level: str) -> list[str]:
        fit = self.table.channel_fit()
        intervals = [f"Intervals ({level}): none, as the reports do not fit their channel"]
        if fit.plausible:
            intervals = [f"Intervals ({level}): {self.kind_of_intervals}", *f"they cover {self.covers}".split("; ")]
        return [
            *self.privacy.sentences(self.n),
            *([f"No estimate: {self.why_not}."] if self.why_not else []),
            *(f"{line[0].upper()}{line[1:]}." for line in improper_in_words(self.estimate)),
            *(f"{line[0].upper()}{line[1:]}." for line in intervals),
            *provenance_in_words(self.table),
            ASSUMED,
            *fit.warning,
        ]

    def to_dict(self, alpha: float = 0.05) -> dict[str, Any]:
        """Return the proportions as plain values; None stands for those that are not estimable.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        return plain_values(
            self,
            "of given categories=table.domain estimate std_err why_not level intervals interval_from=kind_of_intervals "
            "covers provenance=table.provenance n privacy simulated channel_fit=table.channel_fit",
            intervals=self.conf_int(alpha).tolist(),
            level=1 - alpha,
        )

    def picture(self) -> Picture:
        """Return what `plot` draws, as data: proportions with intervals, grouped by what is given."""
        from ldpstats.tables.drawn import conditional_intervals

        return conditional_intervals(self)

    @property
    def headline(self) -> str:
        """Of what, given what, and how many reports are behind it."""
        kind, cells = simulation(self.simulated, self.n), " × ".join(map(str, self.shape))
        about = f"{' × '.join(self.of)} given {' × '.join(self.given)}"
        return f"{about}: {cells} proportions, n = {self.n:,}{kind}{assuming(self.table)}"

    def _rows(self, cells: FloatArray) -> FloatArray:
        return cells.reshape(self.table.domain.size(self.given), -1)

    @cached_property
    def _quotients(self) -> FiellerQuotient | str:
        """Unbiased quotients of every cell and the sum of its row, or why there are none."""
        cells = unbiased_cells(self.table)
        if isinstance(cells, str):
            return cells
        return quotients_of_rows(self._rows(cells.estimate), never_certain(self.table, cells))

    @cached_property
    def _estimable(self) -> BoolArray:
        """Mask of the combinations of given categories clearly above zero, both without bias and as they are shown."""
        shown = self._rows(self.table.cells.estimate).sum(axis=1)
        if isinstance(self._quotients, str):
            return np.zeros(shown.shape, dtype=np.bool_)
        totals, variances = self._quotients.pair[:, 0, 1], self._quotients.covariance[:, 0, 1, 1]
        clear: BoolArray = (shown > 0) & (totals > _CLEAR * np.sqrt(np.maximum(variances, 0)))
        return clear

    @cached_property
    def _score_tests(self) -> tuple[ScoreInversion, ...] | None:
        """Score tests of all cells (of two columns, the first); None without rare reports that count by part."""
        sources = self.table.sources
        moved = isinstance(self.table.provenance, Consistent) and len(sources) == 1
        source = sources[0].marginal(self.table.attributes) if moved else self.table
        if not is_sparse(source):
            return None
        rows, columns = self._rows(self.table.cells.estimate).shape
        tests = []
        for row, column in product(range(rows), range(1 if columns == 2 else columns)):
            # the cell, the rest of its row, and all other rows
            parts = np.full((rows, columns), 2)
            parts[row] = 1
            parts[row, column] = 0
            blocks, comparison = counted_by_part(own_reports(source), Comparison(parts.ravel(), "proportion"))
            reports = PooledReports.of(blocks)
            if reports is None:
                return None
            tests.append(ScoreInversion(reports, comparison))
        return tuple(tests)


def quotients_of_rows(cells: FloatArray, covariance: FloatArray) -> FiellerQuotient:
    """Return every cell of (..., rows, columns) over its row's sum, given the covariance of the flattened cells."""
    square = covariance.reshape(*covariance.shape[:-2], *cells.shape[-2:], *cells.shape[-2:])
    within = np.einsum("...gigj->...gij", square)
    with_total = within.sum(axis=-1)
    total = np.broadcast_to(with_total.sum(axis=-1, keepdims=True), cells.shape)
    own = np.einsum("...ii->...i", within)
    covariance_of_pair = np.moveaxis(np.array([[own, with_total], [with_total, total]]), (0, 1), (-2, -1))
    pair = np.stack([cells, np.broadcast_to(cells.sum(axis=-1, keepdims=True), cells.shape)], axis=-1)
    return FiellerQuotient(pair, covariance_of_pair, 0.0, 1.0)
