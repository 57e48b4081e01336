"""Empirical Bayes over pairs: interactions shrunken by a prior that all pairs share, and their mutual information."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.networks.interactions import Interactions

# standard deviations of the prior's components: none, and powers of two up to a correlation of one
_SCALES = np.concatenate([[0.0], 2.0 ** np.arange(-10, 1)])
_ROUNDS = 50
# what every component counts for beside the pairs
_PSEUDOCOUNT = 0.1


def shrunken(interactions: Sequence[Interactions]) -> tuple[Interactions, ...]:
    """Return the posterior mean and covariance of the interactions of every pair.

    The prior of every correlation is normal around zero, with a standard deviation that the pair draws from a few,
    zero among them; how often each is drawn is fitted to all pairs of a set, by EM (a scale mixture of normals, as
    in Stephens 2017). So pairs among which hardly any are associated are shrunk much, and strong associations hardly at
    all. Directions in which the noise is wide are shrunk more than others: a rare category drowns nothing but itself.

    Parameters
    ----------
    interactions : sequence of Interactions
        By pair, with their covariances.
    """
    axes = [np.linalg.eigh(one.covariance) for one in interactions]
    variances = [np.maximum(spread, np.finfo(float).tiny) for spread, _ in axes]
    along = [_flat(one)[..., None, :] @ turn for one, (_, turn) in zip(interactions, axes, strict=True)]
    weights = _fitted([_log_densities(y, v) for y, v in zip(along, variances, strict=True)])
    return tuple(map(_posterior, interactions, axes, along, np.moveaxis(weights, -2, 0)))


def _log_densities(along: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the logarithms of how likely a pair is under every component, shape (sets, components)."""
    spread = variances[..., None, :] + _SCALES[:, None] ** 2
    densities: FloatArray = -0.5 * (np.log(spread) + along**2 / spread).sum(axis=-1)
    return densities


def _fitted(logarithms: Sequence[FloatArray]) -> FloatArray:
    """Return the probability that a pair is of each component, shape (sets, pairs, components)."""
    relative = np.stack(logarithms, axis=-2)
    likelihoods = np.exp(relative - relative.max(axis=-1, keepdims=True))
    pairs, components = likelihoods.shape[-2:]
    shares = np.full((*likelihoods.shape[:-2], 1, components), 1 / components)
    belongs: FloatArray = likelihoods
    for _ in range(_ROUNDS):
        belongs = likelihoods * shares
        belongs = belongs / belongs.sum(axis=-1, keepdims=True)
        counted = belongs.sum(axis=-2, keepdims=True) + _PSEUDOCOUNT
        shares = counted / (pairs + components * _PSEUDOCOUNT)
    return belongs


def _posterior(
    observed: Interactions, axes: tuple[FloatArray, FloatArray], along: FloatArray, belongs: FloatArray
) -> Interactions:
    """Return the mean, and the covariance within the components, of one pair."""
    spread, turn = np.maximum(axes[0], 0)[..., None, :], axes[1]
    prior = _SCALES[:, None] ** 2
    kept = np.divide(
        prior, prior + spread, out=np.ones(np.broadcast_shapes(prior.shape, spread.shape)), where=(prior + spread) > 0
    )
    share = (belongs[..., None] * kept).sum(axis=-2)
    mean = (turn @ (share * along[..., 0, :])[..., None])[..., 0]
    covariance = (turn * (share * spread[..., 0, :])[..., None, :]) @ np.swapaxes(turn, -1, -2)
    return Interactions(mean.reshape(observed.correlations.shape), covariance)


def information_of(interactions: Interactions, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the mutual information in nats of tables with such margins and interactions, made proper.

    Parameters
    ----------
    interactions : Interactions
    first, second : array, shape (sets, categories)
        The margins.
    """
    cells, _ = interactions.cells(first, second)
    proper = nearest_proper(cells.reshape(*cells.shape[:-2], -1)).reshape(cells.shape)
    return plug_in_information(proper)


def plug_in_information(cells: FloatArray) -> FloatArray:
    """Return the mutual information of proper frequencies in nats.

    Parameters
    ----------
    cells : array, shape (..., rows, columns)

    Examples
    --------
    >>> float(plug_in_information(np.array([[0.4, 0.1], [0.1, 0.4]])).round(4))
    0.1927
    """
    from scipy.special import rel_entr

    expected = cells.sum(axis=-1, keepdims=True) * cells.sum(axis=-2, keepdims=True)
    # not below zero by rounding
    information: FloatArray = np.maximum(rel_entr(cells, expected).sum(axis=(-1, -2)), 0)
    return information


def _flat(interactions: Interactions) -> FloatArray:
    return interactions.correlations.reshape(*interactions.correlations.shape[:-2], -1)
