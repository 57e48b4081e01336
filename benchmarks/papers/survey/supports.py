"""What reports of a mechanism add up to on average: how often values are supported, by going through its sampler."""

from __future__ import annotations

import numpy as np

from ldpstats.conformance.enumeration import decoded, exact_channel
from ldpstats.mechanisms import Mechanism
from papers.formulas import Floats


def channel_of(mechanism: Mechanism) -> tuple[Floats, Floats]:
    """Return the probability of every report, a row per value, and what each report adds to the tally."""
    laws = exact_channel(mechanism)
    reports = sorted({report for law in laws for report in law})
    probabilities = np.array([[float(law.get(report, 0)) for report in reports] for law in laws])
    tallies = [mechanism.contributions(np.atleast_1d(decoded(mechanism, report))) for report in reports]
    return probabilities, np.vstack(tallies).astype(float)


def expected_tally(mechanism: Mechanism, frequencies: Floats) -> Floats:
    """Return the expected share of the reports that add to each entry of the tally."""
    probabilities, tallies = channel_of(mechanism)
    expected: Floats = frequencies @ probabilities @ tallies
    return expected


def own_and_other(mechanism: Mechanism) -> tuple[float, float]:
    """Return p and q: how often a report supports the respondent's own value, and how often another one."""
    own, other = np.eye(mechanism.k)[:2]
    return float(mechanism.noise.mean(own)[0]), float(mechanism.noise.mean(other)[0])


def rare_variance(mechanism: Mechanism) -> float:
    """Return the n-fold variance of the estimated frequency of a value that nobody has."""
    return float(np.asarray(mechanism.variance(np.eye(mechanism.k)[1], 1))[0])
