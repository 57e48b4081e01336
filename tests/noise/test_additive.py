"""Noise that is independent in every cell agrees with brute force: sums of reports, and noisy counts of a curator."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.stats import multinomial, norm
from support.comparisons import close, fits, some_frequencies

from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.estimation import invert
from ldpstats.noise import DiscreteLaplace, NoisyCounts, SupportNoise, Tally
from ldpstats.noise.additive import AdditiveNoise, NoiseLaw, RoundedGaussian

SKEW = AdditiveNoise(3, (0.4, 0.3, 0.2, 0.1))
ALL = [AdditiveNoise(2, (0.6, 0.05, 0.25, 0.1)), SKEW, AdditiveNoise(4, (0.5, 0.3, 0.2)), AdditiveNoise(3, (0.7, 0.3))]

each_noise = pytest.mark.parametrize("noise", ALL, ids=str)


@each_noise
def test_a_law_is_supported_exactly_where_every_entry_has_a_proper_one(noise: AdditiveNoise) -> None:
    other = np.array(noise.weights)
    grid = np.linspace(-3, 4, 1401) + 1e-4
    entry = (1 - grid[:, None]) * other + grid[:, None] * other[::-1]
    rest = (1 - grid) / (noise.cells - 1)
    tables = np.column_stack([grid, *[rest] * (noise.cells - 1)])
    beside = (1 - rest[:, None]) * other + rest[:, None] * other[::-1]
    expected = (entry > 0).all(axis=1) & (beside > 0).all(axis=1)
    assert 0 < expected.sum() < expected.size
    assert np.array_equal(noise.supports(tables), expected)


def test_noise_that_is_nearly_nothing_loses_no_digits() -> None:
    """The inverse of an almost singular covariance: 1/f where the noise is far smaller than f, and 1/s at f = 0."""
    tiny = 2.0**-60
    noise = AdditiveNoise(3, (1 - tiny, tiny))
    _, information = noise.score(np.array([0.6, 0.4, 0.0]), np.zeros(3), 1)
    contrast = np.array([1.0, -1.0, 0.0])
    assert contrast @ information.times(contrast[:, None])[:, 0] == pytest.approx(1 / 0.6 + 1 / 0.4, rel=1e-14)
    assert information.diagonal[2] == pytest.approx(1 / tiny, rel=1e-12)


def test_a_report_adds_at_most_the_largest_number_to_an_entry() -> None:
    assert Tally(SKEW, np.array([30, 0, 30]), 10).n == 10
    with pytest.raises(LdpstatsError, match="at most 3 per report"):
        Tally(SKEW, np.array([31, 0, 0]), 10)


@pytest.mark.parametrize(
    ("cells", "weights"),
    [
        (3, (1.0,)),
        (3, (0.5, 0.5)),
        (3, (0.3, 0.7)),
        (3, (1.0, 0.0)),
        (3, (0.7, 0.4)),
        (1, (0.7, 0.3)),
        (3, (np.nan,) * 2),
    ],
)
def test_laws_that_tell_nothing_or_everything_are_refused(cells: int, weights: tuple[float, ...]) -> None:
    with pytest.raises(LdpstatsError, match=r"positive weights that sum to 1|the cells of a table = 1\."):
        AdditiveNoise(cells, weights)


SCALES = (0.2, 1.0, 3.0)
FAR = 140


def noise_law(scale: float, releases: int = 1) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return whole numbers around zero and their probabilities as summed noise, from scratch."""
    values = np.arange(-FAR, FAR + 1)
    one = np.exp(-np.abs(values) / scale)
    one /= one.sum()
    law = one
    for _ in range(releases - 1):
        law = np.convolve(law, one, mode="same")
    return values, law


def drawn_from(drawn: NDArray[np.int64], values: NDArray[np.int64], law: NDArray[np.float64]) -> bool:
    return fits(Counter(drawn.ravel().tolist()), dict(zip(values.tolist(), law.tolist(), strict=True)))


def rounded_law(sigma: float) -> NDArray[np.float64]:
    """Return the probabilities of the same numbers as rounded normal noise, from tails, lest digits be lost."""
    distance = np.abs(np.arange(-FAR, FAR + 1))
    law: NDArray[np.float64] = norm.sf((distance - 0.5) / sigma) - norm.sf((distance + 0.5) / sigma)
    return law


LAWS = [(DiscreteLaplace(scale), noise_law(scale)[1]) for scale in SCALES]
LAWS += [(RoundedGaussian(sigma), rounded_law(sigma)) for sigma in (0.3, 1.0, 1.99, 2.0, 6.5)]
each_law = pytest.mark.parametrize(("noise", "law"), LAWS, ids=[str(one) for one, _ in LAWS])


@each_law
def test_variance_and_weights_are_those_of_the_enumerated_law(noise: NoiseLaw, law: NDArray[np.float64]) -> None:
    values, near = np.arange(-FAR, FAR + 1), law > 1e-290
    assert close(law.sum(), 1)
    assert noise.variance == pytest.approx(law @ values**2, rel=1e-13)
    weight = noise.log_weight(values[near])
    assert weight - weight.max() == pytest.approx(np.log(law[near] / law.max()), rel=1e-9)


@pytest.mark.parametrize("releases", [1, 2, 5])
@each_law
def test_noise_has_its_exact_law(noise: NoiseLaw, law: NDArray[np.float64], releases: int) -> None:
    sums = [law]
    for _ in range(releases):
        sums.append(np.convolve(sums[-1], law, mode="same"))
    drawn, values = noise.sums(releases, (20_000,), np.random.default_rng(1)), np.arange(-FAR, FAR + 1)
    assert drawn_from(drawn, values, sums[releases - 1])
    assert noise.variance < 0.01 or not drawn_from(drawn, values, sums[releases])


@pytest.mark.parametrize(("scale", "excess"), [(2.0, 0.0215), (20.0, 0.00021), (1e6, 1e-12)])
def test_the_variance_is_practically_that_of_the_continuous_law(scale: float, excess: float) -> None:
    assert 0 <= 1 - DiscreteLaplace(scale).variance / (2 * scale**2) <= excess


@pytest.mark.parametrize("scale", SCALES)
def test_the_level_is_that_of_two_records_and_one_histogram(scale: float) -> None:
    """Enumerate all releases of two cells, for a respondent who is in the one or the other."""
    values, law = noise_law(scale)
    near = np.arange(FAR - 5, FAR + 6)
    released = [law[i - 1] * law[j] / (law[i] * law[j - 1]) for i, j in product(near, near)]
    assert close(NoisyCounts(2, 1, DiscreteLaplace(scale)).epsilon, math.log(max(released)))
    assert values[near].tolist() == list(range(-5, 6))


def test_noise_of_any_size_has_the_exact_variance() -> None:
    """A Laplace draw has kurtosis 6; six standard errors fail falsely less than once in a million."""
    for scale in (50.0, 1e5, 1e9):
        drawn = DiscreteLaplace(scale).sums(1, (20_000,), np.random.default_rng(2)) / scale
        assert abs(drawn.mean()) < 6 * math.sqrt(2 / 20_000)
        assert abs((drawn**2).mean() / 2 - 1) < 6 * math.sqrt(5 / 20_000)


def test_a_release_is_the_true_counts_and_one_noise_per_cell() -> None:
    noise, true = NoisyCounts(3, 12, DiscreteLaplace(1.0)), np.array([7, 5, 0])
    released = noise.simulate(np.tile(true, (20_000, 1)), np.random.default_rng(3)) - true
    for cell in released.T:
        assert drawn_from(cell, *noise_law(1.0))
    correlation = np.corrcoef(released.T)[np.triu_indices(3, 1)]
    assert np.abs(correlation).max() < 6 / math.sqrt(20_000)
    assert noise.simulate(np.tile(true, (2, 3, 1)), np.random.default_rng(3)).shape == (2, 3, 3)


@pytest.mark.parametrize("releases", [1, 2])
def test_drawn_tallies_have_the_exact_law_of_random_respondents(releases: int) -> None:
    frequencies, n = np.array([0.7, 0.3]), 2 * releases
    noise = NoisyCounts(2, 2, DiscreteLaplace(0.5))
    drawn = noise.draw(frequencies, n, 20_000, np.random.default_rng(4))
    values, law = noise_law(0.5, releases)
    for cell, frequency in enumerate(frequencies):
        counted = np.zeros_like(law)
        counted[FAR : FAR + n + 1] = multinomial.pmf([[i, n - i] for i in range(n + 1)], n, [frequency, 1 - frequency])
        assert drawn_from(drawn[:, cell], values, np.convolve(counted, law, mode="same"))


@pytest.mark.parametrize(("law", "chances"), [LAWS[2], LAWS[-1]], ids=str)
def test_moments_are_those_of_a_respondent_and_her_share_of_the_noise(law: NoiseLaw, chances: NDArray[Any]) -> None:
    noise, frequencies, values = NoisyCounts(4, 50, law), some_frequencies(4), np.arange(-FAR, FAR + 1)
    sampling = np.stack([np.diag(one) - np.outer(one, one) for one in frequencies])
    expected = sampling + chances @ values**2 / 50 * np.eye(4)
    matrix, offset = noise.design()
    assert close(noise.report_covariance(frequencies), expected)
    assert close(noise.covariance(frequencies), expected)
    assert close(noise.mean(frequencies), frequencies @ matrix.T + offset)
    assert close(noise.debias(noise.mean(frequencies)), frequencies)
    assert noise.epsilon == (math.inf if isinstance(law, RoundedGaussian) else 2 / law.scale)


@pytest.mark.parametrize("releases", [1, 2])
def test_the_estimate_is_unbiased_and_its_covariance_exact_by_enumeration(releases: int) -> None:
    frequency, n = 0.3, 2 * releases
    noise = NoisyCounts(2, 2, DiscreteLaplace(0.5))
    values, law = noise_law(0.5, releases)
    near = np.abs(values) <= 30
    outcomes, weights = [], []
    for ones in range(n + 1):
        chance = math.comb(n, ones) * frequency**ones * (1 - frequency) ** (n - ones)
        for (i, p), (j, q) in product(zip(values[near], law[near], strict=True), repeat=2):
            outcomes.append([ones + i, n - ones + j])
            weights.append(chance * p * q)
    estimate = invert(Tally(noise, np.array(outcomes), n))
    mean = np.average(estimate.estimate, axis=0, weights=weights)
    centred = estimate.estimate - mean
    spread = np.einsum("t,ti,tj->ij", weights, centred, centred)
    assert close(sum(weights), 1)
    assert close(mean, [frequency, 1 - frequency])
    assert close(spread, noise.covariance(mean) / n)
    assert estimate.bounds is None
    assert np.diagonal(estimate.covariance, axis1=1, axis2=2).min() >= noise.noise_variance / (n - 1)


def test_a_cell_that_shows_less_than_nothing_has_the_variance_of_its_noise() -> None:
    noise = NoisyCounts(2, 100, DiscreteLaplace(0.5))
    estimate = invert(Tally(noise, [[103, -3], [-1, -2], [70, 30]], 100))
    share = noise.law.variance / 100
    sampling = [[[0, 0], [0, 0]], [[0.25, -0.25], [-0.25, 0.25]], [[0.21, -0.21], [-0.21, 0.21]]]
    assert estimate.estimate.tolist() == [[1.03, -0.03], [-0.01, -0.02], [0.7, 0.3]]
    assert close(estimate.covariance, (np.array(sampling) + share * np.eye(2)) / 99)


def test_frequencies_are_supported_exactly_where_the_covariance_is_positive_definite() -> None:
    noise = NoisyCounts(3, 10, DiscreteLaplace(1.5))
    grid = np.linspace(-2, 3, 61) + 1e-3
    tables = np.array([[one, other, 1 - one - other] for one, other in product(grid, grid)])
    definite = np.linalg.eigvalsh(noise.report_covariance(tables)).min(axis=-1) > 0
    assert 0 < definite.sum() < definite.size
    assert np.array_equal(noise.supports(tables), definite)


def test_what_a_single_respondents_table_says_is_its_likelihood() -> None:
    noise, reach = NoisyCounts(3, 1, DiscreteLaplace(1.5)), np.array(list(product(range(-2, 4), repeat=3)))
    values, law = noise_law(1.5)
    likelihood = np.stack(
        [np.prod(law[np.searchsorted(values, reach - np.eye(3, dtype=int)[value])], axis=1) for value in range(3)],
        axis=1,
    )
    said = noise.log_likelihoods(reach)
    assert close(said - said[:, :1], np.log(likelihood / likelihood[:, :1]))


@pytest.mark.parametrize("counts", [[-3, 15], [[-3, 15], [12, 40]], [-3.0, 15.0]])
def test_noisy_counts_may_be_negative_and_exceed_the_respondents(counts: Any) -> None:
    tally = Tally(NoisyCounts(2, 10, DiscreteLaplace(4.0)), counts, 10)
    assert tally.counts.tolist() == np.array(counts).tolist()
    assert tally.counts.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        tally.counts[0] = 5
    assert Tally(tally.noise, [-5, 3], 0).n == 0
    with pytest.raises(LdpstatsError, match="nonnegative whole counts"):
        Tally(SupportNoise.independent(2, 0.5, 0.1), [-3, 5], 10)


@pytest.mark.parametrize(
    "counts",
    [[-1.5, 2], [math.nan, 1], [math.inf, 1], [1, 2, 3], 5, ["1", "2"], [True, False], [-(2**63), 1], [[1], []]],
)
def test_noisy_counts_are_whole_numbers_one_for_each_value(counts: Any) -> None:
    with pytest.raises(LdpstatsError, match="Allowed"):
        Tally(NoisyCounts(2, 10, DiscreteLaplace(4.0)), counts, 10)


def test_releases_of_as_many_respondents_add_up_with_their_noise() -> None:
    noise, frequencies = NoisyCounts(2, 10, DiscreteLaplace(2.0)), np.array([0.6, 0.4])
    both = Tally(noise, [-1, 12], 10) + Tally(noise, [7, 2], 10, simulated=True)
    assert (both.counts.tolist(), both.n, both.simulated) == ([6, 14], 20, 10)
    values, law = noise_law(2.0, releases=2)
    sampling = np.diag(frequencies) - np.outer(frequencies, frequencies)
    assert close(20 * noise.report_covariance(frequencies), 20 * sampling + law @ values**2 * np.eye(2))
    for other in (NoisyCounts(2, 11, DiscreteLaplace(2.0)), NoisyCounts(2, 10, DiscreteLaplace(2.5))):
        with pytest.raises(ReportError, match="seen through"):
            _ = both + Tally(other, [5, 5], 10)


def test_only_whole_releases_are_drawn() -> None:
    noise, rng = NoisyCounts(2, 10, DiscreteLaplace(2.0)), np.random.default_rng(1)
    with pytest.raises(LdpstatsError, match=r"add up to 9\. Allowed: those of 10 respondents"):
        noise.simulate(np.array([4, 5]), rng)
    for n in (0, 5, 15):
        with pytest.raises(LdpstatsError, match="releases of 10 respondents each"):
            noise.draw(np.array([0.5, 0.5]), n, 1, rng)


@pytest.mark.parametrize("scale", [0.0, -1.0, 0.001, math.inf, math.nan])
def test_scales_of_no_noise_or_nothing_but_noise_are_refused(scale: float) -> None:
    for law in (DiscreteLaplace, RoundedGaussian):
        with pytest.raises(LdpstatsError, match="finite scales"):
            law(scale)


@pytest.mark.parametrize(("cells", "n"), [(1, 10), (2, -1), (2, 1.5), (2.0, 10)])
def test_tables_of_no_cells_or_respondents_are_refused(cells: Any, n: Any) -> None:
    with pytest.raises(LdpstatsError, match="whole number"):
        NoisyCounts(cells, n, DiscreteLaplace(1.0))


@pytest.mark.parametrize(("sigma", "epsilon"), [(0.8, 1.0), (1.5, 0.5), (4.0, 0.2), (0.6, 3.0)])
def test_delta_is_that_of_normal_noise_by_integration_and_rounding_has_no_more(sigma: float, epsilon: float) -> None:
    """One record moves two cells by one each: along that direction by √2."""
    shift = math.sqrt(2)

    def excess(z: float) -> float:
        return max(norm.pdf(z, shift, sigma) - math.exp(epsilon) * norm.pdf(z, 0, sigma), 0)

    start = shift / 2 + epsilon * sigma**2 / shift
    stated = RoundedGaussian(sigma).delta(epsilon, shift)
    assert stated == pytest.approx(quad(excess, start, shift + 12 * sigma, epsabs=1e-14)[0], rel=1e-8)
    law = rounded_law(sigma)
    held, other = np.outer(law[:-1], law[1:]), np.outer(law[1:], law[:-1])  # a count in the one cell, or the other
    rounded = np.maximum(held - math.exp(epsilon) * other, 0).sum()
    assert 0.2 * stated < rounded <= stated
    if sigma > 3:
        assert rounded > 0.98 * stated


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 8.0, 60.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01, 0.6])
def test_the_least_sigma_has_the_delta_and_no_less_would_do(epsilon: float, delta: float) -> None:
    found = RoundedGaussian.least(epsilon, delta, math.sqrt(2))
    assert found.delta(epsilon, math.sqrt(2)) <= delta
    assert RoundedGaussian(found.sigma * (1 - 1e-7)).delta(epsilon, math.sqrt(2)) > delta
    assert found.sigma <= 2 * math.sqrt(math.log(1.25 / delta)) / epsilon or epsilon >= 1 or delta > 0.5
