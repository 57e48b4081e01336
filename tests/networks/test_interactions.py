"""Interactions: correlations of orthonormal functions, which a chain multiplies and which make up φ²."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.linalg import svd

from ldpstats.arrays import FloatArray, kronecker
from ldpstats.networks.interactions import Interactions, cells_of, interactions_of, orthonormal_functions


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


def test_their_singular_values_do_not_depend_on_the_order_of_categories() -> None:
    cells = law(2, 4, 3)
    turned = cells[[2, 0, 3, 1]][:, [1, 2, 0]]
    assert np.allclose(svd(correlations(turned))[1], svd(correlations(cells))[1])


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
