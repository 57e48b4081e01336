"""Null models: members, tangents and degrees of freedom, against definitions, derivatives and textbook counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ldpstats as ldp
from ldpstats.answers.questions import Question
from ldpstats.estimation.blocks import Block
from ldpstats.inference.engine import families
from ldpstats.inference.engine.evidence import BlockEvidence
from ldpstats.inference.engine.families import Axes, LinearSubspace, LogLinear, ProductOfConditionals
from ldpstats.inference.engine.statistics import ScoreStatistic
from ldpstats.noise import Information
from ldpstats.numbers.arrays import FloatArray

Model = ProductOfConditionals | LogLinear | LinearSubspace
FOUR = (2, 3, 2, 2)


def symmetric(side: int) -> LinearSubspace:
    pairs = list(combinations(range(side), 2))
    constraints = np.zeros((len(pairs), side, side))
    for constraint, (row, column) in zip(constraints, pairs, strict=True):
        constraint[row, column], constraint[column, row] = 1, -1
    return LinearSubspace.constrained(np.full(side**2, side**-2.0), constraints.reshape(len(pairs), -1))


def homogeneous(side: int) -> LinearSubspace:
    margins = [np.repeat(one, side) - np.tile(one, side) for one in np.eye(side)[1:]]
    return LinearSubspace.constrained(np.full(side**2, side**-2.0), np.array(margins))


MODELS: dict[str, tuple[Model, int]] = {
    "two attributes": (ProductOfConditionals.independent((3, 4)), 6),
    "mutual of three": (ProductOfConditionals.independent((2, 3, 4)), 24 - 1 - (1 + 2 + 3)),
    "mutual of four": (ProductOfConditionals.independent(FOUR), 24 - 1 - (1 + 2 + 1 + 1)),
    "joint": (ProductOfConditionals.independent((2, 3, 4), [(0, 2), (1,)]), (2 * 4 - 1) * (3 - 1)),
    "conditional": (ProductOfConditionals((3, 4, 2), (((2,), ()), ((0,), (2,)), ((1,), (2,)))), 2 * 3 * 2),
    "conditional on two": (
        ProductOfConditionals(FOUR, (((3, 1), ()), ((0,), (3, 1)), ((2,), (3, 1)))),
        (2 - 1) * (2 - 1) * 6,
    ),
    "chain": (
        ProductOfConditionals(FOUR, (((0,), ()), ((1,), (0,)), ((2,), (1,)), ((3,), (2,)))),
        24 - 1 - (5 + 2 + 2 + 1),
    ),
    "log-linear, main effects": (LogLinear((2, 3, 4), ((0,), (1,), (2,))), 17),
    "log-linear, no three-way": (LogLinear((3, 4, 2), ((0, 1), (0, 2), (1, 2))), (3 - 1) * (4 - 1) * (2 - 1)),
    "log-linear, chain": (LogLinear(FOUR, ((0, 1), (1, 2), (2, 3))), 24 - 1 - (5 + 2 + 2 + 1)),
    "log-linear, a triangle and one": (LogLinear(FOUR, ((0, 1), (0, 2), (1, 2), (3,))), 24 - 1 - (5 + 2 + 1 + 2)),
    "log-linear, a triple and one": (LogLinear(FOUR, ((0, 1, 2), (3,))), (12 - 1) * (2 - 1)),
    "symmetric": (symmetric(4), 6),
    "homogeneous margins": (homogeneous(4), 3),
    "given": (LinearSubspace(np.array([0.5, 0.2, 0.2, 0.1]), np.zeros((4, 0))), 3),
}
every_model = pytest.mark.parametrize("name", MODELS)


def cells_of(model: Model) -> int:
    return model.centre.size if isinstance(model, LinearSubspace) else math.prod(model.shape)


def some_parameters(model: Model, tables: int = 5) -> FloatArray:
    cells = np.random.default_rng(cells_of(model)).dirichlet(np.full(cells_of(model), 3.0), tables)
    return model.nearest(cells)


def block(cells: int, n: int = 5000, epsilon: float = 1.0, seed: int = 1) -> Block:
    counts = np.random.default_rng(seed).multinomial(n, np.full(cells, 1 / cells))
    return Block(Question(("cell",), (cells,), tuple(range(cells))), ldp.GRR(cells, epsilon).simulate(counts, rng=seed))


def slopes(function: Callable[[FloatArray], FloatArray], at: FloatArray, step: float = 1e-6) -> FloatArray:
    """Return the derivative by central differences."""
    return np.stack([(function(at + move) - function(at - move)) / (2 * step) for move in step * np.eye(at.size)], -1)


@every_model
def test_the_jacobian_is_the_derivative_of_the_frequencies(name: str) -> None:
    model = MODELS[name][0]
    for parameters in some_parameters(model):
        if parameters.size:
            found = model.jacobian(parameters)
            assert np.allclose(found, slopes(model.frequencies, parameters), atol=1e-8)
            assert np.allclose(found.sum(axis=0), 0, atol=1e-12), "frequencies sum to one whatever the parameters"


@every_model
def test_frequencies_sum_to_one_and_the_member_nearest_to_a_member_is_itself(name: str) -> None:
    model = MODELS[name][0]
    members = model.frequencies(some_parameters(model))
    assert np.allclose(members.sum(axis=-1), 1, atol=1e-12)
    assert np.allclose(model.frequencies(model.nearest(members)), members, atol=1e-10)


def test_a_negative_margin_leaves_the_other_margins_as_they_are() -> None:
    model = LogLinear((2, 2, 2), ((0, 2), (1, 2)))
    table = np.array([[[0.08, -0.007], [0.069, -0.002]], [[0.238, 0.008], [0.185, 0.429]]])
    member = model.frequencies(model.nearest(table.ravel())).reshape(2, 2, 2)
    cut = np.maximum(table, 0) / np.maximum(table, 0).sum()
    for axis in (0, 1):
        assert np.allclose(member.sum(axis=axis), cut.sum(axis=axis), atol=1e-8)


@every_model
def test_a_member_near_an_improper_table_is_proper(name: str) -> None:
    model = MODELS[name][0]
    m = cells_of(model)
    improper = np.stack([np.eye(m)[0] * 2 - 1 / m, np.full(m, 1 / m) - np.roll(np.eye(m)[0], 1) + np.eye(m)[-1]])
    members = model.frequencies(model.nearest(improper))
    assert np.all(members >= 0)
    assert np.all(members <= 1)
    assert np.allclose(members.sum(axis=-1), 1, atol=1e-9)


@every_model
def test_many_tables_at_once_are_as_many_single_ones(name: str) -> None:
    model = MODELS[name][0]
    parameters = some_parameters(model)
    frequencies, jacobian = model.frequencies(parameters), model.jacobian(parameters)
    again = model.nearest(frequencies)
    for one in range(len(parameters)):
        assert np.allclose(model.frequencies(parameters[one]), frequencies[one], rtol=1e-13, atol=0)
        assert np.allclose(model.jacobian(parameters[one]), jacobian[one], rtol=1e-12, atol=1e-15)
        assert np.allclose(model.nearest(frequencies[one]), again[one], rtol=1e-11, atol=1e-13)


@every_model
def test_degrees_of_freedom_are_the_textbooks(name: str) -> None:
    model, df = MODELS[name]
    cells = cells_of(model)
    assert ScoreStatistic(model, BlockEvidence.observed([block(cells)]), cells).df == df
    tangents = model.jacobian(some_parameters(model)[0])
    assert tangents.shape[1] == cells - 1 - df, "no parameter too many"
    if tangents.size:
        assert np.linalg.matrix_rank(tangents) == tangents.shape[1], "and none in vain"


@pytest.mark.parametrize("epsilon", [2.0, 60.0])
@pytest.mark.parametrize(
    ("directed", "generators"),
    [
        ("two attributes", ((0,), (1,))),
        ("mutual of four", ((0,), (1,), (2,), (3,))),
        ("joint", ((0, 2), (1,))),
        ("conditional", ((0, 2), (1, 2))),
        ("conditional on two", ((0, 1, 3), (1, 2, 3))),
        ("chain", ((0, 1), (1, 2), (2, 3))),
    ],
)
def test_decomposable_models_fit_alike_as_products_and_as_sums_of_logarithms(
    directed: str, generators: tuple[Axes, ...], epsilon: float
) -> None:
    product = MODELS[directed][0]
    assert isinstance(product, ProductOfConditionals)
    logarithms = LogLinear(product.shape, generators)
    cells = cells_of(product)
    evidence = BlockEvidence.observed([block(cells, 200_000, epsilon)])
    first, second = (ScoreStatistic(model, evidence, cells) for model in (product, logarithms))
    assert first.df == second.df
    by_product, by_logarithm = first(evidence), second(evidence)
    assert by_product.converged.all()
    assert by_logarithm.converged.all()
    assert np.allclose(by_product.frequencies, by_logarithm.frequencies, atol=1e-7)
    assert by_product.statistic == pytest.approx(by_logarithm.statistic, rel=1e-7)


def test_the_chain_is_fitted_without_noise_by_its_conditional_shares() -> None:
    """The maximum likelihood frequencies of a decomposable model are products of margins, in closed form."""
    model = MODELS["chain"][0]
    counts = np.random.default_rng(6).multinomial(4000, np.random.default_rng(7).dirichlet(np.full(24, 5.0)))
    table = counts.reshape(FOUR) / 4000
    ab, bc, cd = table.sum(axis=(2, 3)), table.sum(axis=(0, 3)), table.sum(axis=(0, 1))
    shares = np.einsum("ab,bc,cd,b,c->abcd", ab, bc, cd, 1 / ab.sum(axis=0), 1 / cd.sum(axis=1)).ravel()
    assert np.allclose(model.frequencies(model.nearest(counts / 4000)), shares, atol=1e-14)


def test_a_log_linear_fit_that_meets_its_boundary_does_not_overshoot() -> None:
    """Where noise makes cells negative, the exponentials must not run away to a place where nothing is informative."""
    shape, n, tables = (3, 3, 2), 2000, 400
    model = LogLinear(shape, ((0, 1), (0, 2), (1, 2)))
    frequencies = np.einsum("a,b,c->abc", [0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.7, 0.3]).ravel()
    one = block(18, n)
    evidence = BlockEvidence.observed([one]).replicates(frequencies, tables, np.random.default_rng(8))
    statistic = ScoreStatistic(model, BlockEvidence.observed([one]), 18)
    # χ² with 4 degrees of freedom exceeds 39 with probability 1e-7
    assert (statistic(evidence).statistic < 39).mean() > 0.97


@pytest.mark.parametrize(
    ("shape", "factors"),
    [
        ((3, 4), (((0,), ()), ((1,), ()))),
        ((2, 3, 4), (((2,), ()), ((0,), (2,)), ((1,), (2,)))),
        ((2, 3, 2), (((1,), ()), ((2, 0), (1,)))),
        ((2, 3, 2), (((2, 0), ()), ((1,), ()))),
        ((3, 2, 2, 2), (((3, 1), ()), ((0,), (3,)), ((2,), (1, 3)))),
    ],
)
@pytest.mark.parametrize("tables", [1, 5])
@pytest.mark.parametrize("few", [0, families._FEW_PRODUCTS])
def test_sums_over_margins_are_what_the_tangents_would_give(
    shape: tuple[int, ...],
    factors: tuple[tuple[Axes, Axes], ...],
    tables: int,
    few: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(families, "_FEW_PRODUCTS", few)
    numbers = np.random.default_rng(1)
    model, cells = ProductOfConditionals(shape, factors), int(np.prod(shape))
    parameters = model.nearest(numbers.dirichlet(np.ones(cells), 5))[:tables]
    score, low = numbers.random((5, cells)), numbers.random((5, cells, 2))
    for information in (
        Information(numbers.random((5, cells))),
        Information(numbers.random((5, cells)), low, numbers.random((5, 2, 2))),
    ):
        jacobian = model.jacobian(parameters)
        gradient, matrix = model.along_tangents(parameters, score, information)
        assert_allclose(gradient, (score[..., None, :] @ jacobian)[..., 0, :], atol=1e-12)
        assert_allclose(matrix, information.between(jacobian), atol=1e-12)
