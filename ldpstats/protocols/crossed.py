"""Crossed answers: the randomized answers of one respondent to several attributes, counted together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import Mechanism, ReportFormat
from ldpstats.noise import MultinomialNoise
from ldpstats.noise.channels import proper
from ldpstats.noise.pattern_channel import patterns_of
from ldpstats.parts import Parts
from ldpstats.protocols.groups import Group
from ldpstats.tables.rows import LARGEST_CROSSED, CrossedRows

_VALUES, _BITS = ("grr", "rr"), ("sue", "oue")


@dataclass(frozen=True, slots=True)
class CrossedAnswers:
    """What one respondent sends: an answer to every attribute, randomized by itself and written as one number.

    The number is the category that randomized response reports; the bits of a unary encoding are read as a binary
    number that begins with the bit of the first category. It is one out of so many outputs, so that the answers to
    any group of attributes are one output of a channel: the Kronecker product of the attributes' own.

    Parameters
    ----------
    domain : Domain
        The attributes that are asked for.
    mechanisms : tuple of Mechanism
        What randomizes the answers to each of them.
    """

    domain: Domain
    mechanisms: tuple[Mechanism, ...]

    @property
    def outputs(self) -> tuple[int, ...]:
        """How many different answers there are to every attribute."""
        return tuple(map(_outputs, self.mechanisms))

    @property
    def report_format(self) -> ReportFormat:
        """A number per attribute."""
        return ReportFormat(np.min_scalar_type(max(self.outputs) - 1), len(self.mechanisms))

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Numbers of answers that there are."""
        known: BoolArray = np.all(reports < np.array(self.outputs), axis=1)
        return known

    def __str__(self) -> str:
        return f"attributes with {', '.join(map(str, self.outputs))} answers"

    def numbered(self, reports: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """Return a row of numbers for every respondent, given all reports about every attribute."""
        return np.column_stack([_numbers(*one) for one in zip(self.mechanisms, reports, strict=True)])

    def randomized(
        self, codes: NDArray[np.int64], copies: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw the answers of respondents of whom so many share each row of true ones; count equal answers together.

        Respondents with the same true answers to all attributes that are left, and the same randomized ones to those
        before, are randomized together: the cost follows how many different rows there are.
        """
        for axis, used in enumerate(self.mechanisms):
            sent = rng.multinomial(copies, proper(_noise(used).channel.matrix())[codes[:, axis]])
            rows, answers = np.nonzero(sent)
            columns = list(codes[rows].T)
            columns[axis] = answers
            counted = pd.Series(sent[rows, answers]).groupby(columns).sum()
            codes, copies = counted.index.to_frame().to_numpy(), counted.to_numpy()
        return codes, copies

    def rows(self, answers: NDArray[Any], copies: NDArray[Any], parts: Parts, simulated: int) -> CrossedRows:
        """Keep rows of answers, each of which so many respondents sent."""
        return CrossedRows.counted(self.domain, [*map(_noise, self.mechanisms)], answers, copies, parts, simulated)


def refuse_uncrossable(mechanisms: Sequence[Mechanism], domain: Domain, groups: Sequence[Group]) -> None:
    """Refuse mechanisms whose reports are not one output of a channel, and groups whose channel would be too large."""
    used = mechanisms[0].name
    if used not in (*_VALUES, *_BITS):
        raise LdpstatsError(
            f"the mechanism {used!r} for groups of several attributes",
            "'auto', 'grr' or 'rr', which report one of the values; 'sue' or 'oue', which report a bit for each",
            "With k = 1 any mechanism will do.",
        )
    of_name = dict(zip(domain.names, map(_outputs, mechanisms), strict=True))
    group = max(groups, key=lambda one: prod(of_name[name] for name in one))
    answers = prod(of_name[name] for name in group)
    if answers > LARGEST_CROSSED:
        grr = " Or take mechanism = 'grr', whose answers are only as many as the cells." if used in _BITS else ""
        raise LdpstatsError(
            f"a group with {domain.size(group):,} cells and {answers:,} different answers: {' and '.join(group)}",
            f"at most {LARGEST_CROSSED:,} different answers",
            f"Form tables of fewer attributes.{grr}",
        )


def _outputs(mechanism: Mechanism) -> int:
    return 1 << mechanism.k if mechanism.name in _BITS else mechanism.k


def _numbers(mechanism: Mechanism, reports: NDArray[Any]) -> NDArray[np.int64]:
    if mechanism.name not in _BITS:
        return reports.astype(np.int64)
    return np.unpackbits(reports, axis=1, count=mechanism.k) @ (1 << np.arange(mechanism.k)[::-1])


def _noise(mechanism: Mechanism) -> MultinomialNoise:
    """Return the noise of one attribute's answers by their number."""
    noise = mechanism.noise
    channel = noise.channel or patterns_of(noise)
    assert channel is not None  # one output, or bits
    return MultinomialNoise(channel)
