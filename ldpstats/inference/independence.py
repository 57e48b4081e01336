"""Independence of two attributes, tested through the noise that their answers were seen through."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Literal

from ldpstats.arrays import FloatArray
from ldpstats.blocks import Block
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import refuse_empty
from ldpstats.inference.detectability import covariance_information, evidence_information, power_of
from ldpstats.inference.effects import association, two_way_shape
from ldpstats.inference.evidence import Evidence
from ldpstats.inference.monte_carlo import MonteCarlo
from ldpstats.inference.null_model import TwoWayIndependence
from ldpstats.inference.result import IndependenceResult
from ldpstats.inference.statistics import ScoreStatistic, Statistic, WaldStatistic, interaction_wald
from ldpstats.tables import Table

Method = Literal["auto", "score", "gls", "wald"]
PValue = Literal["auto", "asymptotic"] | MonteCarlo

REFERENCE_V = 0.1
_EFFECTS = (REFERENCE_V, 0.3)
_SMALL_COUNT = 5
_ENOUGH = 100
_NEVER = 1e-3
_NO_SHARE = 1e-9
_ASYMPTOTIC = "asymptotic χ²"
_WORDS = {
    "score": "Rao score test through the channel",
    "gls": "generalized least squares on the counts",
    "wald": "Wald test with the covariance under independence",
    "derived": "Wald test with the covariance of a derived table",
}


def independence_test(table: Table, method: Method = "auto", pvalue: PValue = "auto") -> IndependenceResult:
    """Test whether the two attributes of a table are independent in the population.

    Parameters
    ----------
    table : Table
        A two-way table. A wider one has `marginal`.
    method : {"auto", "score", "gls", "wald"}
        "score" is the Rao score test for reports that are one draw of a channel; "gls" its
        generalized-least-squares counterpart where only moments are known (supports, bits, sums), identical to it
        for randomized response; "wald" measures the estimated interaction by its covariance under
        independence (with rare categories in long tables it may exceed its level). "auto" takes the score
        where it exists, else least squares.
    pvalue : {"auto", "asymptotic"} or MonteCarlo
        The χ² approximation, or tables drawn under the fitted hypothesis. "auto" is the approximation, unless
        some report is expected fewer than 5 times under independence (or the noise of a count is as far from normal).

    Returns
    -------
    IndependenceResult

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
    model = TwoWayIndependence(*two_way_shape(table))
    how = _test_of_reports if table.derived is None else _test_of_estimate
    outcome = how(table, model, method, pvalue)
    first, second = table.attributes
    return IndependenceResult(
        statistic=outcome.statistic,
        pvalue=outcome.pvalue,
        df=outcome.df,
        method=_WORDS[outcome.method],
        pvalue_source=outcome.pvalue_source,
        seed=outcome.seed,
        hypothesis=f"{first} and {second} are independent",
        attributes=(first, second),
        n=table.n,
        effect=association(table),
        power={v: power_of(outcome.information, outcome.df, v, min(table.shape)) for v in _EFFECTS},
        expected=outcome.null.reshape(table.shape),
        converged=outcome.converged,
        privacy=table.privacy,
        simulated=table.simulated,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Outcome:
    """What a test found, before it is put into words."""

    statistic: float
    pvalue: float
    pvalue_source: str
    df: int
    method: str
    null: FloatArray
    information: FloatArray
    converged: bool = True
    seed: int | None = None


def _test_of_reports(table: Table, model: TwoWayIndependence, method: Method, pvalue: PValue) -> _Outcome:
    blocks = tuple(block for block in table.blocks if block.n > 0)
    refuse_empty(len(blocks), f"the table of {' and '.join(table.attributes)}")
    chosen = _chosen_method(method, blocks)
    evidence = Evidence.observed(blocks)
    statistic: Statistic = (
        WaldStatistic(model, evidence) if chosen == "wald" else ScoreStatistic(model, evidence, table.domain.size())
    )
    fit = statistic(evidence)
    null = fit.frequencies[0]
    rarest = evidence.rarest_expected_report(model.frequencies(model.nearest(null)))
    if rarest < _NEVER:
        _refuse_unseen_categories(table, model, null)
    observed = float(fit.statistic[0])
    drawn, why = _monte_carlo(pvalue, evidence, rarest)
    p = drawn.pvalue(statistic, evidence, observed, null) if drawn else _tail(statistic.df, observed)
    information = evidence_information(model, evidence, null)
    source = f"{drawn}{why}" if drawn else _ASYMPTOTIC
    seed = drawn.seed if drawn else None
    return _Outcome(observed, p, source, statistic.df, chosen, null, information, bool(fit.converged[0]), seed)


def _test_of_estimate(table: Table, model: TwoWayIndependence, method: Method, pvalue: PValue) -> _Outcome:
    """Test a derived table, which has an estimate and a covariance but no reports of its own."""
    if method not in ("auto", "wald") or pvalue not in ("auto", "asymptotic"):
        raise LdpstatsError(
            f"method = {method!r}, pvalue = {pvalue!r} for a derived table, which has no reports of its own",
            "method 'auto' or 'wald' with pvalue 'auto' or 'asymptotic'",
            "Test the collected table instead, if there is one.",
        )
    cells = table.cells
    observed = float(interaction_wald(model, cells.estimate, cells.covariance))
    df = (model.rows - 1) * (model.columns - 1)
    null = model.frequencies(model.nearest(cells.estimate))
    information = covariance_information(model, cells.covariance, null)
    return _Outcome(
        observed, _tail(df, observed), _ASYMPTOTIC, df, "derived", null, converged=True, information=information
    )


def _chosen_method(method: Method, blocks: tuple[Block, ...]) -> str:
    likelihood = all(block.noise.has_likelihood for block in blocks)
    if method == "auto":
        return "score" if likelihood else "gls"
    if method not in ("score", "gls", "wald"):
        raise LdpstatsError(f"method = {method!r}", "'auto', 'score', 'gls' or 'wald'")
    if method == "score" and not likelihood:
        raise LdpstatsError(
            "method = 'score' for counts whose likelihood is not available",
            "'gls' or 'wald'",
            "'auto' takes 'gls' here.",
        )
    return method


def _refuse_unseen_categories(table: Table, model: TwoWayIndependence, null: FloatArray) -> None:
    """Refuse categories that neither a respondent nor the noise ever shows: nothing can be said about them."""
    margins = model.margins(model.nearest(null))
    unseen = [
        f"{category!r} of {name!r}"
        for name, margin in zip(table.attributes, margins, strict=True)
        for category, share in zip(table.domain.categories[name], margin, strict=True)
        if share < _NO_SHARE
    ]
    if unseen:
        raise NotIdentifiedError(
            f"a table in which nobody reported {', '.join(unseen)}",
            "tables in which every category occurs",
            "Leave the category out.",
        )


def _monte_carlo(pvalue: PValue, evidence: Evidence, rarest: float) -> tuple[MonteCarlo | None, str]:
    """Return the Monte Carlo to run, if any, and why it was chosen.

    One that was not asked for takes its seed from the counts, so that a table has one p-value.
    """
    if isinstance(pvalue, MonteCarlo):
        return pvalue.seeded(), ""
    if pvalue not in ("auto", "asymptotic"):
        raise LdpstatsError(f"pvalue = {pvalue!r}", "'auto', 'asymptotic' or a MonteCarlo")
    if pvalue == "asymptotic" or rarest >= _SMALL_COUNT:
        return None, ""
    seed = zlib.crc32(b"".join(counts.tobytes() for counts in evidence.counts))
    return MonteCarlo(
        rng=seed, enough=_ENOUGH
    ), f", because the least count is worth only {rarest:.1f} expected reports"


def _tail(df: int, statistic: float) -> float:
    """Return the probability that a χ² variable exceeds the statistic."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic))
