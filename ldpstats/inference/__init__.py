"""Inference: hypotheses tested and effects measured through the noise, from counts alone."""

from ldpstats.inference.effects import Association, association
from ldpstats.inference.independence import independence_test
from ldpstats.inference.many import independence_tests
from ldpstats.inference.monte_carlo import MonteCarlo
from ldpstats.inference.result import IndependenceResult

__all__ = ["Association", "IndependenceResult", "MonteCarlo", "association", "independence_test", "independence_tests"]
