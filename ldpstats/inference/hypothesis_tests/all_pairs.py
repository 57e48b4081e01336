"""Multiple testing: independence of every pair of attributes, with p-values adjusted for their number (Holm)."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from ldpstats.arrays import FloatArray, significance
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import LEVEL
from ldpstats.inference.engine.monte_carlo import AmongMany, MonteCarlo
from ldpstats.inference.engine.procedure import Method, PValue
from ldpstats.inference.hypothesis_tests.independence import independence_test
from ldpstats.inference.hypothesis_tests.reporting import REFERENCE_SIZES
from ldpstats.tables import Table, TableSet, checked_table_set

_MANY = 100
_COLUMNS = ("first", "second", "cramers_v", "statistic", "df", "pvalue", "adjusted", "verdict", "power", "n", "reason")


def independence_tests(
    tables: TableSet, method: Method = "auto", pvalue: PValue = "auto", adjust: str = "holm", alpha: float = 0.05
) -> pd.DataFrame:
    """Test every two-way table of a set and adjust the p-values for testing them all.

    Parameters
    ----------
    tables : TableSet
        Tables that are not two-way are left out.
    method, pvalue
        As in `independence_test`. By "auto" p-values that are drawn are drawn on, where next to no table reaches the
        observed one, so that even a single dependence among all pairs could be shown (`inference.AmongMany`).
    adjust : str
        A method of statsmodels' `multipletests`, such as "holm" (any error at all) or "fdr_bh" (their share).
    alpha : float
        The level of the verdicts, after adjustment.

    Returns
    -------
    DataFrame
        A row per pair: cramers_v (corrected for noise), statistic, df, pvalue, adjusted, verdict, power (of this
        pair's own test at level .05 against V = .1), n, and the reason where a pair is not testable, or where its
        reports cannot have come through their channel (see `Table.channel_fit`; at level .001 for all pairs).
    """
    from tqdm.auto import tqdm

    alpha = significance(alpha)
    pairs = [table for table in checked_table_set(tables) if len(table.attributes) == 2]
    if not pairs:
        raise LdpstatsError(
            "a set without two-way tables", "a set with at least one", "Take table.marginal([...]) of wider ones."
        )
    _refuse_too_few_draws(pvalue, len(pairs), alpha, adjust)
    resolved = AmongMany(len(pairs), alpha) if pvalue == "auto" else pvalue
    progress = tqdm(pairs, desc="independence tests", leave=False, disable=True if len(pairs) < _MANY else None)
    frame = pd.DataFrame([_row(table, method, resolved) for table in progress]).astype({"df": "Int64"})
    tested = frame["pvalue"].notna()
    adjusted = _adjusted(frame.loc[tested, "pvalue"].to_numpy(), alpha, adjust)
    frame.loc[tested, "adjusted"] = adjusted
    frame.loc[tested, "verdict"] = np.where(frame.loc[tested, "adjusted"] <= alpha, "dependent", "no dependence shown")
    implausible = [min(1.0, len(pairs) * table.channel_fit().pvalue) < LEVEL for table in pairs]
    frame.loc[implausible, ["verdict", "reason"]] = ["implausible", "the reports do not fit their channel"]
    return frame


def _adjusted(pvalues: FloatArray, alpha: float, adjust: str) -> FloatArray:
    """Return p-values adjusted by statsmodels."""
    from statsmodels.stats.multitest import multipletests

    if not pvalues.size:
        return pvalues
    try:
        adjusted: FloatArray = multipletests(pvalues, alpha, method=str(adjust))[1]
    except ValueError as error:
        raise LdpstatsError(
            f"adjust = {adjust!r}", "a method of statsmodels' multipletests, such as 'holm' or 'fdr_bh'"
        ) from error
    return adjusted


def _refuse_too_few_draws(pvalue: PValue, tests: int, alpha: float, adjust: str) -> None:
    """Refuse to draw so few tables that not even their smallest p-value, in all the tests, would be significant."""
    if not isinstance(pvalue, MonteCarlo):
        return
    smallest = 1 / (1 + pvalue.most)
    if _adjusted(np.full(tests, smallest), alpha, adjust).min() > alpha:
        raise LdpstatsError(
            f"{pvalue.most:,} tables for each of {tests} tests, of which then none can be rejected by {adjust!r}",
            f"at least {math.ceil(tests / alpha) - 1:,}",
            "'auto' draws as many as are needed.",
        )


def _row(table: Table, method: Method, pvalue: PValue) -> dict[str, object]:
    """Test one table; what cannot be tested says why in the place of a verdict."""
    first, second = table.attributes
    row: dict[str, object] = dict.fromkeys(_COLUMNS, np.nan)
    row |= {"first": first, "second": second, "n": table.n, "reason": ""}
    try:
        result = independence_test(table, method, pvalue)
    except NotIdentifiedError as error:
        return {**row, "verdict": "not testable", "reason": error.came}
    assert result.effect is not None  # of two attributes there always is one
    figures = {"statistic": result.statistic, "df": result.df, "pvalue": result.pvalue}
    return {
        **row,
        **figures,
        "cramers_v": result.effect.cramers_v,
        "power": result.power[REFERENCE_SIZES[0]],
        "verdict": "",
    }
