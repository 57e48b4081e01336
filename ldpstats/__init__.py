"""ldpstats: the statistics of privatized categorical data.

A report is one draw from a public channel. Privacy, estimation, variance, intervals, tests and simulation are
functions of that channel, each written once; a mechanism brings only its channel and a sampler.
"""

from ldpstats.auditing import Audit, audit
from ldpstats.domain import Domain
from ldpstats.errors import DomainError, LdpstatsError, NotIdentifiedError, ReportError
from ldpstats.inference import (
    Association,
    IndependenceResult,
    MonteCarlo,
    association,
    independence_test,
    independence_tests,
)
from ldpstats.mechanisms import GRR, OUE, SS, mechanism, mechanisms, recommend
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols import SampledGroups
from ldpstats.tables import Table, TableSet
from ldpstats.views import views

__version__ = "0.1.0"

__all__ = [
    "GRR",
    "OUE",
    "SS",
    "Association",
    "Audit",
    "Domain",
    "DomainError",
    "IndependenceResult",
    "LdpstatsError",
    "MonteCarlo",
    "NotIdentifiedError",
    "PrivacyStatement",
    "ReportError",
    "SampledGroups",
    "Table",
    "TableSet",
    "association",
    "audit",
    "independence_test",
    "independence_tests",
    "mechanism",
    "mechanisms",
    "recommend",
    "views",
]
