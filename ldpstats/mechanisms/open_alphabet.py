"""Open alphabets: strings that nobody listed, hashed in random cohorts and decoded over candidates (O-RR, O-RAPPOR)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from hashlib import blake2b
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api.types import infer_dtype

from ldpstats.errors import LdpstatsError, ReportError, shortened
from ldpstats.estimation import Estimate, ProcessedEstimate, refuse_empty
from ldpstats.mechanisms.base import Reports, settled
from ldpstats.mechanisms.cohorts import (
    Codes,
    CohortAnswers,
    CohortBits,
    answered,
    flip_numerator,
    flipped,
    header_bytes,
    refuse_too_many,
)
from ldpstats.mechanisms.local_hashing import best_symbols
from ldpstats.numbers.arrays import FloatArray, positive_epsilon
from ldpstats.numbers.grid import GRID, favoured_numerator
from ldpstats.numbers.randomness import Draws, Rng, client_draws
from ldpstats.privacy import PrivacyStatement, strict_epsilon
from ldpstats.saving.files import Saveable

_CONTRASTS = 1 << 12
"""How many contrasts the slots of an open alphabet usually tell: enough to know a thousand candidates apart."""
_FALSE_FINDS = 0.05
"""How many candidates a sparse fit finds by chance where nobody holds any of them."""
_RIDGE = 1e-4
_MOST_SLOTS = 1 << 32
_WORD = 4
"""The bytes of a hash value."""
_MOST_HASHES = 64 // _WORD
"""So many fit into one digest."""


class OpenAlphabet(Saveable, ABC):
    """Frequencies of strings that nobody listed beforehand; candidates for them are named when all is collected.

    Every report joins a random cohort, whose public hash functions (keyed BLAKE2, from `seed`) reduce the string
    to a few symbols, and randomizes these. Reports are decoded for any list of candidates, as often as you like.

    Respondents whose string is no candidate stay in the data. Their strings share slots with candidates as chance
    will have it: least squares gives each of k candidates about 1 / (k + w - 1) of their share, where w is the
    number of symbols or bits (for one hash function). So list all strings that may be frequent.
    """

    epsilon: float
    cohorts: int | None
    seed: int

    @property
    @abstractmethod
    def _width(self) -> int:
        """The number of symbols or bits in a cohort."""

    @property
    @abstractmethod
    def _functions(self) -> int:
        """Hash functions per cohort."""

    @abstractmethod
    def likelihood_ratio(self) -> Fraction:
        """Return the exact worst-case ratio P(report | a string) / P(report | another), over all strings."""

    @abstractmethod
    def over(self, candidates: Iterable[str]) -> CandidateAnswers | CandidateFilters:
        """Return the mechanism for these strings alone, numbered as listed: to plan, simulate or decode with.

        Parameters
        ----------
        candidates : iterable of str
            At least two, all different.
        """

    @abstractmethod
    def _sent(self, cohorts: NDArray[np.int64], places: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Randomize hashed strings, a row of symbols each, for given cohorts."""

    @property
    def _cohorts(self) -> int:
        assert self.cohorts is not None  # set in __post_init__
        return self.cohorts

    def strict_epsilon(self) -> float:
        """Return the exact privacy level of a report, over all strings."""
        return strict_epsilon(self.likelihood_ratio())

    def privacy(self) -> PrivacyStatement:
        """Return the guarantee of one report."""
        return PrivacyStatement(self.strict_epsilon(), "the one string that a respondent reports")

    def privatize(self, strings: Iterable[str], rng: Rng = None) -> OpenReports:
        """Randomize strings, whichever they are; with `rng` the result is a reproducible simulation and says so."""
        draws = client_draws(rng)
        return OpenReports(self, self.randomize(strings, draws), draws.simulated)

    def randomize(self, strings: Iterable[str], draws: Draws) -> NDArray[Any]:
        """Join cohorts, hash the strings there, and randomize the symbols."""
        distinct, which = _distinct(strings)
        cohorts = draws.uniform(self._cohorts, which.size)
        pairs, pair_of_string = np.unique(which * self._cohorts + cohorts, return_inverse=True)
        asked = (distinct[pair // self._cohorts] for pair in pairs.tolist())
        hashed = _hashed(asked, (pairs % self._cohorts).tolist(), self._functions, self._width, self.seed)
        return self._sent(cohorts, hashed[pair_of_string], draws)

    def estimate(
        self, reports: OpenReports | ArrayLike, candidates: Iterable[str], method: str = "least-squares"
    ) -> Estimate | ProcessedEstimate:
        """Estimate the frequencies of candidate strings, in the order in which they are listed.

        Parameters
        ----------
        reports : OpenReports or array
            What privatize returned, or such reports as they came over a wire.
        candidates : strings
            At least two, all different.
        method : str
            "least-squares" (the default) is unbiased if every string that occurs is a candidate, and comes with
            its covariance and intervals. "simplex", the paper's choice, is its projection on proper frequencies;
            other names of `estimation.METHODS` work, too. "sparse" is for long lists of candidates that hardly anyone
            holds, even longer than least squares could tell apart: a nonnegative lasso selects some, and
            nonnegative least squares finds their frequencies. Beside the candidates there is a rest, which stands
            for all other strings and fills all slots evenly; so the frequencies sum to less than one where there
            are such. In reports about very many other strings, a candidate would be selected one time in twenty.
        """
        mechanism = self.over(candidates)
        if not isinstance(reports, OpenReports):
            collected = Reports(mechanism, np.asarray(reports))
        elif reports.alphabet != self:
            raise ReportError(f"reports of {reports.alphabet}", f"reports of {self}", "Use what made them.")
        else:
            collected = Reports(mechanism, reports.data, reports.simulated)
        if method == "sparse":
            frequencies = _sparse(mechanism, collected)
            simulated = len(collected) if collected.simulated else 0
            return ProcessedEstimate(
                frequencies, method, len(collected), self.privacy(), simulated, names=mechanism.candidates
            )
        refuse_too_many(mechanism.k, self._cohorts, self._functions, self._width)
        estimate = mechanism.estimate(collected, "unbiased" if method == "least-squares" else method)
        return replace(estimate, privacy=self.privacy(), names=mechanism.candidates)


@dataclass(frozen=True, slots=True, eq=False)
class OpenReports:
    """Reports about strings of an open alphabet; they are checked when they are decoded."""

    alphabet: OpenAlphabet
    data: NDArray[Any]
    simulated: bool = False

    def __len__(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class OpenRR(OpenAlphabet):
    """O-RR for any strings: a random cohort hashes them to `symbols`, and the symbol is sent by randomized response.

    The usual number of symbols is that of OLH, about e^ε + 1; the usual number of cohorts lets 1000 candidates be
    decoded with a third more variance than a few.

    Parameters
    ----------
    epsilon : float
        The level of a report: no string makes it more than e^ε times as likely as another one does.
    symbols : int, optional
        How many symbols strings are hashed to.
    cohorts : int, optional
        Into how many groups respondents fall by chance, each with hash functions of its own.
    seed : int
        What the hash functions follow from; it is public.

    Examples
    --------
    >>> from ldpstats.mechanisms import OpenRR
    >>> alphabet = OpenRR(epsilon=2.0)
    >>> reports = alphabet.privatize(["ada", "bob", "ada", "eve"] * 5000, rng=1)
    >>> estimate = alphabet.estimate(reports, ["ada", "bob", "eve", "zoe"])
    >>> estimate.estimate.round(2)
    array([0.51, 0.26, 0.25, 0.  ])
    """

    epsilon: float
    symbols: int | None = None
    cohorts: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_epsilon(self.epsilon))
        symbols = settled(self, "symbols", 2, best_symbols(self.epsilon))
        _refuse_too_many_slots(settled(self, "cohorts", 1, -(-_CONTRASTS // (symbols - 1))), symbols)
        settled(self, "seed", 0)
        favoured_numerator(self.epsilon, 1, symbols)

    @property
    def _width(self) -> int:
        assert self.symbols is not None  # set in __post_init__
        return self.symbols

    @property
    def _functions(self) -> int:
        return 1

    def likelihood_ratio(self) -> Fraction:
        """Return P(symbol | a string that has it) / P(symbol | another string)."""
        truth = favoured_numerator(self.epsilon, 1, self._width)
        return Fraction(truth * (self._width - 1), GRID - truth)

    def over(self, candidates: Iterable[str]) -> CandidateAnswers:
        """Return the mechanism for these strings alone, numbered as listed: to plan, simulate or decode with."""
        listed = _candidates(candidates)
        sizes = {"symbols": self._width, "cohorts": self._cohorts}
        return CandidateAnswers(len(listed), self.epsilon, candidates=listed, seed=self.seed, **sizes)

    def _sent(self, cohorts: NDArray[np.int64], places: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        numbers = answered(cohorts, places[:, 0], self._width, favoured_numerator(self.epsilon, 1, self._width), draws)
        return numbers.astype(np.min_scalar_type(self._cohorts * self._width - 1))


@dataclass(frozen=True, slots=True)
class OpenRAPPOR(OpenAlphabet):
    """O-RAPPOR for any strings: a random cohort hashes them into a Bloom filter, and every bit is flipped at random.

    The probability is 1 / (e^(ε / (2 hashes)) + 1), as the filters of two strings may differ in 2 · hashes bits.

    Parameters
    ----------
    epsilon : float
        The level of a report: no string makes it more than e^ε times as likely as another one does.
    bits : int
        The length of the Bloom filter.
    hashes : int
        The number of hash functions, and so of the bits that a string sets at most.
    cohorts : int, optional
        Into how many groups respondents fall by chance, each with hash functions of its own.
    seed : int
        What the hash functions follow from; it is public.

    Examples
    --------
    >>> from ldpstats.mechanisms import OpenRAPPOR
    >>> alphabet = OpenRAPPOR(epsilon=2.0)
    >>> reports = alphabet.privatize(["ada", "bob", "ada", "eve"] * 5000, rng=1)
    >>> alphabet.estimate(reports, ["ada", "bob", "eve", "zoe"], method="simplex").estimate.round(2)
    array([0.5 , 0.25, 0.25, 0.  ])
    """

    epsilon: float
    bits: int = 128
    hashes: int = 1
    cohorts: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_epsilon(self.epsilon))
        bits, hashes = settled(self, "bits", 2), settled(self, "hashes", 1)
        if hashes > _MOST_HASHES:
            raise LdpstatsError(f"hashes = {hashes}", f"up to {_MOST_HASHES}", "One hash function decodes best.")
        _refuse_too_many_slots(settled(self, "cohorts", 1, -(-_CONTRASTS // (bits - 1))), bits)
        settled(self, "seed", 0)
        flip_numerator(self.epsilon, 2 * hashes)

    @property
    def _width(self) -> int:
        return self.bits

    @property
    def _functions(self) -> int:
        return self.hashes

    @property
    def flip(self) -> int:
        """How often a bit is flipped, in GRID-ths."""
        return flip_numerator(self.epsilon, 2 * self.hashes)

    def likelihood_ratio(self) -> Fraction:
        """Return the ratio for two strings whose filters differ in as many bits as they can."""
        return Fraction(GRID - self.flip, self.flip) ** min(2 * self.hashes, self.bits)

    def over(self, candidates: Iterable[str]) -> CandidateFilters:
        """Return the mechanism for these strings alone, numbered as listed: to plan, simulate or decode with."""
        listed = _candidates(candidates)
        sizes = {"bits": self.bits, "hashes": self.hashes, "cohorts": self._cohorts}
        return CandidateFilters(len(listed), self.epsilon, candidates=listed, seed=self.seed, **sizes)

    def _sent(self, cohorts: NDArray[np.int64], places: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        return flipped(cohorts, places, self.bits, self.flip, header_bytes(self._cohorts), draws)


@dataclass(frozen=True, slots=True)
class CandidateAnswers(CohortAnswers):
    """O-RR where every string is one of k candidates; `OpenRR.over` makes it."""

    _: KW_ONLY
    candidates: tuple[str, ...] = field(repr=False)
    symbols: int
    cohorts: int
    seed: int

    name: ClassVar[str] = "o-rr over candidates"
    source: ClassVar[str] = "Kairouz, Bonawitz & Ramage 2016"

    @property
    def codes(self) -> Codes:
        """The symbols of the candidates."""
        return _string_codes(self.candidates, self.cohorts, 1, self.symbols, self.seed)


@dataclass(frozen=True, slots=True)
class CandidateFilters(CohortBits):
    """O-RAPPOR where every string is one of k candidates; `OpenRAPPOR.over` makes it."""

    _: KW_ONLY
    candidates: tuple[str, ...] = field(repr=False)
    bits: int
    hashes: int
    cohorts: int
    seed: int

    name: ClassVar[str] = "o-rappor over candidates"
    source: ClassVar[str] = "Kairouz, Bonawitz & Ramage 2016"

    @property
    def codes(self) -> Codes:
        """The bits of the candidates."""
        return _string_codes(self.candidates, self.cohorts, self.hashes, self.bits, self.seed)


def _refuse_too_many_slots(cohorts: int, width: int) -> None:
    """Refuse cohorts and symbols whose numbers do not fit into a report."""
    if cohorts * width > _MOST_SLOTS:
        raise LdpstatsError(
            f"{cohorts} cohorts of {width} symbols or bits", f"up to {_MOST_SLOTS} in all", "Name fewer cohorts."
        )


@lru_cache(maxsize=16)
def _string_codes(candidates: tuple[str, ...], cohorts: int, hashes: int, width: int, seed: int) -> Codes:
    numbers = [cohort for cohort in range(cohorts) for _ in candidates]
    symbols = _hashed(list(map(_encoded, candidates)) * cohorts, numbers, hashes, width, seed)
    return Codes(np.swapaxes(symbols.reshape(cohorts, len(candidates), hashes), 1, 2), width)


def _hashed(strings: Iterable[bytes], cohorts: Iterable[int], hashes: int, width: int, seed: int) -> NDArray[np.int64]:
    """Return a row of symbols for each string in its cohort."""
    key = blake2b(str(seed).encode(), digest_size=32).digest()
    words = b"".join(
        blake2b(string, digest_size=_WORD * hashes, key=key, salt=cohort.to_bytes(16, "big")).digest()
        for string, cohort in zip(strings, cohorts, strict=True)
    )
    numbers = np.frombuffer(words, dtype="<u4").astype(np.uint64)
    return (numbers * np.uint64(width) >> np.uint64(8 * _WORD)).astype(np.int64).reshape(-1, hashes)


def _encoded(string: str) -> bytes:
    return string.encode("utf-8", "surrogatepass")


def _distinct(strings: Iterable[str]) -> tuple[list[bytes], NDArray[np.int64]]:
    """Return the different strings, encoded, and which of them stands where."""
    if isinstance(strings, (str, bytes)):
        raise LdpstatsError(f"the single string {shortened(strings)}", "a list of strings")
    listed = list(strings)
    if infer_dtype(listed, skipna=False) not in ("string", "empty"):
        position, value = next((i, value) for i, value in enumerate(listed) if not isinstance(value, str))
        raise LdpstatsError(
            f"{shortened(value)} of type {type(value).__name__} at position {position}",
            "strings",
            "Convert numbers with str; drop missing answers, or give them a string of their own.",
        )
    which, distinct = pd.factorize(np.array(listed, dtype=object))
    return list(map(_encoded, distinct)), which.astype(np.int64)


def _candidates(strings: Iterable[str]) -> tuple[str, ...]:
    """Return candidates as plain strings; refuse repeated or too few ones."""
    listed = strings if isinstance(strings, str) else list(strings)
    _, which = _distinct(listed)
    repeated = np.flatnonzero(which != np.arange(which.size))
    if repeated.size:
        first, again = which[repeated[0]], repeated[0]
        raise LdpstatsError(f"the candidate {shortened(listed[again])} at the positions {first} and {again}", "it once")
    if which.size < 2:
        raise LdpstatsError(f"{which.size} candidates", "at least two different strings")
    return tuple(map(str, listed))


def _sparse(mechanism: CandidateAnswers | CandidateFilters, reports: Reports) -> FloatArray:
    """Select candidates by a nonnegative lasso, and refit their frequencies by nonnegative least squares.

    The penalty of a candidate is the number of its bits times so many standard errors of their average estimate
    that noise alone rarely exceeds it for any candidate. The rest is a column that fills all slots evenly.
    """
    from scipy.optimize import nnls

    tally = mechanism.count(reports)
    refuse_empty(tally.n)
    slots, filters = mechanism.noise.slot_estimates(tally.proportions), mechanism.codes.filters()
    other, gain = mechanism.noise.slot_noise
    hashes = mechanism.codes.hashes
    rest = np.full((len(slots), 1), hashes / mechanism.codes.width)
    sent = other + gain * rest[0, 0]
    deviation = np.sqrt(sent * (1 - sent) / (hashes * tally.n)) / gain
    penalties = -NormalDist().inv_cdf(_FALSE_FINDS / mechanism.k) * deviation * filters.sum(axis=0)
    # one more row makes nonnegative least squares a lasso: (small · penalties · f + 1 / small)² / 2 is the penalty,
    # up to a constant and to a square that is too small to matter
    small = _RIDGE / max(float(penalties.max()), _RIDGE)
    row = np.append(small * penalties, 0.0)
    design = np.hstack([filters, rest])
    chosen = np.flatnonzero(nnls(np.vstack([design, row]), np.append(slots, -1 / small))[0][:-1])
    frequencies = np.zeros(mechanism.k)
    frequencies[chosen] = nnls(design[:, [*chosen, -1]], slots)[0][:-1]
    return frequencies
