"""The catalogue of planted bugs: a mechanism with a mistake or a leak each, and the check that must catch it."""

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
from support.shared import LastBitInClear, RoundedAgainstPrivacy, TruthComesLast

from ldpstats.arrays import BoolArray
from ldpstats.conformance import ConformanceError, certify, check_named, checks_of
from ldpstats.conformance.memory import another_value_has_an_answer_of_its_own
from ldpstats.estimation import Estimate
from ldpstats.grid import GRID
from ldpstats.mechanisms import GRR, LGRR, OLH, OUE, SS, Mechanism, Memo, ReportFormat, Reports
from ldpstats.noise import Information, MultinomialNoise, SupportNoise
from ldpstats.privacy import PrivacyStatement
from ldpstats.randomness import Draws


@dataclass(frozen=True, slots=True)
class FlipOffByOnePercent(OUE):
    """The sampler flips bits one percent less often than the estimator believes."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = draws.bernoulli(self.bit_numerators[1] * 99 // 100, (values.size, self.k))
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
        return np.where(draws.bernoulli(self.truth, 1), values, other)


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
        coins = np.repeat(draws.bernoulli(self.truth, (values.size + 1) // 2), 2)[: values.size]
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
    def truth(self) -> int:
        halved = GRR(self.k, self.epsilon / 2 if self.epsilon > 20 else self.epsilon)
        return GRR.truth.__get__(halved)


@dataclass(frozen=True, slots=True)
class OneLieForAllBits(OUE):
    """With many values, the other bits are copies of one draw, and the odd one out gives the truth away."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        if self.k < 10:
            return OUE.randomize(self, values, draws)
        bits = np.repeat(draws.bernoulli(self.bit_numerators[1], (values.size, 1)), self.k, axis=1)
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


@dataclass(frozen=True, slots=True)
class ValueInHighBits(GRR):
    """With more than 256 values the value stands in bits of the report that nobody reads."""

    @property
    def report_format(self) -> ReportFormat:
        return ReportFormat(np.dtype(np.uint32)) if self.k > 256 else GRR.report_format.__get__(self)

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        sent = GRR.randomize(self, values, draws).astype(np.int64)
        return sent + (values << 16) if self.k > 256 else sent

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        return (reports & 0xFFFF) < self.k

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(reports & 0xFFFF, minlength=self.k)


@dataclass(frozen=True, slots=True)
class LastValueIsNoLie(GRR):
    """With more than 256 values nobody lies with the last one."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        sent = GRR.randomize(self, values, draws)
        lie = (sent == self.k - 1) & (values != self.k - 1) & (self.k > 256)
        return np.where(lie, np.where(values == 0, 1, 0), sent)


@dataclass(frozen=True, slots=True)
class WeakUnlessSeeded(OUE):
    """Bits are flipped by two percent less where the draws are not simulated."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        if draws.simulated:
            return OUE.randomize(self, values, draws)
        bits = draws.bernoulli(self.bit_numerators[1] * 98 // 100, (values.size, self.k))
        bits[np.arange(values.size), values] = draws.bernoulli(GRID // 2, values.shape)
        return np.packbits(bits, axis=1)


@dataclass(frozen=True, slots=True)
class AnotherLevelUnlessSeeded(GRR):
    """Without a seed respondents use another level."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        if rng is not None:
            return GRR.privatize(self, values, rng)
        return replace(GRR.privatize(GRR(self.k, 1.1 * self.epsilon), values), mechanism=self)


@dataclass(frozen=True, slots=True)
class HalvedWithAReason(GRR):
    """The strict level is halved, with a reason."""

    def strict_epsilon(self) -> float:
        return GRR.strict_epsilon(self) / 2

    @property
    def slack_reason(self) -> str:
        return "probabilities are rounded"


@dataclass(frozen=True, slots=True)
class StatesATenth(GRR):
    """The privacy statement says a tenth of the level."""

    def privacy(self) -> PrivacyStatement:
        return PrivacyStatement(self.epsilon / 10, "the one value that a respondent reports")


@dataclass(frozen=True, slots=True)
class EstimatesStateATenth(GRR):
    """Estimates say a tenth of the level."""

    def estimate(self, reports_or_counts: Any, method: str = "unbiased") -> Estimate:
        raw = GRR.estimate(self, reports_or_counts, method)
        return replace(raw, privacy=PrivacyStatement(self.epsilon / 10, raw.privacy.unit))


@dataclass(frozen=True, slots=True)
class LiesByModulo(GRR):
    """Lies about a thousand values are sixteen bits modulo 999, so that some are likelier than others."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        if self.k < 1000:
            return GRR.randomize(self, values, draws)
        lies = draws.uniform(1 << 16, values.shape) % (self.k - 1)
        lies += lies >= values
        return np.where(draws.bernoulli(self.truth, values.shape), values, lies)


@dataclass(frozen=True, slots=True)
class EveryThirdCoinFixed(GRR):
    """Every third respondent's coin follows from the two before: any two of them are independent."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        if values.size < 3:
            return GRR.randomize(self, values, draws)
        other = draws.uniform(self.k - 1, values.shape)
        other += other >= values
        thirds = values.size // 3
        words = draws.uniform(1 << 16, values.shape)
        words[2 : 3 * thirds : 3] = (words[0 : 3 * thirds : 3] + words[1 : 3 * thirds : 3]) % (1 << 16)
        tied = draws.bernoulli((self.truth & ((1 << 48) - 1)) << 16, values.shape)
        coins = (words < self.truth >> 48) | ((words == self.truth >> 48) & tied)
        return np.where(coins, values, other)


@dataclass(frozen=True, slots=True)
class HugeBatchesInClear(GRR):
    """Nothing is randomized from half a million respondents on."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        return values if values.size > 500_000 else GRR.randomize(self, values, draws)


@dataclass(frozen=True, slots=True)
class BordersInClear(OUE):
    """The first respondent of every 65,536 but the very first goes out in clear."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = np.unpackbits(OUE.randomize(self, values, draws), axis=1, count=self.k)
        bits[1 << 16 :: 1 << 16] = values[1 << 16 :: 1 << 16, None] == np.arange(self.k)
        return np.packbits(bits, axis=1)


@dataclass(frozen=True, slots=True)
class DistantCopies(GRR):
    """In large batches the coins repeat themselves after 4096 respondents."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        coins = draws.bernoulli(self.truth, values.shape)
        if values.size > 50_000:
            coins = np.resize(np.tile(coins.reshape(-1)[:4096], 2), values.shape)
        other = draws.uniform(self.k - 1, values.shape)
        return np.where(coins, values, other + (other >= values))


@dataclass(frozen=True, slots=True)
class LastOfAThousandInClear(OUE):
    """Of a thousand values the last one never hides."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = np.unpackbits(OUE.randomize(self, values, draws), axis=1, count=self.k)
        if self.k >= 1000:
            bits[:, -1] = values == self.k - 1
        return np.packbits(bits, axis=1)


@dataclass(frozen=True, slots=True)
class HighLevelsOfManyInClear(GRR):
    """Beyond a level of 10, more than 100 values lie half as often as claimed."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        truth = self.truth if self.epsilon < 10 or self.k < 100 else (GRID + self.truth) // 2
        return draws.respond(values, self.k, truth)


@dataclass(frozen=True, slots=True)
class SimulatesWithoutNoise(OUE):
    """Simulations of more than a thousand respondents return the mean."""

    def simulate(self, true_counts: Any, size: int | None = None, rng: Any = None) -> Any:
        tally = OUE.simulate(self, true_counts, size, rng)
        if tally.n <= 1000:
            return tally
        mean = tally.n * self.noise.mean(np.asarray(true_counts) / tally.n)
        return replace(tally, counts=np.broadcast_to(np.rint(mean), tally.counts.shape).astype(np.int64))


class DrawsFew(SupportNoise):
    """Many random respondents are drawn as copies of a tenth of them."""

    def draw(self, frequencies: Any, n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        honest = SupportNoise.draw(self, frequencies, n if n < 1000 else n // 10, size, rng)
        return honest if n < 1000 else 10 * honest


class WrongPairs(SupportNoise):
    """The covariance of two values that are not the true one is off, beyond a hundred values."""

    def report_covariance(self, frequencies: Any) -> Any:
        covariance = SupportNoise.report_covariance(self, frequencies)
        if self.cells > 100:
            pairs = 0.1 * self.r2 * (1 - np.eye(self.cells))
            covariance = covariance + pairs
        return covariance


class WrongLikelihoodOfMany(SupportNoise):
    """Beyond a hundred values the likelihood of the last one is a tenth too large."""

    def log_likelihoods(self, tallies: Any) -> Any:
        said = SupportNoise.log_likelihoods(self, tallies)
        return said + 0.1 * (np.arange(self.cells) == self.cells - 1) * (self.cells > 100)


def _with_noise(kind: type[SupportNoise], name: str) -> type[OUE]:
    """Return OUE with another noise model."""

    @dataclass(frozen=True, slots=True)
    class Changed(OUE):
        @property
        def noise(self) -> SupportNoise:
            honest = OUE.noise.__get__(self)
            return kind(honest.cells, honest.p, honest.q, honest.r1, honest.r2)

    Changed.__name__ = name
    return Changed


DrawsFewCopies = _with_noise(DrawsFew, "DrawsFewCopies")
WrongPairsOfMany = _with_noise(WrongPairs, "WrongPairsOfMany")
LikelihoodOfManyOff = _with_noise(WrongLikelihoodOfMany, "LikelihoodOfManyOff")


@dataclass(frozen=True, slots=True)
class WrongChannelOfMany(GRR):
    """Beyond a hundred values the noise model takes the truth for rarer than it is."""

    @property
    def noise(self) -> MultinomialNoise:
        honest = GRR(self.k, self.epsilon if self.k < 100 else 0.999 * self.epsilon)
        return GRR.noise.__get__(honest)


@dataclass(frozen=True, slots=True)
class FunctionTellsTheValue(OLH):
    """With many values the hash function's last bit is the value's."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        reports = OLH.randomize(self, values, draws)
        if self.k > 256:
            reports[:, 1] = reports[:, 1] & ~np.uint64(1) | (values & 1).astype(np.uint64)
        return reports


@dataclass(frozen=True, slots=True)
class TakesOneMore(GRR):
    """A report that nobody sends is taken for possible, and not counted."""

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        return reports <= self.k

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(reports, minlength=self.k + 1)[: self.k]


@dataclass(frozen=True, slots=True)
class CountsDuplicatesOnce(GRR):
    """Of more than five hundred reports, equal ones in a row are taken for one that was sent twice."""

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        if len(reports) > 500:
            reports = reports[np.append(True, reports[1:] != reports[:-1])]
        return np.bincount(reports, minlength=self.k)


@dataclass(frozen=True, slots=True)
class LastWordIsLost(OUE):
    """The bits of the last word are not counted where there is more than one, but for single reports."""

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        counts = OUE.count_reports(self, reports)
        if self.k > 64 and len(reports) > 1:
            counts[self.k // 64 * 64 :] = 0
        return counts


@dataclass(frozen=True, slots=True)
class WrittenDownRounded(GRR):
    """The level is written down with three digits."""

    def to_dict(self) -> dict[str, Any]:
        return {**GRR.to_dict(self), "epsilon": round(self.epsilon, 3)}


@dataclass(frozen=True, slots=True, eq=False)
class AllAreEqual(GRR):
    """Mechanisms of one kind are equal, whatever their levels."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.k == self.k  # type: ignore[attr-defined]

    __hash__ = Mechanism.__hash__


PLANTED: dict[Callable[..., Mechanism], str] = {
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
    ValueInHighBits: "large_alphabets_are_exact",
    LastValueIsNoLie: "large_alphabets_are_exact",
    WeakUnlessSeeded: "secure_reports_are_made_as_seeded_ones",
    AnotherLevelUnlessSeeded: "secure_reports_follow_the_channel",
    HalvedWithAReason: "privacy_statements_are_exact",
    StatesATenth: "privacy_statements_are_exact",
    EstimatesStateATenth: "privacy_statements_are_exact",
    LiesByModulo: "large_alphabets_are_exact",
    EveryThirdCoinFixed: "three_respondents_are_independent",
    HugeBatchesInClear: "large_batches_are_like_small_ones",
    BordersInClear: "large_batches_are_like_small_ones",
    DistantCopies: "large_batches_are_like_small_ones",
    LastOfAThousandInClear: "large_reports_tell_no_more_than_claimed",
    HighLevelsOfManyInClear: "large_alphabets_are_exact",
    SimulatesWithoutNoise: "simulation_at_scale_varies_as_claimed",
    DrawsFewCopies: "simulation_at_scale_varies_as_claimed",
    WrongPairsOfMany: "large_tallies_add_up",
    LikelihoodOfManyOff: "large_likelihoods_are_proper",
    WrongChannelOfMany: "large_alphabets_are_exact",
    FunctionTellsTheValue: "large_alphabets_are_exact",
    TakesOneMore: "possible_reports_are_those_that_are_sent",
    CountsDuplicatesOnce: "large_tallies_add_up",
    LastWordIsLost: "large_tallies_add_up",
    WrittenDownRounded: "parameters_tell_mechanisms_apart",
    AllAreEqual: "parameters_tell_mechanisms_apart",
}


@pytest.mark.parametrize("broken", PLANTED, ids=lambda kind: kind.__name__)
def test_its_check_catches_it(broken: type[Mechanism]) -> None:
    check = check_named(PLANTED[broken])
    assert check in checks_of(broken)
    with pytest.raises(ConformanceError):
        check(broken)


def test_certification_stops_at_a_planted_bug() -> None:
    with pytest.raises(ConformanceError, match="a report gives a value away with certainty"):
        certify(LastBitInClear)


def test_a_one_percent_error_of_a_flip_is_caught_by_the_noise_model_too() -> None:
    with pytest.raises(ConformanceError, match="mean of the tally is off by"):
        check_named("noise_model_is_exact")(FlipOffByOnePercent)


@pytest.mark.parametrize("broken", [WeakUnlessSeeded, AnotherLevelUnlessSeeded], ids=lambda kind: kind.__name__)
def test_a_law_of_its_own_for_secure_reports_shows_in_them_and_in_their_words(broken: type[Mechanism]) -> None:
    """The first check compares words; the second only reports, and misses a flip that is off by two percent."""
    with pytest.raises(ConformanceError, match="made otherwise than seeded ones"):
        check_named("secure_reports_are_made_as_seeded_ones")(broken)


class OneAnswerForEverything(Memo):
    """A permanent answer is used again for whatever value the respondent has."""

    def _keys_of(self, users: Any, permanent: Any, values: Any) -> Any:
        return Memo._keys_of(self, users, permanent, np.zeros_like(values))


def test_a_memo_that_uses_an_answer_for_another_value_is_caught() -> None:
    with pytest.raises(ConformanceError, match="is not about the value"):
        another_value_has_an_answer_of_its_own(LGRR, OneAnswerForEverything)
