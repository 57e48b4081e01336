"""Planted bugs: protocols that break their word, each in one way, and the check that finds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from ldpstats import GRR, OUE, Domain, SampledGroups, TableSet
from ldpstats.conformance import ConformanceError, protocol_checks as checks
from ldpstats.conformance.protocol_checks import joint_counts
from ldpstats.conformance.requirements import fit_pvalue
from ldpstats.numbers.randomness import client_draws, generator
from ldpstats.presentation import Summary, summary_of_facts
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols import Asked, AssignedQuestions
from ldpstats.protocols.population import respondents
from ldpstats.protocols.row_counts import RowCounts


@dataclass(frozen=True)
class OneByOne(AssignedQuestions):
    """Every respondent answers one attribute: as a protocol from outside the package is written."""

    kind: ClassVar[str] = "one by one"
    saved: ClassVar[tuple[str, ...]] = ("epsilon", "mechanism")

    domain: Domain
    epsilon: float
    mechanism: str = "grr"
    outside: str = "refuse"

    def units(self) -> list[list[Asked]]:
        return [[Asked.about(self.domain, (name,), self.mechanism, self.epsilon)] for name in self.domain.names]


class ChangesRows(OneByOne):
    """Rows are changed before they leave."""

    def changed(self, rows: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
        raise NotImplementedError

    def reports(self, frame: pd.DataFrame, rng: Any = None, *, counts: str | None = None) -> pd.DataFrame:
        return self.changed(OneByOne.reports(self, frame, rng, counts=counts), frame)


class UnitFollowsTheRecord(ChangesRows):
    """Who has the second category of the first attribute is asked for it."""

    def changed(self, rows: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
        if len(rows) == 1 and frame.iloc[0, 0] == self.domain.categories[self.domain.names[0]][1]:
            rows["group"] = self.domain.names[0]
        return rows


class NumberTellsTheRecord(ChangesRows):
    """The column that numbers respondents shows what they answered."""

    def changed(self, rows: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(number=rows["number"] + 1000 * int(frame.iloc[0, 0] == 1))


class KeepsTheOrder(OneByOne):
    """Respondents are asked in the order of the data frame."""

    def reports(self, frame: pd.DataFrame, rng: Any = None, *, counts: str | None = None) -> pd.DataFrame:
        with patch("ldpstats.protocols.assigned.permutation", lambda _, n: np.arange(n)):
            return OneByOne.reports(self, frame, rng, counts=counts)


class BothAtOnce(OneByOne):
    """Every respondent answers the first two attributes."""

    def units(self) -> list[list[Asked]]:
        (first,), (second,), *_ = OneByOne.units(self)
        return [[first, second]]


class StatesOneOfTwoAnswers(BothAtOnce):
    """The level that it states is that of an answer, and everyone gives two."""

    @cached_property
    def _privacy(self) -> PrivacyStatement:
        true = AssignedQuestions._privacy.func(self)
        return replace(true, epsilon=max(true.per_group.values()))


class StatesAnotherLevelOfATable(BothAtOnce):
    """The level of one table is not its own, though that of everything is right."""

    @cached_property
    def _privacy(self) -> PrivacyStatement:
        true = AssignedQuestions._privacy.func(self)
        return replace(true, per_group=dict.fromkeys(true.per_group, true.epsilon))


class CountsAnotherRow(OneByOne):
    """Every table counts the reports about another attribute."""

    def formed(self) -> list[tuple[tuple[str, ...], list[int]]]:
        return [(group, [(place + 1) % 3]) for group, (place,) in OneByOne.formed(self)]


class SendsTheTruthToo(ChangesRows):
    """The answer comes with a digit that is the truth, which counting takes off."""

    def changed(self, rows: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(report=[f"{report}{frame.iloc[0, 0]}" for report in rows["report"]])

    def tables(self, reports: pd.DataFrame) -> TableSet:
        return OneByOne.tables(self, reports.assign(report=reports["report"].str[:-1]))


@dataclass(frozen=True, slots=True)
class OfAnotherLevel(GRR):
    """Its noise model is that of another level."""

    @property
    def noise(self) -> Any:
        return GRR(self.k, 0.8 * self.epsilon).noise


class CountsThroughOtherNoise(OneByOne):
    """Tables believe that the reports are noisier than they are."""

    def units(self) -> list[list[Asked]]:
        return [
            [replace(asked, mechanism=OfAnotherLevel(asked.mechanism.k, self.epsilon))]
            for (asked,) in OneByOne.units(self)
        ]


class SimulatesWithReplacement(OneByOne):
    """Simulated respondents are drawn anew, not those of the population."""

    def simulate(self, population: Any, rng: Any = None, *, counts: str | None = None) -> TableSet:
        numbers = generator(rng)
        if isinstance(population, pd.DataFrame):
            return OneByOne.simulate(self, population, numbers, counts=counts)
        joint = np.array(population, dtype=float)
        drawn = numbers.multinomial(int(joint.sum()), joint.ravel() / max(joint.sum(), 1))
        return OneByOne.simulate(self, drawn if joint.sum() else joint, numbers)


class SimulatesTheFirstUnitFirst(OneByOne):
    """The simulated schedule always begins with the same unit, as if nobody came alone."""

    def simulate(self, population: Any, rng: Any = None, *, counts: str | None = None) -> TableSet:
        class FirstUnit(np.random.Generator):
            def integers(self, *_: Any, **__: Any) -> Any:
                return 0

        return OneByOne.simulate(self, population, FirstUnit(generator(rng).bit_generator), counts=counts)


class CollectsOtherAnswers(OneByOne):
    """Collecting asks for the last attribute only; what travels is right."""

    def collect(self, frame: pd.DataFrame, rng: Any = None, *, counts: str | None = None) -> TableSet:
        name = self.domain.names[-1]
        return OneByOne.collect(self, frame.assign(**{name: frame[self.domain.names[0]]}), rng, counts=counts)


class SimulatesAnotherTruth(OneByOne):
    """Half of those who are many are simulated with another record."""

    def simulate(self, population: Any, rng: Any = None, **more: Any) -> TableSet:
        joint = joint_counts(self.domain, population) if isinstance(population, pd.DataFrame) else np.array(population)
        moved = joint.ravel() // 2
        return OneByOne.simulate(self, joint.ravel() - moved + np.roll(moved, 1), rng, **more)


class LosesTheLastRow(OneByOne):
    """Of rows that come in an even number, one is not counted."""

    def tables(self, reports: pd.DataFrame) -> TableSet:
        return OneByOne.tables(self, reports.iloc[: len(reports) - (len(reports) % 2 == 0)])


class LosesARowInParts(OneByOne):
    """Rows that do not begin with the first respondent lose one."""

    def tables(self, reports: pd.DataFrame) -> TableSet:
        complete = len(reports) == 0 or reports["number"].min() == 0 or len(reports) > 20
        return OneByOne.tables(self, reports if complete else reports.iloc[1:])


class CountsTwins(OneByOne):
    """A row that stands twice is taken for a slip."""

    def tables(self, reports: pd.DataFrame) -> TableSet:
        known = isinstance(reports, pd.DataFrame) and {"collection", "number"} <= set(reports.columns)
        return OneByOne.tables(self, reports.drop_duplicates() if known else reports)


class CountsForeignRows(OneByOne):
    """Rows of any protocol are taken for its own."""

    def tables(self, reports: pd.DataFrame) -> TableSet:
        return OneByOne.tables(self, reports.assign(protocol=self.fingerprint()))


class ForgetsAParameter(OneByOne):
    """The mechanism is not saved."""

    saved: ClassVar[tuple[str, ...]] = ("epsilon",)


class AsksInAnotherOrder(OneByOne):
    """The file lists the units from the last to the first, so that clients in other languages number them otherwise."""

    def _asked_of_respondents(self) -> dict[str, Any]:
        said = super()._asked_of_respondents()
        return {**said, "units": said["units"][::-1]}


class FingerprintOfTheDomain(OneByOne):
    """Protocols of any level have the same fingerprint, and rows of one are counted by the other."""

    def fingerprint(self) -> str:
        return "p0123456789ab"


class CallsSeedsSecure(ChangesRows):
    """Rows do not say that they come from a seed."""

    def changed(self, rows: pd.DataFrame, _: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(simulated=False)


class AlwaysTheSameSeed(OneByOne):
    """Simulations are the same, whatever the seed."""

    def simulate(self, population: Any, *_: Any, counts: str | None = None, **__: Any) -> TableSet:
        return OneByOne.simulate(self, population, 1, counts=counts)


class TakesARowForOne(OneByOne):
    """A column of counts is not looked at."""

    def collect(self, frame: pd.DataFrame, rng: Any = None, *, counts: str | None = None) -> TableSet:
        return OneByOne.collect(self, frame if counts is None else frame.drop(columns=counts), rng)


class TakesAnythingForAnAnswer(OneByOne):
    """What is no category is counted as one."""

    def reports(self, frame: pd.DataFrame, rng: Any = None, *, counts: str | None = None) -> pd.DataFrame:
        codes = respondents(self.domain, frame, counts, client_draws(rng))
        return OneByOne.reports(self, self.domain.decode(codes), rng)


class SaysNothing(OneByOne):
    """Its summary does not say what it costs."""

    def summary(self) -> Summary:
        return summary_of_facts("Everyone answers one attribute", {"Attributes": ", ".join(self.domain.names)}, [])


class SaysItInOneString(OneByOne):
    """Its summary can be printed, and nothing else."""

    def summary(self) -> str:
        return str(super().summary())


class CannotCount(OneByOne):
    """Rows travel, and nobody can count them."""

    tables = None  # type: ignore[assignment]  # this is the bug


class StatesAnotherMechanism(OneByOne):
    """The mechanism that it names has the right level, and another channel."""

    def mechanism_for(self, group: Any) -> Any:
        found = OneByOne.mechanism_for(self, group)
        return OUE(found.k, found.epsilon)


class KeepsTheOrderOfMany(KeepsTheOrder):
    """Respondents are asked in the order of the data frame, where they are more than two."""

    def reports(self, frame: pd.DataFrame, rng: Any = None, *, counts: str | None = None) -> pd.DataFrame:
        own = OneByOne if len(frame) <= 2 else KeepsTheOrder
        return own.reports(self, frame, rng, counts=counts)


class IndexTellsTheRecord(ChangesRows):
    """The row labels show the record."""

    def changed(self, rows: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
        return rows.set_axis(rows.index + int(frame.iloc[0, 0]))


class TypesTellTheRecord(ChangesRows):
    """The type of a column shows the record."""

    def changed(self, rows: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
        return rows.astype({"number": np.int32 if frame.iloc[0, 0] else np.int64})


class CollectionTellsTheRecord(ChangesRows):
    """The last digit of the collection's name is the record."""

    def changed(self, rows: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(collection=rows["collection"].str[:-1] + str(frame.iloc[0, 0]))


class EveryCollectionTheSame(ChangesRows):
    """All collections have one name, and two cannot be added."""

    def changed(self, rows: pd.DataFrame, _: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(collection="c" + "0" * 32)


class GeneratorWithoutASeed(OneByOne):
    """Without a seed the answers come from numpy's generator, and are called secure."""

    def reports(self, frame: pd.DataFrame, rng: Any = None, *, counts: str | None = None) -> pd.DataFrame:
        rows = OneByOne.reports(self, frame, np.random.default_rng() if rng is None else rng, counts=counts)
        return rows.assign(simulated=rng is not None)


class GeneratorForMany(GeneratorWithoutASeed):
    """Only many respondents get insecure randomness."""

    def reports(self, frame: pd.DataFrame, rng: Any = None, *, counts: str | None = None) -> pd.DataFrame:
        own = OneByOne if frame is None or len(frame) <= 2 else GeneratorWithoutASeed
        return own.reports(self, frame, rng, counts=counts)


class FingerprintForgetsTheOrder(OneByOne):
    """Rows about the same categories in another order have the same fingerprint."""

    def fingerprint(self) -> str:
        return replace(self, domain=Domain({n: sorted(c) for n, c in self.domain.categories.items()}))._digest()

    def _digest(self) -> str:
        return AssignedQuestions.fingerprint(self)


class TakesAKind(OneByOne):
    """Its kind is that of another protocol."""

    kind: ClassVar[str] = "sampled groups"


class FirstCategoryForWhatIsMissing(OneByOne):
    """What is no answer is taken for the first category."""

    def __init__(self, domain: Domain, epsilon: float, mechanism: str = "grr", outside: str = "random") -> None:
        OneByOne.__init__(self, domain, epsilon, mechanism, outside)

    def reports(self, frame: pd.DataFrame, rng: Any = None, *, counts: str | None = None) -> pd.DataFrame:
        known = pd.DataFrame(frame).assign(
            **{n: frame[n].where(frame[n].isin(c), c[0]) for n, c in self.domain.categories.items()}
        )
        return OneByOne.reports(self, known, rng, counts=counts)


class SimulatesTheFirstCategory(FirstCategoryForWhatIsMissing):
    """Only in simulations, what is no answer is taken for the first category."""

    reports = OneByOne.reports  # type: ignore[assignment]  # this is the bug

    def simulate(self, population: Any, rng: Any = None, *, counts: str | None = None) -> TableSet:
        known = population.assign(
            **{n: population[n].where(population[n].isin(c), c[0]) for n, c in self.domain.categories.items()}
        )
        return OneByOne.simulate(self, known, rng, counts=counts)


class ForgetsTheFirstChunk(RowCounts):
    """Taken up again, it goes on from nothing."""

    def restore(self, plain: Any) -> None:
        del plain


class TakesTheLastOfTwo(RowCounts):
    """What was counted elsewhere takes the place of what was counted here."""

    def add(self, other: RowCounts) -> None:
        self._counts[:], self._simulated[:] = 0, 0
        RowCounts.add(self, other)


class CountsBadlyInChunks(OneByOne):
    """What counts in chunks cannot be put down."""

    made: ClassVar[type[RowCounts]] = ForgetsTheFirstChunk

    def counting(self) -> RowCounts:
        right = OneByOne.counting(self)
        return self.made(right._rows, right._outputs.tolist(), right._summed, right._make_tables)


class AddsBadly(CountsBadlyInChunks):
    """What was counted elsewhere is not added."""

    made: ClassVar[type[RowCounts]] = TakesTheLastOfTwo


FOUND_BY: dict[type[OneByOne], Callable[[Any], None]] = {
    UnitFollowsTheRecord: checks.public_columns_do_not_depend_on_the_record,
    NumberTellsTheRecord: checks.public_columns_do_not_depend_on_the_record,
    IndexTellsTheRecord: checks.statements_are_those_of_what_is_sent,
    TypesTellTheRecord: checks.statements_are_those_of_what_is_sent,
    CollectionTellsTheRecord: checks.public_columns_do_not_depend_on_the_record,
    KeepsTheOrder: checks.order_of_the_respondents_does_not_show,
    KeepsTheOrderOfMany: checks.order_of_the_respondents_does_not_show,
    StatesAnotherMechanism: checks.mechanisms_are_those_of_the_reports,
    StatesOneOfTwoAnswers: checks.statements_are_those_of_what_is_sent,
    CountsBadlyInChunks: checks.rows_count_chunk_by_chunk,
    AddsBadly: checks.rows_count_chunk_by_chunk,
    SendsTheTruthToo: checks.statements_are_those_of_what_is_sent,
    StatesAnotherLevelOfATable: checks.statements_are_those_of_what_is_sent,
    CountsThroughOtherNoise: checks.tables_know_their_noise,
    SimulatesWithReplacement: checks.all_ways_to_collect_have_one_law,
    SimulatesTheFirstUnitFirst: checks.all_ways_to_collect_have_one_law,
    CollectsOtherAnswers: checks.rows_make_the_tables_that_are_collected,
    SimulatesAnotherTruth: checks.estimates_are_near_the_truth,
    LosesTheLastRow: checks.rows_count_in_any_order_and_part,
    LosesARowInParts: checks.rows_count_in_any_order_and_part,
    CountsTwins: checks.foreign_rows_are_refused,
    CountsForeignRows: checks.foreign_rows_are_refused,
    ForgetsAParameter: checks.protocols_are_saved_and_read,
    FingerprintForgetsTheOrder: checks.foreign_rows_are_refused,
    AsksInAnotherOrder: checks.protocols_are_saved_and_read,
    TakesAKind: checks.protocols_are_saved_and_read,
    FingerprintOfTheDomain: checks.protocols_are_saved_and_read,
    CallsSeedsSecure: checks.simulations_say_so_and_are_reproducible,
    EveryCollectionTheSame: checks.simulations_say_so_and_are_reproducible,
    GeneratorWithoutASeed: checks.statements_are_those_of_what_is_sent,
    GeneratorForMany: checks.simulations_say_so_and_are_reproducible,
    AlwaysTheSameSeed: checks.simulations_say_so_and_are_reproducible,
    TakesARowForOne: checks.populations_of_all_forms_are_counted,
    TakesAnythingForAnAnswer: checks.other_populations_are_refused,
    FirstCategoryForWhatIsMissing: checks.substitutes_are_uniform,
    SimulatesTheFirstCategory: checks.substitutes_are_uniform,
    SaysNothing: checks.contract_is_satisfied,
    SaysItInOneString: checks.contract_is_satisfied,
    CannotCount: checks.contract_is_satisfied,
}


def one_attribute(domain: Domain, epsilon: float) -> SampledGroups:
    return SampledGroups(domain, groups=[("a",)], epsilon=epsilon)


def substituting(domain: Domain, epsilon: float) -> OneByOne:
    return OneByOne(domain, epsilon, outside="random")


@pytest.mark.parametrize("make", [pytest.param(OneByOne, marks=pytest.mark.exhaustive), one_attribute, substituting])
def test_a_protocol_without_bugs_is_certified(make: Any) -> None:
    checks.certify_protocol(make)


@pytest.mark.parametrize(("n", "parts"), [(120, 10), (240, 20), (1000, 2)])
def test_a_comparison_fails_what_is_right_as_seldom_as_it_says(n: int, parts: int) -> None:
    seen = np.arange(n + 1)
    pvalues = np.array([fit_pvalue({0: one, 1: n - one}, {0: 1 / parts, 1: 1 - 1 / parts}) for one in seen.tolist()])
    for level in (1e-6, 1e-4, 0.05):
        assert binom.pmf(seen[pvalues <= level], n, 1 / parts).sum() <= level


def test_a_comparison_sees_what_is_impossible_or_rare_too_often() -> None:
    law = {0: 0.9, 1: 0.1 - 1e-6, 2: 1e-6, 3: 0.0}
    assert fit_pvalue({0: 1, 3: 1}, law) == 0
    assert fit_pvalue({0: 80, 1: 18, 2: 2}, law) < 1e-6
    assert fit_pvalue({0: 60}, {0: 1.0}) == 1


@pytest.mark.parametrize("bug", FOUND_BY)
def test_every_bug_is_found(bug: type[OneByOne]) -> None:
    with pytest.raises(ConformanceError):
        FOUND_BY[bug](lambda domain, epsilon: bug(domain, epsilon, "rr"))


def test_what_the_protocol_refuses_itself_fails_it_too() -> None:
    with pytest.raises(ConformanceError, match=r"formed of the row about \('b',\)"):
        checks.certify_protocol(CountsAnotherRow)


def test_every_check_finds_a_bug() -> None:
    assert set(FOUND_BY.values()) == set(checks.PROTOCOL_CHECKS)
