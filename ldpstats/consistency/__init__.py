"""Consistency: noisy tables that overlap, made to agree; and tables that nobody collected, put together from them."""

from ldpstats.consistency.consistent import make_consistent
from ldpstats.consistency.reconstruction import reconstruct

__all__ = ["make_consistent", "reconstruct"]
