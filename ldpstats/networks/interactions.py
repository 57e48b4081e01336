"""Interactions of two attributes: correlations of functions, their errors, and what empirical Bayes leaves of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ldpstats.estimation.blocks import Block
from ldpstats.estimation.simplex import nearest_proper
from ldpstats.noise import ChannelNoise, SummedSupport, SupportNoise
from ldpstats.numbers.arrays import FloatArray, kronecker

Margins: TypeAlias = tuple[FloatArray, FloatArray]
"""Something of the first attribute of a pair, and of the second one: the shares of their categories, say."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """The estimated interactions of one pair of attributes, in one or several sets of tables.

    With p and q the margins and X, Y functions of the categories that are uncorrelated under them, with mean 0 and
    variance 1, the cells are p q (1 + X B Yᵀ). The entries of B are the correlations of those functions, its singular
    values are the canonical correlations, and Σ B² is Pearson's φ². Where b separates a from c, B_ac = B_ab B_bc.
    """

    correlations: FloatArray  # B, shape (sets, functions of the first, functions of the second)
    # the covariance of B's flattened entries, shape (sets, entries, entries), or what works it out
    given_covariance: FloatArray | Callable[[], FloatArray]

    @cached_property
    def covariance(self) -> FloatArray:
        """The covariance of the flattened entries of B, worked out once."""
        return self.given_covariance() if callable(self.given_covariance) else self.given_covariance

    @property
    def turned(self) -> Interactions:
        """The same with the second attribute first."""
        order = np.arange(math.prod(self.correlations.shape[-2:])).reshape(self.correlations.shape[-2:]).T.ravel()
        return Interactions(self.correlations.mT, lambda: self.covariance[..., order[:, None], order])


def cells_of(correlations: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the cells of a table with these interactions and margins, shape (sets, rows, columns)."""
    rows, columns = first[..., None] * orthonormal_functions(first), second[..., None] * orthonormal_functions(second)
    cells: FloatArray = first[..., :, None] * second[..., None, :] + rows @ correlations @ columns.mT
    return cells


def interactions_of(cells: FloatArray, covariance: FloatArray, first: FloatArray, second: FloatArray) -> Interactions:
    """Return the interactions of estimated cells, shape (sets, cells), with their covariance, for such margins."""
    functions = orthonormal_functions(first), orthonormal_functions(second)
    table = cells.reshape(*cells.shape[:-1], first.shape[-1], second.shape[-1])
    both = kronecker(*functions)
    correlations = functions[0].mT @ table @ functions[1]
    return Interactions(correlations, both.mT @ covariance @ both)


def orthonormal_functions(shares: FloatArray) -> FloatArray:
    """Return functions of categories with mean 0 and variance 1 that are uncorrelated, shape (..., categories, k).

    There are k = categories − 1, for shares above zero with the sum one: the columns of a Householder reflection that
    takes the roots of the shares to a unit vector.
    """
    roots = np.sqrt(shares)
    normal = roots.copy()
    normal[..., -1] += 1
    # the squared length of the normal is 2 (1 + its last root)
    reflected = np.eye(shares.shape[-1]) - normal[..., :, None] * normal[..., None, :] / normal[..., -1, None, None]
    functions: FloatArray = reflected[..., :-1] / roots[..., None]
    return functions


_EVEN = 1e-12
# a total that varies less than this share of the cells is known
_KNOWN = 1e-10
_ROUNDING = 1e-15


def even_law(blocks: Sequence[Block]) -> FloatArray | None:
    """Return the law of estimates of reports that treat all cells alike: own, rise, common, slope, square; else None.

    The covariance of n reports' estimate of frequencies f is diag(own + rise f) + common + slope (f_v + f_w) − square
    f_v f_w, over n.
    """
    if len(blocks) != 1 or not blocks[0].question.is_bijection:
        return None
    noise = blocks[0].by_value.noise
    support, sizes = (noise.support, noise.sizes) if isinstance(noise, SummedSupport) else (noise, (1,))
    if isinstance(support, SupportNoise) and min(sizes) == max(sizes):
        size, law = sizes[0], support.spread
        return np.array([size * law.own, law.rise, size**2 * law.common, size * law.slope, 1.0])
    told = noise.own_and_common if isinstance(noise, ChannelNoise) else None
    if told is None or float(np.ptp(told[1])) >= _EVEN:
        return None
    truth, fake = told[0], float(told[1][0])
    return np.array([fake / truth**2, 1 / truth, -((fake / truth) ** 2), -fake / truth, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class PairErrors:
    """The covariance of estimated cells of many tables as blockdiag(blocks) + factors core factorsᵀ."""

    blocks: FloatArray  # shape (..., rows, columns, columns)
    factors: FloatArray  # shape (..., rows, columns, any)
    core: FloatArray  # shape (..., any, any)

    @classmethod
    def of(cls, law: FloatArray, frequencies: FloatArray) -> PairErrors:
        """Return those of an even law at frequencies of shape (..., rows, columns); shares are one row or column."""
        kept = np.maximum(frequencies, np.finfo(float).tiny)
        kept = kept / kept.sum(axis=(-1, -2), keepdims=True)
        own, rise, common, slope, square = np.moveaxis(law, -1, 0)
        diagonal = own[..., None, None] + rise[..., None, None] * kept
        core = np.stack([np.stack([common, slope], axis=-1), np.stack([slope, -square], axis=-1)], axis=-2)
        return cls(diagonal[..., None] * np.eye(kept.shape[-1]), np.stack([np.ones_like(kept), kept], axis=-1), core)

    @property
    def of_rows(self) -> PairErrors:
        """The covariance of the sums of rows."""
        return PairErrors(
            self.blocks.sum(axis=(-1, -2))[..., None, None], self.factors.sum(-2)[..., None, :], self.core
        )

    @property
    def of_columns(self) -> FloatArray:
        """The covariance of the sums of columns."""
        factors = self.factors.sum(axis=-3)
        return np.asarray(self.blocks.sum(axis=-3) + factors @ self.core @ factors.mT)

    def with_product(self, rows: PairErrors, columns: FloatArray) -> PairErrors:
        """Add the covariance of the products of errors of the rows' shares and of the columns' shares."""
        size = columns.shape[-1]
        shared = rows.factors[..., 0, :][..., None, :, None] * np.eye(size)[:, None, :]
        factors = _beside(self.factors, shared.reshape(*shared.shape[:-2], -1))
        core = _blocks(self.core, kronecker(rows.core, columns))
        return PairErrors(self.blocks + rows.blocks * columns[..., None, :, :], factors, core)

    def given_rows(self, cells: FloatArray, known: FloatArray, errors: PairErrors) -> tuple[FloatArray, PairErrors]:
        """Combine cells with known sums of rows, by generalized least squares: the cells, and their errors."""
        each = self.blocks.sum(axis=-1)
        own, beside = self.factors.sum(axis=-2), errors.factors[..., 0, :]
        variances = each.sum(axis=-1) + errors.blocks[..., 0, 0]
        shared = _beside(own, beside, np.ones_like(variances)[..., None])
        core, none = _blocks(self.core, errors.core), np.zeros((*variances.shape[:-1], 1, 1))
        ends = shared.sum(axis=-2, keepdims=True)[..., :-1]
        total, level = variances.sum(axis=-1), variances.mean(axis=-1)
        varies = total + (ends @ core @ ends.mT)[..., 0, 0] > _KNOWN * total
        core = _blocks(core, np.where(varies, 0.0, level)[..., None, None] + none)
        scaled = shared / variances[..., None]
        within = np.linalg.solve(np.eye(core.shape[-1]) + core @ shared.mT @ scaled, core)
        # what was not known of the rows, over its variance
        missing = known - cells.sum(axis=-1)
        gain = missing / variances - (scaled @ within @ scaled.mT @ missing[..., None])[..., 0]
        shift = self.core @ (own.mT @ gain[..., None])
        moved = cells + each * gain[..., None] + (self.factors @ shift[..., None, :, :])[..., 0]
        size = own.shape[-1]
        solved = np.eye(core.shape[-1])[:, :size] - within @ scaled.mT @ own
        cross = solved @ self.core
        corner = self.core - self.core @ own.mT @ scaled @ cross
        left = np.concatenate([within, -cross], axis=-1)
        right = np.concatenate([-cross.mT, corner], axis=-1)
        factors = _beside(each[..., None] * scaled[..., None, :], self.factors)
        blocks = self.blocks - each[..., :, None] * (each / variances[..., None])[..., None, :]
        return moved, PairErrors(blocks, factors, np.concatenate([left, right], axis=-2))

    def given_columns(self, cells: FloatArray, known: FloatArray, errors: FloatArray) -> tuple[FloatArray, PairErrors]:
        """Combine cells with known sums of columns, by generalized least squares: the cells, and their errors."""
        with_sums = self.blocks + self.factors @ (self.core @ self.factors.sum(axis=-3).mT)[..., None, :, :]
        inverse = np.linalg.pinv(with_sums.sum(axis=-3) + errors, rcond=_KNOWN, hermitian=True)
        gain = inverse @ (known - cells.sum(axis=-2))[..., None]
        moved = cells + (with_sums @ gain[..., None, :, :])[..., 0]
        return moved, PairErrors(self.blocks, _beside(self.factors, with_sums), _blocks(self.core, -inverse))


@dataclass(frozen=True, slots=True, eq=False)
class ErrorAxes:
    """Estimated interactions along axes in which their errors are uncorrelated, but for a few common factors.

    With the variances v, the errors have the covariance diag(v) + factors core factorsᵀ, in all directions but those of
    the last, fixed factors, along which there are no interactions.
    """

    along: FloatArray  # shape (..., rows, axes), as the variances
    variances: FloatArray
    factors: FloatArray  # shape (..., rows times axes, any)
    core: FloatArray  # of the factors that are not fixed
    turns: FloatArray  # the axes of every row, shape (..., rows, axes, axes)
    functions: FloatArray  # of the rows, times the roots of their shares: orthonormal, shape (..., rows, functions)
    shape: tuple[int, int]  # numbers of functions of the rows, and of the columns

    @classmethod
    def of(cls, cells: FloatArray, errors: PairErrors, margins: Margins) -> ErrorAxes:
        """Return the interactions of estimated cells, shape (..., rows, columns), with such margins."""
        rows, columns = (orthonormal_functions(shares) for shares in margins)
        roots, turned = np.sqrt(margins[0])[..., None, None], columns[..., None, :, :]
        variances, turns = np.linalg.eigh(turned.mT @ errors.blocks @ turned / roots**2)
        variances = np.maximum(variances, _ROUNDING * variances.max(axis=(-1, -2), keepdims=True))
        onto = turned @ turns / roots
        along = (cells[..., None, :] @ onto)[..., 0, :]
        factors = _beside(onto.mT @ errors.factors, roots * turns.mT)
        flat = factors.reshape(*factors.shape[:-3], -1, factors.shape[-1])
        shape = rows.shape[-1], columns.shape[-1]
        return cls(along, variances, flat, errors.core, turns, roots[..., 0] * rows, shape)

    @classmethod
    def of_interactions(cls, seen: Interactions) -> ErrorAxes:
        """Take interactions whose covariance has no structure, along its eigenvectors."""
        variances, turns = np.linalg.eigh(seen.covariance)
        lead, shape = variances.shape[:-1], seen.correlations.shape[-2:]
        along = seen.correlations.reshape(*lead, 1, -1) @ turns
        none = np.zeros((*variances.shape, 0))
        variances = np.maximum(variances, np.finfo(float).tiny)[..., None, :]
        return cls(along, variances, none, none[..., :0, :], turns[..., None, :, :], np.ones((*lead, 1, 1)), shape)

    @property
    def alone(self) -> ErrorAxes:
        """The same along the eigenvectors of the whole covariance, without common factors: for small tables."""
        return ErrorAxes.of_interactions(Interactions(self.correlations(self.along), self.covariance))

    def under(self, prior: float) -> tuple[FloatArray, FloatArray]:
        """Return −2 log density (less a constant) and (V + prior)⁻¹ times the interactions, under a prior variance."""
        precision, inner, weights, scaled = self._woodbury(prior)
        observed = self.along.reshape(precision.shape)
        pulled = np.linalg.solve(inner, weights @ (scaled.mT @ observed[..., None]))
        solved = precision * observed - (scaled @ pulled)[..., 0]
        fixed = self.factors.shape[-1] - self.core.shape[-1]
        volume = np.linalg.slogdet(inner)[1] + fixed * np.log(precision.mean(axis=-1)) - np.log(precision).sum(axis=-1)
        return volume + (observed * solved).sum(axis=-1), solved

    def _woodbury(self, prior: float | FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the axes' precision, two matrices of Woodbury's identity, and the factors times the precision."""
        precision = 1 / (self.variances.reshape(*self.variances.shape[:-2], -1) + prior)
        scaled = self.factors * precision[..., None]
        free = np.diag((np.arange(self.factors.shape[-1]) < self.core.shape[-1]).astype(float))
        fixed = np.eye(self.factors.shape[-1] - self.core.shape[-1])
        weights = _blocks(self.core, fixed / precision.mean(axis=-1)[..., None, None])
        return precision, free + weights @ self.factors.mT @ scaled, weights, scaled

    def correlations(self, along: FloatArray) -> FloatArray:
        """Return interactions given along the axes as correlations, shape (..., functions, functions)."""
        rows = (self.turns @ along.reshape(*self.along.shape, 1))[..., 0]
        return (self.functions.mT @ rows).reshape(*rows.shape[:-2], *self.shape)

    def posterior(self, priors: FloatArray, shares: FloatArray) -> FloatArray:
        """Return one pair's posterior covariance within prior components, given their variances and shares."""
        precision, inner, weights, scaled = self._woodbury(priors[:, None])
        solved = np.linalg.solve(inner, weights @ scaled.mT)
        shared = np.tensordot((shares * priors**2)[:, None, None] * scaled, solved, ((0, 2), (0, 1)))
        return self._among_interactions(np.diag(self.variances.ravel() * ((shares * priors) @ precision)) + shared)

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the interactions."""
        free = self.factors[..., : self.core.shape[-1]]
        own = self.variances.reshape(*free.shape[:-1], 1) * np.eye(free.shape[-2])
        return self._among_interactions(own + free @ self.core @ free.mT)

    def _among_interactions(self, matrix: FloatArray) -> FloatArray:
        lead, (rows, axes) = matrix.shape[:-2], self.along.shape[-2:]
        for _ in range(2):
            turned = self.turns @ matrix.reshape(*lead, rows, axes, -1)
            moved = self.functions.mT @ turned.reshape(*lead, rows, -1)
            matrix = moved.reshape(*lead, moved.shape[-2] * axes, -1).mT
        return matrix

    def __getitem__(self, index: tuple[int, int]) -> ErrorAxes:
        """Return those of one pair in one set of tables."""
        lead = self.along.shape[:-2]
        sizes = {"along": 2, "variances": 2, "factors": 2, "core": 2, "turns": 3, "functions": 2}
        whole = {name: getattr(self, name) for name in sizes}
        parts = {
            name: np.broadcast_to(array, (*lead, *array.shape[-sizes[name] :]))[index] for name, array in whole.items()
        }
        return replace(self, **parts)


def _beside(*columns: FloatArray) -> FloatArray:
    shape = np.broadcast_shapes(*(array.shape[:-1] for array in columns))
    return np.concatenate([np.broadcast_to(array, (*shape, array.shape[-1])) for array in columns], axis=-1)


def _blocks(first: FloatArray, second: FloatArray) -> FloatArray:
    shape = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    size, total = first.shape[-1], first.shape[-1] + second.shape[-1]
    joined = np.zeros((*shape, total, total))
    joined[..., :size, :size], joined[..., size:, size:] = first, second
    return joined


# variances of the prior's components: none, and those of powers of two up to a correlation of one
_PRIORS = np.concatenate([[0.0], 4.0 ** np.arange(-10, 1)])
_ROUNDS = 50
# as in `AssociationMeasures`: so small a share of what independence expects is none
_ABSENT = 1e-3
# what every component counts for beside the pairs
_PSEUDOCOUNT = 0.1


def posteriors(seen: Sequence[ErrorAxes]) -> list[tuple[FloatArray, FloatArray]]:
    """Return the posterior means of pairs' interactions, and the shares of the prior's components in each pair.

    The prior of every correlation is normal around zero, with a standard deviation that the pair draws from a few, zero
    among them; how often each is drawn is fitted to all pairs of a set, by EM (a scale mixture of normals, as in
    Stephens 2017). So pairs among which hardly any are associated are shrunk much, and strong associations hardly at
    all. Directions in which the noise is wide are shrunk more than others: a rare category drowns nothing but itself.

    Each of `seen` has pairs of one shape, all in the same sets of tables; what is returned for it has the shapes
    (pairs, sets, functions, functions) and (pairs, sets, components).
    """
    under = [[axes.under(float(prior)) for prior in _PRIORS] for axes in seen]
    densities = np.concatenate([np.stack([-distance / 2 for distance, _ in parts], axis=-1) for parts in under])
    # the probability that a pair is of each component, by EM
    likelihoods = np.exp(densities - densities.max(axis=-1, keepdims=True))
    pairs, sets, components = likelihoods.shape
    often, belongs = np.full((sets, components), 1 / components), likelihoods
    for _ in range(_ROUNDS):
        belongs = likelihoods * often
        belongs = belongs / belongs.sum(axis=-1, keepdims=True)
        often = (belongs.sum(axis=0) + _PSEUDOCOUNT) / (pairs + components * _PSEUDOCOUNT)
    shares = np.split(belongs, np.cumsum([len(axes.along) for axes in seen])[:-1])
    means = []
    for axes, own, parts in zip(seen, shares, under, strict=True):
        weights = np.moveaxis(own * _PRIORS, -1, 0)[..., None]
        mean = sum((weight * along for weight, (_, along) in zip(weights, parts, strict=True)), np.zeros(()))
        means.append(axes.correlations(mean))
    return list(zip(means, shares, strict=True))


def within_components(seen: ErrorAxes, shares: FloatArray) -> FloatArray:
    """Return one pair's posterior covariance of interactions within the prior's components, which have such shares."""
    return seen.posterior(_PRIORS, shares)


def information_of(correlations: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the mutual information in nats of tables with such interactions and margins, made proper."""
    cells = cells_of(correlations, first, second)
    return plug_in_information(nearest_proper(cells.reshape(*cells.shape[:-2], -1)).reshape(cells.shape))


def plug_in_information(cells: FloatArray) -> FloatArray:
    """Return the mutual information of proper frequencies, shape (..., rows, columns), in nats."""
    from scipy.special import rel_entr

    expected = cells.sum(axis=-1, keepdims=True) * cells.sum(axis=-2, keepdims=True)
    # not below zero by rounding
    information: FloatArray = np.maximum(rel_entr(cells, expected).sum(axis=(-1, -2)), 0)
    return information


def information_length(cells: FloatArray) -> float:
    """Return twice the mutual information of a table in nats; cells that are not above zero add nothing."""
    expected = np.outer(cells.sum(axis=1), cells.sum(axis=0))
    excess = (cells - expected) / expected
    terms = np.where(excess > -1, (1 + excess) * np.log1p(np.maximum(excess, _ABSENT - 1)), 0) - excess
    return 2 * float((expected * terms).sum())
