"""Convergence, as the RRBA paper has it: when the tables of two blocks in a row differ by less than their noise.

Intervals and p-values hold for one look at a collection whose size did not depend on what was seen. Stopping when
tables agree looks at their noise, not at a hypothesis; but who tests after every block and stops at the first p-value
below .05 rejects what is true far more often: once in four times with 14 blocks of 250 (`benchmarks/trust.py`). An
aggregator cannot know how often it was looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation import two_blocks
from ldpstats.estimation.block_stack import TruthOrFakeStack, all_truth_or_fake
from ldpstats.estimation.blocks import Block
from ldpstats.estimation.estimate import notes_of, shown_values
from ldpstats.estimation.unbiased_estimates import full_blocks
from ldpstats.noise import simulation
from ldpstats.numbers.arrays import BoolArray, FloatArray, IntArray, significance
from ldpstats.presentation import Picture, Result, Summary, plain_list, plain_values, summary_of_figures
from ldpstats.saving.registered import Share
from ldpstats.tables import Table, checked_table

_WIDTHS = {
    "sound": "the interval of the estimate, from the reports through Eq. 4",
    "paper": "the paper's interval, which takes the estimate for an observed proportion and omits the factor 1/p",
}
_FEW = 5
"""Up to so many reports the paper does not trust the normal approximation."""
_HALVINGS = 52
_MOST_DRAWN = 4
"""So many cells have a line: more bands cannot be told apart."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Convergence(Result):
    """How far the tables of consecutive blocks lie apart, cell by cell, against the width of an interval.

    Blocks are numbered from 1, cells are flattened, and the first comparison is made at block 2.

    Parameters
    ----------
    table : Table
        What was asked about.
    blocks : tuple of Block
        Its full blocks.
    estimates : array, shape (blocks, cells)
        What each block says by itself (Eq. 4); some may be negative.
    limits : array, shape (blocks, cells, 2)
        The interval of each cell; its width is the paper's δ*.
    alpha : float
        One less the confidence of the intervals.
    width : {"sound", "paper"}
        Which intervals they are.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import RRBA, Domain
    >>> from ldpstats.protocols.rrba import convergence
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = RRBA(domain, p=0.5, block_size=250).simulate(np.array([900, 700, 300, 100]), rng=2)
    >>> compared = convergence(tables["sex", "car"])
    >>> compared.stopped_at, compared.stays_from
    (3, 3)
    """

    table: Table
    blocks: tuple[Block, ...]
    estimates: FloatArray
    limits: FloatArray
    alpha: Share
    width: str

    @property
    def changes(self) -> FloatArray:
        """How much each cell moved since the block before, shape (blocks - 1, cells)."""
        return np.abs(np.diff(self.estimates, axis=0))

    @property
    def widths(self) -> FloatArray:
        """The widths of the intervals, from the second block on, shape (blocks - 1, cells)."""
        return self.limits[1:, :, 1] - self.limits[1:, :, 0]

    @property
    def within(self) -> BoolArray:
        """Whether the condition holds: a change smaller than the width."""
        return self.changes < self.widths

    @property
    def stopped_at(self) -> int | None:
        """The first block at which the condition holds in all cells: there the paper stops. None if there is none."""
        held = np.flatnonzero(self.within.all(axis=1))
        return int(held[0]) + 2 if held.size else None

    @property
    def stays_from(self) -> int | None:
        """The first block from which on it holds in all cells until the end (Section 7.1). None if there is none."""
        start = int(start_of_lasting(np.asarray(self.within.all(axis=1))))
        return start + 2 if start < len(self.blocks) - 1 else None

    @property
    def estimate(self) -> FloatArray | None:
        """The paper's answer: the average of the block where it stopped and the one before; None if it never does."""
        stop = self.stopped_at
        return None if stop is None else two_blocks(self.blocks[stop - 2 : stop]).estimate.reshape(self.table.shape)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per block and cell, from block 2: its estimate, the change, the width, and whether it is within.

        They are labelled by the number of the block and the categories.
        """
        compared, cells = len(self.within), self.table.domain.index()
        labels = [np.tile(cells.get_level_values(level).to_numpy(), compared) for level in range(cells.nlevels)]
        numbers = np.repeat(np.arange(2, compared + 2), len(cells))
        index = pd.MultiIndex.from_arrays([numbers, *labels], names=["block", *cells.names])
        columns = {
            "estimate": self.estimates[1:],
            "change": self.changes,
            "width": self.widths,
            "within": self.within,
        }
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index)

    def summary(self) -> Summary:
        """Return what was asked, where it stopped, and what that means; the estimate from all blocks stands beside."""
        everything, stop = self.table.estimated_by("mle").cells, self.stopped_at
        columns = {"all blocks": everything.estimate, "std err": everything.std_err}
        headers = [*self.table.attributes, *columns]
        if stop is not None:
            answer = two_blocks(self.blocks[stop - 2 : stop])
            columns = {"two blocks": answer.estimate, "their std err": answer.std_err} | columns
            headers = [*self.table.attributes, *columns]
        rows = [
            [*map(str, labels), *(f"{value:.4f}" for value in values)]
            for labels, *values in zip(self.table.domain.index(), *columns.values(), strict=True)
        ]
        simulated = simulation(self.table.simulated, self.table.n)
        title = f"Convergence of the table of {' and '.join(self.table.attributes)}{simulated}"
        return summary_of_figures(title, headers, rows, self._sentences())

    @property
    def headline(self) -> str:
        """Of which table, and at which block it stopped."""
        stop, number = self.stopped_at, len(self.blocks)
        where = f"stops at block {stop} of {number}" if stop else f"stops at none of {number} blocks"
        return f"{' × '.join(self.table.attributes)}, {where}{simulation(self.table.simulated, self.table.n)}"

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, a row per block."""
        return plain_values(
            self,
            "attributes=table.attributes categories=table.domain reports estimates intervals level width "
            "stopped_at stays_from estimate n=table.n simulated=table.simulated privacy=table.privacy",
            reports=[block.n for block in self.blocks],
            intervals=plain_list(self.limits),
            level=1 - self.alpha,
        )

    def picture(self) -> Picture:
        """Return what `plot` draws: the estimates of the blocks, a line per cell with its intervals as a band."""
        from ldpstats.pictures.lines import Lines

        everything, cells = self.estimates.mean(axis=0), self.table.domain.index()
        shown = shown_values(everything, _MOST_DRAWN)
        names = [", ".join(map(str, cell)) for cell in cells]
        if len(set(names)) < len(names):  # 1 and "1" are two categories
            names = [", ".join(map(repr, cell)) for cell in cells]
        bands = f"bands: {100 * (1 - self.alpha):g} % intervals of each block by itself ({self.width} width)"
        return Lines(
            f"Estimates of the blocks: {' × '.join(self.table.attributes)}",
            notes_of(self.table.simulated, self.table.n, everything, bands, most=_MOST_DRAWN),
            tuple(float(number) for number in range(1, len(self.blocks) + 1)),
            {names[cell]: tuple(self.estimates[:, cell].tolist()) for cell in shown},
            "block",
            "proportion",
            {names[cell]: tuple(self.limits[:, cell, 0].tolist()) for cell in shown},
            {names[cell]: tuple(self.limits[:, cell, 1].tolist()) for cell in shown},
            marks={} if self.stopped_at is None else {"stops here": float(self.stopped_at)},
            whole=True,
        )

    def _sentences(self) -> list[str]:
        truth = float(TruthOrFakeStack.of(self.blocks[-1:]).truth.item()) if self.width == "paper" else 1.0
        missed = 100 * chance_of_missing(self.alpha, truth)
        return [
            *self.table.privacy.sentences(self.table.n),
            "Asked: do two blocks in a row differ, in every cell, by less than the width of an interval?",
            f"The interval: {100 * (1 - self.alpha):g} %, {_WIDTHS[self.width]}.",
            *self._findings(),
            f"By noise alone a cell misses the condition in about {missed:.2g} % of the blocks.",
            "That two blocks agree says that noise can explain their difference, not that either is near the truth.",
            f"All blocks: the most likely proportions under all {self.table.n:,} reports; their error does fall.",
            *self.table.channel_fit().warning,
        ]

    def _findings(self) -> list[str]:
        stop, stays, number = self.stopped_at, self.stays_from, len(self.blocks)
        if stop is None:
            return [f"It held in none of {number} blocks, so that the paper gives no answer."]
        until, own = (sum(block.n for block in blocks) for blocks in (self.blocks[:stop], self.blocks[stop - 2 : stop]))
        lasting = "it did not hold at the last one" if stays is None else f"it held from block {stays} until the last"
        return [
            f"It held first at block {stop} of {number}, after {until:,} reports; {lasting}.",
            f"The average of two blocks has the error of their {own:,} reports, however many came.",
        ]


def convergence(table: Table, alpha: float = 0.05, width: str = "sound") -> Convergence:
    """Compare the estimates of consecutive blocks with the width of an interval (Imran & Meo 2024, Section 5).

    The paper stops when, in every cell, `|T^k − T^(k−1)| < δ*`, the width of a confidence interval, and answers with
    the average of both blocks. As printed, δ* is 2 z σ with σ² = (v/n)(1 − v/n)/n. This takes the estimate v/n for a
    proportion that was observed, whereas Eq. 4 divides the standard error of the reports by p. So the printed δ* is too
    small by about that factor: where fakes look like the population, a change stays below it with probability
    2 Φ(√2 z p) − 1, which is .83 at p = .5 and .22 at p = .1. The sound width, 2 z √(μ(1 − μ)/n) / p with μ the share
    of the reports, has 2 Φ(√2 z) − 1 = .994 for every p. (It has less where two blocks differ in their fakes and thus
    in their variance, as they do when a small p lets adapted fakes swing: .93 measured at p = .095 with blocks of 250.)

    The width is that of the block's own estimate, because the true value is unknown. The paper also compares the first
    block with the uniform table that it starts from, which is no estimate; here the second block is the first compared.

    Neither width makes the rule a sign of accuracy. Both sides shrink with the root of the block size and neither
    changes with the number of blocks, so that the condition holds by chance, anew in every block.

    Parameters
    ----------
    table : Table
        Collected by RRBA: truth-or-fake blocks in the order in which they were asked. A last block with fewer reports
        than all before is still open, and not compared.
    alpha : float
        One less the confidence of the intervals.
    width : {"sound", "paper"}
        "sound" maps the interval of the reported share through Eq. 4; "paper" takes δ* as printed, for the estimate cut
        to lie from 0 to 1. Where normal intervals do not do, both take the `likelihood_interval`: "sound" where
        no more than 5 reports name the cell or no more than 5 name another, "paper" where the estimated count v = nT
        is no more than 5 (as printed, not where n − v is: an estimate of one or above has the width 0).

    Returns
    -------
    Convergence
        The changes and the widths, cell by cell, and the block at which the rule stops.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import RRBA, Domain
    >>> from ldpstats.protocols.rrba import convergence
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = RRBA(domain, p=0.1, block_size=400).simulate(np.array([900, 700, 300, 100]), rng=1)
    >>> compared = convergence(tables["sex", "car"], width="paper")
    >>> compared.stopped_at, convergence(tables["sex", "car"]).stopped_at
    (None, 2)
    """
    level = significance(alpha)
    if width not in _WIDTHS:
        raise LdpstatsError(f"width = {width!r}", one_line(list(_WIDTHS)))
    about = f"the table of {one_line(checked_table(table).attributes)}"
    if not all_truth_or_fake(table.blocks):
        raise LdpstatsError(
            f"{about} with blocks that do not all report a cell, the true one or a fake",
            "truth-or-fake blocks that ask for the cells themselves",
            "Only the blocks of RRBA are compared with one another.",
        )
    blocks = tuple(full_blocks([block for block in table.blocks if block.n]))
    if len(blocks) < 2:
        raise LdpstatsError(
            f"{about} with {len(blocks)} full block{'' if len(blocks) == 1 else 's'} of reports",
            "at least two full blocks, as RRBA collects them",
            "Collect more respondents, or choose a smaller block_size; a table derived from others has no blocks.",
        )
    answers, z = TruthOrFakeStack.of(blocks), normal_quantile(level)
    estimates = (answers.counts / answers.n - answers.fakes) / answers.truth
    if width == "paper":
        limits = printed_limits(estimates, answers.n, z)
    else:
        limits = sound_limits(answers.counts, answers.n, answers.fakes, answers.truth, z)
    return Convergence(table, blocks, estimates, limits, level, width)


def normal_quantile(alpha: float) -> float:
    """Return the z that a standard normal variable exceeds in absolute value with probability alpha."""
    return -NormalDist().inv_cdf(alpha / 2)


def chance_of_missing(alpha: float, p: float) -> float:
    """Return how often noise alone makes a cell miss the condition of the printed width: 2 Φ(−√2 z p).

    A change has √2 times the standard error of one block, and the printed width is 2 z p of these. It holds for cells
    that are not rare, if fakes look like the population. The sound width has the chance of p = 1.
    """
    return 2 * NormalDist().cdf(-(2**0.5) * normal_quantile(alpha) * p)


def start_of_lasting(holds: BoolArray) -> IntArray:
    """Return from which position of the last axis on all hold; its length if the last does not."""
    lasting: IntArray = holds.shape[-1] - np.logical_and.accumulate(holds[..., ::-1], axis=-1).sum(axis=-1)
    return lasting


def printed_limits(estimates: FloatArray, n: IntArray | int, z: float) -> FloatArray:
    """Return the paper's intervals, shape (..., 2): estimates are cut to 0 and 1 and taken for observed proportions."""
    shares = np.clip(estimates, 0, 1)
    return _limits_of_shares(shares, n, n * shares <= _FEW, z)


def sound_limits(
    counts: IntArray, n: IntArray | int, fakes: FloatArray, truth: FloatArray | float, z: float
) -> FloatArray:
    """Return intervals of the estimates, shape (..., 2): those of the reported shares, mapped by Eq. 4.

    `fakes` is the expected share of reports that are a fake of the cell, (1 − p) T.
    """
    limits = _limits_of_shares(counts / n, n, np.minimum(counts, n - counts) <= _FEW, z)
    mapped: FloatArray = (limits - np.asarray(fakes)[..., None]) / np.asarray(truth)[..., None]
    return mapped


def likelihood_interval(shares: FloatArray, n: FloatArray | IntArray | int, z: float) -> FloatArray:
    """Return likelihood-ratio intervals of binomial proportions, shape (..., 2); shares may come from no whole count.

    They hold every π whose log-likelihood, n s ln π + n (1 − s) ln(1 − π), lies less than z²/2 below its maximum at the
    share s, and are the same for π and its log odds. So we read the paper, which asks for maximum-likelihood intervals
    with the log odds: the normal interval of the log odds does not exist for shares of 0 and 1.
    """
    reach = np.broadcast_to(z**2 / (2 * np.asarray(n)), shares.shape)
    return np.stack([_lowest_within(shares, reach), 1 - _lowest_within(1 - shares, reach)], axis=-1)


def _lowest_within(shares: FloatArray, reach: FloatArray) -> FloatArray:
    """Find, by bisection, the least proportion whose Kullback-Leibler divergence from the share is at most `reach`."""
    from scipy.special import rel_entr

    low, high = np.zeros_like(shares), shares.astype(float)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        beyond = rel_entr(shares, middle) + rel_entr(1 - shares, 1 - middle) > reach
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return high


def _limits_of_shares(shares: FloatArray, n: IntArray | int, few: BoolArray, z: float) -> FloatArray:
    """Return normal (Wald) intervals of proportions, but likelihood-ratio intervals where reports are few."""
    margins = z * np.sqrt(shares * (1 - shares) / n)
    limits = np.stack([shares - margins, shares + margins], axis=-1)
    limits[few] = likelihood_interval(shares[few], np.broadcast_to(n, shares.shape)[few], z)
    return limits
