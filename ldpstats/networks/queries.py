"""Queries: probabilities of attributes given others in a network, with intervals from the reports behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.answers.columns import Category, known_category, listed
from ldpstats.answers.domain import Domain
from ldpstats.confidence.confidence_sets import FiellerQuotient
from ldpstats.errors import LdpstatsError, NotIdentifiedError, one_line, shortened
from ldpstats.estimation import ASSUMED
from ldpstats.limits import LARGEST_JOINT, refuse_too_many_cells
from ldpstats.networks.bayesian_network import BayesianNetwork, joint_probabilities, with_ancestors
from ldpstats.networks.family_estimates import Family, FamilyEstimates, by_name
from ldpstats.networks.parameters import MOST_DRAWN, FittedParameters, RowsOfFamily, in_words
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import FloatArray, IntArray, are_shares, at_least, refuse_no_covariance, significance
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.pictures.intervals import MOST_LINES, Intervals
from ldpstats.presentation import Result, Summary, plain_values, summary_of_figures
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count


def query(
    network: BayesianNetwork | FittedParameters,
    of: str | Iterable[str],
    given: Mapping[str, Category] | None = None,
    *,
    n_resamples: int = 200,
    rng: Rng = 0,
) -> QueryResult:
    """Return the probabilities of some attributes' categories, given those of others.

    They are exact for the network. For one that was fitted to reports there are intervals, see `QueryResult.conf_int`.

    Parameters
    ----------
    network : BayesianNetwork or FittedParameters
    of : str or sequence of str
        Of several attributes it is their joint distribution.
    given : mapping of str to category, optional
        What is known, such as `{"cough": "yes"}`.
    n_resamples : int
        How many networks to draw for the intervals.
    rng : seed or numpy Generator
        For these draws. By default always the same, so that a question has one answer.

    Examples
    --------
    >>> domain = Domain({"rain": ["yes", "no"], "grass": ["wet", "dry"]})
    >>> network = BayesianNetwork(
    ...     domain, {"rain": (), "grass": ("rain",)}, {"rain": [0.2, 0.8], "grass": [[0.9, 0.1], [0.1, 0.9]]}
    ... )
    >>> query(network, "rain", {"grass": "wet"}).estimate.round(3)
    array([0.692, 0.308])
    """
    if not isinstance(network, (BayesianNetwork, FittedParameters)):
        raise LdpstatsError(
            f"a {type(network).__name__}",
            "a BayesianNetwork, or what fit_parameters returns",
            "What learn_network returns has a query of its own.",
        )
    exact = network if isinstance(network, BayesianNetwork) else network.network
    domain, known = _asked(exact.domain, of, {} if given is None else given)
    size = at_least(n_resamples, 100, "n_resamples", most=MOST_DRAWN)
    if isinstance(network, BayesianNetwork):
        return QueryResult(domain, known, _answered(exact.parents, exact.tables, exact.domain, domain, known))
    return _estimated(network, domain, known, size, generator(rng))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QueryResult(Result):
    """The probabilities of some attributes' categories, given those of others; see `query`.

    Parameters
    ----------
    domain : Domain
        The attributes that were asked about, in the order of the axes.
    given : mapping of str to category
        What is known of others.
    estimate : array
        The probabilities, with the sum one; an axis for each attribute.
    n, simulated : int
        The reports behind the network, and how many of them came from a simulation; none, if its tables were given.
    privacy : PrivacyStatement, optional
    quotients : FiellerQuotient, optional
        The joint probability of each category and what is given, and the probability of that, as the reports tell
        them, with their covariance.
    redrawn : array, shape (networks, cells), optional
        The probabilities in networks that were drawn.
    assumptions : tuple of str
        What must hold beside the reports.
    bound : str
        Why covariances are upper bounds, if they are.
    warning : tuple of str
        That reports do not fit their channel, if they do not: then no interval is shown.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"smoker": ["yes", "no"], "ill": ["yes", "no"]})
    >>> tables = ldp.SampledGroups(domain, epsilon=4.0).simulate([2_000, 1_000, 500, 6_500], rng=1)
    >>> answer = ldp.fit_parameters(tables, {"ill": ["smoker"]}).query("smoker", {"ill": "yes"})
    >>> answer.to_frame().round(2)
            probability  lower  upper
    smoker
    yes             0.8   0.78   0.82
    no              0.2   0.18   0.22
    """

    domain: Domain
    given: Mapping[str, Category]
    estimate: FloatArray
    n: Count = 0
    simulated: Count = 0
    privacy: PrivacyStatement | None = None
    quotients: FiellerQuotient | None = None
    redrawn: FloatArray | None = None
    assumptions: tuple[str, ...] = ()
    bound: str = ""
    warning: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        at_least(self.simulated, 0, "simulated", most=at_least(self.n, 0, "the reports behind a query"))
        of_reports = [self.privacy, self.quotients, self.redrawn]
        proper = self.estimate.shape == self.domain.shape and are_shares(self.estimate)
        if self.quotients is not None and self.redrawn is not None:
            cells, (lowest, highest) = self.estimate.size, (self.quotients.lowest, self.quotients.highest)
            proper &= self.redrawn.shape == (len(self.redrawn), cells) and are_shares(self.redrawn, axis=1)
            proper &= self.quotients.pair.shape == (cells, 2) and (lowest, highest) == (0, 1)
            refuse_no_covariance(self.quotients.covariance, 2, "a query")
        if not proper or len({part is None for part in (*of_reports, self.n or None)}) > 1:
            raise LdpstatsError(
                f"figures of a query, of shape {self.estimate.shape}",
                f"probabilities with the sum one, for {self.domain.shape} categories; from reports, or not",
            )

    def conf_int(self, alpha: float = 0.05) -> FloatArray:
        """Return pointwise intervals of the population's probabilities, shape `(*shape, 2)`, if the edges are right.

        Each is the shortest that holds two others. One is Fieller's, for the quotient of two probabilities in the
        network, linearized in the cells of all attributes and their parents and corrected for what smoothing, and
        making cells proper, have moved them by: where the reports hardly tell whether what is given ever occurs, it is
        everything. The other holds the middle of what networks say that are drawn with the errors of the reports, in
        which rows that these tell little about point to any category: it allows for the curvature that the first
        leaves out. What they cover is measured in benchmarks/network_coverage.py.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        if self.quotients is None or self.redrawn is None:
            raise NotIdentifiedError(
                "a query of a network whose tables are given", "a network that was fitted to reports: fit_parameters"
            )
        level, shown = significance(alpha), self.estimate.ravel()
        linear = self.quotients.limits_of_parts(level)
        drawn = np.quantile(self.redrawn, [level / 2, 1 - level / 2], axis=0)
        low = np.minimum(np.minimum(linear[:, 0], drawn[0]), shown)
        high = np.maximum(np.maximum(linear[:, 1], drawn[1]), shown)
        return np.stack([low, high], axis=-1).reshape(*self.estimate.shape, 2)

    def to_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return a row per category, or combination of categories: its probability, and the interval if there is one.

        The columns together are named after what must hold beside the reports, if there is anything.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        index = self.domain.index()
        frame = pd.DataFrame(
            {"probability": self.estimate.ravel()}, index=index if len(self.domain) > 1 else index.get_level_values(0)
        )
        if self.quotients is None:
            return frame
        limits = self.conf_int(alpha).reshape(-1, 2)
        frame = frame.assign(lower=limits[:, 0], upper=limits[:, 1])
        return frame.rename_axis(columns=f"assuming {'; '.join(self.assumptions)}" if self.assumptions else None)

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return a table to read aloud: probabilities with intervals, and what they rest on.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        level = f"{100 * (1 - significance(alpha)):g} %"
        shown = self.quotients is not None and not self.warning
        frame, limits = self.to_frame(alpha), [f"{level} from", "to"] if shown else []
        rows = [
            [*map(str, labels), *map("{:.4f}".format, figures[: 1 + len(limits)])]
            for labels, figures in zip(self.domain.index(), frame.to_numpy(), strict=True)
        ]
        return summary_of_figures(
            f"{self._asked}{self._kind}",
            [*self.domain.names, "probability", *limits],
            rows,
            self._sentences(level),
        )

    @property
    def headline(self) -> str:
        """What was asked, the most probable answer, and how many reports are behind it."""
        best = self.domain.index()[int(self.estimate.argmax())]
        reports = f", n = {self.n:,}{self._kind}" if self.n else ""
        return f"{self._asked}, most probable {', '.join(map(str, best))}: {self.estimate.max():.3f}{reports}"

    def picture(self) -> Intervals:
        """Return the probabilities with their intervals, where there are any."""
        if self.estimate.size > MOST_LINES:
            raise LdpstatsError(
                f"{self.estimate.size:,} probabilities in one picture",
                f"up to {MOST_LINES}",
                "Ask about fewer attributes; to_frame() has all of them.",
            )
        shown = self.quotients is not None and not self.warning
        limits = self.conf_int() if shown else np.full((*self.estimate.shape, 2), np.nan)
        lower, upper = limits.reshape(-1, 2).T.tolist()
        return Intervals(
            f"{self._asked}{self._kind}",
            (
                *(["pointwise 95 % intervals, if the edges are right"] if shown else []),
                *(f"assumes: {assumption}" for assumption in self.assumptions),
                *self.warning,
            ),
            tuple(", ".join(map(str, labels)) for labels in self.domain.index()),
            tuple(self.estimate.ravel().tolist()),
            tuple(lower),
            tuple(upper),
            "probability",
        )

    @property
    def _asked(self) -> str:
        return f"P({', '.join(self.domain.names)}{f' | {in_words(self.given)}' if self.given else ''})"

    @property
    def _kind(self) -> str:
        return simulation(self.simulated, self.n) if self.n else ""

    def _sentences(self, level: str) -> list[str]:
        if self.privacy is None or self.redrawn is None:
            return ["Exact, for a network whose tables are given."]
        kind = f"Fieller's for the linearized network, together with {len(self.redrawn)} drawn with the reports' errors"
        sentences = [
            f"Intervals: pointwise {level} ({kind}), for the population, if the edges are right.",
            "Randomization and sampling are included in them.",
        ]
        return [
            *self.privacy.sentences(self.n),
            *(["Intervals: none, as the reports do not fit their channel."] if self.warning else sentences),
            *(f"Assumes: {assumption}." for assumption in self.assumptions),
            *([f"In the covariance, {self.bound}."] if self.bound else []),
            ASSUMED,
            *self.warning,
        ]

    def to_dict(self, alpha: float = 0.05) -> dict[str, Any]:
        """Return the probabilities as plain values.

        Parameters
        ----------
        alpha : float
            One minus the confidence of the intervals.
        """
        names = "of=domain given estimate level intervals n privacy simulated assumptions bound"
        intervals = None if self.quotients is None else self.conf_int(alpha).tolist()
        return plain_values(self, names, level=1 - significance(alpha), intervals=intervals)


def _asked(whole: Domain, of: str | Iterable[str], given: object) -> tuple[Domain, dict[str, Category]]:
    """Check what is asked of a network: the attributes, and the categories of others that are given."""
    domain = whole.project(listed(of))
    refuse_too_many_cells(domain.size(), f"the probabilities of {one_line(domain.names)}: a table", LARGEST_JOINT)
    if not isinstance(given, Mapping):
        raise LdpstatsError(
            f"given = {shortened(given)}", "a mapping from attributes to categories, such as {'cough': 'yes'}"
        )
    known = {}
    for name in whole.project(given).names if given else ():
        category = known_category(given[name], whole.categories[name])
        if category is None:
            raise LdpstatsError(f"the category {shortened(given[name])} of {name!r}", one_line(whole.categories[name]))
        known[name] = category
    if both := [name for name in domain.names if name in known]:
        raise LdpstatsError(f"{one_line(both)} both asked about and given", "different attributes")
    return domain, known


def _answered(
    parents: Mapping[str, tuple[str, ...]],
    tables: Mapping[str, FloatArray],
    whole: Domain,
    domain: Domain,
    given: Mapping[str, Category],
) -> FloatArray:
    """Return the joint probabilities of what is asked and given, in one network or many at once, with the sum one."""
    codes = {name: whole.categories[name].index(category) for name, category in given.items()}
    joint = joint_probabilities(parents, tables, domain.names, codes)
    if not (total := float(joint.sum())):
        raise LdpstatsError(
            f"{in_words(given)}, which has the probability zero in this network",
            "categories that occur together",
            "Let fewer of them be given.",
        )
    return joint / total


_HARDLY = 0.02
"""So many respondents an attribute's own proportions count for in each row of the network that is linearized.

With more, rows are so alike that what they depend on seems not to matter: with .5 the intervals of queries of asia's
tree from 100,000 respondents at ε = 1 held the truth .87 to .89 of the time, with .02 .92 to .96.
"""
_ANYTHING = 2.0
"""So many respondents one category, picked at random, counts for in each row of a network that is drawn."""

_HARDLY_EVER = 1e-3
"""The probability of all other categories than that one together: nothing that is given shall be impossible."""


def _estimated(
    fitted: FittedParameters, domain: Domain, given: Mapping[str, Category], size: int, rng: np.random.Generator
) -> QueryResult:
    """Answer a query of a fitted network: exactly for it, for networks that are drawn, and linearized."""
    families, kept = fitted.families, with_ancestors(fitted.network.parents, (*domain.names, *given))
    positions = [position for position, family in enumerate(families.families) if family.attribute in kept]
    hardly = hardly_smoothed(families, positions)
    moved = families.deviations(size, rng)
    versions: dict[str, FloatArray] = {}
    for position, tables in zip(positions, networks_that_differ_in_a_row(hardly), strict=True):
        family = families.families[position]
        # rows that the reports tell little about point to any category: with an average they would all be alike
        own, many = family.rows
        rows = RowsOfFamily.of(families, position, family.cells + moved[position], 0.0).rows
        numbers = rng.random((size, family.cells.size))[:, by_name(family.domain)].reshape(size, own, many)
        picked = _HARDLY_EVER / own + (1 - _HARDLY_EVER) * np.eye(own)[numbers.argmax(axis=1)]
        drawn = rows.towards(np.moveaxis(picked, -1, 1), _ANYTHING, 1 - 1 / own)
        drawn = np.moveaxis(drawn, 0, -1).reshape(*family.domain.shape, size)
        changed = tables.reshape(*family.domain.shape, -1)
        versions[family.attribute] = np.concatenate([fitted.table_of(family)[..., None], drawn, changed], axis=-1)
    parents = {family.attribute: family.parents for family in families.families if family.attribute in kept}
    joint = _answered(parents, versions, fitted.network.domain, domain, given).reshape(domain.size(), -1)
    shown, answers, linear = np.split(joint, [1, 1 + size], axis=1)
    return QueryResult(
        domain,
        given,
        (shown / shown.sum()).reshape(domain.shape),
        n=fitted.n,
        simulated=fitted.simulated,
        privacy=fitted.privacy,
        quotients=_quotients(families, positions, hardly, linear),
        redrawn=(answers / answers.sum(axis=0)).T,
        assumptions=tuple(fitted.assumptions[name] for name in parents if name in fitted.assumptions),
        bound=families.bound,
        warning=tuple(fitted.reports.channel_fit().warning),
    )


def hardly_smoothed(families: FamilyEstimates, positions: Iterable[int]) -> list[FloatArray]:
    """Return the tables of families at some positions, hardly smoothed, shape (categories, rows)."""
    cells = ((position, families.families[position].cells[None]) for position in positions)
    return [RowsOfFamily.of(families, position, own, _HARDLY).tables[0] for position, own in cells]


def networks_that_differ_in_a_row(tables: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """Yield each table in the network of all, and in those in which a row is sure of a category, network by network."""
    total = 1 + sum(table.size for table in tables)
    for table, cells in zip(tables, _networks_of(tables), strict=True):
        changed = np.repeat(table[..., None], total, axis=-1)
        category, row = np.divmod(np.arange(table.size), table.shape[1])
        changed[:, row, cells] = 0
        changed[category, row, cells] = 1
        yield changed


def _networks_of(tables: Sequence[FloatArray]) -> list[IntArray]:
    """Return which of these networks belong to the cells of each table."""
    ends = np.cumsum([1, *(table.size for table in tables)])
    return [np.arange(start, end) for start, end in pairwise(ends)]


def influences(families: Sequence[Family], tables: Sequence[FloatArray], joint: FloatArray) -> Iterator[FloatArray]:
    """Yield the derivatives of probabilities in a network in the cells of every family, shape (probabilities, cells).

    A probability is linear in every row of the tables. So its values where a row is sure of one category, for all rows
    and categories (`joint`, shape (probabilities, 1 + cells)), tell its derivatives.
    """
    parents = {family.attribute: family.parents for family in families}
    shaped = {family.attribute: own.reshape(family.domain.shape) for family, own in zip(families, tables, strict=True)}
    for family, table, cells in zip(families, tables, _networks_of(tables), strict=True):
        often = joint_probabilities(parents, shaped, family.parents).ravel() if family.parents else np.ones(1)
        if_sure = joint[:, cells].reshape(len(joint), *table.shape)
        beyond = if_sure - (if_sure * table).sum(axis=1, keepdims=True)
        yield (beyond / often).reshape(len(joint), -1)


def _quotients(
    estimates: FamilyEstimates, positions: Sequence[int], tables: Sequence[FloatArray], joint: FloatArray
) -> FiellerQuotient:
    """Return joint probabilities in a network over their sum, as linear estimates of quotients in the families' cells.

    As derivatives with respect to the cells of a network's own distribution add up to nothing there, adding those times
    the unbiased cells corrects for whatever was done to these.
    """
    kept, covariance = [estimates.families[position] for position in positions], estimates.covariance
    scaled = joint / joint[:, 0].sum()
    influence, estimate = np.zeros((len(joint), len(covariance))), scaled[:, 0].copy()
    for position, family, own in zip(positions, kept, influences(kept, tables, scaled), strict=True):
        influence[:, estimates.places[position]] = own
        estimate += own @ family.cells
    joint_covariance = influence @ covariance @ influence.T
    pair = np.stack([estimate, np.full(len(joint), estimate.sum())], axis=-1)
    with_total, total = joint_covariance.sum(axis=1), np.full(len(joint), joint_covariance.sum())
    of_pair = np.array([[np.diagonal(joint_covariance), with_total], [with_total, total]])
    return FiellerQuotient(pair, np.moveaxis(of_pair, -1, 0), 0.0, 1.0)
