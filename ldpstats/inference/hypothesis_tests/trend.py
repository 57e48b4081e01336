"""Linear-by-linear trend (Cochran and Armitage, Mantel): whether one ordered attribute rises or falls with another."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.inference.effects.cramers_v import association, two_way_shape
from ldpstats.inference.engine.detectability import information_added, principal_information, steadied
from ldpstats.inference.engine.evidence import Evidence
from ldpstats.inference.engine.families import LogLinear, ProductOfConditionals
from ldpstats.inference.engine.null_model import null_score
from ldpstats.inference.engine.procedure import Method, PValue, chosen_method, evidence_of, outcome_of
from ldpstats.inference.engine.statistics import NestedStatistic, Statistic, WaldStatistic
from ldpstats.inference.hypothesis_tests.reporting import result_of
from ldpstats.inference.hypothesis_tests.result import Hypothesis, HypothesisResult
from ldpstats.numbers.arrays import FloatArray, as_array, unweighted
from ldpstats.tables import Table

_NO_SPREAD = 1e-9


@unweighted
def trend_test(
    table: Table,
    row_scores: ArrayLike | None = None,
    column_scores: ArrayLike | None = None,
    method: Method = "auto",
    pvalue: PValue = "auto",
) -> HypothesisResult:
    """Test independence against a trend: the linear-by-linear association of two ordered attributes.

    Without noise the score statistic is n r², with the correlation r of the scores (Cochran and Armitage's test where
    an attribute has two categories; Mantel's has n − 1 in the place of n). It is two-sided; what a rejection says
    names the direction.

    Parameters
    ----------
    table : Table
        A two-way table; the order of its categories is that of the domain.
    row_scores, column_scores : array, optional
        A number for every category; 0, 1, 2, ... by default.
    method, pvalue
        As in `independence_test`; "lr" compares the log-linear model with a linear-by-linear term to independence, and
        "wald" measures the estimated covariance of the scores.

    Returns
    -------
    HypothesisResult of a χ² (chi-squared) test; it unpacks to (statistic, pvalue)

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, trend_test
    >>> domain = Domain({"age": ["young", "adult", "old"], "visits": ["never", "sometimes", "often"]})
    >>> counts = np.array([600, 400, 200, 400, 400, 400, 200, 400, 600])
    >>> result = trend_test(SampledGroups(domain, epsilon=2.0).simulate(counts, rng=1)["age", "visits"])
    >>> result.df, result.pvalue < 1e-6
    (1, True)
    """
    shape = two_way_shape(table)
    first, second = table.attributes
    trend = LinearByLinear(shape, _centred(row_scores, shape[0], first), _centred(column_scores, shape[1], second))
    evidence = evidence_of(table)
    chosen, words = chosen_method(method, evidence)
    words = f"{words}, in the direction of the trend"
    outcome = outcome_of(table, trend.statistic(chosen, evidence), trend.independence, evidence, words, pvalue)
    rises = "rises" if trend.is_positive(evidence, outcome.null) else "falls"
    about = Hypothesis(
        "trend",
        f"{second} neither rises nor falls with {first}",
        f"{second} {rises} with {first}",
        ("trend", "no trend shown"),
    )
    smaller = LogLinear(shape, ((0,), (1,)))
    information = information_added(smaller, trend.model, evidence, steadied(smaller, evidence, outcome.null))
    return result_of(table, about, outcome, principal_information(information), association(table))


class LinearByLinear:
    """Independence of two attributes, and the log-linear model with the product of their scores as one more term."""

    def __init__(self, shape: tuple[int, int], rows: FloatArray, columns: FloatArray) -> None:
        self._rows, self._columns = rows, columns
        self.independence = ProductOfConditionals.independent(shape)
        self.model = LogLinear(shape, ((0,), (1,)), covariate=tuple(np.outer(rows, columns).ravel().tolist()))

    def statistic(self, method: str, evidence: Evidence) -> Statistic:
        """Return the trend's statistic by this method."""
        if method == "wald":
            return WaldStatistic(self.independence, evidence, len(self.model.design), self.weights)
        return NestedStatistic(self.independence, self.model, evidence, likelihood=method == "lr")

    def weights(self, parameters: FloatArray) -> FloatArray:
        """Return (u − ū)(v − v̄) for every cell, shape (..., cells, 1): their mean is the covariance of the scores."""
        margins = (one[..., 0, :] for one in self.independence.distributions(parameters))
        pairs = zip(margins, (self._rows, self._columns), strict=True)
        rows, columns = (scores - (margin @ scores)[..., None] for margin, scores in pairs)
        return (rows[..., :, None] * columns[..., None, :]).reshape(*parameters.shape[:-1], -1, 1)

    def is_positive(self, evidence: Evidence, null: FloatArray) -> bool:
        """Say whether the score of the trend, less what the margins explain of it, is above zero."""
        parameters = self.independence.nearest(null)[None, :]
        weights = self.weights(parameters)
        direction = self.independence.frequencies(parameters)[..., None] * weights
        if not (weights * direction).sum() > _NO_SPREAD:
            raise NotIdentifiedError(
                "an attribute of which one category is all that shows",
                "attributes with respondents in several categories",
                "Nothing can rise or fall there.",
            )
        at = null_score(self.independence, evidence, parameters)
        explained = at.information.times(self.independence.jacobian(parameters) @ at.step[..., None])
        return bool(((at.score[..., None] - explained) * direction).sum() > 0)


def _centred(scores: ArrayLike | None, categories: int, name: str) -> FloatArray:
    given = np.arange(categories) if scores is None else as_array(scores, f"the scores of {name!r}")
    if given.shape != (categories,) or given.dtype.kind not in "iuf" or not np.all(np.isfinite(given)):
        raise LdpstatsError(f"scores {scores!r} of {name!r}", f"{categories} finite numbers, one for each category")
    if np.ptp(given) == 0:
        raise LdpstatsError(f"scores of {name!r} that are all equal", "scores that tell categories apart")
    centred: FloatArray = given - given.mean()
    return centred
