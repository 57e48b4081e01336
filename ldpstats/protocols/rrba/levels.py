"""Privacy accounting: the levels that respondents of some blocks were promised, strictly and as the paper counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod

from ldpstats.answers.questions import Question
from ldpstats.numbers.grid import GRID, double_above
from ldpstats.privacy import PrivacyStatement, strict_epsilon
from ldpstats.protocols.groups import RECORD, label, worst_level
from ldpstats.protocols.rrba.series import Randomizers, Series


def statement(
    units: Sequence[tuple[Question, ...]], sent: Sequence[Sequence[Randomizers]], *, papers: bool
) -> PrivacyStatement:
    """State the worst levels of the blocks of every unit, given what their respondents were sent.

    The levels of the groups that one respondent answers add up, and so do those of the paper's accounting, with
    δ = 1 - Π (1 - δ_i) (Kairouz, Oh & Viswanath 2015, for independent reports).
    """
    per_group = {
        label(question.attributes): worst_level((randomizers[position],) for randomizers in own)
        for unit, own in zip(units, sent, strict=True)
        for position, question in enumerate(unit)
    }
    asked = [randomizers for own in sent for randomizers in own]
    strict = PrivacyStatement(worst_level(asked), RECORD, per_group)
    if not papers:
        return strict
    nominal = prod((1 / (1 - randomizer.p) for randomizer in max(asked, key=len)), start=Fraction(1))
    delta = max(map(_delta, dict.fromkeys(asked)))
    return replace(strict, nominal_epsilon=strict_epsilon(nominal), delta_at_nominal=double_above(delta))


def _delta(randomizers: Randomizers) -> Fraction:
    """Return 1 - Π (1 - δ_i), multiplied in whole numbers, because there are many blocks."""
    kept = prod(GRID**2 - randomizer.delta_numerator for randomizer in randomizers)
    return 1 - Fraction(kept, GRID ** (2 * len(randomizers)))


def provably_true(series: Sequence[Series], position: int | None = None) -> float | None:
    """Return the share of reports that are the truth for sure, because no fake can say that; None if none can be."""
    certain = reports = 0
    possible = False
    for block in (block for unit_series in series for block in unit_series.blocks):
        pairs = list(zip(block.randomizers, block.counts, strict=True))
        for randomizer, counts in pairs if position is None else [pairs[position]]:
            reports += block.n
            if 0 in randomizer.fake:
                possible |= block.n > 0
                certain += sum(count for count, fake in zip(counts, randomizer.fake, strict=True) if fake == 0)
    return certain / reports if possible else None
