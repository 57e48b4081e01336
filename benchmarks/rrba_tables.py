"""Tables 5 and 6 of Imran & Meo (2024), measured anew: how far tables of 2, 3 and 4 attributes are from the original.

The paper leaves open what exactly was compared. What is chosen here:

- A network is a data set of 8000 records, drawn once. A table is asked for directly, of all 8000 of them, and its
  distance is to their own true table: there is no sampling error in it, for Laplace noise neither.
- RRBA has the p and the block size of the caption, no floor, and fakes that follow the last block (their negative
  cells cut). The Laplace noise has the ε of the caption; it is the two-sided geometric law of `CentralLaplace`,
  with the paper's scale b = 2m/ε and with the sound one, 2/ε for one table.
- ℓ2 is the root of the squared differences of counts that add up to 8000, averaged over trials. (Of frequencies it
  is 8000 times smaller: no printed figure is below 59.)
- For Jensen–Shannon negative cells are cut and both tables are scaled to one; the paper says only the latter.

Several readings are shown of what the paper does not say:

- The estimate: the two-block average of its Section 5, all blocks (closed form, MLE), or the reports as they came,
  counted without Eq. 4.
- The groups: any of the network's, or only groups of binary attributes (its Section 7.3 tests such tables). Every
  trial takes another one, so that the standard errors hold the spread between groups too.
- The measure: the divergence that the paper defines, or its root, a distance as its captions say; in nats or bits
  (those and ℓ2 of the cut and scaled cells are only counted: see the last table).

A measured figure is called near if it is within a fifth of the printed one.

What comes out: no reading fits all. The printed ℓ2 of RRBA is that of all blocks and binary groups (MLE: 7 of 10 are
near), and 4 to 10 times smaller than that of the two-block average of Section 5, by which nothing is near. Its
Jensen–Shannon figures fit the divergence of that average for any groups (5 of 10), or the root for all blocks and
binary groups (3 of 10; 4 in bits). Cutting cells and counting in bits changes little. The Laplace figures need the
scale as printed, m times too large for a table by itself: with the sound scale none is near, and its ℓ2 is below that
of RRBA everywhere (its curator is trusted with the records). In Jensen–Shannon, which weighs rare cells, most likely
RRBA tables of four of alarm's attributes are nearer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rrba_errors import BLOCK, RESPONDENTS, as_text

from ldpstats.arrays import FloatArray
from ldpstats.datasets import network
from ldpstats.domain import Domain
from ldpstats.protocols.central import CentralLaplace
from ldpstats.protocols.rrba import RRBA
from ldpstats.tables import Table

SIZES = (2, 3, 4)
GROUPS = ("any", "binary")
MEASURES = ("ℓ2", "ℓ2 cut", "JS", "√JS", "JS bits", "√JS bits")
SHOWN = ("ℓ2", "JS", "√JS")
NEAR = 0.2


@dataclass(frozen=True, slots=True)
class Setting:
    """What the caption of a printed table says."""

    table: int
    p: float
    epsilon: float


SETTINGS = (Setting(5, 0.4, 0.35), Setting(6, 0.5, 0.5))
PRINTED: dict[tuple[int, str, str, str], tuple[float, ...]] = {
    (5, "ℓ2", "survey", "RRBA"): (68.27, 123.89, 140.10),
    (5, "ℓ2", "survey", "Laplace"): (59.58, 307.588, 715.05),
    (5, "ℓ2", "alarm", "RRBA"): (90.36,),
    (5, "ℓ2", "alarm", "Laplace"): (117.42,),
    (5, "JS", "survey", "RRBA"): (0.0104, 0.0142, 0.0577),
    (5, "JS", "survey", "Laplace"): (0.0142, 0.1025, 0.1434),
    (5, "JS", "alarm", "RRBA"): (0.0073,),
    (5, "JS", "alarm", "Laplace"): (0.0153,),
    (6, "ℓ2", "survey", "RRBA"): (71.81, 100.70, 111.26),
    (6, "ℓ2", "survey", "Laplace"): (109.60, 154.02, 372.63),
    (6, "ℓ2", "alarm", "RRBA"): (59.58, 102.22, 111.15),
    (6, "ℓ2", "alarm", "Laplace"): (61.69, 162.62, 427.98),
    (6, "JS", "survey", "RRBA"): (0.0107, 0.0129, 0.0304),
    (6, "JS", "survey", "Laplace"): (0.0142, 0.0582, 0.1417),
    (6, "JS", "alarm", "RRBA"): (0.0074, 0.0156, 0.0380),
    (6, "JS", "alarm", "Laplace"): (0.0118, 0.0633, 0.1580),
}
"""The printed figures for tables of 2, 3 and 4 attributes; for alarm Table 5 has pairs only."""
READINGS: dict[str, tuple[str, ...]] = {
    "RRBA": ("two blocks", "closed form", "mle", "reports as they came"),
    "Laplace": ("b = 2m/ε, as printed", "b = 2/ε, sound"),
}


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials in one setting, about groups of one size."""

    setting: Setting
    network: str
    groups: str
    size: int
    number: int


Mapper: TypeAlias = Callable[[Callable[[Trials], Any], Iterable[Trials]], Iterable[Any]]


def distances(true_counts: NDArray[np.int64], frequencies: FloatArray) -> list[float]:
    """Return the measures of how far estimated frequencies are from a table of counts."""
    n = true_counts.sum()
    true, cut = true_counts / n, np.maximum(frequencies, 0)
    proper = cut / cut.sum()
    nats = jensen_shannon(true, proper)
    bits = nats / np.log(2)
    l2, l2_cut = (n * np.linalg.norm(found - true) for found in (frequencies, proper))
    return [float(one) for one in (l2, l2_cut, nats, np.sqrt(nats), bits, np.sqrt(bits))]


def jensen_shannon(one: FloatArray, other: FloatArray) -> float:
    """Return the Jensen–Shannon divergence of two distributions, in nats (Eq. 2 of the paper)."""
    middle = (one + other) / 2
    both = [np.sum(own[own > 0] * np.log(own[own > 0] / middle[own > 0])) for own in (one, other)]
    return max(float(sum(both)) / 2, 0.0)


def groups_of(domain: Domain, kind: str, size: int, number: int) -> list[tuple[str, ...]]:
    """Return a group for every trial, in random order; all of them come before one comes again."""
    binary = [name for name in domain.names if len(domain.categories[name]) == 2]
    found = list(combinations(binary if kind == "binary" else domain.names, size))
    order = np.random.default_rng((4, size)).permutation(len(found))
    return [found[order[trial % len(found)]] for trial in range(number)]


def measure(trials: Trials) -> dict[tuple[str, str], FloatArray]:
    """Return for every method and reading the measures of every trial, shape (trials, measures)."""
    setting, domain = trials.setting, network(trials.network).domain
    codes = domain.encode(network(trials.network).sample(RESPONDENTS, rng=4))
    rng = np.random.default_rng((4, setting.table, trials.size, GROUPS.index(trials.groups)))
    found: dict[tuple[str, str], list[list[float]]] = {}
    for group in groups_of(domain, trials.groups, trials.size, trials.number):
        own = domain.project(group)
        counts = np.bincount(domain.cells(codes, group), minlength=own.size())
        for key, frequencies in estimates(own, counts, setting, rng).items():
            found.setdefault(key, []).append(distances(counts, frequencies))
    return {key: np.array(values) for key, values in found.items()}


def estimates(
    domain: Domain, counts: NDArray[np.int64], setting: Setting, rng: np.random.Generator
) -> dict[tuple[str, str], FloatArray]:
    """Ask for one table in both ways, and return its frequencies by every reading."""
    whole = [domain.names]
    (asked,) = RRBA(domain, p=setting.p, block_size=BLOCK, groups=whole).simulate(counts, rng)
    *methods, raw = READINGS["RRBA"]
    found = {("RRBA", method): asked.estimated_by(method).cells.estimate for method in methods}
    found["RRBA", raw] = _as_reported(asked)
    for reading, scale in zip(READINGS["Laplace"], ("paper", "sound"), strict=True):
        (noisy,) = CentralLaplace(domain, epsilon=setting.epsilon, scale=scale, groups=whole).simulate(counts, rng)
        found["Laplace", reading] = noisy.cells.estimate
    return found


def _as_reported(table: Table) -> FloatArray:
    reports: FloatArray = np.sum([block.tally.counts for block in table.blocks], axis=0) / table.n
    return reports


def printed_tables(number: int = 100, mapped: Mapper = map, settings: Sequence[Setting] = SETTINGS) -> str:
    """Set the measured figures beside the printed ones, and count by reading how many come near."""
    studies = [Trials(*kind, number) for kind in product(settings, ("survey", "alarm"), GROUPS, SIZES)]
    found = list(mapped(measure, studies))
    rows = [row for one, measured in zip(studies, found, strict=True) for row in _figures(one, measured)]
    figures = pd.DataFrame(rows)
    parts = [
        f"{number} trials, each about another group as long as there are any; n = {RESPONDENTS}, blocks of {BLOCK};",
        "seeds (4, table, size, groups). Standard errors in brackets.",
    ]
    for setting, measured_by in product(settings, SHOWN):
        own = figures[(figures["table"] == setting.table) & (figures["measure"] == measured_by)]
        title = f"4. Table {setting.table} (p = {setting.p:g}, ε = {setting.epsilon:g}): {measured_by}, 2- to 4-way"
        parts += ["", title, as_text(_beside(own))]
    return "\n".join(
        [*parts, "", f"4. How many measured figures are within {NEAR:.0%} of print", as_text(_near(figures))]
    )


def _figures(trials: Trials, measured: dict[tuple[str, str], FloatArray]) -> Iterator[dict[str, object]]:
    """Yield a row for every figure of one size of tables."""
    for ((method, reading), values), (place, name) in product(measured.items(), enumerate(MEASURES)):
        printed = PRINTED[trials.setting.table, "ℓ2" if "ℓ2" in name else "JS", trials.network, method]
        position = SIZES.index(trials.size)
        yield {
            "table": trials.setting.table,
            "measure": name,
            "network": trials.network,
            "method": method,
            "reading": reading,
            "groups": trials.groups,
            "size": trials.size,
            "printed": printed[position] if position < len(printed) else np.nan,
            "mean": values[:, place].mean(),
            "error": values[:, place].std(ddof=1) / np.sqrt(len(values)),
        }


def _beside(figures: pd.DataFrame) -> pd.DataFrame:
    """Return a row for every reading, with printed and measured figures of all sizes."""
    rows = []
    for key, own in figures.groupby(["network", "method", "groups", "reading"], sort=False):
        row: dict[str, object] = dict(zip(("network", "method", "groups", "reading"), key, strict=True))
        for one in own.itertuples():
            row[f"{one.size} printed"] = "" if np.isnan(one.printed) else f"{one.printed:g}"
            row[f"{one.size} measured"] = f"{one.mean:.4g} ({one.error:.1g})"
        rows.append(row)
    return pd.DataFrame(rows)


def _near(figures: pd.DataFrame) -> pd.DataFrame:
    """Count how many of the figures that were printed come near, by reading and measure."""
    known = figures.dropna()
    near = known.assign(near=(known["mean"] / known["printed"] - 1).abs() <= NEAR)
    by = ["method", "groups", "reading"]
    counted = near.pivot_table(index=by, columns="measure", values="near", aggfunc="sum", sort=False)
    return counted.assign(of=near.groupby([*by, "measure"]).size().groupby(by).first()).reset_index()
