"""Raw proportions: what those whose answers were simulated would have shown without any noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from ldpstats.errors import LdpstatsError
from ldpstats.numbers.arrays import FloatArray
from ldpstats.numbers.randomness import generator
from ldpstats.protocols.population import Population, Records, people_of
from ldpstats.protocols.summary import counted
from ldpstats.tables import Table, TableSet

RawProportions: TypeAlias = Callable[[Sequence[str]], FloatArray]
"""From some attributes to the proportions of their cells, an axis for each in this order."""


def raw_proportions(tables: Table | TableSet, truth: Population) -> RawProportions:
    """Return a function that gives the proportions, without noise, of the cells of any attributes.

    All reports of the tables must be simulated: of real respondents nobody has the raw answers. `truth` has those whose
    answers were simulated: a data frame, or joint counts of the attributes in domain order.
    """
    if not isinstance(tables, Table | TableSet):
        raise LdpstatsError(f"tables of type {type(tables).__name__}", "a Table or a TableSet of simulated reports")
    if not tables.n:
        raise LdpstatsError("tables without a single report", "tables of simulated reports")
    if tables.simulated < tables.n:
        raise LdpstatsError(
            f"{tables.n - tables.simulated:,} of {tables.n:,} reports that respondents sent",
            "tables whose reports are all simulated",
            "What respondents would have said without noise is not known; simulate() makes reports of known answers.",
        )
    domain, people = tables.domain, people_of(tables.domain, truth, generator(0))
    if not people.n:
        raise LdpstatsError("a truth without respondents", "those whose answers were simulated")
    reports = max(table.n for table in (tables if isinstance(tables, TableSet) else [tables]))
    if people.n < reports:
        raise LdpstatsError(
            f"a truth of {counted(people.n, 'respondent')} for a table of {reports:,} reports",
            "all of those whose answers were simulated",
        )
    # a column at a time: several times faster than rows, of which there may be millions
    columns = dict(zip(domain.names, people.codes.T.copy(), strict=True)) if isinstance(people, Records) else {}

    def proportions(attributes: Sequence[str]) -> FloatArray:
        ordered = [name for name in domain.names if name in attributes]
        shape = domain.project(ordered).shape
        if columns:
            cells = np.ravel_multi_index(tuple(columns[name] for name in ordered), shape)
            counts = np.bincount(cells, minlength=math.prod(shape)).reshape(shape)
        else:
            rows, copies = people.distinct(ordered)
            counts = np.zeros(shape, dtype=np.int64)
            counts[tuple(rows.T)] = copies
        return np.asarray(counts.transpose([ordered.index(name) for name in attributes]) / people.n)

    return proportions
