"""How far tables of 2, 3 and 4 attributes are from the original, in the setting of Imran & Meo's Tables 5 and 6.

The paper leaves open what exactly was compared. What is chosen here:

- A network is a data set of 8000 records, drawn once. A table is asked for directly, of all of them, and its
  distance is to their own true table: there is no sampling error in it, for Laplace noise neither.
- RRBA has the p and the block size of the caption, no floor, and fakes that follow the last block (their negative
  cells cut). The Laplace noise is the two-sided geometric law of `CentralLaplace`.
- ℓ2 is the root of the squared differences of counts that add up to 8000, averaged over trials. (Of frequencies it
  is 8000 times smaller: no printed figure is below 59.)
- For Jensen–Shannon negative cells are cut and both tables are scaled to one; the paper says only the latter.

Several readings are measured of what the paper does not say:

- The estimate: the two-block average of its Section 5, the last block, all blocks (closed form, MLE), or the reports as
  they came, counted without Eq. 4.
- The Laplace noise: the scale 2m/ε as printed, or the sound 2/ε for one table; the ε of the caption, or the .25 that
  Section 7.3 says is that of "all our tests".
- The groups: any of the network's, or only groups of binary attributes (its Section 7.3 tests such tables). Every
  trial takes another one, so that the standard errors hold the spread between groups too.
- The respondents: 8000 as in the captions, or 1000, which is not printed, but brings some of the Laplace figures near.
- The measure: ℓ2 of the cells as they are, or cut and scaled; the divergence that the paper defines, or its root, a
  distance as its captions say; in nats or bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain
from ldpstats.datasets import network
from ldpstats.estimation.block_stack import TruthOrFakeStack
from ldpstats.numbers.arrays import FloatArray
from ldpstats.protocols.central import CentralLaplace
from ldpstats.protocols.rrba import RRBA
from ldpstats.tables import Table

RESPONDENTS, BLOCK = (8000, 1000), 250
SIZES = (2, 3, 4)
GROUPS = ("any", "binary")
MEASURES = {"l2": ("ℓ2", "ℓ2 cut"), "JS": ("JS", "√JS", "JS bits", "√JS bits")}
"""What the two printed measures may be; first what the paper defines."""
ALL_TESTS = 0.25
"""The ε of "all our tests", Section 7.3."""
SCALES = {"b = 2m/ε": "paper", "b = 2/ε": "sound"}
ESTIMATES = ("two blocks", "closed form", "mle")


@dataclass(frozen=True, slots=True)
class Setting:
    """What the caption of a printed table says."""

    table: int
    p: float
    epsilon: float


SETTINGS = {"5": Setting(5, 0.4, 0.35), "6": Setting(6, 0.5, 0.5)}


@dataclass(frozen=True, slots=True)
class Reading:
    """What is compared: of which method, in which way, in groups of which attributes, and of how many respondents."""

    method: str
    way: str
    groups: str
    respondents: int = RESPONDENTS[0]

    def __str__(self) -> str:
        return f"{self.way}, {self.groups} attributes, n = {self.respondents}"


def distances(true_counts: NDArray[np.int64], frequencies: FloatArray) -> dict[str, float]:
    """Return the measures of how far estimated frequencies are from a table of counts."""
    n = true_counts.sum()
    true, cut = true_counts / n, np.maximum(frequencies, 0)
    proper = cut / cut.sum()
    nats = jensen_shannon(true, proper)
    bits = nats / np.log(2)
    l2, l2_cut = (n * np.linalg.norm(found - true) for found in (frequencies, proper))
    found = (l2, l2_cut, nats, np.sqrt(nats), bits, np.sqrt(bits))
    return {name: float(one) for name, one in zip((*MEASURES["l2"], *MEASURES["JS"]), found, strict=True)}


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


def measure(setting: Setting, name: str, size: int, trials: int) -> dict[tuple[Reading, str], FloatArray]:
    """Return for every reading and measure what the trials give, about groups of one size of a network."""
    domain = network(name).domain
    codes = domain.encode(network(name).sample(RESPONDENTS[0], rng=4))
    found: dict[tuple[Reading, str], list[float]] = {}
    for (place, kind), n in product(enumerate(GROUPS), RESPONDENTS):
        rng = np.random.default_rng((4, setting.table, size, place, n))
        for group in groups_of(domain, kind, size, trials):
            own = domain.project(group)
            counts = np.bincount(domain.cells(codes[:n], group), minlength=own.size())
            for (method, way), frequencies in estimates(own, counts, setting, rng).items():
                for measured, distance in distances(counts, frequencies).items():
                    found.setdefault((Reading(method, way, kind, n), measured), []).append(distance)
    return {key: np.array(values) for key, values in found.items()}


def estimates(
    domain: Domain, counts: NDArray[np.int64], setting: Setting, rng: np.random.Generator
) -> dict[tuple[str, str], FloatArray]:
    """Ask for one table in both ways, and return its frequencies by every reading."""
    whole = [domain.names]
    (asked,) = RRBA(domain, p=setting.p, block_size=BLOCK, groups=whole).simulate(counts, rng)
    found = {("RRBA", way): asked.estimated_by(way).cells.estimate for way in ESTIMATES}
    found["RRBA", "last block"], found["RRBA", "reports as they came"] = _last_block(asked), _as_reported(asked)
    for (words, scale), epsilon in product(SCALES.items(), dict.fromkeys((setting.epsilon, ALL_TESTS))):
        (noisy,) = CentralLaplace(domain, epsilon=epsilon, scale=scale, groups=whole).simulate(counts, rng)
        found["Laplace", f"{words}, ε = {epsilon:g}"] = noisy.cells.estimate
    return found


def _last_block(table: Table) -> FloatArray:
    stack = TruthOrFakeStack.of(table.blocks[-1:])
    estimate: FloatArray = ((stack.counts / stack.n - stack.fakes) / stack.truth)[0]
    return estimate


def _as_reported(table: Table) -> FloatArray:
    reports: FloatArray = np.sum([block.tally.counts for block in table.blocks], axis=0) / table.n
    return reports
