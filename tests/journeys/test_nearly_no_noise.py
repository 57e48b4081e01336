"""Nearly no noise: outputs that never come, cells that are empty by hypothesis, powers beyond those without noise."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

import ldpstats as ldp
from ldpstats import inference
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.noise import MultinomialNoise

PRIVACY = ldp.PrivacyStatement(math.inf, "a test")
Test = Callable[[ldp.Table], ldp.HypothesisResult]


def seen(shape: tuple[int, ...], counts: list[int], mechanism: str, epsilon: float) -> ldp.Table:
    """Return the table of respondents with these values, randomized with a fixed seed."""
    domain = ldp.Domain({name: range(side) for name, side in zip("abc", shape, strict=False)})
    tally = ldp.mechanism(mechanism, k=domain.size(), epsilon=epsilon).simulate(np.array(counts), rng=1)
    return ldp.Table(domain, (Block(Question.of(domain, domain.names), tally),), PRIVACY)


@pytest.mark.parametrize("mechanism", ["hr", "hrr", "o-rr", "grr", "ss"])
@pytest.mark.parametrize("epsilon", [38.0, 40.0, 60.0, 100.0])
def test_more_truth_than_floats_tell_is_tested_like_the_truth(mechanism: str, epsilon: float) -> None:
    counts = [30, 20, 10, 25, 14, 13]
    found, known = (
        ldp.independence_test(seen((2, 3), counts, mechanism, level), pvalue="asymptotic") for level in (epsilon, 28.0)
    )
    assert found.converged
    assert found.statistic == pytest.approx(known.statistic, rel=1e-4)
    assert found.power[0.3] == pytest.approx(known.power[0.3], rel=1e-4)
    assert ldp.power(ldp.mechanism(mechanism, k=6, epsilon=epsilon), (2, 3), n=200, effect=0.2) > 0.05


@pytest.mark.parametrize("mechanism", ["hr", "hrr", "o-rr", "grr", "rr"])
@pytest.mark.parametrize("k", [2, 3, 4, 6, 11])
def test_idle_outputs_are_those_that_every_value_makes_equally_likely(mechanism: str, k: int) -> None:
    if mechanism == "rr" and k > 2:
        mechanism = "grr"
    noise = ldp.mechanism(mechanism, k=k, epsilon=1.0).noise
    assert isinstance(noise, MultinomialNoise)
    assert np.array_equal(noise.channel.idle, np.ptp(noise.channel.matrix(), axis=0) < 1e-12)


class TestEmptyByHypothesis:
    """Goodness of fit to frequencies with zeros."""

    @pytest.mark.parametrize("mechanism", ["grr", "ss", "oue", "sue", "hr"])
    @pytest.mark.parametrize("epsilon", [3.0, 40.0])
    def test_what_fits_is_kept_and_what_cannot_be_is_rejected(self, mechanism: str, epsilon: float) -> None:
        frequencies = [0.5, 0.25, 0.25, 0.0]
        fits = inference.goodness_of_fit_test(seen((4,), [300, 150, 150, 0], mechanism, epsilon), frequencies)
        assert fits.pvalue > 0.05
        assert not fits.power[0.3] > stats.ncx2.sf(stats.chi2.isf(0.05, 2), 2, 600 * 0.09) + 1e-9
        other = inference.goodness_of_fit_test(seen((4,), [300, 100, 100, 100], mechanism, epsilon), frequencies)
        assert other.pvalue <= 1e-3
        if epsilon == 40:
            few = inference.goodness_of_fit_test(seen((4,), [300, 150, 146, 4], mechanism, epsilon), frequencies)
            assert few.pvalue == 1e-4


def others(table: ldp.Table) -> ldp.Table:
    """Return a table of other respondents who reported the same."""
    return ldp.Table(table.domain, table.blocks, table.privacy)


SMALL_TESTS: dict[str, tuple[tuple[int, ...], float, Test]] = {
    "homogeneity": ((2, 2), 80, lambda table: ldp.homogeneity_test([table, others(table)], pvalue="asymptotic")),
    "goodness of fit": (
        (2, 2),
        40,
        lambda table: inference.goodness_of_fit_test(table, [0.5, 0.3, 0.2, 0.0], pvalue="asymptotic"),
    ),
    "conditional": (
        (2, 2, 2),
        40,
        lambda table: inference.conditional_independence_test(table, "a", "b", "c", pvalue="asymptotic"),
    ),
    "joint": (
        (2, 2, 2),
        40,
        lambda table: inference.joint_independence_test(table, ["a", "b"], "c", pvalue="asymptotic"),
    ),
    "log-linear": ((2, 2, 2), 40, lambda table: ldp.log_linear_model(table, "a*b + c").test(pvalue="asymptotic")),
}


@pytest.mark.parametrize("name", SMALL_TESTS)
@pytest.mark.parametrize("mechanism", ["grr", "oue", "hr", "dbitflip"])
def test_no_power_is_above_that_without_noise(name: str, mechanism: str) -> None:
    """Reports tell at most what the answers of the same 40 (or 80) respondents would."""
    shape, n, test = SMALL_TESTS[name]
    cells = math.prod(shape)
    answered = 0
    for epsilon in (2.0, 8.0, 20.0, 40.0):
        for counts in ([38, 1, 1] + [0] * (cells - 3), [20] + [0] * (cells - 2) + [20], [40] + [0] * (cells - 1)):
            try:
                result = test(seen(shape, counts, mechanism, epsilon))
            except ldp.LdpstatsError:
                continue
            answered += 1
            for size, power in result.power.items():
                most = stats.ncx2.sf(stats.chi2.isf(0.05, result.df), result.df, n * size**2)
                assert power <= most + 1e-6, (epsilon, counts)
    assert answered


@pytest.mark.parametrize(("mechanism", "known"), [("sue", 28.0), ("cms", 40.0), ("rappor", 60.0)])
@pytest.mark.parametrize("epsilon", [75.0, 100.0, 200.0])
def test_bits_that_are_next_to_never_flipped_are_tested_like_true_ones(
    mechanism: str, known: float, epsilon: float
) -> None:
    counts = [300, 200, 100, 250, 140, 130]
    found, truth = (ldp.independence_test(seen((2, 3), counts, mechanism, level)) for level in (epsilon, known))
    assert found.converged
    assert found.statistic == pytest.approx(truth.statistic, rel=3e-3)
    assert found.power[0.1] == pytest.approx(truth.power[0.1], rel=1e-3)
