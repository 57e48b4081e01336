"""Noise models: privacy, variance, simulation and scores are written once, against these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ldpstats.errors import LdpstatsError
from ldpstats.noise.channels import DenseChannel, TruthOrFake
from ldpstats.noise.information import Information, solve_or_shortest
from ldpstats.noise.model import NoiseModel
from ldpstats.noise.multinomial import MultinomialNoise
from ldpstats.noise.support import SupportNoise
from ldpstats.noise.tally import Tally

__all__ = [
    "DenseChannel",
    "Information",
    "MultinomialNoise",
    "NoiseModel",
    "SupportNoise",
    "Tally",
    "TruthOrFake",
    "noise_from_dict",
    "solve_or_shortest",
]


def noise_from_dict(plain: Mapping[str, Any]) -> NoiseModel:
    """Read a noise model that `to_dict` wrote."""
    parameters = dict(plain)
    kind = parameters.pop("kind", None)
    if kind == "support":
        return SupportNoise(**parameters)
    if kind == "truth-or-fake":
        return MultinomialNoise(TruthOrFake(parameters["truth"], tuple(parameters["fake"])))
    if kind == "channel":
        return MultinomialNoise(DenseChannel(tuple(tuple(row) for row in parameters["rows"])))
    raise LdpstatsError(f"noise of kind {kind!r}", "'support', 'truth-or-fake' or 'channel'")
