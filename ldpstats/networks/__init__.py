"""Bayesian networks from tables of privatized answers: structure, parameters, queries, classifiers, records."""

from ldpstats.networks.dependency_graph import dependency_graph
from ldpstats.networks.lopub import lopub

__all__ = ["dependency_graph", "lopub"]
