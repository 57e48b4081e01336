"""Noise models: privacy, variance, simulation and scores are written once, against these."""

from __future__ import annotations

from ldpstats.noise.additive import AdditiveNoise
from ldpstats.noise.channels import DenseChannel, TruthOrFake
from ldpstats.noise.cohort_channel import CohortChannel
from ldpstats.noise.hadamard import HadamardRandomizedResponse, HadamardResponse
from ldpstats.noise.information import Information, shortest, solve_or_shortest
from ldpstats.noise.model import NoiseModel
from ldpstats.noise.multinomial import MultinomialNoise
from ldpstats.noise.noisy_counts import DiscreteLaplace, NoisyCounts, RoundedGaussian
from ldpstats.noise.pattern_channel import PatternChannel
from ldpstats.noise.report_total import ReportTotal
from ldpstats.noise.revealed import RevealedBits
from ldpstats.noise.summed import SummedSupport
from ldpstats.noise.support import SupportNoise
from ldpstats.noise.tally import Tally, simulation

__all__ = [
    "AdditiveNoise",
    "CohortChannel",
    "DenseChannel",
    "DiscreteLaplace",
    "HadamardRandomizedResponse",
    "HadamardResponse",
    "Information",
    "MultinomialNoise",
    "NoiseModel",
    "NoisyCounts",
    "PatternChannel",
    "ReportTotal",
    "RevealedBits",
    "RoundedGaussian",
    "SummedSupport",
    "SupportNoise",
    "Tally",
    "TruthOrFake",
    "shortest",
    "simulation",
    "solve_or_shortest",
]
