"""Functionals of a table: means, shares, differences and ratios, each with what privacy cost and a tested interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ldpstats.answers.columns import Category, listed
from ldpstats.confidence.confidence_sets import FiellerQuotient
from ldpstats.confidence.group_means import GroupMeans
from ldpstats.confidence.inversion import PooledReports, ScoreInversion, counted_by_part
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation import ASSUMED, LinearPooling
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.measured import measured_by
from ldpstats.estimation.unbiased_estimates import ContrastPooling, UnbiasedPooling
from ldpstats.identification.identified import Identified
from ldpstats.identification.possible_tables import nearest_table, same_sums
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import BoolArray, FloatArray, as_array, significance
from ldpstats.presentation import Picture, Summary, summary_of_figures
from ldpstats.tables.conditional import TableResult
from ldpstats.tables.table import Table
from ldpstats.tables.unbiased_cells import assuming, never_certain, own_reports, provenance_in_words, unbiased_cells

Chosen: TypeAlias = Mapping[str, Category | Iterable[Category]]
"""Categories of some attributes, one or several of each."""
Given: TypeAlias = str | Sequence[str] | Chosen | None
"""Nothing, attributes within each of whose categories something is asked, or categories that it is asked within."""
Between: TypeAlias = Mapping[str, tuple[Any, Any]]
"""An attribute, and the two of its categories (or lists of categories) that are compared."""
_CLEAR = 2.0
_SCORES_SHOWN = 12
_FIGURES = ("estimate", "std_err", "sampling", "randomization")


class FiguresByLine(TableResult, Protocol):
    """Figures of a table with intervals: a single one, or one for each line."""

    __slots__ = ()

    name: str
    lines: tuple[tuple[Any, ...], ...]
    headers: tuple[str, ...]
    alpha: float

    @property
    def estimate(self) -> Any:
        """The estimate, or one for each line."""

    @property
    def kind_of_intervals(self) -> str:
        """Where the intervals come from, in words."""

    def conf_int(self, alpha: float | None = None, simultaneous: bool = False) -> Any:
        """Return intervals: a pair of limits, or one for each line.

        Parameters
        ----------
        alpha : float, optional
            One minus the level; by default that of the result.
        simultaneous : bool
            Whether all intervals hold at once with this level, by Bonferroni's inequality, instead of each by itself.
        """

    def to_frame(self, alpha: float | None = None, simultaneous: bool = False) -> pd.DataFrame:
        """Return a row per line, in which the interval stands last.

        Parameters
        ----------
        alpha, simultaneous
            As in `conf_int`.
        """

    def _said(self) -> list[str]:
        """Return what else must be known to read the figures."""
        return []

    @property
    def index(self) -> pd.Index[Any]:
        """What the lines are about, as an index of data frames."""
        if not self.headers:
            return pd.Index([self.name])
        index = pd.MultiIndex.from_tuples(self.lines, names=self.headers)
        return index if len(self.headers) > 1 else index.get_level_values(0)

    def summary(self, alpha: float | None = None, simultaneous: bool = False) -> Summary:
        """Return the figures to read aloud, and what they rest on.

        Parameters
        ----------
        alpha, simultaneous
            As in `conf_int`.
        """
        frame, fit = self.to_frame(alpha, simultaneous), self.table.channel_fit()
        if not fit.plausible:
            frame.loc[:, ["lower", "upper"]] = math.nan
        level = f"{100 * (1 - significance(self.alpha if alpha is None else alpha)):g} %"
        figures = zip(self.lines, frame.to_numpy().tolist(), strict=True)
        rows = [[*map(str, line or (self.name,)), *map(_written, own)] for line, own in figures]
        shown = [name.replace("_", " ") for name in frame.columns[:-2]]
        together = "simultaneous: all hold at once, by Bonferroni" if simultaneous else "pointwise: each by itself"
        sentences = [
            *self.privacy.sentences(self.n),
            f"Intervals ({together}): {self.kind_of_intervals}." if fit.plausible else "Intervals: none.",
            *self._said(),
            *provenance_in_words(self.table),
            ASSUMED,
            *fit.warning,
        ]
        title = f"{self.name[0].upper()}{self.name[1:]}{simulation(self.simulated, self.n)}{assuming(self.table)}"
        return summary_of_figures(title, [*(self.headers or ("what",)), *shown, f"{level} from", "to"], rows, sentences)

    @property
    def headline(self) -> str:
        """The estimate with its interval, of a single figure; else how many there are."""
        kind = simulation(self.simulated, self.n)
        if self.headers:
            return f"{self.name}: {len(self.lines)} figures, n = {self.n:,}{kind}{assuming(self.table)}"
        ends = "none, as the reports do not fit their channel"
        if self.table.channel_fit().plausible:
            ends = "from {} to {}".format(*map(_written, self.conf_int()))
        value, level = _written(self.estimate), f"{100 * (1 - self.alpha):g} %"
        estimate = "is not estimable" if value == "-" else f"= {value}"
        return f"{self.name}{assuming(self.table)} {estimate}; {level} interval {ends}{kind}"


def _written(figure: Any) -> str:
    """Return a figure as a text, a number to four digits; a dash where there is none."""
    if isinstance(figure, float):
        return "-" if math.isnan(figure) else f"{figure:.4g}"
    return "-" if figure is None else str(figure)


@dataclass(frozen=True, eq=False, repr=False)
class Functional(FiguresByLine):
    """What one wants to know of a table: a mean, share, difference or ratio, or one of each within some categories.

    `Table.mean`, `share`, `difference`, `ratio` and `functional` make it. Estimates are unbiased, or quotients of
    unbiased ones. Where cells are estimated from supports, which need not add up to one, they are first made to.

    Parameters
    ----------
    table : Table
    name : str
        What it is, in words.
    lines : tuple of tuple
        What each line is about: the categories that are given, or a name; one empty tuple of a single figure.
    headers : tuple of str
        What these are.
    means : tuple of GroupMeans
        A functional for each line.
    alpha : float
        One minus the level of intervals that are asked for without one.
    scored : str
        What numbers categories stand for, where they are none themselves.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "cars": [0, 1, 2]})
    >>> table = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 300, 100, 300, 500, 200], rng=1)["sex", "cars"]
    >>> found = table.mean("cars", given="sex")
    >>> found.to_frame().round(3)
         estimate  std_err  sampling  randomization  lower  upper
    sex
    F       0.508    0.048     0.021          0.043  0.414  0.603
    M       0.968    0.049     0.024          0.043  0.872  1.064
    """

    table: Table
    name: str
    lines: tuple[tuple[Any, ...], ...]
    headers: tuple[str, ...]
    means: tuple[GroupMeans, ...]
    alpha: float = 0.05
    scored: str = ""
    _in_dict: ClassVar[str] = (
        "name scored lines headers estimate std_err sampling randomization alpha intervals=conf_int "
        "interval_from=kind_of_intervals provenance=table.provenance n privacy simulated channel_fit=table.channel_fit"
    )
    _limits: dict[float, FloatArray] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", significance(self.alpha))
        entries, cells = {len(line) for line in self.lines}, {means.parts.size for means in self.means}
        if (len(self.lines), entries, cells) != (len(self.means), {len(self.headers)}, {self.table.domain.size()}):
            raise LdpstatsError(f"{len(self.lines)} lines about {len(self.means)} functionals", "a line for each")
        if self.table.provenance.refused:
            raise _not_identified(self.name, self.table.provenance.refused)
        if self.table.n < 2:
            raise LdpstatsError(f"the {self.name} from {self.table.n} reports", "two reports or more")
        forms = np.concatenate([means.forms for means in self.means])
        if self._pooling is not None and not self._pooling.tells(forms):
            raise _not_identified(self.name, "the reports tell only some contrasts of the cells, and not this one")

    @property
    def estimate(self) -> Any:
        """The estimate: a number, or an array with one for each line; nan where a group may be empty."""
        return self._shown(self._figures[:, 0])

    @property
    def std_err(self) -> Any:
        """The standard error by the delta method: the root of the sum of the squares of its two parts."""
        return self._shown(self._figures[:, 1])

    @property
    def sampling(self) -> Any:
        """The part of the standard error that the true answers of the same respondents to the same questions have.

        nan where the reports do not tell how scores spread; `sampling_range` has what is possible then.
        """
        return self._shown(self._figures[:, 2])

    @property
    def randomization(self) -> Any:
        """The part of the standard error that the channel added: what privacy cost."""
        return self._shown(self._figures[:, 3])

    @cached_property
    def sampling_range(self) -> FloatArray:
        """The least and the largest part that sampling can have, of each line; nan without reports of its own.

        They are the same where the reports tell it, and else what all tables allow that explain the reports.
        """
        known = np.repeat(self._figures[:, 2:3], 2, axis=1)
        for line in np.flatnonzero(np.isnan(known[:, 0]) & ~np.isnan(self._figures[:, 1])):
            means = self.means[line]
            worths = self._worths(means.slope(self._cells[0] @ means.members)[means.parts])
            if worths:
                known[line] = self._spread_range(worths, self._figures[line, 1])
        return known

    def conf_int(self, alpha: float | None = None, simultaneous: bool = False) -> FloatArray:
        """Return intervals, shape (2,), or (lines, 2): the values that a score test does not reject.

        Its variance is that at the cells which fit both the reports and the value best, none below zero, and its tails
        are those of the reports' own law, as far as that is known. Where a table has no reports of its own, as one that
        was reconstructed, they are Fieller's. Limits reach as far as the estimate, which may be improper. What they
        cover is measured in benchmarks/functionals.py.

        Parameters
        ----------
        alpha : float, optional
            One minus the level; by default that of the result.
        simultaneous : bool
            Whether all intervals hold at once with this level, by Bonferroni's inequality, instead of each by itself.
        """
        level = significance(self.alpha if alpha is None else alpha) / (len(self.means) if simultaneous else 1)
        if level not in self._limits:
            limits = np.array([test.limits(level)[0] for test in self.tests])
            low, high = np.fmin(limits[:, 0], self._figures[:, 0]), np.fmax(limits[:, 1], self._figures[:, 0])
            self._limits[level] = np.stack([low, high], axis=-1)
        return np.array(self._shown(self._limits[level]))

    def test(self, value: float) -> Any:
        """Return the p-value of the hypothesis that this is the population's value, by the test behind the interval.

        Parameters
        ----------
        value : float
        """
        given = as_array(value, "a value")
        for means in self.means:
            low, high = means.quantity.lowest, means.quantity.highest
            if given.ndim or given.dtype.kind not in "iuf" or not low <= given <= high:
                raise LdpstatsError(f"the value {value!r} of the {self.name}", f"a number from {low:g} to {high:g}")
        return self._shown(np.array([min(1.0, 2 * min(test.sides(float(given)))) for test in self.tests]))

    @property
    def kind_of_intervals(self) -> str:
        """Where the intervals come from, in words."""
        return "; ".join(dict.fromkeys(test.words for test in self.tests))

    def to_frame(self, alpha: float | None = None, simultaneous: bool = False) -> pd.DataFrame:
        """Return a row per line: estimate, standard error with its two parts, and interval.

        Parameters
        ----------
        alpha, simultaneous
            As in `conf_int`.
        """
        limits = self.conf_int(alpha, simultaneous).reshape(-1, 2)
        figures = np.concatenate([self._figures, limits], axis=1)
        return pd.DataFrame(figures, index=self.index, columns=[*_FIGURES, "lower", "upper"])

    def picture(self) -> Picture:
        """Return what `plot` draws, as data: the estimates with their intervals."""
        from ldpstats.tables.drawn import intervals_by_line

        return intervals_by_line(self, self.to_frame(), "estimate")

    def _shown(self, values: FloatArray) -> Any:
        return values if self.headers else values[0]

    @cached_property
    def _blocks(self) -> tuple[Block, ...]:
        return tuple(block.by_value for block in own_reports(self.table))

    @cached_property
    def _pooling(self) -> LinearPooling | None:
        """The weights of the reports in the estimate; None without reports of its own."""
        if not self._blocks:
            return None
        try:
            pooling = UnbiasedPooling(self._blocks)
            _ = pooling.operators
        except NotIdentifiedError:
            return ContrastPooling(self._blocks)
        return pooling

    @cached_property
    def _cells(self) -> tuple[FloatArray, FloatArray]:
        """Estimated cells with their covariance; where reports leave some open, they hold for what is told."""
        if isinstance(self._pooling, ContrastPooling):
            counts = [block.tally.counts[None, :] for block in self._blocks]
            likely = PooledReports(self._blocks).fitted(self.means[0], None, counts)[0]
            covariance = self._pooling.covariance(likely) * (self.n / (self.n - 1))
            return self._pooling.estimate(counts)[0], covariance
        cells = unbiased_cells(self.table)
        if isinstance(cells, str):
            raise _not_identified(self.name, cells)
        if self._pooling is None:
            return cells.estimate, never_certain(self.table, cells)
        total, covariance = self._pooling.of_total, cells.covariance
        shift = np.outer(covariance.sum(axis=1) - covariance.sum() / 2 * total, total)
        return cells.estimate + (1 - cells.estimate.sum()) * total, covariance - shift - shift.T

    @cached_property
    def _figures(self) -> FloatArray:
        """Estimate, standard error and its parts for each line, shape (lines, 4); nan where a group may be empty."""
        (cells, covariance), figures = self._cells, np.full((len(self.means), 4), math.nan)
        for line, means in enumerate(self.means):
            shares, groups = cells @ means.members, means.forms[len(means.groups) :]
            errors = np.sqrt(np.maximum(np.einsum("gi,ij,gj->g", groups, covariance, groups), 0))
            value = means.value(shares) if (groups @ cells > _CLEAR * errors).all() else math.nan
            if not math.isfinite(value):
                continue
            slope = means.slope(shares)[means.parts]
            variance = max(float(slope @ covariance @ slope), 0.0)
            sampling = self._sampling(self._worths(slope), variance)
            figures[line] = value, *np.sqrt([variance, sampling, variance - sampling])
        return figures

    def _worths(self, slope: FloatArray) -> list[tuple[FloatArray, int]]:
        """Return for each block what a respondent of every cell is expected to add to the estimate, and the reports."""
        operators = () if self._pooling is None else self._pooling.operators
        pairs = zip(operators, self._blocks, strict=True)
        return [(slope @ operator @ block.design()[0], block.n) for operator, block in pairs]

    def _sampling(self, worths: list[tuple[FloatArray, int]], variance: float) -> float:
        """Return the variance of the true values' part of the estimate (law of total variance), without bias.

        nan where the reports do not tell it.
        """
        if self._pooling is None or not self._pooling.tells(np.stack([worth**2 for worth, _ in worths])):
            return math.nan
        cells, covariance = self._cells
        parts = [(cells @ own**2 - (cells @ own) ** 2 + own @ covariance @ own) / n for own, n in worths]
        return min(max(float(np.sum(parts)), 0.0), variance)

    def _spread_range(self, worths: list[tuple[FloatArray, int]], std_err: float) -> FloatArray:
        """Return the least and the largest sampling part in the tables with the most likely contrasts."""
        identified = Identified.of(measured_by(self._blocks))
        nearest = nearest_table(identified).table
        squares = np.sum([own**2 / n for own, n in worths], axis=0)
        ends = same_sums(identified, nearest).least(np.stack([squares, -squares])) * [1, -1]
        centre = np.sum([(nearest @ own) ** 2 / n for own, n in worths])
        limits: FloatArray = np.sqrt(np.clip(ends - centre, 0, std_err**2))
        return limits

    @cached_property
    def tests(self) -> tuple[ScoreInversion | FiellerQuotient, ...]:
        """The test of each line."""
        return tuple(map(self._test_of, self.means))

    def _test_of(self, means: GroupMeans) -> ScoreInversion | FiellerQuotient:
        """Return the score test where the table has reports that allow it, else Fieller's."""
        blocks, compared = counted_by_part(self._blocks, means)
        reports = PooledReports.of(blocks, compared.forms)
        if reports is not None:
            return ScoreInversion(reports, compared)
        cells, covariance = self._cells
        return FiellerQuotient.of_means(cells, covariance, means)

    def _said(self) -> list[str]:
        said = [self.scored] if self.scored else []
        if self._pooling is None:
            return [
                *said,
                "How much of the standard error is sampling is not known: the table has no reports of its own.",
            ]
        said.append(
            "Squared, the standard error is the sum of sampling, which true answers have, and of what privacy cost."
        )
        empty, unknown = np.isnan(self._figures[:, 1]), np.isnan(self._figures[:, 2])
        if empty.any():
            said.append(f"No estimate of {int(empty.sum())} of {empty.size} figures: the group may be empty.")
        for low, high in self.sampling_range[unknown & ~empty][:1]:
            said.append(f"The reports do not tell how scores spread: sampling is between {low:.4g} and {high:.4g}.")
        return said


def mean_of(table: Table, of: str, scores: ArrayLike | None, given: Given) -> Functional:
    """Return the mean of an attribute's scores."""
    own, scored = _scores(table, of, scores)
    return _of_each(table, f"mean of {of}", "mean", own, [None], given, scored)


def share_of(table: Table, chosen: Chosen, given: Given) -> Functional:
    """Return the share of respondents with some categories."""
    inside, words = _where(table, chosen)
    return _of_each(table, f"share of {words}", "mean", inside.astype(float), [None], given)


def compared(
    table: Table,
    name: Literal["difference", "ratio"],
    of: str | Chosen,
    between: Between,
    scores: ArrayLike | None,
    given: Given,
) -> Functional:
    """Return the difference, or the ratio, of a mean or share between two groups."""
    pair = next(iter(between.values())) if isinstance(between, Mapping) and len(between) == 1 else None
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        raise LdpstatsError(
            f"between = {between!r}",
            "an attribute with the two categories that are compared",
            'Write between={"sex": ("men", "women")}: the first minus, or over, the second.',
        )
    (attribute,) = between
    (first, first_words), (second, second_words) = (_where(table, {attribute: category}) for category in pair)
    if isinstance(of, str):
        what, (own, scored) = f"the mean of {of}", _scores(table, of, scores)
    else:
        inside, words = _where(table, of)
        what, own, scored = f"the share of {words}", inside.astype(float), ""
    if (first & second).any():
        raise LdpstatsError(
            f"{first_words} and {second_words} as groups to compare", "two groups without a category in common"
        )
    joined = "minus" if name == "difference" else "over"
    return _of_each(
        table, f"{name} of {what}, {first_words} {joined} {second_words}", name, own, [first, second], given, scored
    )


def weighted(table: Table, weights: ArrayLike | Mapping[str, ArrayLike]) -> Functional:
    """Return one or several linear functionals of the cells."""
    several = weights if isinstance(weights, Mapping) else {"weighted sum of cells": weights}
    everything, means = np.ones((1, table.domain.size()), dtype=np.bool_), []
    for name, given in several.items():
        own = as_array(given, f"the weights of {name!r}")
        if own.shape != table.shape or own.dtype.kind not in "iufb":
            raise LdpstatsError(f"weights of shape {own.shape}", f"numbers in the shape of the table, {table.shape}")
        means.append(GroupMeans.of_cells(everything, own.astype(float).reshape(1, -1), "mean"))
    if not means:
        raise LdpstatsError("no weights", "an array in the shape of the table, or several by name")
    if not isinstance(weights, Mapping):
        return Functional(table, "weighted sum of cells", ((),), (), tuple(means))
    return Functional(table, "weighted sums of cells", tuple((name,) for name in several), ("what",), tuple(means))


def _of_each(
    table: Table,
    name: str,
    kind: Literal["mean", "difference", "ratio"],
    scores: FloatArray,
    groups: Sequence[BoolArray | None],
    given: Given,
    scored: str = "",
) -> Functional:
    """Return a functional of everything, within some categories, or within each category of some attributes."""
    said, lines, headers, parts = within_each(table, given)
    means = []
    for part in parts:
        compared_groups = np.stack([part if group is None else part & group for group in groups])
        means.append(GroupMeans.of_cells(compared_groups, np.tile(scores, (len(groups), 1)), kind))
    return Functional(table, f"{name}{said}", lines, headers, tuple(means), scored=scored)


def within_each(
    table: Table, given: Given
) -> tuple[str, tuple[tuple[Any, ...], ...], tuple[str, ...], list[BoolArray]]:
    """Return what is given in words, lines and headers of a `Functional`, and which cells each line is about."""
    if given is None:
        return "", ((),), (), [np.ones(table.domain.size(), dtype=np.bool_)]
    if isinstance(given, Mapping):
        within, words = _where(table, given)
        return f" given {words}", ((),), (), [within]
    kept = table.domain.project(given)
    places = table.domain.onto(kept.names)
    each = [places == place for place in range(kept.size())]
    return f" given {' and '.join(kept.names)}", tuple(kept.index()), kept.names, each


def _where(table: Table, chosen: Chosen) -> tuple[BoolArray, str]:
    """Return which cells have some categories, and these in words."""
    if not isinstance(chosen, Mapping) or not chosen:
        raise LdpstatsError(f"the categories {chosen!r}", 'a mapping such as {"age": "old", "car": ["one", "two"]}')
    inside, words, places = np.ones(table.shape, dtype=np.bool_), [], np.indices(table.shape)
    for name in table.domain.project(tuple(chosen)).names:
        known, wanted = table.domain.categories[name], listed(chosen[name])
        unknown = [category for category in wanted if category not in known]
        if unknown or not wanted or len(set(wanted)) < len(wanted):
            raise LdpstatsError(
                f"the categories {one_line(list(wanted))} of {name!r}", f"different ones out of {one_line(list(known))}"
            )
        inside &= np.isin(places[table.attributes.index(name)], [known.index(category) for category in wanted])
        words.append(f"{name} {' or '.join(map(str, wanted))}")
    return inside.ravel(), " and ".join(words)


def _scores(table: Table, of: str, scores: ArrayLike | None) -> tuple[FloatArray, str]:
    """Return the score of every cell, those given or those of the domain, and what they are in words."""
    (name,) = table.domain.project([of]).names
    if scores is None:
        own = table.domain.scores(name)
    else:
        own = as_array(scores, f"the scores of {name!r}")
        if own.shape != (table.domain.size([name]),) or own.dtype.kind not in "iuf" or not np.isfinite(own).all():
            raise LdpstatsError(f"scores {scores!r} of {name!r}", f"{table.domain.size([name])} finite numbers")
    categories = table.domain.categories[name]
    stated = [f"{category} = {score:g}" for category, score in zip(categories, own.tolist(), strict=True)]
    more = [f"... ({len(stated)} in all)"] if len(stated) > _SCORES_SHOWN else []
    words = f"Scores of {name}: {', '.join([*stated[:_SCORES_SHOWN], *more])}."
    return own.astype(float)[table.domain.onto([name])], "" if tuple(own.tolist()) == tuple(categories) else words


def _not_identified(what: str, why: str) -> NotIdentifiedError:
    return NotIdentifiedError(
        f"the {what}: {why}",
        "what the reports identify, or a model that could be true",
        "bounds() says what is known of the cells without an assumption.",
    )
