"""How often the test of agreement rejects tables of one population, which `consistency_report` quotes.

All six pairs of four attributes, a pair per respondent, from an even population and from a skewed one whose rarest
cells hardly anyone is in. Seeds are fixed.
"""

from __future__ import annotations

from itertools import product
from multiprocessing import Pool

import numpy as np

import ldpstats as ldp
from ldpstats.consistency.agreement import agreement_of, shared_quantities
from ldpstats.consistency.marginals import marginals_of

DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q", "r"], "c": [1, 0], "d": ["u", "v"]})
SKEWED = np.einsum("a,b,c,d->abcd", [0.97, 0.03], [0.9, 0.08, 0.02], [0.95, 0.05], [0.5, 0.5])
POPULATIONS = {"even": np.full(DOMAIN.shape, 1 / DOMAIN.size()), "skewed": SKEWED}
REPORTS, LEVELS = (30, 170, 830), (1.0, 5.0, 10.0)
SETS = 1000

Case = tuple[int, float, str]


def rejected(case: Case, sets: int = SETS) -> float:
    """Return the share of sets that are rejected at .05."""
    reports, epsilon, population = case
    protocol, rng = ldp.SampledGroups(DOMAIN, k=2, epsilon=epsilon), np.random.default_rng([reports, int(epsilon)])
    count = 0
    for seed in range(sets):
        people = rng.multinomial(6 * reports, POPULATIONS[population].ravel())
        marginals = marginals_of(protocol.simulate(people, rng=seed))
        found = agreement_of(marginals, shared_quantities(marginals))
        count += found is not None and found.pvalue < 0.05
    return count / sets


def main() -> None:
    """Print the shares, a row per case."""
    cases = list(product(REPORTS, LEVELS, POPULATIONS))
    with Pool() as pool:
        shares = pool.map(rejected, cases)
    print(f"rejected at .05, of {SETS} sets of one population each")
    for (reports, epsilon, population), share in zip(cases, shares, strict=True):
        print(f"{reports:4d} reports a table  epsilon = {epsilon:4.1f}  {population:6s}  {share:.3f}")


if __name__ == "__main__":
    main()
