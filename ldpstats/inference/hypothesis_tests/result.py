"""The result of a hypothesis test: statistic, p-value, effect size, power, and all of it in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ldpstats.arrays import FloatArray, at_least, probability, significance
from ldpstats.estimation import ASSUMED, ChannelFit, pvalue_in_words
from ldpstats.hints import Count, Share
from ldpstats.inference.effects.cramers_v import Association
from ldpstats.inference.engine.scope import scope_in_words
from ldpstats.noise import simulation
from ldpstats.presentation import Summary, summary_of_facts
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving import Saveable
from ldpstats.tables import Table
from ldpstats.tables.shared import source_of
from ldpstats.tables.unbiased_cells import provenance_in_words


@dataclass(frozen=True, slots=True)
class Hypothesis(Saveable):
    """A hypothesis in words.

    Parameters
    ----------
    name : str
        What it is called, as in "test of ...".
    statement : str
        What it says of these attributes.
    otherwise : str
        What holds if it is rejected.
    verdicts : tuple of str
        One word each for what is rejected, and what is not.
    scale : str
        The measure of deviations from it: "V" (Cramér's) or "w" (Cohen's √(Σ δ²/π), over what the hypothesis
        leaves unexplained).
    """

    name: str
    statement: str
    otherwise: str
    verdicts: tuple[str, str] = ("rejected", "not rejected")
    scale: str = "w"


@dataclass(frozen=True, slots=True, eq=False)
class HypothesisResult(Saveable):
    """The outcome of a test; it unpacks to (statistic, pvalue).

    Parameters
    ----------
    about : Hypothesis
        What was tested, in words.
    attributes : tuple of str
        The attributes of the table.
    statistic, pvalue, df
        The test statistic, its p-value, and the degrees of freedom of its χ² reference.
    method, pvalue_source : str
        How the statistic and the p-value were computed, in words.
    seed : int, optional
        The seed of a Monte Carlo p-value.
    effect : Association or None
        The strength of a dependence of two attributes, corrected for noise.
    power : mapping
        The approximate power at level .05 against deviations of stated size, on the hypothesis' own scale.
    expected : array
        The table's frequencies as fitted under the hypothesis.
    converged : bool
        Whether that fit converged. Where noise drowns the margins it may not; the statistic allows for
        that, and the test is then conservative.
    table : Table
        What was tested.
    """

    about: Hypothesis
    attributes: tuple[str, ...]
    statistic: float
    pvalue: Share
    df: Count
    method: str
    pvalue_source: str
    seed: int | None
    n: Count
    effect: Association | None
    power: Mapping[float, Share]
    expected: FloatArray
    converged: bool
    privacy: PrivacyStatement
    simulated: Count
    table: Table = field(repr=False)

    def __post_init__(self) -> None:
        probability(self.pvalue, "a p-value")
        at_least(self.df, 0, "degrees of freedom")
        at_least(self.simulated, 0, "simulated", most=at_least(self.n, 0, "the reports behind a test"))

    @property
    def fit(self) -> ChannelFit:
        """Whether the reports that were tested can have come through their channel."""
        return self.table.channel_fit()

    @property
    def hypothesis(self) -> str:
        """What was tested, in words."""
        return self.about.statement

    def __iter__(self) -> Iterator[float]:
        return iter((self.statistic, self.pvalue))

    def verdict(self, alpha: float = 0.05) -> str:
        """Return the decision in a word or two.

        Parameters
        ----------
        alpha : float
            The level.
        """
        rejected, kept = self.about.verdicts
        return rejected if self.pvalue <= significance(alpha) else kept

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain values."""
        effect: dict[str, Any] = {}
        if self.effect is not None:
            estimable = not np.isnan(self.effect.cramers_v)
            effect = {
                "cramers_v": self.effect.cramers_v if estimable else None,
                "cramers_v_interval": list(self.effect.conf_int()) if estimable else None,
            }
        return {
            "attributes": list(self.attributes),
            "test": self.about.name,
            "hypothesis": self.hypothesis,
            "statistic": self.statistic,
            "df": self.df,
            "pvalue": self.pvalue,
            "method": self.method,
            "pvalue_source": self.pvalue_source,
            "seed": self.seed,
            "converged": self.converged,
            "n": self.n,
            **effect,
            "scope": scope_in_words(self.table) or None,
            "provenance": self.table.provenance.to_dict(),
            "power": {f"{self.about.scale} = {size:g}": value for size, value in self.power.items()},
            "privacy": self.privacy.to_dict(),
            "simulated": self.simulated,
            "channel_fit": self.fit.to_dict(),
        }

    def summary(self, alpha: float = 0.05) -> Summary:
        """Return the result as a table and sentences that can be read aloud.

        Parameters
        ----------
        alpha : float
            The level of the decision, and one minus that of the effect's interval.
        """
        degrees = "degree" if self.df == 1 else "degrees"
        facts = {
            "Hypothesis": self.hypothesis,
            "Statistic": f"{self.statistic:.4g} on {self.df} {degrees} of freedom",
            "p-value": f"{pvalue_in_words(self.pvalue)} ({self.pvalue_source})",
            "Method": self.method,
            **self._effect_lines(alpha),
            "Reports": f"{self.n:,}{simulation(self.simulated, self.n)}",
            "Privacy": self.privacy.lines(),
        }
        scope = scope_in_words(self.table)
        apart = "Tests take what reports tell; what the table assumes beside that plays no part."
        origin = [
            *([scope] if scope else []),
            *provenance_in_words(self.table),
            *([apart] if self.table.assumption else []),
            *(["Tests of a consistent table take its own reports."] if source_of(self.table) else []),
        ]
        sentences = [*self._sentences(alpha), *origin, ASSUMED, *self.fit.warning]
        return summary_of_facts(f"Test of {self.about.name} on privatized answers", facts, sentences)

    def _effect_lines(self, alpha: float) -> dict[str, list[str]]:
        if self.effect is None:
            return {}
        measured, *uncorrected = self.effect.lines
        if self.effect.why_not:
            return {"Effect": [measured]}
        low, high = self.effect.conf_int(alpha)
        interval = f"{100 * (1 - alpha):g} % interval for V: {low:.3f} to {high:.3f}"
        return {"Effect": [measured, interval, *uncorrected]}

    def _sentences(self, alpha: float) -> list[str]:
        if not self.fit.plausible:
            return [
                f"No decision at level {alpha:g}: the p-value takes for granted that the reports fit their channel."
            ]
        scale = self.about.scale
        power = " and ".join(f"{value:.2f} against {scale} = {size:g}" for size, value in self.power.items())
        most = "" if self.converged else "; at most, as the noise drowns the margins"
        directions = (
            "directions, those that nobody was asked about included" if scope_in_words(self.table) else "directions"
        )
        return (
            [f"At level {alpha:g} the hypothesis is rejected: {self.about.otherwise}."]
            if self.pvalue <= significance(alpha)
            else [
                f"At level {alpha:g} the hypothesis is not rejected, which does not show that it holds:",
                f"at level 0.05 the test had power {power} (averaged over {directions}{most}).",
            ]
        )
