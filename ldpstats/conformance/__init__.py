"""The conformance suite: certifies any mechanism, registered or your own, without new test code."""

from ldpstats.conformance.certification import CHECKS, FINEST_CHECKS, certify, check_named, checks_of
from ldpstats.conformance.enumeration import exact_channel
from ldpstats.conformance.memory import MEMO_CHECKS
from ldpstats.conformance.requirements import ConformanceError, Factory

__all__ = [
    "CHECKS",
    "FINEST_CHECKS",
    "MEMO_CHECKS",
    "ConformanceError",
    "Factory",
    "certify",
    "check_named",
    "checks_of",
    "exact_channel",
]
