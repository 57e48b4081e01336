"""Interactions shrunken by what all pairs have in common: their posterior, and what noise does to it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy, ortho_group

from ldpstats.arrays import FloatArray
from ldpstats.networks.interactions import Interactions
from ldpstats.networks.pair_errors import ErrorAxes
from ldpstats.networks.shrunken_information import information_of, plug_in_information, posteriors, within_components


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
