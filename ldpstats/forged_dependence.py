"""Forged dependence: the least share of forged reports that makes independent attributes look dependent."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpstats.arrays import FloatArray
from ldpstats.blocks import Block
from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.inference.effects.cramers_v import expected_association, measured_categories
from ldpstats.poisoning import one_tally
from ldpstats.tables import Table

# a share beyond a half is no explanation; the least that is tried, and how often the range is halved
_MOST, _FIRST, _HALVINGS = 0.5, 1 / 1024, 9
_STARTS, _KEPT, _STEPS = 12, 5, 40
_STRIDES = (1.0, 0.5, 0.25, 0.1, 0.03)
_GAIN = 1e-6
_LARGEST_PROGRAM, _MOST_CELLS = 20_000, 400

Farthest = Callable[[FloatArray], FloatArray]
ASSUMED = (
    "honest respondents with the margins that were estimated and no dependence, and forgers who act together, know "
    "those margins, and send what makes V largest while all counts remain, on average, those of some table of honest "
    "respondents, so that no check of the counts need find them"
)


def explaining_share(table: Table, cramers_v: float) -> float | str:
    """Return the least share of forged reports with which V comes out at least so large in half of all surveys.

    V is the one of `association`, corrected for noise, from as many reports as the table has. The honest ones are of
    respondents with its estimated margins (half a respondent more in every category, none below zero) and no
    dependence. The forgers act together and may send any reports that exist, in any mixture, as long as the expected
    counts are those of some table of honest respondents: others may be found by `channel_fit`. The strongest mixture
    is looked for by ascents from many starts.

    Parameters
    ----------
    table : Table
        Of two attributes.
    cramers_v : float
        What was found.

    Returns
    -------
    float or str
        The share, at most a half; or why there is none, in words.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = SampledGroups(domain, epsilon=1.0, mechanism="grr").simulate(np.full(4, 25_000), rng=1)
    >>> round(explaining_share(tables["sex", "car"], 0.1), 2)
    0.03
    """
    attack = attack_on(table)
    if isinstance(attack, str):
        return attack
    found = attack.least_share(cramers_v**2)
    return f"not even {100 * _MOST:g} % of forged reports would be enough" if found is None else found[0]


def attack_on(table: Table) -> Attack | str:
    """Return what forgers can do to a table, or why it is not known, in words."""
    block = one_tally(table)
    if block is None or len(table.shape) != 2:
        return "that is known for tables of two attributes with one tally of reports about their cells"
    try:
        attack = Attack(block.by_value, table.shape, measured_categories(table), table.unbiased.estimate)
    except NotIdentifiedError:
        return "the reports do not tell the margins of the honest respondents"
    if min(map(np.count_nonzero, attack.kept)) < 2:
        return "no V of the table is estimable"
    return attack if attack.is_small else "the table is too large to look for the strongest attack"


@dataclass(frozen=True, eq=False)
class Attack:
    """Forged reports about a table of two independent attributes.

    A table is expected if its entries could have come through the channel from honest respondents alone, and what the
    forgers add to each entry is not less than nothing and not more than all their reports can add.
    """

    block: Block
    shape: tuple[int, ...]
    kept: tuple[FloatArray, FloatArray]
    estimate: FloatArray

    @property
    def is_small(self) -> bool:
        """Whether the strongest attack is found in seconds."""
        noise = self.block.noise
        return noise.cells <= _MOST_CELLS and (noise.bounds() is not None or self._design[0].size <= _LARGEST_PROGRAM)

    @cached_property
    def margins(self) -> tuple[FloatArray, FloatArray]:
        """Those of the honest respondents."""
        cells, n = self.estimate.reshape(self.shape), self.block.n
        rows, columns = (n * np.maximum(cells.sum(axis=axis), 0) + 0.5 for axis in (1, 0))
        return rows / rows.sum(), columns / columns.sum()

    @cached_property
    def honest(self) -> FloatArray:
        """The cells of the honest respondents."""
        return np.outer(*self.margins).ravel()

    @cached_property
    def _pooling(self) -> UnbiasedPooling:
        return UnbiasedPooling((self.block,))

    @cached_property
    def _design(self) -> tuple[FloatArray, FloatArray]:
        return self.block.design()

    @cached_property
    def _chosen(self) -> FloatArray:
        return np.outer(*self.kept)

    def least_share(self, square: float) -> tuple[float, FloatArray] | None:
        """Return the least share of forged reports with which V² is as large in half of all surveys, and their table.

        What is possible with a share is possible with a larger one: so shares are doubled, and then halved between.
        """
        if self.median_square(0.0, self.honest) >= square:
            return 0.0, self.honest
        starts, low, high = self._starts(), 0.0, _FIRST
        found = self._strongest(high, starts, [])
        while self.median_square(high, found[0]) < square:
            if high >= _MOST:
                return None
            low, high = high, 2 * high
            found = self._strongest(high, starts, found)
        reached = found[0]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            # the mixtures that reach it with more forgers are in reach of fewer as far as these go
            nearer = [self.honest + middle / high * (one - self.honest) for one in found]
            tried = self._strongest(middle, [], nearer)
            if self.median_square(middle, tried[0]) >= square:
                high, reached, found = middle, tried[0], tried
            else:
                low = middle
        return high, reached

    def median_square(self, share: float, cells: FloatArray) -> float:
        """Return the median of V², as `association` estimates it, if the forgers make these cells expected.

        The squared length of the dependence is taken for a multiple of a noncentral χ² variable, of which Sankaran's
        approximation gives the median. The honest reports alone vary; what is taken off is the noise of as many
        honest ones as there are reports. Of a table that is drowned in noise no V is estimated.
        """
        honest, now = self._pooling.covariance(self.honest), self._pooling.covariance(cells)
        measured = expected_association(cells.reshape(self.shape), now, (1 - share) * honest)
        if measured is None:
            return 0.0
        seen, moved = measured
        scale, mean = float(moved.pearson_stretch), float(moved.pearson + moved.added)
        off_centre = float(moved.pearson) / mean
        median = mean * max(1 - 2 * (1 + off_centre) * scale / (9 * mean), 0.0) ** 3
        return (median - float(seen.added)) / (seen.side - 1)

    def _strongest(
        self, share: float, directions: Sequence[FloatArray], known: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return the expected tables with the strongest dependences that ascents find, the strongest first.

        They start at what is farthest in some directions, and along the slopes of what is known, and there.
        """
        farthest = self.farthest(share)
        corners = [farthest(one) for one in [*directions, *map(self._slope, known)]]
        starts = sorted([*corners, *known], key=self._length, reverse=True)[:_KEPT]
        return sorted((self._ascended(one, farthest) for one in starts), key=self._length, reverse=True)

    def _ascended(self, cells: FloatArray, farthest: Farthest) -> FloatArray:
        """Go towards the table that is farthest along the slope, by the stride that gains most, while one does."""
        length = self._length(cells)
        for _ in range(_STEPS):
            corner = farthest(self._slope(cells))
            tried = [cells + stride * (corner - cells) for stride in _STRIDES]
            lengths = [self._length(one) for one in tried]
            best = int(np.argmax(lengths))
            if lengths[best] <= length * (1 + _GAIN):
                break
            cells, length = tried[best], lengths[best]
        return cells

    def farthest(self, share: float) -> Farthest:
        """Return what finds the expected table that is farthest in a direction, with so many forged reports."""
        if self.block.noise.bounds() is not None:
            worth = (one[self.block.classes] for one in self.block.noise.influence())
            least, most = ((1 - share) * self.honest + share * one for one in worth)
            return _filled(np.maximum(least, 0), most)
        return self._by_linear_program(share)

    def _by_linear_program(self, share: float) -> Farthest:
        from scipy.optimize import linprog

        matrix, offset = self._design
        own = (1 - share) * (matrix @ self.honest + offset)
        most = self.block.noise.largest
        bounded = np.vstack([-matrix, matrix]), np.concatenate([offset - own, own + share * most - offset])

        def farthest(direction: FloatArray) -> FloatArray:
            found = linprog(-direction / np.abs(direction).max(), *bounded, np.ones((1, direction.size)), [1.0])
            return self.honest if found.x is None else np.maximum(found.x, 0)

        return farthest

    def _starts(self) -> list[FloatArray]:
        """Return directions: single cells, up and down, of the rarest categories first, and some at random."""
        rows, columns = self.margins
        weights = np.where(self._chosen, np.outer(1 / rows - 1, 1 / columns - 1), 0).ravel()
        cells = np.argsort(-weights, kind="stable")[:_STARTS]
        alone = [np.outer(_alone(rows, cell // columns.size), _alone(columns, cell % columns.size)) for cell in cells]
        random = np.random.default_rng(0).standard_normal((_STARTS, weights.size)) / np.sqrt(self.honest)
        both = [sign * one.ravel() for one in alone for sign in (1, -1)]
        return [*both, *random, *(random / np.sqrt(self.honest))]

    def _length(self, cells: FloatArray) -> float:
        return self._lengthened(cells)[0]

    def _slope(self, cells: FloatArray) -> FloatArray:
        return self._lengthened(cells)[1]

    def _lengthened(self, cells: FloatArray) -> tuple[float, FloatArray]:
        """Return φ² = Σ π²/rc − 1 among the categories that are kept, and its derivative."""
        table = np.where(self._chosen, cells.reshape(self.shape), 0)
        row, column = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
        ratio = _quotient(table, row * column)
        terms = table * ratio
        of_row = _quotient(terms.sum(axis=1, keepdims=True), row)
        of_column = _quotient(terms.sum(axis=0, keepdims=True), column)
        return float(terms.sum() - 1), np.where(self._chosen, 2 * ratio - of_row - of_column, 0).ravel()


def _filled(least: FloatArray, most: FloatArray) -> Farthest:
    """Return what fills the cells up to one, those first for which there is most to gain."""

    def farthest(direction: FloatArray) -> FloatArray:
        order = np.argsort(-direction, kind="stable")
        room = (most - least)[order]
        cells = least.copy()
        cells[order] += np.clip(1 - least.sum() - (np.cumsum(room) - room), 0, room)
        return cells

    return farthest


def _alone(margin: FloatArray, place: int) -> FloatArray:
    return (np.eye(margin.size)[place] - margin) / margin


def _quotient(over: FloatArray, under: FloatArray) -> FloatArray:
    found: FloatArray = np.divide(over, under, out=np.zeros(np.broadcast(over, under).shape), where=under > 0)
    return found
