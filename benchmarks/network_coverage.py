"""How often 95 % intervals of a network's parameters, and of queries of it, hold the truth; its edges are given.

Networks are survey and asia as they are, asked in triples, so that nobody's parents were not asked together; and their
trees (every attribute with the first of its parents alone, the tables as they follow from the network), asked in pairs.
Queries are of one attribute given one or two others, any categories, among them evidence of one in a hundred and
rarer: 25 different ones of each network, drawn with a fixed seed. From 10,000 to 1,000,000 respondents, ε from 1 to 4,
"auto" mechanisms. A point is one query, or one parameter, in one setting.

Asked for are .93 on average in every setting, and .90 at any point, as far as so many runs can tell: a point counts as
missed if as few hits had a chance below 1 in 1,000 at .90. The exit code is 1 if anything is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from multiprocessing import Pool

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom
from tqdm import tqdm

import ldpstats as ldp
from ldpstats.datasets import network
from ldpstats.networks import fit_parameters, query

Row = dict[str, object]
MEAN, ANYWHERE, CHANCE = 0.93, 0.90, 1e-3
RUNS, QUERIES, PROCESSES = 100, 25, 2
LEVELS = ((10_000, 1.0), (100_000, 1.0), (1_000_000, 1.0), (10_000, 4.0), (100_000, 2.0), (1_000_000, 4.0))
ROUNDING = 1e-9


@dataclass(frozen=True)
class Setting:
    """A network, how it is asked, and by how many."""

    name: str
    tree: bool
    n: int
    epsilon: float
    runs: int = RUNS

    @property
    def truth(self) -> ldp.BayesianNetwork:
        """The network, or its tree."""
        known = network(self.name)
        parents = {name: own[:1] if self.tree else own for name, own in known.parents.items()}
        tables = {}
        for name, own in parents.items():
            joint = known.joint([name, *own])
            totals = joint.sum(axis=0, keepdims=True)
            tables[name] = np.divide(joint, totals, out=np.full(joint.shape, 1 / len(joint)), where=totals > 0)
        return ldp.BayesianNetwork(known.domain, parents, tables)

    def queries(self) -> list[tuple[str, dict[str, str], int]]:
        """Return what is asked of it: an attribute, what is given, and which category is looked at."""
        rng, truth = np.random.default_rng(17), self.truth
        found = []
        while len(found) < QUERIES:
            names = rng.choice(truth.domain.names, rng.integers(2, 4), replace=False).tolist()
            places = [int(rng.integers(len(truth.domain.categories[name]))) for name in names]
            if truth.joint(names[1:])[tuple(places[1:])] > ROUNDING:
                given = {
                    name: truth.domain.categories[name][at] for name, at in zip(names[1:], places[1:], strict=True)
                }
                one = (names[0], given, places[0])
                found += [one] if one not in found else []
        return found


def settings() -> Iterator[Setting]:
    """Return the grid."""
    for name, tree, (n, epsilon) in product(("survey", "asia"), (True, False), LEVELS):
        yield Setting(name, tree, n, epsilon)


def measure(setting: Setting) -> list[Row]:
    """Return a row per query and per parameter: how often its interval held the truth, and its average width."""
    truth, asked = setting.truth, setting.queries()
    protocol = ldp.SampledGroups(truth.domain, k=2 if setting.tree else 3, epsilon=setting.epsilon)
    cells = truth.joint(truth.domain.names).ravel()
    right = np.array([query(truth, of, given).estimate[at] for of, given, at in asked])
    of_queries, of_parameters = [], []
    for run in range(setting.runs):
        rng = np.random.default_rng(20_000 + run)
        fitted = fit_parameters(protocol.simulate(rng.multinomial(setting.n, cells / cells.sum()), rng=rng), truth)
        frame = fitted.to_frame()
        of_queries.append([fitted.query(of, given).conf_int()[at] for of, given, at in asked])
        of_parameters.append(frame[["lower", "upper"]].to_numpy())
    labels = [f"P({of} {at} | {given})" for of, given, at in asked]
    named = [f"P({one} = {category} | {given})" for one, category, given in frame.iloc[:, :3].itertuples(index=False)]
    parameters = np.concatenate([_given(truth, name, own) for name, own in fitted.network.parents.items()])
    return [
        *_rows(setting, "query", labels, right, np.array(of_queries)),
        *_rows(setting, "parameter", named, parameters, np.array(of_parameters)),
    ]


def _given(truth: ldp.BayesianNetwork, name: str, own: tuple[str, ...]) -> NDArray[np.float64]:
    """Return the parameters of an attribute as `to_frame` orders them; nan where nobody is who has the parents'."""
    joint = truth.joint([name, *own])
    totals = np.broadcast_to(joint.sum(axis=0), joint.shape)
    return np.divide(joint, totals, out=np.full(joint.shape, np.nan), where=totals > ROUNDING).ravel()


def _rows(
    setting: Setting, kind: str, labels: list[str], truth: NDArray[np.float64], limits: NDArray[np.float64]
) -> Iterator[Row]:
    """Yield a row per point; `limits` have the shape (runs, points, 2)."""
    held = (limits[..., 0] <= truth + ROUNDING) & (truth - ROUNDING <= limits[..., 1])
    for place, label in enumerate(labels):
        if np.isfinite(truth[place]):
            width = float(np.diff(limits[:, place], axis=-1).mean())
            found = {"label": label, "truth": truth[place], "held": int(held[:, place].sum()), "width": width}
            yield {"kind": kind, **asdict(setting), **found}


def by_setting(points: pd.DataFrame) -> pd.DataFrame:
    """Return what is asked for, setting by setting."""
    points = points.assign(share=points.held / points.runs)
    points["missed"] = binom.cdf(points.held, points.runs, ANYWHERE) < CHANCE
    groups = points.groupby(["kind", "name", "tree", "n", "epsilon"])
    found = groups.agg(
        points=("share", "size"), mean=("share", "mean"), least=("share", "min"), width=("width", "mean")
    )
    return found.assign(missed=groups.missed.sum())


def main() -> int:
    """Run the study."""
    with Pool(PROCESSES) as pool:
        found = list(tqdm(pool.imap_unordered(measure, list(settings())), total=len(list(settings()))))
    points = pd.DataFrame([row for rows in found for row in rows])
    shown = by_setting(points)
    print(shown.round(3).to_string())
    worst = points.assign(share=points.held / points.runs).sort_values("share").head(15)
    print("\nthe fewest hits\n", worst[["kind", "name", "tree", "n", "epsilon", "label", "truth", "share"]].to_string())
    missed = int(shown.missed.sum()) + int((shown["mean"] < MEAN).sum())
    print(f"\n{missed} missed")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
