"""Table 4: how often tests of independence decide rightly, of tables of two, three and four binary attributes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from tqdm import tqdm

from ldpstats.pictures.colours import SERIES
from papers.comparisons import AGREES, DIFFERS, NOT_REPRODUCIBLE, Comparison, near
from papers.exhibits import Effort, Exhibit, Measured
from papers.imran_meo.decisions import Trial, table_four
from papers.imran_meo.findings import Finding, Place, judged, places

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WAYS, SIZES, SHOWN_SIZE = (2, 3, 4), (0.1, 0.3), 0.3
PRINTED_TRIALS = 100
LITERAL = {
    "Laplace noise": "Laplace 2m/ε: naive",
    "MCIndep": "Laplace 2/ε: MCIndep, rule: any table",
    "RRBR": "RRBA p = .5: two-step, rule: any table",
}
"""What the paper's words come to: the scale of its Section 7.4, that of the cited paper, and its Section 7.3."""
READINGS = {
    "Laplace noise": [
        f"Laplace {scale}: {rule}" for scale in ("2m/ε", "2/ε") for rule in ("naive", "beyond the true χ²")
    ],
    "MCIndep": [
        f"{noise}: MCIndep, rule: {rule}"
        for noise in ("Laplace 2/ε", "Laplace 2m/ε", "Gaussian")
        for rule in ("any table", "none")
    ],
    "RRBR": [
        f"RRBA {p}: two-step{rest}"
        for p in ("p = .5", "p = .221")
        for rest in (", rule: any table", ", rule: none", ", all blocks, rule: none")
    ],
}
SPARSE, LARGE = "4-way, sparse", "4 × 4"

Rejected = dict[tuple[str, float], pd.Series]
"""For every kind of table and size of dependence: the share of trials in which each test rejects."""


def _trials(kind: str, size: float, number: int) -> list[Trial]:
    shape = (4, 4) if kind == LARGE else (2,) * int(kind[0])
    margin = (0.93, 0.97) if kind == SPARSE else (0.35, 0.65)
    return [Trial("table 4", shape, size, seed, margin=margin) for seed in range(number)]


def rejected(effort: Effort) -> tuple[Rejected, dict[str, int]]:
    """Measure; return the shares, and the number of trials of each kind of table."""
    numbers = {f"{ways}-way": effort.runs(200) for ways in WAYS} | dict.fromkeys((SPARSE, LARGE), effort.runs(60))
    sizes = {kind: (0.0, SHOWN_SIZE) if kind in (SPARSE, LARGE) else (0.0, *SIZES) for kind in numbers}
    asked = [(kind, size) for kind in numbers for size in sizes[kind]]
    found: Rejected = {}
    for kind, size in tqdm(asked, desc="Table 4", disable=not effort.full):
        found[kind, size] = pd.DataFrame([table_four(trial) for trial in _trials(kind, size, numbers[kind])]).mean()
    return found, numbers


def _share(found: Rejected, kind: str, test: str, column: str, size: float) -> float:
    """Return what one of the printed columns counts, as a share."""
    right, wrong = found[kind, size][test], found[kind, 0.0][test]
    shares = {
        "H0 false, rejected": right,
        "H0 false, accepted": 1 - right,
        "H0 true, rejected": wrong,
        "H0 true, accepted": 1 - wrong,
        "accuracy": (right + 1 - wrong) / 2,
    }
    return float(shares[column])


def standard_error(printed: float, ours: float, number: int, column: str) -> float:
    """Return the standard error of the difference between our percentage of so many trials and the printed one.

    It is that of two shares of one kind, both together; an accuracy has half of its trials of each kind.
    """
    counted = printed / 100 * PRINTED_TRIALS + ours / 100 * number
    share = (counted + 1) / (PRINTED_TRIALS + number + 2)
    halves = 2 if column == "accuracy" else 1
    return 100 * float(np.sqrt(share * (1 - share) * (1 / number + 1 / PRINTED_TRIALS) / halves))


def _near(place: Place, found: Rejected, numbers: Mapping[str, int], test: str, size: float) -> bool:
    kind = place[1].split(", ")[1]
    ours = 100 * _share(found, kind, test, place[2], size)
    return near(place[3], ours, standard_error(float(place[3]), ours, numbers[kind], place[2]))


def _fitting(method: str, found: Rejected, numbers: Mapping[str, int]) -> tuple[str, float] | None:
    """Return the first reading that gives all figures of a method, if there is one."""
    rows = [place for place in places("imran-meo-2024-table-4") if place[1].startswith(method)]
    for test, size in product(READINGS[method], SIZES):
        if all(_near(place, found, numbers, test, size) for place in rows):
            return test, size
    return None


def judged_rows(found: Rejected, numbers: Mapping[str, int]) -> list[Comparison]:
    """Judge every printed row by the shares of rejections, in so many trials of each kind of table."""
    fitting = {method: _fitting(method, found, numbers) for method in READINGS}
    claims = _claims(found)
    return [
        judged(place, claims[place[1]]) if place[1] in claims else _of_figure(place, found, numbers, fitting)
        for place in places("imran-meo-2024-table-4")
    ]


def _table_4(effort: Effort) -> Measured:
    found, numbers = rejected(effort)
    curves = pd.DataFrame(
        [(kind, size, test, 100 * share) for (kind, size), shares in found.items() for test, share in shares.items()],
        columns=["table", "w", "test", "rejected"],
    )
    return Measured(judged_rows(found, numbers), curves)


def _of_figure(
    place: Place, found: Rejected, numbers: Mapping[str, int], fitting: Mapping[str, tuple[str, float] | None]
) -> Comparison:
    method, kind = place[1].split(", ")
    column, named, number, printed = place[2], fitting[method], numbers[kind], float(place[3])
    ours = 100 * _share(found, kind, LITERAL[method], column, SHOWN_SIZE)
    error = standard_error(printed, ours, number, column)
    if all(_near(cell, found, numbers, LITERAL[method], SHOWN_SIZE) for cell in _judged_together(place)):
        because = "The paper does not say how dependent its tables are; w = .3 here."
        return Comparison(*place, ours, AGREES, because, error)
    if named is None:
        because = (
            f"None of {len(READINGS[method])} readings of noise, blocks, rule and critical value, with w = .1 or .3, "
            "gives all figures of this method."
        )
        if near(place[3], ours, error):
            because += " This accuracy comes out as the mean of shares that do not."
        return Comparison(*place, ours, NOT_REPRODUCIBLE, because, error)
    other = 100 * _share(found, kind, named[0], column, named[1])
    because = f"All figures of this method are given by: {named[0]}; w = {named[1]:g}."
    other_error = standard_error(printed, other, number, column)
    return Comparison(*place, ours, DIFFERS, because, error, other, reproduced_std_err=other_error)


def _judged_together(place: Place) -> list[Place]:
    """Return the cells that must come out for a figure to count: an accuracy is a mean, which may do so by chance."""
    if place[2] != "accuracy":
        return [place]
    return [cell for cell in places("imran-meo-2024-table-4") if cell[1] == place[1]]


def _claims(found: Rejected) -> dict[str, Finding]:
    accuracy = {
        kind: {method: 100 * _share(found, kind, LITERAL[method], "accuracy", SHOWN_SIZE) for method in LITERAL}
        for kind in dict.fromkeys(kind for kind, _ in found)
    }
    ways = [accuracy[f"{number}-way"] for number in WAYS]
    best = all(own["RRBR"] > max(own["Laplace noise"], own["MCIndep"]) for own in ways)
    rule = "The rule that accepts at a cell below 5 in any table leaves the test of the last two blocks no power there."
    return {
        "best": Finding(
            f"accuracies {'; '.join(map(_as_text, ways))}",
            best,
            "Its test of the last two blocks, with the rule that accepts at a cell below 5, is not ahead of both.",
        ),
        "more values": Finding(
            f"accuracies for 4 × 4 {_as_text(accuracy[LARGE])}", _first(accuracy[LARGE], "RRBR"), rule
        ),
        "sparse data": Finding(
            f"accuracies for shares of .93 to .97 {_as_text(accuracy[SPARSE])}",
            _first(accuracy[SPARSE], "RRBR"),
            "The rule that accepts at a cell below 5 in any table leaves RRBA's test no power there, and MCIndep none.",
        ),
    }


def _as_text(accuracies: Mapping[str, float]) -> str:
    return ", ".join(f"{method} {one:.0f}" for method, one in accuracies.items())


def _first(accuracies: Mapping[str, float], method: str) -> bool:
    return all(accuracies[method] > one for other, one in accuracies.items() if other != method)


def _draw_table_4(comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Figure:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 5.5), layout="constrained")
    grid = figure.subplots(2, 3, sharex=True, sharey=True)
    for axes, (column, label) in zip(
        grid,
        (("H0 false, rejected", "rejected of 100, H0 false"), ("H0 true, accepted", "accepted of 100, H0 true")),
        strict=True,
    ):
        for ax, method in zip(axes, LITERAL, strict=True):
            rows = comparisons[comparisons["row"].str.startswith(method) & (comparisons["column"] == column)]
            ax.plot(WAYS, rows["printed"].astype(float), "ks--", label="printed")
            ax.plot(WAYS, rows["ours"].astype(float), "o-", color=SERIES[1], label="at its word")
            for number, (test, size) in enumerate(product(READINGS[method], SIZES)):
                own = curves[(curves["test"] == test) & (curves["w"] == (size if "false" in column else 0.0))]
                shares = own.set_index("table").loc[[f"{ways}-way" for ways in WAYS], "rejected"]
                label_once = None if number else "other readings"
                ax.plot(WAYS, shares if "false" in column else 100 - shares, color="0.75", zorder=1, label=label_once)
            ax.set(title=method if column.startswith("H0 false") else "", xticks=WAYS, ylim=(-4, 104))
        axes[0].set_ylabel(label)
    for ax in grid[-1]:
        ax.set_xlabel("binary attributes in the table")
    handles, names = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
    figure.suptitle("Decisions of tests: printed, by the paper's words (w = .3), and by all readings", fontsize=11)
    return figure


EXHIBITS = (
    Exhibit(
        "imran-meo-2024-table-4",
        "Table 4: decisions of tests of independence",
        "The paper does not say how dependent its tables are, how many respondents answer, or which scale MCIndep "
        "has; `decisions` says what was chosen. Its own test, of the last two blocks and with the rule of Section 7.3, "
        "does not reject as often as printed with three and four attributes. The same test from all blocks and without "
        "the rule does; MCIndep's figures fit Gaussian noise. No reading of the Laplace test that was tried "
        "accepts and rejects as often as printed. In the sparse and in the larger tables for which the text claims an "
        "advantage, the rule leaves RRBA's test no power. An accuracy counts as reproduced only if the four shares "
        "beside it do. Standard errors are of differences from the printed counts.",
        _table_4,
        _draw_table_4,
    ),
)
