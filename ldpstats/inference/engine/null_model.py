"""Null models: cell frequencies as a function of a few parameters, fitted through the noise by Fisher scoring."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.inference.engine.evidence import Evidence
from ldpstats.noise import Information, shortest, solve_or_shortest
from ldpstats.numbers.arrays import BoolArray, FloatArray, as_array

Solver: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""Solves an information for scores; `shortest` where the evidence leaves parameters open."""

# fits stop before a step that would change twice the log-likelihood by less than the first, and after so many steps
_PRECISE = 1e-14, 50
# Ranks Monte Carlo tables nearly as a precise fit does: p-values move by less than .006 (2-by-2, 4-by-4, 2-by-2-by-2).
_RANKING_STEPS = 3
# statistics that are clear count in ranked tables as at most so many times what they are at the start
_OF_START = 1.5
_MAX_HALVINGS = 30
_DRAWS = 128
_ROUNDING = 1e-9
SMALLEST = 1e-12


class DrawnTables(NamedTuple):
    """At which frequencies tables were drawn in Monte Carlo, each or all, and from what on their statistics count.

    They are ranked by the same function of each: what a few steps of a fit give. Statistics that stay below `least`
    need not be known further.
    """

    near: FloatArray
    least: FloatArray


class NullModel(Protocol):
    """A family of cell frequencies, as a hypothesis of your own is one; all arrays may have leading axes of tables.

    Examples
    --------
    Hardy-Weinberg proportions, with the share of one allele as the parameter:

    >>> import numpy as np
    >>> import ldpstats as ldp
    >>> from ldpstats.extend import Hypothesis, null_model_test
    >>> class HardyWeinberg:
    ...     bounded = True
    ...
    ...     def frequencies(self, parameters):
    ...         share = parameters[..., 0]
    ...         return np.stack([share**2, 2 * share * (1 - share), (1 - share) ** 2], axis=-1)
    ...
    ...     def jacobian(self, parameters):
    ...         share = parameters[..., 0]
    ...         return np.stack([2 * share, 2 - 4 * share, 2 * share - 2], axis=-1)[..., None]
    ...
    ...     def limited(self, step):
    ...         return np.clip(step, -0.1, 0.1)
    ...
    ...     def nearest(self, cells):
    ...         return np.clip(cells[..., :1] + cells[..., 1:2] / 2, 0.01, 0.99)
    >>> domain = ldp.Domain({"genotype": ["AA", "Aa", "aa"]})
    >>> table = ldp.SampledGroups(domain, k=1, epsilon=2.0).simulate([900, 4200, 4900], rng=1)["genotype"]
    >>> about = Hypothesis("Hardy-Weinberg", "alleles are independent", "alleles are dependent")
    >>> result = null_model_test(table, HardyWeinberg(), about)
    >>> result.df, round(result.pvalue, 2)
    (1, 0.27)
    """

    bounded: ClassVar[bool]
    """Whether noise may drive a fit to a boundary, where χ² does not hold."""

    def frequencies(self, parameters: FloatArray) -> FloatArray:
        """Return the cell frequencies.

        Parameters
        ----------
        parameters : array, shape (..., parameters)
        """

    def jacobian(self, parameters: FloatArray) -> FloatArray:
        """Return the derivative of the frequencies, shape (..., cells, parameters); its columns are contrasts.

        Parameters
        ----------
        parameters : array, shape (..., parameters)
        """

    def limited(self, step: FloatArray) -> FloatArray:
        """Return a change of the parameters that is no longer than their linear approximation may be trusted.

        Parameters
        ----------
        step : array, shape (..., parameters)
            The change by Fisher scoring.
        """

    def nearest(self, cells: FloatArray) -> FloatArray:
        """Return the parameters of a member near some (possibly negative) cell frequencies; of a member, its own.

        Parameters
        ----------
        cells : array, shape (..., cells)
        """


@dataclass(frozen=True, slots=True, eq=False)
class NullScore:
    """Score and information of the cells at some parameters, the scoring step from there, and what it would gain."""

    score: FloatArray
    information: Information
    step: FloatArray
    gain: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class NullFit:
    """For every table: fitted parameters and frequencies, what was measured there, and whether the fit converged."""

    parameters: FloatArray
    frequencies: FloatArray
    statistic: FloatArray
    converged: BoolArray


def null_score(
    model: NullModel, evidence: Evidence, parameters: FloatArray, solve: Solver = solve_or_shortest
) -> NullScore:
    """Evaluate the evidence at a member of the null model; one member for all tables is allowed."""
    score, information = evidence.score(model.frequencies(parameters))
    gradient, matrix = along_tangents(model, parameters, score, information)
    step = solve(matrix, gradient[..., None])[..., 0]
    return NullScore(score, information, step, (step * gradient).sum(axis=-1))


def along_tangents(
    model: NullModel, parameters: FloatArray, score: FloatArray, information: Information
) -> tuple[FloatArray, FloatArray]:
    """Return the score and the information along the tangents: by structure, or densely where either has none."""
    columns = 0 if information.left is None else information.left.shape[-1]
    structured = getattr(model, "along_tangents", None)
    if 2 * columns <= score.shape[-1] and structured:
        along: tuple[FloatArray, FloatArray] = structured(parameters, score, information)
        return along
    jacobian = model.jacobian(parameters)
    return (score[..., None, :] @ jacobian)[..., 0, :], information.between(jacobian)


def remaining(at: NullScore) -> FloatArray:
    """Predicted change of twice the log-likelihood from one more scoring step, at most the whole score's length²."""
    if not np.all(at.information.diagonal > 0):
        return np.maximum(at.gain, 0)
    return np.clip(at.gain, 0, at.information.contrast_norm(at.score))


class NullFitter:
    """Fits null models by Fisher scoring, from near each table's unbiased estimate; where there is none, all from one.

    Estimated frequencies may leave [0, 1] as long as every report keeps a positive probability: that keeps the score
    statistic free of boundary effects. A single start for all tables makes the first step very cheap.
    """

    def __init__(self, evidence: Evidence, cells: int) -> None:
        self._uniform = np.full(cells, 1 / cells)
        self._estimated = evidence.estimator()
        # where contrasts are open, so may be some of a model's parameters
        self.solve = solve_or_shortest if self._estimated else shortest

    def start(self, model: NullModel, evidence: Evidence, drawn: DrawnTables | None = None) -> FloatArray:
        """Return proper parameters of a model, near each table's estimate if it has one."""
        cells = np.atleast_2d(self._uniform if drawn is None else drawn.near)
        return model.nearest(cells if self._estimated is None else self._estimated(evidence))

    def __call__(
        self,
        model: NullModel,
        evidence: Evidence,
        drawn: DrawnTables | None = None,
        measure: Callable[[NullScore], FloatArray] = remaining,
        clear: float | None = None,
    ) -> NullFit:
        """Fit a model to every table, and measure it there.

        Tables that were `drawn` all take the same few steps. Beyond `clear`, a statistic that few tables of a true
        hypothesis reach, it counts as at most 1.5 times what it is at the start, in every table. So one that stays
        below its `least` even so needs no step; and where the observed one is not clear, nothing changes.
        """
        tables, start = len(evidence), self.start(model, evidence, drawn)
        tolerance, steps = _PRECISE if drawn is None else (0.0, _RANKING_STEPS)
        parameters = np.tile(start, (tables, 1)) if len(start) == 1 else start.copy()
        most, converged = np.full(tables, np.inf), np.zeros(tables, dtype=np.bool_)
        at, active, part = null_score(model, evidence, start, self.solve), np.arange(tables), evidence
        if drawn is not None and clear is not None:
            most[:] = np.maximum(_OF_START * measure(at), clear)
            converged = most < drawn.least
        statistic = most.copy()
        for taken in range(steps + 1):
            if tolerance or taken == steps:
                statistic[active] = np.minimum(measure(at), most[active])
                # of a large statistic no more digits are known
                converged[active] = np.abs(at.gain) < tolerance * np.maximum(statistic[active], 1)
            step, going = at.step[~converged[active]], active[~converged[active]]
            if not going.size or taken == steps:
                break
            part, active = evidence if going.size == tables else evidence.subset(going), going
            parameters[active] += _safe(model, part, parameters[active], step)
            at = null_score(model, part, parameters[active], self.solve)
        return NullFit(parameters, model.frequencies(parameters), statistic, converged)


def curvature_loss(model: NullModel, evidence: Evidence, null: FloatArray) -> FloatArray:
    """Return how many degrees of freedom of noise a curved hypothesis absorbs in each table, beyond its parameters'.

    That is the expected squared distance of its frequencies, at parameters off by the noise, from its tangents, in the
    metric of the information. χ² needs it to be small (its root is the intrinsic curvature of Bates & Watts 1980).
    """
    parameters = model.nearest(null)
    _, seen = evidence.score(model.frequencies(parameters))
    tangents, each = model.jacobian(parameters), parameters[:, None, :]
    information = seen.between(tangents)
    variances, axes = np.linalg.eigh(shortest(information, np.eye(parameters.shape[-1])))
    numbers = np.random.default_rng(0).standard_normal((_DRAWS, parameters.shape[-1]))
    off = (numbers * np.sqrt(np.maximum(variances, 0))[:, None, :]) @ np.swapaxes(axes, -1, -2)
    curved = (model.frequencies(each + off) + model.frequencies(each - off)) / 2 - model.frequencies(each)
    columns = np.swapaxes(curved, -1, -2)
    weighted = seen.times(columns)
    along = np.swapaxes(tangents, -1, -2) @ weighted
    beside = (columns * weighted).sum(axis=-2) - (along * shortest(information, along)).sum(axis=-2)
    loss: FloatArray = beside.mean(axis=-1)
    return loss


def _safe(model: NullModel, evidence: Evidence, parameters: FloatArray, step: FloatArray) -> FloatArray:
    """Halve steps that would leave the region where every report has a positive probability."""
    step = model.limited(step).copy()
    for _ in range(_MAX_HALVINGS):
        outside = ~evidence.supports(model.frequencies(parameters + step))
        if not outside.any():
            return step
        step[outside] /= 2
    step[outside] = 0
    return step


def irregular(cells: int) -> FloatArray:
    """Return frequencies without any special symmetry."""
    weights = 1 + np.arange(cells) * np.sqrt(2) % 1
    frequencies: FloatArray = weights / weights.sum()
    return frequencies


def proper_frequencies(values: ArrayLike, shape: tuple[int, ...], what: str) -> FloatArray:
    """Check given frequencies: refuse what is no distribution."""
    array = as_array(values, what)
    # written so that a NaN fails
    proper = array.shape == shape and array.dtype.kind in "iuf" and array.min() >= 0
    if not (proper and abs(array.sum() - 1) <= _ROUNDING):
        raise LdpstatsError(f"{what} {shortened(values)}", f"nonnegative frequencies of shape {shape} that sum to 1")
    shares: FloatArray = array / array.sum()
    return shares


def on_simplex(margin: FloatArray) -> FloatArray:
    """Cut distributions just above zero, and scale them to sum to one."""
    kept = np.maximum(margin, SMALLEST)
    shares: FloatArray = kept / kept.sum(axis=-1, keepdims=True)
    return shares
