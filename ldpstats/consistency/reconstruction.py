"""Reconstruction: a table that nobody collected, put together from those that overlap it."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

from ldpstats.answers.domain import Domain
from ldpstats.consistency.marginals import as_collected
from ldpstats.consistency.reconstruction_methods import RECONSTRUCTION_METHODS
from ldpstats.consistency.relevant_marginals import joining
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import Estimate, pvalue_in_words, refuse_empty
from ldpstats.identification.bounds import LEVEL
from ldpstats.identification.identified import MOST_CONTRASTS, Identified
from ldpstats.limits import LARGEST_JOINT
from ldpstats.numbers.arrays import at_least, unweighted
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.tables import (
    Figures,
    JointReports,
    Reconstructed,
    Table,
    TableSet,
    checked_table_set,
    pooled_blocks,
    pooled_measured,
)
from ldpstats.tables.respondents import RespondentSet
from ldpstats.tables.shared import reports_once

_POOLED = "The reports identify every cell: the pooled view of the set shows them without an assumption."


@unweighted
def reconstruct(
    tables: TableSet, attributes: Iterable[str], method: str = "auto", *, n_resamples: int = 200, rng: Rng = None
) -> Table:
    """Put a table together that nobody collected, from tables about some of its attributes each.

    Parameters
    ----------
    tables : TableSet
        They count as independent of each other, as for `make_consistent`.
    attributes : sequence of str
    method : {"auto", "max-entropy", "em", "shrinkage", "l2", "l1", "elastic-net"}, or one in `RECONSTRUCTION_METHODS`
        "max-entropy" takes the distribution nearest to all tables, by inverse variances, with no interaction that
        nobody asked about: a graphical model, by a junction tree, so that tables about other attributes count, too.
        "em" makes the reports of all tables most likely, through their channels. "shrinkage" goes from independence
        towards the tables only as far as that lowers the estimated error. "l2" violates the tables least, by squares,
        and has the smallest norm of all that do (Imran & Meo 2024); "l1" and "elastic-net" do so by absolute values, or
        by half of either, and are as even as can be. All but the first need a joint table of at most 4,096 cells.
        "auto" takes the first, whose covariance is the most to be trusted. Where noise is large "shrinkage" has errors
        up to 40 % smaller (benchmarks/consistency.py), but what it takes for independence may only be hidden.
    n_resamples : int
        How many sets of tables to draw for the covariance, where the method has none of its own ("max-entropy" has).
        "em" draws them from the table that it found, the others every table at its own estimate, made proper.
    rng : seed or numpy Generator, optional
        For these draws. By default the seed is taken from the estimates, so that a table has one covariance.

    Returns
    -------
    Table
        Proper proportions, with a covariance. Where reports say nothing about an interaction, it is what the method
        assumes: `assumption` says so, and no covariance allows for that. `bounds()` says what is known without it, and
        tests take what the reports tell about the table, no more.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, reconstruct
    >>> domain = Domain({name: ["yes", "no"] for name in "abc"})
    >>> people = np.array([300, 100, 50, 50, 50, 50, 100, 300]) * 100
    >>> pairs = SampledGroups(domain, epsilon=4.0).simulate(people, rng=1)
    >>> reconstruct(pairs, ["a", "b", "c"]).estimate.round(2)
    array([[[0.3 , 0.1 ],
            [0.05, 0.05]],
    <BLANKLINE>
           [[0.05, 0.05],
            [0.1 , 0.3 ]]])
    """
    checked_table_set(tables)
    name = "max-entropy" if method == "auto" else method
    if name not in list(RECONSTRUCTION_METHODS):
        raise LdpstatsError(f"method = {method!r}", one_line(["auto", *RECONSTRUCTION_METHODS]))
    target, resamples = tables.domain.project(attributes), at_least(n_resamples, 2, "n_resamples")
    chosen, collected = RECONSTRUCTION_METHODS[name], as_collected(tables)
    refuse_empty(sum(table.n for table in collected), "the tables")
    near, left_out = chosen.choose(collected, target)
    fit = chosen.fit(near, target)
    seed = zlib.crc32(b"".join(table.cells.estimate.tobytes() for table in near))
    covariance, how = fit.covariance(resamples, generator(seed if rng is None else rng))
    why = ", by the method that needs no joint table and has a covariance of its own" if method == "auto" else ""
    words = f"Reconstructed from {len(near)} tables that bear upon it{why}: {chosen.words}{left_out}{fit.note} {how}"
    n, simulated = reports_once(near)
    cells = Estimate(fit.proportions, covariance, n, tables.privacy, simulated, limits=fit.limits)
    groups = fit.groups or tuple(table.attributes for table in near)
    assumption = chosen.assumption(groups, fit.joint or target.names)
    # what reports tell without an assumption; the table assumes nothing if they tell all
    joint = joined(collected, target)
    joining_it = [table for table in collected if not set(table.attributes).isdisjoint(joint.names)]
    about = [table for table in joining_it if not set(table.attributes).isdisjoint(target.names)]
    blocks = pooled_blocks(about, target)
    measured = pooled_measured(about, target) if blocks is None and target.size() <= LARGEST_JOINT else None
    words += _contradiction(joining_it, joint)
    if assumption and any(set(target.names) <= set(block.question.about) for block in blocks or ()):
        words += f" {_POOLED}"
    used = {*joint.names, *(name for table in near for name in table.attributes)}
    behind = [table for table in collected if not used.isdisjoint(table.attributes)]
    made = Table(
        target,
        blocks or (),
        tables.privacy,
        method=f"reconstructed ({name})",
        provenance=Reconstructed(name, words, groups, assumption, chosen.refused or fit.refused),
        figures=Figures(cells, measured, JointReports.of(joining_it, joint)),
        parts=RespondentSet.either(table.parts for table in behind),
        sources=tuple(behind),
    )
    return made.settled()


def _contradiction(tables: Sequence[Table], joint: Domain) -> str:
    """Say that sums of a joint table that several tables tell differ by more than chance; else empty."""
    if len(tables) < 2 or joint.size() > MOST_CONTRASTS:
        return ""
    pvalue = Identified.of(pooled_measured(tables, joint)).pvalue
    if pvalue >= LEVEL:
        return ""
    return (
        f" The tables contradict each other (p = {pvalue_in_words(pvalue, 2)}): they are not of one population, or "
        "reports do not fit their channel, and neither proportions nor intervals can be trusted."
    )


def joined(tables: Sequence[Table], target: Domain) -> Domain:
    """The target's attributes and, as far as a joint table may have cells, those that join them."""
    groups = [table.attributes for table in tables]
    known = {name: values for table in tables for name, values in table.domain.categories.items()}
    domains = (Domain({name: known[name] for name in kept}) for kept in joining(groups, target.names))
    return next((domain for domain in domains if domain.size() <= LARGEST_JOINT), target)
