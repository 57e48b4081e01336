"""Protocols: what each respondent is asked, and what that costs her privacy."""

from ldpstats.protocols.baselines import ProductDomain, WholeView
from ldpstats.protocols.central import CentralGaussian, CentralLaplace
from ldpstats.protocols.hadamard_coefficients import HadamardCoefficients
from ldpstats.protocols.per_attribute import PerAttribute
from ldpstats.protocols.rrba import RRBA
from ldpstats.protocols.sampled_groups import SampledGroups

__all__ = [
    "RRBA",
    "CentralGaussian",
    "CentralLaplace",
    "HadamardCoefficients",
    "PerAttribute",
    "ProductDomain",
    "SampledGroups",
    "WholeView",
]
