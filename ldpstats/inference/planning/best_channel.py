"""The best channel for an aim: the randomizer whose reports give a number, or a test, with fewest respondents."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api.types import is_hashable

from ldpstats.answers.columns import listed
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.inference.engine.detectability import product_of, report_information
from ldpstats.inference.planning.channel_programmes import SEEN, least_variance, most_information, too_few_digits
from ldpstats.inference.planning.design import margins_of
from ldpstats.limits import LARGEST_JOINT
from ldpstats.mechanisms import Channel
from ldpstats.numbers.arrays import FloatArray, IntArray, at_least, positive_epsilon, real_array
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.presentation import Result, Summary, summary_of_facts
from ldpstats.privacy import rounded_up

Aim: TypeAlias = Literal["mean", "proportion", "contrast", "fit", "independence"]
_AIMS: dict[str, str] = {
    "mean": "the mean of scores",
    "proportion": "the share of a set of values",
    "contrast": "a weighted sum of shares",
    "fit": "a test of given frequencies",
    "independence": "a test of independence",
}
_TESTS = {"fit": 1, "independence": 2}
"""Of how many attributes."""
_LEVELS = (0.01, 10.0)
_MOST_TARGETS, _MOST_CELLS = 33, 36
_LARGEST, _RAREST = 1e100, 5e-4
_WITHIN = np.arange(8) / 8
"""Where numbers between two points are looked at, beside the points."""
_MARGIN = 1e-12
_UNBIASED, _MIXED, _NEAR = 1e-9, 1e-6, 1e-9


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class BestChannel(Result):
    """A channel for an aim, and how far from the best one it may be.

    Parameters
    ----------
    aim : {"mean", "proportion", "contrast", "fit", "independence"}
        What is wanted of the reports.
    channel : Channel
        The randomizer.
    scores : array
        What a report of each output counts for: their average over reports is the estimate, without bias. Empty for
        tests.
    attained : float
        n times the variance of the estimate that randomization (and rounding) causes, the largest or at the prior; for
        tests the noncentrality that a report adds for departures with a Cohen's w of 1, on average over directions.
    bound : float
        What no channel at this level goes below, or for tests beyond.
    measured : str
        What `attained` and `bound` are, in words.
    rounds : bool
        Whether the values are points that numbers are rounded to.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> best = ldp.best_channel([1, 2, 3, 4, 5], epsilon=1.0)
    >>> best
    <BestChannel: the mean of scores at strict epsilon = 1: variance 15.92 / n>
    >>> reports = best.channel.privatize([0] * 500 + [4] * 500, rng=1)
    >>> round(float(best.scores[reports.data].mean()), 1)
    3.2
    """

    _in_dict = "aim epsilon=channel.epsilon attained bound gap measured outputs=to_frame"

    aim: Aim
    channel: Channel
    scores: FloatArray
    attained: float
    bound: float
    measured: str
    rounds: bool = False

    @property
    def gap(self) -> float:
        """How many more respondents it may need than the best channel of all, as a share of those.

        Infinite where the bound is none: one that is not above 0.
        """
        more, fewer = (self.bound, self.attained) if self._is_test else (self.attained, self.bound)
        return max(more / fewer - 1, 0.0) if fewer > 0 else math.inf

    @property
    def _names(self) -> list[Any]:
        return list(self.channel.values or range(self.channel.k))  # noqa: PD011  # of a channel, not of a frame

    def rounded(self, numbers: ArrayLike, rng: Rng = None) -> IntArray:
        """Round numbers at random to one of the two points beside them, on average to themselves; return values' codes.

        Parameters
        ----------
        numbers : array of float
            Numbers of the range.
        rng : int or Generator, optional
            For a reproducible simulation.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> best = ldp.best_channel((0, 100), epsilon=2.0, points=5)
        >>> best.channel.values
        (0.0, 25.0, 50.0, 75.0, 100.0)
        >>> best.rounded([0, 30, 30, 30, 100], rng=1)
        array([0, 1, 2, 1, 4])
        """
        points = np.array(self._names if self.rounds else (), dtype=float)
        given = real_array(numbers, "numbers")
        # written so that a NaN fails
        if not (self.rounds and np.all((given >= points[0]) & (given <= points[-1]))):
            allowed = f"numbers from {points[0]:g} to {points[-1]:g}" if self.rounds else "a channel made with points="
            raise LdpstatsError(f"the numbers {shortened(numbers)} to be rounded", allowed)
        below = np.clip(np.searchsorted(points, given, side="right") - 1, 0, points.size - 2)
        share = (given - points[below]) / (points[below + 1] - points[below])
        codes: IntArray = below + (generator(rng).random(given.shape) < share)
        return codes

    @property
    def headline(self) -> str:
        """The aim, the level and what is attained, in one line."""
        figure = f"noncentrality {self.attained:.4g} n w²" if self._is_test else f"variance {self.attained:.4g} / n"
        return f"{_AIMS[self.aim]} at strict epsilon = {rounded_up(self.channel.epsilon)}: {figure}"

    @property
    def _is_test(self) -> bool:
        return self.aim in _TESTS

    def summary(self) -> Summary:
        """Return what is attained beside what no channel surpasses, and what a report is."""
        facts = {
            "Strict epsilon of a report": rounded_up(self.channel.epsilon),
            "Values, outputs": f"{self.channel.k}, {len(self.channel.rows[0])}",
            "Attained": f"{self.attained:.4g}",
            f"No channel is {'above' if self._is_test else 'below'}": f"{self.bound:.4g}",
        }
        known = self.gap < math.inf
        sentences = [
            f"Measured is {self.measured}.",
            f"It needs at most {100 * self.gap:.2g} % more respondents than the best channel of all."
            if known
            else "How many fewer respondents the best channel of all needs is not known.",
        ]
        if not self._is_test:
            sentences.append("The average of the outputs' scores over all reports is the estimate, without bias.")
        return summary_of_facts(f"The best channel for {_AIMS[self.aim]}", facts, sentences)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per output: its score, if it has one, and its probability under every value."""
        scores = pd.DataFrame({} if self._is_test else {"score": self.scores})
        shares = pd.DataFrame(self.channel.noise.matrix().T, columns=list(map(str, self._names)))
        return pd.concat([scores, shares], axis=1).rename_axis(index="output")


def best_channel(
    values: Sequence[Any] | int,
    epsilon: float,
    aim: Aim = "mean",
    *,
    of: Any = None,
    prior: Any = None,
    points: int | None = None,
) -> BestChannel:
    """Return the channel with which fewest respondents are needed for an aim, and a bound that no channel surpasses.

    Among all channels at a level it is found by a linear or convex programme, whose dual is the bound. Its rows are
    rounded toward privacy; level, scores and figures are those of the rounded rows. `recommend` compares mechanisms
    for the share of every value alike: who wants a single number, or a test, of the answers does better here.

    Parameters
    ----------
    values : sequence or int
        The values, or how many there are, which are then numbered from 0; for "independence" two sequences, the
        categories of the rows and of the columns of a table.
    epsilon : float
        The strict level, from 0.01 to 10.
    aim : {"mean", "proportion", "contrast", "fit", "independence"}
        The mean of scores, the share of a set of values, a weighted sum of shares: for these the variance is made
        least, the largest that any values of the respondents cause. Or a test that frequencies are the `prior`, or that
        a table is the product of its margins: for these the noncentrality is made most, on average over directions of
        departures, none of which is seen less than .05 times as well; for independence not less than .25, and margins
        neither, without which it is not tested. Such a channel is best where the margins are about those given:
        elsewhere SS may find more.
    of : sequence, optional
        For "mean" a score per value (by default the values), for "proportion" the values in question, for "contrast" a
        weight per value.
    prior : array, optional
        Expected frequencies. For a number, its variance is made least there; for "fit" they are what is tested; for
        "independence" they are two margins. For tests they are uniform by default.
    points : int, optional
        For a mean of numbers of a range, of which `values` are the ends: each number is rounded at random to one of so
        many points (`BestChannel.rounded`). The bound is for whatever is done with numbers of this range.

    Returns
    -------
    BestChannel

    Examples
    --------
    >>> import ldpstats as ldp
    >>> ldp.best_channel(["never", "once", "often"], epsilon=1.0, aim="proportion", of=["often"])
    <BestChannel: the share of a set of values at strict epsilon = 1: variance 0.9207 / n>
    >>> best = ldp.best_channel((-1, 1), epsilon=1.0, points=9)
    >>> round(best.attained, 2), round(best.gap, 2)
    (4.0, 0.0)
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> best = ldp.best_channel([["F", "M"], ["yes", "no"]], epsilon=1.0, aim="independence")
    >>> round(best.attained, 3)
    0.159
    >>> protocol = ldp.SampledGroups(domain, epsilon=1.0, mechanism=[best.channel])
    """
    if isinstance(values, (int, np.integer)):
        values = range(at_least(values, 2, "values", LARGEST_JOINT))
    level = positive_epsilon(epsilon)
    if not _LEVELS[0] <= level <= _LEVELS[1]:
        raise LdpstatsError(f"epsilon = {epsilon!r} for a best channel", f"levels from {_LEVELS[0]} to {_LEVELS[1]:g}")
    if not isinstance(aim, str) or aim not in _AIMS:
        raise LdpstatsError(f"aim = {shortened(aim)}", one_line(list(_AIMS)))
    if (points is not None and (aim, of, prior) != ("mean", None, None)) or (of is not None and aim in _TESTS):
        raise LdpstatsError(
            f"aim = {aim!r} with points = {shortened(points)} and of = {shortened(of)}",
            "points with the aim 'mean' alone, without `of` and `prior`; `of` with numbers alone",
        )
    sides = [_different(side) for side in (listed(values) if aim == "independence" else [values])]
    if aim in _TESTS:
        return _for_test(aim, sides, level, [prior] if aim == "fit" and prior is not None else prior)
    if points is None:
        return _for_number(aim, sides[0], level, _scores(aim, sides[0], of), prior)
    low, high = real_array(values, "the ends of a range").tolist() if len(sides[0]) == 2 else (0.0, 0.0)
    # written so that a NaN fails
    if not (_NEAR * max(abs(low), abs(high)) < high - low <= _LARGEST):
        raise LdpstatsError(f"the range {shortened(values)}", "its two ends, the lower one first")
    grid = np.linspace(low, high, at_least(points, 2, "points", _MOST_TARGETS))
    return _for_number(aim, tuple(grid.tolist()), level, grid, None, rounds=True)


def _different(values: Any) -> tuple[Any, ...]:
    names = listed(values)
    if not all(map(is_hashable, names)) or len({*names}) < max(len(names), 2):
        raise LdpstatsError(f"the values {shortened(values)}", "two or more, all different; two such lists for a table")
    return names


def _scores(aim: Aim, names: tuple[Any, ...], of: Any) -> FloatArray:
    """Return what a respondent with each value counts for."""
    if aim == "proportion":
        wanted = tuple(of) if isinstance(of, (set, frozenset)) else listed(of)
        if not all(name in names for name in wanted):
            raise LdpstatsError(f"of = {shortened(of)}", f"some of the values {shortened(names)}")
        return np.array([float(name in wanted) for name in names])
    if of is None and aim == "contrast":
        raise LdpstatsError("a contrast without weights", "of=, a weight per value")
    scores = real_array(names if of is None else of, "scores")
    if scores.shape != (len(names),):
        raise LdpstatsError(f"scores of shape {scores.shape} for {len(names)} values", "a number per value")
    return scores


def _for_number(
    aim: Aim, names: tuple[Any, ...], epsilon: float, scores: FloatArray, prior: Any, rounds: bool = False
) -> BestChannel:
    """Return the channel whose scores vary least; values with equal scores answer alike."""
    targets, alike = np.unique(scores, return_inverse=True)
    middle, half = float(targets[0] / 2 + targets[-1] / 2), float(targets[-1] / 2 - targets[0] / 2)
    # written so that a NaN fails
    if not (2 <= targets.size <= _MOST_TARGETS and 1 / _LARGEST <= half <= _LARGEST):
        raise LdpstatsError(
            f"{targets.size} different scores with half a range of {half:g}",
            f"from 2 to {_MOST_TARGETS} of them, and a range that doubles can square",
            "Give the two ends of a range, and points=17.",
        )
    centred, every = (targets - middle) / half, np.eye(targets.size)
    shares = None if prior is None else margins_of((len(names),), [prior])[0]
    mixes: FloatArray = every if shares is None else np.bincount(alike, weights=shares)[None].astype(float)
    if rounds:
        mixes = np.vstack([(1 - share) * every[:-1] + share * every[1:] for share in _WITHIN] + [every[-1:]])
    squares = (mixes @ centred) ** 2 if rounds else mixes @ centred**2
    rows, counts, bound = least_variance(centred, epsilon, mixes, squares)
    if rounds:
        bound = least_variance(centred, epsilon, every, centred**2)[-1]
    # the least and the largest score alone, told apart by one bit, cause as much
    bound = max(bound, 0.0 if shares is not None else 1 / math.sinh(epsilon / 2) ** 2)
    channel = _channel(rows[alike], names, epsilon)
    matrix, centred = channel.noise.matrix(), centred[alike]
    counts += np.linalg.lstsq(matrix, centred - matrix @ counts)[0]
    if not np.allclose(matrix @ counts, centred, rtol=0, atol=_UNBIASED):
        raise too_few_digits(epsilon)
    attained, measured = _variance(matrix @ counts**2 - centred**2, shares, 2 / (len(names) - 1) if rounds else None)
    return BestChannel(aim, channel, middle + half * counts, half**2 * attained, half**2 * bound, measured, rounds)


def _variance(given: FloatArray, shares: FloatArray | None, step: float | None) -> tuple[float, str]:
    """Return which variance is meant out of those under every value, and words for it."""
    if shares is not None:
        return float(shares @ given), "n times the variance that randomization causes at the frequencies given"
    if step is None:
        return float(given.max()), "n times the variance that randomization causes, under the value where it is largest"
    # between two points it is (1 - s) V + s V' + s (1 - s) step²
    rise = given[1:] - given[:-1]
    share = np.clip((1 + rise / step**2) / 2, 0, 1)
    between = given[:-1] + share * rise + share * (1 - share) * step**2
    words = "n times the variance that randomization and rounding cause, for the number where it is largest"
    return float(between.max()), words


def _for_test(aim: Aim, sides: Sequence[tuple[Any, ...]], epsilon: float, prior: Any) -> BestChannel:
    """Return the channel that shows departures from frequencies, or from the product of two margins, best."""
    if len(sides) != _TESTS[aim] or math.prod(map(len, sides)) > _MOST_CELLS:
        raise LdpstatsError(
            f"{' x '.join(str(len(side)) for side in sides)} cells for the aim {aim!r}",
            f"values, or the two sides of a table, of up to {_MOST_CELLS} cells",
            "SS is the best channel for a test of fit with equally frequent values, however many they are.",
        )
    margins = margins_of(tuple(map(len, sides)), prior)
    if product_of(margins).min() < _RAREST:
        raise LdpstatsError(f"a cell with the frequency {product_of(margins).min():.2g}", f"at least {_RAREST}")
    rows, bound = most_information(margins, epsilon)
    channel = _channel(rows, sides[0] if aim == "fit" else tuple(product(*sides)), epsilon)
    information = report_information(channel.noise, margins)
    measured = (
        "the noncentrality that a report adds for departures of Cohen's w = 1, on average over directions, by channels "
        f"that see none of them less than {SEEN[len(margins)]} times as well"
    )
    return BestChannel(aim, channel, np.zeros(0), float(np.trace(information)) / len(information), bound, measured)


def _channel(rows: FloatArray, names: tuple[Any, ...], epsilon: float) -> Channel:
    """Return rows as a channel at this level: what solvers leave above it goes by mixing with one law for all."""
    rows = rows / rows.sum(axis=1, keepdims=True)
    limit = math.exp(epsilon) * (1 - _MARGIN)
    common, excess = rows.mean(axis=0), np.maximum(rows.max(axis=0) - limit * rows.min(axis=0), 0)
    mixed = float((excess / (excess + (limit - 1) * common)).max())
    channel = Channel(((1 - mixed) * rows + mixed * common).tolist(), values=names)
    if mixed > _MIXED or channel.epsilon > epsilon:
        raise too_few_digits(epsilon)
    return channel
