"""Estimation over noise models."""

from ldpstats.estimation.estimate import Estimate, invert, refuse_empty
from ldpstats.estimation.pooling import LinearPooling

__all__ = ["Estimate", "LinearPooling", "invert", "refuse_empty"]
