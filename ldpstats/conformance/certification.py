"""Certification: the list of checks of a mechanism, and running them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ldpstats.conformance import checks, requirements, sampled
from ldpstats.conformance.memory import MEMO_CHECKS
from ldpstats.conformance.requirements import Factory
from ldpstats.presentation import progress

CHECKS: tuple[Callable[[Factory], None], ...] = (
    checks.privacy_is_exact,
    sampled.strict_level_is_close_for_large_alphabets,
    checks.noise_model_knows_its_level,
    checks.reports_of_several_respondents_are_independent,
    checks.estimates_are_unbiased,
    checks.noise_model_is_exact,
    checks.likelihoods_are_exact,
    checks.score_and_information_are_exact,
    checks.covariance_estimate_is_unbiased,
    checks.tallies_merge,
    checks.aggregate_simulation_has_the_law_of_the_reports,
    checks.possible_reports_are_those_that_are_sent,
    checks.bad_values_are_refused,
    checks.bad_reports_are_refused,
    checks.bad_parameters_are_refused,
    checks.parameters_tell_mechanisms_apart,
    checks.probabilities_are_those_that_are_drawn_with,
    sampled.large_alphabets_are_exact,
    sampled.large_alphabets_follow_the_noise_model,
    sampled.large_reports_tell_no_more_than_claimed,
    sampled.large_likelihoods_are_proper,
    sampled.large_tallies_add_up,
    sampled.simulation_at_scale_varies_as_claimed,
    sampled.public_sampler_follows_the_channel,
    sampled.neighbours_in_a_batch_are_independent,
    sampled.batches_of_every_size_follow_the_channel,
    sampled.large_batches_are_like_small_ones,
    sampled.chance_comes_from_secure_bytes_or_a_seed,
    sampled.reports_travel_as_they_are,
)


_OF_TALLIES: tuple[Callable[[Factory], None], ...] = (
    checks.noise_model_knows_its_level,
    checks.estimates_are_unbiased,
    checks.noise_model_is_exact,
    checks.likelihoods_are_exact,
    checks.score_and_information_are_exact,
    checks.covariance_estimate_is_unbiased,
    checks.tallies_merge,
    checks.aggregate_simulation_has_the_law_of_the_reports,
    checks.bad_reports_are_refused,
    sampled.simulation_at_scale_varies_as_claimed,
)


def _of_the_finest_tally(check: Callable[[Factory], None]) -> Callable[[Factory], None]:

    @wraps(check)
    def checked(make: Factory) -> None:
        check(lambda k, epsilon: make(k, epsilon).finest)

    checked.__name__ = checked.__qualname__ = f"{check.__name__}_in_the_finest_tally"
    return checked


FINEST_CHECKS: tuple[Callable[[Factory], None], ...] = tuple(map(_of_the_finest_tally, _OF_TALLIES))


def checks_of(make: Factory) -> tuple[Callable[[Any], None], ...]:
    """Return the checks of a mechanism, with further ones if it is longitudinal or has a finer tally than its own.

    Parameters
    ----------
    make : callable
        The mechanism as a function of k and epsilon, such as its class.
    """
    made = [requirements.made(make, k, 0.5) for k in (2, 5)]
    memory = MEMO_CHECKS if made[0].longitudinal else ()
    return (*CHECKS, *memory, *(FINEST_CHECKS if any(mechanism.finest != mechanism for mechanism in made) else ()))


def check_named(name: str) -> Callable[[Any], None]:
    """Return a check, which takes the mechanism as a function of k and epsilon.

    Parameters
    ----------
    name : str
        Such as "privacy_is_exact".
    """
    return next(check for check in (*CHECKS, *MEMO_CHECKS, *FINEST_CHECKS) if check.__name__ == name)


def certify(make: Factory) -> None:
    """Run all checks on a mechanism, given as a function of k and ε; raise at the first that fails.

    The sampler's law is enumerated for up to nine values, and for four of 300 and 1000 where that fits; it is
    tested statistically beyond, at some levels and batch sizes up to a million. Code that behaves well just there
    and badly elsewhere passes: the suite finds mistakes, it does not replace reading the sampler. All draws that are
    compared with a law are seeded; secure reports are compared with seeded ones, bit by bit.

    Parameters
    ----------
    make : callable
        A mechanism, as a function of k and epsilon: a class, for example.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from ldpstats import GRR
    >>> from ldpstats.extend import certify
    >>> @dataclass(frozen=True)
    ... class Honest(GRR):
    ...     def randomize(self, values, draws):
    ...         return values
    >>> try:
    ...     certify(Honest)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    Honest(k=2, epsilon=1.0): a report gives a value away with certainty
    """
    for check in progress(checks_of(make), "certifying", unit="check"):
        check(make)
