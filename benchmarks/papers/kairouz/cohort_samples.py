"""O-RR and O-RAPPOR of Kairouz, Bonawitz & Ramage at the level of counts, for any symbols, cohorts and hash functions.

The package's own refuse codes that do not tell all values apart, which the paper tries as well: here the least-squares
solution of least norm is taken. What is drawn has the law of the package's `simulate`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ldpstats.estimation.simplex import nearest_proper
from ldpstats.mechanisms.cohorts import hashed, permuted
from papers.formulas import Floats


@dataclass(frozen=True)
class Cohorts:
    """Public codes of S values: a filter of `width` places in every cohort, in which a value sets some.

    Parameters
    ----------
    values, width, cohorts, hashes : int
        S, k, C and h of the paper.
    perfect : bool
        Permutations in place of hash functions.
    """

    values: int
    width: int
    cohorts: int
    hashes: int
    perfect: bool

    @cached_property
    def _set(self) -> tuple[np.ndarray, np.ndarray]:
        """Places, numbered through all cohorts, and values that set them."""
        family = permuted if self.perfect else hashed
        codes = family(self.values, self.cohorts * self.hashes, self.width, 0)
        places = codes + self.width * np.repeat(np.arange(self.cohorts), self.hashes)[:, None]
        values = np.broadcast_to(np.arange(self.values), places.shape)
        pairs = np.unique(places * self.values + values)
        return pairs // self.values, pairs % self.values

    @cached_property
    def places(self) -> np.ndarray:
        """The places that some value sets, numbered through all cohorts."""
        return np.unique(self._set[0])

    @cached_property
    def _rows(self) -> np.ndarray:
        return np.searchsorted(self.places, self._set[0])

    @cached_property
    def members(self) -> sparse.csr_matrix:
        """A row per such place, with ones for the values that set it."""
        rows, values = self._rows, self._set[1]
        return sparse.csr_matrix((np.ones(len(rows)), (rows, values)), shape=(len(self.places), self.values))

    @cached_property
    def solve(self) -> Floats:
        """The generalized inverse of the normal equations."""
        inverse: Floats = np.linalg.pinv((self.members.T @ self.members).toarray(), hermitian=True, rcond=1e-10)
        return inverse

    def decoded(self, slots: Floats) -> Floats:
        """Return the proper frequencies nearest to the least-squares solution of members · frequencies = slots."""
        return nearest_proper(self.solve @ (self.members.T @ slots))

    def joined(self, counts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Let respondents join cohorts; return how many set each of these places, and the sizes of the cohorts."""
        table = rng.multinomial(counts, np.full(self.cohorts, 1 / self.cohorts))
        places, values = self._set
        held = np.bincount(self._rows, table[values, places // self.width], minlength=len(self.places))
        return held.astype(np.int64), table.sum(axis=0)


def o_rr(codes: Cohorts, epsilon: float, counts: np.ndarray, rng: np.random.Generator) -> Floats:
    """Return what Eq. 18 makes of simulated reports of O-RR, projected on the simplex."""
    n, odds = int(counts.sum()), math.expm1(epsilon)
    held, sizes = codes.joined(counts, rng)
    cohort = codes.places // codes.width
    truthful = rng.binomial(held, odds / (odds + codes.width))
    fakes = sizes - np.bincount(cohort, truthful, minlength=codes.cohorts).astype(np.int64)
    faked = codes.width * np.repeat(np.arange(codes.cohorts), fakes) + rng.integers(codes.width, size=int(fakes.sum()))
    sent = truthful + np.bincount(faked, minlength=codes.cohorts * codes.width)[codes.places]
    return codes.decoded((codes.cohorts * (odds + codes.width) * sent / n - 1) / odds)


def o_rappor(codes: Cohorts, epsilon: float, counts: np.ndarray, rng: np.random.Generator) -> Floats:
    """Return the least-squares decoding of simulated reports of O-RAPPOR, projected on the simplex."""
    flip = 1 / (math.exp(epsilon / (2 * codes.hashes)) + 1)
    held, sizes = codes.joined(counts, rng)
    size = sizes[codes.places // codes.width]
    sent = rng.binomial(held, 1 - flip) + rng.binomial(size - held, flip)
    return codes.decoded(codes.cohorts * (sent - flip * size) / ((1 - 2 * flip) * counts.sum()))
