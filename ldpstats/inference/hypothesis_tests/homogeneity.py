"""Homogeneity: tables of different groups of respondents, tested for having the same frequencies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray, FloatArray
from ldpstats.errors import LdpstatsError
from ldpstats.inference.engine.detectability import orthogonal_to
from ldpstats.inference.engine.evidence import Evidence, identified_contrasts
from ldpstats.inference.engine.families import LinearSubspace
from ldpstats.inference.engine.null_model import NullFit, on_simplex
from ldpstats.inference.engine.procedure import PValue, chosen_method, evidence_of, outcome_of
from ldpstats.inference.engine.statistics import NullFitter, ScoreStatistic
from ldpstats.inference.hypothesis_tests.reporting import result_of
from ldpstats.inference.hypothesis_tests.result import Hypothesis, HypothesisResult
from ldpstats.noise import Information
from ldpstats.parts import Parts
from ldpstats.privacy import PrivacyStatement
from ldpstats.tables import Table


def homogeneity_test(tables: Sequence[Table] | Mapping[str, Table], pvalue: PValue = "auto") -> HypothesisResult:
    """Test whether different groups of respondents have the same frequencies.

    Each group has a table of its own, from reports of its own through any noise. (Where the group is itself one of the
    attributes that are asked for, test independence of it.) The statistic is the Rao score, or its
    least-squares counterpart where only moments are known, at the frequencies that fit all groups best.

    Parameters
    ----------
    tables : sequence or mapping of Table
        At least two tables of the same attributes with the same categories; a mapping names the groups.
    pvalue : {"auto", "asymptotic"} or MonteCarlo
        As in `independence_test`.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> protocol = SampledGroups(Domain({"car": ["yes", "no"], "sex": ["F", "M"]}), epsilon=2.0)
    >>> north, south = (protocol.simulate(counts, rng=1)["car", "sex"] for counts in ([90] * 4, [120, 60, 120, 60]))
    >>> homogeneity_test({"north": north, "south": south}).df
    3
    """
    if isinstance(tables, Table):
        raise LdpstatsError("a single table", "a table for each group, such as [north, south]")
    named = tables if isinstance(tables, Mapping) else {f"group {place}": one for place, one in enumerate(tables, 1)}
    groups = _alike(named)
    Parts.together(table.parts for table in groups)  # refuses groups that share respondents
    parts = [evidence_of(table) for table in groups]
    together = GroupedEvidence(tuple(parts), tuple(table.n for table in groups))
    statistic = HomogeneityStatistic(together, groups[0].domain.size())
    _, words = chosen_method("auto", together)
    outcome = outcome_of(groups[0], statistic, statistic.common, together, words, pvalue)
    information = statistic.information(together, outcome.null)
    about = Hypothesis(
        "homogeneity of groups",
        f"{', '.join(named)} have the same frequencies of {' and '.join(groups[0].attributes)}",
        "the frequencies of the groups differ",
        ("different", "no difference shown"),
    )
    return replace(
        result_of(_that_says_most(groups), about, outcome, information),
        n=sum(table.n for table in groups),
        privacy=reduce(PrivacyStatement.joined, (table.privacy for table in groups)),
        simulated=sum(table.simulated for table in groups),
    )


def _that_says_most(groups: Sequence[Table]) -> Table:
    """Return the group that rests on an assumption, if one does, else one that is derived: the result names it."""
    return max(groups, key=lambda table: (bool(table.assumption), bool(table.provenance.words)))


@dataclass(frozen=True, slots=True, eq=False)
class GroupedEvidence:
    """What is known of several groups of respondents, as evidence about frequencies that all of them have.

    Parameters
    ----------
    groups : tuple of Evidence
    reports : tuple of int
        How many are behind each of them.
    """

    groups: tuple[Evidence, ...]
    reports: tuple[int, ...]

    @property
    def has_likelihood(self) -> bool:
        """Whether every group has one."""
        return all(group.has_likelihood for group in self.groups)

    @property
    def has_null_covariance(self) -> bool:
        """Whether every group's estimate has one."""
        return all(group.has_null_covariance for group in self.groups)

    @property
    def words(self) -> str:
        """What is measured of the groups, each said once."""
        return ", ".join(dict.fromkeys(group.words for group in self.groups))

    @property
    def fingerprint(self) -> bytes:
        """That of every group."""
        return b"".join(group.fingerprint for group in self.groups)

    def among(self, possible: NDArray[np.intp] | None) -> GroupedEvidence:
        """Return the same evidence about tables of which only some cells can have respondents."""
        return replace(self, groups=tuple(group.among(possible) for group in self.groups))

    def estimator(self) -> Callable[[Evidence], FloatArray] | None:
        """Return the mean of the groups' estimates by their reports, where every group has one."""
        own = [group.estimator() for group in self.groups]
        known = [estimated for estimated in own if estimated is not None]
        if len(known) < len(own):
            return None

        def mean(drawn: Evidence) -> FloatArray:
            assert isinstance(drawn, GroupedEvidence)  # of the same groups
            each = [estimated(group) for estimated, group in zip(known, drawn.groups, strict=True)]
            averaged: FloatArray = np.average(each, axis=0, weights=self.reports)
            return averaged

        return mean

    def replicates(self, frequencies: FloatArray, size: int, rng: np.random.Generator) -> GroupedEvidence:
        """Draw `size` times all groups, if all have these frequencies."""
        return replace(self, groups=tuple(group.replicates(frequencies, size, rng) for group in self.groups))

    def subset(self, tables: NDArray[np.intp]) -> GroupedEvidence:
        """Return some of the tables of every group."""
        return replace(self, groups=tuple(group.subset(tables) for group in self.groups))

    def whole(self, frequencies: FloatArray) -> FloatArray:
        """Return the frequencies of all cells of the table."""
        return self.groups[0].whole(frequencies)

    def __len__(self) -> int:
        return len(self.groups[0])

    def score(self, frequencies: FloatArray) -> tuple[FloatArray, Information]:
        """Return the sum of the groups' scores, and of their information."""
        score, information = self.groups[0].score(frequencies)
        for group in self.groups[1:]:
            more, added = group.score(frequencies)
            score, information = score + more, information + added
        return score, information

    def log_likelihood(self, frequencies: FloatArray) -> FloatArray:
        """Return the sum of the groups'."""
        total: FloatArray = np.sum([group.log_likelihood(frequencies) for group in self.groups], axis=0)
        return total

    def supports(self, frequencies: FloatArray) -> BoolArray:
        """Say for which tables these frequencies are proper in every group."""
        proper: BoolArray = np.logical_and.reduce([group.supports(frequencies) for group in self.groups])
        return proper

    def rarest_expected_report(self, frequencies: FloatArray) -> float:
        """Return that of the group in which it is rarest."""
        return min(group.rarest_expected_report(frequencies) for group in self.groups)


class HomogeneityStatistic:
    """What the groups' scores say by themselves, at frequencies fitted to all of them together."""

    def __init__(self, evidence: GroupedEvidence, cells: int) -> None:
        uniform = np.full(cells, 1 / cells)
        self._fit = NullFitter(evidence, cells)
        self.common = LinearSubspace(uniform, identified_contrasts(evidence, uniform))
        nothing = LinearSubspace(uniform, np.zeros((cells, 0)))
        self._alone = [ScoreStatistic(nothing, part, cells) for part in evidence.groups]
        self.df = sum(one.df for one in self._alone) - self.common.basis.shape[1]

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:
        """Fit common frequencies to every table, and measure how far each group is from them."""
        assert isinstance(evidence, GroupedEvidence)  # of the same groups
        fit = self._fit(self.common, evidence, near)
        apart = sum(
            one.total(*part.score(fit.frequencies)) for one, part in zip(self._alone, evidence.groups, strict=True)
        )
        return NullFit(fit.parameters, fit.frequencies, np.maximum(apart - fit.statistic, 0), fit.converged)

    def information(self, evidence: GroupedEvidence, null: FloatArray) -> FloatArray:
        """Return the information about differences between the groups, the common frequencies being unknown.

        A difference has the size √(Σ_g (n_g/n) Σ δ_g²/π): it is Cohen's w of the groups by the cells.
        """
        shares = np.array(evidence.reports) / sum(evidence.reports)
        frequencies = on_simplex(null)
        root = np.sqrt(frequencies)
        between, within = orthogonal_to(np.sqrt(shares)), root[:, None] * orthogonal_to(root)
        tangents = self.common.basis
        known, crossed, common = np.zeros((3, 1, 1))
        for part, share, row in zip(evidence.groups, shares, between, strict=True):
            differences = np.kron(row / np.sqrt(share), within)
            _, information = part.score(frequencies[None, :])
            known = known + differences.T @ information.times(differences)[0]
            crossed = crossed + differences.T @ information.times(tangents)[0]
            common = common + tangents.T @ information.times(tangents)[0]
        remaining: FloatArray = known - crossed @ np.linalg.pinv(common, hermitian=True) @ crossed.T
        return remaining


def _alike(named: Mapping[str, Table]) -> list[Table]:
    groups = list(named.values())
    if len(groups) < 2 or not all(isinstance(table, Table) for table in groups):
        raise LdpstatsError(f"{len(groups)} groups", "at least two tables, one for each group of respondents")
    first = groups[0].domain
    for name, table in named.items():
        if set(table.attributes) != set(first.names) or table.domain.project(first.names) != first:
            raise LdpstatsError(
                f"the table of {name} with {table.domain!r}",
                f"tables of {first!r}",
                "Groups can be compared where they were asked the same.",
            )
    return [table.reordered(first.names) for table in groups]
