"""Bayesian networks from tables of privatized answers: structure, parameters, queries, classifiers, records."""

from ldpstats.networks.bayesian_network import BayesianNetwork
from ldpstats.networks.classifier import Classifier, naive_bayes, tree_augmented
from ldpstats.networks.constraint_search import triples_to_ask
from ldpstats.networks.expected_accuracy import ExpectedAccuracy
from ldpstats.networks.learned_network import LearnedNetwork
from ldpstats.networks.learning import learn_network
from ldpstats.networks.lopub import dependency_graph, lopub
from ldpstats.networks.network_comparison import NetworkComparison, compare_networks
from ldpstats.networks.parameters import FittedParameters, fit_parameters
from ldpstats.networks.queries import QueryResult, query

__all__ = [
    "BayesianNetwork",
    "Classifier",
    "ExpectedAccuracy",
    "FittedParameters",
    "LearnedNetwork",
    "NetworkComparison",
    "QueryResult",
    "compare_networks",
    "dependency_graph",
    "fit_parameters",
    "learn_network",
    "lopub",
    "naive_bayes",
    "query",
    "tree_augmented",
    "triples_to_ask",
]
