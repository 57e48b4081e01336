"""Poisoning: how far respondents who send forged reports can move an estimate, in the worst case."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import pandas as pd

from ldpstats.estimation.blocks import Block
from ldpstats.mechanisms import Mechanism, mechanism, plain_mechanism
from ldpstats.mechanisms.registry import checked_mechanism, registered_mechanisms
from ldpstats.noise import NoisyCounts
from ldpstats.numbers.arrays import at_least, integers_below, significance
from ldpstats.presentation import Picture, Result, Summary, plain_values, progress, summary_of_facts
from ldpstats.tables import Table


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Poisoning(Result):
    """The worst that a share of forged reports can do to the unbiased estimate of one frequency.

    Parameters
    ----------
    mechanism : Mechanism
        Which reports are counted.
    share : float
        The share of the reports that is forged; each is any report that exists, so that no check refuses it.
    target : int
        The value whose frequency is moved.
    n : int, optional
        The number of reports, forged ones included.
    highest, lowest : float
        What a forged report is worth to the estimate, as a truthful respondent who holds the value is worth one on
        average, and one who does not nothing.

    Examples
    --------
    >>> import ldpstats as ldp
    >>> forged = ldp.poisoning(ldp.GRR(16, epsilon=1.0), share=0.05, n=10_000)
    >>> forged
    <Poisoning: GRR(k=16, epsilon=1.0): 5 % forged reports move a frequency by up to 0.4865 on average; a forger
    outweighs 9.73 truthful respondents>
    >>> round(forged.amplification, 1), round(forged.std_err, 3)
    (9.7, 0.024)
    """

    mechanism: Mechanism
    share: float
    target: int
    n: int | None
    highest: float
    lowest: float

    def __post_init__(self) -> None:
        significance(self.share, "share")
        integers_below([self.target], self.mechanism.k, "target")
        if self.n is not None:
            object.__setattr__(self, "n", at_least(self.n, 1, "n"))

    @property
    def rise(self) -> float:
        """How far the estimate of a value that nobody holds is raised on average."""
        return self.share * self.highest

    @property
    def fall(self) -> float:
        """How far the estimate of a value that everybody holds is lowered on average."""
        return self.share * (1 - self.lowest)

    @property
    def shift(self) -> float:
        """The larger of the two: the most that any frequency can be moved on average."""
        return max(self.rise, self.fall)

    @property
    def amplification(self) -> float:
        """How many truthful respondents a forger outweighs: the shift, over that of as many who merely lied."""
        return self.shift / self.share

    @property
    def std_err(self) -> float:
        """The standard error of the frequency of a value that nobody holds, from n honest reports; nan without n."""
        if self.n is None:
            return math.nan
        others = np.full(self.mechanism.k, 1 / (self.mechanism.k - 1))
        others[self.target] = 0.0
        return float(np.sqrt(np.asarray(self.mechanism.variance(others, self.n))[self.target]))

    @property
    def headline(self) -> str:
        """The mechanism, the share that is forged, how far it moves a frequency, and what a forger outweighs."""
        moved = f"{100 * self.share:g} % forged reports move a frequency by up to {self.shift:.4g} on average"
        return f"{self.mechanism}: {moved}; a forger outweighs {self.amplification:.3g} truthful respondents"

    def to_frame(self) -> pd.DataFrame:
        """Return a row per direction: how far the estimate moves on average, and how many truthful ones a forger is."""
        rows = [("rise", self.rise, self.rise / self.share), ("fall", self.fall, self.fall / self.share)]
        return pd.DataFrame(rows, columns=["direction", "shift", "amplification"])

    def picture(self) -> Picture:
        """Return what `plot` draws: how far an estimate can be moved, beside how far it moves by chance."""
        from ldpstats.pictures.intervals import Intervals

        ends = {f"{100 * self.share:g} % forged reports, at worst": (self.fall, self.rise)}
        if self.n is not None:
            ends[f"chance alone, {self.n:,} honest reports"] = (NormalDist().inv_cdf(0.975) * self.std_err,) * 2
        return Intervals(
            f"Shift of an estimated frequency: {self.mechanism}",
            (
                "by forgers on average: it falls if everybody holds the value, and rises if nobody does",
                *(["by chance in 95 % of all collections"] if self.n is not None else []),
            ),
            tuple(ends),
            (0.0,) * len(ends),
            tuple(-fall for fall, _ in ends.values()),
            tuple(rise for _, rise in ends.values()),
            "shift of the estimated proportion",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        names = "mechanism share target n rise fall shift amplification std_err"
        return plain_values(self, names, mechanism=plain_mechanism(self.mechanism))

    def summary(self) -> Summary:
        """Return the figures as a table that can be read aloud."""
        facts = {
            "Mechanism": str(self.mechanism),
            "Forged reports": f"{100 * self.share:g} %, about value {self.target}",
            "It rises by": f"{self.rise:.4g} at most, if nobody holds it",
            "It falls by": f"{self.fall:.4g} at most, if everybody holds it",
            "A forger": f"outweighs {self.amplification:.3g} truthful respondents",
        }
        if self.n is not None:
            facts["Standard error"] = f"{self.std_err:.4g} with {self.n:,} honest reports"
        return summary_of_facts(
            "Worst shift of an estimated frequency by forged reports",
            facts,
            ["On average; what the channel makes implausible, `channel_fit` may find."],
        )


def poisoning(mechanism: Mechanism, share: float, n: int | None = None, target: int | None = None) -> Poisoning:
    """Return the worst that a share of forged reports can do to one estimated frequency, exactly.

    Forgers may send any report that exists: then nothing refuses it, and no privacy is needed to be kept. An estimate
    is the mean of what the reports are worth to it; the extremes of that over all reports are enumerated, or follow
    from the structure of the noise. A forger moves the estimate by as much as several truthful respondents, the more
    the smaller ε is: that is the price of the noise, and no aggregator can tell a forged report from a lie of chance.
    Sending forged reports is also called data poisoning, or a manipulation attack.

    Parameters
    ----------
    mechanism : Mechanism
    share : float
        The share of forged reports among all, between 0 and 1.
    n : int, optional
        The number of reports, for the standard error to compare the shift with.
    target : int, optional
        The value whose frequency is moved; by default the one that can be moved farthest.

    Returns
    -------
    Poisoning
        The shift, upward and downward, and how many truthful respondents a forger outweighs.

    Examples
    --------
    >>> from ldpstats import GRR, SS, poisoning
    >>> round(poisoning(GRR(16, epsilon=1.0), 0.05).shift, 2), round(poisoning(SS(16, epsilon=1.0), 0.05).shift, 2)
    (0.49, 0.16)
    """
    forged = significance(share, "share")
    lowest, highest = checked_mechanism(mechanism).noise.influence()
    farthest = int(np.maximum(highest, 1 - lowest).argmax())
    aimed = farthest if target is None else int(integers_below([target], mechanism.k, "target")[0])
    return Poisoning(
        mechanism=mechanism,
        share=forged,
        target=aimed,
        n=n,
        highest=float(highest[aimed]),
        lowest=float(lowest[aimed]),
    )


def poisoning_table(k: int = 16, epsilon: float = 1.0, share: float = 0.05) -> pd.DataFrame:
    """Return what a share of forged reports can do through every mechanism, the least vulnerable first.

    Parameters
    ----------
    k : int
        The number of values.
    epsilon : float
        The privacy level asked for.
    share : float
        The share of forged reports among all, between 0 and 1.

    Returns
    -------
    DataFrame
        A row per mechanism.

    Examples
    --------
    >>> from ldpstats import poisoning_table
    >>> table = poisoning_table(k=16, epsilon=1.0, share=0.05).set_index("name")
    >>> table.loc[["hr", "grr"], ["rise", "amplification"]].round(2)
          rise  amplification
    name
    hr    0.11           3.16
    grr   0.49           9.73
    """
    kinds = [mechanism(kind.name, k=kind.only_k or k, epsilon=epsilon) for kind in registered_mechanisms()]
    results = [poisoning(kind, share) for kind in progress(kinds, "mechanisms", unit="mechanism")]
    rows = [
        {
            "name": result.mechanism.name,
            "purpose": result.mechanism.purpose,
            "k": result.mechanism.k,
            "rise": result.rise,
            "fall": result.fall,
            "amplification": result.amplification,
        }
        for result in results
    ]
    return pd.DataFrame(rows).sort_values("amplification", kind="stable", ignore_index=True)


def amplification(table: Table) -> float | None:
    """Return how many truthful respondents a forger outweighs at worst; None if `one_tally` finds none."""
    block = one_tally(table)
    if block is None:
        return None
    lowest, highest = block.noise.influence()
    return float(np.maximum(highest, 1 - lowest).max())


def worst_shift(table: Table, share: float) -> float:
    """Return how far a share of forged reports moves a proportion at worst, on average; nan without one tally."""
    block = one_tally(table)
    if block is None:
        return math.nan
    lowest, highest = (worth[block.classes] for worth in block.noise.influence())
    proportions = np.clip(table.estimate.ravel(), 0, 1)
    return share * float(np.maximum(highest - proportions, proportions - lowest).max())


def one_tally(table: Table) -> Block | None:
    """Return a table's block if it has just one, of single respondents' reports about its cells, else None."""
    blocks = [block for block in table.blocks if block.n]
    if table.figures or len(blocks) != 1 or not blocks[0].question.is_bijection:
        return None
    return None if isinstance(blocks[0].noise, NoisyCounts) else blocks[0]
