"""Forged dependence: the least share of forged reports that makes independent attributes look dependent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldpstats.attacks.poisoning import one_tally
from ldpstats.errors import NotIdentifiedError
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.unbiased_estimates import UnbiasedPooling
from ldpstats.inference.effects.cramers_v import expected_association, measured_categories
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray
from ldpstats.tables import Table

# a share beyond a half is no explanation; expected tables may need a little more than the median of V
_MOST, _FURTHEST, _LEAST = 0.5, 0.6, 1e-4
_TRIED, _HALVINGS = 120, 14
_STARTS, _KEPT, _STEPS = 24, 12, 30
_STRIDES = (1.0, 0.5, 0.25, 0.1, 0.03)
_GAIN = 1e-4
_ERRORS = 1.0
_MOST_CELLS = 225
_UNKNOWN = "no V of the table is estimable"
ASSUMED = (
    "It takes for granted honest respondents who have the margins that were estimated and no dependence, and forgers "
    "who act together, know these margins, and may send any reports that exist, in the mixture that needs the fewest, "
    "as far as a search from many starts finds it. "
    "Some mixtures are found out by how reports fit their channel; those that cannot be found need as many or more."
)


def explaining_share(table: Table, cramers_v: float) -> float | str:
    """Return the least share of forged reports with which the median of V is `cramers_v`, or words why there is none.

    V is the one of `association`, corrected for noise, from as many reports as the table of two attributes has. The
    honest ones are of respondents with its estimated margins (half a respondent more in every category, none below
    zero) and no dependence. The forgers act together and may send any reports that exist, in any mixture; the strongest
    one is looked for by ascents from many starts, up to a share of a half. Whether `channel_fit` would find it is not
    asked.
    """
    attack = attack_on(table)
    if isinstance(attack, str):
        return attack
    if math.isnan(cramers_v):
        return _UNKNOWN
    least = attack.least_share(cramers_v)
    return f"not even {100 * _MOST:g} % of forged reports would be enough" if least is None else least[0]


def attack_on(table: Table) -> Attack | str:
    """Return what forgers can do to a table, or why it is not known, in words."""
    block = one_tally(table)
    if block is None or len(table.shape) != 2:
        return "that is known only for tables of two attributes with one tally of reports about their cells"
    try:
        attack = Attack(block.by_value, table.shape, measured_categories(table), table.unbiased.estimate)
    except NotIdentifiedError:
        return "the reports do not tell the margins of the honest respondents"
    if min(map(np.count_nonzero, attack.kept)) < 2:
        return _UNKNOWN
    small = attack.honest.size <= _MOST_CELLS
    return attack if small else f"the strongest attack is looked for in tables of up to {_MOST_CELLS} cells"


@dataclass(frozen=True, eq=False)
class Attack:
    """Forged reports about a table of two attributes whose honest respondents show no dependence.

    A mixture of reports is known by what it is worth to the estimate of every cell. With a share f of it the expected
    table is h + f (w − h), h being the honest respondents' and w the worth.
    """

    block: Block  # the reports, counted by what they support
    shape: tuple[int, ...]
    kept: tuple[BoolArray, BoolArray]  # the categories that V is of
    estimate: FloatArray

    @cached_property
    def margins(self) -> tuple[FloatArray, FloatArray]:
        """Row and column frequencies of the honest respondents."""
        cells, n = self.estimate.reshape(self.shape), self.block.n
        rows, columns = (n * np.maximum(cells.sum(axis=axis), 0) + 0.5 for axis in (1, 0))
        return rows / rows.sum(), columns / columns.sum()

    @cached_property
    def honest(self) -> FloatArray:
        """The cell frequencies of the honest respondents, the product of their margins."""
        return np.outer(*self.margins).ravel()

    @cached_property
    def _pooling(self) -> UnbiasedPooling:
        return UnbiasedPooling((self.block,))

    @cached_property
    def _chosen(self) -> BoolArray:
        return np.outer(*self.kept)

    def least_share(self, cramers_v: float) -> tuple[float, FloatArray] | None:
        """Return the least share of forged reports with which V is as large in half of all surveys, and their worth.

        The expected table serves to find mixtures that need few reports, the law of V to say how many they need.
        """
        goal = cramers_v**2 * (min(map(np.count_nonzero, self.kept)) - 1)
        # what is worth the most to a single cell each, mixed over a part of a pairing
        rng, alone = np.random.default_rng(1), np.eye(self.honest.size)
        parts = [self._pairing(rng)[: int(rng.integers(2, min(self.shape) + 1))] for _ in range(_STARTS)]
        of_pairings = [np.mean([self._loudest(alone[cell]) for cell in part], axis=0) for part in parts]
        worths = [*map(self._loudest, self._directions()), *of_pairings]
        starts = [self._mixture(worth, goal) for worth in worths]
        starts.sort(key=lambda start: start[:2])
        best = [self._descended(start, goal) for start in starts[:_KEPT]]
        least, chosen = math.inf, self.honest
        for expected, _, worth in sorted([*best, *starts[: 2 * _KEPT]], key=lambda start: start[:2]):
            # noise hardly ever lets fewer do than the expected table asks for
            share = self._share(worth, cramers_v**2) if min(expected, _FURTHEST) < least else math.inf
            if share < least:
                least, chosen = share, worth
        return (least, chosen) if least <= _MOST else None

    def median_square(self, share: float, worth: FloatArray) -> float:
        """Return the median of V², as `association` estimates it; 0 where it is not estimable.

        The squared length of the dependence is taken for a multiple of a noncentral χ² variable, of which Sankaran's
        approximation gives the median. The honest reports alone vary; what is taken off is the noise of as many honest
        ones as there are reports.
        """
        cells = self.honest + share * (worth - self.honest)
        honest, seen = self._pooling.covariance(self.honest), self._pooling.covariance(cells)
        measured = expected_association(cells.reshape(self.shape), seen, (1 - share) * honest)
        if measured is None:
            return 0.0
        known, moved = measured
        scale, mean = float(moved.pearson_stretch), float(moved.pearson + moved.added)
        off_centre = float(moved.pearson) / mean
        median = mean * max(1 - 2 * (1 + off_centre) * scale / (9 * mean), 0.0) ** 3
        return (median - float(known.added)) / (known.side - 1)

    def _share(self, worth: FloatArray, square: float) -> float:
        """Return the least share with which the median of V² is as large as `square`; else infinity."""
        low = 0.0
        high = math.inf
        for share in np.geomspace(_LEAST, _MOST, _TRIED // 3).tolist():
            if self.median_square(share, worth) >= square:
                high = share
                break
            low = share
        for _ in range(_HALVINGS // 2 if high <= _MOST else 0):
            middle = (low + high) / 2
            low, high = (low, middle) if self.median_square(middle, worth) >= square else (middle, high)
        return high

    def _expected_share(self, worth: FloatArray, goal: float) -> float:
        """Return the least share with which φ² of the expected table is at least `goal`; else infinity."""
        shares, lengths = self._along(worth)
        reached = lengths >= goal
        index = int(reached.argmax())
        if not reached[index]:
            return np.inf
        low, high = shares[max(index - 1, 0)], shares[index]
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            length = self._lengths((self.honest + middle * (worth - self.honest))[None])[0]
            low, high = (low, middle) if length >= goal else (middle, high)
        return float(high)

    def _mixture(self, worth: FloatArray, goal: float) -> tuple[float, float, FloatArray]:
        """Return the expected share, minus the largest φ² (a tie-break if no share is enough), and the worth."""
        share = self._expected_share(worth, goal)
        return share, -float(self._along(worth)[1].max()) if math.isinf(share) else -math.inf, worth

    def _along(self, worth: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return shares of a mixture, and φ² of the tables that are expected with them."""
        shares = np.append(0, np.geomspace(_LEAST, _FURTHEST, _TRIED))
        return shares, self._lengths(self.honest + shares[:, None] * (worth - self.honest))

    def _descended(self, mixture: tuple[float, float, FloatArray], goal: float) -> tuple[float, float, FloatArray]:
        """Mix in what is worth the most along the slope of φ², as long as fewer reports are then needed."""
        for _ in range(_STEPS):
            share, _, worth = mixture
            if math.isinf(share):
                shares, lengths = self._along(worth)
                share = float(shares[lengths.argmax()])
            louder = self._loudest(self._slope(self.honest + share * (worth - self.honest)))
            mixed = worth + np.array(_STRIDES)[:, None] * (louder - worth)
            lengths = self._lengths(self.honest + share * (mixed - self.honest))
            tried = self._mixture(mixed[int(lengths.argmax())], goal)
            if not (tried[0] < mixture[0] * (1 - _GAIN) or tried[1] < mixture[1] * (1 + _GAIN)):
                break
            mixture = tried
        return mixture

    def _loudest(self, direction: FloatArray) -> FloatArray:
        """Return the worth, to all cells, of the report that moves the estimate farthest in a direction."""
        answers = np.empty_like(direction)
        answers[self.block.classes] = direction
        return self.block.noise.loudest(answers)[self.block.classes]

    def _directions(self) -> list[FloatArray]:
        """Return directions to start from: single cells up and down, the rarest first, pairings, random ones."""
        rows, columns = self.margins
        weights = np.where(self._chosen, np.outer(1 / rows - 1, 1 / columns - 1), 0).ravel()
        cells = np.argsort(-weights, kind="stable")[:_STARTS]
        alone = [np.outer(_alone(rows, cell // columns.size), _alone(columns, cell % columns.size)) for cell in cells]
        rng = np.random.default_rng(0)
        random = rng.standard_normal((_STARTS, weights.size)) / np.sqrt(self.honest)
        up_and_down = [sign * direction.ravel() for direction in alone for sign in (1, -1)]
        pairings = [np.eye(weights.size)[self._pairing(rng)].sum(axis=0) for _ in range(_STARTS)]
        return [*up_and_down, *pairings, *random, *(random / np.sqrt(self.honest))]

    def _pairing(self, rng: np.random.Generator) -> IntArray:
        """Return random cells, one in each category of the longer side, spread evenly along the shorter."""
        order = rng.permutation(max(self.shape))
        indices = [rng.permutation(side)[order % side] for side in self.shape]
        cells: IntArray = np.ravel_multi_index(indices, self.shape)
        return cells

    @cached_property
    def _least_margins(self) -> FloatArray:
        """Smallest margins at which a dependence still shows: a standard error, or half of what there is."""
        indices = np.indices(self.shape).reshape(2, -1, 1)
        lines = [index == np.flatnonzero(kept) for index, kept in zip(indices, self.kept, strict=True)]
        indicators = np.hstack(lines).astype(float)
        errors = np.sqrt(np.einsum("ia,ij,ja->a", indicators, self._pooling.covariance(self.honest), indicators))
        least: FloatArray = np.minimum(_ERRORS * errors, self.honest @ indicators / 2)
        return least

    def _lengths(self, tables: FloatArray) -> FloatArray:
        """Return φ² of tables among the kept categories; 0 where one of these is hardly seen any more."""
        cells = tables.reshape(-1, *self.shape)[:, self.kept[0]][:, :, self.kept[1]]
        products = cells.sum(axis=2, keepdims=True) * cells.sum(axis=1, keepdims=True)
        margins = np.concatenate([cells.sum(axis=2), cells.sum(axis=1)], axis=1)
        possible = np.all(margins >= self._least_margins, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = (cells**2 / products).sum(axis=(1, 2)) - 1
        # V of a whole table whose estimates do not sum to one is that much larger
        return np.where(possible, squares * (cells.sum(axis=(1, 2)) if self._chosen.all() else 1), 0)

    def _slope(self, cells: FloatArray) -> FloatArray:
        """Return the derivative of φ² = Σ π²/rc − 1, of the categories that are kept."""
        table = np.where(self._chosen, cells.reshape(self.shape), 0)
        row, column = table.sum(axis=1, keepdims=True), table.sum(axis=0, keepdims=True)
        row, column = np.where(row > 0, row, 1), np.where(column > 0, column, 1)
        terms = table**2 / (row * column)
        of_lines = terms.sum(axis=1, keepdims=True) / row + terms.sum(axis=0, keepdims=True) / column
        slope = 2 * table / (row * column) - of_lines
        if self._chosen.all():
            slope = table.sum() * slope + terms.sum() - 1
        among_kept: FloatArray = np.where(self._chosen, slope, 0).ravel()
        return among_kept


def _alone(margin: FloatArray, category: int) -> FloatArray:
    alone: FloatArray = (np.eye(margin.size)[category] - margin) / margin
    return alone
