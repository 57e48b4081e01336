"""Personal levels: respondents choose, in public, at which of several levels they answer the same questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import pairwise
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from ldpstats.answers.domain import Domain
from ldpstats.answers.frames import Frame, checked_frame
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.numbers.arrays import IntArray
from ldpstats.numbers.randomness import Draws, Rng, generator, permutation
from ldpstats.presentation import Summary
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols.assigned import Asked, AssignedQuestions, CountedRow
from ldpstats.protocols.counting import Sending
from ldpstats.protocols.groups import Group, label, scheduled
from ldpstats.protocols.population import REFUSE, Population, repetitions
from ldpstats.protocols.sampled_groups import SampledGroups
from ldpstats.protocols.summary import summary_of
from ldpstats.saving.codec import decoded, encoded
from ldpstats.tables import TableSet, checked_table_set
from ldpstats.tables.respondents import RespondentSet

_POOLED = "gls"


@dataclass(frozen=True, init=False)
class PersonalLevels(AssignedQuestions):
    """The same questions at several levels, of which every respondent chooses one.

    The choice is public. Who chose a level is promised that level for her whole record, whatever others chose. Tables
    pool the reports of all levels, each weighted by what it tells: by estimated variances ("gls"), or by `estimated_by`
    "mle" their likelihood, which is GIBU, the generalized iterative Bayesian update (EM over several channels). With
    levels .5, 1 and 2 by thirds the variance is that of the best weights, which nobody knows, within 1 per cent;
    "unbiased" takes the weights of equal frequencies, and where one of 16 values has nine tenths loses 6 per cent.

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
        At least two names of levels, and epsilon of a respondent who chose it.
    protocol : callable
        What is asked at every level: a class such as `SampledGroups`, `WholeView` or `HadamardCoefficients`, whose
        respondents answer questions one by one.
    outside : {"refuse", "random"}
        As in `SampledGroups`.
    **parameters : object
        Further parameters of `protocol`, the same for all levels.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"car": ["yes", "no"]})
    >>> protocol = ldp.PersonalLevels(domain, levels={"low": 0.5, "usual": 1.0, "open": 2.0}, k=1)
    >>> people = domain.decode([[0]] * 3000 + [[1]] * 6000).assign(level=["low", "usual", "open"] * 3000)
    >>> tables = protocol.collect(people, rng=1, levels="level")
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
    saved: ClassVar[tuple[str, ...]] = ("levels", "protocol")

    domain: Domain
    names: tuple[str, ...]
    same: tuple[AssignedQuestions, ...]
    outside: str
    _column: ClassVar[str | None] = None

    def __init__(
        self,
        domain: Domain,
        *,
        levels: Mapping[str, float],
        protocol: Callable[..., AssignedQuestions] = SampledGroups,
        outside: str = REFUSE,
        **parameters: Any,
    ) -> None:
        if not isinstance(levels, Mapping) or not callable(protocol) or "epsilon" in parameters:
            raise LdpstatsError(
                f"levels = {shortened(levels)} for {shortened(protocol)} with {one_line(sorted(parameters))}",
                "a mapping from names to levels, and a class of protocols with its parameters but epsilon",
            )
        made = [protocol(domain, epsilon=level, outside=outside, **parameters) for level in levels.values()]
        self._settle_at(domain, tuple(levels), tuple(made), outside)

    def _settle_at(
        self, domain: Domain, names: tuple[str, ...], same: tuple[AssignedQuestions, ...], outside: str
    ) -> None:
        if len(names) < 2 or not all(isinstance(name, str) and name for name in names):
            raise LdpstatsError(f"the levels {shortened(names)}", "at least two, with names in words")
        known = all(isinstance(own, AssignedQuestions) and "epsilon" in own.saved for own in same)
        if not known or not all(isinstance(row, Asked) for own in same for row in own._rows):  # noqa: SLF001  # of this class
            raise LdpstatsError(
                f"{same[0]!r} at every level",
                "a protocol such as SampledGroups, whose answers are counted one by one",
                "PerAttribute counts them so with k = 1.",
            )
        asked = {(own.domain, own.outside, tuple(row.names for row in own._rows)) for own in same}  # noqa: SLF001
        if len(asked) > 1 or same[0].domain != domain:
            raise LdpstatsError("a protocol that asks other questions at other levels", "the same questions at each")
        self._settle(domain=domain, names=names, same=same, outside=outside)

    @property
    def protocols(self) -> dict[str, AssignedQuestions]:
        """The protocol of every level, by its name."""
        return dict(zip(self.names, self.same, strict=True))

    def units(self) -> list[list[Asked]]:
        """Return the units of every level in turn; rows are named by the level, and by what they ask."""
        return [
            [replace(one, names=(f"{name}: {label(one.names)}",)) for row in unit for one in row.asked]
            for name, own in self.protocols.items()
            for unit in own.units()
        ]

    def formed(self) -> list[tuple[Group, list[int]]]:
        """Return the groups of the protocol, each with its rows at all levels."""
        starts = range(0, len(self._rows), len(self._rows) // len(self.names))
        formed = self.same[0].formed()
        return [(group, [start + place for start in starts for place in places]) for group, places in formed]

    @cached_property
    def _privacy(self) -> PrivacyStatement:
        return replace(super()._privacy, chosen=self._promised)

    @property
    def _promised(self) -> dict[str, float]:
        return {name: own.privacy().epsilon for name, own in self.protocols.items()}

    def summary(self) -> Summary:
        """Return the levels, what is asked at each and how it is randomized, which tables follow, and the promise."""
        asked = (
            f"Every respondent chooses one of {len(self.names)} levels. Her choice is public: {', '.join(self.names)}."
        )
        each = (f"{name}: {' '.join(own.summary().sentences[:2])}" for name, own in self.protocols.items())
        return summary_of(self, [group for group, _ in self._formed], asked, *each)

    def collect(
        self, frame: Frame, rng: Rng = None, *, counts: str | None = None, levels: str | None = None
    ) -> TableSet:
        """Ask every respondent, one by one, at the level that she chose, and count the reports.

        Parameters
        ----------
        frame, rng, counts
            As for any protocol.
        levels : str, optional
            The column of the frame that names the level which every respondent chose. Without it levels are drawn at
            random, in equal numbers.
        """
        return super(PersonalLevels, self._choosing(levels)).collect(frame, rng, counts=counts)

    def reports(
        self, frame: Frame, rng: Rng = None, *, counts: str | None = None, levels: str | None = None
    ) -> pd.DataFrame:
        """Return the rows that travel; those of a level stand together.

        Parameters
        ----------
        frame, rng, counts, levels
            As in `collect`.
        """
        return super(PersonalLevels, self._choosing(levels)).reports(frame, rng, counts=counts)

    def sent(self, frame: Frame, rng: Rng = None, *, counts: str | None = None, levels: str | None = None) -> Sending:
        """Return what every respondent sends, as arrays.

        Parameters
        ----------
        frame, rng, counts, levels
            As in `collect`.
        """
        return super(PersonalLevels, self._choosing(levels)).sent(frame, rng, counts=counts)

    def simulate(
        self, population: Population, rng: Rng = None, *, counts: str | None = None, levels: str | None = None
    ) -> TableSet:
        """Draw tables with the law of `collect`.

        Parameters
        ----------
        population : DataFrame or array
            A data frame, or joint counts; with `levels`, a data frame.
        rng, counts, levels
            As in `collect`.
        """
        if levels is None:
            return super().simulate(population, rng, counts=counts)
        return self.collect(checked_frame(population), generator(rng), counts=counts, levels=levels)

    def _table_set(self, reported: Sequence[CountedRow], parts: Sequence[RespondentSet]) -> TableSet:
        return super()._table_set(reported, parts).estimated_by(_POOLED)

    def _choosing(self, column: str | None) -> Self:
        """Return the protocol that reads who chose which level in a column of the frame."""
        found = copy(self)
        object.__setattr__(found, "_column", column)
        return found

    def _assigned(self, frame: Frame, counts: str | None, n: int, draws: Draws) -> tuple[IntArray, list[range]]:
        """Order respondents by their levels, at random within each, where a balanced schedule goes round its units."""
        if self._column is None:
            return super()._assigned(frame, counts, n, draws)
        known = checked_frame(frame)
        chosen = Domain({self._column: list(self.names)}).compact_codes(known)[:, 0]
        if counts is not None:
            chosen = np.repeat(chosen, repetitions(known, counts, self.domain))
        order = permutation(draws, n)
        units, ends = len(self._units) // len(self.names), np.cumsum(np.bincount(chosen, minlength=len(self.names)))
        places = []
        for start, end in pairwise([0, *ends.tolist()]):
            own = scheduled(end - start, units, int(draws.uniform(units, 1)[0]))
            places += [range(start + one.start, start + one.stop, units) for one in own]
        return order[np.argsort(chosen[order], kind="stable")], places

    def apart(self, tables: TableSet) -> dict[str, TableSet]:
        """Return the tables of every level by themselves: nothing is assumed about who chose it.

        Parameters
        ----------
        tables : TableSet
            As they were collected under this protocol.
        """
        collected = checked_table_set(tables)
        if {one.protocol for one in collected.origins} != {self.fingerprint()} or any(one.figures for one in collected):
            raise LdpstatsError(
                f"{collected!r}", "tables as they were collected under this protocol", "Take those without `together`."
            )
        units, found = len(self._units) // len(self.names), {}
        for number, (name, own) in enumerate(self.protocols.items()):
            labels = {
                (label(row.names),) for unit in self._units[number * units : (number + 1) * units] for row in unit
            }
            promised = own.privacy()
            made = [
                replace(
                    table,
                    method="unbiased",
                    blocks=tuple(block for block in table.blocks if block.answers in labels),
                    parts=table.parts.asked_any(range(number * units, (number + 1) * units)),
                    privacy=promised.for_group(label(table.attributes)),
                )
                for table in collected
            ]
            found[name] = self._chosen(name, TableSet(self.domain, made, promised, origins=collected.origins))
        return found

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
        if not isinstance(sets, Mapping) or not sets:
            raise LdpstatsError(f"{shortened(sets)}", "a mapping from names of levels to their tables")
        for name, tables in sets.items():
            known = self.protocols[name].fingerprint() if name in self.names else ""
            if {one.protocol for one in checked_table_set(tables).origins} != {known}:
                raise LdpstatsError(
                    f"{tables!r} of the level {name!r}", f"tables collected under `protocols` of {one_line(self.names)}"
                )
        return reduce(add, (self._chosen(name, tables) for name, tables in sets.items())).estimated_by(_POOLED)

    def _chosen(self, name: str, tables: TableSet) -> TableSet:
        """State which level the respondents of tables chose."""
        chosen = {name: self._promised[name]}
        stated = [replace(table, privacy=replace(table.privacy, chosen=chosen)) for table in tables]
        return tables.replaced(tables=stated, privacy=replace(tables.privacy, chosen=chosen))

    def _parameters(self) -> dict[str, Any]:
        every = [own._parameters() for own in self.same]  # noqa: SLF001  # of this class
        shared = {name: value for name, value in every[0].items() if name != "epsilon"}
        levels = dict(zip(self.names, (own["epsilon"] for own in every), strict=True))
        return {"levels": levels, "protocol": {"kind": self.same[0].kind, **shared}}

    @classmethod
    def _made(cls, domain: Domain, options: dict[str, Any], body: dict[str, Any]) -> Self:
        from ldpstats.protocols.kinds import PROTOCOLS  # this is one of them

        levels, stated = options["levels"], dict(options["protocol"])
        kind: Any = PROTOCOLS[stated.pop("kind")]
        if unknown := {*stated} - {*kind.saved}:
            raise ValueError(f"its protocol has the parameters {one_line(sorted(unknown))}")
        outside, units = options.get("outside", REFUSE), len(body["units"]) // max(len(levels), 1)
        same = [
            kind._made(  # noqa: SLF001  # of a class of protocols
                domain, {**stated, "epsilon": level, "outside": outside}, _of_units(body, number * units, units)
            )
            for number, level in enumerate(levels.values())
        ]
        made = cls.__new__(cls)
        made._settle_at(domain, tuple(levels), tuple(same), outside)  # noqa: SLF001  # of this very class
        return made

    def _as_named(self, parameters: dict[str, Any]) -> dict[str, Any]:
        own, stated = self._parameters()["protocol"], decoded(parameters["protocol"])
        kept = {name: value for name, value in stated.items() if name != "mechanism" or name in own}
        return {**parameters, "protocol": encoded(kept)}


def _of_units(body: Mapping[str, Any], first: int, units: int) -> dict[str, Any]:
    """Return what a file would say of so many of its units alone, with their mechanisms numbered anew."""
    asked = body["units"][first : first + units]
    numbers = list(dict.fromkeys(row["mechanism"] for unit in asked for row in unit))
    return {
        "mechanisms": [body["mechanisms"][number] for number in numbers],
        "units": [[{**row, "mechanism": numbers.index(row["mechanism"])} for row in unit] for unit in asked],
    }
