"""Fits at a boundary: the likeliest member of a log-linear model, by brute force, by the free table, and in order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

import ldpstats as ldp
from ldpstats.inference.engine.evidence import BlockEvidence, Evidence
from ldpstats.inference.engine.families import LogLinear
from ldpstats.inference.engine.null_model import NullFit, NullFitter
from ldpstats.inference.engine.statistics import LikelihoodRatio, likeliest

NAMES = ("a", "b", "c")
# each within the next
CHAIN = ("a + b + c", "a*b + c", "a*b + b*c", "a*b + b*c + a*c")


def noisy(shape: tuple[int, ...], epsilon: float, n: int, seed: int, mechanism: str = "grr") -> ldp.Table:
    """A table of few reports under so much noise that many estimates are negative."""
    domain = ldp.Domain({name: range(side) for name, side in zip(NAMES, shape, strict=False)})
    people = np.random.default_rng(seed).multinomial(n, np.full(domain.size(), 1 / domain.size()))
    protocol = ldp.SampledGroups(domain, groups=[domain.names], mechanism=mechanism, epsilon=epsilon)
    return protocol.simulate(people, rng=seed)[domain.names]


def scored(model: LogLinear, evidence: Evidence) -> NullFit:
    return NullFitter(evidence, len(model.design))(model, evidence)


def by_brute_force(model: LogLinear, evidence: BlockEvidence, seed: int) -> float:
    """The highest log-likelihood that L-BFGS finds from twenty places."""

    def lost(parameters: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        cells = model.frequencies(parameters[None, :])
        gradient = evidence.score(cells)[0] @ model.jacobian(parameters[None, :])[0]
        return -float(evidence.log_likelihood(cells)[0]), -gradient[0]

    rng = np.random.default_rng(seed)
    starts = rng.standard_normal((20, model.design.shape[1]))
    return max(-float(minimize(lost, start, jac=True, method="L-BFGS-B").fun) for start in starts)


@pytest.mark.parametrize(
    ("generators", "mechanism", "seed"),
    [
        (((0,), (1,), (2,)), "ss", 3),
        (((0, 1), (1, 2)), "grr", 0),
        (((0, 1), (1, 2), (0, 2)), "grr", 3),
        (((0, 1), (1, 2), (0, 2)), "ss", 0),
    ],
)
def test_no_other_member_is_likelier(generators: tuple[tuple[int, ...], ...], mechanism: str, seed: int) -> None:
    table = noisy((3, 2, 2), 1.0, 300, seed, mechanism)
    model, evidence = LogLinear((3, 2, 2), generators), BlockEvidence.observed(table.blocks)
    fit = scored(model, evidence)
    fit.converged[:] = False
    found = likeliest(model, evidence, fit)
    reached = float(evidence.log_likelihood(found.frequencies)[0])
    assert reached >= by_brute_force(model, evidence, seed) - 1e-4
    assert found.frequencies.sum() == pytest.approx(1)
    assert not found.converged.any()


@pytest.mark.parametrize("seed", range(4))
def test_the_likeliest_saturated_model_is_the_likeliest_table(seed: int) -> None:
    table = noisy((3, 2, 2), 1.0, 300, seed)
    model, evidence = LogLinear((3, 2, 2), ((0, 1, 2),)), BlockEvidence.observed(table.blocks)
    found = likeliest(model, evidence, scored(model, evidence)).frequencies[0]
    assert np.allclose(found, table.estimated_by("mle").estimate.ravel(), atol=1e-4)


def test_where_scoring_converges_nothing_is_done() -> None:
    table = noisy((2, 2, 2), 4.0, 10_000, 1)
    model, evidence = LogLinear((2, 2, 2), ((0, 1), (2,))), BlockEvidence.observed(table.blocks)
    fit = scored(model, evidence)
    assert fit.converged.all()
    assert likeliest(model, evidence, fit) is fit


@pytest.mark.parametrize("seed", [0, *(pytest.param(one, marks=pytest.mark.exhaustive) for one in (1, 2))])
def test_deviances_of_nested_models_are_in_order(seed: int) -> None:
    """In a table of 42 cells at one nat the smaller model once had a deviance of 14.1, the larger one of 21.5.

    Of the first seed the middle step alone is compared; of the others, which are checked exhaustively, every one.
    """
    table = noisy((7, 2, 3), 1.0, 900, seed)
    fits = [ldp.log_linear_model(table, formula) for formula in CHAIN]
    assert not any(fit.converged for fit in fits)
    deviances = np.array([fit.test("lr", pvalue="asymptotic").statistic for fit in fits])
    compared = slice(None) if seed else slice(1, 2)
    pairs = list(pairwise(fits))[compared]
    steps = [small.compared_with(large, pvalue="asymptotic").statistic for small, large in pairs]
    assert np.all(np.diff(deviances) <= 1e-5)
    assert np.allclose(steps, -np.diff(deviances)[compared], atol=1e-3)


def test_at_a_boundary_the_p_value_is_drawn() -> None:
    fit = ldp.log_linear_model(noisy((3, 2, 2), 1.0, 300, 0), CHAIN[2])
    for found in (fit.test("lr"), fit.compared_with(ldp.log_linear_model(fit.table, CHAIN[3]))):
        assert not found.converged
        assert "did not converge" in found.pvalue_source
        assert found.seed is not None


def test_impossible_cells_stay_empty() -> None:
    table = noisy((3, 2, 2), 1.0, 300, 1)
    fit = ldp.log_linear_model(table, CHAIN[3], [{"a": 2, "b": 1}])
    assert not fit.converged
    found = fit.test("lr", pvalue="asymptotic")
    assert np.all(found.expected[2, 1] == 0)
    assert found.expected.sum() == pytest.approx(1)


def test_a_likelihood_ratio_whose_boundary_is_not_known_is_refused() -> None:
    """A model with a covariate, as of trends, has no margins that EM could follow."""
    table = noisy((3, 3), 0.5, 100, 9)  # far beyond the boundary: whether a fit near it converges is rounding
    model = LogLinear((3, 3), ((0,), (1,)), covariate=tuple(np.outer([-1, 0, 1], [-1, 0, 1]).ravel().tolist()))
    evidence = BlockEvidence.observed(table.blocks)
    assert not scored(model, evidence).converged.any()
    with pytest.raises(ldp.LdpstatsError, match=r"did not converge.*method=\"score\""):
        LikelihoodRatio(model, evidence, 9)(evidence)
