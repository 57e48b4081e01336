"""Multiple testing: independence of every pair of attributes, with p-values adjusted for their number (Holm)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np

from ldpstats.arrays import FloatArray, significance, unweighted
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import LEVEL
from ldpstats.inference.engine.detectability import dependence_information, possible_shares, principal_information
from ldpstats.inference.engine.monte_carlo import AmongMany, MonteCarlo
from ldpstats.inference.engine.procedure import Method, PValue, evidence_of
from ldpstats.inference.hypothesis_tests.adjustment import adjusted_pvalues, first_step
from ldpstats.inference.hypothesis_tests.independence import independence_test
from ldpstats.inference.hypothesis_tests.reporting import REFERENCE_SIZES
from ldpstats.inference.hypothesis_tests.tested_pairs import (
    DEPENDENT,
    IMPLAUSIBLE,
    NOT_SHOWN,
    UNTESTABLE,
    IndependenceTests,
    PairTest,
)
from ldpstats.parts import Parts
from ldpstats.tables import Table, TableSet, checked_table_set
from ldpstats.tables.unbiased_cells import assuming
from ldpstats.workers import each

# quantiles of what shares may be
_LIKELY_AND_EXTREME = (0.5, 0.025, 0.975)


@unweighted
def independence_tests(
    tables: TableSet, method: Method = "auto", pvalue: PValue = "auto", adjust: str = "holm", alpha: float = 0.05
) -> IndependenceTests:
    """Test every two-way table of a set and adjust the p-values for testing them all.

    Parameters
    ----------
    tables : TableSet
        Tables that are not two-way are left out.
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
    >>> statistic, pvalue = tests["car", "sex"]
    >>> tests.significant()[["first", "second"]].to_numpy().tolist()
    [['sex', 'car']]
    """
    alpha = significance(alpha)
    pairs = [table for table in checked_table_set(tables) if len(table.attributes) == 2]
    if not pairs:
        raise LdpstatsError(
            "a set without two-way tables", "a set with at least one", "Take table.marginal([...]) of wider ones."
        )
    place = {name: number for number, name in enumerate(tables.domain.names)}
    pairs.sort(key=lambda table: [place[name] for name in table.attributes])
    _refuse_too_few_draws(pvalue, len(pairs), alpha, adjust)
    resolved = AmongMany(len(pairs), alpha) if pvalue == "auto" else pvalue
    # where all tests draw from one generator, each begins where the one before it ended
    shared = isinstance(resolved, MonteCarlo) and isinstance(resolved.rng, np.random.Generator)
    work = partial(_tested, method=method, pvalue=resolved, margins=_pooled_margins(tables))
    tested = list(map(work, pairs)) if shared else each(work, pairs, "independence tests", "pair")
    decided = _decided(tested, [_is_implausible(table, len(pairs)) for table in pairs], alpha, adjust)
    return IndependenceTests(
        pairs=tuple(sorted(decided, key=lambda pair: (math.isnan(pair.pvalue), pair.pvalue, -pair.statistic))),
        domain=tables.domain,
        adjust=adjust,
        alpha=alpha,
        n=tables.n,
        simulated=tables.simulated,
        respondents=Parts.different(table.parts for table in tables),
        privacy=tables.privacy,
        warning=tables.warnings,
    )


def _refuse_too_few_draws(pvalue: PValue, tests: int, alpha: float, adjust: str) -> None:
    """Refuse to draw so few tables that not even their smallest p-value, in all the tests, would be significant."""
    if not isinstance(pvalue, MonteCarlo):
        return
    smallest = 1 / (1 + pvalue.most)
    if adjusted_pvalues(np.full(tests, smallest), alpha, adjust).min() > alpha:
        raise LdpstatsError(
            f"{pvalue.most:,} tables for each of {tests} tests, of which then none can be rejected by {adjust!r}",
            f"at least {math.ceil(tests / alpha) - 1:,}",
            "'auto' draws as many as are needed.",
        )


def _is_implausible(table: Table, tests: int) -> bool:
    return min(1.0, tests * table.channel_fit().pvalue) < LEVEL


def _pooled_margins(tables: TableSet) -> dict[str, list[FloatArray]]:
    """Return the shares of attributes' categories by all tables that tell them, likely and extreme ones."""
    found = {}
    for name in tables.domain.names:
        with suppress(LdpstatsError):  # nobody was asked, or not so that it could be added up
            pooled = tables.pooled(name).unbiased
            errors = np.maximum(np.sqrt(np.maximum(np.diagonal(pooled.covariance), 0)), 1 / pooled.n)
            if np.isfinite(errors).all():  # of a single report they are not
                found[name] = [possible_shares(pooled.estimate, errors, level) for level in _LIKELY_AND_EXTREME]
    return found


def _tested(table: Table, method: Method, pvalue: PValue, margins: Mapping[str, Sequence[FloatArray]]) -> PairTest:
    """Test one table; what cannot be tested says why."""
    first, second = table.attributes
    try:
        result = independence_test(table, method, pvalue)
    except NotIdentifiedError as error:
        return PairTest(first, second, UNTESTABLE, table.n, reason=error.came)
    effect, told = result.effect, result.sensitivity
    assert effect is not None  # of two attributes there always is one
    assert told is not None  # only files of old have none
    if {first, second} <= margins.keys():
        # a margin of one small table may be anything
        evidence, both = evidence_of(table), zip(margins[first], margins[second], strict=True)
        likely, *extremes = (principal_information(dependence_information(pair, evidence)) for pair in both)
        told = replace(told, principal=likely, extremes=tuple(extremes))
    return PairTest(
        first,
        second,
        NOT_SHOWN,
        table.n,
        result.statistic,
        result.df,
        result.pvalue,
        cramers_v=effect.cramers_v,
        assumption=assuming(table).removeprefix(", "),
        without=effect.without.strip(" ()"),
        why_not=effect.why_not,
        method=result.method,
        pvalue_source=result.pvalue_source,
        seed=result.seed,
        sensitivity=told,
    )


def _decided(pairs: list[PairTest], implausible: list[bool], alpha: float, adjust: str) -> list[PairTest]:
    """Return the tests with their p-values adjusted, with verdicts, and the power at the level left to each."""
    pvalues = np.array([pair.pvalue for pair in pairs])
    tested = ~np.isnan(pvalues)
    adjusted = np.full(len(pairs), np.nan)
    adjusted[tested] = adjusted_pvalues(pvalues[tested], alpha, adjust)
    level = first_step(int(tested.sum()), alpha, adjust)
    found = []
    for pair, one, doubtful in zip(pairs, adjusted.tolist(), implausible, strict=True):
        verdict, reason = DEPENDENT if one <= alpha else pair.verdict, pair.reason
        if doubtful:
            verdict, reason = IMPLAUSIBLE, "the reports do not fit their channel"
        told = pair.sensitivity
        power = math.nan if told is None else told.power(REFERENCE_SIZES[0], level)
        found.append(replace(pair, adjusted=one, verdict=verdict, reason=reason, power=power))
    return found
