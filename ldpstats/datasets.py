"""Data that travel with the package: Bayesian networks to draw respondents from, with the truth known."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.networks import BayesianNetwork
from ldpstats.networks.bif import read_bif

NETWORKS = ("survey", "asia", "sachs", "child", "alarm")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Network(BayesianNetwork):
    """A Bayesian network whose parameters are known.

    Parameters
    ----------
    domain : Domain
        The attributes and their categories, in the order of the file.
    parents, tables : mapping
        As those of every `BayesianNetwork`.
    name : str
    """

    name: str

    @property
    def model(self) -> Any:
        """The network as pgmpy's DiscreteBayesianNetwork."""
        return self.to_pgmpy()

    def pair(self, first: str, second: str) -> FloatArray:
        """Return the exact joint distribution of two attributes.

        Parameters
        ----------
        first, second : str
        """
        return self.joint((first, second))


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
    if not isinstance(name, str) or name not in NETWORKS:
        raise LdpstatsError(f"the network {shortened(name)}", ", ".join(NETWORKS))
    return _packaged(name)


@lru_cache(maxsize=len(NETWORKS))
def _packaged(name: str) -> Network:
    categories, parents, tables = read_bif((_data_folder() / f"{name}.bif").read_text(encoding="utf-8"))
    return Network(Domain(categories), parents, tables, name)


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
