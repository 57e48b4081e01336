"""Multiple testing: independence of every pair of attributes, with p-values adjusted for their number (Holm)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import LEVEL
from ldpstats.inference.effects.cramers_v import measured_pairs
from ldpstats.inference.engine.detectability import (
    NoncentralityProfile,
    dependences_seen,
    deviations_seen,
    possible_shares,
)
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.monte_carlo import AmongMany, MonteCarlo
from ldpstats.inference.engine.procedure import (
    STATISTICS,
    Method,
    Outcome,
    PValue,
    chosen_method,
    evidence_of,
    outcomes_of,
)
from ldpstats.inference.hypothesis_tests.adjustment import adjusted_pvalues, first_step
from ldpstats.inference.hypothesis_tests.result import REFERENCE_SIZES, has_noise_once
from ldpstats.inference.hypothesis_tests.tested_pairs import (
    DEPENDENT,
    IMPLAUSIBLE,
    NOT_SHOWN,
    UNTESTABLE,
    IndependenceTests,
    PairTest,
)
from ldpstats.numbers.arrays import FloatArray, significance, unweighted
from ldpstats.presentation import progress
from ldpstats.privacy import PrivacyStatement
from ldpstats.tables import Consistent, Reconstructed, Table, TableSet, checked_table_set
from ldpstats.tables.pooled import pooled_table
from ldpstats.tables.respondents import RespondentSet
from ldpstats.tables.shared import source_of
from ldpstats.tables.unbiased_cells import assuming
from ldpstats.workers import done

# tables that are tested at once, and entries of their covariances
_TABLES_AT_ONCE, _ENTRIES_AT_ONCE = 250, 1 << 18
# quantiles of what shares may be
_LIKELY_AND_EXTREME = (0.5, 0.025, 0.975)


@unweighted
def independence_tests(
    tables: TableSet, method: Method = "auto", pvalue: PValue = "auto", adjust: str = "holm", alpha: float = 0.05
) -> IndependenceTests:
    """Test every pair of attributes that was asked together, and adjust the p-values for testing them all.

    A pair is tested on all tables that hold it, each report counted once.

    Parameters
    ----------
    tables : TableSet
        Tables of single attributes are left out.
    method, pvalue
        As in `independence_test`. By "auto" p-values that are drawn are drawn on, where next to no table reaches the
        observed one, so that even a single dependence among all pairs could be shown (`inference.AmongMany`).
    adjust : str
        A method of statsmodels' `multipletests`, such as "holm" (any error at all) or "fdr_bh" (their share); or
        "none".
    alpha : float
        The level of the verdicts, after adjustment.

    Returns
    -------
    IndependenceTests
        Of every pair, the smallest p-values first: V (corrected for noise), the test, its p-value as it is and
        adjusted, the power that the adjustment leaves it against V = .1, and the reason where a pair is not testable,
        or where its reports cannot have come through their channel (see `Table.channel_fit`; at level .001 for all
        pairs).

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, independence_tests
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"], "dog": ["yes", "no"]})
    >>> people = np.array([[[12, 8], [18, 12]], [[18, 12], [12, 8]]]) * 100
    >>> tests = independence_tests(SampledGroups(domain, epsilon=2.0).simulate(people, rng=1))
    >>> tests
    <IndependenceTests: 1 of 3 pairs shown to be dependent at level 0.05 (Holm's method); 10,000 reports (simulated)>
    >>> tests.significant()[["first", "second"]].to_numpy().tolist()
    [['sex', 'car']]
    """
    alpha = significance(alpha)
    told = pair_tables(checked_table_set(tables))
    if not told:
        raise LdpstatsError("tables of single attributes", "tables of at least two attributes asked for together")
    pairs = [table for table in told.values() if isinstance(table, Table)]
    position = {name: number for number, name in enumerate(tables.domain.names)}
    pairs.sort(key=lambda table: [position[name] for name in table.attributes])
    if pairs and isinstance(pvalue, MonteCarlo):  # of so few tables not even the smallest p-value might be significant
        smallest = np.full(len(pairs), 1 / (1 + pvalue.most))
        if adjusted_pvalues(smallest, alpha, adjust).min() > alpha:
            raise LdpstatsError(
                f"{pvalue.most:,} tables for each of {len(pairs)} tests, of which then none can be rejected by "
                f"{adjust!r}",
                f"at least {math.ceil(len(pairs) / alpha) - 1:,}",
                "'auto' draws as many as are needed.",
            )
    resolved = AmongMany(max(len(pairs), 1), alpha) if pvalue == "auto" else pvalue
    # where all tests draw from one generator, each begins where the one before it ended
    shared = isinstance(resolved, MonteCarlo) and isinstance(resolved.rng, np.random.Generator)
    work = partial(_tested, method=method, pvalue=resolved, margins=_pooled_margins(tables))
    stacks = [[table] for table in pairs] if shared else _stacks(pairs)
    tested: list[PairTest] = []
    with progress(None, "independence tests", len(pairs), "pair") as bar:
        for tests in map(work, stacks) if shared else done(work, stacks):
            tested += tests
            bar.update(len(tests))
    tables.channel_fit()  # of all at once; each keeps its own
    doubtful = [min(1.0, len(pairs) * table.channel_fit().pvalue) < LEVEL for stack in stacks for table in stack]
    left_open = {pair: error for pair, error in told.items() if isinstance(error, LdpstatsError)}
    tested += [PairTest(*pair, UNTESTABLE, 0, reason=error.came) for pair, error in left_open.items()]
    decided = _decided(tested, [*doubtful, *(False for _ in left_open)], alpha, adjust)
    return IndependenceTests(
        pairs=tuple(sorted(decided, key=lambda pair: (math.isnan(pair.pvalue), pair.pvalue, -pair.statistic))),
        domain=tables.domain,
        adjust=adjust,
        alpha=alpha,
        n=tables.n,
        simulated=tables.simulated,
        respondents=RespondentSet.different(table.parts for table in tables),
        privacy=tables.privacy,
        warning=tables.warnings,
    )


def pair_tables(tables: TableSet) -> dict[tuple[str, str], Table | LdpstatsError]:
    """Return the table of every pair that some table holds, in the order of the domain; or why there is none.

    It is made of all tables that hold both, each report counted once. Those that hold one of the two only tell about
    its margin, which adds nothing to speak of, and would make every test many times as long (benchmarks/inference.py).
    """
    holding: dict[frozenset[str], list[Table]] = defaultdict(list)
    for table in tables:
        for pair in combinations(table.attributes, 2):
            holding[frozenset(pair)].append(table)
    pairs = [pair for pair in combinations(tables.domain.names, 2) if frozenset(pair) in holding]
    shown = progress(pairs, "adding tables up", unit="pair")
    return {pair: told_by(holding[frozenset(pair)], tables.domain.project(pair), tables.privacy) for pair in shown}


def told_by(holding: Sequence[Table], target: Domain, privacy: PrivacyStatement) -> Table | LdpstatsError:
    """Return the table of some attributes by all tables that hold them, or why there is none.

    Where there are reports, nothing is taken from a model; tables that agree are added up one by one, where that
    cannot be done with their reports.
    """
    own = [table for table in holding if {*table.attributes} == {*target.names}]
    if own and len(holding) == 1:
        return own[0]
    told = [table for table in holding if not isinstance(table.provenance, Reconstructed)]
    consistent = [table for table in told if isinstance(table.provenance, Consistent)]
    try:
        # what tables agree upon about a single attribute, all of them say
        if not told or (consistent and (len(target) == 1 or any(source_of(table) is None for table in consistent))):
            return min(told or holding, key=lambda table: (table.domain.size(), sorted(table.attributes))).marginal(
                target.names
            )
        return pooled_table(told, target, privacy)
    except LdpstatsError as error:
        return own[0] if own else error


def _pooled_margins(tables: TableSet) -> dict[str, list[FloatArray]]:
    """Return each attribute's shares of categories by all tables that tell them: likely, rare and frequent ones."""
    margins = {}
    for name in tables.domain.names:
        with suppress(LdpstatsError):  # nobody was asked, or not so that it could be added up
            pooled = tables.pooled(name).unbiased
            errors = np.maximum(np.sqrt(np.maximum(np.diagonal(pooled.covariance), 0)), 1 / pooled.n)
            if np.isfinite(errors).all():  # of a single report they are not
                margins[name] = [possible_shares(pooled.estimate, errors, level) for level in _LIKELY_AND_EXTREME]
    return margins


def _stacks(pairs: Sequence[Table]) -> list[list[Table]]:
    """Put tables together that were asked alike, few enough that what is computed of them stays in the cache."""
    stacks: dict[Hashable, list[list[Table]]] = {}
    for table in pairs:
        evidence = evidence_of(table) if table.n else None
        alike = evidence.alike if isinstance(evidence, BlockEvidence) else None
        together = stacks.setdefault(id(table) if alike is None else alike, [[]])
        if len(together[-1]) >= max(1, min(_TABLES_AT_ONCE, _ENTRIES_AT_ONCE // table.domain.size() ** 2)):
            together.append([])
        together[-1].append(table)
    return [stack for together in stacks.values() for stack in together]


def _tested(
    tables: Sequence[Table], method: Method, pvalue: PValue, margins: Mapping[str, Sequence[FloatArray]]
) -> list[PairTest]:
    try:
        parts, model = [evidence_of(table) for table in tables], ProductOfConditionals.independent(tables[0].shape)
        chosen, words = chosen_method(method, parts[0])
        statistic = STATISTICS[chosen](model, parts[0], tables[0].domain.size())
        outcomes = outcomes_of(tables, statistic, model, parts, words, pvalue)
    except NotIdentifiedError as error:
        if len(tables) > 1:
            halves = tables[: len(tables) // 2], tables[len(tables) // 2 :]
            return [pair for half in halves for pair in _tested(half, method, pvalue, margins)]
        (first, second), n = tables[0].attributes, tables[0].n
        return [PairTest(first, second, UNTESTABLE, n, reason=error.came)]
    seen = _dependences_seen(tables, model, outcomes, margins)
    return [
        PairTest(
            table.attributes[0],
            table.attributes[1],
            NOT_SHOWN,
            table.n,
            outcome.statistic,
            outcome.df,
            outcome.pvalue,
            cramers_v=effect.cramers_v,
            assumption=assuming(table).removeprefix(", "),
            without=effect.without.strip(" ()"),
            why_not=effect.why_not,
            method=outcome.method,
            pvalue_source=outcome.pvalue_source,
            seed=outcome.seed,
            sensitivity=NoncentralityProfile(
                outcome.df, likely, min(table.shape), proportional=not has_noise_once(table), extremes=tuple(extremes)
            ),
        )
        for table, outcome, (likely, *extremes), effect in zip(
            tables, outcomes, seen, measured_pairs(tables), strict=True
        )
    ]


def _dependences_seen(
    tables: Sequence[Table],
    model: ProductOfConditionals,
    outcomes: Sequence[Outcome],
    margins: Mapping[str, Sequence[FloatArray]],
) -> list[Sequence[FloatArray]]:
    """Return what is seen of dependences at likely and extreme margins; without these, at the fit of a table alone."""
    by_table: list[Sequence[FloatArray]] = [()] * len(tables)
    # pooled margins first: that of one small table may be anything
    known = [index for index, table in enumerate(tables) if set(table.attributes) <= margins.keys()]
    if known:
        parts = [outcomes[index].evidence for index in known]
        evidence = parts[0] if len(parts) == 1 else BlockEvidence.side_by_side(parts)
        names = list(zip(*(tables[index].attributes for index in known), strict=True))
        levels = [
            [np.stack([margins[name][level] for name in side]) for side in names]
            for level in range(len(_LIKELY_AND_EXTREME))
        ]
        for index, *seen in zip(known, *(dependences_seen(pair, evidence) for pair in levels), strict=True):
            by_table[index] = seen
    for index, outcome in enumerate(outcomes):
        by_table[index] = by_table[index] or (deviations_seen(model, outcome.evidence, outcome.null),)
    return by_table


def _decided(pairs: list[PairTest], implausible: list[bool], alpha: float, adjust: str) -> list[PairTest]:
    """Return the tests with adjusted p-values, verdicts, and the power at the level left to each."""
    pvalues = np.array([pair.pvalue for pair in pairs])
    tested = ~np.isnan(pvalues)
    adjusted = np.full(len(pairs), np.nan)
    adjusted[tested] = adjusted_pvalues(pvalues[tested], alpha, adjust)
    level = first_step(int(tested.sum()), alpha, adjust)
    decided = []
    for pair, pvalue, doubtful in zip(pairs, adjusted.tolist(), implausible, strict=True):
        verdict, reason = DEPENDENT if pvalue <= alpha else pair.verdict, pair.reason
        if doubtful:
            verdict, reason = IMPLAUSIBLE, "the reports do not fit their channel"
        told = pair.sensitivity
        power = math.nan if told is None else told.power(REFERENCE_SIZES[0], level)
        decided.append(replace(pair, adjusted=pvalue, verdict=verdict, reason=reason, power=power))
    return decided
