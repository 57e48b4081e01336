"""Errors of pairs of attributes: a block for each category of the one, beside a few factors that all cells share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ldpstats.arrays import FloatArray, kronecker
from ldpstats.blocks import Block
from ldpstats.networks.interactions import Interactions, Margins, orthonormal_functions
from ldpstats.noise import MultinomialNoise, SummedSupport, SupportNoise

_EVEN = 1e-12
# a total that varies less than this share of the cells is known
_KNOWN = 1e-10
_ROUNDING = 1e-15


def even_law(blocks: Sequence[Block]) -> FloatArray | None:
    """Return how estimates vary where reports treat all cells alike: own, rise, common, slope, square; else None.

    The covariance of n reports' estimate of frequencies f is diag(own + rise f) + common + slope (f_v + f_w) −
    square f_v f_w, over n.
    """
    if len(blocks) != 1 or not blocks[0].question.is_bijection:
        return None
    noise = blocks[0].by_value.noise
    support, sizes = (noise.support, noise.sizes) if isinstance(noise, SummedSupport) else (noise, (1,))
    if isinstance(support, SupportNoise) and min(sizes) == max(sizes):
        size, spread = sizes[0], support.spread
        return np.array([size * spread.own, spread.rise, size**2 * spread.common, size * spread.slope, 1.0])
    told = noise.own_and_common if isinstance(noise, MultinomialNoise) else None
    if told is None or float(np.ptp(told[1])) >= _EVEN:
        return None
    truth, fake = told[0], float(told[1][0])
    return np.array([fake / truth**2, 1 / truth, -((fake / truth) ** 2), -fake / truth, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class PairErrors:
    """The covariance of estimated cells: blockdiag(blocks) + factors core factorsᵀ. All arrays are of many tables.

    Parameters
    ----------
    blocks : array, shape (..., rows, columns, columns)
    factors : array, shape (..., rows, columns, any)
    core : array, shape (..., any, any)
    """

    blocks: FloatArray
    factors: FloatArray
    core: FloatArray

    @classmethod
    def of(cls, law: FloatArray, frequencies: FloatArray) -> PairErrors:
        """Return those of an even law, at frequencies of shape (..., rows, columns); of shares, rows alone."""
        kept = np.maximum(frequencies, np.finfo(float).tiny)
        kept = kept / kept.sum(axis=(-1, -2), keepdims=True)
        own, rise, common, slope, square = np.moveaxis(law, -1, 0)
        diagonal = own[..., None, None] + rise[..., None, None] * kept
        core = np.stack([np.stack([common, slope], axis=-1), np.stack([slope, -square], axis=-1)], axis=-2)
        return cls(diagonal[..., None] * np.eye(kept.shape[-1]), np.stack([np.ones_like(kept), kept], axis=-1), core)

    @property
    def of_rows(self) -> PairErrors:
        """Those of the sums of rows."""
        return PairErrors(
            self.blocks.sum(axis=(-1, -2))[..., None, None], self.factors.sum(-2)[..., None, :], self.core
        )

    @property
    def of_columns(self) -> FloatArray:
        """The covariance of the sums of columns."""
        factors = self.factors.sum(axis=-3)
        return np.asarray(self.blocks.sum(axis=-3) + factors @ self.core @ _turned(factors))

    def with_product(self, rows: PairErrors, columns: FloatArray) -> PairErrors:
        """Add the covariance of the products of errors of the rows' shares and of the columns' shares."""
        size = columns.shape[-1]
        shared = rows.factors[..., 0, :][..., None, :, None] * np.eye(size)[:, None, :]
        factors = _beside(self.factors, shared.reshape(*shared.shape[:-2], -1))
        core = _blocks(self.core, kronecker(rows.core, columns))
        return PairErrors(self.blocks + rows.blocks * columns[..., None, :, :], factors, core)

    def given_rows(self, cells: FloatArray, known: FloatArray, errors: PairErrors) -> tuple[FloatArray, PairErrors]:
        """Combine cells with what is known of the sums of rows: the cells, and their errors."""
        each = self.blocks.sum(axis=-1)
        own, beside = self.factors.sum(axis=-2), errors.factors[..., 0, :]
        spread = each.sum(axis=-1) + errors.blocks[..., 0, 0]
        shared = _beside(own, beside, np.ones_like(spread)[..., None])
        core, none = _blocks(self.core, errors.core), np.zeros((*spread.shape[:-1], 1, 1))
        ends = shared.sum(axis=-2, keepdims=True)[..., :-1]
        total, level = spread.sum(axis=-1), spread.mean(axis=-1)
        varies = total + (ends @ core @ _turned(ends))[..., 0, 0] > _KNOWN * total
        core = _blocks(core, np.where(varies, 0.0, level)[..., None, None] + none)
        scaled = shared / spread[..., None]
        within = np.linalg.solve(np.eye(core.shape[-1]) + core @ _turned(shared) @ scaled, core)
        # what was not known of the rows, over its variance
        missing = known - cells.sum(axis=-1)
        gain = missing / spread - (scaled @ within @ _turned(scaled) @ missing[..., None])[..., 0]
        shift = self.core @ (_turned(own) @ gain[..., None])
        moved = cells + each * gain[..., None] + (self.factors @ shift[..., None, :, :])[..., 0]
        size = own.shape[-1]
        solved = np.eye(core.shape[-1])[:, :size] - within @ _turned(scaled) @ own
        cross = solved @ self.core
        corner = self.core - self.core @ _turned(own) @ scaled @ cross
        left = np.concatenate([within, -cross], axis=-1)
        right = np.concatenate([-_turned(cross), corner], axis=-1)
        factors = _beside(each[..., None] * scaled[..., None, :], self.factors)
        blocks = self.blocks - each[..., :, None] * (each / spread[..., None])[..., None, :]
        return moved, PairErrors(blocks, factors, np.concatenate([left, right], axis=-2))

    def given_columns(self, cells: FloatArray, known: FloatArray, errors: FloatArray) -> tuple[FloatArray, PairErrors]:
        """Combine cells with what is known of the sums of columns, which has such a covariance."""
        with_sums = self.blocks + self.factors @ (self.core @ _turned(self.factors.sum(axis=-3)))[..., None, :, :]
        inverse = np.linalg.pinv(with_sums.sum(axis=-3) + errors, rcond=_KNOWN, hermitian=True)
        gain = inverse @ (known - cells.sum(axis=-2))[..., None]
        moved = cells + (with_sums @ gain[..., None, :, :])[..., 0]
        return moved, PairErrors(self.blocks, _beside(self.factors, with_sums), _blocks(self.core, -inverse))


@dataclass(frozen=True, slots=True, eq=False)
class ErrorAxes:
    """Estimated interactions along axes in which their errors are uncorrelated, but for a few common factors.

    With the variances v, the errors have the covariance diag(v) + factors core factorsᵀ, in all directions but those
    of the last, fixed factors, along which there are no interactions.

    Parameters
    ----------
    along, variances : array, shape (..., rows, axes)
    factors : array, shape (..., rows times axes, any)
    core : array, shape (..., any, any)
        Of the factors that are not fixed.
    turns : array, shape (..., rows, axes, axes)
        The axes of every row.
    functions : array, shape (..., rows, functions)
        Of the rows, times the roots of their shares: they are orthonormal.
    shape : pair of int
        Functions of the rows, and of the columns.
    """

    along: FloatArray
    variances: FloatArray
    factors: FloatArray
    core: FloatArray
    turns: FloatArray
    functions: FloatArray
    shape: tuple[int, int]

    @classmethod
    def of(cls, cells: FloatArray, errors: PairErrors, margins: Margins) -> ErrorAxes:
        """Take estimated cells, shape (..., rows, columns), with such margins, for their interactions."""
        rows, columns = (orthonormal_functions(shares) for shares in margins)
        roots, turned = np.sqrt(margins[0])[..., None, None], columns[..., None, :, :]
        variances, turns = np.linalg.eigh(_turned(turned) @ errors.blocks @ turned / roots**2)
        variances = np.maximum(variances, _ROUNDING * variances.max(axis=(-1, -2), keepdims=True))
        onto = turned @ turns / roots
        along = (cells[..., None, :] @ onto)[..., 0, :]
        factors = _beside(_turned(onto) @ errors.factors, roots * _turned(turns))
        flat = factors.reshape(*factors.shape[:-3], -1, factors.shape[-1])
        shape = rows.shape[-1], columns.shape[-1]
        return cls(along, variances, flat, errors.core, turns, roots[..., 0] * rows, shape)

    @classmethod
    def of_interactions(cls, seen: Interactions) -> ErrorAxes:
        """Take interactions whose covariance has no structure: its axes are those of all of them."""
        variances, turns = np.linalg.eigh(seen.covariance)
        lead, shape = variances.shape[:-1], seen.correlations.shape[-2:]
        along = seen.correlations.reshape(*lead, 1, -1) @ turns
        none = np.zeros((*variances.shape, 0))
        variances = np.maximum(variances, np.finfo(float).tiny)[..., None, :]
        return cls(along, variances, none, none[..., :0, :], turns[..., None, :, :], np.ones((*lead, 1, 1)), shape)

    @property
    def alone(self) -> ErrorAxes:
        """The same along axes without common factors, which take the whole covariance: for small tables."""
        return ErrorAxes.of_interactions(Interactions(self.correlations(self.along), self.covariance))

    def under(self, prior: float) -> tuple[FloatArray, FloatArray]:
        """Return minus twice the logarithm of the density under such a prior variance, and (V + prior)⁻¹ along."""
        precision, inner, scaled = self._woodbury(prior)
        observed = self.along.reshape(precision.shape)
        pulled = np.linalg.solve(inner, self._weighed(precision) @ (_turned(scaled) @ observed[..., None]))
        solved = precision * observed - (scaled @ pulled)[..., 0]
        fixed = self.factors.shape[-1] - self.core.shape[-1]
        volume = np.linalg.slogdet(inner)[1] + fixed * np.log(precision.mean(axis=-1)) - np.log(precision).sum(axis=-1)
        return volume + (observed * solved).sum(axis=-1), solved

    def _weighed(self, precision: FloatArray) -> FloatArray:
        fixed = np.eye(self.factors.shape[-1] - self.core.shape[-1])
        return _blocks(self.core, fixed / precision.mean(axis=-1)[..., None, None])

    def _woodbury(self, prior: float | FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the precision of the axes, what is to be inverted, and the factors times the precision."""
        precision = 1 / (self.variances.reshape(*self.variances.shape[:-2], -1) + prior)
        scaled = self.factors * precision[..., None]
        free = np.diag((np.arange(self.factors.shape[-1]) < self.core.shape[-1]).astype(float))
        return precision, free + self._weighed(precision) @ _turned(self.factors) @ scaled, scaled

    def correlations(self, along: FloatArray) -> FloatArray:
        """Return interactions that are given along the axes, shape (..., functions, functions)."""
        rows = (self.turns @ along.reshape(*self.along.shape, 1))[..., 0]
        return (_turned(self.functions) @ rows).reshape(*rows.shape[:-2], *self.shape)

    def posterior(self, priors: FloatArray, shares: FloatArray) -> FloatArray:
        """Return one pair's covariance within the components of a prior: their variances, and the share of each."""
        precision, inner, scaled = self._woodbury(priors[:, None])
        solved = np.linalg.solve(inner, self._weighed(precision) @ _turned(scaled))
        shared = np.tensordot((shares * priors**2)[:, None, None] * scaled, solved, ((0, 2), (0, 1)))
        return self._among_interactions(np.diag(self.variances.ravel() * ((shares * priors) @ precision)) + shared)

    @property
    def covariance(self) -> FloatArray:
        """The covariance of the interactions."""
        free = self.factors[..., : self.core.shape[-1]]
        own = self.variances.reshape(*free.shape[:-1], 1) * np.eye(free.shape[-2])
        return self._among_interactions(own + free @ self.core @ _turned(free))

    def _among_interactions(self, matrix: FloatArray) -> FloatArray:
        lead, (rows, axes) = matrix.shape[:-2], self.along.shape[-2:]
        for _ in range(2):
            turned = self.turns @ matrix.reshape(*lead, rows, axes, -1)
            moved = _turned(self.functions) @ turned.reshape(*lead, rows, -1)
            matrix = _turned(moved.reshape(*lead, moved.shape[-2] * axes, -1))
        return matrix

    def __getitem__(self, place: tuple[int, int]) -> ErrorAxes:
        """Return those of one pair in one set of tables."""
        lead = self.along.shape[:-2]
        sizes = {"along": 2, "variances": 2, "factors": 2, "core": 2, "turns": 3, "functions": 2}
        whole = {name: getattr(self, name) for name in sizes}
        parts = {name: np.broadcast_to(one, (*lead, *one.shape[-sizes[name] :]))[place] for name, one in whole.items()}
        return replace(self, **parts)


def _turned(matrix: FloatArray) -> FloatArray:
    return np.swapaxes(matrix, -1, -2)


def _beside(*columns: FloatArray) -> FloatArray:
    shape = np.broadcast_shapes(*(one.shape[:-1] for one in columns))
    return np.concatenate([np.broadcast_to(one, (*shape, one.shape[-1])) for one in columns], axis=-1)


def _blocks(first: FloatArray, second: FloatArray) -> FloatArray:
    shape = np.broadcast_shapes(first.shape[:-2], second.shape[:-2])
    size, total = first.shape[-1], first.shape[-1] + second.shape[-1]
    found = np.zeros((*shape, total, total))
    found[..., :size, :size], found[..., size:, size:] = first, second
    return found
