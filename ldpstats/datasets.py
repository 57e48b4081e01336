"""Data to try things with: Bayesian networks whose truth is known, and real answers to sensitive questions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.networks.bayesian_network import BayesianNetwork, in_numbers
from ldpstats.networks.bif import read_bif
from ldpstats.numbers.arrays import FloatArray

_MORE_THAN_NONE = 1e-9
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

    Examples
    --------
    >>> from ldpstats import datasets
    >>> survey = datasets.network("survey")
    >>> survey
    <Network: survey, 6 attributes, 6 edges>
    >>> survey.parents["transport"]
    ('occupation', 'residence')
    >>> survey.pair("sex", "education").round(3)
    array([[0.457, 0.143],
           [0.289, 0.111]])
    """

    name: str

    @property
    def _title(self) -> str:
        return f"Bayesian network {self.name}"

    @property
    def headline(self) -> str:
        """Which one it is, and how large."""
        return f"{self.name}, {in_numbers(len(self.domain), len(self.edges))}"

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

    Returns
    -------
    Network
        With its true probabilities.

    Examples
    --------
    >>> from ldpstats.datasets import network
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


def affairs() -> pd.DataFrame:
    """Return what 6,366 married women answered about their marriages, and whether they ever had an affair.

    The women answered a questionnaire of the magazine Redbook in 1974. R. Fair, A Theory of Extramarital Affairs,
    Journal of Political Economy 86(1), 1978, studied them; the rows come with statsmodels, by permission of the author.
    Numbers are cut into classes here; "husband" says whether his profession takes an advanced degree.

    Returns
    -------
    DataFrame
        A row per woman, with categorical columns.

    Examples
    --------
    >>> from ldpstats.datasets import affairs
    >>> affairs()["affair"].value_counts()
    affair
    no     4313
    yes    2053
    Name: count, dtype: int64
    """
    from statsmodels.datasets import fair

    asked = fair.load_pandas().data

    def classes(column: str, **least: float) -> pd.Series[Any]:
        bounds = [*least.values(), np.inf]
        names = [name.replace("_", " ") for name in least]
        cut: pd.Series[Any] = pd.cut(asked[column], bounds, right=False, labels=names)
        return cut

    return pd.DataFrame(
        {
            "affair": classes("affairs", no=0, yes=_MORE_THAN_NONE),
            "marriage": classes("rate_marriage", poor_or_fair=1, good=4, very_good=5),
            "children": classes("children", no=0, yes=_MORE_THAN_NONE),
            "religious": classes("religious", no=1, mildly=2, fairly=3, strongly=4),
            "husband": classes("occupation_husb", other=1, advanced_degree=6),
        }
    )


def dayton() -> pd.DataFrame:
    """Return what 2,276 students answered about alcohol, cigarettes and marijuana: whether they had ever used them.

    They were in their last year of a high school near Dayton, Ohio, in 1992. The counts are those of A. Agresti,
    Categorical Data Analysis, 2nd edition, 2002, Table 9.1; textbooks on log-linear models use them.

    Returns
    -------
    DataFrame
        A row per student, with categorical columns: alcohol, cigarettes, marijuana, sex, race.

    Examples
    --------
    >>> from ldpstats.datasets import dayton
    >>> dayton().groupby(["alcohol", "marijuana"], observed=True).size()
    alcohol  marijuana
    no       no           322
             yes            5
    yes      no           994
             yes          955
    dtype: int64
    """
    counted = pd.read_csv(StringIO((_data_folder() / "dayton.csv").read_text(encoding="utf-8")))
    people = counted.loc[counted.index.repeat(counted["count"])].drop(columns="count")
    return people.reset_index(drop=True).astype("category")


def true_cramers_v(joint: FloatArray) -> float:
    """Return Cramér's V of an exact joint distribution.

    Parameters
    ----------
    joint : array, shape (rows, columns)

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> from ldpstats import datasets
    >>> survey = datasets.network("survey")
    >>> round(datasets.true_cramers_v(survey.pair("education", "residence")), 3)
    0.051
    """
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return float(np.sqrt(((joint - expected) ** 2 / expected).sum() / (min(joint.shape) - 1)))


def _data_folder() -> Traversable:
    """Return the data of the installed package, or of the checkout it runs from."""
    packaged = files("ldpstats") / "data"
    return packaged if packaged.is_dir() else Path(__file__).parents[1] / "data"
