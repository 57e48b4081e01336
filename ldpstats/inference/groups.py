"""Homogeneity: tables of different groups of respondents, tested for having the same frequencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.errors import LdpstatsError
from ldpstats.inference.detectability import orthogonal_to, power_of
from ldpstats.inference.evidence import Evidence, identified_contrasts
from ldpstats.inference.families import LinearSubspace
from ldpstats.inference.hypotheses import SIZES, result_of
from ldpstats.inference.null_model import NullFit, on_simplex
from ldpstats.inference.procedure import WORDS, PValue, chosen_method, evidence_of, measured
from ldpstats.inference.result import Hypothesis, HypothesisResult
from ldpstats.inference.statistics import Fits, ScoreStatistic
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
    named = tables if isinstance(tables, Mapping) else {f"group {place}": one for place, one in enumerate(tables, 1)}
    groups = _alike(named)
    Parts.together(table.parts for table in groups)  # refuses groups that share respondents
    parts = [evidence_of(table) for table in groups]
    together = Evidence.observed([block for part in parts for block in part.blocks])
    statistic = HomogeneityStatistic(together, [len(part.blocks) for part in parts], groups[0].domain.size())
    chosen, why = chosen_method("auto", together.blocks, ())
    outcome = measured(groups[0], statistic, statistic.common, together, f"{WORDS[chosen]}{why}", pvalue)
    information = statistic.information(together, outcome.null, [table.n for table in groups])
    about = Hypothesis(
        "homogeneity of groups",
        f"{', '.join(named)} have the same frequencies of {' and '.join(groups[0].attributes)}",
        "the frequencies of the groups differ",
        ("different", "no difference shown"),
    )
    power = {size: power_of(information, outcome.df, size, 2) for size in SIZES}
    return replace(
        result_of(groups[0], about, outcome, power),
        n=sum(table.n for table in groups),
        privacy=reduce(PrivacyStatement.joined, (table.privacy for table in groups)),
        simulated=sum(table.simulated for table in groups),
    )


class HomogeneityStatistic:
    """What the groups' scores say by themselves, at frequencies fitted to all of them together."""

    def __init__(self, evidence: Evidence, sizes: Sequence[int], cells: int) -> None:
        ends = np.cumsum(sizes).tolist()
        self._blocks = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        uniform = np.full(cells, 1 / cells)
        self._fit = Fits(evidence, cells)
        self.common = LinearSubspace(uniform, identified_contrasts(evidence, uniform))
        nothing = LinearSubspace(uniform, np.zeros((cells, 0)))
        self._alone = [ScoreStatistic(nothing, part, cells) for part in self._parts(evidence)]
        self.df = sum(one.df for one in self._alone) - self.common.basis.shape[1]

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:
        """Fit common frequencies to every table, and measure how far each group is from them."""
        fit = self._fit(self.common, evidence, near)
        apart = sum(
            one.total(*part.score(fit.frequencies))
            for one, part in zip(self._alone, self._parts(evidence), strict=True)
        )
        return NullFit(fit.parameters, fit.frequencies, np.maximum(apart - fit.statistic, 0), fit.converged)

    def information(self, evidence: Evidence, null: FloatArray, reports: Sequence[int]) -> FloatArray:
        """Return the information about differences between the groups, the common frequencies being unknown.

        A difference has the size √(Σ_g (n_g/n) Σ δ_g²/π): it is Cohen's w of the groups by the cells.
        """
        shares = np.array(reports) / sum(reports)
        frequencies = on_simplex(null)
        root = np.sqrt(frequencies)
        between, within = orthogonal_to(np.sqrt(shares)), root[:, None] * orthogonal_to(root)
        tangents = self.common.basis
        known, crossed, common = np.zeros((3, 1, 1))
        for part, share, row in zip(self._parts(evidence), shares, between, strict=True):
            differences = np.kron(row / np.sqrt(share), within)
            _, information = part.score(frequencies[None, :])
            known = known + differences.T @ information.times(differences)[0]
            crossed = crossed + differences.T @ information.times(tangents)[0]
            common = common + tangents.T @ information.times(tangents)[0]
        remaining: FloatArray = known - crossed @ np.linalg.pinv(common, hermitian=True) @ crossed.T
        return remaining

    def _parts(self, evidence: Evidence) -> list[Evidence]:
        return [Evidence(evidence.blocks[own], evidence.counts[own]) for own in self._blocks]


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
