"""Tables nobody collected, from tables that were: how near each way of putting them together comes to the truth.

1. Four attributes from pairs (GRR, one pair per respondent): every four of the network survey, and every seventh four
   of asia; figures are means over these and the repetitions, with the respondents drawn anew.
2. Three attributes of child and alarm, at one strict level per respondent: from pairs, from views that CALM chooses, by
   LoPub, and asked for directly; the same random triples for all of them.

ℓ2 is the length of the difference of the frequencies, the Jensen-Shannon divergence is in nats, and the total variation
is half the sum of absolute differences. Seeds are fixed.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from multiprocessing import Pool

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.consistency.calm import calm_views
from ldpstats.consistency.measures import jensen_shannon, l2, total_variation
from ldpstats.consistency.reconstruction_methods import RECONSTRUCTION_METHODS
from ldpstats.datasets import Network, network
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.networks.lopub import lopub
from ldpstats.numbers.arrays import FloatArray

COLUMNS = (("survey", 8_000, 2.0), ("survey", 100_000, 4.0), ("asia", 100_000, 1.0), ("asia", 100_000, 4.0))
ASKED: Mapping[str, tuple[str, ...]] = {
    "l2": (".067/.026", ".025/.0075", ".040/.0130", ".017/.0045"),
    "l1": (".070/.019", ".015/.0011", ".037/.0110", ".016/.0029"),
    "elastic-net": (".077/.024", ".015/.0012", ".039/.0122", ".017/.0037"),
    "max-entropy": (".066/.020", ".0107/.0004", ".038/.0120", ".0098/.0014"),
    "em": (".066/.020", ".0106/.0004", ".034/.0091", ".0098/.0014"),
    "shrinkage": (".036/.005", ".0108/.0004", ".048/.0158", ".012/.0021"),
}
REPETITIONS = 10
TRIPLES, RESPONDENTS = 20, 100_000
COLLECTIONS = (("child", 1.0), ("child", 4.0), ("alarm", 1.0), ("alarm", 4.0))

Attributes = tuple[str, ...]


def found(tables: ldp.TableSet, attributes: Attributes, method: str) -> FloatArray:
    """Return a table without its covariance."""
    target, way = tables.domain.project(attributes), RECONSTRUCTION_METHODS[method]
    return way.fit(way.choose(list(tables), target)[0], target).proportions


def put_together(tables: ldp.TableSet, attributes: Attributes) -> dict[str, FloatArray]:
    """Return the table of these attributes by every way, without covariances."""
    return {name: found(tables, attributes, name) for name in RECONSTRUCTION_METHODS}


def errors_of_fours(case: tuple[tuple[str, int, float], int]) -> pd.DataFrame:
    """Return the mean errors of every way in one repetition."""
    (name, n, epsilon), repetition = case
    net, rng = network(name), np.random.default_rng([repetition, n, int(10 * epsilon)])
    pairs = ldp.SampledGroups(net.domain, k=2, epsilon=epsilon, mechanism="grr")
    tables = pairs.simulate(net.sample(n, rng), rng=rng)
    rows = []
    for four in list(combinations(net.domain.names, 4))[:: 1 if len(net.domain) < 8 else 7]:
        truth = net.joint(four).ravel()
        for way, estimate in put_together(tables, four).items():
            rows.append({"way": way, "l2": l2(estimate, truth), "js": jensen_shannon(estimate, truth)})
    means = pd.DataFrame(rows).groupby("way", sort=False).mean()
    return means.assign(setting=f"{name}, n = {n:,}, ε = {epsilon:g}").reset_index()


def table_of_fours(measured: pd.DataFrame) -> str:
    """Return ℓ2/JS, a block per setting and a row per way, beside what was asked."""
    blocks = []
    for place, (setting, part) in enumerate(measured.groupby("setting", sort=False)):
        means = part.groupby("way")[["l2", "js"]].mean().loc[list(ASKED)]
        means["asked (l2/js)"] = [asked[place] for asked in ASKED.values()]
        blocks.append(f"{setting}\n{means.to_string(float_format='{:.4f}'.format)}")
    return "\n\n".join(blocks)


def errors_of_triples(case: tuple[str, float]) -> pd.Series:
    """Return the mean total variation of tables of random triples, from one collection of every kind."""
    name, epsilon = case
    net, rng = network(name), np.random.default_rng([len(name), int(epsilon)])
    people = net.sample(RESPONDENTS, rng)
    triples = [tuple(map(str, rng.choice(net.domain.names, 3, replace=False))) for _ in range(TRIPLES)]
    pairs = ldp.SampledGroups(net.domain, k=2, epsilon=epsilon).simulate(people, rng=rng)
    direct = ldp.SampledGroups(net.domain, k=3, epsilon=epsilon).simulate(people, rng=rng)
    design = calm_views(net.domain, RESPONDENTS, epsilon, k=3)
    views = design.protocol().simulate(people, rng=rng)
    crossed = ldp.PerAttribute(net.domain, epsilon=epsilon, k=2)
    model = lopub(crossed, crossed.reports(people, rng=rng))
    ways = {
        "independence, margins known": lambda three: independent(net, three),
        "asked for directly": lambda three: nearest(direct[three]),
        "pairs, max-entropy": lambda three: found(pairs, three, "max-entropy"),
        "pairs, shrinkage": lambda three: found(pairs, three, "shrinkage"),
        "views of CALM, max-entropy": lambda three: found(views, three, "max-entropy"),
        "LoPub": lambda three: model.marginal(three).ravel(),
    }
    errors = {
        way: np.mean([total_variation(made(three), net.joint(three).ravel()) for three in triples])
        for way, made in ways.items()
    }
    views_in_words = f"{len(design.views)} of {max(map(len, design.views))}"
    return pd.Series({**errors, "views": views_in_words}, name=f"{name}, ε = {epsilon:g}")


def nearest(table: ldp.Table) -> FloatArray:
    """Return the proper proportions nearest to a table."""
    return nearest_proper(table.estimate.ravel())


def independent(net: Network, attributes: Attributes) -> FloatArray:
    """Return the product of the true margins."""
    product = np.ones(1)
    for name in attributes:
        product = np.kron(product, net.joint((name,)))
    return product


def main() -> None:
    """Measure on two processors and print the figures beside those asked for."""
    with Pool(2) as pool:
        cases = [(column, repetition) for column in COLUMNS for repetition in range(REPETITIONS)]
        measured = pd.concat(pool.map(errors_of_fours, cases, chunksize=1))
        print(f"1. Four attributes from pairs, means over {REPETITIONS} collections\n")
        print(table_of_fours(measured), flush=True)
        print(f"\n2. Total variation of {TRIPLES} random triples, {RESPONDENTS:,} respondents, the same strict level\n")
        print(pd.DataFrame(pool.map(errors_of_triples, COLLECTIONS, chunksize=1)).T.to_string())


if __name__ == "__main__":
    main()
