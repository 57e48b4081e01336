"""Null models: cell frequencies as a function of a few parameters, fitted through the channel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from ldpstats.arrays import BoolArray, FloatArray
from ldpstats.inference.evidence import Evidence
from ldpstats.noise import Information, solve_or_shortest

_MAX_STEPS = 50
_MAX_HALVINGS = 30
SMALLEST = 1e-12


class NullModel(Protocol):
    """A family of cell frequencies; parameters and cells may have a leading axis of tables."""

    bounded: ClassVar[bool]
    """Whether noise may drive a fit to a boundary, where χ² does not hold."""

    def frequencies(self, parameters: FloatArray) -> FloatArray:
        """Return the cell frequencies."""
        ...

    def jacobian(self, parameters: FloatArray) -> FloatArray:
        """Return the derivative of the frequencies, shape (..., cells, parameters); its columns are contrasts."""
        ...

    def limited(self, step: FloatArray) -> FloatArray:
        """Return a change of the parameters that is no longer than their linear approximation may be trusted."""
        ...

    def nearest(self, cells: FloatArray) -> FloatArray:
        """Return the parameters of a member near some (possibly negative) cell frequencies."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class NullScore:
    """Score and information of the cells at some parameters, and the scoring step that they call for."""

    score: FloatArray
    information: Information
    step: FloatArray
    gain: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class NullFit:
    """For every table: fitted parameters and frequencies, what was measured there, and whether the fit came to rest."""

    parameters: FloatArray
    frequencies: FloatArray
    statistic: FloatArray
    converged: BoolArray


def null_score(model: NullModel, evidence: Evidence, parameters: FloatArray) -> NullScore:
    """Evaluate the evidence at a member of the null model; one member for all tables is allowed."""
    score, information = evidence.score(model.frequencies(parameters))
    jacobian = model.jacobian(parameters)
    gradient = (score[..., None, :] @ jacobian)[..., 0, :]
    step = solve_or_shortest(information.between(jacobian), gradient[..., None])[..., 0]
    return NullScore(score, information, step, (step * gradient).sum(axis=-1))


def remaining(at: NullScore) -> FloatArray:
    """Return what another scoring step would still explain."""
    return at.gain


def fit_null(
    model: NullModel,
    evidence: Evidence,
    start: FloatArray,
    tolerance: float,
    measure: Callable[[NullScore], FloatArray] = remaining,
) -> NullFit:
    """Fit a null model to every table by Fisher scoring, from parameters that give a proper law, and measure it there.

    A table is done when another step would change twice its log-likelihood by less than `tolerance`. Estimated
    frequencies may leave [0, 1] as long as every report keeps a positive probability: that keeps the score
    statistic free of boundary effects. A single start for all tables makes the first step very cheap.
    """
    tables = len(evidence)
    parameters = np.tile(start, (tables, 1)) if len(start) == 1 else start.copy()
    statistic, converged = np.empty(tables), np.zeros(tables, dtype=np.bool_)
    at, active, part = null_score(model, evidence, start), np.arange(tables), evidence
    for _ in range(_MAX_STEPS):
        statistic[active] = measure(at)
        converged[active] = np.abs(at.gain) < tolerance
        step, going = at.step[~converged[active]], active[~converged[active]]
        if not going.size:
            break
        part, active = evidence if going.size == tables else evidence.subset(going), going
        parameters[active] += _safe(model, part, parameters[active], step)
        at = null_score(model, part, parameters[active])
    return NullFit(parameters, model.frequencies(parameters), statistic, converged)


def _safe(model: NullModel, evidence: Evidence, parameters: FloatArray, step: FloatArray) -> FloatArray:
    """Halve the steps that would leave the region where every report has a positive probability."""
    step = model.limited(step).copy()
    for _ in range(_MAX_HALVINGS):
        outside = ~evidence.supports(model.frequencies(parameters + step))
        if not outside.any():
            return step
        step[outside] /= 2
    step[outside] = 0
    return step


def completed(entries: FloatArray) -> FloatArray:
    """Add the last entry of distributions, which sum to one."""
    return np.concatenate([entries, 1 - entries.sum(axis=-1, keepdims=True)], axis=-1)


def on_simplex(margin: FloatArray) -> FloatArray:
    """Cut distributions just above zero, and scale them to sum to one."""
    kept = np.maximum(margin, SMALLEST)
    shares: FloatArray = kept / kept.sum(axis=-1, keepdims=True)
    return shares
