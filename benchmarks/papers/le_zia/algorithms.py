"""The five algorithms of Le & Zia: as the paper describes them, as its figures were made, and all finished alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import ldpstats as ldp
from ldpstats.mechanisms.base import Mechanism
from ldpstats.noise import SupportNoise
from papers.le_zia.hadamard_code import PublicHadamardCode

Estimates: TypeAlias = Callable[[NDArray[np.int64], int, np.random.Generator], NDArray[np.float64]]
"""From true counts, a number of runs and a generator to estimated frequencies, a row per run."""

AT_ITS_WORD, AS_RUN, ALIKE = "as described", "as run", "finished alike"
UNEXPLAINED = "No reading that was tried gives it."
CLIPPED = "HR was decoded by its authors' public code, which sets negative estimates to zero and rescales the rest."
IDLE_BLOCKS = (
    "HR's public code draws reports as if all its blocks held values, and decodes them as if only those existed that "
    "do: where a block is idle, the estimates are biased and less than ε is spent."
)
NAMES = ("k-RR", "bRAPPOR", "CMS", "k-subset", "HR")


def at_its_word(d: int, epsilon: float) -> dict[str, Estimates]:
    """Return the algorithms as the paper describes them, each at ε: k-RR by maximum likelihood, the others unbiased.

    Basic RAPPOR is the symmetric one of Erlingsson, Pihur & Korolova, for the paper gives no p and q.

    Parameters
    ----------
    d : int
        The size of the domain.
    epsilon : float
        The level, per respondent.
    """
    return {name: _through(one, "mle" if name == "k-RR" else "base") for name, one in _sound(d, epsilon).items()}


def finished_alike(d: int, epsilon: float) -> dict[str, Estimates]:
    """Return the same, but every estimate is replaced by the nearest proper distribution.

    Parameters
    ----------
    d : int
        The size of the domain.
    epsilon : float
        The level, per respondent.
    """
    return {name: _through(one, "norm-sub") for name, one in _sound(d, epsilon).items()}


def as_run(d: int, epsilon: float) -> dict[str, Estimates]:
    """Return the variants that give the printed figures.

    Parameters
    ----------
    d : int
        The size of the domain.
    epsilon : float
        The level of the table. Not all of them keep to it.
    """
    supports = {name: _through(one, "base-pos") for name, one in _run_with_supports(d, epsilon).items()}
    return {
        "k-RR": _through(ldp.GRR(d, epsilon), "mle"),
        **supports,
        "HR": PublicHadamardCode(d, epsilon).estimates,
    }


READINGS: Mapping[str, Callable[[int, float], dict[str, Estimates]]] = {
    AT_ITS_WORD: at_its_word,
    AS_RUN: as_run,
    ALIKE: finished_alike,
}


def reasons(d: int, epsilon: float) -> dict[str, str]:
    """Return what was done differently when the printed figures were made, for each algorithm.

    Parameters
    ----------
    d : int
        The size of the domain.
    epsilon : float
        The level of the table.
    """
    sound = PublicHadamardCode(d, epsilon).sound
    return {
        "k-RR": UNEXPLAINED,
        "bRAPPOR": "Basic RAPPOR was run with p = 0.5 and q = 0.75 at every ε, which spends ln 3 = 1.10, and its "
        "negative estimates were set to zero.",
        "CMS": "Negative estimates of CMS were set to zero.",
        "k-subset": "The subsets of k-subset held half of the values at every ε, and its negative estimates were set "
        "to zero.",
        "HR": CLIPPED if sound else IDLE_BLOCKS,
    }


def largest_possible_error(algorithm: str, d: int, epsilon: float, n: int) -> float:
    """Return what the expected MAE of counts of supports cannot exceed, whatever the data, described or as run.

    A support has a variance of 1/4 at most, and no mean deviation exceeds the standard deviation; setting negative
    estimates to zero only brings them nearer. For k-RR and HR there is no such bound: they are rescaled.

    Parameters
    ----------
    algorithm : str
        One of `NAMES`.
    d : int
        The size of the domain.
    epsilon : float
        The level of the table.
    n : int
        The number of respondents.
    """
    both = (one[algorithm].noise for one in (_sound(d, epsilon), _run_with_supports(d, epsilon)) if algorithm in one)
    return max(0.5 / (noise.delta * math.sqrt(n)) if isinstance(noise, SupportNoise) else math.inf for noise in both)


def mean_absolute_errors(estimates: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the paper's MAE of every run."""
    return np.abs(estimates - counts / counts.sum()).mean(axis=-1)


def _sound(d: int, epsilon: float) -> dict[str, Mechanism]:
    mechanisms = (
        ldp.GRR(d, epsilon),
        ldp.SUE(d, epsilon),
        ldp.mechanism("cms-one-hot", k=d, epsilon=epsilon),
        ldp.SS(d, epsilon),
        ldp.HR(d, epsilon, blocks=1),
    )
    return dict(zip(NAMES, mechanisms, strict=True))


def _run_with_supports(d: int, epsilon: float) -> dict[str, Mechanism]:
    return {
        "bRAPPOR": ldp.mechanism("ue", k=d, epsilon=math.log(3), keep=0.75),
        "CMS": ldp.SUE(d, epsilon),
        "k-subset": ldp.SS(d, epsilon, omega=d // 2),
    }


def _through(mechanism: Mechanism, method: str) -> Estimates:
    def estimates(counts: NDArray[np.int64], runs: int, rng: np.random.Generator) -> NDArray[np.float64]:
        return mechanism.estimate(mechanism.simulate(counts, runs, rng), method).estimate

    return estimates
