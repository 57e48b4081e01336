"""Maximum entropy: the log-linear model with the interactions of the measured groups, fitted to noisy marginals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.columns import listed
from ldpstats.consistency.joint import within
from ldpstats.consistency.junction_tree import Beliefs, JunctionTree, LogLinearTerms, cells_from_means
from ldpstats.consistency.marginals import Attributes, Marginal, refuse_untold, stacked
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.noise import solve_or_shortest
from ldpstats.tables.stacked import Part, Stacked

MOST_CELLS = 2**20
"""So many cells may the tables of all cliques have: every step of a fit goes through them."""
MOST_TERMS = 2**11
"""So many terms may the model have: every step of a fit solves as many equations."""

_STANDARD_ERRORS = 1e-4
_PROBABILITY = 1e-5
_DECADES = 40
_MOST_STEPS = 100
_MOST_HALVINGS = 40


def fit_maximum_entropy(marginals: Iterable[Marginal]) -> MaximumEntropy:
    """Find the distribution of maximum entropy among those that come nearest to all marginals.

    Nearest means the least misfit: the sum of (fitted − estimated)² / (2 variance) over all cells of all marginals.
    Many distributions reach it. The one of maximum entropy is log-linear, with no interaction that was not measured:
    the Markov random field whose cliques are the measured groups (McKenna, Sheldon & Miklau 2019).

    It is the limit of what minimises misfit − τ · entropy, as τ goes to zero. With η̂ the means of the terms that the
    marginals give by least squares, and V the inverse curvature of the misfit, the dual problem is to minimise
    ln Z(θ) − θᵀη̂ + ½ τ θᵀVθ over the weights θ of the terms. Newton's method does that for one τ after the other,
    each a tenth of the last, until no mean moves by more than 1e-5, nor all together by more than 1e-4 standard
    errors. (Where the marginals are many standard errors away from any distribution, by 1e-4 of that distance.)

    Parameters
    ----------
    marginals : iterable of Marginal
        Of any groups of attributes; groups may come several times, or within others.

    Examples
    --------
    Two tables that share b; they say nothing of a and c but what follows through b:

    >>> noise = (np.eye(4) - 1 / 4) / 1000
    >>> ab = Marginal(("a", "b"), (2, 2), np.array([0.4, 0.1, 0.1, 0.4]), noise, 1000)
    >>> bc = Marginal(("b", "c"), (2, 2), np.array([0.4, 0.1, 0.1, 0.4]), noise, 1000)
    >>> model = fit_maximum_entropy([ab, bc])
    >>> model.marginal(("a", "c")).round(6), model.converged
    (array([0.34, 0.16, 0.16, 0.34]), True)
    """
    given = list(marginals)
    groups, sizes = [one.attributes for one in given], _sizes(given)
    tree = _affordable_tree(groups, sizes)
    if tree is None:
        raise LdpstatsError(
            f"{len(given)} marginals of {len(sizes)} attributes, whose model is too large",
            f"at most {MOST_CELLS:,} cells, and {MOST_TERMS:,} terms of the log-linear model",
            "Take those that bear upon a few attributes: `relevant_marginals` chooses them.",
        )
    terms = LogLinearTerms.of(tree, groups)
    known = EstimatedMeans.pooled(terms, given)
    point, converged = _limit(terms, known)
    return MaximumEntropy(terms, known, point, _misfit(terms, given, point.means), converged)


def weighed_together(marginals: Iterable[Marginal]) -> list[Marginal]:
    """Return the marginals, their cells weighed by the variances that they have at what all of them say together.

    Weighed by its own estimate, a cell that was counted too seldom counts for more than one counted too often.

    Examples
    --------
    Two tables of 100 people each who answered the truth:

    >>> cells = [np.array([0.96, 0.04]), np.array([0.92, 0.08])]
    >>> told = [Marginal(("a",), (2,), one, (np.diag(one) - np.outer(one, one)) / 100, 100) for one in cells]
    >>> [fit_maximum_entropy(some).marginal("a").round(3) for some in (told, weighed_together(told))]
    [array([0.946, 0.054]), array([0.94, 0.06])]
    """
    given = list(marginals)
    groups = [one.attributes for one in given]
    terms = LogLinearTerms.of(JunctionTree.of(groups, _sizes(given)), groups)
    means = np.linalg.solve(*_equations(terms, given))
    weighed = []
    for one in given:
        constant, slopes = cells_from_means(one.shape)
        weighed.append(replace(one, expected=constant + slopes @ means[terms.places(one.attributes)]))
    return weighed


@dataclass(frozen=True, slots=True, eq=False)
class MaximumEntropy:
    """The distribution of maximum entropy that comes nearest to noisy marginals; see `fit_maximum_entropy`.

    Parameters
    ----------
    terms : LogLinearTerms
        The terms of the log-linear model.
    known : EstimatedMeans
        What the marginals tell of their means.
    point : LogLinearPoint
        Where the fit ended.
    objective : float
        The misfit there.
    converged : bool
        Whether the fit ended by its rule.
    """

    terms: LogLinearTerms
    known: EstimatedMeans
    point: LogLinearPoint
    objective: float
    converged: bool

    @property
    def attributes(self) -> Attributes:
        """The attributes that the model is about."""
        return tuple(self.terms.tree.sizes)

    @property
    def cliques(self) -> tuple[Attributes, ...]:
        """The cliques of the junction tree."""
        return self.terms.tree.cliques

    def marginal(self, attributes: Iterable[str]) -> FloatArray:
        """Return the probabilities of the cells of any attributes, the last one varying fastest."""
        return self.point.beliefs.marginal(attributes).ravel()

    def covariance(self, attributes: Iterable[str]) -> FloatArray:
        """Return the covariance of `marginal(attributes)`, by the delta method.

        What the tables behind the marginals have in common is allowed for; where it is not known the covariance is an
        upper bound, as `known.bound` says. A cell that is fitted as zero, because the estimates ask for
        less than that, is zero in the linear approximation too: near such cells the covariance is too small.
        """
        slope = self.terms.covariance_with(listed(attributes), self.point.beliefs)
        response = solve_or_shortest(self.point.curvature(self.known), slope.T)
        return self.known.covariance_of(response.T)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatedMeans:
    """What noisy marginals tell of the means of terms: weighted least squares, every cell by its precision.

    Parameters
    ----------
    means : array, shape (terms,)
        The estimates, which need not be those of any distribution.
    precision : array, shape (terms, terms)
        The curvature of the misfit.
    inverse : array, shape (terms, terms)
        Its inverse.
    told : tuple of Part
        What every marginal adds to the equations, precision · means.
    errors : Stacked
        What the marginals' errors have to do with each other.
    """

    means: FloatArray
    precision: FloatArray
    inverse: FloatArray
    told: tuple[Part, ...]
    errors: Stacked

    @classmethod
    def pooled(cls, terms: LogLinearTerms, marginals: Iterable[Marginal]) -> EstimatedMeans:
        """Pool marginals of the groups of the terms."""
        given = list(marginals)
        precision, seen = _equations(terms, given)
        inverse = np.linalg.inv(precision)
        told = []
        for one in given:
            weighted = one.precision[:, np.newaxis] * cells_from_means(one.shape)[1]
            told.append(one.part(terms.places(one.attributes), weighted.T))
        return cls(inverse @ seen, precision, inverse, tuple(told), stacked(given))

    @property
    def bound(self) -> str:
        """Why covariances are upper bounds, in words; empty where they are known."""
        return self.errors.bound

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the estimates, with that of the cells within a marginal."""
        return self.covariance_of(np.eye(len(self.means)))

    def covariance_of(self, sums: FloatArray) -> FloatArray:
        """Return the covariance of sums of the estimates, shape (sums, terms)."""
        weights, many = sums @ self.inverse, len(self.means)
        if not self.errors.clusters:
            return weights @ self.errors.covariance_of(self.told, many) @ weights.T
        rows = np.arange(len(sums))
        parts = [Part(rows, weights[:, places] @ matrix) for places, matrix in self.told]
        return self.errors.covariance_of(parts, len(sums))

    def length(self, difference: FloatArray) -> float:
        """Return the length of a difference of means in standard errors."""
        return math.sqrt(max(float(difference @ self.precision @ difference), 0.0))

    def negligible(self, difference: FloatArray, means: FloatArray) -> bool:
        """Say whether such a difference from some means does not matter."""
        far = max(1.0, self.length(means - self.means))
        return self.length(difference) <= _STANDARD_ERRORS * far and bool(np.all(np.abs(difference) <= _PROBABILITY))


def _equations(terms: LogLinearTerms, marginals: Iterable[Marginal]) -> tuple[FloatArray, FloatArray]:
    """Return the normal equations for the means of the terms: precision · means = what was seen."""
    many = len(terms.levels)
    precision, seen = np.zeros((many, many)), np.zeros(many)
    for one in marginals:
        places, (constant, slopes) = terms.places(one.attributes), cells_from_means(one.shape)
        weighted = one.precision[:, np.newaxis] * slopes
        precision[np.ix_(places, places)] += slopes.T @ weighted
        seen[places] += weighted.T @ (one.estimate - constant)
    return precision, seen


class LogLinearPoint(NamedTuple):
    """A log-linear distribution on the way to the limit.

    Parameters
    ----------
    tau : float
    weights : array, shape (terms,)
    beliefs : Beliefs
    means : array, shape (terms,)
    spread : array, shape (terms, terms)
        The covariance of the terms, which is the derivative of the means.
    """

    tau: float
    weights: FloatArray
    beliefs: Beliefs
    means: FloatArray
    spread: FloatArray

    @classmethod
    def at(cls, weights: FloatArray, tau: float, terms: LogLinearTerms) -> LogLinearPoint:
        """Work out the distribution with these weights."""
        beliefs = terms.tree.beliefs(terms.potentials(weights))
        return cls(tau, weights, beliefs, *terms.moments(beliefs))

    def gradient(self, known: EstimatedMeans) -> FloatArray:
        """Return the gradient of the dual problem: what the means differ by from those that its minimum has."""
        slope: FloatArray = self.means - known.means + self.tau * (known.inverse @ self.weights)
        return slope

    def curvature(self, known: EstimatedMeans) -> FloatArray:
        """Return the second derivatives of the dual problem."""
        return self.spread + self.tau * known.inverse

    def newton_step(self, known: EstimatedMeans) -> FloatArray:
        """Return the step to where the gradient would vanish, were the curvature the same everywhere."""
        return -solve_or_shortest(self.curvature(known), self.gradient(known))


def with_entropy(
    terms: LogLinearTerms, known: EstimatedMeans, least: float, start: LogLinearPoint | None = None
) -> list[LogLinearPoint]:
    """Return the minima of the dual problem as τ goes down by tenths to a least value, or as far as it gets.

    If a start is given, the least value of τ is tried at once.
    """
    begin = _uniform(terms, known) if start is None else start._replace(tau=least)
    point, found = _minimum(begin, terms, known)
    points = [point]
    while found and points[-1].tau > least:
        point, found = _minimum(points[-1]._replace(tau=max(points[-1].tau / 10, least)), terms, known)
        points += [point] if found else []
    return points


def _uniform(terms: LogLinearTerms, known: EstimatedMeans) -> LogLinearPoint:
    """Return the uniform distribution, with a τ to begin with."""
    uniform = LogLinearPoint.at(np.zeros(len(terms.levels)), 1.0, terms)
    # at a minimum the weights are the precision times what the means lack, over τ: none above one to begin with
    most = float(np.abs(known.precision @ (known.means - uniform.means)).max(initial=0.0))
    return uniform._replace(tau=most or 1.0)


def _limit(terms: LogLinearTerms, known: EstimatedMeans) -> tuple[LogLinearPoint, bool]:
    """Follow the minimum of the dual problem as τ goes to zero; say whether it came to rest."""
    last, found = _minimum(_uniform(terms, known), terms, known)
    for _ in range(_DECADES):
        if not found:
            break
        point, found = _minimum(last._replace(tau=last.tau / 10), terms, known)
        if found and known.negligible(point.means - last.means, point.means):
            return _polished(point, terms, known), True
        last = point if found else last
    return last, False


def _minimum(point: LogLinearPoint, terms: LogLinearTerms, known: EstimatedMeans) -> tuple[LogLinearPoint, bool]:
    """Minimise the dual problem by Newton's method; say whether it succeeded.

    The means are then as near to those of the minimum as the gradient is short: they are what the minimum would have
    if the gradient were added to η̂, and they never move farther than η̂ does (Moreau 1965: a proximal map).
    """
    for _ in range(_MOST_STEPS):
        if known.negligible(point.gradient(known), point.means):
            return point, True
        step = point.newton_step(known)
        length = _step_length(point, step, terms, known)
        if not length:
            break
        point = LogLinearPoint.at(point.weights + length * step, point.tau, terms)
    return point, False


def _step_length(point: LogLinearPoint, step: FloatArray, terms: LogLinearTerms, known: EstimatedMeans) -> float:
    """Halve a step until it brings down the dual problem's value about as its slope promises (Armijo 1966)."""

    def value(weights: FloatArray) -> float:
        penalty = point.tau / 2 * float(weights @ known.inverse @ weights)
        return terms.tree.log_total(terms.potentials(weights)) - float(weights @ known.means) + penalty

    slope, start = float(point.gradient(known) @ step), value(point.weights)
    rounding = 1e-13 * float(np.abs(point.weights) @ (1 + np.abs(known.means)))
    for length in 0.5 ** np.arange(_MOST_HALVINGS if slope < 0 else 0):
        if value(point.weights + length * step) <= start + 1e-4 * length * slope + rounding:
            return float(length)
    return 0.0


def _polished(point: LogLinearPoint, terms: LogLinearTerms, known: EstimatedMeans) -> LogLinearPoint:
    """Take Newton's last steps as long as they at least halve the gradient, which rounding errors end."""
    while True:
        nearer = LogLinearPoint.at(point.weights + point.newton_step(known), point.tau, terms)
        if 2 * known.length(nearer.gradient(known)) >= known.length(point.gradient(known)):
            return point
        point = nearer


def _misfit(terms: LogLinearTerms, marginals: Iterable[Marginal], means: FloatArray) -> float:
    """Return half the squared deviations of the cells from all marginals, over their variances."""
    total = 0.0
    for one in marginals:
        constant, slopes = cells_from_means(one.shape)
        deviation = constant + slopes @ means[terms.places(one.attributes)] - one.estimate
        total += float(deviation @ (one.precision * deviation)) / 2
    return total


@dataclass(frozen=True, slots=True, eq=False)
class RelevantMarginals:
    """The marginals that bear upon a table; see `relevant_marginals`.

    Parameters
    ----------
    marginals : tuple of Marginal
        Added up to the attributes that are kept.
    attributes : tuple of str
        These attributes.
    left_out : tuple of str
        Attributes that hang together with the table, but were too many to be kept with it.
    """

    marginals: tuple[Marginal, ...]
    attributes: Attributes
    left_out: Attributes


def relevant_marginals(
    marginals: Iterable[Marginal], target: Iterable[str], most_cells: int = MOST_CELLS
) -> RelevantMarginals:
    """Choose the marginals that bear upon a table, and add them up to attributes that a junction tree can hold.

    The first of these that is small enough:

    1. Every attribute that hangs together with the target, directly or through others. Nothing is lost.
    2. Without those that are in only one group, and so hang on the rest at one place; again and again. Marginals
       that agree with each other lose nothing by that.
    3. The target and, where it does not hang together in itself, the attributes on shortest paths between its parts.
       What is lost is dependence within the target through the others, as far as no group shows it.

    Whatever a group tells of the attributes that are kept is used: that of a kept attribute and another one tells how
    frequent the categories of the first are. Marginals of the same attributes stay separate, each with its precision.

    Parameters
    ----------
    marginals : iterable of Marginal
    target : iterable of str
        Each of these attributes is in at least one of the groups.
    most_cells : int
        How many cells the tables of all cliques may have.

    Examples
    --------
    >>> noise = np.eye(4) / 1000
    >>> chain = [Marginal(pair, (2, 2), np.full(4, 0.25), noise, 100) for pair in [("a", "b"), ("b", "c"), ("c", "d")]]
    >>> found = relevant_marginals(chain, ["a", "c"])
    >>> found.attributes, found.left_out
    (('a', 'b', 'c', 'd'), ())
    >>> found = relevant_marginals(chain, ["a", "c"], most_cells=8)
    >>> found.attributes, found.left_out, [one.attributes for one in found.marginals]
    (('a', 'b', 'c'), ('d',), [('a', 'b'), ('b', 'c'), ('c',)])
    """
    given, wanted = list(marginals), listed(target)
    groups, sizes = [one.attributes for one in given], _sizes(given)
    refuse_untold(wanted, groups)
    connected = _connected(groups, wanted)
    for kept in _ever_fewer(groups, wanted, connected):
        parts = [tuple(name for name in kept if name in group) for group in groups]
        if _affordable_tree([part for part in parts if part], {name: sizes[name] for name in kept}, most_cells):
            return RelevantMarginals(
                tuple(within(given, kept)), kept, tuple(name for name in connected if name not in kept)
            )
    raise LdpstatsError(
        f"a table of {one_line(wanted)}, for which any model is too large",
        f"cliques of at most {most_cells:,} cells, and at most {MOST_TERMS:,} terms of the log-linear model",
        "Ask for fewer attributes together.",
    )


def joining(groups: Sequence[Attributes], wanted: Attributes) -> Iterator[Attributes]:
    """Yield attributes that join the wanted ones, with them: all that are no ends, then those on shortest paths."""
    _, *fewer = _ever_fewer(groups, wanted, _connected(groups, wanted))
    yield from fewer


def _ever_fewer(groups: Sequence[Attributes], wanted: Attributes, connected: Attributes) -> Iterator[Attributes]:
    """Yield the attributes that may be kept, the best choice first."""
    yield connected
    for keep in (_without_ends, _joined_by_paths):
        kept = keep(groups, wanted)
        yield tuple(name for name in connected if name in kept)


def _connected(groups: Sequence[Attributes], wanted: Attributes) -> Attributes:
    """Return all attributes that hang together with the wanted ones, in the order in which groups name them."""
    reached = set(wanted)
    while hanging := {name for group in groups if not reached.isdisjoint(group) for name in group} - reached:
        reached |= hanging
    return tuple(name for name in dict.fromkeys(chain.from_iterable(groups)) if name in reached)


def _without_ends(groups: Sequence[Attributes], wanted: Attributes) -> set[str]:
    """Leave out attributes in one group only, and groups within others, until there are none (Graham 1979)."""
    left = {frozenset(group) for group in groups}
    while True:
        left = {one for one in left if not any(one < other for other in left)}
        seen = Counter(chain.from_iterable(left))
        ends = {name for name, times in seen.items() if times == 1}.difference(wanted)
        if not ends:
            return set(seen)
        left = {one - ends for one in left}


def _joined_by_paths(groups: Sequence[Attributes], wanted: Attributes) -> set[str]:
    """Add the attributes on shortest paths between parts of the wanted ones, until all that can be is joined."""
    import networkx as nx

    graph: nx.Graph[str] = nx.Graph(pair for group in groups for pair in combinations(group, 2))
    graph.add_nodes_from(wanted)
    kept = list(wanted)
    while True:
        paths = []
        for part in nx.connected_components(graph.subgraph(kept)):
            from_part = nx.multi_source_dijkstra_path(graph, [name for name in kept if name in part])
            paths += [from_part[name] for name in kept if name in from_part and name not in part]
        if not paths:
            return set(kept)
        kept += min(paths, key=lambda path: (len(path), path))[1:-1]


def _affordable_tree(
    groups: Sequence[Attributes], sizes: Mapping[str, int], most_cells: int = MOST_CELLS
) -> JunctionTree | None:
    """Return the junction tree of the groups, unless it or their model is too large."""
    tree = JunctionTree.of(groups, sizes)
    # every cell of a group but one has a term: no need to list those of a group that has too many by itself
    affordable = tree.cells <= most_cells and max(math.prod(tree.shape(group)) for group in groups) <= MOST_TERMS + 1
    return tree if affordable and _number_of_terms(groups, sizes) <= MOST_TERMS else None


def _number_of_terms(groups: Iterable[Attributes], sizes: Mapping[str, int]) -> int:
    """Return how many terms `LogLinearTerms.of` would list: per set within a group, all combinations but first ones."""
    parts = {
        frozenset(part) for group in groups for some in range(len(group)) for part in combinations(group, some + 1)
    }
    return sum(math.prod(sizes[name] - 1 for name in part) for part in parts)


def _sizes(marginals: Sequence[Marginal]) -> Mapping[str, int]:
    sizes: dict[str, int] = {}
    for one in marginals:
        for name, size in zip(one.attributes, one.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise LdpstatsError(f"marginals with {sizes[name]} and {size} categories of {name!r}", "one number")
    if not sizes:
        raise LdpstatsError("no marginals", "at least one")
    return sizes
