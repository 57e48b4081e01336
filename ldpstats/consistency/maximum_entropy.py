"""Maximum entropy: the log-linear model with the interactions of the measured groups, fitted to noisy marginals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.columns import listed
from ldpstats.consistency.dual_newton import LogLinearPoint, minimum_in_the_limit
from ldpstats.consistency.estimated_means import EstimatedMeans, equations, misfit
from ldpstats.consistency.junction_tree import JunctionTree
from ldpstats.consistency.log_linear_terms import CellTermCovariance, LogLinearTerms, cells_from_means
from ldpstats.consistency.marginals import Attributes, Marginal
from ldpstats.errors import LdpstatsError
from ldpstats.noise import solve_or_shortest

MOST_CELLS = 2**20
"""So many cells may the tables of all cliques have: every step of a fit goes through them."""
MOST_TERMS = 2**11
"""So many terms may the model have: every step of a fit solves as many equations."""


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
    groups, sizes = [one.attributes for one in given], sizes_of(given)
    tree = affordable_tree(groups, sizes)
    if tree is None:
        raise LdpstatsError(
            f"{len(given)} marginals of {len(sizes)} attributes, whose model is too large",
            f"at most {MOST_CELLS:,} cells, and {MOST_TERMS:,} terms of the log-linear model",
            "Take those that bear upon a few attributes: `relevant_marginals` chooses them.",
        )
    terms = LogLinearTerms.of(tree, groups)
    known = EstimatedMeans.pooled(terms, given)
    point, converged = minimum_in_the_limit(terms, known)
    return MaximumEntropy(terms, known, point, misfit(terms, given, point.means), converged)


def weighed_together(marginals: Iterable[Marginal]) -> list[Marginal]:
    """Return the marginals, their cells weighed by the variances that they have at what all of them say together.

    Weighed by its own estimate, a cell that was counted too seldom counts for more than one counted too often.

    Examples
    --------
    Two tables of 100 people each who answered the truth:

    >>> cells = [np.array([0.96, 0.04]), np.array([0.92, 0.08])]
    >>> answers = [Marginal(("a",), (2,), one, (np.diag(one) - np.outer(one, one)) / 100, 100) for one in cells]
    >>> [fit_maximum_entropy(some).marginal("a").round(3) for some in (answers, weighed_together(answers))]
    [array([0.946, 0.054]), array([0.94, 0.06])]
    """
    given = list(marginals)
    groups = [one.attributes for one in given]
    terms = LogLinearTerms.of(JunctionTree.of(groups, sizes_of(given)), groups)
    means = np.linalg.solve(*equations(terms, given))
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

    def marginal(self, attributes: Iterable[str]) -> FloatArray:
        """Return the probabilities of the cells of any attributes, the last one varying fastest."""
        return self.point.beliefs.marginal(attributes).ravel()

    def covariance(self, attributes: Iterable[str]) -> FloatArray:
        """Return the covariance of `marginal(attributes)`, by the delta method.

        What the tables behind the marginals have in common is allowed for; where it is not known the covariance is an
        upper bound, as `known.bound` says. A cell that is fitted as zero, because the estimates ask for
        less than that, is zero in the linear approximation too: near such cells the covariance is too small.
        """
        return self.known.covariance_of(self.response(attributes))

    def response(self, attributes: Iterable[str]) -> FloatArray:
        """Return what small changes of the estimated means change in `marginal(attributes)`, shape (cells, terms)."""
        slope = CellTermCovariance.of(self.terms, listed(attributes)).covariance(self.point.beliefs)
        return solve_or_shortest(self.point.curvature(self.known), slope.T).T


def affordable_tree(
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


def sizes_of(marginals: Sequence[Marginal]) -> Mapping[str, int]:
    """Return the number of categories of every attribute of some marginals, which must agree on it."""
    sizes: dict[str, int] = {}
    for one in marginals:
        for name, size in zip(one.attributes, one.shape, strict=True):
            if sizes.setdefault(name, size) != size:
                raise LdpstatsError(f"marginals with {sizes[name]} and {size} categories of {name!r}", "one number")
    if not sizes:
        raise LdpstatsError("no marginals", "at least one")
    return sizes
