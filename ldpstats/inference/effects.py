"""How strongly two attributes hang together, corrected for the randomization noise that inflates every such measure."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ldpstats.arrays import BoolArray, FloatArray
from ldpstats.errors import LdpstatsError
from ldpstats.inference.confidence import Inversion, NoisySquare, WholeRange
from ldpstats.inference.effect_size import Effect, unbiased_cells
from ldpstats.inference.statistics import interaction, interaction_derivative
from ldpstats.tables import Table, checked_table

_LARGE_NOISE = 0.3
_ABSENT = 1e-3
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Association(Effect):
    """Cramér's V: how strongly two attributes hang together, from 0 for independence to 1.

    Parameters
    ----------
    plug_in : float
        V of the estimated table as it stands; noise alone makes it positive.
    noise : float
        The V that noise alone would show on average (root mean square).
    """

    plug_in: float
    noise: float

    @property
    def cramers_v(self) -> float:
        """Cramér's V without the bias that noise adds; nan where it is not estimable."""
        return self.estimate

    def __str__(self) -> str:
        if self.why_not:
            return f"Cramér's V is not estimable: {self.why_not}"
        return f"Cramér's V = {self.cramers_v:.3f} (corrected for noise, which alone would show about {self.noise:.3f})"


@dataclass(frozen=True, slots=True, eq=False)
class Dependence:
    """Squared lengths of the dependence in one or many estimated tables, as the noise lengthened them.

    With E the product of the estimated margins, g the deviations from it, V their covariance and M = E⁻¹V, noise
    adds tr M to either length on average. The stretch of a length L is ∇Lᵀ Σ ∇L / 4L. In a strong dependence that
    makes the variance 4wL, by the delta method; where there is nothing but noise it is tr M² / tr M on average, the
    scale of the χ² with the mean and the variance of Σ g²/E.

    Parameters
    ----------
    pearson, likelihood : array
        φ² = Σ g²/E, and twice the mutual information in nats.
    added : array
        tr M.
    pearson_stretch, likelihood_stretch : array
        Their stretches.
    possible : array of bool
        Whether every category's estimated share is above zero; where not, all else is that of some other table.
    """

    pearson: FloatArray
    likelihood: FloatArray
    added: FloatArray
    pearson_stretch: FloatArray
    likelihood_stretch: FloatArray
    possible: BoolArray

    @classmethod
    def of(cls, table: FloatArray, covariance: FloatArray) -> Dependence:
        """Measure tables, shape (..., rows, columns), with the covariance of their flattened cells.

        Cells that are not estimated above zero add nothing to the information (0 ln 0 = 0), and its derivative is
        taken as if they had a thousandth of what independence expects.
        """
        possible = (table.sum(axis=-1).min(axis=-1) > _TINY) & (table.sum(axis=-2).min(axis=-1) > _TINY)
        table = np.where(possible[..., None, None], table, 1 / math.prod(table.shape[-2:]))  # any other will do
        total = table.sum(axis=(-1, -2), keepdims=True)
        row, column = table.sum(axis=-1, keepdims=True) / total, table.sum(axis=-2, keepdims=True) / total
        expected = total * row * column
        excess = interaction(table) / expected
        derivative = interaction_derivative(table)
        relative = derivative @ covariance @ np.swapaxes(derivative, -1, -2)
        relative = relative / expected.reshape(*table.shape[:-2], -1, 1)
        added = np.maximum(np.trace(relative, axis1=-2, axis2=-1), 0)
        alone = np.einsum("...ij,...ji->...", relative, relative) / np.where(added > 0, added, 1.0)
        pearson = (excess**2 * expected).sum(axis=(-1, -2))
        # both derivatives in terms of g / E, so that no digits are lost where there is hardly any dependence
        slope = 2 * excess + (pearson / total[..., 0, 0])[..., None, None]
        slope = slope - (excess**2 * column).sum(axis=-1, keepdims=True) - (excess**2 * row).sum(-2, keepdims=True)
        logarithm = np.log1p(np.maximum(excess, _ABSENT - 1))
        terms = np.where(excess > -1, (1 + excess) * logarithm, 0) - excess
        likelihood = 2 * (expected * terms).sum(axis=(-1, -2))
        return cls(
            pearson,
            likelihood,
            added,
            _stretch(pearson, slope, covariance, alone),
            _stretch(likelihood, 2 * logarithm, covariance, alone),
            possible,
        )

    def cramers_v(self, smaller_side: int) -> NoisySquare:
        """Return the confidence sets of V in tables whose smaller side has so many categories."""
        largest = smaller_side - 1
        return NoisySquare(self.pearson, self.added, self.pearson_stretch, largest, 0.5, 1.0)

    def mutual_information(self, smaller_side: int) -> NoisySquare:
        """Return the confidence sets of the mutual information."""
        return NoisySquare(self.likelihood, self.added, self.likelihood_stretch, 2.0, 1.0, math.log(smaller_side))

    def noise(self, smaller_side: int) -> FloatArray:
        """Return the square of the V that noise alone would show on average."""
        return self.added / (smaller_side - 1)

    def drowned(self, smaller_side: int) -> BoolArray:
        """Say which tables show nothing but noise, or so it may be."""
        noisy: BoolArray = self.noise(smaller_side) >= _LARGE_NOISE**2
        return noisy

    def beyond(self, smaller_side: int) -> BoolArray:
        """Say which tables are too far from any possible one."""
        noise = self.noise(smaller_side)
        far: BoolArray = self.pearson / (smaller_side - 1) - noise > (1 + 2 * np.sqrt(noise)) ** 2
        return far

    def estimable(self, smaller_side: int) -> BoolArray:
        """Say in which tables the dependence is estimable."""
        return self.possible & ~self.drowned(smaller_side) & ~self.beyond(smaller_side)

    def why_not(self, smaller_side: int) -> str:
        """Return the reason why one table's dependence is not estimable, if there is one."""
        if not self.possible:
            return "a category's estimated share is not above zero"
        if self.drowned(smaller_side):
            return f"noise alone would show V = {math.sqrt(self.noise(smaller_side)):.2f}"
        return "the estimated table is too far from any possible one" if self.beyond(smaller_side) else ""


def association(table: Table, alpha: float = 0.05) -> Association:
    """Return the bias-corrected Cramér's V of a two-way table.

    With E the product of the estimated margins, g the deviations from it and V their covariance,
    φ² = Σ g²/E − Σ V_vv/E, and Cramér's V is the root of max(φ², 0) / (min(r, c) − 1), at most 1. Where noise
    alone would show a V of .3 or more, V is called not estimable, and the interval is all from 0 to 1. It always
    starts from the table's "unbiased" estimate, whatever its method: what is taken off is the excess of a linear,
    unbiased estimate (a derived table has no other than its own).

    The interval inverts a noncentral χ², see `NoisySquare` and `Dependence`. Near V = 0, where hardly any lower limit
    is missed, it covers more often than asked: .97 to .99 where .95 are (measured for tables from 2 by 2 to 4 by 4).

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> import numpy as np
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 100, 100, 400]) * 100, rng=1)
    >>> round(association(tables["sex", "car"]).cramers_v, 2)
    0.6
    """
    seen, why = _dependence(table)
    estimate, plug_in, noise, side = math.nan, math.nan, math.nan, min(table.shape)
    inversion: Inversion = WholeRange(0.0, 1.0)
    if seen is not None and seen.possible:
        plug_in, noise = (math.sqrt(float(square) / (side - 1)) for square in (seen.pearson, seen.added))
    if seen is not None and not why:
        estimate = math.sqrt(min(max(plug_in**2 - noise**2, 0.0), 1.0))
        inversion = seen.cramers_v(side)
    name = f"Cramér's V of {' and '.join(table.attributes)}"
    return Association.of(table, name, estimate, inversion, why, alpha, plug_in=plug_in, noise=noise)


def mutual_information(table: Table, alpha: float = 0.05) -> Effect:
    """Return the mutual information of two attributes in nats, without the bias that noise adds to first order.

    It is Σ π ln(π / E) − ½ Σ V_vv/E, at least 0 and at most the logarithm of the smaller number of categories, with
    E, V and the unbiased estimate as in `association`, and not estimable where Cramér's V is not. Cells that are
    not estimated above zero add nothing. Where noise makes small cells uncertain the estimate is somewhat too large
    nevertheless, as the logarithm bends more than the correction knows, and the interval covers more than asked.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=4.0).simulate(np.array([400, 100, 100, 400]) * 100, rng=1)
    >>> print(mutual_information(tables["sex", "car"]))
    mutual information of sex and car in nats = 0.1936; 95 % interval from 0.1898 to 0.1975
    """
    seen, why = _dependence(table)
    estimate, side = math.nan, min(table.shape)
    highest = math.log(side)
    inversion: Inversion = WholeRange(0.0, highest)
    if seen is not None and not why:
        estimate = min(max(float(seen.likelihood - seen.added) / 2, 0.0), highest)
        inversion = seen.mutual_information(side)
    name = f"mutual information of {' and '.join(table.attributes)} in nats"
    return Effect.of(table, name, estimate, inversion, why, alpha)


def _dependence(table: Table) -> tuple[Dependence | None, str]:
    """Measure the dependence in a table, and say why it is not estimable if it is not."""
    shape = two_way_shape(table)
    cells = unbiased_cells(table)
    if isinstance(cells, str):
        return None, cells
    seen = Dependence.of(cells.estimate.reshape(shape), cells.covariance)
    return seen, seen.why_not(min(shape))


def _stretch(length: FloatArray, slope: FloatArray, covariance: FloatArray, alone: FloatArray) -> FloatArray:
    flat = slope.reshape(*length.shape, 1, -1)
    spread = (flat @ covariance @ np.swapaxes(flat, -1, -2))[..., 0, 0] / 4
    stretch: FloatArray = np.where(length > _TINY, spread / np.where(length > _TINY, length, 1.0), alone)
    return stretch


def two_way_shape(table: Table) -> tuple[int, int]:
    """Return rows and columns of a two-way table; refuse anything else."""
    checked_table(table)
    if len(table.shape) != 2:
        raise LdpstatsError(
            f"a table of {len(table.shape)} attributes {table.attributes!r}",
            "a two-way table",
            "Take one with table.marginal([...]).",
        )
    return table.shape[0], table.shape[1]
