"""Consistency reports: how far tables disagreed and were improper before they were made consistent, and are after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, starmap
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ldpstats.answers.columns import refuse_other_columns
from ldpstats.answers.domain import Domain
from ldpstats.consistency.agreement import agreement_of, independent, shared_quantities
from ldpstats.consistency.marginals import Attributes, Marginal, marginals_of, stacked
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import ASSUMED, pvalue_in_words
from ldpstats.identification.bounds import LEVEL
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, at_least, real_array
from ldpstats.pictures.intervals import Intervals
from ldpstats.presentation import Result, Summary, panel_of_facts, panel_of_figures
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Amount, Count, Share
from ldpstats.tables import Consistent, Table, TableSet, checked_table_set
from ldpstats.tables.shared import as_reported

_NEGATIVE = ("negative", "negative_mass", "negative_after", "negative_mass_after")
_OF_TABLES = ["table", "n", "cells", "apart", "apart_after", *_NEGATIVE, "moved", "moved_std_err"]
_OF_MARGINS = ["attribute", "category", "table", "before", "std_err", "after"]
_SHOWN = 20
_DRAWN = 30
_ROUNDED = 1e-9
_HEADERS = ("table", "reports", "apart", "negative", "moved", "in std errors")
_SAME_REPORTS = "none: what tables share is told by the same reports, so that they cannot disagree"
_NOISE = "The test of agreement does not reject that noise explains by how much tables disagreed."
_CONTRADICTION = (
    "Tables disagreed by more than noise explains: they are not of one population, or reports do not fit their "
    "channel. Tables that were made to agree hide that, and are not to be trusted."
)


def consistency_report(tables: TableSet, before: TableSet | None = None) -> ConsistencyReport:
    """Say how far tables disagreed before they were made consistent, what was negative, and how far they were moved.

    Whether noise explains by how much they disagreed is the test of Hansen (1982): all tables against what all of them
    tell together. It is asymptotic: at a nominal .05 it rejects .04 to .05 of sets of one population with 830 reports
    a table, .03 to .07 with 170, and .00 to .09 with 30 (benchmarks/table_agreement.py).

    Parameters
    ----------
    tables : TableSet
        What `make_consistent` returned; or other tables, such as reconstructed ones, with those `before`.
    before : TableSet, optional
        Collected tables about the same attributes, each of at least two reports. By default those that `tables` were
        made of.

    Returns
    -------
    ConsistencyReport
        A row per table, and the test that all of them tell the same.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, consistency_report, make_consistent
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "old"]})
    >>> tables = SampledGroups(domain, epsilon=1.0).simulate(np.full((2, 2, 2), 1000), rng=1)
    >>> report = consistency_report(make_consistent(tables))
    >>> report  # doctest: +ELLIPSIS
    <ConsistencyReport: 3 tables, up to 1.5 standard errors apart before, 0 after; 0 of 12 cells negative before, ...>
    >>> report.to_frame()[["table", "apart", "moved"]].round(3)
           table  apart  moved
    0  sex × car  0.780  0.018
    1  sex × age  1.534  0.035
    2  car × age  1.534  0.035
    """
    after = [table for table in checked_table_set(tables) if table.n]
    marginals = marginals_of(_before(after, before))
    agreement, joint = agreement_of(marginals, shared_quantities(marginals)), stacked(marginals)
    told = list(_told(marginals, after, tables.domain))
    names = [" × ".join(marginal.attributes) for marginal in marginals]
    *apart, furthest = _apart(told, names, alone=independent(joint))
    return ConsistencyReport(
        pd.DataFrame(list(starmap(_row, zip(names, marginals, after, *apart, strict=True))), columns=_OF_TABLES),
        pd.DataFrame(_margins(names, told), columns=_OF_MARGINS),
        furthest=furthest,
        statistic=agreement and agreement.statistic,
        df=agreement.df if agreement else 0,
        pvalue=agreement and agreement.pvalue,
        bound=joint.bound,
        n=tables.n,
        simulated=tables.simulated,
        privacy=tables.privacy,
        warning=tuple((before or tables).channel_fit().warning),
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ConsistencyReport(Result):
    """How far tables disagreed before they were made consistent, what was negative, and how far they were moved.

    Parameters
    ----------
    tables : DataFrame
        A row per table: its name, reports `n` and `cells`; how far it is `apart` from another one about what both
        share, in standard errors of the difference, and `apart_after`, as a proportion; how many cells are `negative`,
        and their sum `negative_mass`, before and after; how far it is `moved` (half the sum of all changes, the total
        variation), and by how many standard errors at most (`moved_std_err`).
    margins : DataFrame
        A row per category and table: its proportion `before`, with its standard error, and `after`.
    furthest : str
        Which two tables are the furthest apart, and about what; empty where nothing is shared.
    statistic, pvalue : float, optional
        Of the test that all tables tell the same of what they share; None where it takes too large a matrix.
    df : int
        Its degrees of freedom; 0 where nothing is shared.
    bound : str
        Why covariances of tables are upper bounds, if they are.
    n, simulated : int
        The reports, and how many of them came from a simulation.
    privacy : PrivacyStatement
    warning : tuple of str
        That reports do not fit their channel, if they do not.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups, consistency_report, make_consistent
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "old"]})
    >>> tables = SampledGroups(domain, epsilon=1.0).simulate([1000] * 8, rng=1)
    >>> report = consistency_report(make_consistent(tables))
    >>> report.df, round(report.pvalue, 2)
    (3, 0.37)
    """

    tables: pd.DataFrame
    margins: pd.DataFrame
    furthest: str
    statistic: Amount | None
    df: Count
    pvalue: Share | None
    bound: str
    n: Count
    simulated: Count
    privacy: PrivacyStatement
    warning: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        refuse_other_columns(self.tables, ["table"], ["n", "cells"])
        refuse_other_columns(self.margins, ["attribute", "category", "table"], [])
        numbers = self.tables.reindex(columns=_OF_TABLES[1:]), self.margins.reindex(columns=_OF_MARGINS[3:])
        if not all(np.isfinite(real_array(frame.to_numpy(), "figures")).all() for frame in numbers):
            raise LdpstatsError("figures of a consistency report that are missing", "a number in every column")
        at_least(self.simulated, 0, "simulated", most=at_least(self.n, 0, "the reports"))

    @property
    def apart(self) -> float:
        """How far two tables were apart at most, in standard errors of their difference."""
        return float(self.tables["apart"].max())

    @property
    def apart_after(self) -> float:
        """How far they are apart afterwards, as a proportion: nothing but rounding, if all is well."""
        return float(self.tables["apart_after"].max())

    def to_frame(self) -> pd.DataFrame:
        """Return a row per table."""
        return self.tables.copy()

    @property
    def headline(self) -> str:
        """How far tables are apart, and how many cells are negative, before and after."""
        total = self.tables.sum(numeric_only=True)
        return (
            f"{len(self.tables)} tables, up to {self.apart:.2g} standard errors apart before, "
            f"{_rounded(self.apart_after)} after; {total['negative']:g} of {total['cells']:g} cells negative before, "
            f"{total['negative_after']:g} after{simulation(self.simulated, self.n)}"
        )

    def summary(self) -> Summary:
        """Return what disagreed and what was moved, the tables that were moved the most, and what it rests on."""
        moved = self.tables.sort_values("moved", ascending=False, kind="stable").head(_SHOWN)
        rows = []
        for row in moved.itertuples():
            figures = [f"{row.apart:.2f}", str(row.negative), f"{row.moved:.4f}", f"{row.moved_std_err:.2f}"]
            rows.append([str(row.table), f"{row.n:,}", *figures])
        more = len(self.tables) - _SHOWN
        title = f"Moved the most; to_frame() has {more} more" if more > 0 else "Tables, those moved the most first"
        return Summary(
            f"Consistency of {len(self.tables)} tables{simulation(self.simulated, self.n)}",
            (panel_of_facts(self._facts()), panel_of_figures(_HEADERS, rows, title)),
            tuple(self._sentences()),
        )

    def _facts(self) -> dict[str, str | list[str]]:
        total, moved = self.tables.sum(numeric_only=True), self.tables["moved"]
        before, after = (
            f"{total[name]:g} of {total['cells']:g}" + (f", together {total[mass]:.3g}" if total[name] else "")
            for name, mass in (("negative", "negative_mass"), ("negative_after", "negative_mass_after"))
        )
        largest = self.tables["table"].iloc[int(moved.to_numpy().argmax())]
        return {
            "Furthest apart before": f"{self.apart:.3g} standard errors ({self.furthest})" if self.furthest else "---",
            "Furthest apart after": f"{_rounded(self.apart_after)}, as a proportion",
            "Test of agreement": self._test_in_words(),
            "Negative cells before": before,
            "Negative cells after": after,
            "Moved": f"{moved.mean():.4f} in the mean, at most {moved.max():.4f} ({largest})",
        }

    def _test_in_words(self) -> str:
        if self.pvalue is None or self.statistic is None:
            return "none: tables with common respondents share more than can be tested at once"
        if not self.df:
            return _SAME_REPORTS if self.furthest else "none: no two tables share an attribute"
        return f"χ² = {self.statistic:.4g}, df = {self.df}, p = {pvalue_in_words(self.pvalue)}"

    def _sentences(self) -> Iterator[str]:
        if self.pvalue is not None and self.df:
            yield _CONTRADICTION if self.pvalue < LEVEL else _NOISE
        if self.bound:
            yield f"Differences are at least so many standard errors, and the test is conservative: {self.bound}."
        yield (
            "Apart: the largest difference to another table about what both share, in standard errors of the "
            "difference; the largest of many is large by chance. Moved: half the sum of all changes of proportions "
            "(the total variation), and the largest change of a cell in its standard errors."
        )
        yield from self.privacy.sentences(self.n)
        yield ASSUMED
        yield from self.warning

    def picture(self) -> Intervals:
        """Return what tables said of the proportion of each category before, and what all say after.

        Of more than 30 categories those are drawn about which tables were the furthest apart.
        """
        lines = self.margins.groupby(["attribute", "category"], sort=False)
        gaps = lines["before"].agg(np.ptp) / lines["std_err"].mean().clip(lower=np.finfo(float).tiny)
        drawn = sorted(np.argsort(-gaps.to_numpy(), kind="stable")[:_DRAWN].tolist())
        names = [gaps.index[row] for row in drawn]
        groups = [lines.get_group(name) for name in names]
        some = f"the {_DRAWN} of {len(gaps)} categories about which tables were the furthest apart"
        nothing = (np.nan,) * len(names)
        return Intervals(
            f"Consistency of {len(self.tables)} tables{simulation(self.simulated, self.n)}",
            (*([some] if len(gaps) > _DRAWN else []), *self.warning),
            tuple(f"{attribute}: {category}" for attribute, category in names),
            tuple(float(group["after"].mean()) for group in groups),
            nothing,
            nothing,
            "proportion, by each table that tells it",
            others=tuple(tuple(group["before"]) for group in groups),
            kind="reported",
            words=("before", "after"),
        )


class _Told(NamedTuple):
    """Estimates of the marginal of some attributes, a row per table that holds it."""

    attributes: Attributes
    tables: list[int]  # their indices
    before: FloatArray
    std_err: FloatArray
    after: FloatArray
    categories: list[str]


def _told(marginals: Sequence[Marginal], after: Sequence[Table], domain: Domain) -> Iterator[_Told]:
    """Yield what tables tell of every attribute, and of every marginal that several tables share."""
    holders: dict[Attributes, list[int]] = {(name,): [] for name in domain.names}
    in_order = [[name for name in domain.names if name in marginal.attributes] for marginal in marginals]
    # whatever the order of the set
    for index in sorted(range(len(marginals)), key=lambda index: list(map(domain.names.index, in_order[index]))):
        ordered = in_order[index]
        for size in range(1, len(ordered) + 1):
            for names in combinations(ordered, size):
                holders.setdefault(names, []).append(index)
    for names, indices in holders.items():
        if len(indices) > 1 or (indices and len(names) == 1):
            own = [marginals[index].added_up(names) for index in indices]
            shown = [replace(marginals[index], estimate=after[index].cells.estimate).summed(names) for index in indices]
            errors = [np.sqrt(np.maximum(np.diagonal(marginal.covariance), 0)) for marginal in own]
            categories = [", ".join(map(str, labels)) for labels in domain.project(names).index()]
            before = np.stack([marginal.estimate for marginal in own])
            yield _Told(names, indices, before, np.stack(errors), np.stack(shown), categories)


def _apart(told: Sequence[_Told], names: Sequence[str], *, alone: bool) -> tuple[FloatArray, FloatArray, str]:
    """Compare all tables about the same attributes; tables that stand `alone` have independent errors.

    How far every table is apart from another one, before and after, and which two are the furthest.
    """
    before, after, furthest, most = np.zeros(len(names)), np.zeros(len(names)), "", -1.0
    for margin in (margin for margin in told if len(margin.tables) > 1):
        errors = margin.std_err[:, None], margin.std_err
        # the standard error of a difference is at most the sum of both
        both = np.hypot(*errors) if alone else np.add(*errors)
        differences = np.abs(margin.before[:, None] - margin.before)
        gaps = np.divide(differences, both, out=np.zeros_like(both), where=both > 0).max(axis=2)
        np.maximum.at(before, margin.tables, gaps.max(axis=1))
        np.maximum.at(after, margin.tables, np.abs(margin.after[:, None] - margin.after).max(axis=(1, 2)))
        if gaps.max() > most:
            most = float(gaps.max())
            first, second = (names[margin.tables[row]] for row in np.unravel_index(gaps.argmax(), gaps.shape))
            furthest = f"{first} and {second} about {' and '.join(margin.attributes)}"
    return before, after, furthest


def _before(after: Sequence[Table], before: TableSet | None) -> list[Table]:
    """Tables as they were before they were made consistent, in the same order of attributes."""
    if before is None:
        others = [table.attributes for table in after if not isinstance(table.provenance, Consistent)]
        if others or not after:
            raise LdpstatsError(
                f"tables that were not made consistent: {one_line(others)}",
                "what make_consistent returned, or other tables and those before",
                "consistency_report(make_consistent(tables)) is the report of collected ones.",
            )
        return list(map(as_reported, after))
    known = {frozenset(table.attributes): table for table in checked_table_set(before) if table.n}
    missing = [table.attributes for table in after if frozenset(table.attributes) not in known]
    if missing or not after:
        raise LdpstatsError(f"no table of {one_line(missing)} among those before", "tables of the same attributes")
    earlier = [known[frozenset(table.attributes)].reordered(table.attributes) for table in after]
    for old, table in zip(earlier, after, strict=True):
        if old.domain != table.domain:
            raise LdpstatsError(f"other categories of {one_line(table.attributes)} before", "the same categories")
    return list(map(as_reported, earlier))


def _row(name: str, marginal: Marginal, table: Table, apart: float, apart_after: float) -> tuple[Any, ...]:
    old, new = marginal.estimate, table.cells.estimate
    moved, std_err = np.abs(new - old), np.sqrt(np.maximum(np.diagonal(marginal.covariance), 0))
    steps = np.divide(moved, std_err, out=np.zeros_like(std_err), where=std_err > 0)
    below, still = old[old < -_ROUNDED], new[new < -_ROUNDED]
    negative = below.size, float(below.sum()), still.size, float(still.sum())
    apart_and_moved = float(apart), float(apart_after), *negative, float(moved.sum() / 2), float(steps.max())
    return name, marginal.n, old.size, *apart_and_moved


def _margins(names: Sequence[str], told: Sequence[_Told]) -> Iterator[tuple[Any, ...]]:
    for margin in (margin for margin in told if len(margin.attributes) == 1):
        for cell, category in enumerate(margin.categories):
            for row, index in enumerate(margin.tables):
                figures = (float(values[row, cell]) for values in (margin.before, margin.std_err, margin.after))
                yield (*margin.attributes, category, names[index], *figures)


def _rounded(value: float) -> str:
    return f"{value:.3g}" if abs(value) > _ROUNDED else "0"
