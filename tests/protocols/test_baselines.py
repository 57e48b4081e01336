"""All protocols of many attributes side by side: promises, exact laws on every path, files, rows, and who is best."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from io import StringIO
from itertools import permutations, product
from math import prod
from typing import Any

import numpy as np
import pandas as pd
import pytest
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

from ldpstats import Domain, DomainError, LdpstatsError, SampledGroups, TableSet
from ldpstats.conformance import exact_channel
from ldpstats.conformance.laws import fit_pvalue
from ldpstats.datasets import network
from ldpstats.envelope import sealed
from ldpstats.privacy import strict_epsilon, worst_ratio
from ldpstats.protocols.baselines import ProductDomain, WholeView
from ldpstats.protocols.central import CentralLaplace
from ldpstats.protocols.hadamard_coefficients import HadamardCoefficients
from ldpstats.protocols.per_attribute import PerAttribute

Make = Callable[..., Any]
LOCAL: dict[str, Make] = {
    "sampled groups": SampledGroups,
    "whole view": WholeView,
    "product domain": ProductDomain,
    "per attribute": PerAttribute,
    "per attribute, sampled": lambda domain, **options: PerAttribute(domain, sampled=True, **options),
    "per attribute, crossed": lambda domain, **options: PerAttribute(domain, k=2, **options),
    "per attribute, crossed bits": lambda domain, **options: PerAttribute(domain, mechanism="sue", k=2, **options),
    "hadamard coefficients": HadamardCoefficients,
}
ALL: dict[str, Make] = {
    **LOCAL,
    "central laplace": CentralLaplace,
    "central laplace, paper": lambda domain, **options: CentralLaplace(domain, scale="paper", **options),
}

each_local = pytest.mark.parametrize("kind", LOCAL)
each_protocol = pytest.mark.parametrize("kind", ALL)


def same(one: TableSet, other: TableSet) -> bool:
    return one.to_json() == other.to_json()


@each_local
@pytest.mark.parametrize("epsilon", [0.3, 1 / 3, 1, 4.0])
def test_no_respondent_spends_more_than_epsilon(kind: str, domain: Domain, epsilon: float) -> None:
    promised = LOCAL[kind](domain, epsilon=epsilon).privacy()
    assert epsilon - 1e-9 < promised.epsilon <= epsilon
    assert promised.unit == "a respondent's whole record"
    assert max(promised.per_group.values()) <= epsilon


@pytest.mark.parametrize("mechanism", ["grr", "oue", "auto"])
def test_a_whole_views_level_is_that_of_its_joint_channel(mechanism: str) -> None:
    """Brute force: all reports of a view together, for all records."""
    tiny = Domain({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1], "d": [0, 1]})
    protocol = WholeView(tiny, epsilon=1.3, mechanism=mechanism)
    levels = []
    for view in protocol.views:
        assert len(view) == 2
        channels = [exact_channel(protocol.mechanism_for(group)) for group in view]
        rows = []
        for laws in product(*channels):
            together = product(*(law.items() for law in laws))
            rows.append({tuple(r for r, _ in reports): prod(p for _, p in reports) for reports in together})
        levels.append(strict_epsilon(worst_ratio(rows)))
    assert max(levels) == protocol.privacy().epsilon
    assert 1.3 - 1e-9 < protocol.privacy().epsilon <= 1.3


def assigned_law(protocol: Any, units: Iterable[Iterable[tuple[str, ...]]], frame: pd.DataFrame) -> Law:
    """Return the law of all tallies, one behind the other, by going through every order and every first unit."""
    codes, listed = protocol.domain.encode(frame), [list(unit) for unit in units]
    laws = {group: tally_laws(protocol, group) for unit in listed for group in unit}
    values = {group: protocol.domain.cells(codes, group) for group in laws}
    schedules = list(product(permutations(range(len(frame))), range(len(listed))))
    total: Law = defaultdict(float)
    for order, first in schedules:
        joint: Law = {(): 1 / len(schedules)}
        for place, unit in enumerate(listed):
            members = order[(place - first) % len(listed) :: len(listed)]
            for group in unit:
                tally: Law = {(0,) * len(next(iter(laws[group][0]))): 1.0}
                for member in members:
                    tally = convolved(tally, laws[group][values[group][member]])
                joint = {head + counts: p * q for (head, p), (counts, q) in product(joint.items(), tally.items())}
        for counts, p in joint.items():
            total[counts] += p
    return total


def crossed_law(protocol: PerAttribute, frame: pd.DataFrame) -> Law:
    """Return the law of all tallies of crossed answers, by going through every randomized record of everyone."""
    domain = protocol.domain
    channels = [tally_laws(protocol, (name,)) for name in domain.names]
    total: Law = {(0,) * sum(domain.size(group) for group in protocol.groups): 1.0}
    for record in domain.encode(frame):
        one: Law = defaultdict(float)
        for sent in product(*(channel[value].items() for channel, value in zip(channels, record, strict=True))):
            randomized = np.array([[int(np.argmax(indicator)) for indicator, _ in sent]])
            tallies = [np.eye(domain.size(g), dtype=int)[domain.cells(randomized, g)[0]] for g in protocol.groups]
            one[tuple(np.concatenate(tallies).tolist())] += prod(p for _, p in sent)
        total = convolved(total, one)
    return total


def central_law(protocol: CentralLaplace, frame: pd.DataFrame) -> Law:
    """Return the law of the noisy counts, but for noise beyond three."""
    codes, joint = protocol.domain.encode(frame), {(): 1.0}
    for group in protocol.groups:
        decay = np.exp(-1 / protocol.law(group).scale)
        noise = {z: (1 - decay) / (1 + decay) * decay ** abs(z) for z in range(-3, 4)}
        for true in np.bincount(protocol.domain.cells(codes, group), minlength=protocol.domain.size(group)):
            joint = {(*head, int(true) + z): p * q for (head, p), (z, q) in product(joint.items(), noise.items())}
    return joint


VIEWS = WholeView(TINY, epsilon=3.0, mechanism="grr", groups=[("a", "b"), ["c"], ("b", "c")])
OUE_VIEW = WholeView(TINY, epsilon=4.0, mechanism="oue", groups=[["a"], ["b"]])
WHOLE = ProductDomain(TINY.project(["a", "b"]), epsilon=2.0)
SPLIT = PerAttribute(TINY, epsilon=3.0)
SINGLE = PerAttribute(TINY, epsilon=1.0, mechanism="sue", sampled=True)
CROSSED = PerAttribute(TINY, epsilon=3.0, k=2)
PART_CROSSED = PerAttribute(TINY, epsilon=3.0, groups=[("c", "a"), ["a"]])
CENTRAL = CentralLaplace(TINY, epsilon=8.0, groups=[("c", "a"), ["b"]])
SMALL: dict[str, tuple[Any, Callable[[], Law]]] = {
    "a view of two groups and one of one": (VIEWS, lambda: assigned_law(VIEWS, VIEWS.views, THREE)),
    "a view of two, oue": (OUE_VIEW, lambda: assigned_law(OUE_VIEW, OUE_VIEW.views, THREE)),
    "product domain": (WHOLE, lambda: assigned_law(WHOLE, [WHOLE.groups], THREE)),
    "per attribute": (SPLIT, lambda: assigned_law(SPLIT, [[(name,) for name in "abc"]], THREE)),
    "per attribute, sampled": (SINGLE, lambda: assigned_law(SINGLE, [[(name,)] for name in "abc"], THREE)),
    "per attribute, crossed": (CROSSED, lambda: crossed_law(CROSSED, THREE)),
    "central laplace": (CENTRAL, lambda: central_law(CENTRAL, THREE)),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("small", SMALL)
def test_three_respondents_have_the_exact_law(small: str, path: str) -> None:
    (protocol, exact), n = SMALL[small], 500
    law = exact()
    assert sum(law.values()) == pytest.approx(1, abs=0.02 if protocol is CENTRAL else 1e-12)
    seen = Counter(drawn(protocol, THREE, path, n, seed=2025))
    if protocol is CENTRAL:  # whose law has no end: what is far out counts together
        seen = Counter({counts: times for counts, times in seen.items() if counts in law})
        law[()], seen[()] = 1 - sum(law.values()), n - sum(seen.values())
    assert fit_pvalue(seen, law) > FALSE_FAILURE_RATE


@pytest.mark.parametrize("path", PATHS)
def test_crossed_tables_of_some_attributes_have_the_exact_law(path: str) -> None:
    """The attribute that is in no group is not asked for: the law is that of the domain without it."""
    alone = PerAttribute(TINY.project(["a", "c"]), epsilon=3.0, groups=PART_CROSSED.groups)
    seen = Counter(drawn(PART_CROSSED, THREE, path, 500, seed=7))
    assert fit_pvalue(seen, crossed_law(alone, THREE)) > FALSE_FAILURE_RATE


@each_protocol
def test_protocols_travel_as_json(kind: str, domain: Domain, people: pd.DataFrame) -> None:
    protocol = ALL[kind](domain, epsilon=0.7)
    again = type(protocol).from_json(protocol.to_json())
    assert again == protocol
    assert again.to_json() == protocol.to_json()
    assert again.fingerprint() == protocol.fingerprint()
    assert same(again.collect(people, rng=1), protocol.collect(people, rng=1))
    assert same(again.simulate(people, rng=1), protocol.simulate(people, rng=1))
    tables = protocol.collect(people, rng=1)
    assert same(TableSet.from_json(tables.to_json()), tables)
    assert tables.privacy == protocol.privacy()


@each_protocol
def test_damaged_and_foreign_files_are_refused(kind: str, domain: Domain) -> None:
    protocol = ALL[kind](domain, epsilon=0.7)
    whole = protocol.to_json()
    plain = json.loads(whole)["body"]
    damage: dict[str, list[Any]] = {
        "epsilon": [0, "1", None, [1]],
        "domain": [{}, None, [1]],
        "kind": ["rrba", None],
    }
    damage |= {name: [[], [5], [["age", "height"]], None] for name in ("groups", "views") if name in plain}
    damage |= {name: ["x", None] for name in ("mechanism", "scale") if name in plain}
    damage |= {"sampled": ["yes", None, 1], "more": [1]}
    texts = [sealed("protocol", 1, plain | {name: value}) for name, values in damage.items() for value in values]
    texts += [sealed("protocol", 1, {name: value for name, value in plain.items() if name != left}) for left in plain]
    texts += [other(domain, epsilon=0.7).to_json() for other in ALL.values()]
    for text in [*texts, *(whole[:cut] for cut in range(0, len(whole), 9)), "[]", "null", "[" * 100_000, None, 3]:
        if _same_kind(text, plain):
            continue
        with pytest.raises(LdpstatsError, match=r"not a saved protocol|a saved protocol of the kind"):
            type(protocol).from_json(text)


def _same_kind(text: Any, plain: dict[str, Any]) -> bool:
    """Say whether a text is a whole file of the same kind of protocol, perhaps with other parameters."""
    return text in {make(Domain(plain["domain"]), epsilon=0.7).to_json() for make in ALL.values()} and (
        json.loads(text)["body"]["kind"] == plain["kind"]
    )


def test_fingerprints_tell_protocols_apart(domain: Domain) -> None:
    pair = domain.project(["sex", "car"])
    for asked, level in ((domain, 1.0), (domain, 2.0), (pair, 1.0), (pair, 2.0)):
        marks = {kind: make(asked, epsilon=level).fingerprint() for kind, make in ALL.items()}
        assert len(set(marks.values())) == len(ALL)
        assert not set(marks.values()) & {make(asked, epsilon=1.5).fingerprint() for make in ALL.values()}


@each_local
def test_rows_that_travelled_count_like_collect(kind: str, domain: Domain, people: pd.DataFrame) -> None:
    protocol = LOCAL[kind](domain, epsilon=2.0)
    rows = protocol.reports(people.head(300), rng=5)
    expected = protocol.collect(people.head(300), rng=5)
    assert same(protocol.tables(rows), expected)
    assert same(protocol.tables(pd.read_csv(StringIO(rows.to_csv(index=False)))), expected)
    assert same(protocol.tables(rows.sample(frac=1, random_state=1)), expected)
    secret = protocol.reports(people.head(300))
    assert not secret["simulated"].any()
    assert not same(protocol.tables(secret), protocol.collect(people.head(300)))


@each_local
def test_rows_of_another_protocol_are_refused(kind: str, domain: Domain, people: pd.DataFrame) -> None:
    rows = LOCAL[kind](domain, epsilon=1.0).reports(people.head(20), rng=1)
    for other, make in LOCAL.items():
        if other != kind:
            with pytest.raises(LdpstatsError, match="rows of another protocol"):
                make(domain, epsilon=1.0).tables(rows)


@each_protocol
@pytest.mark.parametrize("n", [0, 1, 2])
def test_few_or_no_respondents(kind: str, domain: Domain, people: pd.DataFrame, n: int) -> None:
    protocol, frame = ALL[kind](domain, epsilon=1.0), people.head(n)
    populations = [frame, joint_counts(domain, frame)]
    collected = [protocol.collect(frame, rng=1), *(protocol.simulate(one, rng=1) for one in populations)]
    if kind in LOCAL:
        collected.append(protocol.tables(protocol.reports(frame, rng=1)))
    for tables in collected:
        assert len(tables) == len(protocol.groups)
        assert n / len(tables) <= max(table.n for table in tables) <= n
        assert same(TableSet.from_json(tables.to_json()), tables)
        assert "privacy" in tables.summary()


@each_protocol
def test_bad_answers_are_refused_before_anything_is_sent(kind: str, domain: Domain, people: pd.DataFrame) -> None:
    protocol = ALL[kind](domain, epsilon=1.0)
    frames = {
        r"no column 'car'": people.drop(columns="car"),
        r"column 'sex' has the unknown category 'X' in row 7": people.assign(
            sex=people["sex"].where(people.index != 7, "X")
        ),
        r"column 'age' has the missing value nan in row 0": people.assign(age=people["age"].where(people.index > 0)),
    }
    uses = [protocol.collect, protocol.simulate, *([protocol.reports] if kind in LOCAL else [])]
    for (told, frame), use in product(frames.items(), uses):
        with pytest.raises(DomainError, match=told):
            use(frame, rng=1)
    with pytest.raises(DomainError, match="data of type ndarray"):
        protocol.collect(people.to_numpy())
    with pytest.raises(LdpstatsError, match=r"shape \(5,\)"):
        protocol.simulate(np.ones(5, dtype=int), rng=1)


@each_protocol
def test_a_category_nobody_chose_is_estimated_like_any_other(kind: str, people: pd.DataFrame) -> None:
    domain = Domain({"sex": ["F", "M", "other"], "car": ["yes", "no"]})
    protocol = ALL[kind](domain, epsilon=4.0)
    truth = joint_counts(domain, people) / len(people)
    for tables in (protocol.collect(people, rng=1), protocol.simulate(joint_counts(domain, people), rng=2)):
        for table in tables:
            axes = [domain.names.index(name) for name in table.attributes]
            true = np.moveaxis(truth, axes, range(len(axes))).sum(axis=tuple(range(len(axes), 2)))
            # 4.9 standard errors: a false-failure rate of 1e-6 for each cell
            assert np.all(np.abs(table.estimate - true) < 4.9 * table.std_err)


def summed_variance(protocol: Any, share: float) -> float:
    """Return the exact variances of all cells of all pairs of the survey network, over n respondents, n times."""
    survey = network("survey")
    noise = {table.attributes: table.blocks[0].noise for table in protocol.simulate(np.ones(survey.domain.shape, int))}
    traces = [np.trace(noise[group].covariance(survey.pair(*group).ravel())) for group in protocol.groups]
    return float(np.sum(traces)) / share


@pytest.mark.parametrize(("epsilon", "ratio"), [(1.0, 3.28), (2.0, 3.92), (4.0, 2.76)])
def test_one_sampled_group_beats_a_whole_view_at_equal_strict_epsilon(epsilon: float, ratio: float) -> None:
    domain = network("survey").domain
    sampled, view = SampledGroups(domain, epsilon=epsilon), WholeView(domain, epsilon=epsilon)
    assert abs(sampled.privacy().epsilon - view.privacy().epsilon) < 1e-9
    assert (len(sampled.groups), len(view.views)) == (15, 5)
    found = summed_variance(view, 1 / 5) / summed_variance(sampled, 1 / 15)
    assert found == pytest.approx(ratio, abs=0.01)


@pytest.mark.parametrize(("epsilon", "ratio"), [(1.0, 64.6), (2.0, 20.0), (4.0, 4.3)])
def test_one_sampled_group_beats_crossed_answers_at_equal_strict_epsilon(epsilon: float, ratio: float) -> None:
    """Crossed answers speak of every pair, but each with the noise of two sixths of the budget, multiplied."""
    domain = network("survey").domain
    sampled, crossed = SampledGroups(domain, epsilon=epsilon), PerAttribute(domain, epsilon=epsilon, k=2)
    found = summed_variance(crossed, 1) / summed_variance(sampled, 1 / 15)
    assert found == pytest.approx(ratio, abs=0.05)
