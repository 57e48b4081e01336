"""RRBA: the protocol, its aggregator and its client."""

from ldpstats.protocols.rrba.aggregator import Aggregator
from ldpstats.protocols.rrba.client import Client
from ldpstats.protocols.rrba.protocol import RRBA
from ldpstats.protocols.rrba.query import Answer, Query
from ldpstats.protocols.rrba.rules import advised_block_size

__all__ = ["RRBA", "Aggregator", "Answer", "Client", "Query", "advised_block_size"]
