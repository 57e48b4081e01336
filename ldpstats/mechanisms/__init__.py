"""Mechanisms: one file per way of encoding, all certified by the conformance suite."""

from ldpstats.mechanisms.base import GRID_LEVEL, Mechanism, ReportFormat, Reports
from ldpstats.mechanisms.grr import GRR
from ldpstats.mechanisms.oue import OUE
from ldpstats.mechanisms.registry import REGISTRY, mechanism, mechanisms, recommend
from ldpstats.mechanisms.ss import SS

__all__ = [
    "GRID_LEVEL",
    "GRR",
    "OUE",
    "REGISTRY",
    "SS",
    "Mechanism",
    "ReportFormat",
    "Reports",
    "mechanism",
    "mechanisms",
    "recommend",
]
