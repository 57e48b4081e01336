"""RRBA, randomized response block aggregation: fakes that follow what earlier blocks of respondents have shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial, reduce
from operator import add
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.answers.columns import Category
from ldpstats.answers.domain import Domain
from ldpstats.answers.frames import Frame
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, ReportError, one_line
from ldpstats.mechanisms import FakeResponse
from ldpstats.numbers.arrays import LARGEST_WHOLE, IntArray, at_least, unweighted
from ldpstats.numbers.grid import GRID, numerator_at_most
from ldpstats.numbers.randomness import Rng, client_draws, generator, permutation
from ldpstats.presentation import Summary, progress
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols.counting import Layout, Sending, SentReports, SentRow
from ldpstats.protocols.groups import (
    RECORD,
    Group,
    NamedGroups,
    NamedViews,
    Views,
    among,
    equal_shares,
    known_for,
    label,
    refuse_shared_labels,
    scheduled,
    views_of,
)
from ldpstats.protocols.partitions import collected_by_partition, is_partitioned
from ldpstats.protocols.population import REFUSE, Population, checked_outside, people_of, respondents
from ldpstats.protocols.row_frames import numbered, take_frame
from ldpstats.protocols.rrba.aggregator import Aggregator
from ldpstats.protocols.rrba.block_counts import BlockCounts, BlocksOfRow, CellsOfGroup
from ldpstats.protocols.rrba.device import Client
from ldpstats.protocols.rrba.levels import provably_true, statement
from ldpstats.protocols.rrba.query import Query
from ldpstats.protocols.rrba.rules import Rules, advised_block_size, checked_rules
from ldpstats.protocols.rrba.series import Randomizers, Series
from ldpstats.protocols.saved import SavedProtocol, promised_to_all
from ldpstats.protocols.summary import counted, summary_of
from ldpstats.tables import Origin, Table, TableSet
from ldpstats.tables.respondents import RespondentSet, new_identity

_ANSWERS = ("group", "view")
_UPDATES = ("block", "client")
"""What a protocol file says where fakes may never come: who then gives such an answer has it."""
_NEARLY_SURE = 0.99
"""A higher chance of the truth does not make smaller blocks better."""


@dataclass(frozen=True, init=False)
class RRBA(SavedProtocol):
    """Randomized response block aggregation (Imran & Meo 2024): truth or a fake, block by block.

    Respondents answer in blocks. Who does not tell the truth draws a fake from a table T that is uniform for the
    first block, and thereafter what the block before showed (Eq. 4, cut at zero and scaled), so that fakes look
    more and more like the population. The tables are estimated from all blocks, each with the T that was sent.

    What that is worth depends on what is held equal. At an equal probability of truth, adapted fakes make errors
    smaller than uniform ones. At an equal strict ε they never do: any channel of truth or fake is randomized response
    over all cells (GRR) at that level, followed by further noise. `SampledGroups` is then the better choice.

    `update="client"` takes off the counts of all respondents the fakes that each of them was sent. Version 1 as printed
    (Algorithm 1 with Eq. 4) takes off n times those of the last T. That multiplies the error of T by about -(1 - p) / p
    with every answer, and for p below .5 does not converge: for four cells of 40, 30, 20 and 10 % the simulated ℓ1
    error of T after 6,000 answers is still about 1 at p = .221, .3 and .4; here it is .08, .06 and .04. `make papers`
    has both side by side (imran-meo-2024-algorithm-1).

    Parameters
    ----------
    domain : Domain
    epsilon : float, optional
        The strict level of every respondent; p then follows from the rarest fake of each block. Either this or p is
        required.
    p : float, optional
        The probability of telling the truth. This is the paper's protocol, with its own accounting ln(1/(1-p)) marked
        nominal; without a floor, fakes that never come make the strict level infinite.
    k : int
        The size of the groups, if `groups` is not given.
    block_size : int, optional
        The respondents of a block; `advised_block_size` of the largest group by default. (At low levels that is a
        great many, and fakes stay uniform until then.)
    floor : float, optional
        The share of uniform fakes that is mixed into T: one half with a strict level, none with the paper's p.
    answer : {"group", "view"}
        Whether a respondent answers one group, or all the groups of a view (then epsilon is shared equally).
    update : {"block", "client"}
        Whether T follows from the last full block, or after every respondent from all reports so far, which is the
        first version of the paper's protocol but for one point (see above). The T that a respondent is sent
        shows what those before her reported, the more plainly the smaller the blocks are.
    groups : sequence of sequences of str, optional
        The groups to ask for; they are packed into few views.
    views : sequence of sequences of groups, optional
        The views, if they are decided already.
    outside : {"refuse", "random"}
        As in `SampledGroups`; `client` keeps to it, too.

    Examples
    --------
    >>> from ldpstats import RRBA, Domain
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> print(RRBA(domain, epsilon=1.0).privacy().headline)
    epsilon = 1 (strict; unit: a respondent's whole record)
    >>> print(RRBA(domain, p=0.5, block_size=250).privacy().headline)  # doctest: +NORMALIZE_WHITESPACE
    epsilon = inf (strict; unit: a respondent's whole record); nominal epsilon = 0.6932
    (holds with delta = 0.5)
    """

    kind: ClassVar[str] = "rrba"
    saved: ClassVar[tuple[str, ...]] = ("p", "epsilon", "block_size", "floor", "answer", "update", "views")
    adaptive: ClassVar[bool] = True

    domain: Domain
    k: int
    p: float | None
    epsilon: float | None
    block_size: int
    floor: float
    answer: str
    update: str
    views: Views
    outside: str
    _units: tuple[tuple[Question, ...], ...] = field(repr=False, compare=False)

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: float | None = None,
        p: float | None = None,
        k: int = 2,
        block_size: int | None = None,
        floor: float | None = None,
        answer: str = "group",
        update: str = "block",
        groups: NamedGroups = None,
        views: NamedViews = None,
        outside: str = REFUSE,
    ) -> None:
        chosen = views_of(domain, k=k, groups=groups, named_views=views)
        refuse_shared_labels([group for view in chosen for group in view])
        if answer not in _ANSWERS or update not in _UPDATES:
            raise LdpstatsError(
                f"answer = {answer!r} with update = {update!r}", f"one of {_ANSWERS} with one of {_UPDATES}"
            )
        rules = checked_rules(p, epsilon, floor)
        self._set(
            domain=domain,
            k=max(len(group) for view in chosen for group in view),
            p=rules.p,
            epsilon=rules.epsilon,
            floor=rules.floor,
            answer=answer,
            update=update,
            views=chosen,
            outside=checked_outside(outside),
            _units=tuple(
                tuple(Question.of(domain, group) for group in asked)
                for view in chosen
                for asked in ([view] if answer == "view" else [[group] for group in view])
            ),
        )
        self._set(block_size=self._checked_size(block_size))
        for unit in self._units:
            self._rules(unit).worst(max(question.answers for question in unit))

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of all views."""
        return tuple(group for view in self.views for group in view)

    def privacy(self) -> PrivacyStatement:
        """Return what every respondent is promised before anything is collected, whatever T becomes.

        With `epsilon` that is the level asked for: whatever T is, the chance of the truth is rounded down to the grid
        from the one that has this very level, and the shares of a view's groups add up to no more. With `p` the level
        is worst where the fakes are as rare as the floor lets them be.
        """
        if self.epsilon is not None:
            levels = {
                label(question.attributes): equal_shares(self.epsilon, len(unit))
                for unit in self._units
                for question in unit
            }
            return PrivacyStatement(self.epsilon, RECORD, levels, substitutes=self._substitutes)
        worst = [tuple(self._rules(unit).worst(question.answers) for question in unit) for unit in self._units]
        return self._stated([[randomizers] for randomizers in worst])

    @cached_property
    def largest_p(self) -> Fraction:
        """The largest probability of the truth with which a query asks about a group.

        It is `p`, or what `epsilon` allows where all fakes are equally likely.
        """
        asked = {(self._rules(unit), question.answers) for unit in self._units for question in unit}
        return Fraction(max(rules.largest_truth(cells) for rules, cells in asked), GRID)

    def mechanism_for(self, group: str | Iterable[str]) -> FakeResponse:
        """Return the mechanism that randomizes the answers about a group in its first block, with uniform fakes.

        Parameters
        ----------
        group : str or sequence of str
            An attribute, or several.
        """
        unit, question = known_for(group, ((asked.attributes, (unit, asked)) for unit in self._units for asked in unit))
        return self._rules(unit).first(question.answers)

    def series(self) -> list[Series]:
        """Return a series for every unit, each with its first block."""
        return [Series(unit, self._rules(unit), self.block_size, self.update == "client") for unit in self._units]

    def makes(self, query: Query) -> bool:
        """Say whether a query is one of this protocol: its groups together, its truth, and no fake below its floor.

        Parameters
        ----------
        query : Query
        """
        fingerprint, rules = self._terms
        own = rules.get(tuple(group.domain for group in query.groups))
        if own is None or query.protocol != fingerprint:
            return False
        return all(own.allow(group.randomizer) for group in query.groups)

    @cached_property
    def _terms(self) -> tuple[str, dict[tuple[Domain, ...], Rules]]:
        """Fingerprint, and the rules for what is asked of one respondent."""
        rules = {
            tuple(self.domain.project(question.attributes) for question in unit): self._rules(unit)
            for unit in self._units
        }
        return self.fingerprint(), rules

    def client(self, record: Mapping[str, Category], limit: float) -> Client:
        """Return a respondent's device, which answers the queries of this protocol and no others.

        Parameters
        ----------
        record, limit
            Her true answers, and the largest strict ε that she will spend in all, as in `rrba.Client`.

        Examples
        --------
        >>> from ldpstats import RRBA, Domain
        >>> protocol = RRBA(Domain({"sex": ["F", "M"], "car": ["yes", "no"]}), p=0.5, block_size=250)
        >>> client = protocol.client({"sex": "F", "car": "no"}, limit=float("inf"))
        >>> answer = client.answer(protocol.aggregator().query())
        >>> round(client.spent, 4)
        1.6094
        """
        return Client(self.domain, record, limit, protocol=self)

    def aggregator(self, journal: str | Path | None = None, rng: Rng = None) -> Aggregator:
        """Return the collecting side; with a journal it can be killed, and goes on where the journal ends.

        Parameters
        ----------
        journal : str or path, optional
            A new file for every step, or that of this very protocol; any other one is refused and stays as it is.
        rng : int or Generator, optional
            Makes the unit that is asked first reproducible; what clients draw is their own.
        """
        first = int(client_draws(rng).uniform(len(self._units), 1)[0])
        return Aggregator(self, first, journal)

    @unweighted
    def collect(self, frame: Frame, rng: Rng = None, *, counts: str | None = None, method: str = "mle") -> TableSet:
        """Ask every respondent, one by one and in random order, and count the answers.

        Parameters
        ----------
        frame : DataFrame
            A row per respondent. Every partition of a Dask data frame is a collection of its own, which begins with
            its own first blocks: it is asked and counted by the workers, and only the counts come back.
        rng, counts
            As in `SampledGroups.collect`.
        method : str
            How the tables are estimated, as in `Table.estimated_by`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> protocol = ldp.RRBA(domain, epsilon=2.0, block_size=250)
        >>> people = domain.decode([[0, 0]] * 400 + [[0, 1]] * 100 + [[1, 1]] * 500)
        >>> protocol.collect(people, rng=3)["sex", "car"].estimate.round(2)
        array([[0.41, 0.07],
               [0.  , 0.51]])
        """
        if is_partitioned(frame):
            collect = partial(self.collect, counts=counts, method=method)
            tables: TableSet = collected_by_partition(collect, partial(reduce, add), frame, rng)
            return tables
        source, series = None if rng is None else generator(rng), self.series()
        for _ in self._answers(frame, source, series, counts):
            pass
        return self.tables_of(series, method, _whole(source, series))

    @unweighted
    def simulate(
        self, population: Population, rng: Rng = None, *, counts: str | None = None, method: str = "mle"
    ) -> TableSet:
        """Draw tables with the law of `collect`, at the level of counts.

        Parameters
        ----------
        population : DataFrame or array
            A data frame, or joint counts in domain order (flat or in the domain's shape).
        rng : int or Generator, optional
            A seed makes the draw reproducible.
        counts, method
            As in `collect`.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> tables = ldp.RRBA(domain, epsilon=2.0, block_size=250).simulate([400, 100, 0, 500], rng=1)
        >>> len(tables["sex", "car"].blocks), tables["sex", "car"].estimate.round(2)
        (4, array([[0.41, 0.11],
               [0.02, 0.46]]))
        """
        numbers, series = generator(rng), self.series()
        people = people_of(self.domain, population, numbers, counts, substitutes=self._substitutes)
        places = scheduled(people.n, len(series), int(numbers.integers(len(series))))
        divided = people.divided([len(own) for own in places], numbers)
        for unit_series, part in zip(progress(series, "simulating", unit="group"), divided, strict=True):
            true_counts = part.block_counts(unit_series.questions, self.block_size, numbers)
            for block in zip(*true_counts, strict=True):
                asked = zip(unit_series.blocks[-1].noises, block, strict=True)
                drawn = [noise.simulate(truth, numbers) for noise, truth in asked]
                unit_series.take_all(drawn, simulated=int(drawn[0].sum()))
        return self.tables_of(series, method, _whole(numbers, series))

    @unweighted
    def reports(self, frame: Frame, rng: Rng = None, *, counts: str | None = None) -> pd.DataFrame:
        """Return the rows that travel: one per respondent and group, with the block and the randomized answer.

        Respondents come in random order, and are numbered in it among those who were asked the same.

        Parameters
        ----------
        frame, rng, counts
            As in `collect`; a seed makes a simulation, and the rows say so.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> protocol = ldp.RRBA(domain, epsilon=2.0, block_size=250)
        >>> people = domain.decode([[0, 0]] * 400 + [[0, 1]] * 100 + [[1, 1]] * 500)
        >>> protocol.reports(people, rng=1)[["group", "block", "report"]].head(3)
               group  block  report
        0  sex × car      0       2
        1  sex × car      0       0
        2  sex × car      0       3
        """
        source, series = None if rng is None else generator(rng), self.series()
        places, numbers, groups, blocks, reported = [], [], [], [], []
        for asked in self._answers(frame, source, series, counts):
            for question, cells in zip(asked.questions, asked.reported, strict=True):
                places.append(np.asarray(asked.places, dtype=np.int64))
                numbers.append(asked.block * self.block_size + np.arange(len(cells)))
                groups.append(np.full(len(cells), label(question.attributes), dtype=object))
                blocks.append(np.full(len(cells), asked.block))
                reported.append(cells)
        order = np.argsort(_joined(places), kind="stable")
        rows = {
            "protocol": self.fingerprint(),
            **numbered(_identity(source, series), _joined(numbers)[order]),
            "group": np.concatenate([np.empty(0, dtype=object), *groups])[order],
            "block": _joined(blocks)[order],
            "report": _joined(reported)[order],
            "simulated": source is not None,
        }
        return pd.DataFrame(rows)

    @unweighted
    def sent(self, frame: Frame, rng: Rng = None, *, counts: str | None = None) -> Sending:
        """Return what every respondent sends, as arrays; `reports` makes rows of it.

        Parameters
        ----------
        frame, rng, counts
            As in `collect`.
        """
        source, series = None if rng is None else generator(rng), self.series()
        numbers = {row.label: number for number, row in enumerate(self.sent_rows)}
        columns = [
            SentReports(numbers[label(question.attributes)], cells, asked.people, np.full(len(cells), asked.block))
            for asked in self._answers(frame, source, series, counts)
            for question, cells in zip(asked.questions, asked.reported, strict=True)
        ]
        return Sending(_identity(source, series), source is not None, columns)

    def tables(self, reports: pd.DataFrame, method: str = "mle") -> TableSet:
        """Count rows that travelled, with the fakes that every block was sent: those that the rows before it gave.

        All rows of one collection are needed for that. A row that is missing from a closed block is noticed; rows cut
        off at the end are not.

        Parameters
        ----------
        reports : DataFrame
            Rows that `reports` made, in any order.
        method : str
            How the tables are estimated, as in `Table.estimated_by`.
        """
        counting = self.counting(method)
        take_frame(counting, reports, self.fingerprint(), Layout(self.sent_rows, self.adaptive))
        return counting.tables()

    @cached_property
    def sent_rows(self) -> tuple[SentRow, ...]:
        """What each row of reports answers, in the order in which files number them."""
        return tuple(
            SentRow(label(question.attributes), CellsOfGroup(question.answers), number)
            for number, unit in enumerate(self._units)
            for question in unit
        )

    def counting(self, method: str = "mle") -> BlockCounts:
        """Return what counts rows of reports, chunk by chunk, and makes tables of all of them.

        Parameters
        ----------
        method : str
            How the tables are estimated, as in `Table.estimated_by`.
        """
        cells = [question.answers for unit in self._units for question in unit]
        return BlockCounts(self.sent_rows, cells, partial(self._tables_of_blocks, method))

    def _tables_of_blocks(self, method: str, rows: Sequence[BlocksOfRow], parts: Sequence[RespondentSet]) -> TableSet:
        """Send counted blocks through their series, so that each block's fakes follow from those before it."""
        series, places = self.series(), iter(range(len(rows)))
        of_unit = [[next(places) for _ in unit] for unit in self._units]
        sizes = [int(rows[own[0]][0].sum()) for own in of_unit]
        if max(sizes) - min(sizes) > 1:
            raise ReportError(
                f"from {min(sizes)} to {max(sizes)} rows about different groups",
                "numbers that differ by one at most: groups are asked in turn",
                "Rows are missing or stand twice.",
            )
        respondents_of = []
        for own, unit_series in zip(of_unit, progress(series, "following blocks", unit="group"), strict=True):
            names = [self.sent_rows[row].label for row in own]
            counted = [rows[row][0] for row in own]
            self._refuse_gaps(counted, names)
            respondents_of.append(_same_respondents([parts[row] for row in own], names))
            for block, number in zip(zip(*counted, strict=True), rows[own[0]][1], strict=True):
                unit_series.take_all(block, simulated=int(number))
        return self.tables_of(series, method, respondents_of)

    def tables_of(self, series: Sequence[Series], method: str, parts: Sequence[RespondentSet]) -> TableSet:
        """Return the tables of all groups, with what was really spent on them, and the respondents of every series.

        Parameters
        ----------
        series : sequence of Series
            The blocks of every unit.
        method : str
            How the tables are estimated.
        parts : sequence of RespondentSet
            The respondents of every series.
        """
        sent = [
            [block.randomizers for block in unit_series.blocks if block.n or block is unit_series.blocks[0]]
            for unit_series in series
        ]
        whole = self._stated(sent)
        tables = []
        for unit_series, respondents_of in zip(series, parts, strict=True):
            for position, question in enumerate(unit_series.questions):
                domain = self.domain.project(question.attributes)
                blocks = tuple(unit_series.table_blocks(position))
                promised = whole.for_group(label(question.attributes))
                own = replace(promised, provably_true=provably_true([unit_series], position))
                tables.append(Table(domain, blocks, own, method=method, parts=respondents_of))
        level = f"p = {self.p:g}" if self.p is not None else f"epsilon = {self.epsilon:g}"
        words = f"truth or fake, block by block, at {level}"
        origin = Origin(
            self.fingerprint(), {label(group): words for group in self.groups}, {words: FakeResponse.source}
        )
        return TableSet(self.domain, tables, replace(whole, provably_true=provably_true(series)), origins=(origin,))

    def summary(self) -> Summary:
        """Return what is asked, how it is randomized, which tables follow, and the level."""
        asked = "one group" if self.answer == "group" else "all groups of one view"
        fakes = "the last full block" if self.update == "block" else "all reports before, after every respondent"
        chance = f"with probability {self.p:g}," if self.p is not None else "as often as the rarest fake allows,"
        floor = f", mixed with {100 * self.floor:g} % uniform ones" if self.floor else ""
        return summary_of(
            self,
            self.groups,
            f"Respondents answer in blocks of {self.block_size:,}, each {asked}; {counted(len(self.views), 'view')}.",
            f"Every answer is the truth {chance} else a fake out of {fakes}{floor}.",
            "At an equal chance of truth adapted fakes make errors smaller; at an equal strict level they never beat "
            "randomized response over all cells (SampledGroups with 'grr').",
        )

    def _asked_of_respondents(self) -> dict[str, Any]:
        rows = [[question.attributes for question in unit] for unit in self._units]
        return {"units": [[{"group": label(own), "attributes": list(own)} for own in unit] for unit in rows]}

    def _promised_beside(self) -> dict[str, str]:
        shares = {"truth": self.largest_p, "floor": Fraction(self.floor)}
        of_queries = {name: str(numerator_at_most(share)) for name, share in shares.items()}
        return of_queries | promised_to_all(self.privacy())

    def _agreed(self) -> object:
        views = [[list(group) for group in view] for view in self.views]
        return {name: getattr(self, name) for name in self.saved} | {"views": views}

    def _stated(self, sent: Sequence[Sequence[Randomizers]]) -> PrivacyStatement:
        """Return the privacy statement of respondents who were sent these randomizers."""
        said = statement(self._units, sent, papers=self.p is not None)
        return replace(said, substitutes=self._substitutes)

    def _rules(self, unit: tuple[Question, ...]) -> Rules:
        share = None if self.epsilon is None else equal_shares(self.epsilon, len(unit))
        return Rules(self.p, share, self.floor)

    def _checked_size(self, block_size: int | None) -> int:
        if self.update == "client":
            if block_size not in (None, 1):
                raise LdpstatsError(f"block_size = {block_size!r} with update = 'client'", "blocks of one respondent")
            return 1
        if block_size is not None:
            return at_least(block_size, 1, "block_size")
        firsts = [(self._rules(unit).first(question.answers)) for unit in self._units for question in unit]
        advised = max(advised_block_size(first.k, min(float(first.p), _NEARLY_SURE)) for first in firsts)
        return min(advised, LARGEST_WHOLE)

    def _answers(
        self, frame: Frame, source: np.random.Generator | None, series: Sequence[Series], counts: str | None
    ) -> Iterator[_AskedBlock]:
        """Ask respondents block by block, and yield what they report once it is counted."""
        draws = client_draws(source)
        codes = respondents(self.domain, frame, counts, draws if self._substitutes else None)
        order = permutation(draws, len(codes))
        all_places = scheduled(len(codes), len(series), int(draws.uniform(len(series), 1)[0]))
        for unit_series, places in zip(progress(series, "asking", unit="group"), all_places, strict=True):
            truths = [question.answer(self.domain, codes[order[among(places)]]) for question in unit_series.questions]
            for start in range(0, len(places), self.block_size):
                stop, block = start + self.block_size, len(unit_series.blocks) - 1
                asked = list(zip(unit_series.blocks[-1].randomizers, truths, strict=True))
                reported = [used.randomize(truth[start:stop], draws) for used, truth in asked]
                counted = [used.count_reports(own) for (used, _), own in zip(asked, reported, strict=True)]
                unit_series.take_all(counted, simulated=len(reported[0]) if draws.simulated else 0)
                yield _AskedBlock(
                    unit_series.questions, block, places[start:stop], order[among(places[start:stop])], reported
                )

    def _refuse_gaps(self, counted: Sequence[NDArray[np.int64]], names: Sequence[str]) -> None:
        """Refuse rows of which some are missing: the fakes of later blocks could not be known."""
        sizes = [counts.sum(axis=1).tolist() for counts in counted]
        for name, own in zip(names, sizes, strict=True):
            wrong = [block for block, size in enumerate(own[:-1]) if size != self.block_size]
            if wrong or own != sizes[0] or any(size > self.block_size for size in own):
                block = wrong[0] if wrong else len(own) - 1
                raise ReportError(
                    f"{own[block] if own else 0} rows about {name!r} in block {block}",
                    f"{self.block_size} rows in every block but the last, and as many about every group of a view",
                    "Rows are missing or stand twice, and the fakes of later blocks depend on them. Rows of another "
                    "collection are counted by themselves, and the table sets added.",
                )


@dataclass(frozen=True, slots=True, eq=False)
class _AskedBlock:
    """Reports of the respondents of one block, an array for every group."""

    questions: tuple[Question, ...]
    block: int
    places: range
    people: IntArray
    reported: list[NDArray[Any]]


def _identity(source: np.random.Generator | None, series: Sequence[Series]) -> str:
    counted = (np.array(counts) for unit_series in series for block in unit_series.blocks for counts in block.counts)
    return new_identity(source, counted)


def _whole(source: np.random.Generator | None, series: Sequence[Series]) -> list[RespondentSet]:
    """Return the respondents of a finished collection, for every series."""
    identity = _identity(source, series)
    return [
        RespondentSet.whole(identity, unit, sum(block.n for block in unit_series.blocks))
        for unit, unit_series in enumerate(series)
    ]


def _same_respondents(parts: Sequence[RespondentSet], names: Sequence[str]) -> RespondentSet:
    """Return the respondents of one collection, who all answered every group of their view."""
    collections = dict.fromkeys(collection for own in parts for collection in own.collections)
    if len(collections) > 1 or any(own != parts[0] for own in parts):
        raise ReportError(
            f"rows of {len(collections)} collections about {one_line(list(names))}, or of different respondents",
            "rows of one collection, whose respondents answered every group of their view",
            "Rows of another collection are counted by themselves, and the table sets added.",
        )
    return parts[0]


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, dtype=np.int64), *parts]).astype(np.int64)
