"""Edge confidence: how many of the networks that are learned from redrawn counts have an edge, and its direction."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.errors import LdpstatsError
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.networks.structure import Edge
from ldpstats.tables import Table, TableSet
from ldpstats.tables.shared import overlapping


@dataclass(frozen=True, slots=True, eq=False)
class EdgeConfidence:
    """How often pairs of attributes are joined in networks learned anew.

    It is `boot.strength` of R's bnlearn (Friedman, Goldszmidt & Wyner 1999), with counts that are drawn again from the
    estimated tables in the place of resampled records. It tells how stable the search is under the noise of sampling
    and randomization. It is no p-value, and no probability that the edge is there: a search that always makes the same
    mistake is confident of it.

    Parameters
    ----------
    joined : array
        By pair: the share of networks in which it is joined.
    forward : array
        The share of those in which the edge leads from the first attribute to the second; half, where it has no
        direction. It is nan where no network has the edge.
    """

    joined: FloatArray
    forward: FloatArray

    @classmethod
    def of(cls, networks: Iterable[tuple[Sequence[Edge], Iterable[Edge]]], pairs: Sequence[Edge]) -> Self:
        """Count in networks, each with its edges and with those that are directed (from, to)."""
        place = {pair: number for number, pair in enumerate(pairs)}
        joined, forward, count = np.zeros(len(pairs)), np.zeros(len(pairs)), 0
        for edges, directed in networks:
            count += 1
            known = set(directed)
            for edge in edges:
                joined[place[edge]] += 1
                forward[place[edge]] += 1.0 if edge in known else 0.0 if edge[::-1] in known else 0.5
        held = joined > 0
        return cls(joined / max(count, 1), np.divide(forward, joined, out=np.full(len(pairs), np.nan), where=held))


def redrawn_sets(tables: TableSet, size: int, rng: np.random.Generator) -> Iterator[TableSet]:
    """Yield so many sets of tables like these, whose reports are drawn anew (parametric bootstrap).

    Parameters
    ----------
    tables : TableSet
        Every table is drawn at its estimate, made proper. Those with common respondents are refused: what their answers
        have to do with each other is not known.
    size : int
    rng : numpy Generator
    """
    proper = [nearest_proper(table.unbiased.estimate) for table in tables]
    if overlapping(tables.tables) or any(table.figures for table in tables):
        raise LdpstatsError(
            "redraws of tables that share respondents, or have no reports of their own",
            "tables of different respondents, as SampledGroups collects them",
            "Learn with n_resamples = 0, or by a method that needs pairs only.",
        )
    for _ in range(size):
        drawn = (_redrawn(table, at, rng) for table, at in zip(tables, proper, strict=True))
        yield TableSet(tables.domain, drawn, tables.privacy)


def _redrawn(table: Table, frequencies: FloatArray, rng: np.random.Generator) -> Table:
    blocks = (
        replace(block, tally=replace(block.tally, counts=block.draw(frequencies, 1, rng)[0], simulated=block.n))
        for block in table.blocks
    )
    return replace(table, blocks=tuple(blocks))


def averaging_threshold(joined: FloatArray) -> float:
    """Return the confidence from which on edges belong to the averaged network, after Scutari & Nagarajan (2013).

    If it were known which edges there are, all confidences were 0 or 1. Of all distributions of that kind the one is
    taken that is nearest to the observed distribution, by the area between them; it has the share of edges that are
    not there, and the threshold is the quantile of that share.

    Parameters
    ----------
    joined : array
        The confidence of every possible edge.

    Examples
    --------
    >>> averaging_threshold(np.array([0.0, 0.02, 0.05, 0.1, 0.9, 1.0]))
    0.9
    """
    values = np.unique(joined)
    steps = np.append(0.0, np.searchsorted(np.sort(joined), values, side="right") / joined.size)
    lengths = np.diff(np.concatenate([[0.0], values, [1.0]]))
    order = np.argsort(steps, kind="stable")
    # the share is the median of the distribution function, each value weighed by how long it lasts
    median = steps[order][np.searchsorted(np.cumsum(lengths[order]), 0.5)]
    above = values[steps[1:] > median]
    return float(above[0]) if above.size else 1.0
