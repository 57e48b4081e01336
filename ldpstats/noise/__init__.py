"""Noise models: privacy, variance, simulation and scores are written once, against these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.noise.additive import AdditiveNoise, DiscreteLaplace, NoisyCounts, RoundedGaussian
from ldpstats.noise.channels import ChannelNoise, CohortChannel, DenseChannel, MultinomialNoise, TruthOrFake
from ldpstats.noise.hadamard import HadamardRandomizedResponse, HadamardResponse
from ldpstats.noise.information import Information, shortest, solve_or_shortest
from ldpstats.noise.model import NoiseModel, ReportTotal
from ldpstats.noise.pattern_channel import PatternChannel, pattern_channel
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
    "noise_from_dict",
    "shortest",
    "simulation",
    "solve_or_shortest",
]

_READERS: Mapping[str, Callable[..., NoiseModel]] = {
    "support": SupportNoise,
    "summed support": lambda sizes, **parameters: SummedSupport(SupportNoise(**parameters), tuple(sizes)),
    "patterns": lambda **parameters: MultinomialNoise(pattern_channel(SupportNoise(**parameters))),
    "revealed bits": RevealedBits,
    "additive": lambda cells, weights: AdditiveNoise(cells, tuple(weights)),
    "discrete laplace": lambda scale, cells, n: NoisyCounts(cells, n, DiscreteLaplace(scale)),
    "rounded gaussian": lambda sigma, cells, n: NoisyCounts(cells, n, RoundedGaussian(sigma)),
    "truth-or-fake": lambda truth, fake: MultinomialNoise(TruthOrFake(truth, tuple(fake))),
    "channel": lambda rows: MultinomialNoise(DenseChannel(tuple(map(tuple, rows)))),
    "cohorts": lambda **parameters: MultinomialNoise(CohortChannel(**parameters)),
    "hadamard-response": lambda **parameters: MultinomialNoise(HadamardResponse(**parameters)),
    "hadamard-coefficients": lambda **parameters: MultinomialNoise(HadamardRandomizedResponse(**parameters)),
}


def noise_from_dict(plain: Mapping[str, Any]) -> NoiseModel:
    """Read a noise model that `to_dict` wrote.

    Parameters
    ----------
    plain : mapping
    """
    parameters = dict(plain)
    kind = parameters.pop("kind", None)
    read = _READERS.get(kind) if isinstance(kind, str) else None
    if read is None:
        raise LdpstatsError(f"noise of kind {kind!r}", one_line(list(_READERS)))
    return read(**parameters)
