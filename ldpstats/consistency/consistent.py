"""Consistent tables: the proper ones nearest to the estimates that agree on every marginal they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import ClassVar

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.answers.questions import Question
from ldpstats.consistency.agreeing_programs import nearest_agreeing
from ldpstats.consistency.agreement import AgreeingFit, SharedQuantities, shared_quantities
from ldpstats.consistency.marginals import Marginal, marginals_of
from ldpstats.consistency.violation import GAMMA, Violation, absolute_share
from ldpstats.errors import NotIdentifiedError, one_line
from ldpstats.estimation import Estimate, Measured, unbiased
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import among_proportions
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.numbers.arrays import FloatArray, IntArray, unweighted
from ldpstats.saving.registered import Count
from ldpstats.tables import Consistent, Figures, Table, TableSet, checked_table_set
from ldpstats.tables.parts import Parts

_WORDS = (
    "Made consistent with the other tables of its set ({}): proper proportions, which are biased near zero. Standard "
    "errors and intervals are those of the fit before the bound at zero, which is linear and unbiased."
)


@dataclass(frozen=True, slots=True, eq=False)
class LimitsOfTheFit:
    """Intervals of the linear fit, before the bound at zero: Student's, lest few reports promise too much."""

    cells: Estimate  # the linear fit: unbiased, and may be negative
    df: Count  # reports to the table's least answered question, less one
    blocks: tuple[Block, ...] = ()  # the table's own reports, which decide where few of them name a cell
    kind: ClassVar[str] = "Student's t, of the unbiased fit before the bound at zero; mid-p where own reports are few"

    @property
    def std_err(self) -> FloatArray:
        """Standard errors of the linear fit."""
        return self.cells.std_err

    def limits(self, alpha: float) -> FloatArray:
        """Pointwise intervals, shape (cells, 2)."""
        from scipy.stats import t

        margin = t.isf(alpha / 2, self.df) * self.cells.std_err
        found = np.stack([self.cells.estimate - margin, self.cells.estimate + margin], axis=-1)
        own = unbiased(self.blocks) if self.blocks else self.cells
        if own.rare.any():
            found[own.rare] = own.conf_int(alpha)[own.rare]
        centre = np.where(own.rare, own.estimate, self.cells.estimate)
        return among_proportions(centre, found)

    def summed(self, of_cell: IntArray, size: int) -> LimitsOfTheFit:
        """Limits of sums of cells, `of_cell` being the index of each cell's sum."""
        cells = self.cells.summed(of_cell, size)
        telling = [block for block in self.blocks if block.is_informative_about(of_cell, size)]
        sums = Domain({"sums": list(range(size))}) if telling else None
        added = [block.onto(sums, of_cell) for block in telling if sums]
        blocks = tuple(block for block in added if block is not None)
        return replace(self, cells=cells, blocks=blocks if len(blocks) == len(added) else ())


@unweighted
def make_consistent(tables: TableSet, method: Violation = "l2", *, gamma: float = GAMMA) -> TableSet:
    """Replace tables by the nearest ones without negative cells, with the total one, that agree on what they share.

    Estimates of several tables disagree, as noise does, and no constraint can make them equal. So it is the fitted
    tables that are equal wherever they share attributes, and their distance to the estimates that is minimised:
    over all cells of all tables, with r = (fitted − estimate) / standard error::

        "l2"            Σ r²
        "l1"            Σ |r|
        "elastic-net"   γ Σ |r| + (1 − γ) Σ r²

    So tables with more reports, or less noise, count for more. "l2" had the least error of the three in simulations of
    the survey and alarm networks. "l1" leaves some cells exactly as they are and moves others by more; where several
    sets of tables are equally near, one of them is returned. For a single table with equal standard errors the
    Euclidean projection (Norm-Sub) is nearest in all three. A table that shares nothing is solved exactly, by sorting.
    The others are one linear or quadratic programme; what comes out agrees to rounding, but cells at zero may be tiny
    positive numbers.

    The fitted cells are biased where the bound at zero is felt. Standard errors and intervals, and whatever is tested,
    are those of weighted least squares with the same weights and equalities but without this bound, which is linear
    and unbiased; for "l1" and "elastic-net", too. Where the same reports stand behind several tables
    (`HadamardCoefficients`, `PerAttribute` with crossed groups) their covariances are allowed for. Where a respondent
    stands behind several tables with different reports (`WholeView`, `RRBA` with a view each, a trusted curator), what
    the sampling of respondents does to all of them cannot be known, and the covariance is an upper bound; the summary
    says so.

    Parameters
    ----------
    tables : TableSet
        Their unbiased estimates are used, each with its variances; at least two reports behind each. Of consistent
        tables those of the reports are used again; reconstructed ones are refused.
    method : {"l2", "l1", "elastic-net"}
    gamma : float
        From 0 ("l2") to 1 ("l1"), for "elastic-net" only.

    Returns
    -------
    TableSet
        Derived tables, in the order of the given ones. The number of reports of each is its own; its respondents are
        those of all tables that were moved together.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, make_consistent
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "old"]})
    >>> tables = SampledGroups(domain, epsilon=1.0).simulate(np.full((2, 2, 2), 1000), rng=1)
    >>> fitted = make_consistent(tables)
    >>> [one["sex", other].marginal("sex").estimate.round(3) for one in (tables, fitted) for other in ("car", "age")]
    [array([0.517, 0.483]), array([0.498, 0.502]), array([0.508, 0.492]), array([0.508, 0.492])]
    """
    share = absolute_share(method, gamma)
    empty = [table.attributes for table in checked_table_set(tables) if table.n == 0]
    if empty:
        raise NotIdentifiedError(
            f"tables without a single report: {one_line(empty)}",
            "tables that all have reports",
            "TableSet(domain, tables, privacy) makes a set of the others; reconstruct() may fill in what is missing.",
        )
    marginals = marginals_of(tables)
    shared = shared_quantities(marginals)
    fit = AgreeingFit(marginals, shared)
    linear = fit.tables([one.estimate for one in marginals])
    words = " ".join([_WORDS.format(method), *([f"There, {fit.bound}."] if fit.bound else [])])
    provenance = Consistent(method, words, tuple(one.attributes for one in marginals))
    respondents = Parts.either(table.parts for table, own in zip(tables, shared, strict=True) if _shares(own))
    fitted = zip(tables, marginals, shared, _nearest(marginals, shared, share), linear, fit.covariances(), strict=True)
    made = []
    for table, one, own, shown, before, covariance in fitted:
        measured = Measured.of_cells(before, covariance, table.n, fit.bound)
        parts = respondents if _shares(own) else table.parts
        made.append(_derived(table, one.table, shown, measured, provenance, tables, parts))
    return tables.replaced(tables=made)


def _nearest(marginals: Sequence[Marginal], shared: Sequence[SharedQuantities], gamma: float) -> list[FloatArray]:
    """Solve the tables that share something together, and every other one by itself."""
    shares = list(map(_shares, shared))
    together = list(compress(marginals, shares))
    agreeing = iter(nearest_agreeing(together, list(compress(shared, shares)), gamma) if together else [])
    return [
        next(agreeing) if sharing else nearest_proper(one.estimate, one.precision, gamma)
        for one, sharing in zip(marginals, shares, strict=True)
    ]


def _shares(own: SharedQuantities) -> bool:
    """Whether a table has attributes in common with another, so that the respondents of both count."""
    return own.places.size > 1


def _derived(
    table: Table,
    source: Table | None,
    shown: FloatArray,
    measured: Measured,
    provenance: Consistent,
    tables: TableSet,
    parts: Parts,
) -> Table:
    # every table has moved toward all others, so that their share of simulated reports is in each of them
    simulated = -(-table.n * tables.simulated // tables.n)
    linear = Estimate(measured.estimate, measured.covariance, table.n, table.privacy, simulated)
    blocks = tuple(block for block in source.blocks if block.n) if source else ()
    asked = Counter[Question]()
    for block in blocks:
        asked[block.question] += block.n
    df = max(1, min(asked.values(), default=table.n) - 1)
    fitted = replace(linear, estimate=shown, limits=LimitsOfTheFit(linear, df, blocks))
    return replace(
        table,
        blocks=(),
        figures=Figures(fitted, measured),
        method=f"consistent ({provenance.method})",
        provenance=provenance,
        sources=(source or table,),
        parts=parts,
    )
