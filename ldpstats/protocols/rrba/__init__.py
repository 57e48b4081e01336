"""RRBA: the protocol, its aggregator and its client, and when it stops."""

from ldpstats.protocols.rrba.aggregator import Aggregator
from ldpstats.protocols.rrba.device import Client
from ldpstats.protocols.rrba.protocol import RRBA
from ldpstats.protocols.rrba.query import Answer, Query
from ldpstats.protocols.rrba.rules import advised_block_size
from ldpstats.protocols.rrba.stopping import Convergence, convergence

__all__ = ["RRBA", "Aggregator", "Answer", "Client", "Convergence", "Query", "advised_block_size", "convergence"]
