"""Power and sample size of tests on privatized answers, by the noncentral χ² law."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.inference.planning.departure_sizes import DepartureSize
from ldpstats.inference.planning.design import (
    USUAL_POWER,
    Direction,
    PlannedTest,
    Randomizer,
    Shape,
    levels_of,
    noise_of,
    respondents_of,
    shape_for,
    target_power,
)
from ldpstats.numbers.arrays import FloatArray, IntArray, significance, unweighted


@unweighted
def power(
    mechanism: Randomizer,
    shape: int | Sequence[int] | None = None,
    *,
    epsilon: ArrayLike | None = None,
    n: ArrayLike,
    effect: ArrayLike | None = None,
    mutual_information: ArrayLike | None = None,
    alpha: float = 0.05,
    margins: Sequence[ArrayLike] | None = None,
    direction: Direction = "average",
    conditional: bool = False,
) -> float | FloatArray:
    """Return the power of a test on n privatized answers.

    With two or more attributes the test is that of (mutual) independence, with a single one it is goodness of fit.
    The power is that of the noncentral χ² law with what a report tells about the dependence, at the hypothesis and
    with the margins unknown. That is an approximation for weak effects and many reports: for tables with a V of .1 or
    .2, 2-by-2 to 4-by-4, through GRR, SS and OUE, it was within .04 of the simulated power. Where margins are uneven,
    directions of dependence differ, and the average includes those in which no proper table has so large an effect.

    Parameters
    ----------
    mechanism : str, Mechanism or NoiseModel
        A name (or "auto", which takes the one with the least variance) goes with `epsilon`; the others have a level.
        A mechanism, named or given, stands for the tally that protocols keep of it: whole reports where they fit.
    shape : int or sequence of int, optional
        The categories of each attribute; by default a single attribute with all the mechanism's values.
    epsilon : float or array, optional
        The privacy level, for a mechanism that is named.
    n : int or array
        The number of reports.
    effect : float or array, optional
        Cramér's V for two attributes; Cohen's w, the root of Σ (f - f₀)² / f₀, for one, and for three or more; 0.1 by
        default. An array of the table's shape is not many effects, but all frequencies of the table that is expected;
        its power is against independence with its own margins, or for a single attribute against `margins`.
    mutual_information : float or array, optional
        Instead of an effect: what two attributes tell about each other, in nats. It is taken for w² / 2, as it is to
        second order. In the pairs of five reference networks that share up to 0.01 nats, w² / 2 was between .85 and
        1.17 times that for nine in ten (at least .67, at most 1.9 times, with rare categories); of those that
        share more it was 1.12 times in the median, and up to 3.4 times: fewer respondents than planned find those.
    alpha : float
        The level of the test.
    margins : sequence of arrays, optional
        The frequencies of each attribute; uniform by default.
    direction : {"average", "least"}
        Average over 256 fixed directions of dependence, uniform among all, or take the one that is seen least.
    conditional : bool
        Whether the first two attributes are tested given the others, as by `conditional_independence_test`. Effects
        are Cohen's w or conditional mutual information then. But for the dependence in question the attributes are
        taken for independent, unless the whole table is given. For edges of four reference networks given a third
        attribute (GRR, ε = 2) that asked for 1.6 times as many respondents as the whole table does in the median, and
        for .75 to 5.5 times as many in nine cases of ten.

    Returns
    -------
    float, or an array of the shape to which n, epsilon and effect broadcast

    Examples
    --------
    >>> from ldpstats import GRR, power
    >>> round(power(GRR(4, epsilon=1.0), (2, 2), n=9_000, effect=0.1), 2)
    0.81
    >>> power("ss", (4, 4), epsilon=[0.5, 1.0, 2.0], n=20_000).round(2)
    array([0.15, 0.61, 1.  ])
    """
    sides, threshold = shape_for(mechanism, shape), significance(alpha)
    hypothesis, wanted = hypothesis_of(sides, effect, mutual_information, margins, direction, conditional)
    reports, sizes, levels = _broadcast(respondents_of(n), wanted, levels_of(mechanism, epsilon))
    found = np.empty(reports.shape)
    for level in np.unique(levels):
        here = levels == level
        seen = hypothesis.seen_through(noise_of(mechanism, math.prod(sides), float(level)))
        found[here] = seen.power(reports[here], sizes[here], threshold)
    return found if found.ndim else float(found)


@unweighted
def sample_size(
    mechanism: Randomizer,
    shape: int | Sequence[int] | None = None,
    *,
    epsilon: float | None = None,
    effect: ArrayLike | None = None,
    mutual_information: float | None = None,
    power: float = USUAL_POWER,
    alpha: float = 0.05,
    margins: Sequence[ArrayLike] | None = None,
    direction: Direction = "average",
    conditional: bool = False,
) -> int:
    """Return the least number of reports with which a test has this power.

    This is the sample size of a power analysis, for a chi-squared test on privatized answers.

    Parameters
    ----------
    mechanism, shape, epsilon, effect, mutual_information, alpha, margins, direction, conditional
        As in `power`, but for a single effect and level.
    power : float
        The power wanted.

    Returns
    -------
    int

    Examples
    --------
    >>> from ldpstats import sample_size
    >>> sample_size("grr", (2, 2), epsilon=1.0)
    8693
    """
    sides, target = shape_for(mechanism, shape), target_power(power, significance(alpha))
    hypothesis, size = hypothesis_of(sides, effect, mutual_information, margins, direction, conditional)
    level = levels_of(mechanism, epsilon)
    if size.ndim or level.ndim:
        raise LdpstatsError("several effects or levels", "one of each", "`power` takes many at once.")
    seen = hypothesis.seen_through(noise_of(mechanism, math.prod(sides), float(level)))
    return seen.respondents(target, float(size), alpha)


def hypothesis_of(
    shape: Shape,
    effect: ArrayLike | None,
    mutual_information: ArrayLike | None,
    margins: Sequence[ArrayLike] | None,
    direction: Direction,
    conditional: bool,
) -> tuple[PlannedTest, FloatArray]:
    """Return the test, and the sizes to find as multiples of its departure (Cohen's w, or 1 for a whole table)."""
    planned = PlannedTest.of(shape, effect, margins, direction, conditional)
    if planned.expected is not None:
        if mutual_information is not None:
            raise LdpstatsError("mutual information beside a whole table", "one of them", "The table has its own.")
        return planned, np.ones(())
    return planned, DepartureSize.of(effect, mutual_information).cohens_w(planned.shape, planned.tested)


def _broadcast(n: IntArray, sizes: FloatArray, levels: FloatArray) -> list[NDArray[Any]]:
    try:
        return list(np.broadcast_arrays(n, sizes, levels))
    except ValueError as error:
        raise LdpstatsError(
            f"n, effect and epsilon of shapes {n.shape}, {sizes.shape} and {levels.shape}",
            "shapes that broadcast",
            "A column of one and a row of another give a grid.",
        ) from error
