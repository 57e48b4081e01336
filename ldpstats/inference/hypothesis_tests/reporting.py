"""Reporting: what every test of a null model goes through, from the statistic to the words of its result."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ldpstats.inference.effects.cramers_v import Association, association
from ldpstats.inference.engine.detectability import Sensitivity, deviations_seen
from ldpstats.inference.engine.null_model import NullModel
from ldpstats.inference.engine.procedure import Method, Outcome, PValue, null_model_outcome
from ldpstats.inference.hypothesis_tests.result import Hypothesis, HypothesisResult
from ldpstats.noise import NoisyCounts
from ldpstats.numbers.arrays import FloatArray
from ldpstats.tables import Table, checked_table

REFERENCE_SIZES, REFERENCE_LEVEL = (0.1, 0.3), 0.05
"""The sizes of deviations that every result states the power against, and at which level."""


def null_model_test(
    table: Table,
    model: NullModel,
    hypothesis: Hypothesis,
    method: Method = "auto",
    pvalue: PValue = "auto",
    possible: NDArray[np.intp] | None = None,
) -> HypothesisResult:
    """Test whether a table is a member of a null model, against everything else: the procedure of every test by name.

    Parameters
    ----------
    table : Table
        A table of any number of attributes.
    model : NullModel
        The cells' frequencies as a function of a few parameters: a `ProductOfConditionals`, a `LogLinear` model, a
        `LinearSubspace`, or whatever else has their methods.
    hypothesis : Hypothesis
        What that is in words; on the scale "V", for two attributes, the result states Cramér's V.
    method, pvalue
        As in `independence_test`.
    possible : array of int, optional
        The flattened cells that can have respondents, if not all can; the model is then one of these alone.

    Returns
    -------
    HypothesisResult of a χ² (chi-squared) test; it unpacks to (statistic, pvalue)

    Examples
    --------
    As many drive to work as take the train, whatever the others do:

    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups
    >>> from ldpstats.inference import Hypothesis, LinearSubspace, null_model_test
    >>> model = LinearSubspace.constrained(np.full(3, 1 / 3), np.array([[1, -1, 0]]))
    >>> same = Hypothesis("equal shares", "car and train are equally frequent", "one of them is more frequent")
    >>> protocol = SampledGroups(Domain({"way": ["car", "train", "bike"]}), k=1, epsilon=2.0)
    >>> result = null_model_test(protocol.simulate(np.array([900, 600, 500]), rng=1)["way"], model, same)
    >>> result.df, result.verdict()
    (1, 'rejected')
    """
    outcome = null_model_outcome(checked_table(table), model, method, pvalue, possible)
    seen = deviations_seen(model, outcome.evidence, outcome.null)
    effect = association(table) if hypothesis.scale == "V" else None
    return result_of(table, hypothesis, outcome, seen, effect)


def result_of(
    table: Table, about: Hypothesis, outcome: Outcome, seen: FloatArray, effect: Association | None = None
) -> HypothesisResult:
    """Put an outcome into words, with the power by what is `seen` of deviations in their principal directions."""
    side = min(table.shape) if about.scale == "V" else 2
    sensitivity = Sensitivity(outcome.df, seen, side, proportional=not has_noise_once(table))
    return HypothesisResult(
        about=about,
        attributes=table.attributes,
        statistic=outcome.statistic,
        pvalue=outcome.pvalue,
        df=outcome.df,
        method=outcome.method,
        pvalue_source=outcome.pvalue_source,
        seed=outcome.seed,
        n=table.n,
        effect=effect,
        power={size: sensitivity.power(size, REFERENCE_LEVEL) for size in REFERENCE_SIZES},
        expected=outcome.evidence.whole(outcome.null).reshape(table.shape),
        converged=outcome.converged,
        privacy=table.privacy,
        simulated=table.simulated,
        table=table,
        sensitivity=sensitivity,
    )


def has_noise_once(table: Table) -> bool:
    """Say whether a curator added the noise, which does not grow with the respondents."""
    return any(isinstance(block.noise, NoisyCounts) for source in table.made_of for block in source.blocks)
