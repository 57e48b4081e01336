"""Detectability: the power that a test had against a dependence of stated strength."""

from __future__ import annotations

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.inference.evidence import Evidence
from ldpstats.inference.null_model import TwoWayIndependence
from ldpstats.inference.statistics import interaction_derivative
from ldpstats.noise import Information

_DIRECTIONS = 256


def power_of(information: FloatArray, df: int, cramers_v: float, smaller_side: int, alpha: float = 0.05) -> float:
    """Return the approximate power against a dependence with this Cramér's V, averaged over its directions.

    The test statistic is then noncentral χ², with a noncentrality that is quadratic in the dependence. The
    average is over a fixed set of directions, uniform among all dependences that leave the margins alone.
    """
    from scipy.special import chdtri, chndtr

    directions = np.random.default_rng(0).standard_normal((_DIRECTIONS, len(information)))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # in the principal axes of the information, so that the order of categories does not matter
    seen = directions**2 @ np.maximum(np.linalg.eigvalsh(information), 0)
    noncentrality = cramers_v**2 * (smaller_side - 1) * seen
    return float(np.mean(1 - chndtr(chdtri(df, alpha), df, noncentrality)))


def evidence_information(model: TwoWayIndependence, evidence: Evidence, null: FloatArray) -> FloatArray:
    """Return the information about dependence that is left when the margins are unknown."""
    parameters = model.nearest(null)
    _, information = evidence.score(model.frequencies(parameters)[None, :])
    return _efficient(information, _directions(model, null), model.jacobian(parameters))


def covariance_information(model: TwoWayIndependence, covariance: FloatArray, null: FloatArray) -> FloatArray:
    """Return the information about dependence in an estimate with this covariance."""
    directions = _directions(model, null)
    derivative = interaction_derivative(null.reshape(model.rows, model.columns))
    return directions.T @ np.linalg.pinv(derivative @ covariance @ derivative.T, hermitian=True) @ directions


def _efficient(information: Information, directions: FloatArray, tangents: FloatArray) -> FloatArray:
    weighted = information.times(tangents)[0]
    cross = directions.T @ weighted
    remaining: FloatArray = (
        directions.T @ information.times(directions)[0]
        - cross @ np.linalg.pinv(tangents.T @ weighted, hermitian=True) @ cross.T
    )
    return remaining


def _directions(model: TwoWayIndependence, null: FloatArray) -> FloatArray:
    """Return all dependences that leave the margins alone, as columns with Σ δ²/π = 1 and orthogonal in that sense."""
    row, column = (np.sqrt(margin) for margin in model.margins(model.nearest(null)))
    return np.kron(row[:, None] * _orthogonal_to(row), column[:, None] * _orthogonal_to(column))


def _orthogonal_to(unit: FloatArray) -> FloatArray:
    """Return orthonormal columns that are orthogonal to a unit vector with positive entries."""
    basis = np.linalg.qr(np.column_stack([unit, np.eye(unit.size)[:, 1:]])).Q
    return basis[:, 1:]
