"""The result of an independence test: figures, words, and what could have been found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpstats.arrays import FloatArray, significance
from ldpstats.inference.effects import Association
from ldpstats.privacy import PrivacyStatement

if TYPE_CHECKING:
    from statsmodels.iolib.summary import Summary


@dataclass(frozen=True, slots=True, eq=False)
class IndependenceResult:
    """The outcome of an independence test; it unpacks to (statistic, pvalue).

    Parameters
    ----------
    statistic, pvalue, df
        The test statistic, its p-value, and the degrees of freedom of its χ² reference.
    method, pvalue_source : str
        How the statistic and the p-value were computed, in words.
    seed : int, optional
        The seed of a Monte Carlo p-value.
    hypothesis : str
        What was tested, in words.
    effect : Association
        The strength of the dependence, corrected for noise.
    power : mapping
        The approximate power at level .05 against Cramér's V of .1 and .3.
    expected : array
        The table's frequencies as fitted under independence.
    converged : bool
        Whether that fit came to rest. Where noise drowns the margins it may not; the statistic allows for
        that, and the test is then conservative.
    """

    statistic: float
    pvalue: float
    df: int
    method: str
    pvalue_source: str
    seed: int | None
    hypothesis: str
    attributes: tuple[str, str]
    n: int
    effect: Association
    power: Mapping[float, float]
    expected: FloatArray
    converged: bool
    privacy: PrivacyStatement
    simulated: bool

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def verdict(self, alpha: float = 0.05) -> str:
        """Return the decision at level `alpha` in words."""
        return "dependent" if self.pvalue <= significance(alpha) else "no dependence shown"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        return {
            "attributes": list(self.attributes),
            "hypothesis": self.hypothesis,
            "statistic": self.statistic,
            "df": self.df,
            "pvalue": self.pvalue,
            "method": self.method,
            "pvalue_source": self.pvalue_source,
            "seed": self.seed,
            "converged": self.converged,
            "n": self.n,
            "cramers_v": None if np.isnan(self.effect.cramers_v) else self.effect.cramers_v,
            "power": {f"V = {v:g}": value for v, value in self.power.items()},
            "privacy": self.privacy.to_dict(),
            "simulated": self.simulated,
        }

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return the result as a table and sentences that can be read aloud."""
        from statsmodels.iolib.summary import Summary
        from statsmodels.iolib.table import SimpleTable

        rows = [
            ["Hypothesis", self.hypothesis],
            ["Statistic", f"{self.statistic:.4g} on {self.df} degrees of freedom"],
            ["p-value", f"{self.pvalue:.4g} ({self.pvalue_source})"],
            ["Method", self.method],
            ["Effect", str(self.effect)],
            ["Reports", f"{self.n:,}{' (simulated)' if self.simulated else ''}"],
            *([heading, line] for heading, line in zip_longest(["Privacy"], self.privacy.lines(), fillvalue="")),
        ]
        summary = Summary()
        summary.tables.append(
            SimpleTable(rows, title="Test of independence on privatized answers", txt_fmt={"data_aligns": "ll"})
        )
        summary.add_extra_txt(self._sentences(alpha))
        return summary

    def _sentences(self, alpha: float) -> list[str]:
        both = " and ".join(self.attributes)
        power = " and ".join(f"{value:.2f} against V = {v:g}" for v, value in self.power.items())
        most = "" if self.converged else "; at most, as the noise drowns the margins"
        return (
            [f"At level {alpha:g} the hypothesis is rejected: {both} are dependent."]
            if self.pvalue <= significance(alpha)
            else [
                f"At level {alpha:g} the hypothesis is not rejected, which does not show independence:",
                f"at level 0.05 the test had power {power} (averaged over directions{most}).",
            ]
        )
