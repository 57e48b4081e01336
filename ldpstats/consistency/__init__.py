"""Consistency: noisy tables that overlap, made to agree; and tables that nobody collected, put together from them."""

from ldpstats.consistency.calm import calm_views, covering_groups
from ldpstats.consistency.consistency_report import ConsistencyReport, consistency_report
from ldpstats.consistency.consistent import make_consistent
from ldpstats.consistency.marginals import Marginal
from ldpstats.consistency.reconstruction import reconstruct
from ldpstats.consistency.reconstruction_methods import RECONSTRUCTION_METHODS, ReconstructionMethod, from_marginals

__all__ = [
    "RECONSTRUCTION_METHODS",
    "ConsistencyReport",
    "Marginal",
    "ReconstructionMethod",
    "calm_views",
    "consistency_report",
    "covering_groups",
    "from_marginals",
    "make_consistent",
    "reconstruct",
]
