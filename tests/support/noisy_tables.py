"""Tables for tests of inference: of counts that were seen without noise, or drawn through a mechanism."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Table

PRIVACY = ldp.PrivacyStatement(math.inf, "a test")


def domain_of(shape: Sequence[int]) -> ldp.Domain:
    return ldp.Domain({name: range(size) for name, size in zip("abcd", shape, strict=False)})


def table_of(shape: Sequence[int], tallies: Sequence[Tally], domain: ldp.Domain | None = None) -> Table:
    asked = domain or domain_of(shape)
    return Table(asked, tuple(Block(Question.of(asked, asked.names), tally) for tally in tallies), PRIVACY)


def seen(counts: ArrayLike, mechanism: str = "grr", epsilon: float = 60.0, domain: ldp.Domain | None = None) -> Table:
    """Return the table of respondents who all told the truth, as at ε = 60; at other levels, of such reports."""
    reports = np.asarray(counts)
    noise = ldp.mechanism(mechanism, k=reports.size, epsilon=epsilon).noise
    return table_of(reports.shape, [Tally(noise, reports.ravel(), int(reports.sum()))], domain)


def collected(frequencies: FloatArray, n: int, epsilon: float, seed: int, mechanism: str = "grr") -> Tally:
    """Return what n respondents say who are drawn with these frequencies."""
    rng = np.random.default_rng(seed)
    drawn = ldp.mechanism(mechanism, k=frequencies.size, epsilon=epsilon)
    return drawn.simulate(rng.multinomial(n, frequencies.ravel()), rng=rng)


def seen_without_noise(domain: ldp.Domain, counts: NDArray[np.int64]) -> Table:
    """Return the table of reports that are all true."""
    protocol = ldp.SampledGroups(domain, groups=[domain.names], epsilon=60.0, mechanism="grr")
    table = protocol.simulate(counts.ravel(), rng=1)[domain.names]
    assert np.array_equal(table.blocks[0].tally.counts, counts.ravel())
    return table


def implausible(table: Table) -> Table:
    """Return the table of a block whose reports are all the same, as no channel makes them."""
    (block,) = table.blocks
    alike = block.n * np.eye(block.tally.counts.size, dtype=np.int64)[0]
    return replace(table, blocks=(replace(block, tally=replace(block.tally, counts=alike)),))
