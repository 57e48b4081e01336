"""RRBA measured: its strict level, its errors at equal level, and its speed.

What Imran & Meo (2024) claim, and what holds for the protocol as it is implemented here:

1. the strict ε beside the paper's own, exact;
2. the paper's estimate beside those from all blocks, and adapted fakes beside uniform ones at equal p;
3. GRR, SS, OUE and floored RRBA at equal strict ε; one group per respondent beside a whole view;
4. speed.

The paper's printed tables and figures stand in `papers.imran_meo`.
Figures that this project aims at stand beside the measured ones. What is simulated has fixed seeds and standard errors;
both are said with every table.
"""

from __future__ import annotations

from multiprocessing import Pool

import numpy as np
import pandas as pd
from rrba_errors import NETWORKS, as_text, equal_levels, estimators, group_or_view
from rrba_speed import speed

from ldpstats.datasets import network
from ldpstats.mechanisms import FakeResponse, fake_numerators
from ldpstats.protocols.rrba import RRBA

CELLS = (2, 4, 9, 16, 36, 81)
ASKED_LEVELS = {
    0.221: (0.25, (0.45, 0.76, 1.27, 1.71, 2.42, 3.18), 0.17),
    0.4: (0.51, (0.85, 1.30, 1.95, 2.46, 3.22, 4.01), 0.30),
    0.5: (0.69, (1.10, 1.61, 2.30, 2.83, 3.61, 4.41), 0.38),
}
"""For every p: the paper's ε, the strict one by the number of cells, and δ at the paper's ε with four cells."""
ASKED_VIEWS = {"survey": 5.5, "child": 22.0, "alarm": 38.7}
REPETITIONS = 200
PAIRS = {"survey": (15, 60), "child": (30, 25), "alarm": (30, 25)}
"""For every network: how many pairs are simulated at equal ε, and how often each."""


def levels() -> str:
    """Compare strict levels with those asked for, to two decimals."""
    rows = []
    for p, (nominal, strict, delta) in ASKED_LEVELS.items():
        told = {m: FakeResponse.telling(p, fake_numerators(np.full(m, 1 / m))) for m in CELLS}
        row: dict[str, object] = {"p": f"{p:g}", "paper's ε": _beside(nominal, told[2].nominal_epsilon)}
        row |= {f"m = {m}": _beside(one, told[m].strict_epsilon()) for m, one in zip(CELLS, strict, strict=True)}
        row |= {"δ, m = 4": _beside(delta, float(told[4].delta_at_nominal))}
        rows.append(row | {"δ, m = 2, 9, ...": ", ".join(f"{float(told[m].delta_at_nominal):.2f}" for m in CELLS[::2])})
    return "\n".join(
        [
            "1a. Strict ε of one report with uniform fakes, the paper's ln(1/(1-p)), and δ at it; aim / exact",
            pd.DataFrame(rows).to_string(index=False),
            "",
            "1b. Strict ε of a respondent who answers a whole view of pairs, p = 0.5, uniform fakes",
            as_text(pd.DataFrame([_whole_view(name) for name in NETWORKS])),
            "    The paper's protocol without a floor: " + RRBA(network("survey").domain, p=0.5).privacy().headline,
        ]
    )


def _whole_view(name: str) -> dict[str, object]:
    protocol = RRBA(network(name).domain, p=0.5, answer="view", floor=1.0)
    stated = protocol.privacy()
    of_views = [sum(stated.per_group[" × ".join(group)] for group in view) for view in protocol.views]
    return {
        "network": name,
        "views": len(protocol.views),
        "pairs in a view": len(protocol.views[0]),
        "aim": ASKED_VIEWS[name],
        "mean over views": np.mean(of_views),
        "worst view (stated)": stated.epsilon,
        "paper's ε": stated.nominal_epsilon,
        "δ at it": stated.delta_at_nominal,
    }


def _beside(aimed_at: float, exact: float) -> str:
    agrees = "" if f"{aimed_at:.2f}" == f"{exact:.2f}" else " NO"
    return f"{aimed_at:.2f} / {exact:.2f}{agrees}"


def main() -> None:
    """Measure on all processors and print everything."""
    print(levels(), flush=True)
    with Pool() as pool:
        print("", estimators(REPETITIONS, pool.map), sep="\n", flush=True)
        print("", equal_levels(PAIRS, pool.map), sep="\n", flush=True)
        print("", group_or_view(), sep="\n", flush=True)
    print("", speed(), sep="\n", flush=True)


if __name__ == "__main__":
    main()
