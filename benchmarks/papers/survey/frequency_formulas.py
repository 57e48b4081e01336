"""Wang et al. 2020, Section 3: the numbered formulas about frequency oracles, as one exhibit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ldpstats.mechanisms import DBitFlip
from ldpstats.mechanisms.hadamard_response import HRR
from ldpstats.pictures.colours import SERIES, UNDECIDED
from papers.comparisons import printed_figures
from papers.exhibits import Effort, Exhibit, Measured
from papers.survey.direct_formulas import DIRECT
from papers.survey.hashing_formulas import HASHING, printed_olh, rounded_olh
from papers.survey.oracle_checks import oue_variance
from papers.survey.supports import rare_variance
from papers.survey.transform_formulas import TRANSFORMS, printed_bit_flip

_CHECKS = DIRECT | HASHING | TRANSFORMS
_NAME = "wang-2020-frequency-formulas"
_SHARE = 0.3


def _measure(_effort: Effort) -> Measured:
    places = [(source, row, column, printed) for source, row, column, printed in printed_figures(_NAME).to_numpy()]
    comparisons = [_CHECKS[place[0].partition(", ")[2], place[1], place[2]](place) for place in places]
    return Measured(comparisons, pd.DataFrame([row for epsilon in np.linspace(0.1, 4, 79) for row in _curves(epsilon)]))


def _curves(epsilon: float) -> list[dict[str, Any]]:
    """Return what comes of misprints at a level: variances of rare values, and estimates of a share."""
    frequencies = np.array([_SHARE, *[(1 - _SHARE) / 3] * 3])
    local, flips = rounded_olh(4, epsilon), DBitFlip(4, epsilon, d=2)
    found = {
        ("variance", "Eq. 43 (OLH)"): rare_variance(local) / oue_variance(4, epsilon),
        ("variance", "Eq. 47 (HRR)"): rare_variance(HRR(4, epsilon)) / oue_variance(4, epsilon),
        ("estimate", "Section 3.1.3 (OLH)"): printed_olh(epsilon, local.noise.mean(frequencies))[0],
        ("estimate", "Eq. 54 (ωBitFlip)"): printed_bit_flip(flips, flips.noise.mean(frequencies))[0],
    }
    return [
        {"panel": panel, "formula": formula, "epsilon": epsilon, "value": value}
        for (panel, formula), value in found.items()
    ]


def _draw(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = dict(zip(("variance", "estimate"), figure.subplots(1, 2), strict=True))
    for number, ((panel, formula), curve) in enumerate(curves.groupby(["panel", "formula"])):
        panels[panel].plot(curve["epsilon"], curve["value"], color=SERIES[number], label=formula)
    for panel, true in (("variance", 1.0), ("estimate", _SHARE)):
        panels[panel].axhline(true, color=UNDECIDED, linestyle="--", label="true")
        panels[panel].set_xlabel("ε")
        panels[panel].legend()
    panels["variance"].set(yscale="log", ylabel="exact / printed variance", title="Variances of a rare value")
    panels["estimate"].set(ylim=(-2, 1), ylabel="expected estimate", title="Printed estimates of a frequency of 0.3")
    return figure


FREQUENCY_FORMULAS = Exhibit(
    _NAME,
    "Numbered formulas of Section 3 about frequency oracles",
    "Every formula is compared with the law of the mechanism itself, most of them with an enumeration of all its "
    "reports. Those for direct perturbation and unary encoding hold. OLH's are right only where e^ε is a whole number. "
    "Of the transformations, Eqs. 45 and 46 leave out a division, and Eq. 47 the sampling of coefficients; the "
    "probabilities of Eq. 48 do not sum to one; in Eq. 54 a one is missing. Not listed are equations that define a "
    "notion or a randomizer and claim nothing about it.",
    _measure,
    _draw,
)
