"""The conformance suite: certifies any mechanism, registered or your own, without new test code."""

from ldpstats.conformance.certification import certify, check_named, checks_of
from ldpstats.conformance.checks import CHECKS, ConformanceError, Factory
from ldpstats.conformance.enumeration import exact_channel
from ldpstats.conformance.memory import MEMO_CHECKS

__all__ = [
    "CHECKS",
    "MEMO_CHECKS",
    "ConformanceError",
    "Factory",
    "certify",
    "check_named",
    "checks_of",
    "exact_channel",
]
