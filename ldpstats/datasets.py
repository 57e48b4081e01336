"""Data that travel with the package: Bayesian networks to draw respondents from, with the truth known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd

from ldpstats.arrays import FloatArray, at_least
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError
from ldpstats.randomness import Rng, generator

NETWORKS = ("survey", "asia", "sachs", "child", "alarm")


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A Bayesian network whose parameters are known.

    Parameters
    ----------
    name : str
    domain : Domain
        The attributes and their categories, in the order of the file.
    model : pgmpy DiscreteBayesianNetwork
        The network itself.
    """

    name: str
    domain: Domain
    model: Any

    def sample(self, n: int, rng: Rng = None) -> pd.DataFrame:
        """Draw n respondents, attribute by attribute, each given those it depends on."""
        numbers = generator(rng)
        codes = np.empty((at_least(n, 1, "n"), len(self.domain)), dtype=np.int64)
        place = {name: position for position, name in enumerate(self.domain.names)}
        for name in nx.lexicographical_topological_sort(self.model):
            factor = self.model.get_cpds(name)
            given = tuple(codes[:, place[parent]] for parent in factor.variables[1:])
            steps = np.cumsum(factor.values, axis=0)[:-1]
            # the last step is open-ended, since printed probabilities need not add up to one exactly
            thresholds = [np.broadcast_to(step[given], n) for step in steps]
            codes[:, place[name]] = (numbers.random(n) >= np.array(thresholds)).sum(axis=0)
        return self.domain.decode(codes)

    def pair(self, first: str, second: str) -> FloatArray:
        """Return the exact joint distribution of two attributes."""
        return self.joint((first, second))

    def joint(self, attributes: Iterable[str]) -> FloatArray:
        """Return the exact joint distribution of some attributes, an axis for each."""
        names = self.domain.project(attributes).names
        relevant = sorted(self.model.get_ancestors(list(names)))
        operands: list[Any] = []
        for factor in (self.model.get_cpds(name) for name in relevant):
            operands += [factor.values, [relevant.index(name) for name in factor.variables]]  # noqa: PD011  # no frame
        # summing all other attributes out, in an order that numpy plans: variable elimination
        joint: FloatArray = np.einsum(*operands, [relevant.index(name) for name in names], optimize="greedy")
        return joint


@lru_cache(maxsize=len(NETWORKS))
def network(name: str) -> Network:
    """Return one of the packaged networks: survey, asia, sachs, child or alarm.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> network("survey").domain.names
    ('age', 'education', 'occupation', 'residence', 'sex', 'transport')
    """
    if name not in NETWORKS:
        raise LdpstatsError(f"the network {name!r}", ", ".join(NETWORKS))
    from pgmpy.readwrite import BIFReader

    with as_file(_data_folder() / f"{name}.bif") as path:
        model = BIFReader(str(path)).get_model()
    return Network(name, Domain({attribute: model.states[attribute] for attribute in model.nodes()}), model)


def true_cramers_v(joint: FloatArray) -> float:
    """Return Cramér's V of an exact joint distribution.

    Parameters
    ----------
    joint : array, shape (rows, columns)
    """
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return float(np.sqrt(((joint - expected) ** 2 / expected).sum() / (min(joint.shape) - 1)))


def _data_folder() -> Traversable:
    """Return the data of the installed package, or of the checkout it runs from."""
    packaged = files("ldpstats") / "data"
    return packaged if packaged.is_dir() else Path(__file__).parents[1] / "data"
