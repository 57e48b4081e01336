"""Detectability: the power that a test had against a dependence of stated strength."""

from __future__ import annotations

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.inference.evidence import Evidence
from ldpstats.inference.null_model import TwoWayIndependence
from ldpstats.inference.statistics import interaction_derivative
from ldpstats.noise import Information


def power_of(information: FloatArray, cramers_v: float, smaller_side: int, alpha: float = 0.05) -> float:
    """Return the approximate power against a dependence with this Cramér's V, averaged over its directions.

    The test statistic is then noncentral χ²; its noncentrality is quadratic in the dependence, so the average
    over all directions of the same strength needs the trace of the information only.
    """
    from scipy.stats import chi2, ncx2

    df = len(information)
    noncentrality = cramers_v**2 * (smaller_side - 1) * float(np.trace(information)) / df
    return float(ncx2.sf(chi2.isf(alpha, df), df, noncentrality))


def evidence_information(model: TwoWayIndependence, evidence: Evidence, null: FloatArray) -> FloatArray:
    """Return the information about dependence that is left when the margins are unknown."""
    _, information = evidence.score(null[None, :])
    parameters = model.nearest(null)
    return _efficient(information, _directions(model, null), model.jacobian(parameters))


def covariance_information(model: TwoWayIndependence, covariance: FloatArray, null: FloatArray) -> FloatArray:
    """Return the information about dependence in an estimate with this covariance."""
    directions = _directions(model, null)
    derivative = interaction_derivative(null.reshape(model.rows, model.columns))
    return directions.T @ np.linalg.pinv(derivative @ covariance @ derivative.T, hermitian=True) @ directions


def _efficient(information: Information, directions: FloatArray, tangents: FloatArray) -> FloatArray:
    weighted = information.times(tangents)[0]
    cross = directions.T @ weighted
    return (
        directions.T @ information.times(directions)[0]
        - cross @ np.linalg.pinv(tangents.T @ weighted, hermitian=True) @ cross.T
    )


def _directions(model: TwoWayIndependence, null: FloatArray) -> FloatArray:
    """Return all dependences that leave the margins alone, as columns with Σ δ²/π = 1 and orthogonal in that sense."""
    row, column = (np.sqrt(margin) for margin in model.margins(model.nearest(null)))
    return np.kron(row[:, None] * _orthogonal_to(row), column[:, None] * _orthogonal_to(column))


def _orthogonal_to(unit: FloatArray) -> FloatArray:
    """Return orthonormal columns that are orthogonal to a unit vector with positive entries."""
    basis = np.linalg.qr(np.column_stack([unit, np.eye(unit.size)[:, 1:]])).Q
    return basis[:, 1:]
