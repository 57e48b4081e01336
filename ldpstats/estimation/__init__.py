"""Estimation over noise models: unbiased, most likely, or post-processed."""

from ldpstats.estimation.channel_fit import LEVEL, ChannelFit, channel_fits
from ldpstats.estimation.estimate import ASSUMED, Estimate, Limits, invert, pvalue_in_words, refuse_empty
from ldpstats.estimation.likelihood import (
    Fitted,
    expectation_maximization,
    iterative_bayesian_update,
    mixture_em,
    most_likely,
)
from ldpstats.estimation.measured import Measured
from ldpstats.estimation.methods import METHODS, POST_PROCESSING, NoiseVariance, ProcessedEstimate
from ldpstats.estimation.table_methods import TABLE_METHODS, TableMethod, maximum_likelihood
from ldpstats.estimation.unbiased_estimates import LinearPooling, two_blocks, unbiased

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
