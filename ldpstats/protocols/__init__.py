"""Protocols: what each respondent is asked, and what that costs her privacy."""

from ldpstats.protocols.assigned import Asked, AssignedQuestions
from ldpstats.protocols.central import CentralGaussian, CentralLaplace
from ldpstats.protocols.contract import LocalProtocol, Protocol
from ldpstats.protocols.hadamard_coefficients import HadamardCoefficients
from ldpstats.protocols.kinds import PROTOCOLS, register_protocol
from ldpstats.protocols.per_attribute import PerAttribute
from ldpstats.protocols.personal_levels import PersonalLevels
from ldpstats.protocols.repeated_rows import RepeatedRows
from ldpstats.protocols.rrba import RRBA
from ldpstats.protocols.sampled_groups import ProductDomain, SampledGroups, WholeView

__all__ = [
    "PROTOCOLS",
    "RRBA",
    "Asked",
    "AssignedQuestions",
    "CentralGaussian",
    "CentralLaplace",
    "HadamardCoefficients",
    "LocalProtocol",
    "PerAttribute",
    "PersonalLevels",
    "ProductDomain",
    "Protocol",
    "RepeatedRows",
    "SampledGroups",
    "WholeView",
    "register_protocol",
]
