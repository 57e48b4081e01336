"""Estimation over noise models: unbiased, most likely, or post-processed."""

from ldpstats.estimation.channel_fit import LEVEL, ChannelFit, channel_fits
from ldpstats.estimation.em import Fitted
from ldpstats.estimation.estimate import ASSUMED, Estimate, Limits, invert, pvalue_in_words, refuse_empty
from ldpstats.estimation.least_squares import maximum_likelihood
from ldpstats.estimation.likelihood import expectation_maximization, iterative_bayesian_update, mixture_em, most_likely
from ldpstats.estimation.measured import Measured
from ldpstats.estimation.methods import METHODS, ProcessedEstimate
from ldpstats.estimation.pooling import LinearPooling
from ldpstats.estimation.postprocessing import POST_PROCESSING, NoiseVariance
from ldpstats.estimation.table_methods import TABLE_METHODS, TableMethod
from ldpstats.estimation.unbiased_estimates import two_blocks, unbiased

__all__ = [
    "ASSUMED",
    "LEVEL",
    "METHODS",
    "POST_PROCESSING",
    "TABLE_METHODS",
    "ChannelFit",
    "Estimate",
    "Fitted",
    "Limits",
    "LinearPooling",
    "Measured",
    "NoiseVariance",
    "ProcessedEstimate",
    "TableMethod",
    "channel_fits",
    "expectation_maximization",
    "invert",
    "iterative_bayesian_update",
    "maximum_likelihood",
    "mixture_em",
    "most_likely",
    "pvalue_in_words",
    "refuse_empty",
    "two_blocks",
    "unbiased",
]
