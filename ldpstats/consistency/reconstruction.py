"""Reconstruction: a table that nobody collected, put together from those that overlap it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np

from ldpstats.arrays import FloatArray, at_least
from ldpstats.blocks import Block
from ldpstats.consistency.channels_em import most_likely_joint
from ldpstats.consistency.graphical import MaximumEntropy, fit_maximum_entropy, relevant
from ldpstats.consistency.joint import fitted_joint
from ldpstats.consistency.marginals import Marginal, marginals_of
from ldpstats.consistency.projection import nearest_proper
from ldpstats.consistency.shrinkage import shrunken_joint
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import Estimate
from ldpstats.noise import Tally
from ldpstats.randomness import Rng, generator
from ldpstats.tables import Table, TableSet

Method: TypeAlias = Literal["auto", "max-entropy", "em", "shrinkage", "l2", "l1", "elastic-net"]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to put a table together: from tables that overlap it to its proportions."""

    found: Callable[[Sequence[Table], Domain], FloatArray]
    words: str


def reconstruct(
    tables: TableSet, attributes: Iterable[str], method: Method = "auto", *, n_resamples: int = 200, rng: Rng = None
) -> Table:
    """Put a table together that nobody collected, from tables about some of its attributes each.

    Parameters
    ----------
    tables : TableSet
        They count as independent of each other, as for `make_consistent`.
    attributes : sequence of str
    method : {"auto", "max-entropy", "em", "shrinkage", "l2", "l1", "elastic-net"}
        "max-entropy" takes the distribution nearest to all tables, by inverse variances, with no interaction that
        nobody asked about: a graphical model, by a junction tree, so that tables about other attributes count, too.
        "em" makes the reports of all tables most likely, through their channels. "shrinkage" goes from independence
        towards the tables only as far as noise does not explain the rest. "l2", "l1" and "elastic-net" violate the
        tables least by squares, by absolute values or by half of either, and have the smallest norm among all that
        do (Imran & Meo 2024). All but the first need a joint table of at most 4,096 cells. "auto" takes the first:
        no other was nearer to the truth throughout (benchmarks/consistency.py), and its covariance is the most to be
        trusted. Where noise is large "shrinkage" comes nearer, up to twice, but what it takes for independence may
        only be hidden.
    n_resamples : int
        How many sets of tables to draw for the covariance, where the method has none of its own. Every table is
        drawn at its own estimate, made proper.
    rng : seed or numpy Generator, optional
        For these draws. By default the seed is taken from the estimates, so that a table has one covariance.

    Returns
    -------
    Table
        A derived one: proper proportions, with a covariance. Where tables say nothing about an interaction, it is
        what the method assumes, and no covariance allows for that. It can be tested like any derived table.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
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
    if not isinstance(tables, TableSet):
        raise LdpstatsError(f"a {type(tables).__name__}", "a TableSet, as a protocol collects it")
    target = tables.domain.project(attributes)
    telling = [table for table in tables if table.n > 0 and not set(table.attributes).isdisjoint(target.names)]
    if method in ("auto", "max-entropy"):
        made = _of_maximum_entropy(tables, target)
    else:
        made = _drawn_again(telling, target, method, at_least(n_resamples, 2, "n_resamples"), rng)
    found = Estimate(made.estimate, made.covariance, sum(one.n for one in telling), tables.privacy, tables.simulated)
    words = f"Reconstructed from {len(telling)} tables that overlap it: {made.words}"
    return Table(target, (), tables.privacy, found, f"reconstructed ({made.method})", words)


@dataclass(frozen=True, slots=True, eq=False)
class _Made:
    """Reconstructed proportions with their covariance, and how they were made."""

    method: str
    words: str
    estimate: FloatArray
    covariance: FloatArray


def _of_maximum_entropy(tables: TableSet, target: Domain) -> _Made:
    _, marginals = marginals_of(tables)
    model, left_out = _fitted_model(marginals, target)
    words = (
        "the distribution of maximum entropy that is nearest to all tables, weighed by inverse variances; interactions "
        "that no table is about are absent. Its covariance is that of the delta method, too small where cells are zero."
    )
    if left_out:
        words += f" What hangs together with it through {one_line(list(left_out))} was left out, being too large."
    return _Made("max-entropy", words, model.marginal(target.names), model.covariance(target.names))


def _fitted_model(marginals: Sequence[Marginal], target: Domain) -> tuple[MaximumEntropy, tuple[str, ...]]:
    chosen = relevant(marginals, target.names)
    return fit_maximum_entropy(chosen.marginals), chosen.left_out


def _violating_least(tables: Sequence[Table], target: Domain, violation: str) -> FloatArray:
    return fitted_joint([Marginal.of(table) for table in tables], target.names, target.shape, violation)


def _shrunken(tables: Sequence[Table], target: Domain) -> FloatArray:
    return shrunken_joint([Marginal.of(table) for table in tables], target.names, target.shape).frequencies


def _most_likely(tables: Sequence[Table], target: Domain) -> FloatArray:
    domain = Domain({name: one.domain.categories[name] for one in tables for name in one.attributes})
    return most_likely_joint(tables, domain, target.names).frequencies


WAYS: Mapping[str, Way] = {
    "em": Way(
        _most_likely, "the proportions that EM reaches from uniform ones, under which all reports are most likely."
    ),
    "shrinkage": Way(_shrunken, "the proportions nearest to independence that noise reconciles with the tables."),
    **{
        violation: Way(
            partial(_violating_least, violation=violation),
            f"of the proportions that violate the tables least ({violation}), those of the smallest norm.",
        )
        for violation in ("l2", "l1", "elastic-net")
    },
}
"""The ways whose covariance is that of tables drawn again."""


def _drawn_again(tables: Sequence[Table], target: Domain, method: str, n_resamples: int, rng: Rng) -> _Made:
    """Reconstruct a table, and again from tables that are drawn as these were."""
    from tqdm.auto import tqdm

    if method not in WAYS:
        raise LdpstatsError(f"method = {method!r}", one_line(["auto", "max-entropy", *WAYS]))
    way = WAYS[method]
    estimate = way.found(tables, target)
    seed = zlib.crc32(b"".join(table.cells.estimate.tobytes() for table in tables))
    numbers = generator(seed if rng is None else rng)
    again = [
        way.found([_redrawn(table, numbers) for table in tables], target)
        for _ in tqdm(range(n_resamples), desc="drawing tables again", unit="set", leave=False, disable=None)
    ]
    words = f"{way.words} Its covariance is that of {n_resamples} sets of tables, each drawn at its own estimate."
    return _Made(method, words, estimate, np.cov(again, rowvar=False))


def _redrawn(table: Table, rng: np.random.Generator) -> Table:
    """Draw a table of as many reports, through the same noise, whose truth is its estimate, made proper."""
    if table.derived is not None:
        cells = table.derived
        moved = rng.multivariate_normal(cells.estimate, cells.covariance, method="eigh")
        return replace(table, derived=replace(cells, estimate=moved))
    unbiased = table.estimated_by("unbiased").cells.estimate
    proper = nearest_proper(unbiased, np.ones_like(unbiased))
    blocks = tuple(
        Block(block.question, Tally(block.noise, block.draw(proper, 1, rng)[0], block.n, simulated=True))
        for block in table.blocks
    )
    return replace(table, blocks=blocks)
