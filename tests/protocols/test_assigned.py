"""The law of a collection: person by person and at the level of counts, against exact enumeration and moments."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2, norm
from support.shared import ways
from support.tiny_protocols import (
    FALSE_FAILURE_RATE,
    PATHS,
    THREE,
    TINY,
    Law,
    convolved,
    drawn,
    joint_counts,
    tally_laws,
)

from ldpstats import Domain, LdpstatsError, SampledGroups
from ldpstats.conformance.laws import fit_pvalue
from ldpstats.noise import NoiseModel

SMALL = {
    "grr, two pairs": SampledGroups(TINY, epsilon=3.0, mechanism="grr", groups=[("a", "b"), ("b", "c")]),
    "oue, two singles": SampledGroups(TINY, epsilon=3.0, mechanism="oue", groups=[["a"], ["b"]]),
    "ss, one pair": SampledGroups(TINY, epsilon=0.5, mechanism="ss", groups=[("b", "a")]),
    "grr, more groups than respondents": SampledGroups(
        TINY, epsilon=3.0, mechanism="grr", groups=[["a", "b"], ["a"], ["b"], ["c"]]
    ),
}


def exact_law(protocol: SampledGroups, frame: pd.DataFrame) -> Law:
    """Return the law of all tallies, one behind the other, by going through every order and every first group."""
    codes = protocol.domain.encode(frame)
    laws = [tally_laws(protocol, group) for group in protocol.groups]
    values = [protocol.domain.cells(codes, group) for group in protocol.groups]
    groups = len(protocol.groups)
    schedules = list(product(permutations(range(len(frame))), range(groups)))
    total: Law = defaultdict(float)
    for order, first in schedules:
        joint: Law = {(): 1 / len(schedules)}
        for group, (law, answers) in enumerate(zip(laws, values, strict=True)):
            tally: Law = {(0,) * len(next(iter(law[0]))): 1.0}
            for member in order[(group - first) % groups :: groups]:
                tally = convolved(tally, law[answers[member]])
            joint = {head + counts: p * q for (head, p), (counts, q) in product(joint.items(), tally.items())}
        for counts, p in joint.items():
            total[counts] += p
    return total


@pytest.mark.parametrize(("small", "path"), ways(list(SMALL), list(PATHS), 2))
def test_three_respondents_have_the_exact_law(small: str, path: str) -> None:
    protocol, n = SMALL[small], 600
    law = exact_law(protocol, THREE)
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    assert fit_pvalue(Counter(drawn(protocol, THREE, path, n, seed=2024)), law) > FALSE_FAILURE_RATE


def exact_moments(protocol: SampledGroups, frame: pd.DataFrame) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return mean and variance of all tallies, when each group's members are drawn without replacement."""
    codes, n = protocol.domain.encode(frame), len(frame)
    means, variances = [], []
    for place, group in enumerate(protocol.groups):
        size = len(range(place, n, len(protocol.groups)))
        matrix, offset = protocol.mechanism_for(group).noise.design()
        supported = (matrix + offset[:, None])[:, protocol.domain.cells(codes, group)]
        mean, total = supported.mean(axis=1), supported.sum(axis=1)
        two_members = (total**2 - (supported**2).sum(axis=1)) / (n * (n - 1)) - mean**2
        means.append(size * mean)
        variances.append(size * mean * (1 - mean) + size * (size - 1) * two_members)
    return np.concatenate(means), np.concatenate(variances)


def by_value(seen: np.ndarray[Any, Any], noises: list[NoiseModel]) -> np.ndarray[Any, Any]:
    """Add counts of whole sets up by value, of which there are enough to be as good as normal."""
    parts = np.split(seen, np.cumsum([noise.outputs for noise in noises])[:-1], axis=1)
    return np.hstack(
        [part if noise.members is None else part @ noise.members for part, noise in zip(parts, noises, strict=True)]
    )


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("mechanism", ["grr", "oue", "ss"])
def test_moments_of_a_larger_population(domain: Domain, people: pd.DataFrame, mechanism: str, path: str) -> None:
    # few groups and little noise, so that the fixed composition of the population shows in the variance
    protocol = SampledGroups(domain, epsilon=4.0, mechanism=mechanism, groups=[("age", "sex"), ("car", "sex")])
    frame, draws = people.head(800), 200
    mean, variance = exact_moments(protocol, frame)
    sums = [protocol.mechanism_for(group).finest.noise for group in protocol.groups]
    seen = by_value(np.array(list(drawn(protocol, frame, path, draws, seed=7))), sums)
    z = (seen.mean(axis=0) - mean) / np.sqrt(variance / draws)
    assert np.all(np.abs(z) < norm.isf(FALSE_FAILURE_RATE / 2))
    # the counts are sums of hundreds of bits, hence as good as normal
    spread = (draws - 1) * seen.var(axis=0, ddof=1) / variance
    assert np.all(np.minimum(chi2.sf(spread, draws - 1), chi2.cdf(spread, draws - 1)) > FALSE_FAILURE_RATE / 2)


def test_all_shapes_of_joint_counts_are_the_same_population(domain: Domain, people: pd.DataFrame) -> None:
    protocol, joint = SampledGroups(domain, epsilon=1.0), joint_counts(domain, people)
    whole = protocol.simulate(joint, rng=1).to_json()
    labelled = people.value_counts(subset=list(domain.names)).reindex(domain.index(), fill_value=0).to_numpy()
    for same in (joint.ravel(), joint.tolist(), joint.astype(float), labelled):
        assert protocol.simulate(same, rng=1).to_json() == whole
    assert protocol.simulate(np.zeros(12), rng=1).n == 0


def test_large_populations_cost_nothing_more(domain: Domain) -> None:
    tables = SampledGroups(domain, epsilon=1.0).simulate(np.full(12, 80_000_000), rng=1)
    assert [table.n for table in tables] == [320_000_000] * 3
    assert all(np.all(np.abs(table.estimate - 1 / table.estimate.size) < 4.9 * table.std_err) for table in tables)


@pytest.mark.parametrize(
    ("population", "told"),
    [
        (np.ones((2, 2, 3), dtype=int), r"shape \(2, 2, 3\).*\(12,\) or \(3, 2, 2\)"),
        (np.ones((1, 12), dtype=int), r"shape \(1, 12\)"),
        (np.ones(11, dtype=int), r"shape \(11,\)"),
        (5, r"int of shape \(\)"),
        ([[1], [1, 2]], "rows of different lengths"),
        (np.full(12, 1 / 12), "whole counts"),
        ([-1] + [1] * 11, "holds -1"),
        (["1"] * 12, "dtype"),
        ([2**62] * 12, "a population of 55,340,232,221,128,654,848.*parts"),
        ([10**9] + [0] * 11, "at most 999,999,999"),
        (pd.Series([1] * 12), r"counts\.reindex\(domain\.index\(\)"),
        (pd.DataFrame({"sex": ["F"]}), "no column 'age'"),
        (None, "shape"),
    ],
)
def test_other_populations_are_refused(domain: Domain, population: Any, told: str) -> None:
    with pytest.raises(LdpstatsError, match=told):
        SampledGroups(domain, epsilon=1.0).simulate(population, rng=1)


@pytest.mark.parametrize("path", PATHS)
def test_a_single_respondent_draws_her_group_uniformly(path: str) -> None:
    """300 clients of their own, with a χ² test at the false-failure rate."""
    protocol = SampledGroups(TINY, epsilon=1.0)
    rng, (verb, population_of) = np.random.default_rng(5), PATHS[path]
    population = population_of(TINY, THREE.head(1))
    sizes = np.sum([[table.n for table in getattr(protocol, verb)(population, rng)] for _ in range(300)], axis=0)
    assert sizes.sum() == 300
    assert chi2.sf(((sizes - 100) ** 2 / 100).sum(), 2) > FALSE_FAILURE_RATE
