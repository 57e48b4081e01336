"""Log-linear models of a table: fits, deviance, score and nested tests; the trend of two ordered attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ldpstats.answers.columns import listed
from ldpstats.answers.ordered import scores_of
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line
from ldpstats.estimation import ASSUMED
from ldpstats.inference.effects.cramers_v import association, two_way_shape
from ldpstats.inference.engine.detectability import information_added, principal_information, steadied
from ldpstats.inference.engine.evidence import Evidence
from ldpstats.inference.engine.families import LogLinear, ProductOfConditionals
from ldpstats.inference.engine.null_model import NullFit, NullFitter, null_score
from ldpstats.inference.engine.procedure import Method, PValue, chosen_method, evidence_of, outcomes_of
from ldpstats.inference.engine.statistics import NestedStatistic, Statistic, WaldStatistic
from ldpstats.inference.hypothesis_tests.result import (
    Hypothesis,
    HypothesisResult,
    model_fit,
    null_model_test,
    result_of,
)
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, as_array, unweighted
from ldpstats.pictures.intervals import Intervals
from ldpstats.presentation import Result, Summary, plain_rows, plain_values, summary_of_figures
from ldpstats.tables import Table, checked_table
from ldpstats.tables.unbiased_cells import provenance_in_words


@unweighted
def log_linear_model(
    table: Table,
    formula: str | Sequence[Sequence[str]],
    structural_zeros: Iterable[Mapping[str, object]] = (),
) -> LogLinearFit:
    """Fit a hierarchical log-linear model to a table.

    Loglinear models of contingency tables without noise are those of `loglin` and `MASS::loglm` in R.

    Parameters
    ----------
    table : Table
        A table of any number of attributes.
    formula : str or sequence of sequences of str
        The generators, such as "age*sex + sex*transport" or [("age", "sex"), ("sex", "transport")]: attributes
        are associated within a generator, in any way, and otherwise through it only. Each stands in one at least.
    structural_zeros : iterable of mappings
        Combinations of categories that cannot occur, such as [{"class": "crew", "age": "child"}]: the model is then
        one of the other cells ("quasi-independence", where the attributes stand alone).

    Returns
    -------
    LogLinearFit
        What the model expects stands in `expected`. `test` asks whether it fits, `compared_with` whether a larger
        model fits better.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, log_linear_model
    >>> domain = Domain({name: ["no", "yes"] for name in "abc"})
    >>> table = SampledGroups(domain, k=3, epsilon=3.0).simulate(np.full(8, 1000), rng=1)["a", "b", "c"]
    >>> chain, all_pairs = log_linear_model(table, "a*b + b*c"), log_linear_model(table, "a*b + b*c + a*c")
    >>> chain.test().df, chain.compared_with(all_pairs).df
    (2, 1)
    """
    generators = _generators(checked_table(table), formula)
    axes = tuple(tuple(table.attributes.index(name) for name in generator) for generator in generators)
    return LogLinearFit(table, generators, LogLinear(table.shape, axes, _possible(table, structural_zeros)))


@unweighted
def no_three_way_interaction_test(table: Table, method: Method = "auto", pvalue: PValue = "auto") -> HypothesisResult:
    """Test whether each two of three attributes are associated in the same way, whatever the third is.

    The odds ratios of any two attributes are then the same in all categories of the third (homogeneous association).
    For 2-by-2 tables in several strata it asks what the test of Breslow and Day does: are the odds ratios homogeneous?

    Parameters
    ----------
    table : Table
        A table of three attributes.
    method, pvalue
        As in `independence_test`.

    Returns
    -------
    HypothesisResult of a χ² (chi-squared) test; it unpacks to (statistic, pvalue)

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups, no_three_way_interaction_test
    >>> domain = Domain({name: ["no", "yes"] for name in "abc"})
    >>> tables = SampledGroups(domain, k=3, epsilon=3.0).simulate(np.full(8, 1000), rng=1)
    >>> no_three_way_interaction_test(tables["a", "b", "c"]).df
    1
    """
    if len(checked_table(table).shape) != 3:
        raise LdpstatsError(f"a table of {table.attributes!r}", "a table of three attributes")
    first, second, third = table.attributes
    about = Hypothesis(
        "no three-way interaction",
        f"{first} and {second} are associated in the same way whatever {third} is",
        f"the association of {first} and {second} depends on {third}",
    )
    return null_model_test(table, LogLinear(table.shape, ((0, 1), (0, 2), (1, 2))), about, method, pvalue)


@dataclass(frozen=True, eq=False, repr=False)
class LogLinearFit(Result):
    """A hierarchical log-linear model, fitted to the reports of a table.

    Parameters
    ----------
    table : Table
    generators : tuple of tuples of str
    model : LogLinear

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({name: ["no", "yes"] for name in "abc"})
    >>> tables = ldp.SampledGroups(domain, k=3, epsilon=3.0).simulate([900, 300, 100, 300, 300, 100, 300, 900], rng=1)
    >>> fit = ldp.log_linear_model(tables["a", "b", "c"], "a*b + b*c")
    >>> fit.formula, fit.converged
    ('a*b + b*c', True)
    """

    table: Table
    generators: tuple[tuple[str, ...], ...]
    model: LogLinear

    def __post_init__(self) -> None:
        named = [tuple(self.table.attributes[axis] for axis in axes) for axes in self.model.generators]
        whole = {name for generator in named for name in generator} == {*self.table.attributes}
        if self.model.shape != self.table.shape or named != list(self.generators) or not whole:
            raise LdpstatsError(
                f"the model of {one_line(named)} of shape {self.model.shape} for the generators {self.generators}",
                "the model of the table's own generators",
            )

    @property
    def formula(self) -> str:
        """The generators as a formula."""
        return " + ".join("*".join(generator) for generator in self.generators)

    @cached_property
    def _outcome(self) -> NullFit:
        return NullFitter(self._evidence, len(self.model.design))(self.model, self._evidence)

    @property
    def _evidence(self) -> Evidence:
        return evidence_of(self.table, self._cells)

    @property
    def _cells(self) -> NDArray[np.intp] | None:
        return None if self.model.possible is None else np.array(self.model.possible)

    @property
    def expected(self) -> FloatArray:
        """The fitted frequencies, in the table's shape; refused where reports leave parameters of the model open."""
        if not self._is_identified:
            raise NotIdentifiedError(
                f"the model {self.formula}, about some of whose parameters the reports tell nothing",
                "a model of what was asked together",
                "Leave out interactions that nobody was asked about; bounds() says what is known of the table's cells.",
            )
        return self._evidence.whole(self._outcome.frequencies[0]).reshape(self.table.shape)

    @property
    def _is_identified(self) -> bool:
        # halfway to even frequencies: neither where cells are empty, nor where attributes are independent
        between = self._outcome.frequencies + 1 / self._outcome.frequencies.size
        near = self.model.frequencies(self.model.nearest(between / between.sum()))
        seen = self._evidence.score(near)[1].between(self.model.tangents(near))[0]
        return int(np.linalg.matrix_rank(seen, hermitian=True)) == len(seen)

    @property
    def converged(self) -> bool:
        """Whether the fit converged; where noise leaves no positive margins it may not.

        `expected` is then where its steps ended; deviances are of the likeliest frequencies even so.
        """
        return bool(self._outcome.converged[0])

    def to_frame(self) -> pd.DataFrame:
        """Return the fitted frequencies beside those that no model constrains, a row per cell."""
        own = self.table.to_frame()
        columns = {name: own[name].to_numpy() for name in ("estimate", "std_err")}
        return pd.DataFrame({"fitted": self.expected.ravel(), **columns}, index=self.table.domain.index())

    @property
    def headline(self) -> str:
        """The model, and what it was fitted to, in one line."""
        table, state = self.table, "" if self.converged else " (did not converge)"
        fitted = f"{self.formula}{state}, fitted to {' × '.join(table.attributes)}"
        return f"{fitted}; {table.n:,} reports{simulation(table.simulated, table.n)}"

    def summary(self) -> Summary:
        """Return the fitted frequencies beside the estimates, and what must be known to read them."""
        table, known = self.table, self._is_identified
        fitted = self.expected.ravel() if known else [math.nan] * table.domain.size()
        own = table.to_frame()[["estimate", "std_err"]].to_numpy()
        rows = [
            [*map(str, cell), *(f"{value:.4f}" if math.isfinite(value) else "-" for value in (fit, *figures.tolist()))]
            for cell, fit, figures in zip(table.domain.index(), fitted, own, strict=True)
        ]
        sentences = [
            f"{self.headline}.",
            "Estimates and their standard errors are without a model.",
            *([] if known else ["About some parameters of the model the reports tell nothing: it is not fitted."]),
            "test() tests the model against every other table, compared_with() against a larger model.",
            *table.privacy.sentences(table.n),
            *provenance_in_words(table),
            ASSUMED,
            *table.channel_fit().warning,
        ]
        headers = [*table.attributes, "fitted", "estimate", "std. error"]
        return summary_of_figures(f"Log-linear model {self.formula}", headers, rows, sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the fit as plain values."""
        of_table = "n=table.n simulated=table.simulated privacy=table.privacy provenance=table.provenance"
        names = f"formula generators converged cells {of_table} channel_fit=table.channel_fit"
        return plain_values(self, names, cells=plain_rows(self.to_frame().reset_index()))

    def picture(self) -> Intervals:
        """Return the estimates with their intervals, beside what the model fits."""
        return model_fit(self.table, self.expected, f"Log-linear model {self.formula}", "fitted by the model")

    def test(self, method: Method = "auto", pvalue: PValue = "auto") -> HypothesisResult:
        """Test the model against everything else.

        Parameters
        ----------
        method, pvalue
            As in `independence_test`; "lr" gives the deviance. Where the fit did not converge, that is the deviance
            of the likeliest frequencies at the boundary; it is not χ² there, and "auto" draws its p-value.
        """
        about = Hypothesis(
            "a log-linear model", f"the model {self.formula} holds", f"the model {self.formula} does not hold"
        )
        return null_model_test(self.table, self.model, about, method, pvalue, self._cells)

    def compared_with(self, larger: LogLinearFit, method: Method = "auto", pvalue: PValue = "auto") -> HypothesisResult:
        """Test the model within a larger one that holds it: the deviance test of nested models.

        "lr" is the difference of the deviances; "score" (and "gls", where only moments are known) is the score of the
        larger model's further terms at this one's fit. "auto" takes "lr" where reports have a likelihood. Where a fit
        did not converge, deviances are of the likeliest frequencies at the boundary, and the p-value is drawn.

        The stated power is that against what the larger model adds, in sizes w of that, averaged over its directions.

        Parameters
        ----------
        larger : LogLinearFit
            A model of the same table whose generators hold those of this one.
        method : {"auto", "score", "gls", "lr"}
            As above.
        pvalue
            As in `independence_test`.
        """
        if not self.table.holds_the_same(larger.table) or not self._within(larger):
            raise LdpstatsError(
                f"the models {self.formula} and {larger.formula}",
                "two models of the same table, each generator of the first within one of the second",
                "Only nested models can be compared by a test.",
            )
        evidence = self._evidence
        chosen, words = chosen_method(method, evidence, ("score", "gls", "lr"))
        if method == "auto" and chosen == "score":
            chosen = "lr"
        statistic = NestedStatistic(self.model, larger.model, evidence, likelihood=chosen == "lr")
        if statistic.df <= 0:
            raise NotIdentifiedError(
                "models between which the reports cannot tell",
                "a larger model with terms that the reports tell something about",
            )
        named = {"lr": "difference of deviances", "score": "score of the further terms"}
        text = named.get(chosen, f"score of the further terms: {words}")
        [outcome] = outcomes_of([self.table], statistic, self.model, [evidence], text, pvalue)
        about = Hypothesis(
            "nested log-linear models",
            f"{self.formula} holds, if {larger.formula} does",
            f"{larger.formula} explains what {self.formula} does not",
        )
        information = information_added(
            self.model, larger.model, evidence, steadied(self.model, evidence, outcome.null)
        )
        return result_of(self.table, about, outcome, principal_information(information))

    def _within(self, larger: LogLinearFit) -> bool:
        held = all(any(set(own) <= set(other) for other in larger.generators) for own in self.generators)
        return held and self.model.possible == larger.model.possible


def _possible(table: Table, zeros: Iterable[Mapping[str, object]]) -> tuple[int, ...] | None:
    """Return the cells that are in no structural zero; None if there are none of these."""
    able, listed_zeros = np.ones(table.shape, dtype=np.bool_), list(zeros)
    for zero in listed_zeros:
        known = isinstance(zero, Mapping) and zero and set(zero) <= set(table.attributes)
        if not known or any(value not in table.domain.categories[name] for name, value in zero.items()):
            raise LdpstatsError(
                f"the structural zero {zero!r}",
                "mappings from attributes of the table to one of their categories",
                'Write structural_zeros=[{"class": "crew", "age": "child"}].',
            )
        matches = [
            np.array([zero.get(name, category) == category for category in table.domain.categories[name]])
            for name in table.attributes
        ]
        able[np.ix_(*matches)] = False
    return tuple(np.flatnonzero(able).tolist()) if listed_zeros else None


def _generators(table: Table, formula: str | Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the generators as tuples of known names, without those within others."""
    parts: Iterable[object] = formula.split("+") if isinstance(formula, str) else listed(formula)
    named = [
        table.domain.project([name.strip() for name in part.replace(":", "*").split("*")]).names
        if isinstance(part, str)
        else table.domain.project(listed(part)).names
        for part in parts
    ]
    missing = [name for name in table.attributes if not any(name in generator for generator in named)]
    if missing:
        raise LdpstatsError(
            f"the formula {formula!r} without {one_line(missing)}",
            "every attribute of the table in a generator",
            "An attribute that stands alone is independent of the others; take table.marginal([...]) to leave it out.",
        )
    distinct = list(dict.fromkeys(tuple(sorted(generator, key=table.attributes.index)) for generator in named))
    return tuple(generator for generator in distinct if not any(set(generator) < set(other) for other in distinct))


_NO_VARIANCE = 1e-9


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
        A number for every category; by default its score, or the number that it is (see `ordered`), and 0, 1, 2, ...
        where categories have none.
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
    trend = LinearByLinear(shape, _centred(table, first, row_scores), _centred(table, second, column_scores))
    evidence = evidence_of(table)
    chosen, words = chosen_method(method, evidence)
    words = f"{words}, in the direction of the trend"
    [outcome] = outcomes_of([table], trend.statistic(chosen, evidence), trend.independence, [evidence], words, pvalue)
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
        margins = (distribution[..., 0, :] for distribution in self.independence.distributions(parameters))
        pairs = zip(margins, (self._rows, self._columns), strict=True)
        rows, columns = (scores - (margin @ scores)[..., None] for margin, scores in pairs)
        return (rows[..., :, None] * columns[..., None, :]).reshape(*parameters.shape[:-1], -1, 1)

    def is_positive(self, evidence: Evidence, null: FloatArray) -> bool:
        """Say whether the score of the trend, less what the margins explain of it, is above zero."""
        parameters = self.independence.nearest(null)[None, :]
        weights = self.weights(parameters)
        direction = self.independence.frequencies(parameters)[..., None] * weights
        if not (weights * direction).sum() > _NO_VARIANCE:
            raise NotIdentifiedError(
                "an attribute of which one category is all that shows",
                "attributes with respondents in several categories",
                "Nothing can rise or fall there.",
            )
        at = null_score(self.independence, evidence, parameters)
        explained = at.information.times(self.independence.jacobian(parameters) @ at.step[..., None])
        return bool(((at.score[..., None] - explained) * direction).sum() > 0)


def _centred(table: Table, name: str, scores: ArrayLike | None) -> FloatArray:
    values = table.domain.categories[name]
    categories, own = len(values), scores_of(values) if scores is None else scores
    given = as_array(range(categories) if own is None else own, f"the scores of {name!r}")
    if given.shape != (categories,) or given.dtype.kind not in "iuf" or not np.all(np.isfinite(given)):
        raise LdpstatsError(f"scores {scores!r} of {name!r}", f"{categories} finite numbers, one for each category")
    if np.ptp(given) == 0:
        raise LdpstatsError(f"scores of {name!r} that are all equal", "scores that tell categories apart")
    centred: FloatArray = given - given.mean()
    return centred
