"""Sketches and random projection: unbiased given public functions, the deployed decoders over their choice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import hadamard

from ldpstats.conformance import exact_channel
from ldpstats.errors import LdpstatsError, NotIdentifiedError, ReportError
from ldpstats.mechanisms import SUE, Mechanism
from ldpstats.mechanisms.cohorts import Codes
from ldpstats.mechanisms.hadamard_response import HRR
from ldpstats.mechanisms.sketch import CMS, HCMS, SHist, _signs
from ldpstats.noise import MultinomialNoise, Tally
from ldpstats.numbers.arrays import FloatArray


def with_given_functions(kind: Any) -> Any:
    """Return the kind of sketch with functions of the caller's, whatever they identify."""

    @dataclass(frozen=True, slots=True)
    class Given(kind):
        maps: tuple[tuple[int, ...], ...] = ()

        def __post_init__(self) -> None:
            Mechanism.__post_init__(self)

        @property
        def functions(self) -> Codes:
            return Codes(np.array(self.maps)[:, None, :], self.width)

    return Given


GivenCMS, GivenHCMS = with_given_functions(CMS), with_given_functions(HCMS)


@dataclass(frozen=True, slots=True)
class WithoutDebiasing(GivenCMS):
    """A sketch without its debias factor: the average over the rows is taken for the frequency."""

    def deployed_estimate(self, tally: Tally) -> FloatArray:
        return (CMS.deployed_estimate(self, tally) * (self.width - 1) + 1) / self.width


def mean_of_deployed(sketch: CMS | HCMS) -> FloatArray:
    """Return the exact mean of the deployed estimate from one report, a row per true value."""
    rows = []
    for law in exact_channel(sketch):
        reports = [np.frombuffer(report, dtype=sketch.report_format.dtype) for report in law]
        shaped = [one.reshape(sketch.report_format.shape(1)) for one in reports]
        rows.append(
            sum(
                float(chance) * sketch.deployed_estimate(sketch.count(one))
                for one, chance in zip(shaped, law.values(), strict=True)
            )
        )
    return np.array(rows)


def over_all_maps(kind: Any, k: int, width: int) -> FloatArray:
    """Return that mean for each of the maps from k values to the columns, with one hash function."""
    maps = list(product(range(width), repeat=k))
    return np.array([mean_of_deployed(kind(k, 1.0, hashes=1, width=width, maps=(one,))) for one in maps])


def over_affine_maps(kind: Any, prime: int) -> FloatArray:
    """Return it for each function a v + b modulo a prime: of these, two values' columns are exactly independent."""
    maps = [tuple((a * value + b) % prime for value in range(prime)) for a, b in product(range(prime), range(prime))]
    return np.array([mean_of_deployed(kind(prime, 1.0, hashes=1, width=prime, maps=(one,))) for one in maps])


@pytest.mark.parametrize(
    "means",
    [
        pytest.param(lambda: over_all_maps(GivenCMS, 3, 2), id="CMS over all maps"),
        pytest.param(lambda: over_affine_maps(GivenCMS, 3), id="CMS over affine maps"),
        pytest.param(lambda: over_all_maps(GivenHCMS, 3, 2), id="HCMS over all maps to 2"),
        pytest.param(lambda: over_all_maps(GivenHCMS, 2, 4), id="HCMS over all maps to 4"),
    ],
)
def test_the_deployed_estimator_is_unbiased_over_the_functions_and_not_given_them(
    means: Callable[[], FloatArray],
) -> None:
    found = means()
    assert found.mean(axis=0) == pytest.approx(np.eye(found.shape[1]), abs=1e-12)
    # for the functions that send two values to one column, each takes the other's respondents for its own
    assert np.abs(found - np.eye(found.shape[1])).max() == pytest.approx(1.0, abs=1e-12)


def test_a_sketch_without_its_debias_factor_is_seen_to_be_biased() -> None:
    found = over_all_maps(WithoutDebiasing, 3, 2).mean(axis=0)
    assert np.abs(found - np.eye(3)).max() == pytest.approx(0.5)


def test_several_functions_are_averaged() -> None:
    one, two = (0, 1, 1), (0, 0, 1)
    alone = [mean_of_deployed(GivenCMS(3, 1.0, hashes=1, width=2, maps=(each,))) for each in (one, two)]
    both = mean_of_deployed(GivenCMS(3, 1.0, hashes=2, width=2, maps=(one, two)))
    assert both == pytest.approx((alone[0] + alone[1]) / 2, abs=1e-12)


@pytest.mark.parametrize("sketch", [CMS(5, 1.0), HCMS(5, 1.0)], ids=str)
def test_estimate_is_unbiased_given_the_functions_where_the_deployed_one_is_not(sketch: CMS | HCMS) -> None:
    frequencies = np.array([0.5, 0.3, 0.2, 0.0, 0.0])
    expected = sketch.noise.mean(frequencies)
    assert sketch.noise.debias(expected) == pytest.approx(frequencies, abs=1e-12)
    codes = sketch.functions
    shares = np.zeros((codes.cohorts, codes.width))
    np.add.at(shares, (np.arange(codes.cohorts)[:, None], codes.single), frequencies)
    assert sketch.rows(expected) == pytest.approx(shares, abs=1e-12)
    deployed = np.take_along_axis(shares, codes.single, axis=1).mean(axis=0)
    bias = (codes.width * deployed - 1) / (codes.width - 1) - frequencies
    assert np.abs(bias).max() > 0.01
    n = 10**12
    counts = np.rint(n * expected).astype(np.int64)
    counts[0] += n * (sketch.noise.size or 1) - counts.sum()
    assert sketch.deployed_estimate(Tally(sketch.noise, counts, n)) == pytest.approx(frequencies + bias, abs=1e-9)


def test_the_deployed_estimator_takes_many_tables_and_refuses_what_it_cannot_know() -> None:
    sketch = CMS(4, 1.0)
    tables = sketch.simulate([40, 30, 20, 10], size=3, rng=1)
    assert sketch.deployed_estimate(tables).shape == (3, 4)
    first = Tally(sketch.noise, tables.counts[0], 100)
    assert np.array_equal(sketch.deployed_estimate(first), sketch.deployed_estimate(tables)[0])
    with pytest.raises(ReportError, match="did not make"):
        sketch.deployed_estimate(CMS(4, 1.5).simulate([1, 1, 1, 1], rng=1))
    with pytest.raises(NotIdentifiedError, match="no reports"):
        sketch.deployed_estimate(sketch.count(np.zeros((0, sketch.report_format.width), dtype=np.uint8)))


def test_a_coefficient_is_that_of_the_hadamard_matrix() -> None:
    sketch = HCMS(6, 1.0, hashes=3, width=4)
    signs = hadamard(4)[:, sketch.functions.single].swapaxes(0, 1).reshape(12, 6)
    assert np.array_equal(1 - 2 * sketch.codes.single, signs)


def test_the_functions_are_the_same_everywhere_and_for_good() -> None:
    assert CMS(5, 1.0).functions.single.tolist() == [[2, 7, 4, 1, 6], [7, 6, 3, 0, 5], [6, 3, 0, 7, 5], [7, 5, 7, 5, 4]]
    assert np.array_equal(HCMS(5, 2.0).functions.single, CMS(5, 1.0).functions.single)
    assert not np.array_equal(CMS(5, 1.0, seed=1).functions.single, CMS(5, 1.0).functions.single)


def test_functions_that_do_not_tell_all_values_are_passed_over() -> None:
    # two columns of one row tell two values apart with probability one half
    seeds = {seed: CMS(2, 1.0, hashes=1, width=2, seed=seed).functions.single.tolist() for seed in range(20)}
    assert all(one in ([[0, 1]], [[1, 0]]) for one in seeds.values())


@pytest.mark.parametrize("kind", [CMS, HCMS])
def test_the_usual_size_lets_collisions_add_a_third_to_the_variance(kind: type[CMS] | type[HCMS]) -> None:
    flips = {CMS: np.exp(0.5) / (np.exp(0.5) - 1) ** 2, HCMS: (np.exp(1) + 1) ** 2 / (np.exp(1) - 1) ** 2}[kind]
    sketch = kind(300, 1.0)
    variances = np.asarray(sketch.variance(np.full(300, 1 / 300), 1))
    assert flips < variances.mean() < 1.4 * flips


def test_one_bit_per_value_without_collisions_is_symmetric_unary_encoding() -> None:
    k = 4
    sketch = GivenCMS(k, 1.0, hashes=1, width=k, maps=((2, 0, 3, 1),))
    frequencies = np.array([0.4, 0.3, 0.2, 0.1])
    assert sketch.noise.covariance(frequencies) == pytest.approx(SUE(k, 1.0).noise.covariance(frequencies), abs=1e-12)


def signs(mechanism: SHist) -> NDArray[np.float64]:
    return 1.0 - 2.0 * mechanism.noise.channel.codes


def test_the_matrix_is_the_same_for_all_who_have_the_seed() -> None:
    # written down once: a new numpy must not change a public matrix that respondents already use
    assert np.packbits(_signs(16, 4, 2, 0), axis=1).tolist() == [[95, 130], [194, 217], [207, 235], [15, 163]]
    np.testing.assert_array_equal(SHist(16, 1.0).noise.channel.codes, _signs(16, 64, 2, 0))
    assert SHist(16, 1.0).noise == SHist(16, 1.0).noise
    assert SHist(16, 1.0).noise != SHist(16, 1.0, seed=1).noise


def test_its_bits_are_fair_and_independent() -> None:
    ones = signs(SHist(100, 1.0, rows=1000))
    # 6.5 standard deviations, for the total and for each of 4950 products of columns: below 1e-6
    assert abs(ones.mean()) < 6.5 / np.sqrt(ones.size)
    products = np.abs(ones.T @ ones)[np.triu_indices(100, 1)]
    assert products.max() < 6.5 * np.sqrt(1000)


def test_seeds_whose_matrix_leaves_values_together_are_passed_over() -> None:
    def rank(seed: int) -> int:
        return int(np.linalg.matrix_rank(np.vstack([np.ones(3), 1.0 - 2.0 * _signs(3, 3, 2, seed)])))

    seed = next(seed for seed in range(100) if rank(seed) < 3)
    following = next(one for one in range(seed, seed + 100) if rank(one) == 3)
    assert SHist(3, 1.0, rows=3, seed=seed).noise == SHist(3, 1.0, rows=3, seed=following).noise


@pytest.mark.parametrize("k", [3, 5, 30])
def test_the_papers_decoder_is_biased_by_the_products_of_columns(k: int) -> None:
    mechanism = SHist(k, 1.0)
    assert isinstance(mechanism.noise, MultinomialNoise)
    single = np.stack(
        [mechanism.projected(Tally(mechanism.noise, one, 1)) for one in np.eye(mechanism.noise.outputs, dtype=int)]
    )
    expected = signs(mechanism).T @ signs(mechanism) / len(signs(mechanism))
    np.testing.assert_allclose(mechanism.noise.channel.matrix() @ single, expected, rtol=0, atol=1e-12)
    assert np.abs(expected - np.eye(k)).max() > 0.1


@pytest.mark.parametrize(("k", "rows", "ratio"), [(50, 200, 4 / 3), (50, 400, 8 / 7), (200, 400, 2)])
def test_the_variance_is_that_of_orthogonal_columns_over_the_share_of_spare_rows(
    k: int, rows: int, ratio: float
) -> None:
    uniform = np.full(k, 1 / k)
    found = np.mean(SHist(k, 1.0, rows=rows).variance(uniform, 1)) / HRR(k, 1.0).variance(1 / k, 1)
    assert found == pytest.approx(ratio, rel=0.05)


def test_the_papers_decoder_takes_own_tallies_only() -> None:
    other = SHist(4, 2.0)
    with pytest.raises(ReportError, match="SHist"):
        SHist(4, 1.0).projected(other.simulate([1, 2, 3, 4], rng=1))


NO_SIZES = [("width", 1), ("width", 2.0), ("hashes", 0), ("hashes", True), ("seed", -1)]


@pytest.mark.parametrize(
    ("kind", "k", "options", "said"),
    [
        *((kind, 6, {name: value}, "Allowed") for kind in (CMS, HCMS) for name, value in NO_SIZES),
        *((kind, 6, {"hashes": 1, "width": 4}, "at most 4 values") for kind in (CMS, HCMS)),
        (HCMS, 4, {"width": 6}, "power of two"),
        (CMS, 100_000, {}, "OLH"),
        *((SHist, 4, {"rows": rows}, "rows") for rows in (3, 0, -5, 4.0, "8", True)),
        *((SHist, 4, {"seed": seed}, "seed") for seed in (-1, 0.5, None)),
        (SHist, 10_000, {}, "HRR"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(kind: Any, k: int, options: dict[str, Any], said: str) -> None:
    with pytest.raises(LdpstatsError, match=said):
        kind(k, 1.0, **options)
