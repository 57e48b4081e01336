"""Kairouz, Bonawitz & Ramage, Figure 3: O-RR and O-RAPPOR, whose free parameters are searched for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from tqdm import tqdm

from ldpstats.estimation.simplex import nearest_proper
from ldpstats.mechanisms import GRR, SUE
from ldpstats.pictures.colours import SERIES, UNDECIDED
from papers.comparisons import Comparison
from papers.exhibits import Effort, Exhibit, Measured
from papers.formulas import Floats, Place, claimed
from papers.kairouz.cohort_samples import Cohorts, o_rappor, o_rr
from papers.kairouz.decoding import geometric
from papers.kairouz.risks import places_of

_NAME, _VALUES, _USERS = "kairouz-2016-figure-3", 256, 10**6
_LEVELS = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0)
_MIDDLE, _OUTER = (2.0, 3.0, 4.0, 6.0, 10.0), (0.5, 20.0)
_WIDTHS = tuple(2**power for power in range(1, 13))
_COHORTS = (1, 4, 16, 64, 256, 1024)
_FEW_COHORTS, _HASHES = (1, 2, 8, 64), (1, 2, 4, 8, 16)
_O_RR, _O_RAPPOR, _K_RR, _K_RAPPOR = "O-RR", "O-RAPPOR", "k-RR", "k-RAPPOR"
_SAME = 1.1
"""Medians match if their ratio is below this: within it lie some 90 % of the samples, which the figure shows."""


@cache
def _truth() -> Floats:
    return geometric(_VALUES, 1, np.random.default_rng(0))


def _loss(method: str, codes: Cohorts | None, epsilon: float, rng: np.random.Generator) -> float:
    """Return the ℓ1 distance of one simulated decoding from the true distribution."""
    counts = rng.multinomial(_USERS, _truth())
    if codes is not None:
        found = (o_rr if method == _O_RR else o_rappor)(codes, epsilon, counts, rng)
    else:
        noise = (GRR if method == _K_RR else SUE)(_VALUES, epsilon).noise
        found = nearest_proper(noise.debias(noise.simulate(counts, rng) / _USERS))
    return float(np.abs(found - _truth()).sum())


def _settings(effort: Effort) -> Iterator[tuple[str, bool, int, int, int]]:
    """Yield method, perfect, k, C and h: as many symbols and cohorts as the paper tries, or a few."""
    widths, few = (_WIDTHS, None) if effort.full else (_WIDTHS[-2:], 2)
    for perfect in (False, True):
        for k, c in product(widths, _COHORTS[:few]):
            yield _O_RR, perfect, k, c, 1
        for k, c, h in product(widths, _FEW_COHORTS[:few], _HASHES[:few]):
            yield _O_RAPPOR, perfect, k, c, h


def _searched(effort: Effort) -> pd.DataFrame:
    """Return the loss of all settings at all levels, on two samples each."""
    rng, rows = np.random.default_rng(3), []
    for method, perfect, k, c, h in tqdm(list(_settings(effort)), desc="settings", leave=False):
        codes = Cohorts(_VALUES, k, c, h, perfect)
        for epsilon in _LEVELS:
            loss = np.mean([_loss(method, codes, epsilon, rng) for _ in range(2)])
            rows.append(
                {"method": method, "perfect": perfect, "k": k, "C": c, "h": h, "epsilon": epsilon, "loss": loss}
            )
    return pd.DataFrame(rows)


def _summary(losses: list[float]) -> dict[str, float]:
    low, median, high = np.quantile(losses, [0.05, 0.5, 0.95])
    return {"loss": median, "low": low, "high": high, "err": float(np.std(losses) / math.sqrt(len(losses)))}


def _chosen(searched: pd.DataFrame, effort: Effort) -> pd.DataFrame:
    """Return the best settings: the six that look best for a mechanism at a level are tried on ten more samples."""
    rng, found = np.random.default_rng(6), []
    for _, cells in tqdm(list(searched.groupby(["method", "perfect", "epsilon"])), desc="choices", leave=False):
        likely = cells.nsmallest(6, "loss")
        losses = []
        for _, row in likely.iterrows():
            codes = Cohorts(_VALUES, row["k"], row["C"], row["h"], bool(row["perfect"]))
            losses.append(
                np.mean([_loss(row["method"], codes, row["epsilon"], rng) for _ in range(effort.runs(10, 1))])
            )
        found.append(likely.iloc[int(np.argmin(losses))])
    return pd.DataFrame(found)


def _lines(chosen: pd.DataFrame, effort: Effort) -> pd.DataFrame:
    """Return medians of fresh samples, and where 90 % of them lie: with the best settings, and without cohorts."""
    rng, rows = np.random.default_rng(4), []
    tried: list[tuple[str, bool, float, tuple[int, int, int] | None]] = [
        (row["method"], bool(row["perfect"]), row["epsilon"], (row["k"], row["C"], row["h"]))
        for _, row in chosen.iterrows()
    ]
    tried += [(method, True, epsilon, None) for method in (_K_RR, _K_RAPPOR) for epsilon in _LEVELS]
    for method, perfect, epsilon, sizes in tqdm(tried, desc="lines", leave=False):
        codes = None if sizes is None else Cohorts(_VALUES, *sizes, perfect)
        k, c, h = sizes or (_VALUES, 1, 1)
        place = {"part": "lines", "method": method, "perfect": perfect, "epsilon": epsilon, "k": k, "C": c, "h": h}
        rows.append(place | _summary([_loss(method, codes, epsilon, rng) for _ in range(effort.runs(50))]))
    return pd.DataFrame(rows)


def _slices(searched: pd.DataFrame, effort: Effort) -> pd.DataFrame:
    """Measure anew, on more samples, how losses depend on C, with the best k, and on k, with the most cohorts.

    With hash functions, one per filter.
    """
    own = searched[(searched["h"] == 1) & ~searched["perfect"].astype(bool)]
    rng, rows = np.random.default_rng(5), []
    for size in ("C", "k"):
        most = own["C"] == own.groupby("method")["C"].transform("max")
        tried = own[most] if size == "k" else own
        best = tried.loc[tried.groupby(["method", "epsilon", size])["loss"].idxmin()]
        for _, row in tqdm(list(best.iterrows()), desc=f"slices by {size}", leave=False):
            codes = Cohorts(_VALUES, row["k"], row["C"], 1, perfect=False)
            losses = [_loss(row["method"], codes, row["epsilon"], rng) for _ in range(effort.runs(20))]
            rows.append(row.drop("loss").to_dict() | {"part": size} | _summary(losses))
    return pd.DataFrame(rows)


# judgements


def _medians(lines: pd.DataFrame, method: str, *, perfect: bool) -> pd.Series:
    own = lines[(lines["method"] == method) & (lines["perfect"].astype(bool) == perfect)]
    return own.set_index("epsilon")["loss"].sort_index()


def _listed(ratios: pd.Series) -> str:
    return ", ".join(f"{ratio:.3g} at ε = {epsilon:g}" for epsilon, ratio in ratios.items())


_ELSEWHERE = "It is otherwise here, and nothing that was tried gives it."


def _ratio(place: Place, ratios: pd.Series, words: str, *, holds: bool, unless: str = _ELSEWHERE) -> Comparison:
    return claimed(place, f"{words}: {_listed(ratios)}", holds=holds, unless=unless, explained=False)


def _largest_step(cells: pd.DataFrame, size: str) -> float:
    """Return by what factor the loss grows at most from one size to the next."""
    means = cells.pivot_table(index="epsilon", columns=size, values="loss").to_numpy()
    return float((means[:, 1:] / means[:, :-1]).max())


def _compared_lines(places: dict[tuple[str, str, str], Place], lines: pd.DataFrame) -> dict[Place, Comparison]:
    hashed, exact = (
        {method: _medians(lines, method, perfect=perfect) for method in (_O_RR, _O_RAPPOR)} for perfect in (False, True)
    )
    closed = {method: _medians(lines, method, perfect=True) for method in (_K_RR, _K_RAPPOR)}
    open_ratio = hashed[_O_RR] / hashed[_O_RAPPOR]
    outer, middle = open_ratio.loc[list(_OUTER)], open_ratio.loc[list(_MIDDLE)]
    least = pd.concat([*closed.values(), exact[_O_RAPPOR]], axis=1).min(axis=1)
    best, alike = exact[_O_RR] / least, exact[_O_RAPPOR] / closed[_K_RAPPOR]
    little, much = (exact[method] / hashed[method] for method in (_O_RAPPOR, _O_RR))
    matches, wins = outer.between(1 / _SAME, _SAME), middle < 1
    same, gained = alike.between(1 / _SAME, _SAME), "median with permutations / with hash functions"
    judged = [
        ("Figure 3(a)", "very low and high privacy", outer, "median of O-RR / of O-RAPPOR", matches.all()),
        ("Figure 3(a)", "midrange privacy", middle, "median of O-RR / of O-RAPPOR", wins.all()),
        ("Figure 3(b)", _O_RR, best, "median of O-RR / of the best other", (best < _SAME).all()),
        ("Figure 3(b)", "k-RAPPOR and O-RAPPOR", alike, "median of O-RAPPOR / of k-RAPPOR", same.all()),
        ("Section 5.4", _O_RAPPOR, little, gained, (little > 1 / _SAME).all()),
        ("Section 5.4", _O_RR, much, gained, (much < 1 / _SAME).any()),
    ]
    keyed = {key[:2]: place for key, place in places.items() if key[2] in ("statement", "perfect hash functions")}
    return {
        keyed[part, row]: _ratio(keyed[part, row], ratios, said, holds=bool(holds))
        for part, row, ratios, said, holds in judged
    }


def _compared_settings(
    places: dict[tuple[str, str, str], Place], chosen: pd.DataFrame, slices: pd.DataFrame
) -> list[Comparison]:
    section = {key[1:]: place for key, place in places.items() if key[0] == "Section 5.3"}
    found = chosen[~chosen["perfect"].astype(bool)]
    by = dict(iter(slices.groupby(["method", "part"])))
    return [
        _widths(section[_O_RR, "k"], found[found["method"] == _O_RR]),
        _more_cohorts(section[_O_RR, "C"], by[_O_RR, "C"]),
        _one_cohort(section[_O_RR, "C = 1"], by[_O_RR, "C"]),
        _wide_filters(section[_O_RAPPOR, "k"], by[_O_RAPPOR, "k"]),
        _one_cohort(section[_O_RAPPOR, "C = 1"], by[_O_RAPPOR, "C"]),
        _several_cohorts(section[_O_RAPPOR, "C ≥ 2"], by[_O_RAPPOR, "C"]),
        _one_hash(section[_O_RAPPOR, "h"], found[found["method"] == _O_RAPPOR]),
    ]


def _best(cells: pd.DataFrame, size: str) -> pd.Series:
    return cells.loc[cells.groupby("epsilon")["loss"].idxmin()].set_index("epsilon")[size]


def _widths(place: Place, cells: pd.DataFrame) -> Comparison:
    best = _best(cells, "k")
    words = ", ".join(f"{int(k)} at ε = {epsilon:g}" for epsilon, k in best.items())
    holds = bool(best.is_monotonic_increasing) and best.nunique() > 2
    return claimed(place, f"best k: {words}", holds=holds, unless=_ELSEWHERE, explained=False)


def _more_cohorts(place: Place, cells: pd.DataFrame) -> Comparison:
    own = cells[cells["epsilon"] >= _MIDDLE[0]]
    found, step = own.pivot_table(index="epsilon", columns="C", values="loss"), _largest_step(own, "C")
    words = "; ".join(f"ε = {epsilon:g}: {row.iloc[0]:.3g} to {row.iloc[-1]:.3g}" for epsilon, row in found.iterrows())
    words = (
        f"loss with the best k, from C = 1 to 1024: {words}; from one C to the next at most {step:.3g} times as much"
    )
    return claimed(place, words, holds=step < _SAME, unless=_ELSEWHERE, explained=False)


def _one_cohort(place: Place, cells: pd.DataFrame) -> Comparison:
    means = cells.groupby(["epsilon", "C"])["loss"].mean()
    ratios = means.xs(1, level="C") / means.groupby("epsilon").min()
    reason = "It does where privacy is low; where it is high, noise hides the collisions of a single cohort."
    words = "loss with C = 1 / with the best C"
    return _ratio(place, ratios, words, holds=bool((ratios > _SAME).all()), unless=reason)


def _wide_filters(place: Place, cells: pd.DataFrame) -> Comparison:
    found, step = cells.pivot_table(index="epsilon", columns="k", values="loss"), _largest_step(cells, "k")
    later, last = _largest_step(cells[cells["k"] >= 4], "k"), found[_WIDTHS[-1]] / found[_WIDTHS[-2]]
    most = cells["C"].max()
    words = f"C = {most}: from one k to the next at most {step:.3g} times as much loss, {later:.3g} from k = 4 on"
    reason = "With the least k, 2, it is otherwise: so few bits do not tell the values apart."
    holds = step < _SAME and bool((last > 1 / _SAME).all())
    return _ratio(place, last, f"{words}; k = 4096 / 2048", holds=holds, unless=reason)


def _several_cohorts(place: Place, cells: pd.DataFrame) -> Comparison:
    found = cells[cells["C"] > 1].groupby("epsilon")["loss"]
    ratios = found.max() / found.min()
    return _ratio(
        place, ratios, "largest / least loss of C = 2, 8, 64, each with its best k", holds=bool((ratios < _SAME).all())
    )


def _one_hash(place: Place, cells: pd.DataFrame) -> Comparison:
    best = _best(cells, "h")
    words = ", ".join(f"{int(h)} at ε = {epsilon:g}" for epsilon, h in best.items())
    return claimed(place, f"best h: {words}", holds=bool((best == 1).all()), unless=_ELSEWHERE, explained=False)


def _measure(effort: Effort) -> Measured:
    searched = _searched(effort)
    chosen = _chosen(searched, effort)
    lines, slices = _lines(chosen, effort), _slices(searched, effort)
    rows = places_of(_NAME)
    places = {(row[0].partition(", ")[2], row[1], row[2]): row for row in rows}
    settings = _compared_settings(places, chosen, slices)
    judged = _compared_lines(places, lines) | {(one.source, one.row, one.column, one.printed): one for one in settings}
    return Measured([judged[row] for row in rows], pd.concat([lines, slices], ignore_index=True))


def _draw(_comparisons: pd.DataFrame, curves: pd.DataFrame | None) -> Any:
    from matplotlib.figure import Figure

    assert curves is not None
    figure = Figure(figsize=(9, 7.6), layout="constrained")
    panels = figure.subplots(2, 2)
    for axes, perfect, title in zip(
        panels[0], ("False", "True"), ("(a) hash functions", "(b) permutations"), strict=True
    ):
        lines = curves[(curves["part"] == "lines") & (curves["perfect"].astype(str) == perfect)]
        for number, (method, line) in enumerate(lines.groupby("method", sort=False)):
            errors = [line["loss"] - line["low"], line["high"] - line["loss"]]
            axes.errorbar(
                line["epsilon"], line["loss"], errors, color=SERIES[number], marker="o", markersize=3, label=method
            )
        axes.axhline(np.abs(_truth() - 1 / _VALUES).sum(), color=UNDECIDED, linestyle=":", label="all equal")
        axes.set(xscale="log", yscale="log", xlabel="ε", ylabel="median ℓ1 loss, 90 % of samples", title=title)
        axes.legend()
    for axes, size in zip(panels[1], ("k", "C"), strict=True):
        cells = curves[(curves["part"] == size) & (curves["method"] == _O_RR)]
        for number, (epsilon, line) in enumerate(cells.groupby("epsilon")):
            style = {"color": SERIES[number % 6], "marker": "o", "markersize": 3}
            axes.plot(line[size], line["loss"], "--" if number >= 6 else "-", label=f"ε = {epsilon:g}", **style)
        name = "symbols k (C = 1024)" if size == "k" else "cohorts C (best k)"
        axes.set(xscale="log", yscale="log", xlabel=name, ylabel="ℓ1 loss", title="O-RR, hash functions")
    panels[1, 1].legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
    return figure


FIGURE_3 = Exhibit(
    _NAME,
    "O-RR and O-RAPPOR with the best k, C and h",
    "The figure is a picture, so that what the paper says about it is compared: 256 values, 10^6 users, a geometric "
    "distribution. All k of the paper are tried, but fewer C; medians are those of 50 samples on which nothing was "
    "chosen. Losses are distances to the true distribution. Privacy is taken to be very low at the largest ε shown, "
    "and high at the least. Medians within a tenth of each other count as matching.",
    _measure,
    _draw,
)
