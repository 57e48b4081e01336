"""CALM: covering designs of views to collect, so that tables of any k attributes can be reconstructed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import best_name, mechanism
from ldpstats.numbers.arrays import IntArray, at_least, positive_epsilon, real_number
from ldpstats.protocols import SampledGroups
from ldpstats.protocols.groups import Group, checked_domain, groups_of
from ldpstats.views import views

Cover: TypeAlias = Literal["pairs", "triples"]
_HELD: dict[str, int] = {"pairs": 2, "triples": 3}

# larger views hold more noise than any small table that could be taken from them
_LARGEST_VIEW = 1 << 9
_MOST_VIEWS = 10_000
_MOST_TARGETS = 500_000


def covering_groups(domain: Domain, size: int, cover: Cover = "pairs") -> tuple[Group, ...]:
    """Find few groups of attributes such that every pair, or every triple, lies in one (a covering design).

    These are the views of PriView (Qardaji, Yang & Li 2014). There a curator adds noise to each; under local privacy
    every respondent reports one of them. A greedy search begins each group with the first pair (triple) that is missing
    and takes in the attribute that adds most of the missing ones. For pairs, `views(..., cover="pairs")` is taken where
    it has fewer groups.

    Parameters
    ----------
    domain : Domain
    size : int
        The attributes in a group; some groups may have fewer.
    cover : {"pairs", "triples"}
    """
    names = checked_domain(domain).names
    if cover not in _HELD:
        raise LdpstatsError(f"cover = {cover!r}", " or ".join(map(repr, _HELD)))
    if not _HELD[cover] <= at_least(size, 1, "size") <= len(names):
        raise LdpstatsError(
            f"{cover} of {len(names)} attributes in groups of {size}",
            f"groups of {_HELD[cover]} to {len(names)} attributes",
        )
    groups = [tuple(names[index] for index in group) for group in _greedy_cover(len(names), size, _HELD[cover])]
    if cover == "pairs":
        arranged = [tuple(map(str, group)) for view in views(names, size, cover="pairs") for group in view]
        groups = min(groups, arranged, key=len)
    return tuple(groups)


@dataclass(frozen=True, slots=True, eq=False)
class CalmDesign:
    """Views to collect, and the expected errors of tables of k attributes that are put together from their reports.

    All figures are means over all sets of k attributes.
    """

    problem: DesignProblem
    views: tuple[Group, ...]  # each respondent reports one of them
    made: str  # how the views were found
    noise_error: float  # expected squared error of a table, summed over its cells, by randomization
    sampling_error: float  # the same, as each view has a sample of the respondents
    # share of a table's degrees of freedom that no view tells: the reconstruction error depends on the population
    left_open: float
    covered: float  # share of the tables that lie in a view
    considered: tuple[CalmDesign, ...] = ()  # the designs to choose from

    @property
    def error(self) -> float:
        """Noise and sampling error together."""
        return self.noise_error + self.sampling_error

    def protocol(self) -> SampledGroups:
        """Protocol in which every respondent reports one of the views at full ε."""
        problem = self.problem
        return SampledGroups(problem.domain, epsilon=problem.epsilon, mechanism=problem.mechanism, groups=self.views)


def calm_views(
    domain: Domain, n: int, epsilon: float, k: int = 3, mechanism: str = "auto", threshold: float = 1e-4
) -> CalmDesign:
    """Choose how many views of how many attributes to collect, so that tables of any k attributes can be made.

    This is the design step of CALM, consistent adaptive local marginals (Zhang, Wang, Li, He & Chen 2018). Every
    respondent reports one view at full ε. Then the tables of the views are made consistent (`make_consistent`), and
    tables of k attributes are reconstructed from them by maximum entropy (`reconstruct`).

    Larger views have more noise, more views have fewer respondents each (sampling error), and what no view holds must
    be filled in (reconstruction error). The last one depends on the population and cannot be known beforehand. So, as
    in CALM, as little as possible is left to it that keeps the other two within a threshold. Where nothing keeps it,
    the views with the least error are taken.

    CALM is stated for two categories and one variance. Here every view V has its own cells, and T_V is the exact sum of
    their variances per report by its own mechanism, if all are equally frequent (their share in the known total left
    out). With n/m respondents for each of m views, the expected squared error of a table of the attributes A is

        Σ over S ⊆ A held by a view:  Π_{a∈S} (s_a − 1) / Π_{a∈A} s_a · 1 / Σ_{V ⊇ S} (n/m) / T_V

    with s_a categories of the attribute a. That is exact for least squares, before negative cells are removed: the
    interaction of S has Π (s_a − 1) degrees of freedom, and all views that hold S tell about it. Without any noise
    T_V is 1, which is the sampling error; the rest is noise.

    The candidates are `covering_groups` of all sizes, for pairs and for triples, and all groups of k.

    Parameters
    ----------
    domain : Domain
    n : int
        The respondents.
    epsilon : float
        The level of a respondent.
    k : int
        The attributes of the tables that are wanted.
    mechanism : str
        "auto" takes the one with the least variance for every view, so never worse than the better of GRR and OLH,
        between which CALM chooses; or a name for all views.
    threshold : float
        The noise and sampling error that a table may have, as a sum of squares over its cells. The default is a
        total variation of about .02 in a table of 20 cells.
    """
    most, problem = real_number(threshold), DesignProblem(domain, n, epsilon, k, mechanism)
    if not 0 < most < math.inf:
        raise LdpstatsError(f"threshold = {threshold!r}", "a finite number above 0", "The default is 1e-4.")
    considered = tuple(problem.designed(made, groups) for made, groups in problem.candidates())
    within = [design for design in considered if design.error <= most]
    if within:
        best = min(within, key=lambda design: (design.left_open, design.error))
    else:
        best = min(considered, key=lambda design: (design.error, design.left_open))
    return replace(best, considered=considered)


@dataclass(frozen=True, slots=True)
class DesignProblem:
    """Checked arguments of `calm_views`: what is to be collected, and for which tables."""

    domain: Domain
    n: int
    epsilon: float
    k: int
    mechanism: str

    def __post_init__(self) -> None:
        d = len(checked_domain(self.domain))
        at_least(self.n, 1, "n")
        positive_epsilon(self.epsilon)
        if not 2 <= at_least(self.k, 1, "k") <= d:
            raise LdpstatsError(f"tables of k = {self.k} out of {d} attributes", f"k from 2 to {d}")
        if math.comb(d, self.k) > _MOST_TARGETS:
            raise LdpstatsError(
                f"{math.comb(d, self.k):,} tables of {self.k} out of {d} attributes",
                f"at most {_MOST_TARGETS:,} tables",
                "Design for fewer attributes per table.",
            )

    def candidates(self) -> Iterator[tuple[str, tuple[Group, ...]]]:
        """Yield different sets of views that are small enough, each with the way it was made."""
        d, most, met = len(self.domain), min(self.n, _MOST_VIEWS), set[frozenset[Group]]()
        covers = (("pairs covered", self._covers("pairs", most)), ("triples covered", self._covers("triples", most)))
        every = [groups_of(self.domain, k=self.k)] if math.comb(d, self.k) <= most else []
        for made, sets in (*covers, ("all groups", every)):
            for groups in sets:
                if len(groups) <= most and frozenset(groups) not in met:
                    met.add(frozenset(groups))
                    yield made, groups
        if not met:
            raise LdpstatsError(f"n = {self.n} for views of {d} attributes", "more respondents than views")

    def _covers(self, cover: Cover, most: int) -> Iterator[tuple[Group, ...]]:
        held = _HELD[cover]
        for size in range(held, len(self.domain) + 1 if held <= self.k else 0):
            if math.comb(len(self.domain), held) > most * math.comb(size, held):
                continue
            groups = covering_groups(self.domain, size, cover)
            if size > held and max(map(self.domain.size, groups)) > _LARGEST_VIEW:
                return
            yield groups

    def designed(self, made: str, groups: tuple[Group, ...]) -> CalmDesign:
        """Work out the errors that are to be expected of these views, pooled by their precision as least squares does.

        What all views together tell of every interaction of up to k attributes is an array for every order, in the
        order of `_rank`, in the unit of a table's total squared error and per degree of freedom.
        """
        domain, orders = self.domain, range(self.k + 1)
        precision = [np.zeros(math.comb(len(domain), order)) for order in orders]
        sampled = [np.zeros_like(of_order) for of_order in precision]
        for group in groups:
            total = _total_variance(self.mechanism, domain.size(group), self.epsilon)
            weight = self.n / len(groups) / total
            members = np.sort([domain.names.index(name) for name in group])
            for order in orders[1 : len(group) + 1]:
                ranks = _rank(_subsets(members, order))
                precision[order][ranks] += weight
                sampled[order][ranks] += weight / total
        # zero where no view holds the set
        variances = [np.divide(1, of_order, out=np.zeros_like(of_order), where=of_order > 0) for of_order in precision]
        sizes, targets = np.array(domain.shape), _subsets(np.arange(len(domain)), self.k)
        cells = sizes[targets].prod(axis=1)
        error, sampling, unknown = np.zeros((3, len(targets)))
        for order in orders[1:]:
            for part in _subsets(np.arange(self.k), order):
                freedom, ranks = (sizes[targets[:, part]] - 1).prod(axis=1), _rank(targets[:, part])
                variance = variances[order][ranks]
                error += freedom / cells * variance
                sampling += freedom / cells * (sampled[order][ranks] * variance**2)
                unknown += freedom * (variance == 0)
        noise_error, sampling_error = float((error - sampling).mean()), float(sampling.mean())
        left_open, held = float((unknown / (cells - 1)).mean()), precision[self.k][_rank(targets)] > 0
        return CalmDesign(self, groups, made, noise_error, sampling_error, left_open, covered=float(held.mean()))


@lru_cache(maxsize=4096)
def _total_variance(name: str, cells: int, epsilon: float) -> float:
    """Sum of the variances of equally frequent cells from one report, sampling alone having one.

    Every contrast of the cells counts with its mean variance; their total, which is known, does not.
    """
    used = mechanism(best_name(cells, epsilon) if name == "auto" else name, k=cells, epsilon=epsilon)
    covariance = used.noise.covariance(np.full(cells, 1 / cells))
    of_contrasts = np.trace(covariance) - covariance.sum() / cells
    return float(cells * of_contrasts / (cells - 1))


def _subsets(members: IntArray, order: int) -> IntArray:
    """All subsets of so many members, a row each, in the order of the members."""
    return np.array(list(combinations(members.tolist(), order)), dtype=np.int64)


def _rank(subsets: IntArray) -> IntArray:
    """Index of each row of ascending numbers in the list of all such rows (combinatorial number system)."""
    from scipy.special import comb

    ranks: IntArray = comb(subsets, np.arange(1, subsets.shape[1] + 1)).round().sum(axis=1).astype(np.int64)
    return ranks


def _greedy_cover(attributes: int, size: int, held: int) -> Iterator[list[int]]:
    """Yield groups of up to `size` attributes until every set of `held` attributes lies in one."""
    missing = np.ones((attributes,) * held, dtype=np.bool_)
    for first in combinations(range(attributes), held):
        if not missing[first]:
            continue
        group = list(first)
        while len(group) < size:
            gain = missing[np.ix_(*[group] * (held - 1))].reshape(-1, attributes).sum(axis=0)
            gain[group] = 0
            if not gain.any():
                break
            group.append(int(gain.argmax()))
        missing[np.ix_(*[group] * held)] = False
        yield sorted(group)
