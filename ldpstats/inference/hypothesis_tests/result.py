"""The result of a hypothesis test: statistic, p-value, effect size, power, and all of it in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.errors import LdpstatsError
from ldpstats.estimation import ASSUMED, ChannelFit, pvalue_in_words
from ldpstats.inference.effects.cramers_v import Association, association
from ldpstats.inference.engine.detectability import NoncentralityProfile, RespondentsNeeded, deviations_seen
from ldpstats.inference.engine.null_model import NullModel
from ldpstats.inference.engine.procedure import Method, Outcome, PValue, null_model_outcome, scope_in_words
from ldpstats.inference.planning.design import sizes_of, target_power
from ldpstats.noise import NoisyCounts, simulation
from ldpstats.numbers.arrays import FloatArray, at_least, probability, significance
from ldpstats.pictures.intervals import Intervals
from ldpstats.pictures.lines import Lines
from ldpstats.presentation import Picture, Result, Summary, plain_values, summary_of_facts
from ldpstats.privacy import PrivacyStatement
from ldpstats.saving.registered import Count, Share
from ldpstats.tables import Table, checked_table
from ldpstats.tables.drawn import intervals
from ldpstats.tables.shared import source_of
from ldpstats.tables.unbiased_cells import assuming, provenance_in_words

_LARGEST_SIZES, _SURE, _POINTS = (0.05, 0.1, 0.2, 0.5, 1.0), 0.95, 51


def model_fit(table: Table, expected: FloatArray, title: str, words: str) -> Intervals:
    """Return a picture of a table beside what a model or a hypothesis expects; `words` say how it is expected."""
    others = tuple((share,) for share in expected.ravel().tolist())
    words_of_both = (words, "estimates, with intervals")
    return replace(intervals(table), title=title, others=others, kind="expected", words=words_of_both)


@dataclass(frozen=True, slots=True, repr=False)
class Hypothesis(Result):
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

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 400, 400, 600], rng=1)
    >>> about = ldp.independence_test(tables["sex", "car"]).about
    >>> about.statement, about.otherwise
    ('sex and car are independent', 'sex and car are dependent')
    """

    name: str
    statement: str
    otherwise: str
    verdicts: tuple[str, str] = ("rejected", "not rejected")
    scale: str = "w"

    @property
    def headline(self) -> str:
        """What it says in one line."""
        return self.statement

    def to_frame(self) -> pd.DataFrame:
        """Return it as a row of a data frame."""
        return pd.DataFrame([{**self.to_dict(), "verdicts": " or ".join(self.verdicts)}])

    def summary(self) -> Summary:
        """Return what it says, and what holds if it is rejected."""
        facts = {"Hypothesis": self.statement, "Otherwise": self.otherwise, "Verdicts": " or ".join(self.verdicts)}
        measure = "Cramér's V" if self.scale == "V" else "Cohen's w"
        return summary_of_facts(f"Hypothesis: {self.name}", facts, [f"Deviations are measured by {measure}."])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HypothesisResult(Result):
    """The outcome of a test; it unpacks to (statistic, pvalue).

    Parameters
    ----------
    about : Hypothesis
        What was tested, in words.
    attributes : tuple of str
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
    sensitivity : NoncentralityProfile
        What the reports tell about deviations from the hypothesis, from which power follows.
    n, simulated : int
        The reports behind it, and how many of them came from a simulation.
    privacy : PrivacyStatement

    Examples
    --------
    >>> import ldpstats as ldp
    >>> domain = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> tables = ldp.SampledGroups(domain, epsilon=2.0).simulate([600, 400, 400, 600], rng=1)
    >>> result = ldp.independence_test(tables["sex", "car"])
    >>> statistic, pvalue = result
    >>> result.df, round(statistic, 1), pvalue < 0.001, result.verdict(alpha=0.01)
    (1, 33.6, True, 'dependent')
    >>> {size: round(power, 2) for size, power in result.power.items()}
    {0.1: 0.78, 0.3: 1.0}
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
    table: Table
    sensitivity: NoncentralityProfile

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

    @property
    def headline(self) -> str:
        """The decision at level .05 in one line, with what it is made of."""
        effect = ""
        if self.effect is not None and not self.effect.why_not:
            effect = f", V = {self.effect.cramers_v:.3f}{assuming(self.table)}"
        decision = self.verdict() if self.fit.plausible else "no decision, as the reports do not fit their channel"
        conclusion = f"{decision}, p = {pvalue_in_words(self.pvalue, 3)}{effect}".replace("= <", "<")
        return f"{self.hypothesis}: {conclusion}; {self.n:,} reports{simulation(self.simulated, self.n)}"

    def power_against(self, size: float, alpha: float = 0.05) -> float:
        """Return the approximate power of this test against deviations of a size, averaged over their directions.

        Parameters
        ----------
        size : float
            On the hypothesis' own scale.
        alpha : float
            The level.
        """
        return self.sensitivity.power(float(sizes_of(size, None, single=True)[0]), significance(alpha))

    def respondents_needed(self, size: float | None = None, power: float = 0.8, alpha: float = 0.05) -> int | None:
        """Return how many reports like these a test needs to find deviations of a size; None if no number is enough.

        Refused of a curator's counts, whose noise comes once, however many answered.

        Parameters
        ----------
        size : float, optional
            On the hypothesis' own scale. By default it is the deviation that these reports show, as far as their
            statistic tells it (`IndependenceTests.respondents_needed` says how far that is).
        power : float
            How often it shall be found.
        alpha : float
            The level of the test.
        """
        target = target_power(power, significance(alpha))
        if not self.sensitivity.proportional:
            raise LdpstatsError(
                "respondents needed, by noisy counts of a curator",
                "a number for reports whose noise grows with them",
                "Simulate the protocol with more respondents, and see `power_against` of its tests.",
            )
        if size is None:
            return RespondentsNeeded.shown_by(self.statistic, self.df, self.n, target, alpha).needed
        sought = float(sizes_of(size, None, single=True)[0])
        return self.sensitivity.respondents(self.n, sought, target, alpha).needed

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
        effect = ""
        interval = None
        if self.effect is not None:
            effect = "cramers_v=effect.cramers_v cramers_v_interval"
            interval = None if np.isnan(self.effect.cramers_v) else list(self.effect.conf_int())
        return plain_values(
            self,
            "attributes test=about.name hypothesis statistic df pvalue method pvalue_source seed converged n "
            f"{effect} scope provenance=table.provenance power privacy simulated channel_fit=fit",
            cramers_v_interval=interval,
            scope=scope_in_words(self.table) or None,
            power={f"{self.about.scale} = {size:g}": value for size, value in self.power.items()},
        )

    def to_frame(self) -> pd.DataFrame:
        """Return the figures as a row of a data frame."""
        effect = self.effect
        low, high = (np.nan, np.nan) if effect is None or effect.why_not else effect.conf_int()
        row = {
            "attributes": self.attributes,
            "test": self.about.name,
            "statistic": self.statistic,
            "df": self.df,
            "pvalue": self.pvalue,
            "cramers_v": np.nan if effect is None else effect.cramers_v,
            "lower": low,
            "upper": high,
            "n": self.n,
        }
        return pd.DataFrame([row])

    def picture(self) -> Picture:
        """Return residuals of two attributes, one attribute beside what is expected, else power against deviations."""
        if self.about.scale == "V":
            return self.table.picture("residuals")
        if self.expected.ndim == 1 and self.expected.shape == self.table.shape:
            return model_fit(self.table, self.expected, f"Hypothesis: {self.hypothesis}", "expected")
        largest = next((size for size in _LARGEST_SIZES if self.power_against(size) > _SURE), _LARGEST_SIZES[-1])
        sizes = tuple(np.linspace(0, largest, _POINTS).tolist())
        reports = f"{self.n:,} reports{simulation(self.simulated, self.n)}"
        notes = [f"level 0.05, {reports}, averaged over directions of deviations"]
        return Lines(
            f"What the test of {self.about.name} could find",
            (*notes, *provenance_in_words(self.table)[:1], *self.fit.warning[:1]),
            sizes,
            {"power": tuple(map(self.power_against, sizes))},
            f"size of the deviation ({self.about.scale})",
            "power",
            levels={"level": 0.05, "80 %": 0.8},
        )

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


REFERENCE_SIZES, REFERENCE_LEVEL = (0.1, 0.3), 0.05
"""The sizes of deviations that every result states the power against, and at which level."""


def null_model_test(
    table: Table,
    model: NullModel,
    hypothesis: Hypothesis,
    method: Method = "auto",
    pvalue: PValue = "auto",
    possible: NDArray[np.intp] | None = None,
) -> HypothesisResult:
    """Test whether a table is a member of a null model, against everything else: the procedure of every test by name.

    Parameters
    ----------
    table : Table
        A table of any number of attributes.
    model : NullModel
        The cells' frequencies as a function of a few parameters: a `ProductOfConditionals`, a `LogLinear` model, a
        `LinearSubspace`, or whatever else has their methods.
    hypothesis : Hypothesis
        What that is in words; on the scale "V", for two attributes, the result states Cramér's V.
    method, pvalue
        As in `independence_test`.
    possible : array of int, optional
        The flattened cells that can have respondents, if not all can; the model is then one of these alone.

    Returns
    -------
    HypothesisResult of a χ² (chi-squared) test; it unpacks to (statistic, pvalue)

    Examples
    --------
    As many drive to work as take the train, whatever the others do:

    >>> import numpy as np
    >>> from ldpstats import Domain, SampledGroups
    >>> from ldpstats.inference import Hypothesis, LinearSubspace, null_model_test
    >>> model = LinearSubspace.constrained(np.full(3, 1 / 3), np.array([[1, -1, 0]]))
    >>> same = Hypothesis("equal shares", "car and train are equally frequent", "one of them is more frequent")
    >>> protocol = SampledGroups(Domain({"way": ["car", "train", "bike"]}), k=1, epsilon=2.0)
    >>> result = null_model_test(protocol.simulate(np.array([900, 600, 500]), rng=1)["way"], model, same)
    >>> result.df, result.verdict()
    (1, 'rejected')
    """
    outcome = null_model_outcome(checked_table(table), model, method, pvalue, possible)
    seen = deviations_seen(model, outcome.evidence, outcome.null)
    effect = association(table) if hypothesis.scale == "V" else None
    return result_of(table, hypothesis, outcome, seen, effect)


def result_of(
    table: Table, about: Hypothesis, outcome: Outcome, seen: FloatArray, effect: Association | None = None
) -> HypothesisResult:
    """Put an outcome into words, with the power by what is `seen` of deviations in their principal directions."""
    side = min(table.shape) if about.scale == "V" else 2
    sensitivity = NoncentralityProfile(outcome.df, seen, side, proportional=not has_noise_once(table))
    return HypothesisResult(
        about=about,
        attributes=table.attributes,
        statistic=outcome.statistic,
        pvalue=outcome.pvalue,
        df=outcome.df,
        method=outcome.method,
        pvalue_source=outcome.pvalue_source,
        seed=outcome.seed,
        n=table.n,
        effect=effect,
        power={size: sensitivity.power(size, REFERENCE_LEVEL) for size in REFERENCE_SIZES},
        expected=outcome.evidence.whole(outcome.null).reshape(table.shape),
        converged=outcome.converged,
        privacy=table.privacy,
        simulated=table.simulated,
        table=table,
        sensitivity=sensitivity,
    )


def has_noise_once(table: Table) -> bool:
    """Say whether a curator added the noise, which does not grow with the respondents."""
    return any(isinstance(block.noise, NoisyCounts) for source in table.made_of for block in source.blocks)
