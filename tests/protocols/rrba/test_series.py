"""The law of RRBA: every adaptive course of small collections, enumerated, against all the ways to collect."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from math import inf
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.comparisons import FALSE_FAILURE_RATE
from support.parameters import ways

from ldpstats import RRBA, Domain
from ldpstats.conformance.requirements import fit_pvalue
from ldpstats.estimation import TABLE_METHODS
from ldpstats.tables import TableSet
from ldpstats.tables.respondents import RespondentSet

Counts = tuple[int, ...]
Transcript = tuple[tuple[Counts, ...], ...]
"""The blocks of one unit: of every block, the counts of each group."""

ONE = Domain({"a": [0, 1]})
TWO = Domain({"a": [0, 1], "b": [0, 1]})
THREE_VALUES = Domain({"a": [0, 1, 2]})
FOUR = pd.DataFrame({"a": [0, 0, 0, 1], "b": [1, 0, 1, 1]})
SMALL = {
    "p, blocks of one": RRBA(ONE, k=1, p=0.6, block_size=1),
    "p, blocks of two, floor": RRBA(ONE, k=1, p=0.6, block_size=2, floor=0.1),
    "epsilon, blocks of one": RRBA(ONE, k=1, epsilon=1.5, block_size=1, floor=0.2),
    "epsilon, three values": RRBA(THREE_VALUES, k=1, epsilon=1.5, block_size=2, floor=0.3),
    "p, after every client": RRBA(ONE, k=1, p=0.4, update="client"),
    "epsilon, after every client": RRBA(ONE, k=1, epsilon=1.0, update="client", floor=0.2),
    "p, a whole view": RRBA(TWO, k=1, p=0.5, block_size=2, answer="view"),
    "epsilon, a whole view after every client": RRBA(TWO, k=1, epsilon=3.0, answer="view", update="client", floor=0.2),
    "p, two units": RRBA(TWO, k=1, p=0.5, block_size=1, floor=0.05),
    "epsilon, two units": RRBA(TWO, k=1, epsilon=2.0, block_size=1, floor=0.3),
}
UNBIASED = [name for name in SMALL if name.startswith("p,")]


def chance_of_truth(protocol: RRBA, groups: int, rarest: float) -> float:
    if protocol.p is not None:
        return protocol.p
    assert protocol.epsilon is not None
    odds = np.expm1(protocol.epsilon / groups) * rarest
    return float(odds / (1 + odds))


def next_channel(protocol: RRBA, past: Transcript, place: int, groups: int, cells: int) -> tuple[float, Any]:
    """Return p and T of the block after `past`, worked out anew from the counts of the blocks before."""
    table, told = np.full(cells, 1 / cells), np.zeros(cells)
    p = chance_of_truth(protocol, groups, table.min())
    for block in past:
        counts = np.array(block[place])
        told = counts - counts.sum() * (1 - p) * table + (told if protocol.update == "client" else 0)
        cut = np.clip(told, 0, None)
        table = (1 - protocol.floor) * cut / cut.sum() + protocol.floor / cells
        p = chance_of_truth(protocol, groups, table.min())
    return p, table


def law_of_block(channels: Sequence[tuple[float, Any]], truths: Sequence[Counts]) -> dict[tuple[Counts, ...], float]:
    """Return the law of the counts of all groups, of respondents with these true answers (a row each)."""
    laws = []
    for place, (p, table) in enumerate(channels):
        law: dict[Counts, float] = {(0,) * len(table): 1.0}
        for truth in truths:
            longer: dict[Counts, float] = defaultdict(float)
            for counts, chance in law.items():
                for cell, fake in enumerate(table):
                    more = (*counts[:cell], counts[cell] + 1, *counts[cell + 1 :])
                    longer[more] += chance * (p * (truth[place] == cell) + (1 - p) * fake)
            law = {counts: chance for counts, chance in longer.items() if chance > 0}
        laws.append(law.items())
    return {tuple(one for one, _ in some): float(np.prod([chance for _, chance in some])) for some in product(*laws)}


def law_of_unit(protocol: RRBA, cells: Sequence[int], truths: tuple[Counts, ...]) -> dict[Transcript, float]:
    law: dict[Transcript, float] = {(): 1.0}
    for start in range(0, len(truths), protocol.block_size):
        longer: dict[Transcript, float] = defaultdict(float)
        for past, chance in law.items():
            channels = [next_channel(protocol, past, place, len(cells), size) for place, size in enumerate(cells)]
            for block, more in law_of_block(channels, truths[start : start + protocol.block_size]).items():
                longer[*past, block] += chance * more
        law = longer
    return law


def exact_law(protocol: RRBA, frame: pd.DataFrame) -> dict[tuple[Transcript, ...], float]:
    """Return the law of the transcripts of all units, over every order and every first unit."""
    codes, units = protocol.domain.encode(frame), protocol._units
    answers = [[question.answer(protocol.domain, codes) for question in unit] for unit in units]
    known: dict[tuple[int, tuple[Counts, ...]], dict[Transcript, float]] = {}
    total: dict[tuple[Transcript, ...], float] = defaultdict(float)
    schedules = list(product(permutations(range(len(frame))), range(len(units))))
    for order, first in schedules:
        laws = []
        for unit, own in enumerate(answers):
            members = order[(unit - first) % len(units) :: len(units)]
            truths = tuple(tuple(int(answer[member]) for answer in own) for member in members)
            if (unit, truths) not in known:
                known[unit, truths] = law_of_unit(protocol, [one.answers for one in units[unit]], truths)
            laws.append(known[unit, truths].items())
        for some in product(*laws):
            total[tuple(one for one, _ in some)] += float(np.prod([chance for _, chance in some])) / len(schedules)
    return total


def transcript(protocol: RRBA, tables: TableSet) -> tuple[Transcript, ...]:
    """Return what the tables hold, after a check that every block is inverted with the fakes that it was sent."""
    found = []
    for unit in protocol._units:
        own = [[block for block in tables[question.attributes].blocks if block.n] for question in unit]
        blocks = tuple(tuple(tuple(one.tally.counts.tolist()) for one in block) for block in zip(*own, strict=True))
        for place, blocks_of_group in enumerate(own):
            for position, block in enumerate(blocks_of_group):
                p, table = next_channel(protocol, blocks[:position], place, len(unit), unit[place].answers)
                assert block.noise.channel.truth == pytest.approx(p, abs=1e-12)
                assert np.allclose(block.noise.channel.fake, table, rtol=0, atol=1e-12)
        found.append(blocks)
    return tuple(found)


def joint_counts(domain: Domain, frame: pd.DataFrame) -> np.ndarray[Any, Any]:
    return np.bincount(domain.cells(domain.encode(frame), domain.names), minlength=domain.size())


def by_rows(protocol: RRBA, frame: pd.DataFrame, rng: np.random.Generator) -> TableSet:
    return protocol.tables(protocol.reports(frame, rng))


def by_conversation(protocol: RRBA, frame: pd.DataFrame, rng: np.random.Generator) -> TableSet:
    aggregator = protocol.aggregator(rng=rng)
    records = frame.to_dict("records")
    for one in rng.permutation(len(records)):
        aggregator.take(protocol.client(records[one], limit=inf).answer(aggregator.query(), rng))
    return aggregator.tables()


PATHS: dict[str, Callable[[RRBA, pd.DataFrame, np.random.Generator], TableSet]] = {
    "collect": lambda protocol, frame, rng: protocol.collect(frame, rng),
    "simulate a frame": lambda protocol, frame, rng: protocol.simulate(frame, rng),
    "simulate joint counts": lambda protocol, frame, rng: protocol.simulate(joint_counts(protocol.domain, frame), rng),
    "rows": by_rows,
    "queries and answers": by_conversation,
}


def population(protocol: RRBA) -> pd.DataFrame:
    """Return four respondents, or three where that leaves one unit a respondent short: the first one has more."""
    return FOUR[list(protocol.domain.names)].tail(5 - len(protocol._units))


@pytest.mark.parametrize(("small", "path"), ways(list(SMALL), list(PATHS), 1))
def test_few_respondents_have_the_exact_law(small: str, path: str) -> None:
    protocol, n, rng = SMALL[small], 120 if path == "rows" else 240, np.random.default_rng(2024)
    law = exact_law(protocol, population(protocol))
    assert sum(law.values()) == pytest.approx(1, abs=1e-12)
    seen = Counter(transcript(protocol, PATHS[path](protocol, population(protocol), rng)) for _ in range(n))
    assert fit_pvalue(seen, law) > FALSE_FAILURE_RATE


def courses(protocol: RRBA, method: str) -> Iterator[tuple[float, TableSet]]:
    """Yield every course of the collection with its probability, as the tables that it ends in."""
    for transcripts, chance in exact_law(protocol, population(protocol)).items():
        series = protocol.series()
        for one, blocks in zip(series, transcripts, strict=True):
            for block in blocks:
                one.take_all([np.array(counts) for counts in block], simulated=sum(block[0]))
        parts = [RespondentSet.whole("0" * 32, unit, sum(b.n for b in one.blocks)) for unit, one in enumerate(series)]
        yield chance, protocol.tables_of(series, method, parts)


def expected_tables(protocol: RRBA, method: str) -> dict[tuple[str, ...], np.ndarray[Any, Any]]:
    means: dict[tuple[str, ...], Any] = defaultdict(float)
    for chance, tables in courses(protocol, method):
        for table in tables:
            means[table.attributes] += chance * table.estimate
    return means


@pytest.mark.parametrize(
    ("method", "small"),
    [
        *(("closed form", small) for small in UNBIASED),
        *(("two blocks", f"{kind}, blocks of one") for kind in ("p", "epsilon")),
    ],
)
def test_at_a_fixed_chance_of_truth_and_from_the_last_two_blocks_estimates_are_exactly_unbiased(
    method: str, small: str
) -> None:
    protocol = SMALL[small]
    frame = population(protocol)
    for (name,), mean in expected_tables(protocol, method).items():
        truth = [(frame[name] == value).mean() for value in protocol.domain.categories[name]]
        assert mean == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("small", ["p, blocks of one", "p, blocks of two, floor"])
def test_methods_whose_words_promise_unbiased_estimates_keep_that(small: str) -> None:
    protocol = SMALL[small]
    promising = [name for name, method in TABLE_METHODS.items() if method.words.startswith("Unbiased estimates")]
    assert "closed form" in promising
    for method in promising:
        mean = expected_tables(protocol, method)["a",]
        assert mean == pytest.approx([0.75, 0.25], abs=1e-12), method


@pytest.mark.parametrize("n", [1, 2, 7, 60])
@pytest.mark.parametrize("small", SMALL)
def test_rows_that_travelled_give_what_collecting_gives(small: str, n: int) -> None:
    protocol = SMALL[small]
    frame = population(protocol).sample(n, replace=True, random_state=n)
    for seed in (1, 2):
        assert by_rows(protocol, frame, seed).to_json() == protocol.collect(frame, seed).to_json()
