"""The conformance suite: certifies any mechanism, registered or your own, without new test code."""

from ldpstats.conformance.checks import CHECKS, ConformanceError, Factory, certify
from ldpstats.conformance.enumeration import exact_channel

__all__ = ["CHECKS", "ConformanceError", "Factory", "certify", "exact_channel"]
