"""Wang et al. 2020, Table 4: communication, error bounds and variances of frequency oracles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.mechanisms import (
    OLH,
    RAPPOR,
    RR,
    SS,
    OpenRAPPOR,
    OpenRR,
)
from ldpstats.mechanisms.hadamard_response import HRR
from ldpstats.pictures.colours import BLUE, VERMILLION
from papers.comparisons import AGREES, DIFFERS, NOT_REPRODUCIBLE, Comparison, printed_figures
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import LEVELS, SAME, Place, claimed, deviation, matched
from papers.survey.growth import of_order
from papers.survey.oracle_rows import ROWS, SYMBOLS, Make, Row
from papers.survey.supports import rare_variance

_NAME, _SIZES, _K = "wang-2020-table-4", (16, 256, 1024), 16


def _variance(place: Place, row: Row) -> Comparison:
    """Compare with a value that nobody has; a printed variance that is another's is named so."""
    k = 2 if place[1] == "BRR" else _K
    printed = [row.variance(k, epsilon) for epsilon in LEVELS]
    # the columns of S-Hist are orthogonal in the paper, and then it varies as HRR does
    exact = [rare_variance((HRR if place[1] == "S-Hist" else row.make)(k, epsilon)) for epsilon in LEVELS]
    judged = matched(
        place, printed, exact, f"{len(LEVELS)} ε (0.1 to 4), k = {k}, a value that nobody has", because="-"
    )
    if judged.verdict == AGREES or row.other is None:
        return judged
    off = deviation(printed, [row.other(k, epsilon) for epsilon in LEVELS])
    at_one = f"{row.variance(k, 1.0):.3f} printed and {exact[LEVELS.index(1.0)]:.3f} exact at ε = 1, N = 1"
    return Comparison(*place, f"{at_one}; {judged.ours}", DIFFERS if off <= SAME else NOT_REPRODUCIBLE, row.because)


def _communication(place: Place, row: Row) -> Comparison:
    if place[1] == "ω-SM":
        return _of_sets(place)
    sizes = (2, 2, 2) if place[1] == "BRR" else _SIZES
    found = [row.make(k, 1.0).report_bits for k in sizes]
    order = [row.bits(k, 1.0) for k in sizes]
    cases = f"k = {', '.join(map(str, sizes))}: reports of {', '.join(map(str, found))} bits"
    return of_order(place, found, order, cases, unless="Reports grow faster.", sharp=False)


def _of_sets(place: Place) -> Comparison:
    best = [SS(k, 1.0) for k in _SIZES]
    grown = [one.report_bits / (one.omega or 1) for one in best]
    fixed = [SS(k, 1.0, omega=2).report_bits / 2 for k in _SIZES]
    words = ", ".join(f"{one:.3g}" for one in fixed), ", ".join(f"{one:.3g}" for one in grown)
    because = (
        "A set of ω values takes about ω log(k/ω) bits, as GRR's one value takes log k: O(ω) holds where ω grows with "
        "k, as the best one does."
    )
    return claimed(
        place,
        f"{words[0]} bits per value for ω = 2 and {words[1]} for the best ω, k = 16, 256, 1024",
        holds=fixed[-1] <= 1.25 * fixed[0],
        unless=because,
    )


def _error_bound(place: Place, row: Row) -> Comparison:
    """Compare √(2 ln 2k) standard errors, which bound the largest of k normal errors on average, with the order."""
    if place[1] == "BRR":
        sizes, levels = (2, 2, 2), (0.1, 0.5, 1.0)
    else:
        sizes, levels = _SIZES, (0.5, 0.5, 0.5)
    found = [
        epsilon * math.sqrt(float(row.make(k, epsilon).noise.variance(np.full(k, 1 / k)).max()) * 2 * math.log(2 * k))
        for k, epsilon in zip(sizes, levels, strict=True)
    ]
    cases = "ε = 0.1, 0.5, 1" if sizes[-1] == 2 else f"k = {', '.join(map(str, sizes))} at ε = 0.5"
    return of_order(place, found, [row.bound(k) for k in sizes], cases, unless="The largest error grows faster.")


# whether reports can be made by somebody who does not know the domain

_KNOWN: dict[str, Make] = {
    **{name: row.make for name, row in ROWS.items()},
    "RAPPOR": lambda k, epsilon: RAPPOR(k, epsilon, bits=64, cohorts=8),
    "OLH": OLH,
}


def _domain(place: Place, _row: Row) -> Comparison:
    printed, name = place[3], place[1]
    if name in ("O-RR", "O-RAPPOR"):
        alphabet = (OpenRR if name == "O-RR" else OpenRAPPOR)(1.0)
        reports = len(alphabet.privatize(["any", "string"], rng=1))
        return claimed(
            place, f"{reports} strings that nobody listed were reported", holds=reports == 2, unless="Not both were."
        )
    if name == "BRR":
        return claimed(place, "its domain is of two values", holds=RR.only_k == 2, unless="It takes others.")
    small, large = (_KNOWN[name](k, 1.0).privatize(np.arange(16), rng=1).data for k in (16, 64))
    needed = small.shape != large.shape or not np.array_equal(small, large)
    words = "the same draws make {} reports of the same values for k = 16 and k = 64".format(
        "other" if needed else "the same"
    )
    because = (
        "A respondent hashes her own value alone: candidates are needed only to decode, as in O-RAPPOR and O-RR, for "
        "which the table has N."
    )
    return claimed(place, words, holds=needed == (printed == "Y"), unless=because)


_COLUMNS = {
    "communication": _communication,
    "error bound": _error_bound,
    "variance": _variance,
    "know domain": _domain,
}


def _measure(_effort: Effort) -> Measured:
    places = [(source, row, column, printed) for source, row, column, printed in printed_figures(_NAME).to_numpy()]
    comparisons = [_COLUMNS[place[2]](place, ROWS[place[1]]) for place in places]
    curves = []
    for name, row in ROWS.items():
        k, make = 2 if name == "BRR" else _K, HRR if name == "S-Hist" else row.make
        for epsilon in np.geomspace(0.1, 5, 18).tolist():
            exact = rare_variance(make(k, epsilon))
            curves.append({"row": name, "epsilon": epsilon, "formula": row.variance(k, epsilon), "exact": exact})
    return Measured(comparisons, pd.DataFrame(curves))


def _draw(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 6.6), layout="constrained")
    panels = figure.subplots(3, 4, sharex=True, sharey=True)
    for axes, name in zip(panels.ravel(), ROWS, strict=True):
        curve = curves[curves["row"] == name]
        axes.plot(curve["epsilon"], curve["exact"], "o-", color=BLUE, markersize=3, label="exact")
        axes.plot(curve["epsilon"], curve["formula"], "--", color=VERMILLION, label="printed")
        axes.set(xscale="log", yscale="log", title=name)
    panels[0, 0].legend()
    figure.supxlabel("ε")
    figure.supylabel("N · variance of a value that nobody has")
    figure.suptitle("Printed variances of Table 4 and exact ones, k = 16 (BRR: 2)")
    return figure


TABLE_4 = Exhibit(
    _NAME,
    "Frequency oracles compared",
    "Communication and error bounds are orders of growth: they agree where the ratio to what is measured does not grow "
    "with k. The variances printed for RAPPOR, O-RAPPOR and O-RR are those without hashing; for S-Hist it is that of "
    "BRR, and for ω-SM that of GRR. RAPPOR has a filter of k bits and two hash functions here, and O-RR "
    f"{SYMBOLS} symbols, which are its k; cohorts are as many as is usual in the package. Clients of RAPPOR, BLH and "
    "OLH need not know the domain.",
    _measure,
    _draw,
)
