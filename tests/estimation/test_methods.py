"""Estimators by name: post-processing against its definitions, and what every method promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import binom

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import METHODS, Estimate, ProcessedEstimate, invert, mixture_em
from ldpstats.estimation.methods import POST_PROCESSING, NoiseVariance
from ldpstats.mechanisms import GRR, OUE, SS, Mechanism
from ldpstats.noise import MultinomialNoise, NoiseModel, SupportNoise, Tally, TruthOrFake

Array = NDArray[np.float64]

UNARY = SupportNoise.independent(24, 0.5, 1 / (np.e + 1))
VARIANCE = NoiseVariance(2000, 3.7, 1.0)
PROPER = ["norm-mul", "norm-sub", "norm-cut", "mle-apx", "power-ns"]

estimates = arrays(float, st.integers(1, 12), elements=st.floats(-2, 2, allow_subnormal=False))


def process(method: str, frequencies: list[float] | Array, variance: NoiseVariance = VARIANCE) -> Array:
    return POST_PROCESSING[method](np.asarray(frequencies, dtype=float), variance)


def tables(count: int, truth: Array, n: int, seed: int) -> tuple[Array, NoiseVariance]:
    """Draw tables seen through unary encoding; their estimates do not sum to one."""
    drawn = UNARY.draw(truth, n, count, np.random.default_rng(seed))
    estimate = invert(Tally(UNARY, drawn, n))
    return estimate.estimate, NoiseVariance.of(estimate)


@pytest.mark.parametrize("method", POST_PROCESSING)
@given(frequencies=estimates)
def test_permuting_the_values_permutes_the_result_and_proper_methods_give_proper_frequencies(
    method: str, frequencies: Array
) -> None:
    before = frequencies.copy()
    straight = process(method, frequencies)
    assert np.array_equal(frequencies, before), "the estimates are left alone"
    assert not np.shares_memory(straight, frequencies)
    backward = process(method, frequencies[::-1])[::-1]
    assert np.all(np.isfinite(straight))
    assert np.allclose(straight, backward, rtol=0, atol=1e-9)
    if method in PROPER:
        assert straight.min() >= 0
        assert abs(straight.sum() - 1) < 1e-9


@pytest.mark.parametrize("method", POST_PROCESSING)
def test_many_tables_are_processed_one_by_one(method: str) -> None:
    drawn, variance = tables(6, np.full(24, 1 / 24), 500, seed=1)
    together = process(method, drawn.reshape(2, 3, 24), variance)
    assert np.array_equal(together.reshape(6, 24), [process(method, one, variance) for one in drawn])


@pytest.mark.parametrize("method", POST_PROCESSING)
def test_without_noise_proper_frequencies_stay(method: str) -> None:
    result = process(method, [0.5, 0.3, 0.0, 0.2], NoiseVariance(10, 0.0, 0.0))
    assert np.allclose(result, [0.5, 0.3, 0, 0.2], rtol=0, atol=1e-15)


@given(frequencies=estimates)
def test_norm_sub_is_the_nearest_proper_distribution(frequencies: Array) -> None:
    level = brentq(
        lambda shift: np.maximum(frequencies - shift, 0).sum() - 1, frequencies.min() - 1, frequencies.max(), xtol=1e-15
    )
    assert np.allclose(process("norm-sub", frequencies), np.maximum(frequencies - level, 0), rtol=0, atol=1e-12)


@given(counts=arrays(int, st.integers(2, 12), elements=st.integers(0, 100)), p=st.floats(0.3, 0.95))
def test_mle_apx_solves_its_equations(counts: Array, p: float) -> None:
    """In particular where the slope is negative: q = .25 and p > .75."""
    q = 0.25
    base, slope = q * (1 - q) / (p - q) ** 2, (1 - p - q) / (p - q)
    frequencies = (counts / 100 - q) / (p - q)
    result = process("mle-apx", frequencies, NoiseVariance(100, base, slope))
    level = (frequencies - result) / (base + slope * result)
    held = result > 1e-9
    assert abs(result.sum() - 1) < 1e-9
    assert np.ptp(level[held]) < 1e-6
    assert np.all(level[~held] <= level[held].max() + 1e-6)


def test_mle_apx_is_the_closed_form_of_its_authors() -> None:
    drawn, variance = tables(50, np.arange(24) / 276, 800, seed=5)
    p, q = UNARY.p, UNARY.q
    for frequencies in drawn:
        ours = process("mle-apx", frequencies, variance)
        observed, held = q + (p - q) * frequencies, ours > 0
        m = held.sum()
        x = (observed[held].sum() - p - (m - 1) * q) / (p * (1 - p) + (m - 1) * q * (1 - q))
        theirs = (observed - q - q * (1 - q) * x) / (p - q + (p * (1 - p) - q * (1 - q)) * x)
        assert np.allclose(ours[held], theirs[held], rtol=1e-12, atol=0)
        assert np.all(theirs[~held] <= 0)


def test_mle_apx_is_norm_sub_where_the_variance_is_constant() -> None:
    drawn, _ = tables(20, np.arange(24) / 276, 800, seed=6)
    for symmetric in (NoiseVariance(800, 3.9, 0.0), NoiseVariance(800, 0.0, 0.0)):
        assert np.allclose(process("mle-apx", drawn, symmetric), process("norm-sub", drawn), rtol=0, atol=1e-14)


def test_mle_apx_refuses_noise_that_differs_between_values() -> None:
    skewed = MultinomialNoise(TruthOrFake(0.4, (0.5, 0.3, 0.2)))
    estimate = invert(Tally(skewed, [50, 30, 20], 100))
    with pytest.raises(LdpstatsError, match="differs between the values"):
        POST_PROCESSING["mle-apx"](estimate.estimate, NoiseVariance.of(estimate))
    with pytest.raises(LdpstatsError, match="variance would be negative"):
        process("mle-apx", [5.0, -4.0], NoiseVariance(100, 0.75, -0.4))


@pytest.mark.parametrize(("n", "k", "base"), [(50, 200, 3.0), (1000, 8, 3.7), (20_000, 30, 3.7), (2000, 30, 0.01)])
def test_power_is_the_posterior_mean_under_a_power_law(n: int, k: int, base: float) -> None:
    rng = np.random.default_rng(7)
    frequencies = rng.dirichlet(np.full(k, 0.3)) + rng.normal(0, np.sqrt(base / n), k)
    held, counts, spread = np.arange(1.0, n + 1), n * frequencies, n * base

    def law_mean(s: float) -> float:
        return float((held ** (1 - s)).sum() / (held**-s).sum())

    mean = counts.mean()
    exponent = 1.01 if mean < 1 else brentq(lambda s: law_mean(s) - mean, 0, 60)
    kernel = -((counts[:, None] - held) ** 2) / (2 * spread) - exponent * np.log(held)
    weights = np.exp(kernel - kernel.max(axis=1, keepdims=True))
    expected = weights @ held / weights.sum(axis=1) / n
    assert np.allclose(process("power", frequencies, NoiseVariance(n, base, 1.0)), expected, rtol=1e-5, atol=0)


def test_power_with_a_mean_that_no_power_law_reaches_takes_the_flat_law() -> None:
    frequencies, n, base = np.array([0.9, 0.7]), 100, 2.0
    held = np.arange(1, n + 1)
    weights = np.exp(-((n * frequencies[:, None] - held) ** 2) / (2 * n * base))
    expected = weights @ held / weights.sum(axis=1) / n
    assert np.allclose(process("power", frequencies, NoiseVariance(n, base, 0.0)), expected, rtol=1e-5, atol=0)


@pytest.mark.parametrize("k", [5, 24, 100])
def test_base_cut_keeps_two_values_that_nobody_holds(k: int) -> None:
    """On average, and up to the normal approximation of the count."""
    n, q = 40_000, 0.25
    counts = np.arange(n + 1)
    frequencies = (counts / n - q) / (0.5 - q)
    variance = NoiseVariance(n, q * (1 - q) / (0.5 - q) ** 2, 1.0)
    padded = np.concatenate([frequencies[:, None], np.zeros((n + 1, k - 1))], axis=1)[frequencies > 0]
    kept = process("base-cut", padded, variance)[:, 0] > 0
    assert abs(k * binom.pmf(counts[frequencies > 0], n, q)[kept].sum() / 2 - 1) < 0.05


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_base_cut_of_few_values_cuts_at_zero(k: int) -> None:
    assert process("base-cut", [0.001, -0.001, 0.5, -0.5][:k]).tolist() == [0.001, 0, 0.5, 0][:k]


def test_norm_cut_keeps_the_largest_until_they_reach_one() -> None:
    result = process("norm-cut", [0.1, 0.6, -0.2, 0.3, 0.2, 0.2])
    assert np.allclose(result, np.array([0, 0.6, 0, 0.3, 0.2, 0.2]) / 1.3, rtol=1e-15, atol=0)
    assert np.allclose(process("norm-cut", [0.3, 0.1, -0.2]), [0.75, 0.25, 0], rtol=1e-15, atol=0)


NOISES = [
    UNARY,
    SupportNoise.subset(7, 0.6, 3),
    MultinomialNoise(TruthOrFake(0.3, (0.2,) * 5)),
    MultinomialNoise(TruthOrFake(0.4, (0.5, 0.3, 0.2))),
]


@pytest.mark.parametrize("noise", NOISES, ids=str)
def test_the_noise_variance_is_that_of_a_value_that_nobody_or_everybody_holds(noise: NoiseModel) -> None:
    counts = noise.draw(np.full(noise.cells, 1 / noise.cells), 50, 1, np.random.default_rng(8))[0]
    variance = NoiseVariance.of(invert(Tally(noise, counts, 50)))
    for held in range(noise.cells):
        exact = np.diagonal(noise.covariance(np.eye(noise.cells)[held]))
        stated = np.asarray(variance.base) + np.asarray(variance.slope) * np.eye(noise.cells)[held]
        assert np.allclose(stated, exact, rtol=0, atol=1e-12)
    assert variance.n == 50


def test_pooled_estimates_lend_their_standard_errors() -> None:
    estimate = Estimate(np.array([0.7, 0.3]), np.diag([0.04, 0.09]), 50)
    variance = NoiseVariance.of(estimate)
    assert np.allclose(variance.std_err, [0.2, 0.3], rtol=1e-15, atol=0)
    assert variance.slope == 0


@pytest.mark.parametrize(
    ("n", "base", "slope"), [(0, 1, 0), (5, -1, 0), (5, np.nan, 0), (5, np.inf, 0), (5, 1, np.nan)]
)
def test_impossible_noise_is_refused(n: int, base: float, slope: float) -> None:
    with pytest.raises(LdpstatsError, match=r"number of reports|noise variance"):
        NoiseVariance(n, base, slope)


# What the methods bias. The first four results depend on single counts, whose law is summed up exactly.

TRUTH = np.array([0.4, 0.2, 0.1, *[0.05] * 6, *[0.0] * 15])
N = 2000


def exact_bias(method: str) -> Array:
    """Return the bias at every value, and at last that of the set of all values nobody holds."""
    counts = np.arange(N + 1)
    frequencies = UNARY.debias(counts / N)
    variance = NoiseVariance(N, UNARY.q * (1 - UNARY.q) / UNARY.delta**2, 1.0)
    padded = np.repeat(frequencies[:, None], 24, axis=1)
    processed = POST_PROCESSING[method](padded, variance)[:, 0]
    return np.array([binom.pmf(counts, N, UNARY.mean(f)) @ processed - f for f in TRUTH])


def test_base_biases_nothing_base_pos_everything_upward() -> None:
    assert np.abs(exact_bias("base")).max() < 1e-12
    upward = exact_bias("base-pos")
    assert np.all(upward[3:] > 1e-4)
    assert np.all(upward >= -1e-12)


@given(frequencies=estimates)
def test_norm_mul_keeps_the_ratios_of_what_is_above_zero(frequencies: Array) -> None:
    positive = np.maximum(frequencies, 0)
    assume(positive.sum() > 1e-9)
    assert np.allclose(process("norm-mul", frequencies) * positive.sum(), positive, rtol=0, atol=1e-12)


@given(frequencies=estimates)
def test_norm_keeps_every_contrast(frequencies: Array) -> None:
    result = process("norm", frequencies)
    assert abs(result.sum() - 1) < 1e-12
    assert np.allclose(np.diff(result), np.diff(frequencies), rtol=0, atol=1e-12)


MECHANISMS = [GRR(6, 1.0), OUE(6, 1.0), SS(6, 0.5)]
VALUES = np.repeat(np.arange(6), [300, 150, 60, 30, 8, 2])


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.name)
@pytest.mark.parametrize("method", POST_PROCESSING)
def test_post_processing_starts_from_the_unbiased_estimate(mechanism: Mechanism, method: str) -> None:
    reports = mechanism.privatize(VALUES, rng=4)
    raw, done = mechanism.estimate(reports), mechanism.estimate(reports, method)
    assert np.array_equal(done.estimate, POST_PROCESSING[method](raw.estimate, NoiseVariance.of(raw)))
    assert (done.n, done.privacy, done.simulated) == (raw.n, raw.privacy, raw.simulated)


def test_the_most_likely_frequencies_of_single_outputs_need_only_the_counts() -> None:
    grr = MECHANISMS[0]
    reports = grr.privatize(VALUES, rng=5)
    from_reports, from_counts = grr.estimate(reports, "mle"), grr.estimate(grr.count(reports), "mle")
    assert np.array_equal(from_reports.estimate, from_counts.estimate)
    likelihoods = np.exp(grr.noise.log_likelihoods(grr.contributions(reports.data)))
    assert np.allclose(mixture_em(likelihoods).frequencies, from_counts.estimate, atol=1e-5)


@pytest.mark.parametrize("mechanism", MECHANISMS[1:], ids=lambda one: one.name)
def test_the_most_likely_frequencies_of_sets_need_the_reports(mechanism: Mechanism) -> None:
    reports = mechanism.privatize(VALUES, rng=6)
    fitted = mechanism.estimate(reports, "mle")
    assert isinstance(fitted, ProcessedEstimate)
    assert fitted.fitted is not None
    assert fitted.fitted.converged
    chances = np.exp(mechanism.noise.epsilon * mechanism.contributions(reports.data))
    best = np.log(chances @ fitted.estimate).sum()
    for other in (np.full(6, 1 / 6), mechanism.estimate(reports, "simplex").estimate):
        assert np.log(chances @ other).sum() < best
    with pytest.raises(LdpstatsError, match="Give the reports themselves"):
        mechanism.estimate(mechanism.count(reports), "mle")


@pytest.mark.parametrize("method", METHODS)
def test_biased_estimates_have_no_intervals(method: str) -> None:
    grr = MECHANISMS[0]
    estimate = grr.estimate(grr.privatize(VALUES, rng=7), method)
    assert list(estimate.to_frame().columns) == ["estimate"]
    for read in (lambda: estimate.covariance, lambda: estimate.std_err, estimate.conf_int):
        with pytest.raises(LdpstatsError, match="biased estimate"):
            read()


def test_unknown_methods_are_named_with_all_that_exist() -> None:
    grr = MECHANISMS[0]
    with pytest.raises(LdpstatsError, match=r"'best'.*'unbiased', 'mle', 'ibu'.*'power-ns'.*'simplex'"):
        grr.estimate(grr.privatize(VALUES, rng=8), "best")


def test_many_tables_are_post_processed_but_shown_one_at_a_time() -> None:
    grr = MECHANISMS[0]
    tallies = grr.simulate(np.bincount(VALUES), size=3, rng=9)
    estimate = grr.estimate(tallies, "simplex")
    assert estimate.estimate.shape == (3, 6)
    with pytest.raises(LdpstatsError, match="one table"):
        estimate.to_frame()


def test_what_is_shown_says_that_it_is_biased_and_how_it_was_found() -> None:
    tally = Tally(GRR(3, 1.0).noise, [60, 35, 5], 100, simulated=True)
    for method in ("norm-sub", "ibu"):
        found = GRR(3, 1.0).estimate(tally, method=method)
        assert f"by {method} (biased, no intervals)" in found.headline
        assert f"Found by {method}, which is biased" in str(found)
        assert found.picture().notes == ("simulated", f"by {method}: biased, and so without intervals")
        assert found.picture().to_frame()["lower"].isna().all()
        found.plot().figure.canvas.draw()
    assert "which converged" in str(found)
    assert found.to_dict()["converged"] is True
