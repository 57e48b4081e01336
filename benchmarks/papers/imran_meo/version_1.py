"""Version 1 of the protocol: Equation 4 after every client, as printed, and with the fakes that each client was sent.

As printed (Algorithm 1), the fakes of the last T, times n, are taken off the counts of all n clients, though the others
were sent other tables. `RRBA(update="client")` takes off the fakes of the T that each of them was sent. In both cases
negative cells are cut and the rest is scaled, for fakes must be drawn from T; the paper does not say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ldpstats.numbers.arrays import FloatArray
from ldpstats.pictures.colours import SERIES
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import SAME
from papers.imran_meo.findings import Finding, judged_by_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME = "imran-meo-2024-algorithm-1"
PRINTED, OWN = "as printed", "own fakes"
CHANCES = (0.221, 0.3, 0.4, 0.5, 0.7)
TRUE = np.array([0.4, 0.3, 0.2, 0.1])
ANSWERS, ENUMERATED = 6_000, 5
SHRUNK = 0.6
"""Ten times the answers leave .32 of an error that falls as it should; this is taken for convergence."""


def reconstructed(rule: str, p: float, counts: FloatArray, sent: FloatArray, last: FloatArray) -> FloatArray:
    """Return Equation 4 from the counts so far, the sum of all T that were sent, and the last one."""
    answers = counts.sum(axis=-1, keepdims=True)
    return (counts - (1 - p) * (answers * last if rule == PRINTED else sent)) / (p * answers)


def proper(table: FloatArray) -> FloatArray:
    """Return the T that follows: negative cells cut, the rest scaled."""
    cut = np.maximum(table, 0)
    following: FloatArray = cut / cut.sum(axis=-1, keepdims=True)
    return following


def expected(rule: str, p: float, answers: int) -> FloatArray:
    """Return the expectation of Equation 4 after so many clients, by going through all that they can report."""
    cells = TRUE.size

    def after(counts: FloatArray, sent: FloatArray, last: FloatArray) -> FloatArray:
        """Return it with these reports behind: `last` was sent to the last client, `sent` is the sum of all."""
        table = reconstructed(rule, p, counts, sent, last) if counts.any() else last
        if counts.sum() == answers:
            return table
        fakes = proper(table)
        chances = p * TRUE + (1 - p) * fakes
        return chances @ np.array([after(counts + row, sent + fakes, fakes) for row in np.eye(cells)])

    return after(np.zeros(cells), np.zeros(cells), np.full(cells, 1 / cells))


def errors(rule: str, p: float, answers: int, runs: int, rng: np.random.Generator) -> FloatArray:
    """Return the mean ℓ1 error of T after every answer, of so many simulated collections."""
    counts, sent = np.zeros((2, runs, TRUE.size))
    fakes, found = np.full((runs, TRUE.size), 1 / TRUE.size), np.empty(answers)
    for number in range(answers):
        laws = np.cumsum(np.where(rng.random((runs, 1)) < p, TRUE, fakes), axis=1)[:, :-1]
        counts[np.arange(runs), (rng.random((runs, 1)) >= laws).sum(axis=1)] += 1
        sent += fakes
        fakes = proper(reconstructed(rule, p, counts, sent, fakes))
        found[number] = np.abs(fakes - TRUE).sum(axis=1).mean()
    return found


def _measure(effort: Effort) -> Measured:
    rng = np.random.default_rng(41)
    runs, answers = effort.runs(1_000, 20), effort.runs(ANSWERS, 600)
    curves = pd.concat([_curve(rule, p, answers, runs, rng) for rule in (PRINTED, OWN) for p in CHANCES])
    off = {
        rule: [float(np.abs(expected(rule, p, ENUMERATED) - TRUE).max()) for p in CHANCES] for rule in (PRINTED, OWN)
    }
    found = {"Equation 4": _unbiased(off), "low p": _converging(curves, answers)}
    return Measured(judged_by_row(NAME, found), curves)


def _curve(rule: str, p: float, answers: int, runs: int, rng: np.random.Generator) -> pd.DataFrame:
    shown = np.unique(np.geomspace(1, answers, 60).astype(int))
    mean = errors(rule, p, answers, runs, rng)[shown - 1]
    return pd.DataFrame({"rule": rule, "p": p, "answers": shown, "error": mean})


def _unbiased(off: dict[str, list[float]]) -> Finding:
    return Finding(
        f"after {ENUMERATED} clients its expectation is off by up to {max(off[PRINTED]):.2g} in a cell; with own fakes "
        f"by {max(off[OWN]):.0e} (over all {TRUE.size**ENUMERATED} series of reports, for {len(CHANCES)} p)",
        max(off[PRINTED]) < SAME,
        "The other clients drew their fakes from other tables; what was sent to each is to be taken off, as here.",
    )


def _converging(curves: pd.DataFrame, answers: int) -> Finding:
    last = curves[curves["answers"] == answers].set_index(["rule", "p"])["error"]
    tenth = curves[curves["answers"] >= answers / 10].groupby(["rule", "p"])["error"].first()
    shrinks = (last / tenth)[PRINTED] < SHRUNK
    words = "; ".join(f"{rule} " + ", ".join(f"{error:.2f}" for error in last[rule]) for rule in (PRINTED, OWN))
    return Finding(
        f"ℓ1 errors of T after {answers:,} answers at p = {', '.join(f'{p:g}' for p in CHANCES)}: {words}",
        bool(shrinks.all()),
        "For p < .5 there is none: with every answer the error of T is multiplied by about -(1 - p) / p. With the "
        "fakes that each client was sent it is slower, as stated.",
    )


def _draw(_: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 4), layout="constrained")
    for axes, rule in zip(figure.subplots(1, 2, sharey=True), (PRINTED, OWN), strict=True):
        for number, (p, own) in enumerate(curves[curves["rule"] == rule].groupby("p")):
            axes.plot(own["answers"], own["error"], color=SERIES[number], label=f"p = {p:g}")
        axes.set(xscale="log", yscale="log", xlabel="answers", title=f"Fakes taken off: {rule}")
    figure.axes[0].set_ylabel("mean ℓ1 error of T")
    figure.axes[0].legend(frameon=False)
    return figure


EXHIBITS = (
    Exhibit(
        NAME,
        "Algorithm 1: Equation 4 after every client",
        'Version 1 as printed beside what runs here as `RRBA(update="client")`, for four cells of 40, 30, 20 and 10 %. '
        "Equation 4 is right for a block, whose clients are all sent the same T (see its own exhibit). After every "
        "client, with the counts of all and the T of the last, it takes off fakes that most of them were not sent: "
        "for p below .5 T soon swings with every answer from one side of the truth to the other, as far as cutting its "
        "negative cells lets it. With the fakes that each client was sent it expects the true table.",
        _measure,
        _draw,
    ),
)
