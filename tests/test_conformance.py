"""Every registered mechanism is certified, and the certifying suite itself catches planted bugs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from shared import LastBitInClear, RoundedAgainstPrivacy, TruthComesLast

from ldpstats.conformance import ConformanceError, certify, check_named, checks_of, exact_channel
from ldpstats.estimation import Estimate
from ldpstats.grid import GRID
from ldpstats.mechanisms import (
    GRR,
    HR,
    LGRR,
    LH,
    LOSUE,
    LUE,
    OUE,
    REGISTRY,
    SS,
    DBitFlip,
    DBitFlipPM,
    Mechanism,
    ReportFormat,
    Reports,
    SHist,
)
from ldpstats.mechanisms.hadamard import published_blocks
from ldpstats.noise import Information, SupportNoise
from ldpstats.randomness import Draws


def share_of(epsilon: Any, share: float) -> Any:
    """Return a first level; the bad levels that the suite tries go on as they are."""
    return min(share * epsilon, 30.0) if isinstance(epsilon, float) else epsilon


OPTIONS = {
    "SS with omega = k/2": lambda k, epsilon: SS(k, epsilon, omega=max(1, k // 2)),
    "LH with 3 symbols": lambda k, epsilon: LH(k, epsilon, symbols=3),
    "HR with the paper's blocks": lambda k, epsilon: HR(k, epsilon, published_blocks(k, epsilon)),
    "HR with k/3 blocks": lambda k, epsilon: HR(k, epsilon, blocks=max(1, k // 3)),
    "HR with k blocks": lambda k, epsilon: HR(k, epsilon, blocks=k),
    "SHist with k + 1 rows": lambda k, epsilon: SHist(k, epsilon, rows=k + 1, seed=5),
    "DBitFlip with one bit": lambda k, epsilon: DBitFlip(k, epsilon, d=1),
    "DBitFlip with all bits but one": lambda k, epsilon: DBitFlip(k, epsilon, d=max(1, k - 1)),
    "DBitFlip with all bits": lambda k, epsilon: DBitFlip(k, epsilon, d=k),
    "DBitFlipPM with one bit": lambda k, epsilon: DBitFlipPM(k, epsilon, d=1),
    "LGRR with a high first level": lambda k, epsilon: LGRR(k, epsilon, share_of(epsilon, 0.9)),
    "LOSUE with a low first level": lambda k, epsilon: LOSUE(k, epsilon, share_of(epsilon, 0.1)),
    "LUE with other options": lambda k, epsilon: LUE(k, epsilon, 0.7, share_of(epsilon, 0.6), show=0.9),
}
CERTIFIED = {**{kind.__name__: kind for kind in REGISTRY}, **OPTIONS}


@pytest.mark.parametrize(
    ("make", "check"),
    [
        pytest.param(make, check, id=f"{name}-{check.__name__}")
        for name, make in CERTIFIED.items()
        for check in checks_of(make)
    ],
)
def test_every_registered_mechanism_is_certified(make: Callable[..., Mechanism], check: Callable[..., None]) -> None:
    assert check(make) is None


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


@dataclass(frozen=True, slots=True)
class SecondByteInClear(OUE):
    """Only the first eight bits are randomized."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = np.unpackbits(OUE.randomize(self, values, draws), axis=1, count=self.k)
        bits[:, 8:] = values[:, None] == np.arange(8, self.k)
        return np.packbits(bits, axis=1)


@dataclass(frozen=True, slots=True)
class LargeAlphabetInClear(GRR):
    """Alphabets too large for an enumeration are not randomized."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        return values if self.k > 10 else GRR.randomize(self, values, draws)


@dataclass(frozen=True, slots=True)
class ByteReports(GRR):
    """Reports are bytes, however many values there are."""

    @property
    def report_format(self) -> ReportFormat:
        return ReportFormat(np.dtype(np.uint8))


@dataclass(frozen=True, slots=True)
class NeighboursShareACoin(GRR):
    """In a large batch two respondents at a time share their coin."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        if values.size <= 2:
            return GRR.randomize(self, values, draws)
        other = draws.uniform(self.k - 1, values.shape)
        other += other >= values
        coins = np.repeat(draws.bernoulli(self._truth, (values.size + 1) // 2), 2)[: values.size]
        return np.where(coins, values, other)


@dataclass(frozen=True, slots=True)
class ReportsInOrderOfTruth(GRR):
    """Reports leave sorted by what they hide."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        reports = GRR.privatize(self, values, rng)
        return replace(reports, data=reports.data[np.argsort(values, kind="stable")])


@dataclass(frozen=True, slots=True)
class CountsWrap(GRR):
    """Counts have sixteen bits."""

    def count(self, reports: Any) -> Any:
        tally = GRR.count(self, reports)
        wrapped = tally.counts & 0xFFFF
        return replace(tally, counts=wrapped, n=int(wrapped.sum()))


@dataclass(frozen=True, slots=True)
class WeakDefault(GRR):
    """Secure bytes are drawn and thrown away; the clock decides."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        if rng is not None:
            return GRR.privatize(self, values, rng)
        os.urandom(1000)
        return replace(GRR.privatize(self, values, rng=time.perf_counter_ns()), simulated=False)


@dataclass(frozen=True, slots=True)
class HalfTheBudget(GRR):
    """High levels are halved, under the pretext of a coarse grid."""

    @property
    def _truth(self) -> int:
        halved = GRR(self.k, self.epsilon / 2 if self.epsilon > 20 else self.epsilon)
        return GRR._truth.__get__(halved)


@dataclass(frozen=True, slots=True)
class OneLieForAllBits(OUE):
    """With many values, the other bits are copies of one draw, and the odd one out gives the truth away."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        if self.k < 10:
            return OUE.randomize(self, values, draws)
        bits = np.repeat(draws.bernoulli(self._flip, (values.size, 1)), self.k, axis=1)
        bits[np.arange(values.size), values] = draws.bernoulli(GRID // 2, values.shape)
        return np.packbits(bits, axis=1)


@dataclass(frozen=True, slots=True)
class LateValuesInClear(GRR):
    """Only the first three hundred values are randomized."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        return np.where(values < 300, GRR.randomize(self, values, draws), values)


@dataclass(frozen=True, slots=True)
class MiddleLevelsInClear(GRR):
    """Nothing is randomized between the levels 5 and 11."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        return values if 5 < self.epsilon < 11 else GRR.randomize(self, values, draws)


@dataclass(frozen=True, slots=True)
class BatchesOfSevenInClear(GRR):
    """Seven respondents at once are not randomized."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        return values if values.size == 7 else GRR.randomize(self, values, draws)


class DrawsOthers(SupportNoise):
    """Random respondents are drawn with a slightly different law."""

    def draw(self, frequencies: Any, n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return SupportNoise.independent(self.cells, self.p, self.q * 1.05).draw(frequencies, n, size, rng)


class ScoresOtherwise(SupportNoise):
    """The score forgets that values exclude each other."""

    def score(self, frequencies: Any, counts: Any, n: int) -> Any:
        score, information = super().score(frequencies, counts, n)
        return score, Information(information.diagonal)


@dataclass(frozen=True, slots=True)
class WrongDraw(OUE):
    """OUE with a noise model whose `draw` is off."""

    @property
    def noise(self) -> SupportNoise:
        honest = OUE.noise.__get__(self)
        return DrawsOthers(honest.cells, honest.p, honest.q, honest.r1, honest.r2)


@dataclass(frozen=True, slots=True)
class WrongScore(OUE):
    """OUE with a noise model whose information is off."""

    @property
    def noise(self) -> SupportNoise:
        honest = OUE.noise.__get__(self)
        return ScoresOtherwise(honest.cells, honest.p, honest.q, honest.r1, honest.r2)


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
    SecondByteInClear: "privacy_is_exact",
    LargeAlphabetInClear: "large_alphabets_follow_the_noise_model",
    ByteReports: "large_alphabets_follow_the_noise_model",
    NeighboursShareACoin: "neighbours_in_a_batch_are_independent",
    ReportsInOrderOfTruth: "public_sampler_follows_the_channel",
    CountsWrap: "tallies_merge",
    WeakDefault: "default_randomness_is_secure",
    HalfTheBudget: "strict_level_is_close_for_large_alphabets",
    OneLieForAllBits: "values_within_a_large_report_are_as_dependent_as_claimed",
    LateValuesInClear: "large_alphabets_follow_the_noise_model",
    MiddleLevelsInClear: "privacy_is_exact",
    BatchesOfSevenInClear: "batches_of_every_size_follow_the_channel",
    WrongDraw: "aggregate_simulation_has_the_law_of_the_reports",
    WrongScore: "score_and_information_are_exact",
    SimulatesOneForAll: "aggregate_simulation_has_the_law_of_the_reports",
}


@pytest.mark.parametrize("broken", PLANTED, ids=lambda kind: kind.__name__)
def test_the_suite_catches_planted_bugs(broken: type[Mechanism]) -> None:
    with pytest.raises(ConformanceError):
        check_named(PLANTED[broken])(broken)
    with pytest.raises(ConformanceError):
        certify(broken)


@dataclass(frozen=True, slots=True)
class CoarseCoin(GRR):
    """A device whose coin has twenty bits loses some of the budget, and says why."""

    @property
    def _truth(self) -> int:
        return GRR._truth.__get__(self) >> 44 << 44

    @property
    def slack_reason(self) -> str:
        return "probabilities are multiples of 2^-20"


def test_a_mechanism_may_stay_below_its_level_if_it_says_why() -> None:
    assert CoarseCoin(4, 1.0).strict_epsilon() < 1 - 1e-7
    assert certify(CoarseCoin) is None


def test_a_one_percent_error_of_a_flip_is_caught_by_the_noise_model_too() -> None:
    with pytest.raises(ConformanceError, match="mean of the tally is off by"):
        check_named("noise_model_is_exact")(FlipOffByOnePercent)


def test_exact_channel_of_warners_randomized_response() -> None:
    truth, lie = (exact_channel(GRR(2, 1.0))[0][bytes([value])] for value in (0, 1))
    assert truth + lie == 1
    assert float(truth) == pytest.approx(np.e / (1 + np.e), rel=1e-15)
