"""Assigned questions: every respondent answers one unit of groups out of a balanced public schedule."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.answers.domain import Domain
from ldpstats.answers.frames import Frame
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.estimation.blocks import Block
from ldpstats.mechanisms import (
    Channel,
    Mechanism,
    best_name,
    checked_mechanism,
    mechanism,
    plain_mechanism,
    read_mechanism,
)
from ldpstats.mechanisms.channel import RowMechanism, cell_names
from ldpstats.noise import Tally
from ldpstats.numbers.arrays import IntArray, positive_epsilon, real_number, unweighted
from ldpstats.numbers.randomness import Draws, Rng, client_draws, generator, permutation
from ldpstats.presentation import Summary, progress
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols.counting import Layout, Sending, SentReports, SentRow
from ldpstats.protocols.groups import (
    RECORD,
    Group,
    among,
    checked_domain,
    known_for,
    label,
    refuse_shared_labels,
    scheduled,
    warn_of_few,
    worst_level,
)
from ldpstats.protocols.partitions import collected_by_partition, is_partitioned
from ldpstats.protocols.population import People, Population, checked_outside, people_of, respondents
from ldpstats.protocols.row_counts import RowCounts
from ldpstats.protocols.row_frames import numbered, take_frame
from ldpstats.protocols.saved import SavedProtocol, promised_to_all
from ldpstats.protocols.summary import between, named, summary_of
from ldpstats.protocols.wire import to_column
from ldpstats.tables import Origin, Table, TableSet
from ldpstats.tables.respondents import CrossedRows, RespondentSet, new_identity

if TYPE_CHECKING:
    from ldpstats.protocols.per_attribute import CrossedAnswers

_CHOSEN = "mechanism"
"""The parameter that names the mechanisms, or lists them."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedRow:
    """Counts of what several respondents sent in one row of the protocol, and the block that a table makes of them."""

    numbers: tuple[NDArray[Any], ...]
    block: Callable[[Domain], Block]  # given the domain of a table, its block
    rows: CrossedRows | None = None  # kept where answers bear on several tables together


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the names of what it asks for, and the mechanism that randomizes the answer.

    Parameters
    ----------
    names : tuple of str
        What reports are labelled with: attributes, or parts of them where several questions are about the same ones.
    question : Question
        What is asked.
    mechanism : Mechanism
        What randomizes the answer.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> from ldpstats.extend import Asked
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> asked = Asked.about(domain, ("sex", "car"), "grr", 1.0)
    >>> asked.names, asked.question.answers, asked.mechanism
    (('sex', 'car'), 4, GRR(k=4, epsilon=1.0))
    """

    names: Group
    question: Question
    mechanism: Mechanism

    @classmethod
    def about(cls, domain: Domain, group: Group, name: str | Mechanism, epsilon: float) -> Asked:
        """Ask for a group through a mechanism of the registry; "auto" takes the one with the least variance.

        Parameters
        ----------
        domain : Domain
        group : tuple of str
            The attributes that are asked for together.
        name : str or Mechanism
            A name out of `mechanisms()`, or "auto"; or the mechanism itself, for so many cells and at this level.
        epsilon : float
            The level of the answer.
        """
        question = Question.of(domain, group)
        if isinstance(name, str):
            chosen = best_name(question.answers, epsilon) if name == "auto" else name
            return cls(group, question, mechanism(chosen, k=question.answers, epsilon=epsilon))
        if not name.serves(question.answers, epsilon):
            unbounded = (
                "It hides some values alone: with epsilon=math.inf it can be asked, and privacy() says what holds."
            )
            raise LdpstatsError(
                f"{shortened(name)} for {label(group)!r}",
                f"a mechanism with k = {question.answers} and epsilon = {epsilon!r}",
                unbounded if name.epsilon == math.inf else "",
            )
        if isinstance(name, Channel):
            name.refuse_other_names(domain, group)
        return cls(group, question, name)

    @property
    def asked(self) -> tuple[Asked, ...]:
        """The question alone."""
        return (self,)

    @property
    def wire(self) -> Mechanism:
        """The mechanism knows its reports."""
        return self.mechanism

    def shown_for_certain(self, domain: Domain) -> list[str]:
        """Return what reports show for certain, in words, where a channel says so.

        Parameters
        ----------
        domain : Domain
        """
        if not isinstance(self.mechanism, RowMechanism):
            return []
        cells = cell_names(domain, self.question.attributes) if self.question.is_identity else None
        return [f"about {label(self.names)}, {words}" for words in self.mechanism.shown_for_certain(cells)]

    def send(self, domain: Domain, codes: NDArray[np.int64], source: Rng) -> NDArray[Any]:
        """Randomize the answers of respondents with these records.

        Parameters
        ----------
        domain : Domain
        codes : array
            A row of codes per respondent.
        source : Generator or None
            Where chance comes from; None is the operating system.
        """
        return self.mechanism.privatize(self.question.answer(domain, codes), source).data

    @property
    def numbers(self) -> int:
        """How many different reports there are, where these are numbers that are counted one by one; otherwise 0."""
        used = type(self.mechanism.finest)
        plain = used.count_reports is Mechanism.count_reports and used.possible is Mechanism.possible
        return self.mechanism.noise.outputs if plain and self.mechanism.report_format.width is None else 0

    def summed(self, sent: NDArray[Any], simulated: int) -> Tally:
        """Add up what was sent, so many of the rows by a simulation.

        Parameters
        ----------
        sent : array
            The reports.
        simulated : int
            How many of them came from a seed.
        """
        used = self.mechanism.finest
        return Tally(used.noise, used.count_reports(sent), len(sent), simulated)

    def simulate(self, people: People, rng: np.random.Generator) -> CountedRow:
        """Draw counts with the law of what these respondents send.

        Parameters
        ----------
        people : People
            The respondents.
        rng : Generator
        """
        (true_counts,) = people.block_counts([self.question], max(people.n, 1), rng)
        return self.counted(self.mechanism.finest.simulate(true_counts.sum(axis=0), rng=rng))

    def counted(self, sums: Tally) -> CountedRow:
        """Return a tally as what tables are made of.

        Parameters
        ----------
        sums : Tally
        """
        block = Block(self.question, sums, (label(self.names),))
        return CountedRow(
            (sums.counts,), lambda own: block if own.names == block.question.attributes else block.widened(own)
        )


Row: TypeAlias = "Asked | CrossedAnswers"
"""What one row of a respondent's reports answers: one question, or several whose answers travel together."""
Unit: TypeAlias = tuple[Row, ...]
"""What one respondent is asked; her reports are randomized independently of each other."""


class AssignedQuestions(SavedProtocol):
    """A protocol with a fixed list of units, of which every respondent answers exactly one.

    The respondents of one call are assigned at random: the schedule begins at a random unit and goes round,
    so that every unit is answered equally often (up to one), and a single respondent draws hers uniformly.
    Which unit was answered is public and does not depend on the record. So is what becomes of an answer outside the
    questionnaire.

    A protocol derived from this one is a frozen dataclass of its parameters, the domain first. It has a `kind`, the
    names of what is `saved`, and `units`; `formed` only where a table counts other rows than those about its group.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import ClassVar
    >>> from ldpstats import Domain
    >>> from ldpstats.extend import Asked, AssignedQuestions
    >>> @dataclass(frozen=True)
    ... class OneByOne(AssignedQuestions):
    ...     kind: ClassVar[str] = "one by one"
    ...     saved: ClassVar[tuple[str, ...]] = ("epsilon",)
    ...     domain: Domain
    ...     epsilon: float
    ...
    ...     def units(self):
    ...         return [[Asked.about(self.domain, (name,), "grr", self.epsilon)] for name in self.domain.names]
    >>> protocol = OneByOne(Domain({"sex": ["F", "M"], "car": ["yes", "no"]}), epsilon=1.0)
    >>> [table.n for table in protocol.simulate([100, 200, 300, 400], rng=1)]
    [500, 500]
    """

    adaptive: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checked_domain(self.domain)
        checked_outside(self.outside)
        if not self._units or not all(self._units):
            raise LdpstatsError(
                f"{type(self).__name__} whose units() are {shortened(self._units)}", "at least one, each with a row"
            )
        refuse_shared_labels([row.names for row in self._rows])
        refuse_shared_labels([group for group, _ in self._formed])

    @abstractmethod
    def units(self) -> Iterable[Iterable[Row]]:
        """Return what each respondent may be asked: one of these units, and all of its rows.

        The groups of one unit are disjoint. Tables whose groups overlap are not added to each other where both count
        the same respondents, so that rows of overlapping groups could not come in parts.
        """

    def formed(self) -> list[tuple[Group, list[int]]]:
        """Return the attributes of every table, and the positions, among all rows, of those that it counts."""
        return [(row.asked[0].question.attributes, [position]) for position, row in enumerate(self._rows)]

    def _settle(self, **values: Any) -> None:
        self._set(**values)
        AssignedQuestions.__post_init__(self)

    @cached_property
    def _units(self) -> tuple[Unit, ...]:
        return tuple(map(tuple, self.units()))

    @cached_property
    def _formed(self) -> list[tuple[Group, list[int]]]:
        return self.formed()

    @cached_property
    def _rows(self) -> tuple[Row, ...]:
        return tuple(row for unit in self._units for row in unit)

    @property
    def _asked(self) -> tuple[Asked, ...]:
        return tuple(asked for row in self._rows for asked in row.asked)

    def mechanism_for(self, group: str | Iterable[str]) -> Mechanism:
        """Return the mechanism that randomizes the answers about a group.

        Parameters
        ----------
        group : str or sequence of str
            An attribute, or several.
        """
        return known_for(group, ((asked.question.attributes, asked.mechanism) for asked in self._asked))

    def privacy(self) -> PrivacyStatement:
        """Return what every respondent is promised: the levels of the reports that she sends add up."""
        return self._privacy

    @cached_property
    def _privacy(self) -> PrivacyStatement:
        unit_of = [number for number, unit in enumerate(self._units) for _ in unit]
        per_group = {}
        for group, positions in self._formed:
            counted_of: dict[int, list[Mechanism]] = defaultdict(list)
            for position in positions:
                if position not in range(len(self._rows)):
                    raise LdpstatsError(f"{group!r} formed of row {position}", f"rows below {len(self._rows)}")
                within = [asked for asked in self._rows[position].asked if set(asked.question.attributes) <= set(group)]
                if not within:
                    raise LdpstatsError(
                        f"{group!r} formed of the row about {self._rows[position].names!r}", "rows about its attributes"
                    )
                counted_of[unit_of[position]] += [asked.mechanism for asked in within]
            per_group[label(group)] = worst_level(counted_of.values())
        whole = worst_level([asked.mechanism for row in unit for asked in row.asked] for unit in self._units)
        certain = dict.fromkeys(told for asked in self._asked for told in asked.shown_for_certain(self.domain))
        return PrivacyStatement(whole, RECORD, per_group, substitutes=self._substitutes, certain=tuple(certain))

    def _promised_beside(self) -> dict[str, str]:
        return promised_to_all(self._privacy)

    def summary(self) -> Summary:
        """Return what is asked, how it is randomized, which tables follow, and the level."""
        names, units = named(label(asked.names) for asked in self._asked), len(self._units)
        sizes = [sum(len(row.asked) for row in unit) for unit in self._units]
        drawn = "Which is drawn at random: it is public and does not depend on her record."
        asked = f"Every respondent is asked for {names}."
        if units > 1:
            part = "one" if max(sizes) == 1 else f"one set of {between(sizes)}"
            asked = f"Every respondent is asked for {part} out of {units:,}: {names}. {drawn}"
        used = dict.fromkeys(type(asked.mechanism).__name__ for asked in self._asked)
        levels = between([asked.mechanism.epsilon for asked in self._asked])
        randomized = (
            f"Before she sends it, each answer is randomized by itself: {', '.join(used)} at epsilon = {levels}."
        )
        return summary_of(self, [group for group, _ in self._formed], asked, randomized)

    @unweighted
    def reports(self, frame: Frame, rng: Rng = None, *, counts: str | None = None) -> pd.DataFrame:
        """Return the rows that travel: what every respondent sends about the unit that she is asked.

        The respondents come in random order, because the order of the frame may tell something about them. A row
        names its collection and numbers its respondent in that order, among those who were asked the same: so
        whoever counts the rows knows whom they have counted. A report is a whole number, or a text of bytes in
        hexadecimal digits: bits, or several numbers. A row about several attributes has the answers as numbers, in
        the order of the domain; bits are read as a binary number that begins with the first category's.

        Parameters
        ----------
        frame, rng, counts
            As in `collect`; a seed makes a simulation, and the rows say so.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> protocol = ldp.SampledGroups(domain, epsilon=2.0)
        >>> people = domain.decode([[0, 0]] * 400 + [[0, 1]] * 100 + [[1, 1]] * 500)
        >>> protocol.reports(people, rng=1)[["group", "report", "simulated"]].head(3)
               group  report  simulated
        0  sex × car       1       True
        1  sex × car       0       True
        2  sex × car       3       True
        """
        fingerprint, parts = self.fingerprint(), []
        sent = self._sent(frame, rng, counts)
        asked = zip(sent.places, self._units, sent.answers, strict=True)
        for places, unit, answers in progress(asked, "writing rows", len(self._units), "group"):
            for row, data in zip(unit, answers, strict=True):
                columns = {
                    "protocol": fingerprint,
                    **numbered(sent.identity, np.arange(len(places))),
                    "group": label(row.names),
                    "report": to_column(data, row.wire.report_format),
                    "simulated": rng is not None,
                }
                parts.append(pd.DataFrame(columns, index=pd.Index(places)))
        return pd.concat(parts).sort_index(kind="stable").reset_index(drop=True)

    @unweighted
    def sent(self, frame: Frame, rng: Rng = None, *, counts: str | None = None) -> Sending:
        """Return what every respondent sends about the unit that she is asked, as arrays; `reports` makes rows of it.

        Parameters
        ----------
        frame, rng, counts
            As in `collect`.
        """
        sent = self._sent(frame, rng, counts)
        people = (sent.order[among(own)] for own, unit in zip(sent.places, self._units, strict=True) for _ in unit)
        answers = (data for unit in sent.answers for data in unit)
        columns = [SentReports(row, data, own) for row, (data, own) in enumerate(zip(answers, people, strict=True))]
        return Sending(sent.identity, rng is not None, columns)

    def tables(self, reports: pd.DataFrame) -> TableSet:
        """Count rows that travelled; a row that this protocol cannot have produced is refused, naming it.

        Rows may come in parts, each counted by itself and the tables added: that gives the same as all at once.

        Parameters
        ----------
        reports : DataFrame
            Rows that `reports` made, in any order.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> protocol = ldp.SampledGroups(domain, epsilon=2.0)
        >>> people = domain.decode([[0, 0]] * 400 + [[0, 1]] * 100 + [[1, 1]] * 500)
        >>> sent = protocol.reports(people, rng=1)
        >>> halves = protocol.tables(sent.iloc[:500]) + protocol.tables(sent.iloc[500:])
        >>> halves.to_json() == protocol.tables(sent).to_json()
        True
        """
        counting = self.counting()
        take_frame(counting, reports, self.fingerprint(), Layout(self.sent_rows, self.adaptive))
        return counting.tables()

    @cached_property
    def sent_rows(self) -> tuple[SentRow, ...]:
        """What each row of reports answers, in the order in which files number them."""
        rows = ((number, row) for number, unit in enumerate(self._units) for row in unit)
        return tuple(SentRow(label(row.names), row.wire, number) for number, row in rows)

    def counting(self) -> RowCounts:
        """Return what counts rows of reports, chunk by chunk, and makes tables of all of them."""
        rows = self._rows
        return RowCounts(self.sent_rows, [row.numbers for row in rows], [row.summed for row in rows], self._tables_of)

    def _tables_of(self, sums: Sequence[Any], parts: Sequence[RespondentSet]) -> TableSet:
        return self._table_set([row.counted(own) for row, own in zip(self._rows, sums, strict=True)], parts)

    @unweighted
    def collect(self, frame: Frame, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Ask every respondent, one by one, and count the reports.

        Parameters
        ----------
        frame : DataFrame
            A row per respondent. Every partition of a Dask data frame is a collection of its own, with a schedule that
            begins at a random unit: it is asked and counted by the workers, and only the counts come back.
        rng : int or Generator, optional
            A seed makes a simulation. That of a Dask data frame depends on its partitions, but not on the workers.
            Without one, the operating system's secure randomness is used.
        counts : str, optional
            For a frequency table: the column that says for how many respondents a row stands.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> protocol = ldp.SampledGroups(domain, epsilon=2.0)
        >>> people = domain.decode([[0, 0]] * 400 + [[0, 1]] * 100 + [[1, 1]] * 500)
        >>> protocol.collect(people, rng=3)["sex", "car"].estimate.round(2)
        array([[ 0.42,  0.11],
               [-0.02,  0.48]])
        """
        if is_partitioned(frame):
            collect = partial(self._counted, counts=counts)
            return collected_by_partition(collect, self._added, frame, rng).tables()
        sent = self._sent(frame, rng, counts)
        reported = [
            row.counted(row.summed(data, 0 if rng is None else len(data)))
            for unit, answers in zip(progress(self._units, "counting", unit="group"), sent.answers, strict=True)
            for row, data in zip(unit, answers, strict=True)
        ]
        return self._table_set(reported, self._everyone(sent.identity, sent.places))

    @unweighted
    def simulate(self, population: Population, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Draw tables with the law of `collect`, at the level of counts.

        Parameters
        ----------
        population : DataFrame or array
            A data frame, or joint counts in domain order (flat or in the domain's shape).
        rng : int or Generator, optional
            A seed makes the draw reproducible.
        counts : str, optional
            As in `collect`, for a data frame.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> protocol = ldp.SampledGroups(domain, epsilon=2.0)
        >>> protocol.simulate([400, 100, 0, 500], rng=1)["sex", "car"].estimate.round(2)
        array([[0.38, 0.11],
               [0.01, 0.5 ]])
        """
        numbers = generator(rng)
        people = people_of(self.domain, population, numbers, counts, substitutes=self._substitutes)
        warn_of_few(people.n, len(self._units), stacklevel=3)
        places = scheduled(people.n, len(self._units), int(numbers.integers(len(self._units))))
        units = progress(self._units, "simulating", unit="group")
        reported = [
            row.simulate(part, numbers)
            for unit, part in zip(units, people.divided([len(own) for own in places], numbers), strict=True)
            for row in unit
        ]
        identity = new_identity(numbers, (array for row in reported for array in row.numbers))
        return self._table_set(reported, self._everyone(identity, places))

    def _parameters(self) -> dict[str, Any]:
        # mechanisms that were chosen one by one stand in the file beside the parameters
        return {
            name: value for name, value in super()._parameters().items() if name != _CHOSEN or isinstance(value, str)
        }

    def _asked_of_respondents(self) -> dict[str, Any]:
        return plain_units(self._units)

    @classmethod
    def _made(cls, domain: Domain, options: dict[str, Any], body: dict[str, Any]) -> Self:
        """Make the protocol again, with the mechanisms of the file where a name now stands for others."""
        if _CHOSEN not in cls.saved:
            return super()._made(domain, options, body)
        if _CHOSEN in options:
            today = super()._made(domain, options, body)
            if today._asked_of_respondents()["mechanisms"] == body["mechanisms"]:  # noqa: SLF001  # of this very class
                return today
        return super()._made(domain, {**options, _CHOSEN: read_mechanisms(body)}, body)

    def _as_named(self, parameters: dict[str, Any]) -> dict[str, Any]:
        own = self._parameters()
        return {name: value for name, value in parameters.items() if name != _CHOSEN or name in own}

    def _agreed(self) -> object:
        return [[(asked.names, asked.mechanism) for row in unit for asked in row.asked] for unit in self._units]

    def _sent(self, frame: Frame, rng: Rng, counts: str | None, *, alone: bool = True) -> _Sent:
        # one Generator for all rows, or a seed would give each of them the same numbers
        source = None if rng is None else generator(rng)
        draws = client_draws(source)
        codes = respondents(self.domain, frame, counts, draws if self._substitutes else None)
        if alone:
            warn_of_few(len(codes), len(self._units), stacklevel=4)
        order, places = self._assigned(frame, counts, len(codes), draws)
        units = progress(self._units, "asking", unit="group")
        answers = [
            [row.send(self.domain, own, source) for row in unit]
            for own, unit in zip((codes[order[among(own_places)]] for own_places in places), units, strict=True)
        ]
        return _Sent(new_identity(source, (data for unit in answers for data in unit)), order, places, answers)

    def _assigned(self, frame: Frame, counts: str | None, n: int, draws: Draws) -> tuple[IntArray, list[range]]:
        """Return the respondents in random order, and the places in it of those who are asked each unit."""
        del frame, counts  # for those who choose
        order = permutation(draws, n)
        return order, scheduled(n, len(self._units), int(draws.uniform(len(self._units), 1)[0]))

    def _counted(self, frame: pd.DataFrame, rng: Rng, counts: str | None) -> RowCounts:
        """Ask every respondent and return counts, not tables: they add up faster."""
        sent, counting = self._sent(frame, rng, counts, alone=False), self.counting()
        reports = (data for unit in sent.answers for data in unit)
        for position, (row, data) in enumerate(zip(self._rows, reports, strict=True)):
            counting.take_sums(position, row.summed(data, 0 if rng is None else len(data)), sent.identity)
        return counting

    def _added(self, parts: Iterable[RowCounts]) -> RowCounts:
        whole = self.counting()
        for counting in parts:
            whole.add(counting)
        return whole

    def _everyone(self, identity: str, places: Sequence[range]) -> list[RespondentSet]:
        """Return the respondents behind every row of a collection, of which nobody is left out."""
        return [
            RespondentSet.whole(identity, number, len(own))
            for number, (unit, own) in enumerate(zip(self._units, places, strict=True))
            for _ in unit
        ]

    def _table_set(self, reported: Sequence[CountedRow], parts: Sequence[RespondentSet]) -> TableSet:
        promised = self._privacy
        crossed = [
            () if counted.rows is None else (replace(counted.rows, parts=who),)
            for counted, who in zip(reported, parts, strict=True)
        ]
        tables = []
        for group, positions in self._formed:
            own = self.domain.project(group)
            blocks = tuple(reported[position].block(own) for position in positions)
            who = RespondentSet.together(parts[position] for position in positions)
            rows = tuple(own_rows for position in positions for own_rows in crossed[position])
            tables.append(Table(own, blocks, promised.for_group(label(group)), parts=who, rows=rows))
        return TableSet(self.domain, tables, promised, origins=(self._origin,))

    @cached_property
    def _origin(self) -> Origin:
        mechanisms: dict[str, str] = {}
        sources: dict[str, str] = {}
        for group, positions in self._formed:
            asked = [answer for position in positions for answer in self._rows[position].asked]
            own = [answer.mechanism for answer in asked if {*answer.question.attributes} <= {*group}]
            words = [f"{type(mechanism).__name__} at epsilon = {mechanism.epsilon:g}" for mechanism in own]
            mechanisms[label(group)] = "; ".join(dict.fromkeys(words))
            sources |= {name: mechanism.source for name, mechanism in zip(words, own, strict=True)}
        return Origin(self.fingerprint(), mechanisms, sources)


@dataclass(frozen=True, slots=True, eq=False)
class _Sent:
    """What the respondents of one collection sent, unit by unit."""

    identity: str
    order: IntArray  # respondents in random order
    places: list[range]  # for every unit, the places in that order that were asked it
    answers: list[list[NDArray[Any]]]  # for every unit, the reports in each of its rows


def checked_choice(mechanism: object) -> str | tuple[Mechanism, ...]:
    """Return a name as it is, or mechanisms as a tuple; whether the name is known is seen when it is used."""
    if isinstance(mechanism, str):
        return mechanism
    listed = [mechanism] if isinstance(mechanism, Mechanism) else mechanism
    if not isinstance(listed, (list, tuple)):
        raise LdpstatsError(
            f"mechanism = {shortened(mechanism)}", "a name out of mechanisms(), 'auto', or a list: one for every answer"
        )
    # devices need not know where the rows of a channel come from
    checked = map(checked_mechanism, listed)
    return tuple(given.sender if isinstance(given, RowMechanism) else given for given in checked)


def checked_level(epsilon: object, mechanism: object) -> float:
    """Return a level; it may be infinite where mechanisms are given, each of which says what it hides."""
    given = not isinstance(mechanism, str)
    return math.inf if given and real_number(epsilon) == math.inf else positive_epsilon(epsilon)


def for_each(mechanism: str | tuple[Mechanism, ...], answers: int) -> list[str | Mechanism]:
    """Return the name, or its own mechanism, for each answer of all units together."""
    listed: list[str | Mechanism] = [mechanism] * answers if isinstance(mechanism, str) else [*mechanism]
    if len(listed) != answers:
        raise LdpstatsError(f"{len(listed)} mechanisms", f"one for each of the {answers} answers, in their order")
    return listed


def plain_units(units: Sequence[Unit]) -> dict[str, Any]:
    """Return every different mechanism once, and the rows of every unit, which name theirs by its number."""
    different = dict.fromkeys(asked.mechanism for unit in units for row in unit for asked in row.asked)
    numbers = {mechanism: number for number, mechanism in enumerate(different)}
    return {
        "mechanisms": [plain_mechanism(mechanism) for mechanism in different],
        "units": [[_row(row, numbers) for row in unit] for unit in units],
    }


def read_mechanisms(body: Mapping[str, Any]) -> tuple[Mechanism, ...]:
    """Return the mechanisms of a protocol file that `plain_units` wrote, one for every answer in order."""
    listed = [read_mechanism(mechanism) for mechanism in body["mechanisms"]]
    answers = [answer for unit in body["units"] for row in unit for answer in row.get("crossed", [row])]
    return tuple(listed[answer["mechanism"]] for answer in answers)


def _row(row: Row, numbers: Mapping[Mechanism, int]) -> dict[str, Any]:
    """Return a row as plain values: one answer, or several crossed ones, each a number of so many bytes."""
    if len(row.asked) == 1:
        return {"group": label(row.names), **_answer(row.asked[0], numbers)}
    answers = [_answer(asked, numbers) for asked in row.asked]
    return {"group": label(row.names), "crossed": answers, "bytes": row.wire.report_format.dtype.itemsize}


def _answer(asked: Asked, numbers: Mapping[Mechanism, int]) -> dict[str, Any]:
    question = asked.question
    classes = {} if question.is_identity else {"answers": list(question.classes)}
    return {"attributes": list(question.attributes), "mechanism": numbers[asked.mechanism], **classes}
