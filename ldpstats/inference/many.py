"""Many pairs at once: every two-way table tested, with p-values adjusted for their number."""

from __future__ import annotations

import pandas as pd
from tqdm.auto import tqdm

from ldpstats.arrays import significance
from ldpstats.errors import LdpstatsError
from ldpstats.inference.independence import REFERENCE_V, Method, PValue, independence_test
from ldpstats.tables import TableSet

_MANY = 100


def independence_tests(
    tables: TableSet, method: Method = "auto", pvalue: PValue = "auto", adjust: str = "holm", alpha: float = 0.05
) -> pd.DataFrame:
    """Test every two-way table of a set and adjust the p-values for testing them all.

    Parameters
    ----------
    tables : TableSet
        Tables that are not two-way are left out.
    method, pvalue
        As in `independence_test`.
    adjust : str
        A method of statsmodels' `multipletests`, such as "holm" (any error at all) or "fdr_bh" (their share).
    alpha : float
        The level of the verdicts, after adjustment.

    Returns
    -------
    DataFrame
        A row per pair: cramers_v (corrected for noise), statistic, df, pvalue, adjusted, verdict, power (of this
        pair's own test at level .05 against V = .1), n.
    """
    from statsmodels.stats.multitest import multipletests

    significance(alpha)
    pairs = [table for table in tables if len(table.attributes) == 2]
    if not pairs:
        raise LdpstatsError("a set without two-way tables", "a set with at least one two-way table")
    progress = tqdm(pairs, desc="independence tests", leave=False, disable=True if len(pairs) < _MANY else None)
    results = [independence_test(table, method, pvalue) for table in progress]
    try:
        adjusted = multipletests([result.pvalue for result in results], alpha, method=adjust)[1]
    except ValueError as error:
        raise LdpstatsError(
            f"adjust = {adjust!r}", "a method of statsmodels' multipletests, such as 'holm' or 'fdr_bh'"
        ) from error
    rows = [
        {
            "first": result.attributes[0],
            "second": result.attributes[1],
            "cramers_v": result.effect.cramers_v,
            "statistic": result.statistic,
            "df": result.df,
            "pvalue": result.pvalue,
            "adjusted": value,
            "verdict": "dependent" if value <= alpha else "no dependence shown",
            "power": result.power[REFERENCE_V],
            "n": result.n,
        }
        for result, value in zip(results, adjusted, strict=True)
    ]
    return pd.DataFrame(rows)
