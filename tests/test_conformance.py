"""Every registered mechanism is certified, and the certifying suite itself catches planted bugs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ldpstats.conformance import CHECKS, ConformanceError, certify, exact_channel
from ldpstats.estimation import Estimate
from ldpstats.mechanisms import GRR, OUE, REGISTRY, SS, Mechanism, Reports
from ldpstats.randomness import GRID, Draws

VARIANTS = [*REGISTRY, pytest.param(lambda k, epsilon: SS(k, epsilon, omega=max(1, k // 2)), id="SS with omega = k/2")]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("make", VARIANTS)
def test_every_registered_mechanism_is_certified(make: Callable[..., Mechanism], check: Callable[..., None]) -> None:
    assert check(make) is None


@dataclass(frozen=True, slots=True)
class LastBitInClear(OUE):
    """The last bit of the vector is never randomized."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = np.unpackbits(OUE.randomize(self, values, draws), axis=1, count=self.k)
        bits[:, -1] = values == self.k - 1
        return np.packbits(bits, axis=1)


@dataclass(frozen=True, slots=True)
class FlipOffByOnePercent(OUE):
    """The sampler flips bits one percent less often than the estimator believes."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = draws.bernoulli(self._flip * 99 // 100, (values.size, self.k))
        bits[np.arange(values.size), values] = draws.bernoulli(GRID // 2, values.shape)
        return np.packbits(bits, axis=1)


@dataclass(frozen=True, slots=True)
class ClippedEstimator(GRR):
    """Estimates are cut at zero."""

    def estimate(self, reports_or_counts: Any, method: str = "unbiased") -> Estimate:
        raw = GRR.estimate(self, reports_or_counts, method)
        return replace(raw, estimate=np.maximum(raw.estimate, 0))


@dataclass(frozen=True, slots=True)
class RoundedAgainstPrivacy(GRR):
    """The truth's probability is rounded up, so the channel spends more than its level."""

    @property
    def _truth(self) -> int:
        return GRR._truth.__get__(self) + 1


@dataclass(frozen=True, slots=True)
class ClaimsMore(GRR):
    """The claimed ratio is a little smaller than the channel's."""

    def likelihood_ratio(self) -> Fraction:
        return GRR.likelihood_ratio(self) * Fraction(999_999, 1_000_000)


@dataclass(frozen=True, slots=True)
class ForeignValueInClear(GRR):
    """A value outside the alphabet goes out as it is."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        array = np.atleast_1d(np.asarray(values))
        if array.dtype.kind == "i" and array.max() >= self.k:
            return Reports.__new__(Reports)
        return GRR.privatize(self, values, rng)


@dataclass(frozen=True, slots=True)
class IgnoresItsSeed(GRR):
    """The seed does not reach the sampler."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        secure = GRR.privatize(self, values)
        return replace(secure, simulated=rng is not None)


@dataclass(frozen=True, slots=True)
class AlwaysSeeded(GRR):
    """The secure default is a fixed seed."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        return GRR.privatize(self, values, rng=1 if rng is None else rng)


@dataclass(frozen=True, slots=True)
class OneCoinForAll(GRR):
    """All respondents of a batch share one coin."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        other = draws.uniform(self.k - 1, values.shape)
        other += other >= values
        return np.where(draws.bernoulli(self._truth, 1), values, other)


@dataclass(frozen=True, slots=True)
class TruthComesLast(SS):
    """The order of the values in the report gives the truth away."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        subset = SS.randomize(self, values, draws)
        held = subset == values[:, None]
        return np.take_along_axis(subset, np.argsort(held, axis=1, kind="stable"), axis=1)


@dataclass(frozen=True, slots=True)
class SimulatesOneForAll(SS):
    """Aggregate simulation sends one report for all who share a value: right totals and means, but too much spread."""

    def simulate(self, true_counts: Any, size: int | None = None, rng: Any = None) -> Any:
        tally = SS.simulate(self, true_counts, size, rng)
        source = np.random.default_rng(rng)
        each = [
            int(count) * SS.simulate(self, np.eye(self.k, dtype=int)[value], size, source).counts
            for value, count in enumerate(true_counts)
        ]
        return replace(tally, counts=np.sum(each, axis=0))


PLANTED = {
    LastBitInClear: "privacy_is_exact",
    FlipOffByOnePercent: "privacy_is_exact",
    ClippedEstimator: "estimates_are_unbiased",
    RoundedAgainstPrivacy: "privacy_is_exact",
    ClaimsMore: "privacy_is_exact",
    ForeignValueInClear: "bad_values_are_refused",
    IgnoresItsSeed: "seeds_reproduce",
    AlwaysSeeded: "default_randomness_is_secure",
    OneCoinForAll: "reports_of_several_respondents_are_independent",
    TruthComesLast: "privacy_is_exact",
    SimulatesOneForAll: "aggregate_simulation_has_the_law_of_the_reports",
}


@pytest.mark.parametrize("broken", PLANTED, ids=lambda kind: kind.__name__)
def test_the_suite_catches_planted_bugs(broken: type[Mechanism]) -> None:
    check = next(check for check in CHECKS if check.__name__ == PLANTED[broken])
    with pytest.raises(ConformanceError):
        check(broken)
    with pytest.raises(ConformanceError):
        certify(broken)


def test_a_one_percent_error_of_a_flip_is_caught_by_the_noise_model_too() -> None:
    check = next(check for check in CHECKS if check.__name__ == "noise_model_is_exact")
    with pytest.raises(ConformanceError, match="mean of the tally is off by"):
        check(FlipOffByOnePercent)


def test_exact_channel_of_warners_randomized_response() -> None:
    truth, lie = (exact_channel(GRR(2, 1.0))[0][bytes([value])] for value in (0, 1))
    assert truth + lie == 1
    assert float(truth) == pytest.approx(np.e / (1 + np.e), rel=1e-15)
