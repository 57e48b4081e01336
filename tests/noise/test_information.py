"""Information in its sparse form does what the whole matrix does."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ldpstats.noise import Information, solve_or_shortest

CELLS, TABLES = 4, 3


def some_information() -> list[Information]:
    """Return a diagonal one, one of rank two and one of full rank without a diagonal, all for three tables."""
    rng = np.random.default_rng(7)
    diagonal = rng.uniform(1, 2, (TABLES, CELLS))
    narrow, core = rng.normal(size=(TABLES, CELLS, 2)), np.array([[0.3, 0.1], [0.1, -0.02]])
    channel = rng.dirichlet(np.ones(6), CELLS)
    weights = rng.uniform(1, 2, (TABLES, 6))[..., None] * np.eye(6)
    return [
        Information(diagonal),
        Information(diagonal, narrow, np.broadcast_to(core, (TABLES, 2, 2))),
        Information(np.zeros((TABLES, CELLS)), np.broadcast_to(channel, (TABLES, CELLS, 6)), weights),
    ]


def whole(information: Information) -> np.ndarray:
    """Write the matrix out from the definition."""
    matrix = np.stack([np.diag(row) for row in information.diagonal])
    if information.left is None:
        return matrix
    return matrix + np.einsum("tik,tkl,tjl->tij", information.left, information.core, information.left)


def close(found: np.ndarray, expected: np.ndarray) -> bool:
    return found.shape == expected.shape and bool(np.abs(found - expected).max() <= 1e-13 * np.abs(expected).max())


@pytest.mark.parametrize("information", some_information())
def test_products_are_those_of_the_whole_matrix(information: Information) -> None:
    columns = np.random.default_rng(8).normal(size=(CELLS, 2))
    apart = np.random.default_rng(9).normal(size=(TABLES, CELLS, 2))
    matrix = whole(information)
    assert close(information.dense(), matrix)
    assert close(information.times(columns), matrix @ columns)
    assert close(information.times(apart), matrix @ apart)
    assert close(information.between(columns), columns.T @ matrix @ columns)
    assert close(information.between(apart), apart.transpose(0, 2, 1) @ matrix @ apart)


@pytest.mark.parametrize(("one", "other"), list(product(some_information(), repeat=2)))
def test_information_adds_up(one: Information, other: Information) -> None:
    assert close((one + other).dense(), whole(one) + whole(other))
    assert close((one + other + one).dense(), 2 * whole(one) + whole(other))


@pytest.mark.parametrize("classes", [(2, 0, 3, 1), (0, 1, 2, 3), (0, 1, 1, 2, 3, 3), (3, 2, 1, 0, 0)])
@pytest.mark.parametrize("information", some_information())
def test_cells_with_the_same_answer_share_its_information(information: Information, classes: tuple[int, ...]) -> None:
    answer_of = np.eye(CELLS)[list(classes)]
    of_cells = information.of_cells(np.array(classes))
    assert close(of_cells.dense(), answer_of @ whole(information) @ answer_of.T)
    assert close((of_cells + of_cells).dense(), 2 * answer_of @ whole(information) @ answer_of.T)


@pytest.mark.parametrize("information", some_information()[:2])
def test_contrast_norm_leaves_the_ones_direction_out(information: Information) -> None:
    score = np.random.default_rng(10).normal(size=(TABLES, CELLS))
    centre = np.eye(CELLS) - 1 / CELLS
    inverse = np.linalg.pinv(centre @ whole(information) @ centre, rtol=1e-10)
    expected = np.einsum("ti,tij,tj->t", score @ centre, inverse, score @ centre)
    assert np.allclose(information.contrast_norm(score), expected, rtol=1e-12, atol=0)
    assert np.allclose(information.contrast_norm(score + 5), expected, rtol=1e-11, atol=0)


@pytest.mark.parametrize("information", some_information()[:2])
def test_volumes_of_contrasts_are_those_of_the_whole_matrix(information: Information) -> None:
    contrasts = np.linalg.qr(np.column_stack([np.ones(CELLS), np.eye(CELLS)[:, 1:]]))[0][:, 1:]
    _, expected = np.linalg.slogdet(contrasts.T @ whole(information) @ contrasts)
    assert close(information.contrast_volume(), expected)


@pytest.mark.parametrize("information", some_information(), ids=["diagonal", "rank two", "full"])
def test_scaled_matrices_are_times_a_number_each(information: Information) -> None:
    numbers = np.array([0.5, 1.0, 7.0])
    assert np.allclose(whole(information.scaled(numbers)), numbers[:, None, None] * whole(information))


def test_one_singular_matrix_leaves_the_solutions_of_others_alone() -> None:
    rng = np.random.default_rng(3)
    matrices, columns = rng.normal(size=(2, 3, 4, 4)), rng.normal(size=(2, 3, 4, 1))
    matrices = matrices @ np.swapaxes(matrices, -1, -2)
    regular = np.linalg.solve(matrices, columns)
    matrices[1, 2] = np.diag([1.0, 2.0, 0.0, 4.0])
    found = solve_or_shortest(matrices, columns)
    assert np.allclose(found[1, 2, :, 0], columns[1, 2, :, 0] / [1, 2, np.inf, 4])
    found[1, 2] = regular[1, 2]
    assert np.array_equal(found, regular)
