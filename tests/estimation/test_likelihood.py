"""Maximum-likelihood frequencies satisfy their optimality conditions, and EM finds them without ever stepping down."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError, NotIdentifiedError
from ldpstats.estimation.likelihood import expectation_maximization, iterative_bayesian_update, krr_mle, mixture_em
from ldpstats.noise import DenseChannel, MultinomialNoise, SupportNoise, TruthOrFake

Array = NDArray[np.float64]

FAKE = TruthOrFake(0.4, (0.5, 0.3, 0.15, 0.05))
WIDE = DenseChannel(((0.6, 0.2, 0.1, 0.1), (0.1, 0.7, 0.1, 0.1), (0.1, 0.2, 0.2, 0.5)))
NARROW = DenseChannel(((0.8, 0.2), (0.3, 0.7), (0.4, 0.6)))
UNARY = SupportNoise.independent(5, 0.5, 0.25)
SUBSET = SupportNoise.subset(5, 0.7, 2)


def krr(k: int, epsilon: float) -> TruthOrFake:
    odds = np.expm1(epsilon)
    return TruthOrFake(float(odds / (odds + k)), (1 / k,) * k)


def log_likelihood(channel: TruthOrFake | DenseChannel, counts: Array, frequencies: Array) -> float:
    seen = np.asarray(counts) > 0
    return float(np.asarray(counts)[seen] @ np.log(channel.push(frequencies)[seen]))


def slope(channel: TruthOrFake | DenseChannel, counts: Array, frequencies: Array) -> Array:
    """Return the derivative of the log-likelihood per report in every frequency, from the whole matrix."""
    seen = np.asarray(counts) > 0
    matrix: Array = channel.matrix()[:, seen]
    derivative: Array = matrix @ (np.asarray(counts)[seen] / np.sum(counts) / (frequencies @ matrix))
    return derivative


@st.composite
def channels_and_counts(draw: st.DrawFn) -> tuple[TruthOrFake, Array]:
    k = draw(st.integers(2, 10))
    fake = draw(arrays(float, k, elements=st.sampled_from([0.0, 0.01, 0.5, 1.0, 3.0])))
    counts = draw(arrays(np.int64, k, elements=st.one_of(st.just(0), st.integers(0, 1000))))
    assume(fake.sum() > 0)
    assume(counts.sum() > 0)
    return TruthOrFake(draw(st.floats(0.01, 1)), tuple(fake / fake.sum())), counts


@given(channels_and_counts())
def test_the_exact_estimate_satisfies_the_conditions_of_a_maximum(both: tuple[TruthOrFake, Array]) -> None:
    """The problem is concave, so they prove it: no derivative above one, and one where a frequency is positive."""
    channel, counts = both
    frequencies = krr_mle(channel, counts)
    derivative = slope(channel, counts, frequencies)
    assert frequencies.min() >= 0
    assert abs(frequencies.sum() - 1) < 1e-10
    assert derivative.max() < 1 + 1e-9
    assert np.all(np.abs(derivative[frequencies > 1e-9] - 1) < 1e-6)


def test_many_tables_have_their_estimates_one_by_one() -> None:
    counts = np.random.default_rng(2).multinomial(30, FAKE.push(np.array([0.1, 0.2, 0.3, 0.4])), (3, 5))
    together = krr_mle(FAKE, counts)
    assert np.array_equal(together.reshape(15, 4), [krr_mle(FAKE, one) for one in counts.reshape(15, 4)])


@given(counts=arrays(np.int64, 6, elements=st.integers(0, 20)))
def test_permuting_the_values_permutes_the_estimate(counts: Array) -> None:
    assume(counts.sum() > 0)
    channel = krr(6, 1.0)
    assert np.allclose(krr_mle(channel, counts[::-1]), krr_mle(channel, counts)[::-1], rtol=0, atol=1e-14)
    backward, forward = (expectation_maximization(MultinomialNoise(channel), one) for one in (counts[::-1], counts))
    assert np.allclose(backward.frequencies[::-1], forward.frequencies, rtol=0, atol=1e-6)


@given(channels_and_counts())
def test_em_comes_as_close_to_the_maximum_as_it_says(both: tuple[TruthOrFake, Array]) -> None:
    channel, counts = both
    fitted = expectation_maximization(MultinomialNoise(channel), counts)
    best = log_likelihood(channel, counts, krr_mle(channel, counts))
    assert fitted.converged
    assert fitted.gap <= 1e-10
    assert -1e-9 <= best - fitted.log_likelihood <= counts.sum() * fitted.gap + 1e-9


@pytest.mark.parametrize(("k", "epsilon", "n"), [(2, 0.5, 50), (64, 1.0, 20_000), (300, 0.1, 10**6), (300, 5.0, 10**6)])
def test_em_finds_the_exact_estimate(k: int, epsilon: float, n: int) -> None:
    channel = krr(k, epsilon)
    truth = 0.97 ** np.arange(k)
    counts = np.random.default_rng(3).multinomial(n, channel.push(truth / truth.sum()))
    fitted = expectation_maximization(MultinomialNoise(channel), counts)
    assert fitted.converged
    assert fitted.log_likelihood == pytest.approx(log_likelihood(channel, counts, krr_mle(channel, counts)), abs=1e-3)
    std_err = np.sqrt((1 - channel.truth) / k / n) / channel.truth
    assert np.abs(fitted.frequencies - krr_mle(channel, counts)).max() < 0.01 * std_err


@pytest.mark.parametrize("channel", [krr(64, 1.0), FAKE, WIDE, NARROW], ids=["k-RR", "fake", "wide", "narrow"])
def test_the_likelihood_never_decreases_and_the_gap_is_never_exceeded(channel: TruthOrFake | DenseChannel) -> None:
    counts = np.random.default_rng(4).multinomial(5000, channel.push(np.eye(channel.cells)[0]))
    noise = MultinomialNoise(channel)
    best = expectation_maximization(noise, counts, tolerance=1e-12).log_likelihood
    before = -np.inf
    for iterations in range(1, 40):
        fitted = expectation_maximization(noise, counts, iterations=iterations, tolerance=1e-12)
        assert fitted.iterations == iterations or fitted.converged
        assert before - 1e-9 <= fitted.log_likelihood <= best + 1e-9
        assert best - fitted.log_likelihood <= 5000 * fitted.gap + 1e-9
        before = fitted.log_likelihood


@pytest.mark.parametrize("channel", [FAKE, WIDE, NARROW], ids=str)
def test_the_gap_and_the_likelihood_are_those_of_the_whole_matrix(channel: TruthOrFake | DenseChannel) -> None:
    counts = np.array([7, 0, 5, 2][: channel.outputs])
    fitted = expectation_maximization(MultinomialNoise(channel), counts, iterations=2, tolerance=0)
    assert not fitted.converged
    assert fitted.gap == pytest.approx(slope(channel, counts, fitted.frequencies).max() - 1, abs=1e-14)
    assert fitted.log_likelihood == pytest.approx(log_likelihood(channel, counts, fitted.frequencies), rel=1e-14)


def test_a_channel_and_its_matrix_are_fitted_alike() -> None:
    rows = tuple(tuple(row) for row in FAKE.matrix())
    counts = [12, 0, 30, 8]
    quick, dense = (expectation_maximization(MultinomialNoise(one), counts) for one in (FAKE, DenseChannel(rows)))
    reports = mixture_em(FAKE.matrix().T, counts)
    for other in (dense, reports):
        assert np.allclose(quick.frequencies, other.frequencies, rtol=0, atol=1e-9)
        assert quick.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-9)


def test_em_stops_at_once_where_the_reports_tell_nothing() -> None:
    fitted = expectation_maximization(MultinomialNoise(DenseChannel(((0.5, 0.5), (0.5, 0.5)))), [3, 9])
    assert fitted.converged
    assert fitted.iterations == 0
    assert np.array_equal(fitted.frequencies, [0.5, 0.5])


def reports_of(noise: SupportNoise, truth: Array, n: int, seed: int) -> Array:
    """Draw reports, and not only their counts: bits, or subsets, of the true values."""
    rng = np.random.default_rng(seed)
    values = rng.choice(noise.cells, n, p=truth)
    if noise.size is None:
        held = values[:, None] == np.arange(noise.cells)
        bits: Array = (rng.random((n, noise.cells)) < np.where(held, noise.p, noise.q)).astype(float)
        return bits
    keys = rng.random((n, noise.cells))
    keys[np.arange(n), values] = np.where(rng.random(n) < noise.p, -1, 2)
    subsets: Array = (keys.argsort(axis=1).argsort(axis=1) < noise.size).astype(float)
    return subsets


@pytest.mark.parametrize("noise", [UNARY, SUBSET], ids=["unary", "subset"])
def test_the_fit_to_reports_satisfies_the_conditions_of_a_maximum(noise: SupportNoise) -> None:
    reports = reports_of(noise, np.array([0.6, 0.3, 0.1, 0, 0]), 400, seed=5)
    likelihoods = np.exp(noise.epsilon * reports)
    fitted = mixture_em(likelihoods)
    derivative = (likelihoods / (likelihoods @ fitted.frequencies)[:, None]).mean(axis=0)
    assert fitted.converged
    assert derivative.max() - 1 == pytest.approx(fitted.gap, abs=1e-12)
    assert fitted.gap <= 1e-10
    assert fitted.log_likelihood == pytest.approx(np.log(likelihoods @ fitted.frequencies).sum(), rel=1e-12)


def test_factors_of_reports_and_repetitions_change_nothing() -> None:
    likelihoods = np.exp(UNARY.epsilon * reports_of(UNARY, np.full(5, 0.2), 60, seed=6))
    often = np.arange(60) % 4
    plain = mixture_em(np.repeat(likelihoods, often, axis=0))
    factors = 10.0 ** np.linspace(-200, 200, 60)
    scaled = mixture_em(likelihoods * factors[:, None], weights=often)
    assert np.allclose(plain.frequencies, scaled.frequencies, rtol=0, atol=1e-8)
    assert scaled.log_likelihood == pytest.approx(plain.log_likelihood + often @ np.log(factors), rel=1e-12)


def test_the_update_on_supports_does_not_maximize_the_likelihood_of_the_reports() -> None:
    likelihoods = np.exp(UNARY.epsilon * (reports := reports_of(UNARY, np.full(5, 0.2), 400, seed=7)))
    fitted, updated = mixture_em(likelihoods), iterative_bayesian_update(reports.sum(axis=0), UNARY)
    assert updated.gap < 1e-6, "it is where it leads to"
    assert np.abs(updated.frequencies - fitted.frequencies).max() > 0.01
    assert np.log(likelihoods @ updated.frequencies).sum() < fitted.log_likelihood - 0.05


def literal_update(observed: Array, matrix: Array, iterations: int, tolerance: float) -> tuple[Array, int]:
    """Update as Eq. 3 of the paper has it, with the whole matrix."""
    shares, frequencies = observed / observed.sum(), np.full(len(matrix), 1 / len(matrix))
    made = 0
    while made < iterations:
        made += 1
        updated = frequencies * (matrix @ (shares / (frequencies @ matrix)))
        change, frequencies = np.abs(updated - frequencies).max(), updated
        if change < tolerance:
            break
    return frequencies, made


@pytest.mark.parametrize("noise", [UNARY, SUBSET, *map(MultinomialNoise, [FAKE, WIDE, NARROW])], ids=str)
def test_the_update_is_that_of_the_paper(noise: SupportNoise | MultinomialNoise) -> None:
    observed = np.array([30.0, 25, 20, 15, 11][: noise.outputs])
    supports = isinstance(noise, SupportNoise)
    matrix = noise.q + noise.delta * np.eye(noise.cells) if supports else noise.channel.matrix()
    expected, iterations = literal_update(observed, matrix, 10_000, 1e-12)
    updated = iterative_bayesian_update(observed, noise)
    assert np.allclose(updated.frequencies, expected, rtol=0, atol=1e-12)
    assert updated.iterations == iterations
    assert updated.converged == (iterations < 10_000)
    few, seven = literal_update(observed, matrix, 7, 1e-12)
    stopped = iterative_bayesian_update(observed, noise, 7)
    assert np.allclose(stopped.frequencies, few, rtol=0, atol=1e-14)
    assert (stopped.iterations, stopped.converged) == (seven, False)


def test_outputs_that_nobody_reported_leave_no_trace() -> None:
    silent = SupportNoise.independent(3, 0.5, 0.0)
    updated = iterative_bayesian_update([3, 0, 1], silent)
    assert np.allclose(updated.frequencies, [0.75, 0, 0.25], rtol=0, atol=1e-15)


def test_em_ends_soon_where_a_frequency_is_zero_and_would_be_so_without_the_constraint() -> None:
    """There plain EM approaches zero like 1 / iterations, and the gap bounds the square of the frequency."""
    channel, counts = TruthOrFake(0.5, (1.0, 0.0, 0.0)), [4, 0, 4]
    fitted = expectation_maximization(MultinomialNoise(channel), counts)
    assert np.array_equal(krr_mle(channel, counts), [0, 0, 1])
    assert np.allclose(fitted.frequencies, [0, 0, 1], rtol=0, atol=1e-4)
    assert fitted.iterations < 200


@pytest.mark.parametrize(
    "fit", [lambda c: krr_mle(FAKE, c), lambda c: expectation_maximization(MultinomialNoise(FAKE), c)]
)
def test_counts_that_are_no_counts_are_refused(fit: object) -> None:
    assert callable(fit)
    with pytest.raises(NotIdentifiedError, match="no reports"):
        fit([0, 0, 0, 0])
    for wrong in ([1, 2, 3], [1, 2, 3, -1], [1, 2, 3, 0.5], [1, 2, 3, np.nan]):
        with pytest.raises(LdpstatsError, match="counts"):
            fit(wrong)


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(NotIdentifiedError, match="no reports"):
        krr_mle(FAKE, [[1, 2, 3, 4], [0, 0, 0, 0]])
    with pytest.raises(LdpstatsError, match="one flat array"):
        expectation_maximization(MultinomialNoise(FAKE), np.ones((2, 4), dtype=int))
    for matrix in ([[1, 2], [0, 0]], [[1, -1]], [[1, np.nan]], [[np.inf, 1]]):
        with pytest.raises(LdpstatsError, match="zero for every value"):
            mixture_em(matrix)
    for weights in ([1, -1], [1, np.nan]):
        with pytest.raises(LdpstatsError, match="weights"):
            mixture_em(np.ones((2, 3)), weights)
    with pytest.raises(NotIdentifiedError, match="no reports"):
        mixture_em(np.ones((2, 3)), [0, 0])
    for observed in ([1, 2], [0, 0, 0, 0, 0]):
        with pytest.raises(LdpstatsError, match="observed shares"):
            iterative_bayesian_update(observed, UNARY)
    with pytest.raises(LdpstatsError, match="iterations"):
        iterative_bayesian_update([1, 2, 3, 4, 5], UNARY, iterations=0)
