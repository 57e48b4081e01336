"""Attributes that were asked together: all that the tables of a set tell about some of them, each report once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ldpstats.errors import NotIdentifiedError
from ldpstats.tables import Table, TableSet
from ldpstats.tables.pooled import pooled_table

Names = frozenset[str]

_MOST_CELLS = 1 << 10


@dataclass(frozen=True, slots=True, eq=False)
class AskedTogether:
    """The table of any attributes of a set, as far as its reports identify it.

    Reports about a single one of several attributes are left out: they tell its margin only, and most of what is known
    of that is told by the others. There are no tables of more than 1,024 cells.
    """

    tables: TableSet
    _found: dict[Names, Table | None] = field(default_factory=dict, init=False, repr=False)

    @property
    def largest(self) -> int:
        """The largest number of attributes that were asked together."""
        rows = [len(one.domain) for table in self.tables for one in table.rows]
        return max([len(table.attributes) for table in self.tables] + rows)

    def table(self, attributes: Iterable[str]) -> Table | None:
        """Return the table of some attributes, in this order; None where the reports leave cells of it open."""
        names = tuple(attributes)
        among = frozenset(names)
        if among not in self._found:
            self._found[among] = self._pooled(among)
        found = self._found[among]
        return None if found is None else found.reordered(names)

    def _pooled(self, names: Names) -> Table | None:
        target = self.tables.domain.project(sorted(names))
        least = min(2, len(names))
        telling = [table for table in self.tables if len(names.intersection(table.attributes)) >= least]
        if target.size() > _MOST_CELLS or not telling or len(names) > self.largest:
            return None
        try:
            return pooled_table(telling, target, self.tables.privacy)
        except NotIdentifiedError:
            return None
