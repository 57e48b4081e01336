"""Table sets: tables over groups of one domain, found by their attributes, merged, collapsed and saved."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.answers.columns import listed
from ldpstats.answers.domain import Classes, Domain
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line, shortened
from ldpstats.estimation import ASSUMED, ChannelFit
from ldpstats.noise import simulation
from ldpstats.presentation import Picture, Result, Summary, plain_values, summary_of_figures
from ldpstats.privacy import PrivacyStatement, rounded_up
from ldpstats.saving.codec import decoded_as, encoded
from ldpstats.saving.files import opened, sealed, write
from ldpstats.saving.registered import fits
from ldpstats.tables.pooled import pooled_table
from ldpstats.tables.provenance import Origin, ReportCheck, merged
from ldpstats.tables.respondents import CrossedRows, RespondentSet, merged_rows
from ldpstats.tables.shared import reports_once, sharing_in_words
from ldpstats.tables.table import Table, fit_of, refuse_less

_MOST_LINES = 60
"""So many tables are listed in a summary."""


class TableSet(Result):
    """Tables over groups of one domain, found by their attributes in any order.

    Adding two sets merges the reports of *different* respondents: sets that share any are refused, wherever they
    were in between. Tables made by hand are collections of their own, each time they are made.

    Parameters
    ----------
    domain : Domain
    tables : iterable of Table
    privacy : PrivacyStatement
    checks : tuple of ReportCheck
        What was looked at beside the counts, such as whether rows came again, or whether one collector's counts differ.
    origins : tuple of Origin
        The protocols that the reports were collected under, as far as they are known.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "old"]})
    >>> protocol = ldp.SampledGroups(domain, epsilon=2.0)
    >>> north, south = (protocol.simulate([100] * 8, rng=seed) for seed in (1, 2))
    >>> both = north + south
    >>> both["car", "sex"].attributes, [table.n for table in both]
    (('car', 'sex'), [533, 533, 534])
    >>> both.to_frame().round(3)
      attributes  cells  reports  epsilon per report  mean std_err    method
    0  sex × car      4      533                 2.0         0.030  unbiased
    1  sex × age      4      533                 2.0         0.031  unbiased
    2  car × age      4      534                 2.0         0.030  unbiased
    """

    def __init__(
        self,
        domain: Domain,
        tables: Iterable[Table],
        privacy: PrivacyStatement,
        checks: tuple[ReportCheck, ...] = (),
        origins: tuple[Origin, ...] = (),
    ) -> None:
        if not fits(checks, tuple[ReportCheck, ...]):
            raise LdpstatsError(f"the checks {shortened(checks)}", "a tuple of results of checks of the reports")
        if not fits(origins, tuple[Origin, ...]):
            raise LdpstatsError(f"the origins {shortened(origins)}", "a tuple of protocols of the reports")
        self.domain, self.privacy, self.checks, self.origins = domain, privacy, checks, origins
        self._tables: dict[frozenset[str], Table] = {}
        self._pooled: dict[str, Table] = {}
        for table in tables:
            refuse_less(privacy.epsilon, table.privacy.epsilon, "every table of the set")
            for name, level in table.privacy.per_group.items():
                refuse_less(privacy.per_group.get(name, level), level, f"the table of {name}")
            if table.privacy.unit != privacy.unit:
                raise LdpstatsError(
                    f"a table with the unit {table.privacy.unit!r} in a set with {privacy.unit!r}",
                    "tables with one unit",
                )
            group = frozenset(table.attributes)
            if group in self._tables or domain.project(table.attributes) != table.domain:
                raise LdpstatsError(
                    f"the table of {table.attributes}", "one table per group, with the set's own categories"
                )
            self._tables[group] = table

    def __getitem__(self, attributes: str | Sequence[str]) -> Table:
        names = listed(attributes)
        table = self._tables.get(frozenset(self.domain.project(names).names))
        if table is None:
            wider = next((table.attributes for table in self if set(names) < set(table.attributes)), None)
            wanted = repr(names[0]) if len(names) == 1 else repr(list(names))
            advice = (
                f"tables.pooled({wanted}) adds all wider tables up, tables[{wider!r}].marginal({wanted}) one of them."
                if wider
                else f"ldpstats.reconstruct(tables, {wanted}) says what follows from other tables, and what it assumes."
            )
            raise LdpstatsError(f"no table of {names!r}", one_line([table.attributes for table in self]), advice)
        return table.reordered(names)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All tables, in order."""
        return tuple(self._tables.values())

    def __iter__(self) -> Iterator[Table]:
        return iter(self._tables.values())

    def __len__(self) -> int:
        return len(self._tables)

    def __contains__(self, attributes: object) -> bool:
        names = (attributes,) if isinstance(attributes, str) else attributes
        return isinstance(names, Iterable) and frozenset(names) in self._tables

    def estimated_by(self, method: str) -> TableSet:
        """Return the same tables, all estimated by this method; see `Table.estimated_by`.

        Parameters
        ----------
        method : str
        """
        return self.replaced(tables=[table.estimated_by(method) for table in self])

    def replaced(self, **changes: Any) -> TableSet:
        """Return a set with other tables, or anything else in its place, and what else is known of the reports.

        Parameters
        ----------
        **changes : object
            What `TableSet` is made of, by name.
        """
        known = {"domain": self.domain, "tables": self, "privacy": self.privacy}
        return TableSet(**{**known, "checks": self.checks, "origins": self.origins, **changes})

    def pooled(self, attributes: str | Sequence[str], *more: str) -> Table:
        """Return a table of all that the reports tell about some attributes, each report counted once.

        A table of a set rests on the reports that were asked exactly that; here those about other attributes join
        them, with their margins. Crossed answers are counted together about any attributes, as far as they have no
        more than 1,024 different answers. Where a respondent stands behind several tables, and her answers were not
        counted together, the covariance is an upper bound, and the summary says so. Where reports leave cells open it
        is refused.

        Parameters
        ----------
        attributes : str or sequence of str
            What the table shall be about.
        *more : str
            Further ones.

        Examples
        --------
        >>> import numpy as np
        >>> from ldpstats import Domain, SampledGroups
        >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "old"]})
        >>> tables = SampledGroups(domain, epsilon=1.0).simulate(np.full(8, 1000), rng=1)
        >>> margin, pooled = tables["sex", "car"].marginal("sex"), tables.pooled("sex")
        >>> (margin.n, margin.std_err.round(4)), (pooled.n, pooled.std_err.round(4))
        ((2666, array([0.0322, 0.0322])), (5333, array([0.0228, 0.0228])))
        """
        target = self.domain.project(attributes, *more)
        if len(target.names) > 1:
            return pooled_table(list(self), target, self.privacy)  # not remembered: there are many, and large ones
        (name,) = target.names
        if name not in self._pooled:
            self._pooled[name] = pooled_table(list(self), target, self.privacy)
        return self._pooled[name]

    def collapse(self, classes: Classes) -> TableSet:
        """Put categories together in all tables that have them; see `Table.collapse`.

        Parameters
        ----------
        classes : mapping
            For some attributes: new categories, each with the old ones that it puts together.

        Examples
        --------
        >>> import ldpstats as ldp
        >>> domain = ldp.Domain({"region": ["north", "east", "south"], "car": ["yes", "no"]})
        >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([400, 200, 100, 100, 300, 100], rng=1)
        >>> tables.collapse({"region": {"other": ["east", "south"]}}).domain
        Domain({'region': ['north', 'other'], 'car': ['yes', 'no']})
        """
        domain, _ = self.domain.collapsed(classes)
        tables = []
        for table in self:
            own = {name: values for name, values in classes.items() if name in table.attributes}
            tables.append(table.collapse(own) if own else table)
        return self.replaced(domain=domain, tables=tables)

    @cached_property
    def _fit(self) -> ChannelFit:
        return fit_of(self)

    @cached_property
    def _counted(self) -> tuple[int, int]:
        return reports_once(list(self))

    @property
    def n(self) -> int:
        """The number of reports behind all tables, each counted once, however many tables it stands behind."""
        return self._counted[0]

    @property
    def simulated(self) -> int:
        """How many of these reports came from a simulation."""
        return self._counted[1]

    @property
    def collections(self) -> tuple[str, ...]:
        """The identities of the collections that the reports are from."""
        return RespondentSet.either(table.parts for table in self).collections

    def __add__(self, other: TableSet) -> TableSet:
        if not isinstance(other, TableSet):
            return NotImplemented
        if self.domain != other.domain:
            raise LdpstatsError(f"table sets over {self.domain!r} and {other.domain!r}", "table sets over one domain")
        privacy = self.privacy.joined(other.privacy)
        _refuse_same_reports(self, other)
        groups: dict[frozenset[str], None] = dict.fromkeys([*self._tables, *other._tables])
        known: dict[tuple[int, ...], tuple[CrossedRows, ...]] = {}
        merged = [_merged_tables(self._tables.get(group), other._tables.get(group), known) for group in groups]
        origins = tuple(dict.fromkeys((*self.origins, *other.origins)))
        return TableSet(self.domain, merged, privacy, (*self.checks, *other.checks), origins)

    def __radd__(self, other: object) -> TableSet:
        # sum() starts from 0
        return self if other == 0 else NotImplemented

    def to_frame(self) -> pd.DataFrame:
        """Return a row per table: attributes, cells, reports, strict level of a report, mean standard error, method."""
        rows = [
            {
                "attributes": " × ".join(table.attributes),
                "cells": table.domain.size(),
                "reports": table.n,
                "epsilon per report": max(table.privacy.per_group.values(), default=table.privacy.epsilon),
                "mean std_err": _mean_std_err(table),
                "method": table.method,
            }
            for table in self
        ]
        return pd.DataFrame(rows)

    def report(self, path: str | Path, title: str | None = None, truth: Any = None, *, network: bool = False) -> None:
        """Write everything that the tables tell as one HTML page, which needs nothing else to be read or printed.

        Parameters
        ----------
        path : str or Path
            A new file, or an older report, which is replaced; any other file is left as it is, and refused.
        title : str, optional
            What stands above it.
        truth : data frame, or array of joint counts in domain order; optional
            Where all reports were simulated: what the respondents would have answered, to be shown beside them.
        network : bool
            Whether a Bayesian network is learned, too.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from ldpstats import Domain, SampledGroups
        >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 100, 100, 400]), rng=1)
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     tables.report(f"{directory}/report.html", title="Cars")
        """
        # by name: a report is made of tests, effects and networks, which are all made of tables
        write(path, import_module("ldpstats.report").report_page(self, title, truth, network=network))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be said of the reports: that they do not fit their channel, and what checks of them found."""
        return (*self.channel_fit().warning, *(words for check in self.checks for words in check.warning))

    def channel_fit(self) -> ChannelFit:
        """Test whether the reports of all tables can have come through their channels; see `Table.channel_fit`."""
        return self._fit

    def to_dict(self) -> dict[str, Any]:
        """Return the set as plain values: what was promised, and every table's `to_dict()`."""
        some = " ".join(name for name in ("checks", "origins") if getattr(self, name))
        return plain_values(self, f"n simulated privacy channel_fit {some} tables", tables=list(map(_plain, self)))

    def picture(self) -> Picture:
        """Return what `plot` draws, as data: the proportions of every attribute, pooled, with their intervals."""
        from ldpstats.tables.drawn import one_way_intervals

        return one_way_intervals(self)

    @property
    def headline(self) -> str:
        """How many tables there are, and how many reports are behind them."""
        return f"{_many(len(self), 'table')}, n = {self.n:,}{simulation(self.simulated, self.n)}"

    def summary(self) -> Summary:
        """Return what these tables are and what was promised, with a line per table."""
        frame = self.to_frame().head(_MOST_LINES)
        rows = [
            [
                row["attributes"],
                f"{row['cells']}",
                f"{row['reports']:,}",
                rounded_up(row["epsilon per report"]),
                _figure(row["mean std_err"]),
                row["method"],
            ]
            for row in frame.to_dict(orient="records")
        ]
        headers = ["attributes", "cells", "reports", "epsilon per report", "mean std err", "method"]
        kind, further = simulation(self.simulated, self.n), len(self) - len(frame)
        over = f"{_many(len(self), 'table')} over {_many(len(self.domain), 'attribute')}"
        title = f"{over} from {_many(self.n, 'report')}{kind}"
        sentences = [
            *([f"And {further:,} further tables: to_frame() has a row for every one."] if further else []),
            *(origin.words for origin in self.origins),
            *self.privacy.sentences(self.n),
            *sharing_in_words(list(self)),
            *(f"{' × '.join(table.attributes)} assumes: {table.assumption}." for table in self if table.assumption),
            ASSUMED,
            *self.warnings,
        ]
        return summary_of_figures(title, headers, rows, sentences)

    def to_json(self) -> str:
        """Return everything as JSON; `from_json` restores it exactly."""
        return sealed("table set", 1, encoded(self))

    @classmethod
    def from_json(cls, text: str) -> TableSet:
        """Read a set that `to_json` wrote; a truncated or foreign file is refused.

        Parameters
        ----------
        text : str
            What `to_json` returned, or what is in a file that `save` wrote.
        """
        return opened(text, "table set", 1, partial(decoded_as, cls))


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _refuse_same_reports(ours: TableSet, theirs: TableSet) -> None:
    """Refuse to merge a table with its own reports under another name; answers to other questions may be in both."""
    known = set(ours.collections).intersection(theirs.collections)
    sides = [_by_unit(tables) for tables in ((ours, theirs) if known else ())]
    checked = set()
    for unit in set(sides[0]).intersection(sides[1]) if known else ():
        for (own, groups), (other, other_groups) in product(*(side[unit].items() for side in sides)):
            pair, pairs = (own, other), product(groups, other_groups)
            if pair not in checked and any(group != wider and group & wider for group, wider in pairs):
                checked.add(pair)
                RespondentSet.together(pair)


def _by_unit(tables: TableSet) -> dict[tuple[int, ...], dict[RespondentSet, list[frozenset[str]]]]:
    """Return for every unit of a collection who was asked it, and about which attributes."""
    by_unit: dict[tuple[int, ...], dict[RespondentSet, list[frozenset[str]]]] = {}
    for table in tables:
        for unit in table.parts.asked:
            by_unit.setdefault(unit, {}).setdefault(table.parts, []).append(frozenset(table.attributes))
    return by_unit


def _merged_tables(
    table: Table | None, other: Table | None, known: dict[tuple[int, ...], tuple[CrossedRows, ...]]
) -> Table:
    """Add two tables of different respondents; rows that are `known` were added up for another table already."""
    if table is None or other is None:
        alone = table or other
        assert alone is not None  # the group came from one of the two sets
        return alone
    if table.figures or other.figures:
        raise LdpstatsError(
            f"two tables of {table.attributes}, one not estimated from its own reports",
            "tables that still have their reports",
        )
    if table.method != other.method:
        raise LdpstatsError(
            f"two tables of {table.attributes}, estimated by {table.method!r} and {other.method!r}",
            "tables estimated by the same method",
            f"Take estimated_by({table.method!r}) of both sets first.",
        )
    # each block's reports go to the first one that asked the same through the same noise, or stand behind all others
    joined = list(table.blocks)
    places: dict[Hashable, int] = {}
    for position, block in enumerate(table.blocks):
        places.setdefault((block.asked, block.answers), position)
    for block in other.reordered(table.attributes).blocks:
        position = places.setdefault((block.asked, block.answers), len(joined))
        if position == len(joined):
            joined.append(block)
        else:
            joined[position] = joined[position].merged_with(block)
    both = tuple(map(id, (*table.rows, *other.rows)))
    if both not in known:
        known[both] = merged_rows(table.rows, other.rows)
    return replace(
        table,
        blocks=tuple(joined),
        privacy=table.privacy.joined(other.privacy),
        parts=RespondentSet.together([table.parts, other.parts]),
        provenance=merged(table.provenance, other.provenance, table.attributes),
        sources=(*(table.sources or (table,)), *(other.sources or (other,))) if table.sources or other.sources else (),
        rows=known[both],
    )


def _plain(table: Table) -> dict[str, Any]:
    """Return a table as plain values; of one that cannot be estimated, why not."""
    try:
        return table.to_dict()
    except NotIdentifiedError as error:
        return {"attributes": list(table.attributes), "n": table.n, "why_not": error.came}


def _figure(error: float) -> str:
    return "-" if np.isnan(error) else f"{error:.4f}"


def _mean_std_err(table: Table) -> float:
    if table.provenance.refused:
        return np.nan
    try:
        return float(table.std_err.mean())
    except NotIdentifiedError:
        return np.nan


def checked_table_set(tables: object) -> TableSet:
    """Refuse anything but a table set.

    Parameters
    ----------
    tables : object
    """
    if not isinstance(tables, TableSet):
        raise LdpstatsError(
            f"a {type(tables).__name__}",
            "a TableSet, as a protocol collects it",
            "SampledGroups(Domain.from_frame(frame), epsilon=...).collect(frame) makes one of a data frame.",
        )
    return tables
