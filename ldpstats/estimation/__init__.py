"""Estimation over noise models."""

from ldpstats.estimation.estimate import Estimate, invert, over_degrees_of_freedom, refuse_empty
from ldpstats.estimation.pooling import LinearPooling

__all__ = ["Estimate", "LinearPooling", "invert", "over_degrees_of_freedom", "refuse_empty"]
