"""Tallies add up, coarsen and travel; models and counts that cannot be are refused."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.errors import LdpstatsError, ReportError
from ldpstats.noise import (
    CohortChannel,
    DenseChannel,
    HadamardRandomizedResponse,
    HadamardResponse,
    NoiseModel,
    SupportNoise,
    Tally,
    TruthOrFake,
)

FAKE = TruthOrFake(0.3, (0.1, 0.2, 0.3, 0.4))
BITS = SupportNoise.independent(4, 0.5, 0.1)
SETS = SupportNoise.subset(4, 0.7, 2)
DENSE = DenseChannel(((1 / 3, 2 / 3, 0.0), (0.25, 0.25, 0.5)))


@pytest.mark.parametrize("classes", [(0, 0, 1, 1), (1, 0, 1, 2), (3, 1, 0, 2)])
def test_merged_noise_is_that_of_the_added_up_tally(classes: tuple[int, ...]) -> None:
    merged = FAKE.merged(np.array(classes))
    adds = np.eye(max(classes) + 1)[list(classes)]
    frequencies = np.array([[0.4, 0.3, 0.2, 0.1], [0.0, 0.0, 0.5, 0.5]])
    assert merged is not None
    assert np.allclose(merged.mean(frequencies @ adds), FAKE.mean(frequencies) @ adds, rtol=0, atol=1e-15)
    added = adds.T @ FAKE.report_covariance(frequencies) @ adds
    assert np.allclose(merged.report_covariance(frequencies @ adds), added, rtol=0, atol=1e-15)


def test_merged_tallies_add_up_their_counts_and_stay_simulated() -> None:
    tables = Tally(FAKE, [[4, 3, 2, 1], [10, 0, 0, 0]], 10, simulated=7)
    merged = tables.merged(np.array([1, 0, 1, 0]))
    assert merged is not None
    assert merged.counts.tolist() == [[4, 6], [0, 10]]
    assert (merged.n, merged.simulated, merged.noise) == (10, 7, FAKE.merged(np.array([1, 0, 1, 0])))


def test_a_product_of_channels_merges_onto_a_factor() -> None:
    """One attribute's answer beside another's, added up over the other."""
    one, other = (ldp.GRR(k, 1.5).noise.channel.matrix() for k in (3, 4))
    noise = DenseChannel(tuple(map(tuple, np.kron(one, other).tolist())))
    for classes, factor, pair in ((np.arange(12) // 4, one, [0, 0, 1]), (np.arange(12) % 4, other, [1, 0, 1, 2])):
        merged = noise.merged(classes)
        assert merged is not None
        assert isinstance(merged.channel, TruthOrFake)
        np.testing.assert_allclose(merged.channel.matrix(), factor, rtol=0, atol=1e-15)
        again = noise.merged(np.array(pair)[classes])
        assert again is not None
        assert np.allclose(again.channel.matrix(), merged.merged(np.array(pair)).channel.matrix(), rtol=0, atol=1e-15)


def test_a_product_that_stays_one_is_no_truth_or_fake() -> None:
    pair = np.kron(*(ldp.GRR(2, epsilon).noise.channel.matrix() for epsilon in (1.0, 2.0)))
    noise = DenseChannel(tuple(map(tuple, np.kron(pair, pair).tolist())))
    merged = noise.merged(np.arange(16) // 4)
    assert merged is not None
    assert isinstance(merged.channel, DenseChannel)
    np.testing.assert_allclose(merged.channel.matrix(), pair, rtol=0, atol=1e-15)
    assert merged.epsilon == pytest.approx(3)


@pytest.mark.parametrize("lie", [0.2, 1e-13])
def test_values_that_report_their_class_differently_do_not_merge(lie: float) -> None:
    """However rare what differs is."""
    rows = ((1 - 2 * lie, lie, lie), (lie, 1 - 4 * lie, 3 * lie), (lie, lie, 1 - 2 * lie))
    assert DenseChannel(rows).merged(np.array([0, 0, 1])) is None


@pytest.mark.parametrize("noise", [DENSE, ldp.mechanism("hr", k=4, epsilon=1.0).noise], ids=str)
def test_other_noise_has_no_merged_form(noise: NoiseModel) -> None:
    assert noise.merged(np.arange(noise.cells) // 2) is None


@pytest.mark.parametrize(
    ("noise", "inside", "outside"),
    [
        (FAKE, [1.05, 0.0, -0.05, 0.0], [1.3, 0.0, -0.7, 0.4]),
        (BITS, [1.2, 0.0, 0.0, -0.2], [1.3, 0.0, 0.0, -0.3]),
        (DENSE, [1.0 - 1e-9, 1e-9], [1.0, 0.0]),
    ],
    ids=str,
)
def test_frequencies_outside_the_simplex_are_fine_while_reports_have_a_law(
    noise: NoiseModel, inside: list[float], outside: list[float]
) -> None:
    assert noise.supports(np.array([inside, outside])).tolist() == [True, False]


REFUSED: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    *((TruthOrFake, (truth, (0.5, 0.5))) for truth in (0.0, -0.1, 1.1, math.nan)),
    *((TruthOrFake, (0.5, fake)) for fake in ((), (1.0,), (1.5, -0.5), (0.5, 0.4), (math.nan, 0.5), (0.5, math.nan))),
    *((DenseChannel, (rows,)) for rows in ((), ((),), ((0.5, 0.6),), ((1.5, -0.5),), ((math.nan, 1.0), (0.5, 0.5)))),
    *((DenseChannel, (rows,)) for rows in (((0.5, 0.5), (1.0,)), ((1.0, 0.0), (1.0, 0.0)))),
    *((SupportNoise.independent, bad) for bad in ((1, 0.5, 0.1), (4, 0.1, 0.1), (4, 1.1, 0.1), (4, 0.5, -0.1))),
    *((SupportNoise.independent, (4, p, q)) for p, q in ((math.nan, 0.1), (0.5, math.nan))),
    *((SupportNoise.subset, bad) for bad in ((1, 0.5, 1), (4, 0.5, 0), (4, 0.5, 4), (4, 0.5, 2), (4, math.nan, 2))),
    *((SupportNoise, (4, 0.5, 0.1, *joint)) for joint in ((0.2, 0.01), (0.05, 0.2), (math.nan, 0.01), (0.05, 0.01, 2))),
    (SupportNoise, (4, SETS.p, SETS.q, SETS.r1, 2 * SETS.r2, 2)),
    *(
        (CohortChannel, (codes, 2, 0.7))
        for codes in ([[0, 2]], [[0, -1]], [[0.0, 1.0]], [0, 1], [[0], [0]], [[0, 1], [0]])
    ),
    (CohortChannel, (np.zeros((0, 3), dtype=int), 2, 0.7)),
    *((CohortChannel, ([[0, 1]], *wrong)) for wrong in ((1, 0.7), (2, 0.5), (2, 1.01), (2, math.nan))),
    *((HadamardResponse, bad) for bad in ((1, 1, 4, 0.6), (4, 1, 4, 0.6), (3, 1, 6, 0.6))),
    *((HadamardResponse, (3, 1, 4, inside)) for inside in (0.5, 1.1, math.nan)),
    *((HadamardRandomizedResponse, bad) for bad in ((1, 0.7), (3, 0.5), (3, 1.1), (3, math.nan))),
]


@pytest.mark.parametrize(("make", "parameters"), REFUSED)
def test_parameters_of_no_mechanism_are_refused(make: Callable[..., Any], parameters: tuple[Any, ...]) -> None:
    with pytest.raises(LdpstatsError, match="Allowed"):
        make(*parameters)


@pytest.mark.parametrize(
    ("noise", "counts", "n", "reason"),
    [
        (FAKE, [1, 2, 3], 6, "shape"),
        (FAKE, [1, 2, -1, 4], 6, "position"),
        (FAKE, [1.5, 2.5, 1, 1], 6, "position"),
        (FAKE, [math.nan, 2, 2, 2], 6, "position"),
        (FAKE, ["1", "2", "2", "1"], 6, "dtype"),
        (FAKE, [True, True, False, False], 2, "dtype"),
        (FAKE, [7, 0, 0, 0], 6, "at most 1 per report"),
        (FAKE, [1, 2, 2, 0], 6, "add up to 5 from 6 reports"),
        (SETS, [3, 3, 3, 4], 6, "add up to 13 from 6 reports"),
        (BITS, [7, 0, 0, 0], 6, "at most 1 per report"),
        (BITS, [0, 0, 0, 0], -1, "at least 0"),
        (BITS, [0, 0, 0, 0], 1.5, "at least 0"),
    ],
)
def test_counts_that_no_reports_give_are_refused(noise: NoiseModel, counts: Any, n: Any, reason: str) -> None:
    with pytest.raises(LdpstatsError, match=reason):
        Tally(noise, counts, n)


def test_tallies_of_the_same_noise_add_up_in_any_order() -> None:
    parts = [
        Tally(BITS, np.array(counts), n) for counts, n in (([3, 0, 1, 2], 4), ([0, 0, 0, 0], 0), ([1, 1, 9, 0], 9))
    ]
    parts.append(Tally(BITS, [5.0, 0, 0, 0], np.int64(5), simulated=True))
    forwards, backwards = parts[0] + parts[1] + parts[2] + parts[3], parts[3] + (parts[2] + (parts[1] + parts[0]))
    for total in (forwards, backwards):
        assert (total.counts.tolist(), total.n, total.simulated) == ([9, 1, 10, 2], 18, 5)
    assert not (parts[0] + parts[2]).simulated
    assert forwards.proportions.tolist() == [9 / 18, 1 / 18, 10 / 18, 2 / 18]


def test_the_counts_of_a_tally_cannot_be_changed() -> None:
    counts = np.array([1, 2, 3, 0])
    tally = Tally(FAKE, counts, 6)
    counts[0] = 100
    assert tally.counts.tolist() == [1, 2, 3, 0]
    with pytest.raises(ValueError, match="read-only"):
        tally.counts[0] = 5


def test_tallies_that_do_not_belong_together_do_not_merge() -> None:
    tally = Tally(FAKE, [[1, 2, 3, 0], [6, 0, 0, 0]], 6)
    for other in (
        Tally(TruthOrFake(0.31, (0.1, 0.2, 0.3, 0.4)), tally.counts, 6),
        Tally(SupportNoise.subset(4, 0.7, 1), tally.counts, 6),
        Tally(FAKE, tally.counts[0], 6),
        Tally(FAKE, tally.counts[[0, 0, 1]], 6),
    ):
        with pytest.raises(ReportError, match="tallies"):
            operator.add(tally, other)
    with pytest.raises(TypeError):
        operator.add(tally, 6)
