"""Power of tests of two attributes given others: against closed forms, the engine's own models, and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency, ncx2
from support.two_way_tables import MARGINS, open_answers, some_table

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine.detectability import (
    NoncentralityProfile,
    degrees_of_freedom,
    departures,
    deviations,
    information_beyond,
    principal_information,
    product_of,
)
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import ProductOfConditionals
from ldpstats.inference.planning.design import PlannedTest
from ldpstats.inference.planning.sizing import power, sample_size
from ldpstats.mechanisms import REGISTRY
from ldpstats.noise import Tally

TESTED = [((2, 3, 2), (0, 1)), ((2, 3, 2), (0, 2)), ((3, 2, 4), (1, 2)), ((2, 2, 2, 3), (1, 3))]


def model_of(shape: tuple[int, ...], tested: tuple[int, int]) -> ProductOfConditionals:
    others = tuple(axis for axis in range(len(shape)) if axis not in tested)
    return ProductOfConditionals.independent_given(shape, (tested[0],), (tested[1],), others)


def test_without_noise_a_whole_table_has_the_sum_of_pearsons_statistics_of_its_strata() -> None:
    table, n, df = some_table((3, 2, 4)), 500, (3 - 1) * (2 - 1) * 4
    strata = [chi2_contingency(table[..., place] * n, correction=False).statistic for place in range(4)]
    found = power(open_answers(24), (3, 2, 4), n=n, effect=table, conditional=True)
    assert found == pytest.approx(ncx2.sf(chi2.isf(0.05, df), df, sum(strata)), abs=1e-9)


@pytest.mark.parametrize(
    ("shape", "tested"), [*TESTED, ((4,), None), ((2, 2), None), ((3, 2), None), ((4, 3), None), ((2, 3, 2), None)]
)
def test_departures_are_all_that_the_hypothesis_excludes(
    shape: tuple[int, ...], tested: tuple[int, int] | None
) -> None:
    """They are orthonormal with what is free, span what the null model excludes, and leave the margins alone."""
    margins = [MARGINS[side] for side in shape]
    null, (directions, tangents) = product_of(margins), departures(margins, tested)
    everything = np.hstack([directions, tangents])
    assert everything.shape == (null.size, null.size - 1)
    assert np.allclose(everything.T @ (everything / null[:, None]), np.eye(null.size - 1), atol=1e-12)
    if len(shape) == 1:
        assert not tangents.size
        return
    model = model_of(shape, tested) if tested else ProductOfConditionals.independent(shape)
    scaled = [found / np.sqrt(null)[:, None] for found in (directions, deviations(model, model.nearest(null)))]
    assert np.allclose(*(one @ one.T for one in scaled), atol=1e-12)
    for axis in range(len(shape)):
        others = tuple(other + 1 for other in range(len(shape)) if other != axis)
        assert np.allclose(directions.T.reshape(-1, *shape).sum(axis=others), 0, atol=1e-12)


@pytest.mark.parametrize(("shape", "tested"), TESTED)
@pytest.mark.parametrize("name", ["grr", "ss", "oue", "hr", "she"])
def test_a_report_tells_what_the_engine_says_of_many(
    name: str, shape: tuple[int, ...], tested: tuple[int, int]
) -> None:
    noise, n = ldp.mechanism(name, k=math.prod(shape), epsilon=1.5).finest.noise, 1000
    margins = tuple(MARGINS[side] for side in shape)
    found = PlannedTest(margins, tested=tested).seen_through(noise)
    null = product_of(margins)
    tally = Tally(noise, noise.draw(null, n, 1, np.random.default_rng(1))[0], n, simulated=True)
    evidence = BlockEvidence.observed(
        [Block(Question(tuple("abcd"[: len(shape)]), shape, tuple(range(null.size))), tally)]
    )
    information = information_beyond(model_of(shape, tested), evidence, null) / n
    expected = NoncentralityProfile(found.df, principal_information(information))
    assert np.allclose(np.sort(found.seen), np.sort(expected.seen), rtol=1e-6)
    first, second = (shape[axis] for axis in tested)
    assert found.df == (first - 1) * (second - 1) * null.size // (first * second)


@pytest.mark.parametrize("kind", [kind for kind in REGISTRY if kind.only_k is None], ids=lambda kind: kind.name)
def test_equally_frequent_categories_need_no_matrix(kind: type[ldp.GRR]) -> None:
    """Margins that are equal up to 1e-9 take the long way, and give the same."""
    noise, shape = ldp.mechanism(kind.name, k=8, epsilon=1.0).finest.noise, (2, 2, 2)
    even = (np.array([0.5, 0.5]),) * 3
    nearly = (np.array([0.5 + 1e-9, 0.5 - 1e-9]), *even[1:])
    for tested in (None, (0, 1), (1, 2)):
        short, long = (PlannedTest(margins, tested=tested).seen_through(noise) for margins in (even, nearly))
        assert short.df == long.df == degrees_of_freedom(noise, shape, tested)
        assert short.powers(3000, 0.2, 0.05) == pytest.approx(long.powers(3000, 0.2, 0.05), abs=1e-6)


def test_the_pair_that_is_tested_may_come_in_any_order() -> None:
    margins = [MARGINS[2], MARGINS[3], MARGINS[4]]
    options = {"epsilon": 1.0, "n": 30_000, "conditional": True}
    plain = power("oue", (2, 3, 4), margins=margins, **options)
    turned = power("oue", (3, 2, 4), margins=[margins[1][::-1], margins[0], margins[2][[2, 0, 3, 1]]], **options)
    assert turned == pytest.approx(plain, abs=1e-9)
    table = some_table((2, 3, 4))
    whole = power("ss", (2, 3, 4), effect=table, **options)
    assert power("ss", (3, 2, 4), effect=table.transpose(1, 0, 2)[::-1], **options) == pytest.approx(whole, abs=1e-9)


def test_several_attributes_may_be_given() -> None:
    """Two given attributes of two categories are one of four."""
    options = {"epsilon": 2.0, "conditional": True, "effect": 0.2}
    assert sample_size("grr", (2, 3, 2, 2), **options) == sample_size("grr", (2, 3, 4), **options)


@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_a_pair_alone_has_nothing_that_is_given(shape: tuple[int, ...]) -> None:
    with pytest.raises(ldp.LdpstatsError, match="at least one that is given"):
        power("grr", shape, epsilon=1.0, n=100, conditional=True)
