"""Independence of attributes, tested through the noise that their answers were seen through."""

from __future__ import annotations

from ldpstats.errors import LdpstatsError
from ldpstats.inference.effects.cramers_v import association
from ldpstats.inference.engine.block_evidence import BlockEvidence
from ldpstats.inference.engine.detectability import information_beyond, power_of
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.procedure import (
    WORDS,
    Method,
    Outcome,
    PValue,
    evidence_of,
    fitted_and_tested,
    measured,
)
from ldpstats.inference.engine.statistics import WaldStatistic
from ldpstats.inference.hypothesis_tests.named import SIZES, mutual_independence, power_against, result_of
from ldpstats.inference.hypothesis_tests.result import HypothesisResult
from ldpstats.tables import Table, checked_table

REFERENCE_V = SIZES[0]


def independence_test(table: Table, method: Method = "auto", pvalue: PValue = "auto") -> HypothesisResult:
    """Test whether the attributes of a table are independent in the population: of more than two, mutually.

    Parameters
    ----------
    table : Table
        A table of at least two attributes. A wider one has `marginal`. Of a reconstructed table what was asked is
        tested, and nothing of what it assumes; where nobody was asked about the attributes together, that is refused.
    method : {"auto", "score", "gls", "lr", "wald"}
        "score" is the Rao score test for reports that are one draw of a channel; "gls" its
        generalized-least-squares counterpart where only moments are known (supports, bits, sums), identical to it
        for randomized response; where there are only estimated sums of cells (Hadamard marginals, consistent tables) it
        takes their covariance as estimated; "lr" is the likelihood ratio through the channel; "wald" measures the
        estimated interaction by its covariance under independence (with rare categories in long tables it may exceed
        its level). "auto" takes the score where it exists, else least squares.
    pvalue : {"auto", "asymptotic"}, MonteCarlo or AmongMany
        The χ² approximation, or tables drawn under the fitted hypothesis. "auto" is the approximation, unless
        some report is expected fewer than 5 times under independence (or the noise of a count is as far from normal),
        or the noise is so wide that the fit absorbs more than 3 % of the degrees of freedom. Beyond 10 % drawn tables
        would depend on a fit that is hardly more than noise: there a score statistic is averaged over the margins that
        the reports leave possible and compared with χ²; it still rejects too seldom where the noise is widest.
        `inference.AmongMany(tests)` is "auto" for one of many tests: smallest p-values are then drawn more precisely.

    Returns
    -------
    HypothesisResult
        For two attributes with Cramér's V and the power against it.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, independence_test
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=1.0).simulate(np.array([3000, 2000, 2000, 3000]), rng=1)
    >>> statistic, pvalue = independence_test(tables["sex", "car"])
    >>> pvalue < 0.001
    True
    """
    if len(checked_table(table).shape) < 2:
        raise LdpstatsError(f"a table of {table.attributes!r} alone", "a table of at least two attributes")
    model = ProductOfConditionals.independent(table.shape)
    outcome = (
        _wald(table, model, pvalue) if method == "wald" else fitted_and_tested(table, model, method, pvalue, ("wald",))
    )
    if len(table.shape) > 2:
        return result_of(table, mutual_independence(table.attributes), outcome, power_against(model, outcome))
    information = information_beyond(model, outcome.evidence, outcome.null)
    power = {v: power_of(information, outcome.df, v, min(table.shape)) for v in SIZES}
    return result_of(table, mutual_independence(table.attributes), outcome, power, association(table))


def _wald(table: Table, model: ProductOfConditionals, pvalue: PValue) -> Outcome:
    evidence = evidence_of(table)
    if not isinstance(evidence, BlockEvidence):
        raise LdpstatsError(
            "method = 'wald' for sums of cells whose covariance under independence is not known",
            "'auto' or 'gls'",
            "They take the covariance at the estimate.",
        )
    return measured(table, WaldStatistic(model, evidence), model, evidence, WORDS["wald"], pvalue)
