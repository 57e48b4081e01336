"""Protocols: what each respondent is asked, and what that costs her privacy."""

from ldpstats.protocols.sampled_groups import SampledGroups

__all__ = ["SampledGroups"]
