"""RAPPOR as deployed: a cohort for good, a permanent Bloom filter for each value, and noise in every report of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms.cohorts import RAPPOR, flipped, header_bytes, most_differing_pairs
from ldpstats.mechanisms.longitudinal import IndependentPart, changing_ratio
from ldpstats.mechanisms.longitudinal_rounds import BitTwice, TwoRounds, rappor_first_epsilon, refuse_certain_show
from ldpstats.noise import RevealedBits
from ldpstats.numbers.arrays import at_least
from ldpstats.numbers.grid import double, numerator_at_most
from ldpstats.numbers.randomness import Draws

_MOST_PAIRS, _MOST_SEQUENCES = 500_000, 5_000
"""So many sequences of values, in all cohorts, are looked at one by one; pairs of values differ in few ways."""


@dataclass(frozen=True, slots=True)
class LRAPPOR(TwoRounds):
    """RAPPOR as deployed: permanent and instantaneous randomized response over a Bloom filter with cohorts.

    A respondent joins a random cohort once. For each value that she has, a permanent filter is drawn: that of her
    cohort's hash functions, of which every bit is replaced by a fair coin with probability f. A report shows its set
    bits as set with probability q (`show`), and the others with p. The permanent filter is that of `RAPPOR`, and has
    the level `epsilon` = 2 hashes ln((1 - f/2) / (f/2)). With q* = f (p + q) / 2 + (1 - f) q and
    p* = f (p + q) / 2 + (1 - f) p, one report has the level hashes · ln(q* (1 - p*) / (p* (1 - q*))) where two values
    have filters without a common bit in some cohort; where none do, it is lower, and p is what the level then allows.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The level of all reports about one value, however many: that of the permanent filter.
    bits, hashes, cohorts, seed : int, optional
        As in `RAPPOR`.
    first_epsilon : float, optional
        The level of a single report, below `epsilon`; half of that by default.
    show : float
        The probability that a report has a bit set that the permanent filter has: q.

    Examples
    --------
    >>> from ldpstats import Memo
    >>> from ldpstats.mechanisms import LRAPPOR
    >>> rappor = LRAPPOR.deployed(100, f=0.5, p=0.5, q=0.75, bits=128, cohorts=8)
    >>> round(rappor.epsilon, 6), round(rappor.first_epsilon, 6)
    (4.394449, 1.074286)
    >>> memo = Memo(rappor)
    >>> memo.reports(["ann", "bob"], [3, 70], rng=1).data.shape, len(memo)
    ((2, 17), 2)
    """

    bits: int | None = None
    hashes: int = 2
    cohorts: int | None = None
    seed: int = 0
    first_epsilon: float | None = None
    show: float = 0.75

    name: ClassVar[str] = "l-rappor"
    aliases: ClassVar[tuple[str, ...]] = ("longitudinal rappor", "rappor as deployed")
    source: ClassVar[str] = "Erlingsson, Pihur & Korolova 2014"

    def __post_init__(self) -> None:
        refuse_certain_show(self.show)
        TwoRounds.__post_init__(self)
        for name in ("bits", "cohorts"):
            object.__setattr__(self, name, getattr(self.permanent, name))

    @classmethod
    def deployed(
        cls, k: int, f: float, p: float, q: float, *, bits: int, cohorts: int, hashes: int = 2, seed: int = 0
    ) -> LRAPPOR:
        """Return RAPPOR with the parameters of Erlingsson et al.

        Parameters
        ----------
        k : int
            The number of values.
        f : float
            How often the permanent round replaces a bit by a fair coin.
        p, q : float
            How often a report shows an unset, and a set permanent bit as set.
        bits, cohorts, hashes, seed : int
            As in `RAPPOR`: their k, m and h.

        Examples
        --------
        >>> from ldpstats.mechanisms import LRAPPOR
        >>> LRAPPOR.deployed(50, f=0.5, p=0.5, q=0.75, bits=32, cohorts=16).report_bits
        36
        """
        rappor_first_epsilon(f, p, q)  # refuses others before a logarithm is taken
        permanent = RAPPOR(k, 2 * at_least(hashes, 1, "hashes") * math.log((2 - f) / f), bits, hashes, cohorts, seed)
        first = rappor_first_epsilon(f, p, q, most_differing_pairs(permanent.codes))
        return cls(k, permanent.epsilon, permanent.bits, permanent.hashes, permanent.cohorts, permanent.seed, first, q)

    @property
    def permanent(self) -> RAPPOR:
        """What draws the cohort and the permanent filters, at the level of all reports together."""
        return RAPPOR(self.k, self.epsilon, self.bits, self.hashes, self.cohorts, self.seed)

    @property
    def fixed_show(self) -> int:
        """How often a set permanent bit is shown as set, in GRID-ths."""
        return numerator_at_most(Fraction(self.show))

    @property
    def slack_reason(self) -> str:
        """Why the strict level stays below the one asked for: that of the permanent filter."""
        return self.permanent.slack_reason

    @property
    def noise(self) -> RevealedBits:  # type: ignore[override]  # bits of filters, where others have bits of values
        """Noise model of one report per respondent: independent bits of one cohort."""
        return _noise(self)

    def kept(self, permanent: NDArray[Any]) -> NDArray[Any]:
        """Return the number of the cohort."""
        return permanent[:, : header_bytes(self.permanent.codes.cohorts)]

    def remember_another(self, earlier: NDArray[Any], values: NDArray[np.int64], draws: Draws) -> NDArray[Any]:
        """Draw the permanent filter of another value in the respondent's cohort."""
        permanent, codes = self.permanent, self.permanent.codes
        cohorts, header = permanent.split(earlier)[0], header_bytes(codes.cohorts)
        return flipped(cohorts, codes.symbols[cohorts, :, values], codes.width, permanent.flip, header, draws)

    def report(self, permanent: NDArray[Any], draws: Draws) -> NDArray[Any]:
        """Send the cohort as it is, and randomize the bits of the filter once more."""
        codes, kept = self.permanent.codes, self.kept(permanent)
        return np.hstack([kept, self.rounds.report(permanent[:, kept.shape[1] :], codes.width, draws)])

    def changing_ratio(self, rounds: int, changes: int, others: int) -> Fraction:
        """Return the worst-case ratio of all reports, by enumeration of the sequences of values in every cohort."""
        codes, twice, visited = self.permanent.codes, self.rounds, min(self.k, 2 + changes + others)
        assert isinstance(twice, BitTwice)  # what follows a filter
        filters = codes.filters().astype(bool).reshape(codes.cohorts, codes.width, self.k)
        most = _MOST_PAIRS if visited == 2 else _MOST_SEQUENCES
        if math.perm(self.k, visited) * codes.cohorts > most:
            raise LdpstatsError(
                f"{math.perm(self.k, visited):,} sequences of {visited} values in {codes.cohorts} cohorts",
                f"at most {most:,} in all, which are looked at one by one",
                "Ask about fewer changes, values or cohorts.",
            )
        orders = list(permutations(range(self.k), visited))
        kinds = {frozenset(Counter(map(tuple, own[:, order].tolist())).items()) for own in filters for order in orders}

        def parts(bits: Iterable[tuple[tuple[bool, ...], int]], values: int) -> list[IndependentPart]:
            return twice.parts_of((row[:values], copies) for row, copies in bits)

        return max(changing_ratio(partial(parts, own), visited, rounds, changes, others) for own in kinds)


@lru_cache(maxsize=4)
def _noise(mechanism: LRAPPOR) -> RevealedBits:
    codes, (true, other) = mechanism.permanent.codes, mechanism.rounds.shown
    return RevealedBits(codes.filters(), double(true), double(other), codes.cohorts)
