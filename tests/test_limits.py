"""Limits: odd numbers and large alphabets get a right answer or the project's own error, soon and small."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import edges
import numpy as np
import pytest
from support.forged_files import forged

import ldpstats as ldp
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.inference.engine.detectability import (
    NoncentralityProfile,
    degrees_of_freedom,
    even_information,
    principal_information,
    report_information,
)
from ldpstats.inference.planning.design import PlannedTest, uniform_margins
from ldpstats.limits import LEAST_EPSILON, MOST_CELLS, refuse_too_large, refuse_too_many_cells
from ldpstats.mechanisms import REGISTRY
from ldpstats.mechanisms.base import Mechanism
from ldpstats.noise import (
    AdditiveNoise,
    CohortChannel,
    HadamardRandomizedResponse,
    HadamardResponse,
    MultinomialNoise,
    NoiseModel,
    NoisyCounts,
    SupportNoise,
    TruthOrFake,
)
from ldpstats.noise.additive import DiscreteLaplace
from ldpstats.numbers.arrays import as_array, at_least, positive_epsilon, real_array, significance
from ldpstats.saving.codec import encoded

HUGE = 10**400
DOMAIN = ldp.Domain({"a": ["x", "y"], "b": ["p", "q"]})


@pytest.mark.parametrize("kind", REGISTRY, ids=lambda kind: kind.name)
def test_every_mechanism_answers_or_refuses_at_the_edges(kind: type[Mechanism]) -> None:
    """A slice of benchmarks/edges.py, which tries them all."""
    usual = kind.only_k or 3
    cases = [(usual, level) for level in (1e-300, 1e-59, 1e-6, 60.0, 1e6, HUGE, None)]
    cases += [(k, 1.0) for k in (2, 2**31, 2**62 - 1, HUGE, 10**5000, 2.5, "3", np.int64(3))]
    assert [line for k, level in cases for line in edges.findings(kind.name, k, level)] == []


def test_the_sweep_sees_what_is_wrong() -> None:
    assert edges.tried(lambda: {}["nothing"]).startswith("KeyError")
    assert edges.tried(lambda: ldp.GRR(1, 1.0)) == ""
    assert edges.shown(HUGE) == "10**400"
    with pytest.raises(AssertionError, match="was taken"):
        edges._refuse(lambda odd: odd, 3)


@pytest.mark.parametrize("level", [1e-300, 1e-98, 2e-59, 1e-30, np.nextafter(LEAST_EPSILON, 0)])
def test_levels_that_doubles_cannot_tell_from_nothing_are_refused(level: float) -> None:
    for name in ("she", "sue", "grr", "olh", "ss"):
        with pytest.raises(LdpstatsError, match=r"epsilon = .*large enough to show"):
            ldp.mechanism(name, k=4, epsilon=level)


@pytest.mark.parametrize(
    "call",
    [
        lambda: positive_epsilon(HUGE),
        lambda: significance(HUGE),
        lambda: at_least(HUGE, 0, "n"),
        lambda: real_array([HUGE], "freq"),
        lambda: ldp.GRR(4, 1.0).variance(HUGE, 1),
        lambda: ldp.GRR(4, 1.0).variance(0.5, HUGE),
        lambda: ldp.GRR(4, 1.0).simulate([HUGE, 0, 0, 0]),
        lambda: ldp.UE(4, 1.0, keep=HUGE),
        lambda: ldp.plan((2, 2), effect=HUGE, epsilon=1.0),
        lambda: ldp.plan((2, HUGE), epsilon=1.0),
        lambda: ldp.power("grr", (2, 2), n=HUGE, epsilon=1.0),
        lambda: ldp.SampledGroups(DOMAIN, epsilon=HUGE),
        lambda: ldp.RRBA(DOMAIN, epsilon=1.0, block_size=HUGE),
        lambda: ldp.recommend(HUGE, 1.0),
        lambda: ldp.mechanisms(HUGE),
    ],
)
def test_a_number_of_400_digits_is_refused_wherever_a_number_goes(call: Callable[[], Any]) -> None:
    with pytest.raises(LdpstatsError):
        call()


def test_errors_print_numbers_that_python_does_not() -> None:
    assert shortened(10**5000) == "a int of very many digits"
    with pytest.raises(LdpstatsError, match="k = a int of very many digits"):
        ldp.GRR(10**5000, 1.0)


def test_masked_values_are_refused_not_read_through_the_mask() -> None:
    hidden = np.ma.masked_array([0, 1, 1], [False, True, False])
    for call in (ldp.GRR(2, 1.0).privatize, ldp.GRR(2, 1.0).count, lambda odd: DOMAIN.decode([odd[:2]])):
        with pytest.raises(LdpstatsError, match="masked entries"):
            call(hidden)
    nothing_hidden = np.ma.masked_array([0, 1], False)
    assert as_array(nothing_hidden, "values").tolist() == [0, 1]
    assert type(as_array(nothing_hidden, "values")) is np.ndarray


def models() -> list[NoiseModel]:
    codes = np.random.default_rng(1).integers(0, 2, (40, 5))
    named = [ldp.mechanism(kind.name, k=5, epsilon=1.0).noise for kind in REGISTRY if kind.only_k is None]
    return [
        *named,
        SupportNoise.subset(5, 0.6, 2),
        AdditiveNoise(5, (0.5, 0.25, 0.25)),
        NoisyCounts(5, 50, DiscreteLaplace(2.0)),
        MultinomialNoise(TruthOrFake(0.4, (0.1, 0.2, 0.3, 0.2, 0.2))),
        MultinomialNoise(CohortChannel(codes, 2, 0.75)),
        MultinomialNoise(HadamardResponse(5, 3, 4, 0.8)),
        MultinomialNoise(HadamardRandomizedResponse(5, 0.75)),
    ]


def test_variances_are_the_diagonal_of_the_covariance() -> None:
    improper = np.array([[0.1, 0.2, 0.3, 0.15, 0.25], [-0.1, 0.6, 0.2, 0.2, 0.1]])
    for noise in models():
        for frequencies in (improper[0], improper):
            dense = np.diagonal(noise.covariance(frequencies), axis1=-2, axis2=-1)
            np.testing.assert_allclose(noise.variance(frequencies), dense, rtol=1e-10, err_msg=str(noise))


def test_ranking_needs_no_matrix_between_values() -> None:
    for k in (20_263, 10**6):
        start = time.process_time()
        ranked = ldp.recommend(k, 1.0)
        assert time.process_time() - start < 3
        assert ranked["name"].iloc[0] == "olh", "the shortest reports within 1 % of the least variance"
        assert ranked["name"][ranked["std_err"].idxmin()] == "ss"
        told = ranked.set_index("name")
        assert np.isnan(told.loc["dbitflip", "std_err"])
        assert "entries" in told.loc["dbitflip", "why"]
    small = ldp.recommend(64, 1.0)
    noises = [ldp.mechanism(name, k=64, epsilon=1.0).noise for name in small["name"]]
    expected = [np.sqrt(np.diagonal(one.covariance(np.full(64, 1 / 64))).mean() / 1000) for one in noises]
    np.testing.assert_allclose(small["std_err"], expected, rtol=1e-10)


def test_figures_of_mechanisms_that_refuse_so_many_values_are_missing() -> None:
    told = ldp.mechanisms(20_263).set_index("name")
    assert told.loc[["cms", "shist", "dbitflip"], "variance"].isna().all()
    assert told.loc[["ss", "hr", "olh", "rr"], "variance"].notna().all()


def test_a_numeric_column_of_20263_values_is_asked_and_estimated() -> None:
    domain = ldp.Domain({"weight": range(20_263)})
    protocol = ldp.SampledGroups(domain, k=1, epsilon=4.0)
    people = np.zeros(20_263, dtype=np.int64)
    people[:3] = 5000
    table = protocol.simulate(people, rng=1)["weight"]
    assert np.all(np.abs(table.estimate[:3] - 1 / 3) < 6 * table.std_err[:3])
    assert table.conf_int().shape == (20_263, 2)
    assert len(table.to_frame()) == 20_263
    with pytest.raises(LdpstatsError, match=r"20,263 by 20,263 entries.*pandas\.cut"):
        _ = table.covariance


def test_a_table_of_too_many_cells_is_refused_before_it_is_made() -> None:
    wide = ldp.Domain({name: range(20_263) for name in "ab"})
    with pytest.raises(LdpstatsError, match=r"410,589,169 cells.*4,194,304.*pandas\.cut"):
        ldp.SampledGroups(wide, k=2, epsilon=1.0)
    with pytest.raises(LdpstatsError, match="cells"):
        wide.index()
    with pytest.raises(LdpstatsError, match="cells"):
        ldp.plan((20_263, 20_263), epsilon=1.0)
    refuse_too_many_cells(MOST_CELLS, "a table")
    refuse_too_large((4096, 4096), "a matrix")


FILES_THAT_ASK_FOR_TOO_MUCH: dict[str, tuple[str, dict[str, Any]]] = {
    "a table": ("question", {"Question": {"attributes": ["a"], "shape": [50_000], "classes": {"range": 10**9}}}),
    "a support": (
        "tally noise",
        {"SupportNoise": {"cells": 10**10, "p": 0.75, "q": 0.25, "r1": 0.1875, "r2": 0.0625, "size": None}},
    ),
    "a sum": ("tally noise", {"AdditiveNoise": {"cells": 10**10, "weights": [0.75, 0.25]}}),
    "blocks": ("tally noise", {"HadamardResponse": {"cells": 2, "blocks": 1, "width": 2**40, "inside": 0.9}}),
    "columns": ("tally noise", {"HadamardRandomizedResponse": {"cells": 2**40, "truth": 0.75}}),
    "symbols": (
        "tally noise",
        {"CohortChannel": {"codes": encoded(np.array([[0, 1, 0, 1]])), "symbols": 2**40, "truth": 0.75}},
    ),
    "noise": ("tally noise", {"NoisyCounts": {"cells": 10**10, "n": 5, "law": {"DiscreteLaplace": {"scale": 1.0}}}}),
}


@pytest.mark.parametrize("name", FILES_THAT_ASK_FOR_TOO_MUCH)
def test_a_small_file_cannot_ask_for_a_large_table(name: str) -> None:
    text = ldp.SampledGroups(DOMAIN, k=2, epsilon=1.0).simulate(np.array([9, 5, 3, 2]), rng=3).to_json()
    path, asked = FILES_THAT_ASK_FOR_TOO_MUCH[name]
    start = time.process_time()
    with pytest.raises(LdpstatsError, match=r"cells|entries|ways|ranges together"):
        ldp.TableSet.from_json(forged(text, f"tables 0 blocks 0 {path}", asked))
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("shape", [(2, 2), (3, 4), (5,), (2, 3, 2)])
def test_a_plan_for_equal_frequencies_needs_no_matrix_between_cells(shape: tuple[int, ...]) -> None:
    margins, cells = uniform_margins(shape), int(np.prod(shape))
    for name in ("grr", "ss", "oue", "sue", "she", "the", "olh"):
        noise = ldp.mechanism(name, k=cells, epsilon=1.0).noise
        found = PlannedTest(margins).seen_through(noise)
        dense = NoncentralityProfile(
            degrees_of_freedom(noise, shape), principal_information(report_information(noise, margins))
        )
        assert found.df == dense.df
        np.testing.assert_allclose(dense.seen, np.full(dense.seen.size, found.seen[0]), rtol=1e-9)
    uneven = MultinomialNoise(TruthOrFake(0.5, (0.7, *[0.3 / (cells - 1)] * (cells - 1))))
    assert even_information(uneven, margins) is None
    assert even_information(ldp.HR(cells, 1.0).noise, margins) is None
    assert even_information(noise, [np.array([0.9, *[0.1 / (side - 1)] * (side - 1)]) for side in shape]) is None


def test_two_numeric_columns_are_planned_for_at_once() -> None:
    start = time.process_time()
    found = ldp.plan(["ss", "oue", "olh", "grr"], (60, 60), epsilon=1.0)
    assert time.process_time() - start < 1
    assert found.table["mechanism"].iloc[0] == "ss"
