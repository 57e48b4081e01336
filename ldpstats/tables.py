"""Tables: estimated contingency tables with covariance and privacy, and sets of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.arrays import FloatArray, at_least
from ldpstats.blocks import Block
from ldpstats.columns import listed
from ldpstats.domain import Classes, Domain
from ldpstats.envelope import opened, sealed
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation import ASSUMED, TABLE_METHODS, ChannelFit, Estimate, channel_fit, refuse_empty
from ldpstats.noise import in_brackets, simulation
from ldpstats.parts import Parts, new_identity
from ldpstats.privacy import PrivacyStatement
from ldpstats.questions import Question

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

_SAVED = ("table set", 2)
# A check against wrong statements, not an accounting: noise models hold doubles, which lose rare lies at high levels.
_RESOLVED = 12.0
_ROUNDING = 1e-6
_OWN = Parts.none()


@dataclass(frozen=True, eq=False)
class Table:
    """A contingency table estimated from privatized reports.

    Parameters
    ----------
    domain : Domain
        The table's own attributes, in the order of its axes.
    blocks : tuple of Block
        The reports behind it; empty for a table derived from others, which then brings its estimate along.
    privacy : PrivacyStatement
        What the respondents were promised.
    derived : Estimate, optional
        The estimate of a table without blocks.
    method : str
        How the blocks are estimated together; see `estimated_by`. For a derived table, how it was made.
    words : str
        For a derived table that is more than a sum of cells: how it was made, in sentences.
    sources : tuple of Table
        The tables that a derived one was made of.
    parts : Parts
        Which respondents are behind it, so that none of them is counted twice. By default they are those of a
        collection of their own.
    """

    domain: Domain
    blocks: tuple[Block, ...]
    privacy: PrivacyStatement
    derived: Estimate | None = None
    method: str = "unbiased"
    words: str = ""
    sources: tuple[Table, ...] = ()
    parts: Parts = _OWN

    def __post_init__(self) -> None:
        if self.parts is _OWN and self.blocks:
            own = Parts.whole(new_identity(None, ()), 0, sum(block.n for block in self.blocks))
            object.__setattr__(self, "parts", own)
        if self.method not in list(TABLE_METHODS) and not (self.derived and self.words):
            raise LdpstatsError(f"method = {self.method!r}", one_line(list(TABLE_METHODS)))
        for question in (block.question for block in self.blocks):
            if (question.attributes, question.shape) != (self.attributes, self.shape):
                raise LdpstatsError(
                    f"a block about {question.attributes} of shape {question.shape}",
                    f"blocks about {self.attributes} of shape {self.shape}",
                )
        promised = min([self.privacy.epsilon, *self.privacy.per_group.values()])
        for spent in (min(block.noise.epsilon, _RESOLVED) for block in self.blocks):
            _refuse_less(promised, spent, "every report behind the table")

    @property
    def attributes(self) -> tuple[str, ...]:
        """The names of the axes."""
        return self.domain.names

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of categories along each axis."""
        return self.domain.shape

    @property
    def n(self) -> int:
        """The number of reports behind the table."""
        return self.derived.n if self.derived else sum(block.n for block in self.blocks)

    @property
    def simulated(self) -> int:
        """How many of the reports came from a simulation instead of a respondent."""
        return self.derived.simulated if self.derived else sum(block.tally.simulated for block in self.blocks)

    @cached_property
    def cells(self) -> Estimate:
        """The flattened estimate with its covariance, the last attribute varying fastest."""
        if self.derived is not None:
            return self.derived
        answered = [block for block in self.blocks if block.n > 0]
        refuse_empty(len(answered), f"the table of {' and '.join(self.attributes)}")
        found = TABLE_METHODS[self.method].estimated(answered)
        return replace(found, privacy=self.privacy, simulated=self.simulated)

    @property
    def estimate(self) -> FloatArray:
        """Proportions in the table's shape; by every method but "mle" some may be negative."""
        return self.cells.estimate.reshape(self.shape)

    @property
    def covariance(self) -> FloatArray:
        """The covariance matrix of the flattened cells."""
        return self.cells.covariance

    @property
    def std_err(self) -> FloatArray:
        """The standard errors in the table's shape."""
        return self.cells.std_err.reshape(self.shape)

    def holds_the_same(self, other: Table) -> bool:
        """Say whether another table is about the same attributes and made of the same reports, read again or not."""
        if self.domain != other.domain or len(self.blocks) != len(other.blocks):
            return False
        if self.derived is not None or other.derived is not None:
            pair = (self.derived, other.derived)
            return all(pair) and all(
                np.array_equal(getattr(pair[0], name), getattr(pair[1], name))
                for name in ("estimate", "covariance", "n")
            )
        return all(
            one.asked == two.asked and one.n == two.n and np.array_equal(one.tally.counts, two.tally.counts)
            for one, two in zip(self.blocks, other.blocks, strict=True)
        )

    def conf_int(self, alpha: float = 0.05) -> FloatArray:
        """Return pointwise intervals for the population proportions, shape (*shape, 2); see Estimate.conf_int."""
        return self.cells.conf_int(alpha).reshape(*self.shape, 2)

    @cached_property
    def _fit(self) -> ChannelFit:
        return _fit_of(self.sources) if self.derived is not None else channel_fit(self.blocks)

    def channel_fit(self) -> ChannelFit:
        """Test whether the reports can have come through their channels, whatever the answers are.

        Of a derived table it is the test of the tables that it was made of. A summary says so where it fails.

        Examples
        --------
        >>> from ldpstats import SampledGroups
        >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> tables = SampledGroups(domain, epsilon=1.0).simulate(np.array([90, 5, 5, 0]), rng=7)
        >>> tables["sex", "car"].channel_fit().plausible
        True
        """
        return self._fit

    def estimated_by(self, method: str) -> Table:
        """Return the same table, estimated otherwise.

        Parameters
        ----------
        method : {"unbiased", "gls", "mle", "closed form", "two blocks"}
            "unbiased" inverts a single block and pools several with weights that depend on their designs only.
            "gls" weighs by estimated covariances, "mle" finds the most likely proper proportions (for reports that
            are one output of a channel). For truth-or-fake blocks that ask for the cells there are "closed form",
            unbiased also when the fakes were adapted, and "two blocks", the average of the last two inversions.

        Examples
        --------
        >>> from ldpstats import SampledGroups
        >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
        >>> tables = SampledGroups(domain, epsilon=1.0, mechanism="grr").simulate(np.array([90, 5, 5, 0]), rng=7)
        >>> table = tables["sex", "car"]
        >>> bool(table.estimate.min() < 0), bool(table.estimated_by("mle").estimate.min() >= 0)
        (True, True)
        """
        if method != self.method and self.derived is not None:
            raise LdpstatsError(
                f"method = {method!r} for a derived table, which has no reports of its own",
                f"its own method, {self.method!r}",
                "Estimate the table that it was derived from by this method, and derive it again.",
            )
        return self if method == self.method else replace(self, method=method)

    def reordered(self, attributes: str | Iterable[str]) -> Table:
        """Return the same table with its axes in another order."""
        names = listed(attributes)
        if sorted(names, key=repr) != sorted(self.attributes, key=repr):
            raise LdpstatsError(f"the order {names!r}", f"the attributes {one_line(self.attributes)} in any order")
        if names == self.attributes:
            return self
        blocks = tuple(block.reordered(names) for block in self.blocks)
        derived = self.derived and _added_up(self.derived, self.domain, names)
        return replace(self, domain=self.domain.project(names), blocks=blocks, derived=derived)

    def marginal(self, attributes: str | Iterable[str]) -> Table:
        """Add the table up to some of its attributes.

        Where the noise of the added-up counts is again a noise model (randomized response), the marginal keeps
        its reports and every test applies; otherwise it carries its estimate and covariance only. Where it keeps
        them it is estimated anew, by the table's method; for "gls" and "mle" that is not the sum of the cells.
        """
        kept = self.domain.project(attributes)
        if set(kept.names) == set(self.attributes):
            return self.reordered(kept.names)
        positions = np.stack(np.unravel_index(np.arange(self.domain.size()), self.shape), axis=1)
        of_cell = self.domain.cells(positions, kept.names)
        blocks = tuple(block for block in (_merged_block(block, kept, of_cell) for block in self.blocks) if block)
        if blocks and len(blocks) == len(self.blocks):
            return replace(self, domain=kept, blocks=blocks)
        added = _added_up(self.cells, self.domain, kept.names)
        sources = (self,) if self.derived is None else self.sources
        return replace(self, domain=kept, blocks=(), derived=added, sources=sources)

    def collapse(self, classes: Classes) -> Table:
        """Put categories together, such as empty or rare ones.

        As in `marginal`, the table keeps its reports where the noise of the added-up counts is again a noise model
        (randomized response), and is then as if it had been asked for with these categories; otherwise it carries its
        estimate and covariance only.

        Parameters
        ----------
        classes : mapping
            For some attributes: new categories, each with the old ones that it puts together. A new category stands
            where the first of its members stood; those that are not mentioned stay.

        Examples
        --------
        >>> from ldpstats import SampledGroups
        >>> domain = Domain({"region": ["north", "east", "south"], "car": ["yes", "no"]})
        >>> people = np.array([4000, 2000, 10, 0, 3000, 1000])
        >>> table = SampledGroups(domain, epsilon=2.0, mechanism="grr").simulate(people, rng=1)["region", "car"]
        >>> table.collapse({"region": {"east and south": ["east", "south"]}}).estimate.round(2)
        array([[0.39, 0.21],
               [0.29, 0.1 ]])
        """
        domain, places = self.domain.collapsed(classes)
        moved = [own[position] for own, position in zip(places, np.indices(self.shape), strict=True)]
        of_cell = np.ravel_multi_index(tuple(moved), domain.shape).ravel()
        blocks = tuple(block for block in (_merged_block(block, domain, of_cell) for block in self.blocks) if block)
        if blocks and len(blocks) == len(self.blocks):
            return replace(self, domain=domain, blocks=blocks)
        sources = (self,) if self.derived is None else self.sources
        return replace(
            self, domain=domain, blocks=(), derived=_summed(self.cells, of_cell, domain.size()), sources=sources
        )

    def to_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return a row per cell, labelled by category: estimate, std_err and pointwise interval.

        The columns together are named after the method of estimation.
        """
        index = self.domain.index()
        frame = self.cells.to_frame(index if len(self.shape) > 1 else index.get_level_values(0), alpha)
        return frame.rename_axis(columns=self.method)

    def by_block(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return what every block with reports says by itself, unbiased: a row per block and cell (in RRBA: Eq. 4)."""
        if self.derived is not None:
            raise LdpstatsError(
                f"the blocks of the derived table of {' and '.join(self.attributes)}",
                "a table that still has its reports",
                "Ask the table that it was derived from.",
            )
        alone = [replace(self, blocks=(block,), method="unbiased").to_frame(alpha) for block in self.blocks if block.n]
        refuse_empty(len(alone), f"the table of {' and '.join(self.attributes)}")
        return pd.concat(alone, keys=range(len(alone)), names=["block"])

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return a table to read aloud: cells with standard errors and intervals, and the privacy promised."""
        from statsmodels.iolib.summary import Summary
        from statsmodels.iolib.table import SimpleTable

        plausible, digits = self.channel_fit().plausible, "{:.4f}".format
        rows = [
            [*map(str, labels), digits(share), *(digits(value) if plausible else "-" for value in spread)]
            for labels, (share, *spread) in zip(self.domain.index(), self.to_frame(alpha).to_numpy(), strict=True)
        ]
        level, kind = f"{100 * (1 - alpha):g} %", self.cells.kind_of_intervals
        headers = [*self.attributes, "proportion", "std err", f"{level} from", "to"]
        summary = Summary()
        title = f"Estimated table of {' and '.join(self.attributes)}{in_brackets(simulation(self.simulated, self.n))}"
        summary.tables.append(SimpleTable(rows, headers=headers, title=title))
        promised = self.privacy.lines()
        allowed = f"pointwise {level} ({kind}), for the population, randomization and sampling included."
        summary.add_extra_txt(
            [
                *(f"{line}." for line in [f"{self.n:,} reports; {promised[0]}", *promised[1:]]),
                f"Intervals: {allowed if plausible else 'none, as the reports do not fit their channel.'}",
                self.words or TABLE_METHODS[self.method].words,
                ASSUMED,
                *self.channel_fit().warning,
            ]
        )
        return summary

    def __repr__(self) -> str:
        kind = in_brackets(simulation(self.simulated, self.n))
        return f"<Table {' × '.join(self.attributes)}: {self.shape}, n = {self.n}{kind}>"


def _fit_of(tables: Iterable[Table]) -> ChannelFit:
    """Test all tables together: at the stated level for all of them."""
    fits = [table.channel_fit() for table in tables]
    return ChannelFit(tuple(aspect for fit in fits for aspect in fit.aspects), sum(fit.n for fit in fits))


def checked_table(table: object) -> Table:
    """Refuse anything but a table."""
    if not isinstance(table, Table):
        raise LdpstatsError(f"a {type(table).__name__}", "a Table, such as tables['age', 'sex']")
    return table


class TableSet:
    """Tables over groups of one domain, found by their attributes in any order.

    Adding two sets merges the reports of *different* respondents: sets that share any are refused, wherever they
    were in between. Tables made by hand are collections of their own, each time they are made.
    """

    def __init__(self, domain: Domain, tables: Iterable[Table], privacy: PrivacyStatement) -> None:
        self.domain, self.privacy = domain, privacy
        self._tables: dict[frozenset[str], Table] = {}
        for table in tables:
            _refuse_less(privacy.epsilon, table.privacy.epsilon, "every table of the set")
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
            wider = next((one.attributes for one in self if set(names) < set(one.attributes)), None)
            advice = f"tables[{wider!r}].marginal({list(names)!r}) adds a wider table up." if wider else ""
            raise LdpstatsError(f"no table of {names!r}", one_line([one.attributes for one in self]), advice)
        return table.reordered(names)

    def __iter__(self) -> Iterator[Table]:
        return iter(self._tables.values())

    def __len__(self) -> int:
        return len(self._tables)

    def __contains__(self, attributes: object) -> bool:
        names = (attributes,) if isinstance(attributes, str) else attributes
        return isinstance(names, Iterable) and frozenset(names) in self._tables

    def estimated_by(self, method: str) -> TableSet:
        """Return the same tables, all estimated by this method; see `Table.estimated_by`."""
        return TableSet(self.domain, [table.estimated_by(method) for table in self], self.privacy)

    def collapse(self, classes: Classes) -> TableSet:
        """Put categories together in all tables that have them; see `Table.collapse`."""
        domain, _ = self.domain.collapsed(classes)
        tables = []
        for table in self:
            own = {name: values for name, values in classes.items() if name in table.attributes}
            tables.append(table.collapse(own) if own else table)
        return TableSet(domain, tables, self.privacy)

    @property
    def n(self) -> int:
        """The number of reports behind all tables; one that stands behind several counts in each of them."""
        return sum(table.n for table in self)

    @property
    def simulated(self) -> int:
        """How many of these reports came from a simulation."""
        return sum(table.simulated for table in self)

    @property
    def collections(self) -> tuple[str, ...]:
        """The identities of the collections that the reports are from."""
        return tuple(sorted({one for parts in {table.parts for table in self} for one in parts.collections}))

    def __add__(self, other: TableSet) -> TableSet:
        if not isinstance(other, TableSet):
            return NotImplemented
        if self.domain != other.domain:
            raise LdpstatsError(f"table sets over {self.domain!r} and {other.domain!r}", "table sets over one domain")
        privacy = self.privacy.joined(other.privacy)
        _refuse_same_reports(self, other)
        groups = dict.fromkeys([*self._tables, *other._tables])
        merged = [_merged_tables(self._tables.get(group), other._tables.get(group)) for group in groups]
        return TableSet(self.domain, merged, privacy)

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

    def channel_fit(self) -> ChannelFit:
        """Test whether the reports of all tables can have come through their channels; see `Table.channel_fit`."""
        return _fit_of(self)

    def summary(self) -> str:
        """Return what these tables are and what was promised, in words, with a line per table."""
        kind = in_brackets(simulation(self.simulated, self.n))
        lines = [
            f"{len(self)} tables over {len(self.domain)} attributes from {self.n:,} reports{kind}",
            *(f"privacy: {line}" for line in self.privacy.lines()),
            self.to_frame().to_string(index=False),
            ASSUMED,
            *self.channel_fit().warning,
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<TableSet: {len(self)} tables, n = {self.n}{in_brackets(simulation(self.simulated, self.n))}>"

    def to_json(self) -> str:
        """Return everything as JSON; `from_json` restores it exactly."""
        if any(table.derived is not None for table in self):
            raise LdpstatsError(
                "a set with derived tables", "tables that still have their reports", "Save the collected set instead."
            )
        # tables of the same respondents share what says who they are
        places = {parts: place for place, parts in enumerate(dict.fromkeys(table.parts for table in self))}
        tables = [
            {
                "privacy": table.privacy.to_dict(),
                "attributes": list(table.attributes),
                "blocks": [b.to_dict() for b in table.blocks],
                "method": table.method,
                "parts": places[table.parts],
            }
            for table in self
        ]
        body = {
            "domain": self.domain.to_dict(),
            "privacy": self.privacy.to_dict(),
            "parts": [parts.to_list() for parts in places],
            "tables": tables,
        }
        return sealed(*_SAVED, body)

    @classmethod
    def from_json(cls, text: str) -> TableSet:
        """Read a set that `to_json` wrote; a truncated or foreign file is refused."""
        return opened(text, *_SAVED, cls._read)

    @classmethod
    def _read(cls, body: Mapping[str, Any]) -> TableSet:
        domain = Domain(body["domain"])
        parts = [Parts.from_list(plain) for plain in body["parts"]]
        tables = [_table_from_dict(domain, parts, table) for table in body["tables"]]
        return cls(domain, tables, PrivacyStatement(**body["privacy"]))


def _refuse_less(promised: float, spent: float, covered: str) -> None:
    """Refuse a statement that promises more than was kept."""
    if promised < spent - _ROUNDING * max(min(spent, _RESOLVED), 1):
        raise LdpstatsError(
            f"a statement of epsilon = {promised!r} for {spent!r}", f"a statement that covers {covered}"
        )


def _table_from_dict(domain: Domain, parts: Sequence[Parts], plain: Mapping[str, Any]) -> Table:
    blocks = tuple(Block.from_dict(block) for block in plain["blocks"])
    privacy, own = PrivacyStatement(**plain["privacy"]), parts[at_least(plain["parts"], 0, "the place of parts")]
    table = Table(domain.project(plain["attributes"]), blocks, privacy, method=plain["method"], parts=own)
    if table.n > own.n:
        raise LdpstatsError(f"{table.n:,} reports of {own.n:,} respondents", "one report of a respondent")
    return table


def _refuse_same_reports(ours: TableSet, theirs: TableSet) -> None:
    """Refuse a table and, under another name, its own reports: in a marginal, or in a wider table.

    What one respondent said about other attributes may be in both sets, as rows of hers may come in two files.
    """
    known = set(ours.collections).intersection(theirs.collections)
    sides = [_by_unit(tables) for tables in ((ours, theirs) if known else ())]
    checked = set()
    for unit in set(sides[0]).intersection(sides[1]) if known else ():
        for one, other in product(*(side[unit].items() for side in sides)):
            pair = (one[0], other[0])
            if pair not in checked and any(own != wider and own & wider for own, wider in product(one[1], other[1])):
                checked.add(pair)
                Parts.together(pair)


def _by_unit(tables: TableSet) -> dict[tuple[int, ...], dict[Parts, list[frozenset[str]]]]:
    """Return for every unit of a collection who was asked it, and about what."""
    found: dict[tuple[int, ...], dict[Parts, list[frozenset[str]]]] = {}
    for table in tables:
        for unit in table.parts.asked:
            found.setdefault(unit, {}).setdefault(table.parts, []).append(frozenset(table.attributes))
    return found


def _merged_tables(one: Table | None, other: Table | None) -> Table:
    if one is None or other is None:
        found = one or other
        assert found is not None  # the group came from one of the two sets
        return found
    if one.derived is not None or other.derived is not None:
        raise LdpstatsError(f"two tables of {one.attributes}, one derived", "tables that still have their reports")
    if one.method != other.method:
        raise LdpstatsError(
            f"two tables of {one.attributes}, estimated by {one.method!r} and {other.method!r}",
            "tables estimated by the same method",
            f"Take estimated_by({one.method!r}) of both sets first.",
        )
    blocks = _merged_blocks(one.blocks, other.reordered(one.attributes).blocks)
    return replace(
        one,
        blocks=blocks,
        privacy=one.privacy.joined(other.privacy),
        parts=Parts.together([one.parts, other.parts]),
    )


def _merged_blocks(known: tuple[Block, ...], added: tuple[Block, ...]) -> tuple[Block, ...]:
    """Add each block's reports to the first one that asked the same through the same noise, or append it."""
    blocks = list(known)
    places: dict[Hashable, int] = {}
    for place, block in enumerate(known):
        places.setdefault(block.asked, place)
    for block in added:
        place = places.setdefault(block.asked, len(blocks))
        if place == len(blocks):
            blocks.append(block)
        else:
            blocks[place] = blocks[place].merged_with(block)
    return tuple(blocks)


def _merged_block(block: Block, kept: Domain, of_cell: NDArray[np.int64]) -> Block | None:
    """Add a block's counts up to the cells of a coarser table, where its noise allows that."""
    if not block.question.is_bijection:
        return None
    of_answer = np.empty(of_cell.size, dtype=np.int64)
    of_answer[block.classes] = of_cell
    tally = block.tally.merged(of_answer)
    return None if tally is None else Block(Question.of(kept, kept.names), tally)


def _added_up(cells: Estimate, domain: Domain, names: tuple[str, ...]) -> Estimate:
    """Add an estimate up to some attributes, in the order of `names`; infinite variances stay infinite."""
    d, kept = len(domain), [domain.names.index(name) for name in names]
    both, size = [*kept, *(d + axis for axis in kept)], domain.size(names)
    values = np.moveaxis(cells.estimate.reshape(domain.shape), kept, range(len(kept)))
    products = np.moveaxis(cells.covariance.reshape(domain.shape * 2), both, range(len(both)))
    return replace(
        cells,
        estimate=values.reshape(size, -1).sum(axis=-1),
        spread=products.reshape(size, size, -1).sum(axis=-1),
        bounds=None,
        own=None,
    )


def _summed(cells: Estimate, of_cell: NDArray[np.int64], size: int) -> Estimate:
    """Add an estimate up to the cells of a coarser table; infinite variances stay infinite."""
    values, half, products = np.zeros(size), np.zeros((size, of_cell.size)), np.zeros((size, size))
    np.add.at(values, of_cell, cells.estimate)
    np.add.at(half, of_cell, cells.covariance)
    np.add.at(products, of_cell, half.T)
    return replace(cells, estimate=values, spread=products, bounds=None, own=None)


def _mean_std_err(table: Table) -> float:
    try:
        return float(table.std_err.mean())
    except NotIdentifiedError:
        return np.nan
