"""Empirical Bayes over pairs: interactions shrunken by a prior that all pairs share, and their mutual information."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.networks.interactions import cells_of
from ldpstats.networks.pair_errors import ErrorAxes

# variances of the prior's components: none, and those of powers of two up to a correlation of one
_PRIORS = np.concatenate([[0.0], 4.0 ** np.arange(-10, 1)])
_ROUNDS = 50
# as in `AssociationMeasures`: so small a share of what independence expects is none
_ABSENT = 1e-3
# what every component counts for beside the pairs
_PSEUDOCOUNT = 0.1


def posteriors(seen: Sequence[ErrorAxes]) -> list[tuple[FloatArray, FloatArray]]:
    """Return the posterior means of the interactions of pairs, and what share each component of the prior has in them.

    The prior of every correlation is normal around zero, with a standard deviation that the pair draws from a few,
    zero among them; how often each is drawn is fitted to all pairs of a set, by EM (a scale mixture of normals, as
    in Stephens 2017). So pairs among which hardly any are associated are shrunk much, and strong associations hardly at
    all. Directions in which the noise is wide are shrunk more than others: a rare category drowns nothing but itself.

    Parameters
    ----------
    seen : sequence of ErrorAxes
        Of pairs of one shape each, all in the same sets of tables.

    Returns
    -------
    list of pairs of arrays
        Shapes (pairs, sets, functions, functions) and (pairs, sets, components).
    """
    found = [[one.under(float(prior)) for prior in _PRIORS] for one in seen]
    densities = np.concatenate([np.stack([-distance / 2 for distance, _ in one], axis=-1) for one in found])
    shares = np.split(_fitted(densities), np.cumsum([len(one.along) for one in seen])[:-1])
    means = []
    for one, own, parts in zip(seen, shares, found, strict=True):
        weights = np.moveaxis(own * _PRIORS, -1, 0)[..., None]
        means.append(
            one.correlations(
                sum((weight * along for weight, (_, along) in zip(weights, parts, strict=True)), np.zeros(()))
            )
        )
    return list(zip(means, shares, strict=True))


def within_components(seen: ErrorAxes, shares: FloatArray) -> FloatArray:
    """Return the covariance of one pair's interactions within the components of the prior, that have such shares."""
    return seen.posterior(_PRIORS, shares)


def _fitted(logarithms: FloatArray) -> FloatArray:
    """Return the probability that a pair is of each component, shape (pairs, sets, components)."""
    likelihoods = np.exp(logarithms - logarithms.max(axis=-1, keepdims=True))
    pairs, _, components = likelihoods.shape
    shares = np.full((likelihoods.shape[1], components), 1 / components)
    belongs: FloatArray = likelihoods
    for _ in range(_ROUNDS):
        belongs = likelihoods * shares
        belongs = belongs / belongs.sum(axis=-1, keepdims=True)
        shares = (belongs.sum(axis=0) + _PSEUDOCOUNT) / (pairs + components * _PSEUDOCOUNT)
    return belongs


def information_of(correlations: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the mutual information in nats of tables with such interactions and margins, made proper.

    Parameters
    ----------
    correlations : array, shape (..., functions, functions)
    first, second : array, shape (..., categories)
        The margins.
    """
    cells = cells_of(correlations, first, second)
    return plug_in_information(nearest_proper(cells.reshape(*cells.shape[:-2], -1)).reshape(cells.shape))


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


def information_length(cells: FloatArray) -> float:
    """Return twice the mutual information of a table in nats, to which cells that are not above zero add nothing."""
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0))
    excess = (cells - expected) / expected
    terms = np.where(excess > -1, (1 + excess) * np.log1p(np.maximum(excess, _ABSENT - 1)), 0) - excess
    return 2 * float((expected * terms).sum())
