"""Mechanisms: one file per way of encoding, all certified by the conformance suite."""

from ldpstats.mechanisms.base import GRID_LEVEL, Mechanism, ReportFormat, Reports
from ldpstats.mechanisms.grr import GRR, RR
from ldpstats.mechanisms.histogram import SHE
from ldpstats.mechanisms.registry import REGISTRY, mechanism, mechanisms, recommend
from ldpstats.mechanisms.ss import SS
from ldpstats.mechanisms.unary import OUE, SUE, THE, UE, OneHotCMS

__all__ = [
    "GRID_LEVEL",
    "GRR",
    "OUE",
    "REGISTRY",
    "RR",
    "SHE",
    "SS",
    "SUE",
    "THE",
    "UE",
    "Mechanism",
    "OneHotCMS",
    "ReportFormat",
    "Reports",
    "mechanism",
    "mechanisms",
    "recommend",
]
