"""Estimation over noise models: unbiased, most likely, or post-processed."""

from ldpstats.estimation.estimate import Estimate, invert, over_degrees_of_freedom, refuse_empty
from ldpstats.estimation.likelihood import Fitted, expectation_maximization, iterative_bayesian_update, mixture_em
from ldpstats.estimation.methods import METHODS, ProcessedEstimate, known_method, processed
from ldpstats.estimation.pooling import LinearPooling
from ldpstats.estimation.postprocessing import POST_PROCESSING, NoiseVariance

__all__ = [
    "METHODS",
    "POST_PROCESSING",
    "Estimate",
    "Fitted",
    "LinearPooling",
    "NoiseVariance",
    "ProcessedEstimate",
    "expectation_maximization",
    "invert",
    "iterative_bayesian_update",
    "known_method",
    "mixture_em",
    "over_degrees_of_freedom",
    "processed",
    "refuse_empty",
]
