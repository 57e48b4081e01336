"""Inference: hypotheses tested, effects measured and studies planned through the noise, from counts alone."""

from ldpstats.inference.effects.cramers_v import Association, association, mutual_information
from ldpstats.inference.effects.effect_size import Effect
from ldpstats.inference.effects.ratios import odds_ratio, proportion_difference, risk_difference, risk_ratio
from ldpstats.inference.engine.families import LinearSubspace, LogLinear, ProductOfConditionals
from ldpstats.inference.engine.monte_carlo import AmongMany, MonteCarlo
from ldpstats.inference.engine.null_model import NullModel
from ldpstats.inference.hypothesis_tests.all_pairs import independence_tests
from ldpstats.inference.hypothesis_tests.cell_frequencies import (
    goodness_of_fit_test,
    marginal_homogeneity_test,
    symmetry_test,
)
from ldpstats.inference.hypothesis_tests.collectors import CollectorComparison, compare_collectors, merge
from ldpstats.inference.hypothesis_tests.homogeneity import homogeneity_test
from ldpstats.inference.hypothesis_tests.independence import (
    conditional_independence_test,
    independence_test,
    joint_independence_test,
)
from ldpstats.inference.hypothesis_tests.log_linear import (
    LogLinearFit,
    log_linear_model,
    no_three_way_interaction_test,
    trend_test,
)
from ldpstats.inference.hypothesis_tests.result import Hypothesis, HypothesisResult, null_model_test
from ldpstats.inference.hypothesis_tests.tested_pairs import IndependenceTests
from ldpstats.inference.planning.best_channel import BestChannel, best_channel
from ldpstats.inference.planning.plans import Plan, plan
from ldpstats.inference.planning.sizing import (
    PowerCurve,
    SampleSizeCurve,
    power,
    power_curve,
    sample_size,
    sample_size_curve,
)
from ldpstats.inference.published import PublishedResult, naive_test, two_step_test

__all__ = [
    "AmongMany",
    "Association",
    "BestChannel",
    "CollectorComparison",
    "Effect",
    "Hypothesis",
    "HypothesisResult",
    "IndependenceTests",
    "LinearSubspace",
    "LogLinear",
    "LogLinearFit",
    "MonteCarlo",
    "NullModel",
    "Plan",
    "PowerCurve",
    "ProductOfConditionals",
    "PublishedResult",
    "SampleSizeCurve",
    "association",
    "best_channel",
    "compare_collectors",
    "conditional_independence_test",
    "goodness_of_fit_test",
    "homogeneity_test",
    "independence_test",
    "independence_tests",
    "joint_independence_test",
    "log_linear_model",
    "marginal_homogeneity_test",
    "merge",
    "mutual_information",
    "naive_test",
    "no_three_way_interaction_test",
    "null_model_test",
    "odds_ratio",
    "plan",
    "power",
    "power_curve",
    "proportion_difference",
    "risk_difference",
    "risk_ratio",
    "sample_size",
    "sample_size_curve",
    "symmetry_test",
    "trend_test",
    "two_step_test",
]
