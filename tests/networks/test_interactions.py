"""Interactions of two attributes, the structure of their errors, and what empirical Bayes leaves of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy, ortho_group

import ldpstats as ldp
from ldpstats import Domain
from ldpstats.networks import pair_estimates
from ldpstats.networks.interactions import (
    ErrorAxes,
    Interactions,
    cells_of,
    even_law,
    information_of,
    interactions_of,
    orthonormal_functions,
    plug_in_information,
    posteriors,
    within_components,
)
from ldpstats.networks.pair_estimates import PairSources
from ldpstats.networks.pair_evidence import PairEvidence
from ldpstats.numbers.arrays import FloatArray, kronecker


def law(seed: int, rows: int, columns: int) -> FloatArray:
    cells: FloatArray = np.random.default_rng(seed).dirichlet(np.ones(rows * columns)).reshape(rows, columns)
    return cells


def correlations(cells: FloatArray) -> FloatArray:
    flat = cells.ravel()
    margins = cells.sum(axis=1), cells.sum(axis=0)
    return interactions_of(flat, np.zeros((flat.size, flat.size)), *margins).correlations


@pytest.mark.parametrize("categories", [2, 3, 7])
def test_functions_have_mean_zero_variance_one_and_no_correlation(categories: int) -> None:
    shares = np.random.default_rng(categories).dirichlet(np.ones(categories), size=4)
    functions = orthonormal_functions(shares)
    assert np.allclose(np.einsum("sc,sci->si", shares, functions), 0, atol=1e-12)
    assert np.allclose(np.einsum("sc,sci,scj->sij", shares, functions, functions), np.eye(categories - 1))


def test_their_squares_make_up_pearsons_phi() -> None:
    cells = law(1, 3, 4)
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0))
    found = correlations(cells)
    assert (found**2).sum() == pytest.approx(((cells - expected) ** 2 / expected).sum(), rel=1e-10)
    assert np.allclose(correlations(expected), 0, atol=1e-12)


def test_along_a_chain_they_are_multiplied() -> None:
    first, second = law(3, 3, 4), law(4, 4, 2)
    given = second / second.sum(axis=1, keepdims=True)
    middle = first.sum(axis=0)
    chain = first @ given
    assert np.allclose(correlations(chain), correlations(first) @ correlations(middle[:, None] * given))


def test_cells_follow_from_interactions_and_back() -> None:
    cells = law(5, 3, 3)
    margins = cells.sum(axis=1), cells.sum(axis=0)
    made = interactions_of(cells.ravel(), np.zeros((9, 9)), *margins)
    assert np.allclose(cells_of(made.correlations, *margins), cells)


def test_turned_interactions_are_those_of_the_transposed_table() -> None:
    rng = np.random.default_rng(6)
    root = rng.normal(size=(6, 6))
    found = Interactions(rng.normal(size=(2, 3)), root @ root.T).turned
    assert found.correlations.shape == (3, 2)
    weights = rng.normal(size=(2, 3))
    assert weights.T.ravel() @ found.covariance @ weights.T.ravel() == pytest.approx(
        weights.ravel() @ root @ root.T @ weights.ravel()
    )


def test_products_of_matrices_are_numpys() -> None:
    rng = np.random.default_rng(7)
    one, other = rng.normal(size=(5, 2, 3)), rng.normal(size=(5, 4, 2))
    assert np.allclose(kronecker(one, other), [np.kron(*both) for both in zip(one, other, strict=True)])


DOMAIN = Domain({"a": [*"uvwxyz"], "b": [*"xyz"], "c": [*"xy"], "d": [*"vwxyz"]})
PEOPLE = np.random.default_rng(1).multinomial(5000, np.random.default_rng(2).dirichlet(np.full(180, 0.3)))
COLLECTIONS = {
    "grr": ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="grr"),
    "oue": ldp.SampledGroups(DOMAIN, epsilon=2.0, mechanism="oue"),
    "olh": ldp.SampledGroups(DOMAIN, epsilon=1.0, mechanism="olh"),
    "hardly any noise": ldp.SampledGroups(DOMAIN, epsilon=12.0),
    "some pairs": ldp.SampledGroups(DOMAIN, epsilon=3.0, groups=[("a", "b"), ("c", "a"), ("d", "b")]),
    "triples": ldp.SampledGroups(DOMAIN, k=3, epsilon=3.0),
    "whole view": ldp.WholeView(DOMAIN, epsilon=6.0),
}


@pytest.mark.parametrize("name", COLLECTIONS)
@pytest.mark.parametrize("few", [0, 5])
def test_evidence_by_structure_is_that_by_whole_covariances(
    name: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_estimates, "_FEW", few)  # so that structure is used for tables of that many interactions
    tables = COLLECTIONS[name].simulate(PEOPLE, rng=1)
    laws = {id(part.law): part.law for pool in PairSources.of(DOMAIN, tables).pools.values() for part in pool.parts}
    assert all(law.even is not None for law in laws.values())
    found = [PairEvidence.of(tables), *PairEvidence.of(tables).redrawn(2, rng=1)]
    monkeypatch.setattr(pair_estimates, "even_law", lambda _: None)
    whole = [PairEvidence.of(tables), *PairEvidence.of(tables).redrawn(2, rng=1)]
    for one, other in zip(found, whole, strict=True):
        for figure in ("information", "shrunken", "pvalue"):
            assert np.allclose(getattr(one, figure), getattr(other, figure), rtol=1e-9, atol=1e-14)
        for own, same in zip(one.interactions, other.interactions, strict=True):
            assert np.allclose(own.correlations, same.correlations, rtol=1e-9, atol=1e-12)
            assert np.allclose(own.covariance, same.covariance, rtol=1e-9, atol=1e-12)


def test_reports_that_treat_cells_differently_have_no_even_law() -> None:
    tables = ldp.RRBA(DOMAIN, k=2, p=0.5, block_size=250).simulate(PEOPLE, rng=1)
    assert even_law(tables["a", "b"].blocks) is None
    assert even_law(tables["a", "b"].blocks[1:2]) is None


def shrunken(interactions: list[Interactions]) -> tuple[Interactions, ...]:
    """Return the posteriors of pairs, each given in several sets of tables."""
    axes = [
        ErrorAxes.of_interactions(Interactions(one.correlations[None], one.covariance[None])) for one in interactions
    ]
    found = zip(axes, posteriors(axes), strict=True)
    return tuple(
        Interactions(mean[0], within_components(one[0, 0], shares[0, 0])[None]) for one, (mean, shares) in found
    )


def seen(correlations: FloatArray, variance: float) -> list[Interactions]:
    """Return interactions of pairs of binary attributes, in one set of tables."""
    return [Interactions(np.array([[[one]]]), np.array([[[variance]]])) for one in correlations]


def means(found: tuple[Interactions, ...]) -> FloatArray:
    return np.array([one.correlations.item() for one in found])


def test_what_is_known_without_noise_is_kept() -> None:
    correlations = np.array([0.5, -0.2, 0.01, 0.0])
    assert means(shrunken(seen(correlations, 1e-12))) == pytest.approx(correlations, abs=1e-6)


def test_noise_alone_is_shrunk_to_next_to_nothing_and_what_stands_out_is_not() -> None:
    noise = np.random.default_rng(1).normal(0, 0.05, 200)
    found = means(shrunken(seen(np.append(noise, 0.6), 0.05**2)))
    assert np.abs(found[:-1]).max() < 0.05
    assert np.abs(found[:-1]).mean() < 0.1 * np.abs(noise).mean()
    assert found[-1] == pytest.approx(0.6, abs=0.03)


def test_the_order_of_pairs_and_of_sets_changes_nothing() -> None:
    rng = np.random.default_rng(2)
    both = [Interactions(rng.normal(0, 0.1, (2, 1, 2)), np.tile(0.01 * np.eye(2), (2, 1, 1))) for _ in range(9)]
    found, turned = shrunken(both), shrunken(both[::-1])[::-1]
    alone = shrunken([Interactions(one.correlations[1:], one.covariance[1:]) for one in both])
    for one, same, again in zip(found, turned, alone, strict=True):
        assert np.allclose(one.correlations, same.correlations)
        assert np.allclose(one.correlations[1], again.correlations[0])


def test_the_choice_of_functions_changes_nothing() -> None:
    rng = np.random.default_rng(3)
    turn = ortho_group.rvs(4, random_state=rng)
    root = rng.normal(0, 0.05, (4, 4))
    values = rng.normal(0, 0.1, (1, 2, 2))
    others = seen(np.array([0.1, 0.3]), 0.01)
    plain = shrunken([Interactions(values, (root @ root.T)[None]), *others])[0]
    rotated = (values.reshape(1, 4) @ turn).reshape(1, 2, 2)
    other = shrunken([Interactions(rotated, (turn.T @ root @ root.T @ turn)[None]), *others])[0]
    assert np.allclose(other.correlations.reshape(1, 4), plain.correlations.reshape(1, 4) @ turn)
    assert np.allclose(other.covariance, turn.T @ plain.covariance @ turn)


def test_information_is_that_of_the_table_made_proper() -> None:
    margins = np.array([[0.5, 0.5]]), np.array([[0.5, 0.5]])
    found = information_of(np.array([[[0.6]]]), *margins)
    assert found.item() == pytest.approx(entropy([0.4, 0.1, 0.1, 0.4], [0.25] * 4))
    impossible = information_of(np.array([[[1.7]]]), *margins)
    assert impossible.item() == pytest.approx(np.log(2))


def test_plug_in_information_is_never_negative() -> None:
    margins = np.random.default_rng(4).dirichlet(np.ones(5), size=(50, 2))
    independent = margins[:, 0, :, None] * margins[:, 1, None, :]
    found = plug_in_information(independent)
    assert found.min() >= 0
    assert found.max() < 1e-14
