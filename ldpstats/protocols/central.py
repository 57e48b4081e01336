"""Central differential privacy: what a trusted curator would release by the Laplace or the Gaussian mechanism."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from ldpstats.answers.domain import Domain
from ldpstats.answers.frames import Frame
from ldpstats.answers.questions import Question
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.estimation.blocks import Block
from ldpstats.noise import DiscreteLaplace, NoisyCounts, Tally
from ldpstats.noise.additive import NoiseLaw, RoundedGaussian
from ldpstats.numbers.arrays import positive_epsilon, significance, unweighted
from ldpstats.numbers.grid import double_above
from ldpstats.numbers.randomness import Rng, generator
from ldpstats.presentation import Summary, progress
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols.groups import RECORD, Group, NamedGroups, groups_of, label, refuse_shared_labels
from ldpstats.protocols.population import People, Population, Records, people_of, respondents
from ldpstats.protocols.saved import SavedProtocol
from ldpstats.protocols.summary import summary_of
from ldpstats.tables import Origin, Table, TableSet
from ldpstats.tables.respondents import RespondentSet, new_identity

Scale = Literal["sound", "paper"]


class Curator(SavedProtocol):
    """Trusted curator: counts everyone's true records, adds noise by the law of each group, and releases the tables."""

    groups: tuple[Group, ...]

    @abstractmethod
    def law(self, group: Group) -> NoiseLaw:
        """Return the law of the noise in the cells of a group's table.

        Parameters
        ----------
        group : tuple of str
        """

    @abstractmethod
    def privacy(self) -> PrivacyStatement:
        """Return what the whole release costs a respondent."""

    def _settle(self, domain: Domain, k: int, groups: NamedGroups, **values: Any) -> None:
        """Set the fields of a frozen curator; refuse groups, or levels whose noise cannot be drawn."""
        chosen = groups_of(domain, k=k, groups=groups)
        refuse_shared_labels(chosen)
        self._set(domain=domain, k=max(map(len, chosen)), **values, groups=chosen)
        for group in chosen:
            self.law(group)

    def summary(self) -> Summary:
        """Return what is asked, how it is randomized, which tables follow, and the level."""
        groups = list(dict.fromkeys(type(self.law(group)).__name__ for group in self.groups))
        return summary_of(
            self,
            self.groups,
            "A trusted curator reads the true record of every respondent, and counts all tables from them.",
            f"To every cell she adds noise by the law {', '.join(groups)} before a table is released.",
            covered="what the curator releases (she sees the true records)",
        )

    @unweighted
    def collect(self, frame: Frame, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Count true records and add noise; the result counts as simulated, since its noise is not for release.

        Parameters
        ----------
        frame : DataFrame
            A row per respondent.
        rng : int or Generator, optional
            A seed makes the noise reproducible.
        counts : str, optional
            For a frequency table: the column that says for how many respondents a row stands.
        """
        return self._released(Records(self.domain, respondents(self.domain, frame, counts)), generator(rng))

    @unweighted
    def simulate(self, population: Population, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Draw tables with the law of `collect`.

        Parameters
        ----------
        population : DataFrame or array
            A data frame, or joint counts in domain order (flat or in the domain's shape).
        rng, counts
            As in `collect`.
        """
        numbers = generator(rng)
        return self._released(people_of(self.domain, population, numbers, counts), numbers)

    def _agreed(self) -> object:
        return [(group, self.law(group)) for group in self.groups]

    def _released(self, people: People, numbers: np.random.Generator) -> TableSet:
        privacy = self.privacy()
        questions = [Question.of(self.domain, group) for group in self.groups]
        blocks = []
        all_counts = people.block_counts(questions, max(people.n, 1), numbers)
        for question, counted in progress(zip(questions, all_counts, strict=True), "counting", len(questions), "group"):
            group = question.attributes
            noise = NoisyCounts(question.answers, people.n, self.law(group))
            counts = noise.simulate(counted.sum(axis=0), numbers)
            blocks.append(Block(question, Tally(noise, counts, people.n, simulated=True)))
        identity = new_identity(numbers, [block.tally.counts for block in blocks])
        parts = RespondentSet.whole(identity, 0, people.n)
        tables = [
            Table(self.domain.project(group), (block,), privacy.for_group(label(group)), parts=parts)
            for group, block in zip(self.groups, blocks, strict=True)
        ]
        words = {}
        for group in self.groups:
            law = self.law(group)
            said = f"{type(law).__name__} noise with the standard deviation {law.variance**0.5:.4g}"
            words[label(group)] = f"{said}, by a trusted curator"
        return TableSet(self.domain, tables, privacy, origins=(Origin(self.fingerprint(), words),))


@dataclass(frozen=True, init=False)
class CentralLaplace(Curator):
    """A curator counts the tables of all groups from everyone's true records, and adds noise to every cell.

    Nothing here is local: the curator is trusted with the records, and only what she releases is private. If one
    respondent's record is replaced, a table loses a count in one cell and gains one in another. So noise of
    scale b (P(z) proportional to `e^(-|z|/b)`) gives a table the level 2/b, and tables of the same respondents add
    their levels up.

    With the scale "sound", b = 2G/ε for all G tables, and the release has the level ε. With "paper", b = 2m/ε for
    a table of m cells, however many tables there are (RRBA paper, Section 7.4). As printed that is m times too
    much noise for one table, and too little for a release of more tables than they have cells: the strict level
    of the release is the sum of ε/m over the tables, and ε is its nominal one.

    The paper draws continuous noise; here it is the two-sided geometric law, so that counts stay whole numbers.
    Its variance, 2 e^(-1/b) / (1 - e^(-1/b))², is practically that of the continuous law (2b²) for b ≥ 2.

    This is a comparator, not for release: the noise comes from a numpy Generator, whose draws are not exact, and the
    stated levels are those of the law that it stands for. So all results are marked as simulated, also those from real
    records. It is the Laplace mechanism of central (global) differential privacy, on contingency tables.

    Parameters
    ----------
    domain : Domain
    epsilon : float
        The level of the whole release ("sound"), or the one that the paper claims for each table ("paper").
    k : int
        The size of the groups, if `groups` is not given: all pairs, in the order of `views`. With `groups`,
        the size of the largest one takes its place.
    scale : {"sound", "paper"}
    groups : sequence of sequences of str, optional
        The groups whose tables are released.

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import CentralLaplace, Domain
    >>> domain = Domain({"sex": ["F", "M"], "age": ["young", "old"], "car": ["yes", "no"]})
    >>> print(CentralLaplace(domain, epsilon=1.5).privacy().headline)
    epsilon = 1.5 (strict; unit: a respondent's whole record, with a trusted curator)
    >>> central = CentralLaplace(domain, epsilon=1.5, groups=[("sex", "age")])
    >>> central.simulate(np.full(8, 100), rng=1)["sex", "age"].blocks[0].tally.counts
    array([201, 205, 197, 201])
    """

    kind: ClassVar[str] = "central laplace"
    saved: ClassVar[tuple[str, ...]] = ("epsilon", "scale", "groups")

    domain: Domain
    k: int
    epsilon: float
    scale: Scale
    groups: tuple[Group, ...]

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: float,
        k: int = 2,
        scale: Scale = "sound",
        groups: NamedGroups = None,
    ) -> None:
        if scale not in get_args(Scale):
            raise LdpstatsError(f"scale = {scale!r}", one_line(get_args(Scale)))
        self._settle(domain, k, groups, epsilon=positive_epsilon(epsilon), scale=scale)

    def law(self, group: Group) -> DiscreteLaplace:
        """Return the law of the noise in the cells of a group's table."""
        parts = len(self.groups) if self.scale == "sound" else self.domain.size(group)
        scale = 2 * parts / self.epsilon
        if Fraction(scale) * Fraction(self.epsilon) < 2 * parts:
            scale = float(np.nextafter(scale, np.inf))  # the least double b for which 2/b is at most ε over the parts
        return DiscreteLaplace(scale)

    def privacy(self) -> PrivacyStatement:
        """Return what the whole release costs a respondent: the levels of its tables add up."""
        levels = {label(group): 2 / Fraction(self.law(group).scale) for group in self.groups}
        per_group = {name: double_above(level) for name, level in levels.items()}
        nominal = None if self.scale == "sound" else self.epsilon
        return PrivacyStatement(
            double_above(sum(levels.values(), Fraction(0))), f"{RECORD}, with a trusted curator", per_group, nominal
        )


@dataclass(frozen=True, init=False)
class CentralGaussian(Curator):
    """A curator counts as in `CentralLaplace`, and adds normal noise, rounded: an (ε, δ) for the whole release.

    This is the release behind the Gaussian tests of Gaboardi, Lim, Rogers & Vadhan (2016). If one respondent's record
    is replaced, every table loses a count in one cell and gains one in another: all G tables together move by √(2G)
    (Euclidean norm). Code for those tests takes √2 √(2 ln(2/δ)) / ε as σ for one table, which is not proved for ε above
    1. Here σ is the least that has this δ at ε, at any level: the exact condition of Balle & Wang (2018) for normal
    noise. Counts are whole, so that rounding the noise is rounding what is released: it keeps the (ε, δ).

    There is no ε alone that holds, so the strict level is infinite; ε is stated as nominal, with its δ. As with
    `CentralLaplace` this is a comparator and not for release: the noise comes from a numpy Generator, and results are
    marked as simulated. It is the Gaussian mechanism of central (global) differential privacy, on contingency tables.

    Parameters
    ----------
    domain : Domain
    epsilon, delta : float
        The level of the whole release, and the probability with which it may be exceeded.
    k : int
        As in `CentralLaplace`, like `groups`.
    groups : sequence of sequences of str, optional

    Examples
    --------
    >>> import numpy as np
    >>> from ldpstats import CentralGaussian, Domain
    >>> domain = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
    >>> central = CentralGaussian(domain, epsilon=0.5, delta=1e-6)
    >>> round(central.law(("sex", "car")).sigma, 2)
    11.4
    >>> central.simulate(np.full(4, 200), rng=1)["sex", "car"].blocks[0].tally.counts
    array([204, 209, 204, 185])
    """

    kind: ClassVar[str] = "central gaussian"
    saved: ClassVar[tuple[str, ...]] = ("epsilon", "delta", "groups")

    domain: Domain
    k: int
    epsilon: float
    delta: float
    groups: tuple[Group, ...]

    def __init__(
        self, domain: Domain, *, epsilon: float, delta: float = 1e-6, k: int = 2, groups: NamedGroups = None
    ) -> None:
        self._settle(domain, k, groups, epsilon=positive_epsilon(epsilon), delta=significance(delta, "delta"))

    def law(self, group: Group) -> RoundedGaussian:  # noqa: ARG002  # the same for all: they move together
        """Return the law of the noise in the cells of a group's table."""
        return RoundedGaussian.least(self.epsilon, self.delta, math.sqrt(2 * len(self.groups)))

    def privacy(self) -> PrivacyStatement:
        """Return what the whole release costs a respondent: no level strictly, and its own with a δ."""
        per_group = {label(group): math.inf for group in self.groups}
        return PrivacyStatement(
            math.inf, f"{RECORD}, with a trusted curator", per_group, self.epsilon, delta_at_nominal=self.delta
        )
