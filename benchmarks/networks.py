"""Networks from privatized pairs: how many of the true edges are found, at which level, and how fast.

    python benchmarks/networks.py            all parts, some minutes on two processors
    python benchmarks/networks.py skeletons  some of them: skeletons, empty, exact, time

1. skeletons: F1 of the undirected edges; every respondent answers one pair, through "auto" mechanisms, at a strict
   total level ε; all else is at its defaults. Beside "auto", "pruned" and "chow-liu" stand Chow and Liu's tree of the
   plug-in information of each pair's own table, and that of the raw records, which nobody has.
2. empty: 12 independent attributes of 2 to 4 categories, some skewed; how many of 400 runs show any edge.
3. exact: at ε = 60 with everybody's whole record, the tree is that of pgmpy's TreeSearch on the raw records.
4. time: counts of alarm to edges, beside TreeSearch on raw records.

Seeds are 0, 1, 2, ...; what there was to choose was settled on seeds from 1000 on.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from multiprocessing import Pool

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.datasets import network
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.networks.interactions import plug_in_information
from ldpstats.networks.learning import NETWORK_METHODS
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.networks.structure import Edge, EdgeConstraints
from ldpstats.protocols.contract import LocalProtocol

SETTINGS: Mapping[tuple[str, int, float], str] = {
    ("child", 100_000, 4.0): ">= .82 (prototype .838)",
    ("child", 1_000_000, 2.0): ">= .85 (prototype .868)",
    ("survey", 1_000_000, 4.0): ">= .97 (prototype .992)",
    ("asia", 1_000_000, 4.0): ">= .88 (prototype .906)",
    ("sachs", 200_000, 4.0): ">= .62 (prototype .642)",
    ("alarm", 1_000_000, 4.0): ">= .61, stretch .66 (prototype .608)",
}
REPETITIONS, OF_ALARM = 20, 10
ALPHA = 0.05
OF_PAIRS = [name for name, method in NETWORK_METHODS.items() if method.of_pairs]
RUNS, MOST = 400, 35
MARGINS: Mapping[str, tuple[float, ...]] = {
    "a": (0.5, 0.5),
    "b": (0.9, 0.1),
    "c": (0.97, 0.03),
    "d": (0.3, 0.7),
    "e": (0.2, 0.3, 0.5),
    "f": (0.05, 0.15, 0.8),
    "g": (0.34, 0.33, 0.33),
    "h": (0.02, 0.08, 0.9),
    "i": (0.25, 0.25, 0.25, 0.25),
    "j": (0.7, 0.1, 0.1, 0.1),
    "k": (0.9, 0.05, 0.03, 0.02),
    "l": (0.6, 0.2, 0.15, 0.05),
}
EMPTY = ldp.Domain({name: list(range(len(shares))) for name, shares in MARGINS.items()})
COLLECTIONS: Mapping[str, tuple[LocalProtocol, int]] = {
    "SampledGroups, ε = 2": (ldp.SampledGroups(EMPTY, epsilon=2.0), 20_000),
    "WholeView, ε = 8": (ldp.WholeView(EMPTY, epsilon=8.0), 20_000),
    "HadamardCoefficients, ε = 3": (ldp.HadamardCoefficients(EMPTY, epsilon=3.0), 20_000),
}
ROWS = 20_000
OF_TIME = 1_000_000

Edges = set[frozenset[str]]


def f1(found: Edges, true: Edges) -> float:
    """Return the harmonic mean of precision and recall."""
    return 2 * len(found & true) / (len(found) + len(true))


def without_direction(edges: Iterable[Iterable[str]]) -> Edges:
    """Return edges as sets of two."""
    return set(map(frozenset, edges))


def learned(evidence: PairEvidence, method: str) -> Edges:
    """Return the edges that a method finds at the usual level."""
    return without_direction(NETWORK_METHODS[method].find(evidence, EdgeConstraints(), ALPHA).edges)


def tree_of(information: Mapping[Edge, float]) -> Edges:
    """Return the maximum spanning tree."""
    from networkx import Graph, maximum_spanning_edges

    graph: Graph[str] = Graph()
    graph.add_weighted_edges_from((*pair, weight) for pair, weight in information.items())
    return without_direction(maximum_spanning_edges(graph, data=False))


def plug_in_tree(tables: ldp.TableSet) -> Edges:
    """Return Chow and Liu's tree of what the pairs' own tables show, noise included."""
    information = {}
    for table in tables:
        first, second = table.attributes
        proper = nearest_proper(table.estimate.ravel()).reshape(table.shape)
        information[first, second] = float(plug_in_information(proper))
    return tree_of(information)


def tree_of_records(domain: ldp.Domain, records: pd.DataFrame) -> Edges:
    """Return Chow and Liu's tree of raw records."""
    codes = dict(zip(domain.names, domain.encode(records).T, strict=True))
    information = {}
    for first, second in combinations(domain.names, 2):
        rows, columns = domain.project((first, second)).shape
        counts = np.bincount(codes[first] * columns + codes[second], minlength=rows * columns)
        information[first, second] = float(plug_in_information(counts.reshape(rows, columns) / len(records)))
    return tree_of(information)


def skeletons(case: tuple[tuple[str, int, float], int]) -> dict[str, object]:
    """Return the F1 of every method in one collection."""
    (name, n, epsilon), seed = case
    net = network(name)
    records = net.sample(n, seed)
    tables = ldp.SampledGroups(net.domain, epsilon=epsilon).simulate(records, rng=seed + 10**6)
    true, evidence = without_direction(net.edges), PairEvidence.of(tables)
    found = {method: learned(evidence, method) for method in OF_PAIRS}
    found |= {"plug-in tree": plug_in_tree(tables), "tree of raw records": tree_of_records(net.domain, records)}
    setting = f"{name}, n = {n:,}, ε = {tables.privacy.epsilon:.4g} {tables.privacy.unit}"
    scores = {method: f1(edges, true) for method, edges in found.items()}
    return {"setting": setting, "asked": SETTINGS[name, n, epsilon], **scores}


def shows_an_edge(case: tuple[str, int]) -> dict[str, object]:
    """Say which methods find any edge among independent attributes."""
    kind, seed = case
    protocol, n = COLLECTIONS[kind]
    rng = np.random.default_rng(seed)
    people = pd.DataFrame({name: rng.choice(len(shares), n, p=shares) for name, shares in MARGINS.items()})
    evidence = PairEvidence.of(protocol.simulate(people, rng=rng))
    return {
        "collection": f"{kind}, n = {n:,}",
        **{method: bool(learned(evidence, method)) for method in OF_PAIRS},
    }


def tree_search(records: pd.DataFrame) -> Edges:
    """Return what pgmpy's TreeSearch finds in raw records."""
    with warnings.catch_warnings():
        # it stands nowhere else before pgmpy 1.3
        warnings.simplefilter("ignore", FutureWarning)
        from pgmpy.estimators import TreeSearch

    search = TreeSearch(records, root_node=records.columns[0], n_jobs=1)
    return without_direction(search.estimate(estimator_type="chow-liu", show_progress=False).edges())


def exact(case: tuple[str, int]) -> dict[str, object]:
    """Compare the tree of whole records, told almost without noise, with that of pgmpy."""
    name, seed = case
    net = network(name)
    records = net.sample(ROWS, seed)
    tables = ldp.ProductDomain(net.domain, epsilon=60.0).simulate(records, rng=seed + 10**6)
    same = learned(PairEvidence.of(tables), "chow-liu") == tree_search(records)
    return {"network": name, "the same tree": same}


def timed(action: Callable[[], object]) -> float:
    """Return the seconds that something takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def times() -> None:
    """Print how long alarm takes: from the counts of a million respondents, and from their raw records."""
    net = network("alarm")
    records = net.sample(OF_TIME, 0)
    tables = ldp.SampledGroups(net.domain, epsilon=4.0).simulate(records, rng=1)
    evidence = PairEvidence.of(tables)
    edges = timed(lambda: learned(PairEvidence.of(tables), "auto"))
    redraws = timed(lambda: list(evidence.redrawn(100, rng=1)))
    fitted = timed(lambda: ldp.learn_network(tables).network)
    print(f"alarm, counts of {OF_TIME:,} respondents: edges {edges:.1f} s, 100 redrawn sets {redraws:.1f} s")
    print(f"a fitted network with directions, intervals and confidence {fitted:.1f} s", flush=True)
    # categories as small integers, which it reads faster than words
    coded = pd.DataFrame(net.domain.encode(records), columns=list(net.domain.names))
    raw = timed(lambda: tree_search(coded))
    print(f"TreeSearch on {len(coded):,} raw records, no parameters: {raw:.1f} s, {raw / fitted:.0f} times as long")


def mean_and_error(scores: pd.Series[float]) -> str:
    """Return a mean with its standard error."""
    return f"{scores.mean():.3f} ± {scores.std() / np.sqrt(len(scores)):.3f}"


def main() -> None:
    """Run the parts that are named, or all."""
    parts = sys.argv[1:] or ["skeletons", "empty", "exact", "time"]
    with Pool(2) as pool:
        if "skeletons" in parts:
            many = {setting: OF_ALARM if setting[0] == "alarm" else REPETITIONS for setting in SETTINGS}
            cases = [(setting, seed) for setting, seeds in many.items() for seed in range(seeds)]
            frame = pd.DataFrame(pool.map(skeletons, cases, chunksize=1))
            print(frame.groupby(["setting", "asked"], sort=False).agg(mean_and_error).to_string(), flush=True)
        if "empty" in parts:
            runs = pool.map(shows_an_edge, [(kind, seed) for kind in COLLECTIONS for seed in range(RUNS)], chunksize=4)
            print(f"\nof {RUNS} runs, those that show any edge (at most {MOST})")
            print(pd.DataFrame(runs).groupby("collection", sort=False).sum().to_string(), flush=True)
        if "exact" in parts:
            both = pool.map(exact, [(name, seed) for name in ("survey", "asia") for seed in range(5)], chunksize=1)
            print(f"\n{pd.DataFrame(both).groupby('network', sort=False).mean().to_string()}", flush=True)
    if "time" in parts:
        times()


if __name__ == "__main__":
    main()
