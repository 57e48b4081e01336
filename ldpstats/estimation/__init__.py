"""Estimation over noise models: unbiased, most likely, or post-processed."""

from ldpstats.estimation.channel_fit import LEVEL, ChannelFit, channel_fits
from ldpstats.estimation.estimate import ASSUMED, Estimate, invert, pvalue_in_words, refuse_empty
from ldpstats.estimation.likelihood import mixture_em, most_likely
from ldpstats.estimation.measured import Measured
from ldpstats.estimation.methods import METHODS, ProcessedEstimate
from ldpstats.estimation.table_methods import TABLE_METHODS, TableMethod
from ldpstats.estimation.unbiased_estimates import LinearPooling, two_blocks, unbiased

__all__ = [
    "ASSUMED",
    "LEVEL",
    "METHODS",
    "TABLE_METHODS",
    "ChannelFit",
    "Estimate",
    "LinearPooling",
    "Measured",
    "ProcessedEstimate",
    "TableMethod",
    "channel_fits",
    "invert",
    "mixture_em",
    "most_likely",
    "pvalue_in_words",
    "refuse_empty",
    "two_blocks",
    "unbiased",
]
