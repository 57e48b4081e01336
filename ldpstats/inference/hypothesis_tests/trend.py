"""Trend: whether one ordered attribute rises or falls with another, tested on a single degree of freedom."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ldpstats.arrays import FloatArray, as_array
from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.inference.effects.cramers_v import association, two_way_shape
from ldpstats.inference.engine.evidence import Evidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.engine.null_model import NullFit
from ldpstats.inference.engine.procedure import PValue, chosen_method, evidence_of, outcome_of
from ldpstats.inference.engine.statistics import ScoreStatistic
from ldpstats.inference.hypothesis_tests.reporting import result_of
from ldpstats.inference.hypothesis_tests.result import Hypothesis, HypothesisResult
from ldpstats.noise import solve_or_shortest
from ldpstats.tables import Table

_NO_SPREAD = 1e-9


def trend_test(
    table: Table,
    row_scores: ArrayLike | None = None,
    column_scores: ArrayLike | None = None,
    pvalue: PValue = "auto",
) -> HypothesisResult:
    """Test independence against a trend: the linear-by-linear association of two ordered attributes.

    Without noise the statistic is n r², with the correlation r of the scores (Cochran and Armitage's test where an
    attribute has two categories; Mantel's has n − 1 in the place of n). It is two-sided; what a rejection says
    names the direction.

    Parameters
    ----------
    table : Table
        A two-way table; the order of its categories is that of the domain.
    row_scores, column_scores : array, optional
        A number for every category; 0, 1, 2, ... by default.
    pvalue : {"auto", "asymptotic"} or MonteCarlo
        As in `independence_test`.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({"age": ["young", "adult", "old"], "visits": ["never", "sometimes", "often"]})
    >>> counts = np.array([600, 400, 200, 400, 400, 400, 200, 400, 600])
    >>> result = trend_test(SampledGroups(domain, epsilon=2.0).simulate(counts, rng=1)["age", "visits"])
    >>> result.df, result.pvalue < 1e-6
    (1, True)
    """
    rows, columns = two_way_shape(table)
    first, second = table.attributes
    scores = _centred(row_scores, rows, first), _centred(column_scores, columns, second)
    evidence = evidence_of(table)
    model = ProductOfConditionals.independent((rows, columns))
    statistic = TrendStatistic(model, evidence, *scores)
    _, words = chosen_method("auto", evidence)
    words = f"{words}, in the direction of the trend"
    outcome = outcome_of(table, statistic, model, evidence, words, pvalue)
    direction, information = statistic.signed(evidence, outcome.null)
    rises = "rises" if direction > 0 else "falls"
    about = Hypothesis(
        "trend",
        f"{second} neither rises nor falls with {first}",
        f"{second} {rises} with {first}",
        ("trend", "no trend shown"),
    )
    return result_of(table, about, outcome, np.array([[information]]), association(table))


class TrendStatistic:
    """The score in the direction π₀ (u − ū)(v − v̄), beyond what the margins explain, over its information."""

    def __init__(self, model: ProductOfConditionals, evidence: Evidence, rows: FloatArray, columns: FloatArray) -> None:
        self._model, self._rows, self._columns = model, rows, columns
        self._independence = ScoreStatistic(model, evidence, rows.size * columns.size)
        self.df = min(self._independence.df, 1)

    def __call__(self, evidence: Evidence, near: FloatArray | None = None) -> NullFit:
        """Fit independence to every table, and measure the trend there."""
        fit = self._independence.fit(self._model, evidence, near)
        efficient, information = self._efficient(evidence, fit.parameters)
        # where the margins leave a single category nothing can rise or fall
        statistic = np.divide(efficient**2, information, out=np.zeros_like(efficient), where=information > 0)
        return NullFit(fit.parameters, fit.frequencies, statistic, fit.converged)

    def signed(self, evidence: Evidence, null: FloatArray) -> tuple[float, float]:
        """Return the score of the trend, and its information per squared size √(Σ δ²/π), of all reports."""
        parameters = self._model.nearest(null)[None, :]
        efficient, information = self._efficient(evidence, parameters)
        (row, u), (column, v) = self._spread(parameters)
        size = float(((row * u**2).sum(axis=-1) * (column * v**2).sum(axis=-1))[0])  # Σ δ²/π
        if not (size > _NO_SPREAD and information[0] > 0):
            raise NotIdentifiedError(
                "an attribute of which one category is all that shows",
                "attributes with respondents in several categories",
                "Nothing can rise or fall there.",
            )
        return float(efficient[0]), float(information[0]) / size

    def _direction(self, parameters: FloatArray) -> FloatArray:
        (row, u), (column, v) = self._spread(parameters)
        direction: FloatArray = (row * u)[..., :, None] * (column * v)[..., None, :]
        return direction.reshape(*parameters.shape[:-1], -1)

    def _spread(self, parameters: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return both margins, each with the scores less their mean."""
        margins = (one[..., 0, :] for one in self._model.distributions(parameters))
        pairs = zip(margins, (self._rows, self._columns), strict=True)
        return [(margin, scores - (margin @ scores)[..., None]) for margin, scores in pairs]

    def _efficient(self, evidence: Evidence, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return score and information of the trend, less what the margins explain of them."""
        score, information = evidence.score(self._model.frequencies(parameters))
        tangents, direction = self._model.jacobian(parameters), self._direction(parameters)[..., None]
        weighted = information.times(direction)
        crossed = np.swapaxes(tangents, -1, -2) @ weighted
        explained = solve_or_shortest(information.between(tangents), crossed)
        efficient = direction - tangents @ explained
        remaining = (np.swapaxes(direction, -1, -2) @ weighted - np.swapaxes(crossed, -1, -2) @ explained)[..., 0, 0]
        return (score[..., None, :] @ efficient)[..., 0, 0], remaining


def _centred(scores: ArrayLike | None, categories: int, name: str) -> FloatArray:
    given = np.arange(categories) if scores is None else as_array(scores, f"the scores of {name!r}")
    if given.shape != (categories,) or given.dtype.kind not in "iuf" or not np.all(np.isfinite(given)):
        raise LdpstatsError(f"scores {scores!r} of {name!r}", f"{categories} finite numbers, one for each category")
    if np.ptp(given) == 0:
        raise LdpstatsError(f"scores of {name!r} that are all equal", "scores that tell categories apart")
    centred: FloatArray = given - given.mean()
    return centred
