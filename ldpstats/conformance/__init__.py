"""The conformance suite: certifies any mechanism or protocol, registered or your own, without new test code."""

from ldpstats.conformance.certification import CHECKS, FINEST_CHECKS, certify, check_named, checks_of
from ldpstats.conformance.enumeration import exact_channel
from ldpstats.conformance.protocol_checks import certify_protocol
from ldpstats.conformance.requirements import ConformanceError, Factory

__all__ = [
    "CHECKS",
    "FINEST_CHECKS",
    "ConformanceError",
    "Factory",
    "certify",
    "certify_protocol",
    "check_named",
    "checks_of",
    "exact_channel",
]
