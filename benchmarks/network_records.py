"""Synthetic records: how likely real people's records are under networks that were learned privately, and otherwise.

Respondents are drawn anew in every repetition, and 20,000 others whose records nobody learns from. Beside each other:

- the network that `learn_network` finds with everything at its defaults, from one pair of each respondent at strict ε;
- a network of the same method from 100,000 records that were drawn of it: synthetic records, used in place of people;
- the network of the raw records: pgmpy's tree (Chow & Liu) with even pseudo-counts of one in all;
- LoPub at the same ε per respondent, which is split over all attributes;
- the empty network, of the same private reports: attributes that have nothing to do with each other;
- the truth that all were drawn from.

Log-likelihoods are in nats per record, means over repetitions with their standard error. A record of probability zero
would make the mean infinite: the share of such records is stated, and the mean is then that of the others.
Seeds are fixed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from multiprocessing import Pool
from typing import Any

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.datasets import network
from ldpstats.networks.lopub import lopub
from ldpstats.networks.parameters import fit_parameters

SETTINGS = (("survey", 100_000, 2.0), ("asia", 100_000, 4.0), ("sachs", 200_000, 4.0), ("child", 100_000, 4.0))
REPETITIONS, HELD_OUT, SYNTHETIC = 5, 20_000, 100_000

Made = Mapping[str, Callable[[], ldp.BayesianNetwork]]


def of_raw_records(people: pd.DataFrame, domain: ldp.Domain) -> ldp.BayesianNetwork:
    """Return pgmpy's tree of the raw records, with parameters of its own estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of modules that pgmpy will move
        from pgmpy.estimators import TreeSearch
        from pgmpy.models import DiscreteBayesianNetwork
        from pgmpy.parameter_estimator import DiscreteBayesianEstimator

        edges = TreeSearch(people, n_jobs=1).estimate(estimator_type="chow-liu", show_progress=False).edges()
        model = DiscreteBayesianNetwork(edges)
        model.add_nodes_from(domain.names)
        states = {name: list(known) for name, known in domain.categories.items()}
        model.fit(people, DiscreteBayesianEstimator(state_names=states, equivalent_sample_size=1))
    return ldp.BayesianNetwork.from_pgmpy(model)


def networks(name: str, people: pd.DataFrame, epsilon: float, rng: np.random.Generator) -> Made:
    """Return the ways to a network, each to be gone when it is asked for."""
    truth = network(name)
    tables = ldp.SampledGroups(truth.domain, epsilon=epsilon).simulate(people, rng=rng)
    private = ldp.learn_network(tables, n_resamples=0).network
    synthetic = private.sample(SYNTHETIC, rng)
    crossed = ldp.PerAttribute(truth.domain, epsilon=epsilon, k=2)
    return {
        "private": lambda: private,
        "of synthetic records": lambda: of_raw_records(synthetic, truth.domain),
        "of raw records": lambda: of_raw_records(people, truth.domain),
        "LoPub": lambda: lopub(crossed, crossed.reports(people, rng=rng)).network,
        "empty": lambda: fit_parameters(tables, dict.fromkeys(truth.domain.names, ())).network,
        "truth": lambda: truth,
    }


def measured(case: tuple[tuple[str, int, float], int]) -> pd.DataFrame:
    """Return the log-likelihood of held-out records under every network of one repetition."""
    (name, n, epsilon), repetition = case
    rng = np.random.default_rng([repetition, n, int(10 * epsilon)])
    people, others = network(name).sample(n, rng), network(name).sample(HELD_OUT, rng)
    rows: list[dict[str, Any]] = []
    for way, made in networks(name, people, epsilon, rng).items():
        logs = made().log_likelihood(others)
        possible = np.isfinite(logs)
        rows.append({"network": way, "nats per record": logs[possible].mean(), "impossible": 1 - possible.mean()})
    return pd.DataFrame(rows).assign(setting=f"{name}, n = {n:,}, ε = {epsilon:g}")


def main() -> None:
    """Print a block per setting."""
    cases = [(setting, repetition) for setting in SETTINGS for repetition in range(REPETITIONS)]
    with Pool(2) as pool:
        found = pd.concat(pool.map(measured, cases, chunksize=1))
    for setting, part in found.groupby("setting", sort=False):
        by_way = part.groupby("network", sort=False)
        table = by_way["nats per record"].agg(["mean", "sem"]).assign(impossible=by_way["impossible"].mean())
        print(f"{setting} ({REPETITIONS} repetitions)\n{table.to_string(float_format='{:.4f}'.format)}\n", flush=True)


if __name__ == "__main__":
    main()
