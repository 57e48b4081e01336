"""Personal levels: respondents choose, in public, at which of several levels they answer the same questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any, ClassVar, Self

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.answers.frames import Frame, checked_frame, known_frame
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.numbers.arrays import IntArray
from ldpstats.numbers.randomness import Draws, Rng, generator, permutation
from ldpstats.presentation import Summary
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols.assigned import Asked, AssignedQuestions, CountedRow
from ldpstats.protocols.groups import Group, label, scheduled
from ldpstats.protocols.population import REFUSE, Population, repetitions
from ldpstats.protocols.sampled_groups import SampledGroups
from ldpstats.protocols.summary import summary_of
from ldpstats.tables import Table, TableSet, checked_table_set
from ldpstats.tables.respondents import RespondentSet


@dataclass(frozen=True, init=False)
class PersonalLevels(AssignedQuestions):
    """The same questions at several levels, of which every respondent chooses one.

    The choice is public. Who chose a level is promised that level for her whole record, whatever others chose; what the
    choice itself tells of her, where it depends on her record, is not covered.

    Tables pool the reports of all levels, each weighted by what it tells: by estimated variances ("gls"), or, as
    `estimated_by` "mle" has it, by their likelihood, which is GIBU, the generalized iterative Bayesian update (EM over
    several channels). With levels .5, 1 and 2 by thirds the variance is that of the best weights, which nobody knows,
    within 1 per cent; "unbiased" takes the weights of equal frequencies, and where one of 16 values has nine tenths
    loses up to 6 per cent.

    What is pooled assumes that who chose which level does not depend on the answers (that it was chosen at random), and
    says so. `apart` gives the tables of every level by themselves, without that assumption;
    `compare_collectors(list(sets.values()), list(sets))` and `homogeneity_test` say whether they differ.

    Where devices answer, every level is a protocol file of its own: `protocols["low"].to_json()` goes to those who
    chose it, and their device holds them to that level. `together` pools what came of these files. (A device with the
    file of the whole protocol draws the level at random, and promises no more than the highest.)

    Parameters
    ----------
    domain : Domain
    levels : mapping of str to float
        At least two names of levels, and epsilon of a respondent who chose it; or the protocol that she answers.
    protocol : callable
        What is asked at every level: a class such as `SampledGroups`, `WholeView` or `HadamardCoefficients`, whose
        respondents answer questions one by one.
    column : str, optional
        The column of data frames that names the level which every respondent chose. Without it levels are drawn at
        random, in equal numbers.
    outside : {"refuse", "random"}
        As in `SampledGroups`.
    **parameters : object
        Further parameters of `protocol`, the same for all levels.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"car": ["yes", "no"]})
    >>> levels = {"low": 0.5, "usual": 1.0, "open": 2.0}
    >>> protocol = ldp.PersonalLevels(domain, levels=levels, k=1, column="level")
    >>> people = domain.decode([[0]] * 3000 + [[1]] * 6000).assign(level=["low", "usual", "open"] * 3000)
    >>> tables = protocol.collect(people, rng=1)
    >>> tables["car"].estimate.round(2)
    array([0.34, 0.66])
    >>> apart = protocol.apart(tables)
    >>> {name: own["car"].estimate.round(2).tolist() for name, own in apart.items()}
    {'low': [0.32, 0.68], 'usual': [0.32, 0.68], 'open': [0.35, 0.65]}
    >>> ldp.homogeneity_test({name: own["car"] for name, own in apart.items()}).pvalue > 0.05
    True
    >>> dict(tables.privacy.chosen), apart["low"].privacy.epsilon
    ({'low': 0.5, 'usual': 1.0, 'open': 2.0}, 0.5)
    """

    kind: ClassVar[str] = "personal levels"
    saved: ClassVar[tuple[str, ...]] = ("levels", "column")

    domain: Domain
    names: tuple[str, ...]
    same: tuple[AssignedQuestions, ...]
    outside: str
    column: str | None

    def __init__(
        self,
        domain: Domain,
        *,
        levels: Mapping[str, float | AssignedQuestions],
        protocol: Callable[..., AssignedQuestions] = SampledGroups,
        column: str | None = None,
        outside: str = REFUSE,
        **parameters: Any,
    ) -> None:
        names = tuple(levels) if isinstance(levels, Mapping) else ()
        if len(names) < 2 or not all(isinstance(name, str) and name and ":" not in name for name in names):
            raise LdpstatsError(
                f"levels = {shortened(levels)}", "a mapping from at least two names, without a colon, to levels"
            )
        same = tuple(
            level
            if isinstance(level, AssignedQuestions)
            else protocol(domain, epsilon=level, outside=outside, **parameters)
            for level in levels.values()
        )
        if any(_rows_asked(own) != _rows_asked(same[0]) for own in same) or _rows_asked(same[0])[:1] != (domain,):
            raise LdpstatsError(
                f"{same[0]!r} at every level",
                "a protocol that asks the same questions at every level, whose answers are counted one by one",
            )
        if any(isinstance(own, PersonalLevels) for own in same):
            raise LdpstatsError(
                "a level that is itself a choice of levels",
                "levels, or protocols of one level each",
                "Name all levels beside each other: who chose one would be given any of those within it.",
            )
        if column is not None and (not isinstance(column, str) or column in domain.names):
            raise LdpstatsError(f"column = {shortened(column)}", "the name of a column beside the attributes")
        self._settle(domain=domain, names=names, same=same, column=column, outside=outside)

    @property
    def protocols(self) -> dict[str, AssignedQuestions]:
        """The protocol of every level, by its name."""
        return dict(zip(self.names, self.same, strict=True))

    def units(self) -> list[list[Asked]]:
        """Return the units of every level in turn; rows are named by the level, and by what they ask."""
        return [
            [replace(asked, names=(f"{name}: {label(asked.names)}",)) for row in unit for asked in row.asked]
            for name, own in self.protocols.items()
            for unit in own.units()
        ]

    def formed(self) -> list[tuple[Group, list[int]]]:
        """Return the groups of the protocol, each with its rows at all levels."""
        starts = range(0, len(self._rows), len(self._rows) // len(self.names))
        formed = self.same[0].formed()
        return [(group, [start + position for start in starts for position in places]) for group, places in formed]

    @cached_property
    def _privacy(self) -> PrivacyStatement:
        return replace(super()._privacy, chosen={name: own.privacy().epsilon for name, own in self.protocols.items()})

    def summary(self) -> Summary:
        """Return the levels, what is asked at each and how it is randomized, which tables follow, and the promise."""
        asked = f"Every respondent chooses one of the levels {', '.join(self.names)}, in public."
        each = (f"{name}: {' '.join(own.summary().sentences[:2])}" for name, own in self.protocols.items())
        return summary_of(self, [group for group, _ in self._formed], asked, *each)

    def simulate(self, population: Population, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Draw tables with the law of `collect`; from joint counts, which know no choice, at levels drawn at random.

        Parameters
        ----------
        population, rng, counts
            As for any protocol.
        """
        frame = None if self.column is None else known_frame(population)
        if frame is None:
            return super().simulate(population, rng, counts=counts)
        return self.collect(frame, generator(rng), counts=counts)

    def _table_set(self, reported: Sequence[CountedRow], parts: Sequence[RespondentSet]) -> TableSet:
        return super()._table_set(reported, parts).estimated_by("gls")

    def _assigned(self, frame: Frame, counts: str | None, n: int, draws: Draws) -> tuple[IntArray, list[range]]:
        """Order respondents by their levels, at random within each, where a balanced schedule goes round its units."""
        if self.column is None:
            return super()._assigned(frame, counts, n, draws)
        known = checked_frame(frame)
        chosen = Domain({self.column: list(self.names)}).compact_codes(known)[:, 0]
        if counts is not None:
            chosen = np.repeat(chosen, repetitions(known, counts, self.domain))
        order = permutation(draws, n)
        units, ends = len(self._units) // len(self.names), np.cumsum(np.bincount(chosen, minlength=len(self.names)))
        places = []
        for start, end in pairwise([0, *ends.tolist()]):
            own = scheduled(end - start, units, int(draws.uniform(units, 1)[0]))
            places += [range(start + unit.start, start + unit.stop, units) for unit in own]
        return order[np.argsort(chosen[order], kind="stable")], places

    def apart(self, tables: TableSet) -> dict[str, TableSet]:
        """Return the tables of every level by themselves: nothing is assumed about who chose it.

        Parameters
        ----------
        tables : TableSet
            As they were collected under this protocol.
        """
        if _under(tables) != {self.fingerprint()}:
            raise LdpstatsError(f"{tables!r}", "tables as they were collected under this protocol")
        by_level = {}
        for name, own in self.protocols.items():
            rows, promised = [row for row in self.sent_rows if row.label.startswith(f"{name}: ")], own.privacy()
            labels, units = {(row.label,) for row in rows}, {row.unit for row in rows}
            made = [
                Table(
                    table.domain,
                    tuple(block for block in table.blocks if block.answers in labels),
                    promised.for_group(label(table.attributes)),
                    parts=table.parts.asked_any(units),
                )
                for table in tables
            ]
            by_level[name] = self._chosen(name, TableSet(self.domain, made, promised, origins=tables.origins))
        return by_level

    def together(self, sets: Mapping[str, TableSet]) -> TableSet:
        """Pool the tables of levels that were collected by themselves, each under its own of `protocols`.

        Parameters
        ----------
        sets : mapping of str to TableSet
            The tables of levels, by their names.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> protocol = ldp.PersonalLevels(ldp.Domain({"car": ["yes", "no"]}), levels={"low": 0.5, "open": 2.0}, k=1)
        >>> sets = {name: own.simulate([900, 600], rng=1) for name, own in protocol.protocols.items()}
        >>> protocol.together(sets)["car"].n
        3000
        """
        known = {name: {own.fingerprint()} for name, own in self.protocols.items()}
        if (
            not isinstance(sets, Mapping)
            or not sets
            or any(_under(own) != known.get(name) for name, own in sets.items())
        ):
            raise LdpstatsError(f"{shortened(sets)}", "tables by level, each collected under its own of `protocols`")
        return reduce(add, (self._chosen(name, tables) for name, tables in sets.items())).estimated_by("gls")

    def _chosen(self, name: str, tables: TableSet) -> TableSet:
        """State which level the respondents of tables chose."""
        chosen = {name: self._privacy.chosen[name]}
        stated = [replace(table, privacy=replace(table.privacy, chosen=chosen)) for table in tables]
        return tables.replaced(tables=stated, privacy=replace(tables.privacy, chosen=chosen))

    def _parameters(self) -> dict[str, Any]:
        return {"levels": {name: own.to_json() for name, own in self.protocols.items()}, "column": self.column}

    def _as_named(self, parameters: dict[str, Any]) -> dict[str, Any]:
        # every level was read as a file of its own, and may write mechanisms where that has a name
        return {**parameters, "levels": self._body()["parameters"]["levels"]}

    @classmethod
    def _made(cls, domain: Domain, options: dict[str, Any], body: dict[str, Any]) -> Self:
        from ldpstats.protocols.kinds import read_protocol  # it knows this kind

        levels = {name: read_protocol(text) for name, text in options["levels"].items()}
        return super()._made(domain, {**options, "levels": levels}, body)


def _rows_asked(own: AssignedQuestions) -> tuple[object, ...]:
    """Return what a protocol asks of whom; nothing, if its answers are not counted one by one."""
    rows = own._rows if isinstance(own, AssignedQuestions) else (own,)  # noqa: SLF001  # of this class
    return (
        (own.domain, own.outside, *(row.names for row in rows)) if all(isinstance(row, Asked) for row in rows) else ()
    )


def _under(tables: object) -> set[str]:
    """Return the protocols under which tables were collected."""
    return {origin.protocol for origin in checked_table_set(tables).origins}
