"""Crossed answers: the randomized answers of one respondent to several attributes, counted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import Mechanism, ReportFormat
from ldpstats.noise import ChannelNoise
from ldpstats.noise.channels import proper
from ldpstats.noise.pattern_channel import patterns_of
from ldpstats.numbers.arrays import BoolArray
from ldpstats.numbers.randomness import Rng
from ldpstats.protocols.assigned import Asked, CountedRow
from ldpstats.protocols.groups import Group
from ldpstats.protocols.population import People
from ldpstats.tables.respondents import LARGEST_CROSSED, CrossedRows, RespondentSet


@dataclass(frozen=True, slots=True)
class CrossedAnswers:
    """Randomized answers of one respondent to several attributes, a number each, counted jointly.

    The bits of a unary encoding are read as a binary number that begins with the first category's. So the answers to
    any group are one output of a channel: the Kronecker product of the attributes' own.
    """

    domain: Domain
    asked: tuple[Asked, ...]

    @property
    def names(self) -> Group:
        """Names of all attributes."""
        return self.domain.names

    @property
    def wire(self) -> CrossedAnswers:
        """The object itself: it knows which reports are possible."""
        return self

    @property
    def outputs(self) -> tuple[int, ...]:
        """Number of different answers about each attribute."""
        return tuple(one.outputs for one in self._noises)

    @property
    def report_format(self) -> ReportFormat:
        """A number per attribute."""
        return ReportFormat(np.min_scalar_type(max(self.outputs) - 1), len(self.asked))

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Mask of the reports whose numbers all belong to answers."""
        known: BoolArray = np.all(reports < np.array(self.outputs), axis=1)
        return known

    def __str__(self) -> str:
        return f"attributes with {', '.join(map(str, self.outputs))} answers"

    def send(self, domain: Domain, codes: NDArray[np.int64], source: Rng) -> NDArray[np.int64]:
        """Return a row of numbers for every respondent."""
        return np.column_stack([_numbers(one.mechanism, one.send(domain, codes, source)) for one in self.asked])

    @property
    def numbers(self) -> int:
        """Always 0: the answers in a row belong together, and none is counted by itself."""
        return 0

    def summed(self, sent: NDArray[Any], simulated: int) -> CrossedRows:
        """Count equal rows, and keep them: tables of several groups come from the same rows."""
        return self._summed(sent, np.ones(len(sent)), simulated)

    def simulate(self, people: People, rng: np.random.Generator) -> CountedRow:
        """Draw counts of randomized rows, attribute by attribute.

        Respondents who are alike so far are randomized together: the cost follows the number of different rows.
        """
        codes, copies = people.distinct(self.names)
        for axis, noise in enumerate(self._noises):
            sent = rng.multinomial(copies, proper(noise.channel.matrix())[codes[:, axis]])
            rows, answers = np.nonzero(sent)
            columns = list(codes[rows].T)
            columns[axis] = answers
            counted = pd.Series(sent[rows, answers]).groupby(columns).sum()
            codes, copies = counted.index.to_frame().to_numpy(), counted.to_numpy()
        return self.counted(self._summed(codes, copies, people.n))

    def _summed(self, answers: NDArray[Any], copies: NDArray[Any], simulated: int) -> CrossedRows:
        return CrossedRows.counted(self.domain, self._noises, answers, copies, RespondentSet.none(), simulated)

    def counted(self, sums: CrossedRows) -> CountedRow:
        """Return rows as what tables are made of."""
        return CountedRow((sums.answers, sums.copies), lambda own: sums.block(own.names), sums)

    @property
    def _noises(self) -> list[ChannelNoise]:
        return [_noise(one.mechanism) for one in self.asked]


def refuse_uncrossable(asked: Sequence[Asked], domain: Domain, groups: Sequence[Group]) -> None:
    """Refuse mechanisms whose reports are not one output of a channel, and groups whose channel would be too large."""
    outputs = {one.names: _outputs(one.mechanism) for one in asked}
    if 0 in outputs.values():
        raise LdpstatsError(
            f"the mechanism {asked[0].mechanism.name!r} for groups of several attributes",
            "mechanisms that report one number, such as 'grr' (which 'auto' stands for), 'rr' and 'hr', or a bit for "
            "each value, such as 'sue' and 'oue'; none that remembers",
            "With k = 1 any mechanism will do.",
        )
    sizes = {group: prod(outputs[(name,)] for name in group) for group in groups}
    group = max(groups, key=sizes.__getitem__)
    if sizes[group] > LARGEST_CROSSED:
        bits = sizes[group] > domain.size(group)
        raise LdpstatsError(
            f"a group with {domain.size(group):,} cells and {sizes[group]:,} different answers: {' and '.join(group)}",
            f"at most {LARGEST_CROSSED:,} different answers",
            "Form tables of fewer attributes."
            + " Or take mechanism = 'grr', whose answers are only as many as the cells." * bits,
        )


def _is_one_number(mechanism: Mechanism) -> bool:
    return mechanism.noise.channel is not None and mechanism.report_format.width is None


def _outputs(mechanism: Mechanism) -> int:
    """Number of different reports, where each is one number or a bit for every value; 0 for other mechanisms."""
    if mechanism.longitudinal:
        return 0
    noise, row_of_bits = mechanism.noise, ReportFormat(np.dtype(np.uint8), (mechanism.k + 7) // 8)
    if _is_one_number(mechanism):
        return noise.outputs
    return 1 << mechanism.k if noise.size is None and mechanism.report_format == row_of_bits else 0


def _numbers(mechanism: Mechanism, reports: NDArray[Any]) -> NDArray[np.int64]:
    if _is_one_number(mechanism):
        return reports.astype(np.int64)
    return np.unpackbits(reports, axis=1, count=mechanism.k) @ (1 << np.arange(mechanism.k)[::-1])


def _noise(mechanism: Mechanism) -> ChannelNoise:
    noise = mechanism.noise
    channel = noise.channel or patterns_of(noise)
    assert channel is not None  # one output, or bits
    return channel
