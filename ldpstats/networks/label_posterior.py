"""Posteriors of a label: how probable each of its categories is in a Bayesian network, given all other attributes."""

from __future__ import annotations

import numpy as np

from ldpstats.arrays import FloatArray, IntArray
from ldpstats.networks.bayesian_network import BayesianNetwork


def label_posterior(network: BayesianNetwork, label: str, codes: IntArray) -> FloatArray:
    """Return the probabilities of the label's categories for every record.

    A record that has probability zero with every label has equal ones.

    Parameters
    ----------
    network : BayesianNetwork
    label : str
    codes : array of int, shape (records, attributes)
        In the order of the network's domain; what stands in the label's column plays no part.

    Returns
    -------
    array, shape (records, categories of the label)

    Examples
    --------
    >>> from ldpstats import Domain
    >>> domain = Domain({"rain": ["yes", "no"], "grass": ["wet", "dry"]})
    >>> tables = {"rain": [0.2, 0.8], "grass": [[0.9, 0.1], [0.1, 0.9]]}
    >>> network = BayesianNetwork(domain, {"rain": (), "grass": ("rain",)}, tables)
    >>> label_posterior(network, "rain", np.array([[0, 0], [0, 1]])).round(2)
    array([[0.69, 0.31],
           [0.03, 0.97]])
    """
    place = {name: column for column, name in enumerate(network.domain.names)}
    values = {name: codes[:, [column]] for name, column in place.items()}
    categories = len(network.domain.categories[label])
    values[label] = np.arange(categories)[None, :]
    logarithms = np.zeros((len(codes), categories))
    with np.errstate(divide="ignore"):
        for name, table in network.tables.items():
            family = (name, *network.parents[name])
            # what has nothing to do with the label is the same for all its categories
            if label in family:
                logarithms += np.log(table)[tuple(values[one] for one in family)]
    highest = logarithms.max(axis=1, keepdims=True)
    relative = np.exp(logarithms - np.where(np.isfinite(highest), highest, 0))
    relative = np.where(np.isfinite(highest), relative, 1.0)
    found: FloatArray = relative / relative.sum(axis=1, keepdims=True)
    return found
