"""How much a Monte Carlo p-value costs: 10,000 tables drawn and tested, against drawing alone.

Every ratio is measured in this one run. The limit is one bare call of numpy's multinomial for as many tables;
the peer is per-user simulation, vectorised, of the same reports.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from timing import best_time

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.statistics import ScoreStatistic

TABLES = 10_000
ROWS = COLUMNS = 4
REPETITIONS = 7
PEER_REPETITIONS = 3
PEER_RESPONDENTS = 100_000


def measure(name: str, n: int) -> dict[str, object]:
    """Time drawing alone, drawing through the noise, and the whole Monte Carlo p-value."""
    cells = ROWS * COLUMNS
    margin = np.array([0.4, 0.3, 0.2, 0.1])
    frequencies = np.outer(margin, margin).ravel()
    mechanism = ldp.mechanism(name, k=cells, epsilon=1.0)
    numbers = np.random.default_rng(1)
    tally = mechanism.simulate(numbers.multinomial(n, frequencies), rng=numbers)
    block = Block(Question(("row", "column"), (ROWS, COLUMNS), tuple(range(cells))), tally)
    evidence = BlockEvidence.observed([block])
    statistic = ScoreStatistic(ProductOfConditionals.independent((ROWS, COLUMNS)), evidence, cells)
    null = statistic(evidence).frequencies[0]
    monte_carlo = ldp.MonteCarlo(TABLES, rng=2)
    bare = best_time(lambda: numbers.multinomial(n, frequencies, size=TABLES), REPETITIONS)
    drawn = best_time(lambda: evidence.replicates(frequencies, TABLES, numbers))
    whole = best_time(lambda: monte_carlo.pvalue(statistic, evidence, null))
    return {
        "mechanism": name,
        "n": f"{n:.0e}",
        "bare multinomial, ms": 1e3 * bare,
        "drawn through noise, ratio": drawn / bare,
        "drawn and tested, ratio": whole / bare,
    }


def against_users(name: str) -> float:
    """Return how many times longer it takes to simulate the users behind a table than to draw its counts."""
    cells = ROWS * COLUMNS
    mechanism = ldp.mechanism(name, k=cells, epsilon=1.0)
    numbers = np.random.default_rng(3)
    uniform = np.full(cells, 1 / cells)

    def users() -> object:
        values = numbers.integers(0, cells, PEER_RESPONDENTS)
        return mechanism.count(mechanism.privatize(values, rng=numbers))

    counts = best_time(lambda: mechanism.noise.draw(uniform, PEER_RESPONDENTS, TABLES, numbers)) / TABLES
    return best_time(users, PEER_REPETITIONS) / counts


def main() -> None:
    """Print both comparisons."""
    print(f"{TABLES:,} Monte Carlo tables, {ROWS} x {COLUMNS}, epsilon = 1 (least of {REPETITIONS} runs)\n")
    rows = [measure(name, n) for name in ("grr", "oue", "ss") for n in (10**6, 10**9)]
    print(pd.DataFrame(rows).to_string(index=False, float_format="{:.1f}".format))
    print(f"\nOne table of {PEER_RESPONDENTS:,} respondents: simulating users / drawing counts\n")
    for name in ("grr", "oue", "ss"):
        print(f"{name}  {against_users(name):,.0f}")


if __name__ == "__main__":
    main()
