"""Estimates: frequencies with their covariance and Wilson, mid-p or normal intervals, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation.rare import OwnReports
from ldpstats.noise import NoiseModel, Tally, simulation
from ldpstats.numbers.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    at_least,
    integers_below,
    refuse_no_covariance,
    significance,
)
from ldpstats.presentation import (
    Picture,
    Result,
    Summary,
    plain_list,
    plain_values,
    summary_of_facts,
    summary_of_figures,
)
from ldpstats.privacy import PrivacyStatement

MOST_SHOWN = 60
"""So many values are shown at most; data frames have all."""


def shown_values(estimate: FloatArray, most: int = MOST_SHOWN) -> IntArray:
    """Return the values to show, in their order: all of them, or the most frequent of many."""
    order = np.argsort(-estimate, kind="stable")
    return np.sort(order[:most])


def refuse_many_tables(estimate: FloatArray) -> None:
    """Refuse to show frequencies of several tables at once."""
    if estimate.ndim != 1:
        raise LdpstatsError(f"estimates of shape {estimate.shape}", "one table", "Take one estimate at a time.")


def counted_values(estimate: FloatArray, n: int, simulated: int) -> str:
    """Say of how many values the frequencies are, and from how many reports."""
    *tables, cells = estimate.shape
    many = f"{int(np.prod(tables)):,} tables of " if tables else ""
    reports = f"{n:,} {'report' if n == 1 else 'reports'}{simulation(simulated, n)}"
    return f"{many}{cells:,} {'value' if cells == 1 else 'values'} from {reports}"


def summary_of_values(
    title: str, estimate: FloatArray, names: tuple[str, ...], columns: dict[str, FloatArray], sentences: Sequence[str]
) -> Summary:
    """Return a row per value that is shown, beside these columns; of several tables, how many there are."""
    if estimate.ndim != 1:
        return summary_of_facts(title, {"Shape": " × ".join(map(str, estimate.shape))}, sentences)
    values = shown_values(estimate)
    figures = {"proportion": estimate, **columns}
    rows = [
        [name, *(f"{column[value]:.4f}" for column in figures.values())]
        for name, value in zip(names_of(names, values), values, strict=True)
    ]
    left_out = f"Shown are the {values.size} most frequent of {estimate.size:,} values; to_frame() has all."
    chosen = "Nothing allows for this choice: values that look most frequent tend to be less so."
    more = [left_out, chosen] if values.size < estimate.size else []
    return summary_of_figures(title, ["value", *figures], rows, [*more, *sentences])


def names_of(names: tuple[str, ...], values: IntArray) -> tuple[str, ...]:
    """Return what values are called: their names, or their numbers."""
    return tuple(names[value] if names else str(value) for value in values.tolist())


def refuse_other_names(names: tuple[str, ...], cells: int) -> None:
    """Refuse names that are not those of every value."""
    if names and len(names) != cells:
        raise LdpstatsError(f"{len(names)} names of {cells} values", "a name for every value, or none")


def notes_of(simulated: int, n: int, estimate: FloatArray, *said: str, most: int = MOST_SHOWN) -> tuple[str, ...]:
    """Return what a picture of frequencies must say beside them."""
    kind = simulation(simulated, n).strip(" ()")
    some = f"the {most} most frequent of {estimate.size:,} values" if estimate.size > most else ""
    return tuple(filter(None, (kind, some, *said)))


def picture_of_values(
    estimate: FloatArray, limits: FloatArray, names: tuple[str, ...], reports: tuple[int, int], said: str
) -> Picture:
    """Return a picture of the values shown, with limits; `reports` are how many were simulated, and how many came."""
    from ldpstats.pictures.intervals import Intervals

    shown = shown_values(estimate)
    drawn, lower, upper = map(tuple, np.column_stack([estimate, limits])[shown].T.tolist())
    notes, labels = notes_of(*reports, estimate, said), names_of(names, shown)
    return Intervals("Estimated frequencies", notes, labels, drawn, lower, upper, "proportion")


def reports_in_sentences(n: int, privacy: PrivacyStatement | None) -> list[str]:
    """Return how many reports there are and what was promised, if that is known."""
    return [f"{n:,} {'report' if n == 1 else 'reports'}."] if privacy is None else privacy.sentences(n)


ASSUMED = "Assumes independent respondents, and one look at the data."
"""What every interval and p-value rests on beside the channel; stopping when a result pleases is many looks."""
_LEAST_SHOWN = 1e-300
_DIGITS = 6


def pvalue_in_words(pvalue: float, digits: int = 4) -> str:
    """Return a p-value to so many significant digits; one too small for a double is never called zero.

    Parameters
    ----------
    pvalue : float
    digits : int
    """
    return f"< {_LEAST_SHOWN:g}" if pvalue < _LEAST_SHOWN else f"{pvalue:.{digits}g}"


@dataclass(frozen=True, eq=False)
class TallySpread:
    """How far the estimate from one tally spreads: variances at once, all covariances only when they are asked for."""

    noise: NoiseModel
    frequencies: FloatArray
    n: int
    order: IntArray | None = None  # the value that every cell shows, if they come in another order

    def __post_init__(self) -> None:
        at_least(self.n, 1, "the reports behind an estimate")
        if self.order is not None:
            integers_below(self.order, self.noise.cells, "the order of cells")
        if self.frequencies.shape[-1:] != (self.noise.cells,):
            raise LdpstatsError(f"frequencies of shape {self.frequencies.shape}", f"{self.noise.cells} of them")

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the estimate."""
        cells = self.noise.cells if self.order is None else self.order.size
        return (*self.frequencies.shape[:-1], cells)

    @cached_property
    def variances(self) -> FloatArray:
        """The variance of every cell."""
        variances = over_degrees_of_freedom(self.noise.variance(self.frequencies), self.n)
        return variances if self.order is None else variances[..., self.order]

    @cached_property
    def matrix(self) -> FloatArray:
        """The whole covariance matrix."""
        matrix = over_degrees_of_freedom(self.noise.covariance(self.frequencies), self.n)
        return matrix if self.order is None else matrix[..., self.order, :][..., self.order]


class Limits(Protocol):
    """Intervals of cells that come from elsewhere than from an estimate and its standard errors."""

    @property
    def kind(self) -> str:
        """How they are found, in a few words."""

    @property
    def std_err(self) -> FloatArray:
        """The standard error of every cell, of the same kind."""

    def limits(self, alpha: float) -> FloatArray:
        """Return pointwise intervals of confidence 1 - alpha, shape (cells, 2)."""

    def summed(self, of_cell: IntArray, size: int) -> Self:
        """Return the intervals of sums of cells, `of_cell` being the place of the sum that every cell belongs to."""


@dataclass(frozen=True, slots=True, eq=False)
class CombinedShares:
    """Intervals of linear functions of independent shares, out of Wilson's of each (Zou & Donner 2008)."""

    weights: FloatArray  # a row per function
    shares: FloatArray
    n: IntArray  # at least 2
    kind: str = "Wilson, of all shares combined"

    @property
    def variances(self) -> FloatArray:
        """The estimated variances of the shares."""
        return self.shares * (1 - self.shares) / (self.n - 1)

    @property
    def std_err(self) -> FloatArray:
        """The standard errors of the functions."""
        errors: FloatArray = np.sqrt(self.weights**2 @ self.variances)
        return errors

    def limits(self, alpha: float) -> FloatArray:
        """Return pointwise intervals of confidence 1 - alpha, shape (functions, 2)."""
        reach = wilson_limits(self.shares, self.n, NormalDist().inv_cdf(1 - alpha / 2)) - self.shares[:, None]
        rising, falling = np.maximum(self.weights, 0) ** 2, np.minimum(self.weights, 0) ** 2
        squares = rising @ reach**2 + falling @ reach[:, ::-1] ** 2
        limits: FloatArray = (self.weights @ self.shares)[:, None] + np.sqrt(squares) * [-1, 1]
        return limits

    def summed(self, of_cell: IntArray, size: int) -> CombinedShares:
        """Return the intervals of sums of the functions, `of_cell` being the place of every one's sum."""
        return replace(self, weights=np.eye(size)[of_cell].T @ self.weights)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(Result):
    """Estimated frequencies of some cells.

    Parameters
    ----------
    estimate : array, shape (..., cells)
        Frequencies: unbiased ones, unless the method that made them says otherwise. They may be negative or exceed
        one: clipping would bias everything made of them.
    spread : array, shape (..., cells, cells), or TallySpread
        Estimate of their covariance, or what it follows from: noise of the mechanism plus sampling of the respondents.
    n, simulated : int
        The reports behind them, and how many of those came from a simulation.
    bounds : array, shape (2, cells), optional
        What each estimate would be if none, and if all, of the reports supported its cell; only where the
        estimate of a cell depends on the number of its own reports alone, or has the variance of such a number.
    own : OwnReports, optional
        The reports of every cell by block, where the estimate of a cell depends on those of several blocks.
    limits : Limits, optional
        Where the intervals come from, if not from these.
    names : tuple of str
        What the cells are called, where that is known.
    privacy : PrivacyStatement, optional
        What the respondents were promised.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> grr = ldp.GRR(3, epsilon=1.0)
    >>> found = grr.estimate(grr.simulate([700, 200, 100], rng=1))
    >>> found.estimate.round(2)
    array([0.72, 0.22, 0.06])
    >>> found.conf_int(alpha=0.1).round(2)
    array([[0.65, 0.79],
           [0.16, 0.29],
           [0.  , 0.12]])
    >>> found.std_err.round(3)
    array([0.043, 0.04 , 0.037])
    """

    estimate: FloatArray
    spread: FloatArray | TallySpread
    n: int
    privacy: PrivacyStatement | None = None
    simulated: int = 0
    bounds: FloatArray | None = None
    own: OwnReports | None = None
    limits: Limits | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        at_least(self.simulated, 0, "simulated", most=at_least(self.n, 0, "the reports behind an estimate"))
        cells = self.estimate.shape[-1] if self.estimate.ndim else 0
        if isinstance(self.spread, TallySpread):
            proper = self.spread.shape == self.estimate.shape
        else:
            refuse_no_covariance(self.spread, cells, "an estimate")
            proper = self.spread.shape[:-1] == self.estimate.shape
        proper = proper and (self.bounds is None or self.bounds.shape == (2, cells))
        if not proper or (self.own is not None and self.own.gain.shape[-1] != cells):
            raise LdpstatsError(
                f"an estimate of shape {self.estimate.shape} with figures of another shape", "figures of every cell"
            )
        refuse_other_names(self.names, cells)

    @property
    def covariance(self) -> FloatArray:
        """The covariance matrix of the cells, shape (..., cells, cells); of very many cells it is refused."""
        return self.spread.matrix if isinstance(self.spread, TallySpread) else self.spread

    @property
    def std_err(self) -> FloatArray:
        """The standard error of every frequency; 0 where no report, or every one, supports the cell.

        Where intervals come from elsewhere it is of their kind, and need not be the root of a variance.
        """
        if self.limits is not None:
            return self.limits.std_err
        if isinstance(self.spread, TallySpread):
            variances = self.spread.variances
        else:
            variances = np.diagonal(self.spread, axis1=-2, axis2=-1)
        return np.sqrt(np.maximum(variances, 0))

    def in_order(self, order: IntArray) -> Estimate:
        """Return the estimate with cells in another order: those at these places.

        Parameters
        ----------
        order : array of int, shape (cells,)
            The place that every cell of the result has now.
        """
        if isinstance(self.spread, TallySpread):
            ordered: FloatArray | TallySpread = replace(self.spread, order=order)
        else:
            ordered = self.spread[..., order, :][..., order]
        bounds = None if self.bounds is None else self.bounds[:, order]
        own = None if self.own is None else self.own.of(order)
        limits = None if self.limits is None else self.limits.summed(np.argsort(order), order.size)
        names = tuple(self.names[position] for position in order.tolist()) if self.names else ()
        moved = self.estimate[..., order]
        return replace(self, estimate=moved, spread=ordered, bounds=bounds, own=own, limits=limits, names=names)

    def summed(self, of_cell: IntArray, size: int) -> Estimate:
        """Add one table's cells up, `of_cell` being the new place of every cell; infinite variances stay infinite.

        Parameters
        ----------
        of_cell : array of int, shape (cells,)
            The new place of every cell.
        size : int
            The number of new cells.
        """
        if of_cell.size == size:
            return self.in_order(np.argsort(of_cell))
        values, products = summed(self.estimate, self.covariance, of_cell, size)
        limits = None if self.limits is None else self.limits.summed(of_cell, size)
        return replace(self, estimate=values, spread=products, bounds=None, own=None, limits=limits, names=())

    def conf_int(self, alpha: float = 0.05) -> FloatArray:
        """Return pointwise intervals for the population frequencies, shape (..., cells, 2).

        Each covers its own frequency with probability about 1 - alpha; they are not simultaneous. Both the
        randomization and the sampling of respondents are allowed for. The limits are not cut at 0 and 1.

        Where an estimate is a count of reports, rescaled, this is Wilson's interval for the proportion of
        reports, rescaled likewise (Wilson 1927); else it is the estimate plus and minus normal standard errors.
        A cell that was reported, or not reported, fewer than 20 times gets what the tails of that count itself do not
        reject, with half of the probability of what was seen (mid-p), also if several truth-or-fake blocks count it.
        Supports that were added up by class are taken for a number of reports with the same mean and variance.
        Other estimates from several blocks have no such tails: theirs cover rare cells less often (.82 for a cell of
        .005 in 600 reports at ε = 8 and 9, pooled by OUE), as do those of channels of three or more values some of
        which cause more variance than others (down to .09 and, of 200 reports, .6 through a one-sided channel of three
        values, where one has a share of .98). What the others cover is measured in
        benchmarks/interval_coverage.py.

        All limits reach as far as the estimate: those that come from elsewhere, and those of supports that were added
        up, which may be fewer than no report.

        Parameters
        ----------
        alpha : float
            One minus the confidence.
        """
        limits = self._own_limits(alpha) if self.limits is None else self.limits.limits(significance(alpha))
        return np.stack([np.minimum(limits[..., 0], self.estimate), np.maximum(limits[..., 1], self.estimate)], axis=-1)

    def _own_limits(self, alpha: float) -> FloatArray:
        """Return what `conf_int` gives of the estimate's own spread and reports."""
        z = -NormalDist().inv_cdf(significance(alpha) / 2)
        if self.bounds is None:
            margin = z * self.std_err
            usual = np.stack([self.estimate - margin, self.estimate + margin], axis=-1)
        else:
            usual = self.wilson(z, self.bounds)
        own = self._own_reports()
        if own is not None and own.few.any():
            few = np.flatnonzero(own.few)
            usual.reshape(-1, 2)[few] = own.of(few).limits(alpha)
        return usual

    @property
    def kind_of_intervals(self) -> str:
        """How `conf_int` finds them, in a few words."""
        if self.limits is not None:
            return self.limits.kind
        own = self._own_reports()
        kind = "normal" if self.bounds is None else "Wilson"
        return f"{kind}; mid-p where reports are few" if own is not None and own.few.any() else kind

    @property
    def rare(self) -> BoolArray:
        """Which cells were reported, or not reported, so few times that `conf_int` goes by the tails of that number."""
        own = self._own_reports()
        return np.zeros(self.estimate.size, dtype=np.bool_) if own is None else own.few

    def _own_reports(self) -> OwnReports | None:
        """Return the reports behind each cell, of all tables in one row, where there are any of its own."""
        if self.bounds is None:
            return self.own
        none, every = self.bounds
        gain = np.broadcast_to(1 / (every - none), self.estimate.shape)
        offset = np.broadcast_to(-none / (every - none), self.estimate.shape)
        counts = np.clip(np.round((self.estimate - none) * gain * self.n, _DIGITS), 0, self.n)
        ones = np.ones((1, 1))
        return OwnReports(self.n * ones, gain.reshape(1, -1), offset.reshape(1, -1), counts.reshape(1, -1), ones)

    def wilson(self, z: float, bounds: FloatArray) -> FloatArray:
        """Return Wilson's intervals, rescaled, z being the normal quantile.

        Parameters
        ----------
        z : float
            The normal quantile.
        bounds : array, shape (2, cells)
            As `Estimate.bounds`.
        """
        none, every = bounds
        share = (self.estimate - none) / (every - none)
        limits = wilson_limits(share, self.n, z)
        rescaled: FloatArray = none[:, None] + (every - none)[:, None] * limits
        return rescaled

    def to_frame(self, index: pd.Index | None = None, alpha: float = 0.05) -> pd.DataFrame:
        """Return a row per cell: estimate, standard error and pointwise interval.

        Parameters
        ----------
        index : Index, optional
            Labels of the cells; by default what they are called, if that is known.
        alpha : float
            One minus the confidence.
        """
        refuse_many_tables(self.estimate)
        limits = self.conf_int(alpha)
        return pd.DataFrame(
            {"estimate": self.estimate, "std_err": self.std_err, "lower": limits[:, 0], "upper": limits[:, 1]},
            index=index if index is not None or not self.names else pd.Index(self.names, name="value"),
        )

    @property
    def headline(self) -> str:
        """Of how many values the frequencies are, from how many reports, and at what level."""
        promised = [] if self.privacy is None else [self.privacy.headline]
        return "; ".join([counted_values(self.estimate, self.n, self.simulated), *promised])

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return a table to read aloud: frequencies with standard errors and intervals, and the privacy promised.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        limits, level = self.conf_int(alpha), f"{100 * (1 - float(alpha)):g} %"
        columns = {"std err": self.std_err, f"{level} from": limits[..., 0], "to": limits[..., 1]}
        sentences = [
            *reports_in_sentences(self.n, self.privacy),
            f"Intervals: {self.intervals_in_words(alpha)}",
            ASSUMED,
            "Whether the reports fit their channel is not looked at here; channel_fit does.",
        ]
        title = f"Estimated frequencies of {counted_values(self.estimate, self.n, self.simulated)}"
        return summary_of_values(title, self.estimate, self.names, columns, sentences)

    def intervals_in_words(self, alpha: float) -> str:
        """Return what `conf_int` gives, in words.

        Parameters
        ----------
        alpha : float
            One minus the confidence.
        """
        kind = f"pointwise {100 * (1 - float(alpha)):g} % ({self.kind_of_intervals})"
        return f"{kind}, for the population, randomization and sampling included."

    def to_dict(self, alpha: float = 0.05) -> dict[str, Any]:
        """Return the estimate as plain values; None stands for what is infinite.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        names = "estimate std_err level intervals n simulated privacy"
        errors, intervals = plain_list(self.std_err), plain_list(self.conf_int(alpha))
        return plain_values(self, names, std_err=errors, level=1 - significance(alpha), intervals=intervals)

    def picture(self, alpha: float = 0.05) -> Picture:
        """Return the frequencies with their intervals, as `plot` draws them.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        refuse_many_tables(self.estimate)
        limits = self.conf_int(alpha)
        said = f"pointwise {100 * (1 - float(alpha)):g} % intervals ({self.kind_of_intervals})"
        return picture_of_values(self.estimate, limits, self.names, (self.simulated, self.n), said)


def invert(tally: Tally, privacy: PrivacyStatement | None = None) -> Estimate:
    """Estimate the frequencies behind a tally by inverting its expectation, which is unbiased.

    For reports that are independent of each other the plug-in covariance has expectation (n-1)/n times the true one,
    because it is quadratic in the estimate only through the product of two means; hence the division by n - 1.

    Parameters
    ----------
    tally : Tally
        Counts of reports; leading axes hold many tables.
    privacy : PrivacyStatement, optional
        What the respondents were promised.
    """
    refuse_empty(tally.n)
    estimate = tally.noise.debias(tally.proportions)
    covariance = TallySpread(tally.noise, estimate, tally.n)
    return Estimate(estimate, covariance, tally.n, privacy, tally.simulated, tally.noise.varies_between())


def wilson_limits(share: FloatArray, n: int | IntArray, z: float) -> FloatArray:
    """Return Wilson's intervals of shares of n reports, with limits in a last axis of 2."""
    weight = 1 / (1 + z**2 / n)
    centre = weight * (share + z**2 / (2 * n))
    margin = weight * z * np.sqrt(np.maximum(share * (1 - share), 0) / n + (z / (2 * n)) ** 2)
    limits: FloatArray = np.stack([centre - margin, centre + margin], axis=-1)
    return limits


def summed(values: FloatArray, covariance: FloatArray, of_cell: IntArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Add up cells and their covariances by place, without products, which infinite variances would not survive."""
    sums, half, products = np.zeros(size), np.zeros((size, of_cell.size)), np.zeros((size, size))
    np.add.at(sums, of_cell, values)
    np.add.at(half, of_cell, covariance)
    np.add.at(products, of_cell, half.T)
    return sums, products


def among_proportions(estimate: FloatArray, limits: FloatArray) -> FloatArray:
    """Return intervals of estimates that may be improper, by the likelihood ratio among proper proportions.

    An estimate x below zero is best explained by a proportion of zero. Compared with that, not with x itself, the
    normal likelihood ratio leaves proportions up to x + √(x² + h²), where x + h was the upper limit; above one
    likewise. This changes nothing else, and holds the truth as often where cells are estimated as zero. Limits have a
    last axis of 2.
    """
    low, high = limits[..., 0], limits[..., 1]
    below, above = np.minimum(estimate, 0), np.maximum(estimate - 1, 0)
    raised = np.where(below < 0, estimate + np.hypot(below, high - estimate), high)
    lowered = np.where(above > 0, estimate - np.hypot(above, estimate - low), low)
    return np.stack([lowered, raised], axis=-1)


def refuse_empty(n: int, whose: str = "this tally") -> None:
    """Refuse to estimate from no reports.

    Parameters
    ----------
    n : int
    whose : str
        What they are behind, for the message.
    """
    if n == 0:
        raise NotIdentifiedError(
            f"no reports behind {whose}", "at least one report", "Collect more respondents, or ask about fewer groups."
        )


def over_degrees_of_freedom(covariance: FloatArray, n: int) -> FloatArray:
    """Divide variances or covariances of one report by n - 1; a single one leaves them infinite."""
    return covariance / (n - 1) if n > 1 else np.full_like(covariance, np.inf)
