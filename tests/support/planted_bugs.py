"""Planted bugs: mechanisms with a mistake or a leak each, and the check that must catch it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.conformance import ConformanceError
from ldpstats.errors import ReportError
from ldpstats.estimation import Estimate
from ldpstats.mechanisms import (
    BLH,
    CMS,
    GRR,
    HR,
    HRR,
    LBLH,
    LGRR,
    LSUE,
    OLH,
    ORR,
    OUE,
    RAPPOR,
    SHE,
    SS,
    DBitFlip,
    Mechanism,
    Memo,
    ReportFormat,
    Reports,
    SHist,
)
from ldpstats.mechanisms.cohorts import Codes, flip_numerator
from ldpstats.mechanisms.longitudinal_rounds import ResponseTwice
from ldpstats.mechanisms.patterns import Patterns
from ldpstats.noise import (
    CohortChannel,
    DenseChannel,
    HadamardRandomizedResponse,
    Information,
    MultinomialNoise,
    PatternChannel,
    RevealedBits,
    SupportNoise,
    Tally,
    TruthOrFake,
)
from ldpstats.numbers.arrays import BoolArray, FloatArray
from ldpstats.numbers.grid import GRID, favoured_numerator
from ldpstats.numbers.hashing import symbols_of
from ldpstats.numbers.randomness import Draws
from ldpstats.privacy import PrivacyStatement

Kind = TypeVar("Kind", bound=type)


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """A mechanism that a check must not pass."""

    make: Callable[..., Mechanism]
    check: str
    error: type[Exception]


PLANTED: dict[str, PlantedBug] = {}
_SEEDS = np.random.default_rng(1).integers(0, (1 << 64) - 1, size=(16, 2), dtype=np.uint64, endpoint=True)


def caught_by(check: str, error: type[Exception] = ConformanceError, **options: Any) -> Callable[[Kind], Kind]:
    """Add a mechanism to the catalogue, with the check that must catch it, and options of the mechanism."""

    def planted(kind: Kind) -> Kind:
        PLANTED[kind.__name__] = PlantedBug(partial(kind, **options) if options else kind, check, error)
        return kind

    return planted


def with_noise_caught_by(check: str) -> Callable[[Kind], Kind]:
    """Add OUE with another noise model."""

    def planted(noise: Kind) -> Kind:
        def changed(self: OUE) -> SupportNoise:
            honest = OUE.noise.__get__(self)
            return noise(honest.cells, honest.p, honest.q, honest.r1, honest.r2)

        kind = type(noise.__name__, (OUE,), {"noise": property(changed)})
        PLANTED[noise.__name__] = PlantedBug(kind, check, ConformanceError)
        return noise

    return planted


def with_patterns_caught_by(check: str) -> Callable[[Kind], Kind]:
    """Add OUE whose finest tally, that of whole reports, is seen through another channel."""

    def planted(channel: Kind) -> Kind:
        patterns = type("Patterned", (Patterns,), {"noise": property(lambda self: channel(self.sender.noise))})
        kind = type(channel.__name__, (OUE,), {"finest": property(patterns)})
        PLANTED[channel.__name__] = PlantedBug(kind, f"{check}_in_the_finest_tally", ConformanceError)
        return channel

    return planted


def other_values(k: int, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
    """Draw one of the other values for each."""
    other = draws.uniform(k - 1, values.shape)
    return other + (other >= values)


def with_own_bits(bits: BoolArray, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
    """Draw the bits of the true values as OUE does, and pack all."""
    bits[np.arange(values.size), values] = draws.bernoulli(GRID // 2, values.shape)
    return np.packbits(bits, axis=1)


def one_symbol_fewer(codes: Codes) -> Codes:
    """Return what a client hashes to who thinks that there is one symbol less."""
    return Codes(codes.symbols % (codes.width - 1), codes.width)


# Randomized response, unary encoding and subset selection.


@caught_by("privacy_is_exact")
class LastBitInClear(OUE):
    """The last bit of the vector is never randomized."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = np.unpackbits(super().randomize(values, draws), axis=1, count=self.k)
        bits[:, -1] = values == self.k - 1
        return np.packbits(bits, axis=1)


@caught_by("privacy_is_exact")
class RoundedAgainstPrivacy(GRR):
    """The truth's probability is rounded up, so the channel spends more than its level."""

    @property
    def truth(self) -> int:
        return super().truth + 1


@caught_by("privacy_is_exact")
class TruthComesLast(SS):
    """The order of the values in the report gives the truth away."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        subset = super().randomize(values, draws)
        held = subset == values[:, None]
        return np.take_along_axis(subset, np.argsort(held, axis=1, kind="stable"), axis=1)


@caught_by("privacy_is_exact")
class FlipOffByOnePercent(OUE):
    """The sampler flips bits one percent less often than the estimator believes."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = draws.bernoulli(self.bit_numerators[1] * 99 // 100, (values.size, self.k))
        return with_own_bits(bits, values, draws)


@caught_by("estimates_are_unbiased")
class ClippedEstimator(GRR):
    """Estimates are cut at zero."""

    def estimate(self, reports_or_counts: Any, method: str = "unbiased") -> Estimate:
        raw = super().estimate(reports_or_counts, method)
        return replace(raw, estimate=np.maximum(raw.estimate, 0))


@caught_by("privacy_is_exact")
class ClaimsMore(GRR):
    """The claimed ratio is a little smaller than the channel's."""

    def likelihood_ratio(self) -> Fraction:
        return super().likelihood_ratio() * Fraction(999_999, 1_000_000)


@caught_by("bad_values_are_refused")
class ForeignValueInClear(GRR):
    """A value outside the alphabet goes out as it is."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        array = np.atleast_1d(np.asarray(values))
        if array.dtype.kind == "i" and array.max() >= self.k:
            return Reports.__new__(Reports)
        return super().privatize(values, rng)


@caught_by("chance_comes_from_secure_bytes_or_a_seed")
class IgnoresItsSeed(GRR):
    """The seed does not reach the sampler."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        secure = super().privatize(values)
        return replace(secure, simulated=rng is not None)


@caught_by("chance_comes_from_secure_bytes_or_a_seed")
class AlwaysSeeded(GRR):
    """The secure default is a fixed seed."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        return super().privatize(values, rng=1 if rng is None else rng)


@caught_by("reports_of_several_respondents_are_independent")
class OneCoinForAll(GRR):
    """All respondents of a batch share one coin."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        other = other_values(self.k, values, draws)
        return np.where(draws.bernoulli(self.truth, 1), values, other)


@caught_by("large_alphabets_follow_the_noise_model")
class ByteReports(GRR):
    """Reports are bytes, however many values there are."""

    @property
    def report_format(self) -> ReportFormat:
        return ReportFormat(np.dtype(np.uint8))


@caught_by("neighbours_in_a_batch_are_independent")
class NeighboursShareACoin(GRR):
    """In a large batch two respondents at a time share their coin."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        if values.size <= 2:
            return super().randomize(values, draws)
        other = other_values(self.k, values, draws)
        coins = np.repeat(draws.bernoulli(self.truth, (values.size + 1) // 2), 2)[: values.size]
        return np.where(coins, values, other)


@caught_by("public_sampler_follows_the_channel")
class ReportsInOrderOfTruth(GRR):
    """Reports leave sorted by what they hide."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        reports = super().privatize(values, rng)
        return replace(reports, data=reports.data[np.argsort(values, kind="stable")])


@caught_by("tallies_merge")
class CountsWrap(GRR):
    """Counts have sixteen bits."""

    def count(self, reports: Any) -> Any:
        tally = super().count(reports)
        wrapped = tally.counts & 0xFFFF
        return replace(tally, counts=wrapped, n=int(wrapped.sum()))


@caught_by("chance_comes_from_secure_bytes_or_a_seed")
class WeakDefault(GRR):
    """Secure bytes are drawn and thrown away; the clock decides."""

    def privatize(self, values: Any, rng: Any = None) -> Reports:
        if rng is not None:
            return super().privatize(values, rng)
        os.urandom(1000)
        return replace(super().privatize(values, rng=time.perf_counter_ns()), simulated=False)


@caught_by("strict_level_is_close_for_large_alphabets")
class HalfTheBudget(GRR):
    """High levels are halved, under the pretext of a coarse grid."""

    @property
    def truth(self) -> int:
        halved = GRR(self.k, self.epsilon / 2 if self.epsilon > 20 else self.epsilon)
        return GRR.truth.__get__(halved)


@caught_by("large_tallies_add_up")
class OneLieForAllBits(OUE):
    """With many values, the other bits are copies of one draw, and the odd one out gives the truth away."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        if self.k < 10:
            return super().randomize(values, draws)
        bits = np.repeat(draws.bernoulli(self.bit_numerators[1], (values.size, 1)), self.k, axis=1)
        return with_own_bits(bits, values, draws)


@caught_by("large_alphabets_follow_the_noise_model")
class LateValuesInClear(GRR):
    """Only the first three hundred values are randomized."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        return np.where(values < 300, super().randomize(values, draws), values)


@caught_by("privacy_is_exact")
class MiddleLevelsInClear(GRR):
    """Nothing is randomized between the levels 5 and 11."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        return values if 5 < self.epsilon < 11 else super().randomize(values, draws)


@caught_by("batches_of_every_size_follow_the_channel")
class BatchesOfSevenInClear(GRR):
    """Seven respondents at once are not randomized."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        return values if values.size == 7 else super().randomize(values, draws)


@caught_by("aggregate_simulation_has_the_law_of_the_reports")
class SimulatesOneForAll(SS):
    """Aggregate simulation sends one report for all who share a value: right totals and means, but too much spread."""

    def simulate(self, true_counts: Any, size: int | None = None, rng: Any = None) -> Any:
        tally = super().simulate(true_counts, size, rng)
        source = np.random.default_rng(rng)
        each = [
            int(count) * SS.simulate(self, np.eye(self.k, dtype=int)[value], size, source).counts
            for value, count in enumerate(true_counts)
        ]
        return replace(tally, counts=np.sum(each, axis=0))


@caught_by("large_alphabets_are_exact")
class ValueInHighBits(GRR):
    """With more than 256 values the value stands in bits of the report that nobody reads."""

    @property
    def report_format(self) -> ReportFormat:
        return ReportFormat(np.dtype(np.uint32)) if self.k > 256 else super().report_format

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        sent = super().randomize(values, draws).astype(np.int64)
        return sent + (values << 16) if self.k > 256 else sent

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        return (reports & 0xFFFF) < self.k

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(reports & 0xFFFF, minlength=self.k)


@caught_by("large_alphabets_are_exact")
class LastValueIsNoLie(GRR):
    """With more than 256 values nobody lies with the last one."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        sent = super().randomize(values, draws)
        lie = (sent == self.k - 1) & (values != self.k - 1) & (self.k > 256)
        return np.where(lie, np.where(values == 0, 1, 0), sent)


@caught_by("chance_comes_from_secure_bytes_or_a_seed")
class WeakUnlessSeeded(OUE):
    """Bits are flipped by two percent less where the draws are not simulated."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        if draws.simulated:
            return super().randomize(values, draws)
        bits = draws.bernoulli(self.bit_numerators[1] * 98 // 100, (values.size, self.k))
        return with_own_bits(bits, values, draws)


@caught_by("privacy_is_exact")
class HalvedWithAReason(GRR):
    """The strict level is halved, with a reason."""

    def strict_epsilon(self) -> float:
        return super().strict_epsilon() / 2

    @property
    def slack_reason(self) -> str:
        return "probabilities are rounded"


@caught_by("privacy_is_exact")
class StatesATenth(GRR):
    """The privacy statement says a tenth of the level."""

    def privacy(self) -> PrivacyStatement:
        return PrivacyStatement(self.epsilon / 10, "the one value that a respondent reports")


@caught_by("estimates_are_unbiased")
class EstimatesStateATenth(GRR):
    """Estimates say a tenth of the level."""

    def estimate(self, reports_or_counts: Any, method: str = "unbiased") -> Estimate:
        raw = super().estimate(reports_or_counts, method)
        return replace(raw, privacy=PrivacyStatement(self.epsilon / 10, raw.privacy.unit))


@caught_by("large_alphabets_are_exact")
class LiesByModulo(GRR):
    """Lies about a thousand values are sixteen bits modulo 999, so that some are likelier than others."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        if self.k < 1000:
            return super().randomize(values, draws)
        lies = draws.uniform(1 << 16, values.shape) % (self.k - 1)
        lies += lies >= values
        return np.where(draws.bernoulli(self.truth, values.shape), values, lies)


@caught_by("neighbours_in_a_batch_are_independent")
class EveryThirdCoinFixed(GRR):
    """Every third respondent's coin follows from the two before: any two of them are independent."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        if values.size < 3:
            return super().randomize(values, draws)
        other = other_values(self.k, values, draws)
        thirds = values.size // 3
        words = draws.uniform(1 << 16, values.shape)
        words[2 : 3 * thirds : 3] = (words[0 : 3 * thirds : 3] + words[1 : 3 * thirds : 3]) % (1 << 16)
        tied = draws.bernoulli((self.truth & ((1 << 48) - 1)) << 16, values.shape)
        coins = (words < self.truth >> 48) | ((words == self.truth >> 48) & tied)
        return np.where(coins, values, other)


@caught_by("large_batches_are_like_small_ones")
class HugeBatchesInClear(GRR):
    """Nothing is randomized from half a million respondents on."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        return values if values.size > 500_000 else super().randomize(values, draws)


@caught_by("large_batches_are_like_small_ones")
class BordersInClear(OUE):
    """The first respondent of every 65,536 but the very first goes out in clear."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = np.unpackbits(super().randomize(values, draws), axis=1, count=self.k)
        bits[1 << 16 :: 1 << 16] = values[1 << 16 :: 1 << 16, None] == np.arange(self.k)
        return np.packbits(bits, axis=1)


@caught_by("large_batches_are_like_small_ones")
class DistantCopies(GRR):
    """In large batches the coins repeat themselves after 4096 respondents."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        coins = draws.bernoulli(self.truth, values.shape)
        if values.size > 50_000:
            coins = np.resize(np.tile(coins.reshape(-1)[:4096], 2), values.shape)
        return np.where(coins, values, other_values(self.k, values, draws))


@caught_by("large_reports_tell_no_more_than_claimed")
class LastOfAThousandInClear(OUE):
    """Of a thousand values the last one never hides."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        bits = np.unpackbits(super().randomize(values, draws), axis=1, count=self.k)
        if self.k >= 1000:
            bits[:, -1] = values == self.k - 1
        return np.packbits(bits, axis=1)


@caught_by("large_alphabets_are_exact")
class HighLevelsOfManyInClear(GRR):
    """Beyond a level of 10, more than 100 values lie half as often as claimed."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        truth = self.truth if self.epsilon < 10 or self.k < 100 else (GRID + self.truth) // 2
        return draws.respond(values, self.k, truth)


@caught_by("simulation_at_scale_varies_as_claimed")
class SimulatesWithoutNoise(OUE):
    """Simulations of more than a thousand respondents return the mean."""

    def simulate(self, true_counts: Any, size: int | None = None, rng: Any = None) -> Any:
        tally = super().simulate(true_counts, size, rng)
        if tally.n <= 1000:
            return tally
        mean = tally.n * self.noise.mean(np.asarray(true_counts) / tally.n)
        return replace(tally, counts=np.broadcast_to(np.rint(mean), tally.counts.shape).astype(np.int64))


@caught_by("large_alphabets_are_exact")
class WrongChannelOfMany(GRR):
    """Beyond a hundred values the noise model takes the truth for rarer than it is."""

    @property
    def noise(self) -> MultinomialNoise:
        honest = GRR(self.k, self.epsilon if self.k < 100 else 0.999 * self.epsilon)
        return GRR.noise.__get__(honest)


@caught_by("large_alphabets_are_exact")
class FunctionTellsTheValue(OLH):
    """With many values the hash function's last bit is the value's."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        reports = super().randomize(values, draws)
        if self.k > 256:
            reports[:, 1] = reports[:, 1] & ~np.uint64(1) | (values & 1).astype(np.uint64)
        return reports


@caught_by("possible_reports_are_those_that_are_sent")
class TakesOneMore(GRR):
    """A report that nobody sends is taken for possible, and not counted."""

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        return reports <= self.k

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(reports, minlength=self.k + 1)[: self.k]


@caught_by("large_tallies_add_up")
class CountsDuplicatesOnce(GRR):
    """Of more than five hundred reports, equal ones in a row are taken for one that was sent twice."""

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        if len(reports) > 500:
            reports = reports[np.append(True, reports[1:] != reports[:-1])]
        return np.bincount(reports, minlength=self.k)


@caught_by("large_tallies_add_up")
class LastWordIsLost(OUE):
    """The bits of the last word are not counted where there is more than one, but for single reports."""

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        counts = super().count_reports(reports)
        if self.k > 64 and len(reports) > 1:
            counts[self.k // 64 * 64 :] = 0
        return counts


@caught_by("parameters_tell_mechanisms_apart")
class WrittenDownRounded(GRR):
    """The level is written down with three digits."""

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "epsilon": round(self.epsilon, 3)}


@caught_by("parameters_tell_mechanisms_apart")
class AllAreEqual(GRR):
    """Mechanisms of one kind are equal, whatever their levels."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.k == self.k  # type: ignore[attr-defined]  # of the same type

    __hash__ = Mechanism.__hash__


@caught_by("probabilities_are_those_that_are_drawn_with")
class SaysAnotherTruth(GRR):
    """Files say a truth that is rarer by 2^-64 than the one that is drawn with."""

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        return {"truth": self.truth - 1}


@caught_by("probabilities_are_those_that_are_drawn_with")
class SaysDoubles(OUE):
    """Files say probabilities that were rounded to doubles."""

    @property
    def probabilities(self) -> dict[str, Any]:
        return {name: one / GRID for name, one in super().probabilities.items() if isinstance(one, int)}


@caught_by("probabilities_are_those_that_are_drawn_with")
class SaysHalfOfThem(OUE):
    """Files say one of two probabilities."""

    @property
    def probabilities(self) -> dict[str, int | list[int]]:
        return {"keep": self.bit_numerators[0]}


# Noise models of OUE.


@with_noise_caught_by("aggregate_simulation_has_the_law_of_the_reports")
class DrawsOthers(SupportNoise):
    """Random respondents are drawn with a slightly different law."""

    def draw(self, frequencies: Any, n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        return SupportNoise.independent(self.cells, self.p, self.q * 1.05).draw(frequencies, n, size, rng)


@with_noise_caught_by("score_and_information_are_exact")
class ScoresOtherwise(SupportNoise):
    """The score forgets that values exclude each other."""

    def score(self, frequencies: Any, counts: Any, n: int) -> Any:
        score, information = super().score(frequencies, counts, n)
        return score, Information(information.diagonal)


@with_noise_caught_by("simulation_at_scale_varies_as_claimed")
class DrawsFew(SupportNoise):
    """Many random respondents are drawn as copies of a tenth of them."""

    def draw(self, frequencies: Any, n: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
        honest = super().draw(frequencies, n if n < 1000 else n // 10, size, rng)
        return honest if n < 1000 else 10 * honest


@with_noise_caught_by("large_tallies_add_up")
class WrongPairs(SupportNoise):
    """The covariance of two values that are not the true one is off, beyond a hundred values."""

    def report_covariance(self, frequencies: Any) -> Any:
        covariance = super().report_covariance(frequencies)
        if self.cells > 100:
            pairs = 0.1 * self.r2 * (1 - np.eye(self.cells))
            covariance = covariance + pairs
        return covariance


@with_noise_caught_by("large_likelihoods_are_proper")
class WrongLikelihoodOfMany(SupportNoise):
    """Beyond a hundred values the likelihood of the last one is a tenth too large."""

    def log_likelihoods(self, tallies: Any) -> Any:
        said = super().log_likelihoods(tallies)
        return said + 0.1 * (np.arange(self.cells) == self.cells - 1) * (self.cells > 100)


@with_noise_caught_by("noise_model_is_exact")
class VarianceOfRareValues(SupportNoise):
    """The covariance is right for a value that nobody has."""

    def covariance(self, frequencies: Any) -> Any:
        return super().covariance(np.zeros_like(frequencies))


# Whole reports of OUE.


@with_patterns_caught_by("estimates_are_unbiased")
class WrongOrder(PatternChannel):
    """Sets are numbered in the other order than they are listed in."""

    def numbers(self, reports: Any) -> Any:
        return PatternChannel.numbers(self, reports[:, ::-1])


@with_patterns_caught_by("score_and_information_are_exact")
class GainsOfOthers(PatternChannel):
    """The score takes all sets for equally telling."""

    @property
    def _gains(self) -> Any:  # type: ignore[override]  # the bug caches nothing
        return self.members / self.outputs


@with_patterns_caught_by("aggregate_simulation_has_the_law_of_the_reports")
class DrawsWithoutNoise(PatternChannel):
    """Respondents always support their own value."""

    def simulate(self, true_counts: Any, rng: np.random.Generator) -> Any:
        certain = SupportNoise.independent(self.cells, 1.0, self.support.q)
        return PatternChannel(certain).simulate(true_counts, rng)


# Cohorts: codes and filters.


@caught_by("noise_model_is_exact", symbols=3, cohorts=6)
class ServerOfFewerSymbols(ORR):
    """The client uses another permutation code than the server decodes with."""

    @property
    def noise(self) -> MultinomialNoise:
        codes = self.codes
        truth = favoured_numerator(self.epsilon, 1, codes.width) / GRID
        return MultinomialNoise(
            CohortChannel((codes.single + 1) % codes.width * (codes.single > 0), codes.width, truth)
        )


@caught_by("privacy_is_exact", symbols=2, cohorts=6)
class TruthForKValues(ORR):
    """The truth is told as often as the number of symbols allows, but with k values in the denominator of the claim."""

    def likelihood_ratio(self) -> Fraction:
        return Fraction(self.truth * (self.k - 1), GRID - self.truth)


# Random projection.


@caught_by("estimates_are_unbiased")
class PapersDecoder(SHist):
    """The estimate is the paper's, as if random columns were orthogonal."""

    def estimate(self, reports_or_counts: Any, method: str = "unbiased") -> Any:
        estimate = super().estimate(reports_or_counts, method)
        tally = reports_or_counts if isinstance(reports_or_counts, Tally) else self.count(reports_or_counts)
        object.__setattr__(estimate, "estimate", self.projected(tally))
        return estimate


@caught_by("noise_model_is_exact")
class MatrixOfAnotherSeed(SHist):
    """Respondents use another matrix than the server."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        return SHist(self.k, self.epsilon, self.rows, self.seed + 100).randomize(values, draws)


# Local hashing.


@caught_by("estimates_are_unbiased")
class ClientHasFewerSymbols(OLH):
    """Client and server disagree on the number of symbols: the client hashes to one less."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        seeds = draws.hash_seeds(values.size, self.k, self._symbols)
        hashed = symbols_of(seeds, values, self._symbols - 1)
        answers = draws.respond(hashed, self._symbols, self.truth)
        return np.column_stack([seeds, answers.astype(np.uint64)])


@caught_by("estimates_are_unbiased")
class FourFixedFunctions(BLH):
    """There are only four hash functions, whose collisions bias the estimate however many reports there are."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        seeds = _SEEDS[draws.uniform(4, values.shape)]
        answers = draws.respond(symbols_of(seeds, values, self._symbols), self._symbols, self.truth)
        return np.column_stack([seeds, answers.astype(np.uint64)])


@caught_by("privacy_is_exact")
class PicksItsFunction(BLH):
    """Of two hash functions the one is taken that sends the value to the lower symbol: the function tells on her."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        one, other = (draws.hash_seeds(values.size, self.k, self._symbols) for _ in range(2))
        lower = symbols_of(one, values, self._symbols) <= symbols_of(other, values, self._symbols)
        seeds = np.where(lower[:, None], one, other)
        answers = draws.respond(symbols_of(seeds, values, self._symbols), self._symbols, self.truth)
        return np.column_stack([seeds, answers.astype(np.uint64)])


@caught_by("large_alphabets_follow_the_noise_model")
class FewFunctionsForManyValues(BLH):
    """With many values there are only sixteen hash functions, so some values always collide."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint64]:
        if self.k < 10:
            return super().randomize(values, draws)
        seeds = _SEEDS[draws.uniform(16, values.shape)]
        answers = draws.respond(symbols_of(seeds, values, self._symbols), self._symbols, self.truth)
        return np.column_stack([seeds, answers.astype(np.uint64)])


# Histogram encoding.


@caught_by("privacy_is_exact")
class ShiftedWithoutClamping(SHE):
    """The true entry is one higher than it would be, and leaves the window where that is at its end."""

    def randomize(self, values: Any, draws: Any) -> Any:
        entries = draws.pick(self._weights, (values.size, self.k))
        entries[np.arange(values.size), values] += 1
        return entries


# dBitFlip.


@caught_by("privacy_is_exact")
class OwnValueAlwaysRevealed(DBitFlip):
    """The revealed values hold the respondent's own."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        held = np.ones(values.size, dtype=bool)
        return self.answered(draws.subsets(values, self.k, self.bits, held), values, draws)


@caught_by("privacy_is_exact", d=1)
class PrintedSingleBit(DBitFlip):
    """One bit is flipped as rarely as two would be, and the level wasted without a word."""

    @property
    def _flip(self) -> int:
        return DBitFlip._flip.__get__(DBitFlip(self.k, self.epsilon, 2))


@caught_by("estimates_are_unbiased", ReportError)
class CountsOnesAlone(DBitFlip):
    """Bits that are not set are counted as if they were not sent."""

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        counts = super().count_reports(reports)
        counts[self.k :] = 0
        return counts


@caught_by("privacy_is_exact")
class NeverFlipsDown(RAPPOR):
    """A bit of the filter is always sent as set; only the others are randomized."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        cohorts = draws.uniform(self.codes.cohorts, values.shape)
        rows = [
            np.bitwise_or.reduce(np.eye(self.codes.width, dtype=np.uint8)[places])
            for places in self.codes.symbols[cohorts, :, values]
        ]
        filters = np.packbits(np.array(rows), axis=1)
        return np.hstack([cohorts[:, None].astype(np.uint8), filters | draws.bits(self.flip, *np.shape(rows))])


@caught_by("privacy_is_exact")
class HashCountIgnored(RAPPOR):
    """Every bit is flipped as if filters differed in two bits only."""

    @property
    def flip(self) -> int:
        return flip_numerator(self.epsilon, 2)


class RightOnlyAtZero(RevealedBits):
    """The covariance takes every bit for one that is not set: right for a value that nobody holds."""

    def covariance(self, frequencies: FloatArray) -> FloatArray:
        return super().covariance(np.zeros_like(frequencies))


@caught_by("noise_model_is_exact")
class FilterVarianceAtZero(RAPPOR):
    """A variance formula that is right only where the frequency is zero."""

    @property
    def noise(self) -> RevealedBits:
        noise = super().noise
        return RightOnlyAtZero(noise.encoding, noise.keep, noise.flip, noise.cohorts)


@caught_by("privacy_is_exact")
class FirstValueAtRandom(HR):
    """The first value of every block answers at random, as if its row were all ones."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        first = values % (self._size - 1) == 0
        anywhere = draws.uniform(self._outputs, values.shape)
        return np.where(first, anywhere, super().randomize(values, draws))


# Hadamard mechanisms.


class SurveyVariance(HadamardRandomizedResponse):
    """The covariance leaves out that columns are sampled."""

    def covariance(self, frequencies: Any) -> Any:
        return super().covariance(frequencies) - np.eye(self.cells)


@caught_by("noise_model_is_exact")
class VarianceOfTheSurvey(HRR):
    """HRR with the survey's variance."""

    @property
    def noise(self) -> MultinomialNoise:
        channel = super().noise
        return SurveyVariance(channel.cells, channel.truth)


@caught_by("estimates_are_unbiased")
class NeighbouringRow(HR):
    """Client and server disagree about who has which row."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.int64]:
        return super().randomize((values + 1) % self.k, draws)


class _FewerColumns(CMS):
    @property
    def codes(self) -> Codes:
        return one_symbol_fewer(super().codes)


@caught_by("noise_model_is_exact")
class ClientOfAnotherWidth(CMS):
    """The client hashes to one column less than the server thinks."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        fewer: CMS = _FewerColumns(self.k, self.epsilon, self.hashes, self.width, self.seed)
        return CMS.randomize(fewer, values, draws)


@caught_by("estimates_are_unbiased")
class DeployedAsUnbiased(CMS):
    """The deployed estimator passes for one that is unbiased given the functions."""

    def estimate(self, reports_or_counts: Any, _method: str = "unbiased") -> Any:
        tally = self.count(reports_or_counts) if isinstance(reports_or_counts, Reports) else reports_or_counts
        estimate = super().estimate(tally)
        return Estimate(self.deployed_estimate(tally), estimate.covariance, estimate.n)


def _printed_chain(mechanism: LGRR) -> tuple[Fraction, Fraction]:
    """Return p1 p2 + q1 q2 and p1 q2 + q1 p2, with the rounds of the mechanism."""
    grid, others = Fraction(1, 1 << 64), mechanism.k - 1
    p1, p2 = mechanism.rounds.first * grid, mechanism.rounds.second * grid
    q1, q2 = (1 - p1) / others, (1 - p2) / others
    return p1 * p2 + q1 * q2, p1 * q2 + q1 * p2


# Longitudinal mechanisms and their memo.


@dataclass(frozen=True, slots=True)
class PrintedChannel(TruthOrFake):
    """Subtracts the printed q* from proportions of reports: all frequencies are too large by the same."""

    subtracted: float

    def debias(self, proportions: Any) -> Any:
        return (proportions - self.subtracted) / self.truth


@caught_by("estimates_are_unbiased")
class PrintedEstimator(LGRR):
    """L-GRR with p* and q* as printed, without the (k-2) q1 q2 of two different lies (their difference is right)."""

    @property
    def noise(self) -> MultinomialNoise:
        p, q = _printed_chain(self)
        return MultinomialNoise(PrintedChannel(float(p - q), (1 / self.k,) * self.k, float(q)))


@caught_by("privacy_is_exact")
class PrintedLevel(LGRR):
    """L-GRR with the level of one report as printed."""

    def likelihood_ratio(self) -> Fraction:
        p, q = _printed_chain(self)
        return p / q


@caught_by("permanent_answers_are_exact")
class RedrawsInTheReport(LSUE):
    """A single report is not made of a permanent answer: the permanent round is drawn with half of the flips."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[np.uint8]:
        return draws.bits(self.permanent.bit_numerators[1] // 2, values.size, self.k)


_ticks = count()


@caught_by("reports_of_one_memo_share_their_permanent_answer")
class FindsNothingAgain(LGRR):
    """The memo never finds a permanent answer, and so draws it again for every report."""

    def classes(self, permanent: NDArray[Any], values: NDArray[np.int64]) -> NDArray[np.int64]:
        del permanent
        return (values + next(_ticks)) % (self.k + 1)


@caught_by("values_of_one_class_share_a_permanent_answer_rightly")
class NewFunctionForEveryValue(LBLH):
    """A respondent draws another hash function for another value."""

    def remember_another(self, earlier: NDArray[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        del earlier
        return self.remember(values, draws)


@caught_by("values_of_one_class_share_a_permanent_answer_rightly")
class OneAnswerForAll(LGRR):
    """All values share the permanent answer of the first."""

    def classes(self, permanent: NDArray[Any], values: NDArray[np.int64]) -> NDArray[np.int64]:
        del permanent
        return np.zeros_like(values)


@caught_by("permanent_answers_are_exact")
class PromisesOneReportOnly(LGRR):
    """The lifetime ratio is that of one report."""

    def lifetime_ratio(self) -> Fraction:
        return self.likelihood_ratio()


@caught_by("first_reports_keep_their_level")
class TimidSecondRound(LGRR):
    """The second round adds more noise than the first level asks for."""

    @property
    def rounds(self) -> ResponseTwice:
        honest = super().rounds
        return replace(honest, second=honest.second * 99 // 100)


class ForgetfulMemo(Memo):
    """Permanent answers are drawn again on every call."""

    def reports(self, users: Any, values: Any, rng: Any = None) -> Reports:
        super().__init__(self.mechanism)
        return super().reports(users, values, rng)


class OneAnswerForEverything(Memo):
    """A permanent answer is used again for whatever value the respondent has."""

    def _keys_of(self, users: Any, permanent: Any, values: Any) -> Any:
        return Memo._keys_of(self, users, permanent, np.zeros_like(values))


@caught_by("reports_travel_as_they_are")
class SymbolsInAByte(OLH):
    """Symbols are sent as bytes, however many there are."""

    @property
    def report_format(self) -> ReportFormat:
        return ReportFormat(np.dtype(np.uint64), 3, np.dtype(np.uint8))


# What audits must find in the reports, or in what is said of them.


class MoreThanItSays(GRR):
    """The sampler has a higher level than everything else believes."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        return GRR(self.k, self.epsilon + 1).randomize(values, draws)


class SentTwice(GRR):
    """A respondent sends two reports, and only one is counted against the level asked for."""

    def lifetime_ratio(self) -> Fraction:
        return super().likelihood_ratio() ** 2


class TwoReports(GRR):
    """A respondent sends two reports at half of the level each."""

    @property
    def truth(self) -> int:
        return GRR.truth.__get__(GRR(self.k, self.epsilon / 2))

    def lifetime_ratio(self) -> Fraction:
        return super().likelihood_ratio() ** 2


class Honest(GRR):
    """The truth, and nothing but the truth."""

    @property
    def noise(self) -> MultinomialNoise:
        return MultinomialNoise(DenseChannel(tuple(map(tuple, np.eye(self.k).tolist()))))

    def likelihood_ratio(self) -> None:
        return None

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        del draws
        return values


class OnlyInTheMiddle(GRR):
    """One value in five, none of the first, the middle and the last, is never hidden."""

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        return np.where(values % 5 == 3, values, super().randomize(values, draws))


class UnreadByte(GRR):
    """The value stands in a byte that nobody reads."""

    @property
    def report_format(self) -> ReportFormat:
        return ReportFormat(np.dtype(np.uint32))

    def randomize(self, values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        return super().randomize(values, draws).astype(np.int64) + (values << 16)

    def count_reports(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        return np.bincount(reports & 0xFFFF, minlength=self.k)


class Understates(GRR):
    """What it says of its level is half of it."""

    def strict_epsilon(self) -> float:
        return super().strict_epsilon() / 2


class ClaimsALittleMore(GRR):
    """The claimed ratio is smaller than the channel's, by less than doubles show."""

    def likelihood_ratio(self) -> Fraction:
        return super().likelihood_ratio() * (1 - Fraction(1, GRID))
