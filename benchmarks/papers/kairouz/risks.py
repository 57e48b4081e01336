"""Risks of k-RR and k-RAPPOR: as Kairouz, Bonawitz & Ramage print them, and as the channels have them."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from scipy.stats import binom

from ldpstats.conformance.enumeration import decoded, exact_channel
from ldpstats.mechanisms import GRR, SUE, Mechanism
from papers.comparisons import printed_figures
from papers.formulas import Floats, Place


def places_of(exhibit: str) -> list[Place]:
    """Return source, row, column and what is printed, of all rows of an exhibit."""
    return [(source, row, column, printed) for source, row, column, printed in printed_figures(exhibit).to_numpy()]


def uniform(k: int) -> Floats:
    """Return equal frequencies of k values."""
    return np.full(k, 1 / k)


def printed_k_rr(frequencies: Floats, epsilon: float) -> float:
    """Return n E ℓ2² of k-RR by Proposition 3."""
    k, odds = len(frequencies), math.expm1(epsilon)
    return float(1 - np.sum(frequencies**2) + (k - 1) * (k + 2 * odds) / odds**2)


def printed_k_rappor(frequencies: Floats, epsilon: float) -> float:
    """Return n E ℓ2² of k-RAPPOR by Proposition 4."""
    k, half = len(frequencies), epsilon / 2
    return float(1 - np.sum(frequencies**2) + k * math.exp(half) / math.expm1(half) ** 2)


def printed_k_rr_l1(frequencies: Floats, epsilon: float) -> float:
    """Return √n E ℓ1 of k-RR for large n by Proposition 3."""
    k, odds = len(frequencies), math.expm1(epsilon)
    inside = 2 * (odds * frequencies + 1) * (odds * (1 - frequencies) + k - 1) / (math.pi * odds**2)
    return float(np.sqrt(inside).sum())


def printed_k_rappor_l1(frequencies: Floats, epsilon: float) -> float:
    """Return √n E ℓ1 of k-RAPPOR for large n by Proposition 4."""
    odds = math.expm1(epsilon / 2)
    inside = 2 * (odds * frequencies + 1) * (odds * (1 - frequencies) + 1) / (math.pi * odds**2)
    return float(np.sqrt(inside).sum())


PRINTED = {GRR: (printed_k_rr, printed_k_rr_l1), SUE: (printed_k_rappor, printed_k_rappor_l1)}
"""Of each of the two mechanisms, the printed risks times n and times √n."""


def squared_error(mechanism: Mechanism, frequencies: Floats) -> float:
    """Return n E ℓ2² of the unbiased estimate, by the mechanism's law of noise."""
    return float(mechanism.noise.variance(frequencies).sum())


def absolute_error(mechanism: Mechanism, frequencies: Floats, n: int) -> float:
    """Return √n E ℓ1 of the unbiased estimate, exactly: each value is supported by a binomial number of reports.

    The mean absolute deviation of a binomial number is De Moivre's 2 v (1 - m) P(v) with v = ⌊n m⌋ + 1.
    """
    bounds = mechanism.noise.bounds()
    assert bounds is not None
    share, stretch = mechanism.noise.mean(frequencies), bounds[1] - bounds[0]
    next_up = np.floor(n * share) + 1
    deviations = 2 * next_up * (1 - share) * binom.pmf(next_up, n, share)
    return float((stretch * deviations).sum() / math.sqrt(n))


def enumerated_error(mechanism: Mechanism, frequencies: Floats, n: int) -> float:
    """Return n E ℓ2² by going through everything that n respondents can send, as the sampler draws it."""
    laws = exact_channel(mechanism)
    kinds = sorted({report for law in laws for report in law})
    chances = frequencies @ np.array([[float(law.get(report, 0)) for report in kinds] for law in laws])
    supports = np.vstack([mechanism.contributions(np.atleast_1d(decoded(mechanism, report))) for report in kinds])
    sent = np.array(list(product(range(len(kinds)), repeat=n)))
    estimates = mechanism.noise.debias(supports[sent].mean(axis=1))
    return float(n * chances[sent].prod(axis=1) @ np.sum((estimates - frequencies) ** 2, axis=1))
