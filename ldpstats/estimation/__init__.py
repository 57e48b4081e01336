"""Estimation over noise models: unbiased, most likely, or post-processed."""

from ldpstats.estimation.channel_fit import LEVEL, ChannelFit, channel_fit, tally_fit
from ldpstats.estimation.component_tests import ComponentTest, repeated_functions, report_sizes
from ldpstats.estimation.em import Fitted
from ldpstats.estimation.estimate import (
    ASSUMED,
    Estimate,
    Limits,
    among_proportions,
    invert,
    over_degrees_of_freedom,
    pvalue_in_words,
    refuse_empty,
)
from ldpstats.estimation.least_squares import generalized_least_squares, maximum_likelihood
from ldpstats.estimation.likelihood import expectation_maximization, iterative_bayesian_update, mixture_em, most_likely
from ldpstats.estimation.measured import Measured, measured_by, steadied
from ldpstats.estimation.methods import METHODS, ProcessedEstimate, known_method, processed
from ldpstats.estimation.pooling import LinearPooling
from ldpstats.estimation.postprocessing import POST_PROCESSING, NoiseVariance
from ldpstats.estimation.table_methods import TABLE_METHODS, TableMethod
from ldpstats.estimation.unbiased_estimates import (
    closed_form,
    full_blocks,
    last_two,
    two_blocks,
    unbiased,
    unbiased_weights,
)

__all__ = [
    "ASSUMED",
    "LEVEL",
    "METHODS",
    "POST_PROCESSING",
    "TABLE_METHODS",
    "ChannelFit",
    "ComponentTest",
    "Estimate",
    "Fitted",
    "Limits",
    "LinearPooling",
    "Measured",
    "NoiseVariance",
    "ProcessedEstimate",
    "TableMethod",
    "among_proportions",
    "channel_fit",
    "closed_form",
    "expectation_maximization",
    "full_blocks",
    "generalized_least_squares",
    "invert",
    "iterative_bayesian_update",
    "known_method",
    "last_two",
    "maximum_likelihood",
    "measured_by",
    "mixture_em",
    "most_likely",
    "over_degrees_of_freedom",
    "processed",
    "pvalue_in_words",
    "refuse_empty",
    "repeated_functions",
    "report_sizes",
    "steadied",
    "tally_fit",
    "two_blocks",
    "unbiased",
    "unbiased_weights",
]
