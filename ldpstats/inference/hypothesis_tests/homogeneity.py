"""Homogeneity of groups: tables of different respondents, tested for having the same frequencies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from ldpstats.errors import LdpstatsError
from ldpstats.inference.engine.detectability import orthogonal_to, principal_information
from ldpstats.inference.engine.evidence import Evidence, GroupedEvidence, PooledEstimate, identified_contrasts
from ldpstats.inference.engine.families import LinearSubspace
from ldpstats.inference.engine.null_model import DrawnTables, NullFit, NullFitter, on_simplex
from ldpstats.inference.engine.procedure import Method, PValue, chosen_method, evidence_of, outcomes_of
from ldpstats.inference.engine.statistics import ScoreStatistic
from ldpstats.inference.hypothesis_tests.result import Hypothesis, HypothesisResult, result_of
from ldpstats.noise import shortest
from ldpstats.numbers.arrays import FloatArray, unweighted
from ldpstats.privacy import PrivacyStatement
from ldpstats.tables import Table
from ldpstats.tables.respondents import RespondentSet


@unweighted
def homogeneity_test(
    tables: Sequence[Table] | Mapping[str, Table], method: Method = "auto", pvalue: PValue = "auto"
) -> HypothesisResult:
    """Test whether different groups of respondents have the same frequencies.

    Each group has a table of its own, from reports of its own through any noise. (Where the group is itself one of the
    attributes that are asked for, test independence of it.) Without noise it is the classical χ² test of the groups by
    the cells. It is the chi-squared (chi-square) test of homogeneity of several samples.

    Parameters
    ----------
    tables : sequence or mapping of Table
        At least two tables of the same attributes with the same categories; a mapping names the groups.
    method, pvalue
        As in `independence_test`.

    Returns
    -------
    HypothesisResult of a χ² (chi-squared) test; it unpacks to (statistic, pvalue)

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups, homogeneity_test
    >>> protocol = SampledGroups(Domain({"car": ["yes", "no"], "sex": ["F", "M"]}), epsilon=2.0)
    >>> north, south = (protocol.simulate(counts, rng=1)["car", "sex"] for counts in ([90] * 4, [120, 60, 120, 60]))
    >>> homogeneity_test({"north": north, "south": south}).df
    3
    """
    if isinstance(tables, Table) or not isinstance(tables, Iterable):
        raise LdpstatsError(f"a single {type(tables).__name__}", "a table for each group, such as [north, south]")
    named = (
        tables if isinstance(tables, Mapping) else {f"group {number}": table for number, table in enumerate(tables, 1)}
    )
    groups = _alike(named)
    RespondentSet.together(table.parts for table in groups)  # refuses groups that share respondents
    parts = [evidence_of(table) for table in groups]
    together = GroupedEvidence(tuple(parts), tuple(table.n for table in groups))
    chosen, words = chosen_method(method, together)
    common = any_frequencies(together, groups[0].domain.size())
    statistic = (
        HomogeneityWald(together, common)
        if chosen == "wald"
        else HomogeneityStatistic(together, common, likelihood=chosen == "lr")
    )
    [outcome] = outcomes_of([groups[0]], statistic, common, [together], words, pvalue)
    seen = principal_information(information_between(together, outcome.null, common.basis))
    about = Hypothesis(
        "homogeneity of groups",
        f"{', '.join(named)} have the same frequencies of {' and '.join(groups[0].attributes)}",
        "the frequencies of the groups differ",
        ("different", "no difference shown"),
    )
    return replace(
        # named is the group that rests on an assumption, if one does, else one that is derived
        result_of(
            max(groups, key=lambda table: (bool(table.assumption), bool(table.provenance.words))), about, outcome, seen
        ),
        n=sum(table.n for table in groups),
        privacy=reduce(PrivacyStatement.joined, (table.privacy for table in groups)),
        simulated=sum(table.simulated for table in groups),
    )


class HomogeneityStatistic:
    """Distance of the groups from frequencies fitted to all of them together, by their scores or likelihoods."""

    def __init__(self, evidence: GroupedEvidence, common: LinearSubspace, *, likelihood: bool) -> None:
        cells = common.centre.size
        self._common, self._fit, self._likelihood = common, NullFitter(evidence, cells), likelihood
        nothing = LinearSubspace(common.centre, np.zeros((cells, 0)))
        self._alone = [ScoreStatistic(nothing, part, cells) for part in evidence.groups]
        self.df = sum(statistic.df for statistic in self._alone) - common.basis.shape[1]

    def __call__(self, evidence: Evidence, drawn: DrawnTables | None = None) -> NullFit:
        """Fit common frequencies to every table, and measure how far each group is from them."""
        assert isinstance(evidence, GroupedEvidence)  # of the same groups
        common = self._fit(self._common, evidence, drawn)
        groups = zip(self._alone, evidence.groups, strict=True)
        if not self._likelihood:
            apart = sum(alone.total(*part.score(common.frequencies)) for alone, part in groups)
            return replace(common, statistic=np.maximum(apart - common.statistic, 0))
        gained, converged = -2 * evidence.log_likelihood(common.frequencies) - common.statistic, common.converged
        for alone, part in groups:
            own = alone.fit(LinearSubspace(self._common.centre, alone.contrasts), part, drawn)
            gained = gained + 2 * part.log_likelihood(own.frequencies) + own.statistic
            converged = converged & own.converged
        return replace(common, statistic=np.maximum(gained, 0), converged=converged)


class HomogeneityWald:
    """Wald's statistic of the groups' unbiased estimates against their mean, by the covariances there."""

    def __init__(self, evidence: GroupedEvidence, common: LinearSubspace) -> None:
        self._common, self._estimates = common, [PooledEstimate(part) for part in evidence.groups]
        self.df = (len(evidence.groups) - 1) * (common.centre.size - 1)

    def __call__(self, evidence: Evidence, drawn: DrawnTables | None = None) -> NullFit:  # noqa: ARG002  # nothing to start
        """Compare the groups' estimates."""
        assert isinstance(evidence, GroupedEvidence)  # of the same groups
        groups = list(zip(self._estimates, evidence.groups, strict=True))
        mean = np.average([own(part) for own, part in groups], axis=0, weights=evidence.reports)
        parameters = self._common.nearest(mean)
        frequencies = self._common.frequencies(parameters)
        others = np.linalg.qr(frequencies[..., None], mode="complete").Q[..., 1:]
        apart, weighted, precision = np.zeros(len(evidence)), np.zeros((1, 1, 1)), np.zeros((1, 1, 1))
        for own, part in groups:
            values, covariance = own.deviation(part, frequencies, others)
            inverse = shortest(covariance, np.broadcast_to(np.eye(values.shape[-1]), covariance.shape))
            own_weighted = inverse @ values[..., None]
            apart = apart + (values[..., None] * own_weighted).sum(axis=(-1, -2))
            weighted, precision = weighted + own_weighted, precision + inverse
        statistic = apart - (weighted * shortest(precision, weighted)).sum(axis=(-1, -2))
        return NullFit(parameters, frequencies, np.maximum(statistic, 0), np.ones(len(evidence), dtype=np.bool_))


def any_frequencies(evidence: Evidence, cells: int) -> LinearSubspace:
    """Return the model that excludes nothing, as far as the evidence identifies it."""
    uniform = np.full(cells, 1 / cells)
    return LinearSubspace(uniform, identified_contrasts(evidence, uniform))


def information_between(evidence: GroupedEvidence, null: FloatArray, tangents: FloatArray) -> FloatArray:
    """Return the information about groups' differences of size √(Σ_g (n_g/n) Σ δ_g²/π): Cohen's w of groups by cell."""
    shares = np.array(evidence.reports) / sum(evidence.reports)
    frequencies = on_simplex(null)
    root = np.sqrt(frequencies)
    between, within = orthogonal_to(np.sqrt(shares)), root[:, None] * orthogonal_to(root)
    known, crossed, common = np.zeros((3, 1, 1))
    for part, share, row in zip(evidence.groups, shares, between, strict=True):
        differences = np.kron(row / np.sqrt(share), within)
        _, information = part.score(frequencies[None, :])
        known = known + differences.T @ information.times(differences)[0]
        crossed = crossed + differences.T @ information.times(tangents)[0]
        common = common + tangents.T @ information.times(tangents)[0]
    return known - crossed @ np.linalg.pinv(common, hermitian=True) @ crossed.T


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
