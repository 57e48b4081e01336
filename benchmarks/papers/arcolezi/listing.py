"""Listing 1.1: its printed frequencies, and its update beside the package's and beside inversion."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ldpstats.estimation.likelihood import iterative_bayesian_update
from ldpstats.mechanisms import GRR
from ldpstats.numbers.arrays import FloatArray
from ldpstats.pictures.colours import SERIES
from papers.arcolezi.gains import TOLERANCE, UPDATES
from papers.arcolezi.summaries import Place
from papers.comparisons import KEYS, Comparison, compared, printed_figures
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import SAME, claimed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "arcolezi-2023-listing-1-1"
K, RESPONDENTS = 5, 10**6
RESPONSE = GRR(K, 1.0)
UNIFORM = np.full(K, 1 / K)
LISTED = "uniform, as in the listing"
POPULATIONS = {LISTED: UNIFORM, "half have one value": np.array([8, 4, 2, 1, 1]) / 16}


def reported(frequencies: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the shares of the reports of as many respondents as the listing has, drawn from these frequencies."""
    shares: FloatArray = RESPONSE.noise.simulate(rng.multinomial(RESPONDENTS, frequencies), rng) / RESPONDENTS
    return shares


def by_equation_3(shares: FloatArray) -> FloatArray:
    """Return the uniform start and what each update makes of it, a row each, until the listing stops."""
    odds = math.exp(RESPONSE.epsilon)
    channel = np.where(np.eye(K), odds, 1) / (odds + K - 1)
    passed = [UNIFORM]
    for _ in range(UPDATES):
        joint = passed[-1][:, None] * channel
        passed.append((joint / joint.sum(axis=0)) @ shares)
        if np.abs(passed[-1] - passed[-2]).max() < TOLERANCE:
            break
    return np.array(passed)


def inverted(shares: FloatArray) -> FloatArray:
    """Return Equation 2, clipped at zero and renormalized."""
    clipped = np.maximum(RESPONSE.noise.debias(shares), 0)
    return clipped / clipped.sum()


def standard_error() -> float:
    """Return that of a printed frequency: of inversion, for of so many reports no frequency is estimated below zero."""
    return math.sqrt(RESPONSE.noise.variance(UNIFORM)[0] / RESPONDENTS)


def _measure(_: Effort) -> Measured:
    rng = np.random.default_rng(11)
    shares = {name: reported(frequencies, rng) for name, frequencies in POPULATIONS.items()}
    passed = {name: by_equation_3(own) for name, own in shares.items()}
    distances = {name: np.abs(rows - inverted(shares[name])).max(axis=1) for name, rows in passed.items()}
    curves = [(name, update, far) for name, own in distances.items() for update, far in enumerate(own)]
    *frequencies, result, stopping, defaults = printed_figures(NAME)[KEYS].itertuples(index=False, name=None)
    # the values stand alike, so that each has a fifth on average
    judged = [compared(place, 1 / K, printed_std_err=standard_error()) for place in frequencies]
    judged.append(_result(result, shares[LISTED], passed[LISTED]))
    judged += [_stopping(stopping, distances[LISTED]), _defaults(defaults)]
    return Measured(judged, pd.DataFrame(curves, columns=["population", "update", "distance"]))


def _result(place: Place, shares: FloatArray, passed: FloatArray) -> Comparison:
    ours = iterative_bayesian_update(shares, RESPONSE.noise)
    apart = float(np.abs(ours.frequencies - passed[-1]).max())
    of_updates, of_inversion = (float(np.square(found - UNIFORM).mean()) for found in (passed[-1], inverted(shares)))
    return claimed(
        place,
        f"Eq. 3 and the package's update end {apart:.0e} apart, after {len(passed) - 1} and {ours.iterations} updates; "
        f"the gain over inversion (Eq. 1) is {100 * max(1 - of_updates / of_inversion, 0):.0e} %",
        holds=apart < TOLERANCE,
        unless="The package updates otherwise.",
        note="The updates start at the truth and end where inversion does: the listing shows no gain.",
    )


def _stopping(place: Place, distances: FloatArray) -> Comparison:
    return claimed(
        place,
        f"tol ends it after {len(distances) - 1} of {UPDATES:,} updates, {distances[-1]:.0e} from where they lead",
        holds=len(distances) <= UPDATES and bool(distances[-1] < SAME),
        unless="They end it far from where it leads.",
    )


def _defaults(place: Place) -> Comparison:
    parameters = inspect.signature(iterative_bayesian_update).parameters
    own = {name: parameters[name].default for name in ("iterations", "tolerance")}
    return claimed(
        place,
        f"the package's: {', '.join(f'{name} = {value:g}' for name, value in own.items())}, of the largest change",
        holds=list(own.values()) == [UPDATES, TOLERANCE],
        unless="The package has others.",
        note="Theirs were read in the public code of multi-freq-ldpy, and are these.",
    )


def _draw(_: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots()
    for number, (population, own) in enumerate(curves.groupby("population", sort=False)):
        axes.plot(own["update"], own["distance"], color=SERIES[number], label=population)
    axes.axhline(TOLERANCE, color="grey", linestyle=":", label="tol, of a single update")
    axes.set(yscale="log", xlabel="updates", ylabel="largest distance to inversion")
    axes.set_title("A million reports of GRR, k = 5, ε = 1: the updates go where inversion is", fontsize=11)
    axes.legend(frameon=False)
    return figure


EXHIBITS = (
    Exhibit(
        NAME,
        "Listing 1.1: IBU of a million reports",
        "The five printed frequencies are as near to a fifth as randomization leaves them. The listing takes uniform "
        "data and a uniform start, so that it would print fifths without a single update. With a million reports of "
        "five values no estimate of Equation 2 is negative, and then the most likely frequencies, to which the updates "
        "of Equation 3 lead, are those of inversion: what is printed could be printed by either. Equation 3 is run at "
        "its word, on simulated reports, beside `iterative_bayesian_update`.",
        _measure,
        _draw,
    ),
)
