"""Independence of two attributes, tested through the noise that their answers were seen through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.special import chdtrc

from ldpstats.arrays import FloatArray
from ldpstats.blocks import Block
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation import refuse_empty
from ldpstats.inference.detectability import covariance_information, evidence_information, power_of
from ldpstats.inference.effects import Association, association, two_way_shape
from ldpstats.inference.evidence import Evidence
from ldpstats.inference.monte_carlo import MonteCarlo
from ldpstats.inference.null_model import TwoWayIndependence
from ldpstats.inference.statistics import ScoreStatistic, Statistic, WaldStatistic, interaction_wald
from ldpstats.noise import MultinomialNoise
from ldpstats.privacy import PrivacyStatement
from ldpstats.tables import Table

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary

Method = Literal["auto", "score", "gls", "wald"]
PValue = Literal["auto", "asymptotic"] | MonteCarlo

_WORDS = {
    "score": "Rao score test through the channel",
    "gls": "generalized least squares on support counts",
    "wald": "Wald test with the covariance under independence",
    "derived": "Wald test with the covariance of a derived table",
}
_SMALL_COUNT = 5
REFERENCE_V = 0.1
_EFFECTS = (REFERENCE_V, 0.3)


@dataclass(frozen=True, slots=True, eq=False)
class IndependenceResult:
    """The outcome of an independence test; it unpacks to (statistic, pvalue).

    Parameters
    ----------
    statistic, pvalue, df
        The test statistic, its p-value, and the degrees of freedom of its χ² reference.
    method, pvalue_source : str
        How the statistic and the p-value were computed, in words; a Monte Carlo source names its seed.
    hypothesis : str
        What was tested, in words.
    effect : Association
        The strength of the dependence, corrected for noise.
    power : mapping
        The approximate power at level .05 against Cramér's V of .1 and .3.
    expected : array
        The table's frequencies as fitted under independence.
    """

    statistic: float
    pvalue: float
    df: int
    method: str
    pvalue_source: str
    hypothesis: str
    attributes: tuple[str, str]
    n: int
    effect: Association
    power: Mapping[float, float]
    expected: FloatArray
    privacy: PrivacyStatement
    simulated: bool

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def verdict(self, alpha: float = 0.05) -> str:
        """Return the decision at level `alpha` in words."""
        return "dependent" if self.pvalue <= alpha else "no dependence shown"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "attributes": list(self.attributes),
            "hypothesis": self.hypothesis,
            "statistic": self.statistic,
            "df": self.df,
            "pvalue": self.pvalue,
            "method": self.method,
            "pvalue_source": self.pvalue_source,
            "n": self.n,
            "cramers_v": None if np.isnan(self.effect.cramers_v) else self.effect.cramers_v,
            "power": {f"V = {v:g}": value for v, value in self.power.items()},
            "privacy": self.privacy.to_dict(),
            "simulated": self.simulated,
        }

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return the result as a table and sentences that can be read aloud."""
        from statsmodels.iolib.summary import Summary
        from statsmodels.iolib.table import SimpleTable

        rows = [
            ["Hypothesis", self.hypothesis],
            ["Statistic", f"{self.statistic:.4g} on {self.df} degrees of freedom"],
            ["p-value", f"{self.pvalue:.4g} ({self.pvalue_source})"],
            ["Method", self.method],
            ["Effect", str(self.effect)],
            ["Reports", f"{self.n:,}{' (simulated)' if self.simulated else ''}"],
            ["Privacy", str(self.privacy)],
        ]
        summary = Summary()
        summary.tables.append(SimpleTable(rows, title="Test of independence on privatized answers"))
        summary.add_extra_txt(self._sentences(alpha))
        return summary

    def _sentences(self, alpha: float) -> list[str]:
        if self.pvalue <= alpha:
            both = " and ".join(self.attributes)
            return [f"At level {alpha:g} the hypothesis is rejected: {both} are dependent."]
        power = " and ".join(f"{value:.2f} against V = {v:g}" for v, value in self.power.items())
        return [
            f"At level {alpha:g} the hypothesis is not rejected, which does not show independence:",
            f"at level 0.05 the test had power {power} (averaged over directions).",
        ]


def independence_test(table: Table, method: Method = "auto", pvalue: PValue = "auto") -> IndependenceResult:
    """Test whether the two attributes of a table are independent in the population.

    Parameters
    ----------
    table : Table
        A two-way table. A wider one has `marginal`.
    method : {"auto", "score", "gls", "wald"}
        "score" is the Rao score test for reports that are one draw of a channel; "gls" its
        generalized-least-squares counterpart where only moments are known (support counts), identical to it
        for randomized response; "wald" measures the estimated interaction by its covariance under
        independence. "auto" takes the score where it exists, else least squares.
    pvalue : {"auto", "asymptotic"} or MonteCarlo
        The χ² approximation, or tables drawn under the fitted hypothesis. "auto" is the approximation, unless
        some report is expected fewer than 5 times under independence.

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
    if table.derived is not None:
        return _derived_test(table, model, method, pvalue)
    blocks = tuple(block for block in table.blocks if block.n > 0)
    refuse_empty(len(blocks), f"the table of {' and '.join(table.attributes)}")
    chosen = _chosen_method(method, blocks)
    evidence = Evidence.observed(blocks)
    statistic: Statistic = (
        WaldStatistic(model, evidence) if chosen == "wald" else ScoreStatistic(model, evidence, table.domain.size())
    )
    null = statistic.null_frequencies(evidence)[0]
    rarest = _rarest_expected_report(evidence, null)
    _refuse_unseen_category(table, model, null, rarest)
    observed = float(statistic(evidence)[0])
    p, source = _p_value(pvalue, statistic, evidence, observed, null, rarest)
    information = evidence_information(model, evidence, null)
    return _result(table, model, observed, p, statistic.df, (_WORDS[chosen], source), null, information)


def _derived_test(table: Table, model: TwoWayIndependence, method: Method, pvalue: PValue) -> IndependenceResult:
    """Test a table that has an estimate and a covariance but no reports of its own."""
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
    return _result(
        table, model, observed, float(chdtrc(df, observed)), df, (_WORDS["derived"], "asymptotic χ²"), null, information
    )


def _chosen_method(method: Method, blocks: tuple[Block, ...]) -> str:
    channels = all(isinstance(block.noise, MultinomialNoise) for block in blocks)
    if method == "auto":
        return "score" if channels else "gls"
    if method not in ("score", "gls", "wald"):
        raise LdpstatsError(f"method = {method!r}", "'auto', 'score', 'gls' or 'wald'")
    if method == "score" and not channels:
        raise LdpstatsError(
            "method = 'score' for support counts, whose likelihood is not available",
            "'gls' or 'wald'",
            "'auto' takes 'gls' here.",
        )
    return method


def _rarest_expected_report(evidence: Evidence, null: FloatArray) -> float:
    """Return the smallest expected count of a report, or of its absence, under the fitted hypothesis."""
    smallest = np.inf
    for block in evidence.blocks:
        mean = block.noise.mean(block.question.answer_frequencies(null))
        absent = mean if isinstance(block.noise, MultinomialNoise) else np.minimum(mean, 1 - mean)
        smallest = min(smallest, block.n * float(absent.min()))
    return smallest


def _refuse_unseen_category(table: Table, model: TwoWayIndependence, null: FloatArray, rarest: float) -> None:
    """Refuse tables in which a category has no share and no noise either: nothing can be said about it."""
    if rarest > 1e-6:
        return
    margins = model.margins(model.nearest(null))
    unseen = [
        f"{category!r} of {name!r}"
        for name, margin in zip(table.attributes, margins, strict=True)
        for category, share in zip(table.domain.categories[name], margin, strict=True)
        if share < 1e-6
    ]
    raise NotIdentifiedError(
        f"a table in which nobody reported {', '.join(unseen)}",
        "tables in which every category occurs",
        "Leave the category out.",
    )


def _p_value(
    pvalue: PValue, statistic: Statistic, evidence: Evidence, observed: float, null: FloatArray, rarest: float
) -> tuple[float, str]:
    if isinstance(pvalue, MonteCarlo):
        return pvalue.pvalue(statistic, evidence, observed, null)
    if pvalue == "auto" and rarest < _SMALL_COUNT:
        p, source = MonteCarlo().pvalue(statistic, evidence, observed, null)
        return p, f"{source}, because a report is expected only {rarest:.1f} times"
    if pvalue not in ("auto", "asymptotic"):
        raise LdpstatsError(f"pvalue = {pvalue!r}", "'auto', 'asymptotic' or a MonteCarlo")
    return float(chdtrc(statistic.df, observed)), "asymptotic χ²"


def _result(
    table: Table,
    model: TwoWayIndependence,
    observed: float,
    p: float,
    df: int,
    words: tuple[str, str],
    null: FloatArray,
    information: FloatArray,
) -> IndependenceResult:
    first, second = table.attributes
    return IndependenceResult(
        statistic=observed,
        pvalue=p,
        df=df,
        method=words[0],
        pvalue_source=words[1],
        hypothesis=f"{first} and {second} are independent",
        attributes=(first, second),
        n=table.n,
        effect=association(table),
        power={v: power_of(information, v, min(table.shape)) for v in _EFFECTS},
        expected=null.reshape(model.rows, model.columns),
        privacy=table.privacy,
        simulated=table.simulated,
    )
