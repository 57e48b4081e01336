"""Noise models: privacy, variance, simulation and scores are written once, against these."""

from __future__ import annotations

from ldpstats.noise.additive import AdditiveNoise, DiscreteLaplace, NoisyCounts, RoundedGaussian
from ldpstats.noise.channels import ChannelNoise, CohortChannel, DenseChannel, MultinomialNoise, TruthOrFake
from ldpstats.noise.hadamard import HadamardRandomizedResponse, HadamardResponse
from ldpstats.noise.information import Information, shortest, solve_or_shortest
from ldpstats.noise.model import NoiseModel, ReportTotal
from ldpstats.noise.pattern_channel import PatternChannel
from ldpstats.noise.revealed import RevealedBits
from ldpstats.noise.support import SummedSupport, SupportNoise
from ldpstats.noise.tally import Tally, simulation

__all__ = [
    "AdditiveNoise",
    "ChannelNoise",
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
