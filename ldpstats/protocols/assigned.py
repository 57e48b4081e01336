"""Assigned questions: every respondent answers one unit of groups out of a balanced public schedule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.blocks import Block
from ldpstats.columns import listed
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.mechanisms import Mechanism, Reports, best_name, joint_ratio, mechanism
from ldpstats.noise import Tally
from ldpstats.parts import Parts, new_identity
from ldpstats.privacy import PrivacyStatement, strict_epsilon
from ldpstats.protocols.groups import Group, label, refuse_shared_labels
from ldpstats.protocols.outside import REFUSE, checked_outside
from ldpstats.protocols.population import Population, people_of, respondents
from ldpstats.protocols.saved import SavedProtocol
from ldpstats.protocols.schedule import RECORD, scheduled
from ldpstats.protocols.wire import from_wire, numbered, parts_of, refuse_foreign_rows, simulated_rows, to_wire
from ldpstats.questions import Question
from ldpstats.randomness import Rng, client_draws, generator, permutation
from ldpstats.tables import Table, TableSet


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the names of what it asks for, and the mechanism that randomizes the answer.

    The names label its reports: attributes, or parts of them where several questions are about the same attributes.
    """

    names: Group
    question: Question
    mechanism: Mechanism

    @classmethod
    def about(cls, domain: Domain, group: Group, name: str, epsilon: float) -> Asked:
        """Ask for a group through a mechanism of the registry; "auto" takes the one with the least variance."""
        question = Question.of(domain, group)
        chosen = best_name(question.answers, epsilon) if name == "auto" else name
        return cls(group, question, mechanism(chosen, k=question.answers, epsilon=epsilon))


Unit = tuple[Asked, ...]
"""What one respondent is asked; her reports are randomized independently of each other."""


class AssignedQuestions(SavedProtocol):
    """A protocol with a fixed set of units, of which every respondent answers exactly one.

    The respondents of one call are assigned at random: the schedule begins at a random unit and goes round,
    so that every unit is answered equally often (up to one), and a single respondent draws hers uniformly.
    Which unit was answered is public and does not depend on the record. So is what becomes of an answer outside the
    questionnaire.
    """

    _units: tuple[Unit, ...]

    def _settle(self, units: Iterable[Iterable[Asked]], outside: str = REFUSE, **values: Any) -> None:
        """Set the fields of a frozen protocol, after a check of its groups and its policy."""
        settled = tuple(tuple(unit) for unit in units)
        refuse_shared_labels([asked.names for unit in settled for asked in unit])
        for name, value in {**values, "outside": checked_outside(outside), "_units": settled}.items():
            object.__setattr__(self, name, value)

    @property
    def _asked(self) -> tuple[Asked, ...]:
        return tuple(asked for unit in self._units for asked in unit)

    def mechanism_for(self, group: str | Iterable[str]) -> Mechanism:
        """Return the mechanism that randomizes the answers about a group."""
        wanted = listed(group)
        for asked in self._asked:
            if set(asked.question.attributes) == set(wanted):
                return asked.mechanism
        allowed = dict.fromkeys(asked.question.attributes for asked in self._asked)
        raise LdpstatsError(f"the group {wanted!r}", one_line(list(allowed)))

    def privacy(self) -> PrivacyStatement:
        """Return what every respondent is promised: the levels of the reports that she sends add up."""
        per_group = {label(asked.names): asked.mechanism.strict_epsilon() for asked in self._asked}
        levels = [strict_epsilon(joint_ratio(asked.mechanism for asked in unit)) for unit in self._units]
        return PrivacyStatement(max(levels), RECORD, per_group, substitutes=self._substitutes)

    def reports(self, frame: pd.DataFrame, rng: Rng = None, *, counts: str | None = None) -> pd.DataFrame:
        """Return the rows that travel: one per respondent and group, with the randomized answer.

        The respondents come in random order, because the order of the frame may tell something about them. A row
        names its collection and numbers its respondent in that order, among those who were asked the same: so
        whoever counts the rows knows whom they have counted. A seed or Generator as `rng` makes a simulation, and the
        rows say so; without one, the operating system's secure randomness is used. `counts` is as in `collect`.
        """
        fingerprint, parts = self.fingerprint(), []
        asked_all = self._answers(frame, rng, counts)
        for places, answers in asked_all.units:
            for asked, reports in answers:
                rows = {
                    "protocol": fingerprint,
                    **numbered(asked_all.identity, np.arange(len(places))),
                    "group": label(asked.names),
                    "report": to_wire(reports.data),
                    "simulated": reports.simulated,
                }
                parts.append(pd.DataFrame(rows, index=pd.Index(places)))
        return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)

    def tables(self, reports: pd.DataFrame) -> TableSet:
        """Count rows that travelled; a row that this protocol cannot have produced is refused, naming it.

        Rows may come in parts, each counted by itself and the tables added: that gives the same as all at once.
        """
        refuse_foreign_rows(reports, self.fingerprint(), [label(asked.names) for asked in self._asked])
        tallies, parts, places = [], [], reports.groupby("group").indices
        for number, unit in enumerate(self._units):
            for asked in unit:
                rows = reports.iloc[places.get(label(asked.names), [])]
                sent = from_wire(rows["report"], asked.mechanism)
                counted = asked.mechanism.finest.count(Reports(asked.mechanism, sent))
                tallies.append(replace(counted, simulated=int(simulated_rows(rows).sum())))
                parts.append(parts_of(rows, number))
        return self._table_set(tallies, parts)

    def collect(self, frame: pd.DataFrame, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Ask every respondent, one by one, and count the reports.

        Parameters
        ----------
        frame : DataFrame
            A row per respondent.
        rng : int or Generator, optional
            A seed makes a simulation.
        counts : str, optional
            For a frequency table: the column that says for how many respondents a row stands.
        """
        asked = self._answers(frame, rng, counts)
        collected = [reports for _, answers in asked.units for _, reports in answers]
        tallies = [reports.mechanism.finest.count(reports) for reports in collected]
        return self._table_set(tallies, self._whole(asked.identity, [len(places) for places, _ in asked.units]))

    def simulate(self, population: Population, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Draw tables with the law of `collect`, at the level of counts.

        `population` is a data frame (`counts` is as in `collect`), or an array of joint counts in domain order (flat
        or in the domain's shape).
        """
        numbers = generator(rng)
        people = people_of(self.domain, population, numbers, counts, substitutes=self._substitutes)
        places = scheduled(people.n, len(self._units), int(numbers.integers(len(self._units))))
        tallies = []
        for unit, part in zip(self._units, people.divided([len(own) for own in places], numbers), strict=True):
            true_counts = part.block_counts([asked.question for asked in unit], max(part.n, 1), numbers)
            for asked, truths in zip(unit, true_counts, strict=True):
                tallies.append(asked.mechanism.finest.simulate(truths.sum(axis=0), rng=numbers))
        identity = new_identity(numbers, [tally.counts for tally in tallies])
        return self._table_set(tallies, self._whole(identity, [len(own) for own in places]))

    def _agreed(self) -> object:
        return [[(asked.names, asked.mechanism) for asked in unit] for unit in self._units]

    def _answers(self, frame: pd.DataFrame, rng: Rng, counts: str | None) -> _Answered:
        # one Generator for all groups, or a seed would give each of them the same numbers
        source = None if rng is None else generator(rng)
        draws = client_draws(source)
        codes = respondents(self.domain, frame, counts, draws if self._substitutes else None)
        order = permutation(draws, len(codes))
        all_places = scheduled(len(codes), len(self._units), int(draws.uniform(len(self._units), 1)[0]))
        answers = []
        for places, unit in zip(all_places, self._units, strict=True):
            own = codes[order[places]]
            answers.append((places, [(asked, _privatized(self.domain, asked, own, source)) for asked in unit]))
        identity = new_identity(source, (reports.data for _, unit in answers for _, reports in unit))
        return _Answered(identity, answers)

    def _whole(self, identity: str, sizes: Iterable[int]) -> list[Parts]:
        """Return all respondents of a collection, for everything that they were asked."""
        return [
            Parts.whole(identity, number, size)
            for number, (unit, size) in enumerate(zip(self._units, sizes, strict=True))
            for _ in unit
        ]

    def _table_set(self, tallies: Sequence[Tally], parts: Sequence[Parts]) -> TableSet:
        """Return the tables of everything asked, given what was reported and by whom."""
        privacy = self.privacy()
        tables = [
            Table(
                self.domain.project(asked.question.attributes),
                (Block(asked.question, tally),),
                privacy.for_group(label(asked.names)),
                parts=own,
            )
            for asked, tally, own in zip(self._asked, tallies, parts, strict=True)
        ]
        return TableSet(self.domain, tables, privacy)


@dataclass(frozen=True, slots=True, eq=False)
class _Answered:
    """What the respondents of one collection reported: for every unit who was asked it, and the reports."""

    identity: str
    units: list[tuple[range, list[tuple[Asked, Reports]]]]


def _privatized(domain: Domain, asked: Asked, codes: NDArray[np.int64], source: Rng) -> Reports:
    return asked.mechanism.privatize(asked.question.answer(domain, codes), source)
