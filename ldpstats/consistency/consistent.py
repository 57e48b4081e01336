"""Consistent tables: the proper ones nearest to the estimates that agree on every marginal they share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import compress
from typing import ClassVar

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.answers.questions import Question
from ldpstats.consistency.agreement import AgreeingFit, nearest_agreeing, shared_quantities
from ldpstats.consistency.least_violation import GAMMA, Violation, absolute_share
from ldpstats.consistency.marginals import marginals_of
from ldpstats.errors import NotIdentifiedError, one_line
from ldpstats.estimation import Estimate, Measured, unbiased
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import among_proportions
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.numbers.arrays import FloatArray, IntArray, unweighted
from ldpstats.saving.registered import Count
from ldpstats.tables import Consistent, Figures, TableSet, checked_table_set
from ldpstats.tables.respondents import RespondentSet

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
        intervals = np.stack([self.cells.estimate - margin, self.cells.estimate + margin], axis=-1)
        own = unbiased(self.blocks) if self.blocks else self.cells
        if own.rare.any():
            intervals[own.rare] = own.conf_int(alpha)[own.rare]
        centre = np.where(own.rare, own.estimate, self.cells.estimate)
        return among_proportions(centre, intervals)

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
    >>> [each["sex", other].marginal("sex").estimate.round(3) for each in (tables, fitted) for other in ("car", "age")]
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
    linear = fit.tables([marginal.estimate for marginal in marginals])
    words = " ".join([_WORDS.format(method), *([f"There, {fit.stacked.bound}."] if fit.stacked.bound else [])])
    provenance = Consistent(method, words, tuple(marginal.attributes for marginal in marginals))
    # tables that have attributes in common with another are solved together, and the respondents of all count for each
    sharing = [own.places.size > 1 for own in shared]
    together = list(compress(marginals, sharing))
    agreeing = iter(nearest_agreeing(together, list(compress(shared, sharing)), share) if together else [])
    respondents = RespondentSet.either(table.parts for table, shares in zip(tables, sharing, strict=True) if shares)
    made = []
    fitted = zip(tables, marginals, sharing, linear, fit.covariances(), strict=True)
    for table, marginal, shares, unbounded, covariance in fitted:
        shown = next(agreeing) if shares else nearest_proper(marginal.estimate, marginal.precision, share)
        blocks = tuple(block for block in marginal.table.blocks if block.n) if marginal.table else ()
        asked = Counter[Question]()
        for block in blocks:
            asked[block.question] += block.n
        df = max(1, min(asked.values(), default=table.n) - 1)
        # every table has moved toward all others, so that their share of simulated reports is in each of them
        cells = Estimate(unbounded, covariance, table.n, table.privacy, -(-table.n * tables.simulated // tables.n))
        figures = Figures(
            replace(cells, estimate=shown, limits=LimitsOfTheFit(cells, df, blocks)),
            Measured.of_cells(unbounded, covariance, table.n, fit.stacked.bound),
        )
        made.append(
            replace(
                table,
                blocks=(),
                figures=figures,
                method=f"consistent ({method})",
                provenance=provenance,
                sources=(marginal.table or table,),
                parts=respondents if shares else table.parts,
            )
        )
    return tables.replaced(tables=made)
