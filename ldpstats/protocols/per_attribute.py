"""Answers attribute by attribute: everyone answers all of them on a split budget, or one of them on a whole one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.arrays import BoolArray, positive_epsilon
from ldpstats.blocks import Block
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import ReportFormat, joint_ratio
from ldpstats.noise import DenseChannel, MultinomialNoise, Tally
from ldpstats.privacy import PrivacyStatement, strict_epsilon
from ldpstats.protocols.assigned import Asked, AssignedQuestions, Unit
from ldpstats.protocols.groups import Group, NamedGroups, checked_domain, groups_of, label, refuse_shared_labels
from ldpstats.protocols.population import JointCounts, Population, people_of
from ldpstats.protocols.schedule import RECORD, equal_shares
from ldpstats.protocols.wire import any_simulated, from_wire, refuse_foreign_rows, to_wire
from ldpstats.questions import Question
from ldpstats.randomness import Rng, generator
from ldpstats.tables import Table, TableSet

_CROSSED = ("grr", "rr")
_LARGEST_CROSSED = 1 << 10


@dataclass(frozen=True, init=False)
class PerAttribute(AssignedQuestions):
    """Randomized answers about single attributes: the respondent's budget is split, or spent on one of them.

    Everyone answers every attribute, independently and each at an equal share of ε; with `sampled` every respondent
    answers one attribute, out of a balanced schedule, at full ε.

    What one respondent answers on a split budget tells about several attributes together, too: for groups of
    more than one (`k` or `groups`) a table counts her randomized answers jointly, and its channel is the Kronecker
    product of the attributes' channels. Every table then rests on all respondents. But the tables of one
    collection are not independent of each other, since the same randomized answers stand behind all of them;
    and the noise grows with every attribute that shares the budget. The level of a respondent is the sum over
    all attributes, the level of a group's table the sum over its own.

    Parameters
    ----------
    domain : Domain
    epsilon : float
        The level of a respondent.
    mechanism : str
        A name out of `mechanisms()`; "auto" takes the one with the smallest variance for each attribute. For
        groups of several attributes it is "grr" (which "auto" then stands for), or "rr".
    sampled : bool
        Whether a respondent answers a single attribute.
    k : int
        The size of the groups whose tables are formed, if `groups` is not given; 1 where `sampled`. With `groups`,
        the size of the largest one takes its place.
    groups : sequence of sequences of str, optional
        The groups whose tables are formed; attributes in none of them are not asked for.

    Examples
    --------
    >>> domain = Domain({"sex": ["F", "M"], "age": ["young", "old"], "car": ["yes", "no"]})
    >>> protocol = PerAttribute(domain, epsilon=3.0, k=2)
    >>> protocol.mechanism_for("age")
    GRR(k=2, epsilon=1.0)
    >>> [table.n for table in protocol.simulate(np.full(8, 100), rng=1)]
    [800, 800, 800]
    >>> print(protocol.privacy())
    epsilon = 3 (strict; unit: a respondent's whole record)
    """

    kind: ClassVar[str] = "per attribute"

    domain: Domain
    epsilon: float
    mechanism: str
    sampled: bool
    k: int
    groups: tuple[Group, ...]
    _units: tuple[Unit, ...] = field(repr=False, compare=False)

    def __init__(
        self,
        domain: Domain,
        epsilon: float = 1.0,
        mechanism: str = "auto",
        sampled: bool = False,
        k: int = 1,
        groups: NamedGroups = None,
    ) -> None:
        formed, level = groups_of(checked_domain(domain), k, groups), positive_epsilon(epsilon)
        refuse_shared_labels(formed)
        largest = max(map(len, formed))
        if not isinstance(sampled, (bool, np.bool_)):
            raise LdpstatsError(f"sampled = {sampled!r}", "True or False")
        if sampled and largest > 1:
            raise LdpstatsError(
                f"groups of {largest} of which one attribute is sampled",
                "single attributes: k = 1",
                "SampledGroups samples groups of several.",
            )
        names = [name for name in domain.names if any(name in group for group in formed)]
        share = level if sampled else equal_shares(level, len(names))
        used = "grr" if mechanism == "auto" and largest > 1 else mechanism
        asked = [Asked.about(domain, (name,), used, share) for name in names]
        if largest > 1:
            _refuse_uncrossable(domain, asked, formed)
        self._settle(
            [[one] for one in asked] if sampled else [asked],
            domain=domain,
            epsilon=level,
            mechanism=mechanism,
            sampled=bool(sampled),
            k=largest,
            groups=formed,
        )

    def privacy(self) -> PrivacyStatement:
        """Return what every respondent is promised: the levels of the answers that she gives add up."""
        about = {label(group): [self.mechanism_for(name) for name in group] for group in self.groups}
        per_group = {name: strict_epsilon(joint_ratio(used)) for name, used in about.items()}
        return PrivacyStatement(super().privacy().epsilon, RECORD, per_group)

    def reports(self, frame: pd.DataFrame, rng: Rng = None) -> pd.DataFrame:
        """Return the rows that travel: one per respondent and attribute, or per respondent where answers are crossed.

        A row of crossed answers lists them in the order of the domain. The respondents come in random order. A
        seed or Generator as `rng` makes a simulation, and the rows say so; without one, the operating system's
        secure randomness is used.
        """
        if not self._crossed:
            return super().reports(frame, rng)
        answers, simulated = self._randomized(frame, rng)
        rows = {
            "protocol": self.fingerprint(),
            "group": label(self._asked_domain.names),
            "report": to_wire(answers),
            "simulated": simulated,
        }
        return pd.DataFrame(rows)

    def tables(self, reports: pd.DataFrame) -> TableSet:
        """Count rows that travelled; a row that this protocol cannot have produced is refused, naming it."""
        if not self._crossed:
            return super().tables(reports)
        refuse_foreign_rows(reports, self.fingerprint(), [label(self._asked_domain.names)])
        sent = _RandomizedRecord(self._asked_domain.shape)
        answers = from_wire(reports["report"], sent)
        return self._crossed_tables(answers, np.ones(len(answers)), any_simulated(reports))

    def collect(self, frame: pd.DataFrame, rng: Rng = None) -> TableSet:
        """Ask every respondent, one by one, and count the reports."""
        if not self._crossed:
            return super().collect(frame, rng)
        answers, simulated = self._randomized(frame, rng)
        return self._crossed_tables(answers, np.ones(len(answers)), simulated)

    def simulate(self, population: Population, rng: Rng = None) -> TableSet:
        """Draw tables with the law of `collect`: at the level of counts, but for crossed answers of a data frame.

        `population` is a data frame, or an array of joint counts in domain order (flat or in the domain's shape).
        """
        numbers = generator(rng)
        if not self._crossed:
            return super().simulate(population, numbers)
        if isinstance(population, pd.DataFrame):
            return self.collect(population, numbers)
        people = people_of(self.domain, population, numbers)
        assert isinstance(people, JointCounts)  # no data frame
        unasked = [axis for axis, name in enumerate(self.domain.names) if name not in self._asked_domain.categories]
        counts = people.counts.reshape(self.domain.shape).sum(axis=tuple(unasked))
        # respondents with the same answers to all other attributes are randomized in this one together
        for axis, asked in enumerate(self._asked):
            moved = asked.mechanism.noise.simulate(np.moveaxis(counts, axis, -1), numbers)
            counts = np.moveaxis(moved, -1, axis)
        cells = np.stack(np.unravel_index(np.arange(counts.size), counts.shape), axis=1)
        return self._crossed_tables(cells, counts.ravel(), simulated=True)

    @property
    def _crossed(self) -> bool:
        return self.k > 1

    @property
    def _asked_domain(self) -> Domain:
        return self.domain.project(name for asked in self._asked for name in asked.group)

    def _agreed(self) -> object:
        # the randomized answers are the same, whichever tables are formed of them
        return super()._agreed(), "one row" if self._crossed else "a row per attribute"

    def _randomized(self, frame: pd.DataFrame, rng: Rng) -> tuple[NDArray[np.int64], bool]:
        """Return a row of randomized answers for every respondent, in random order, and whether it is simulated."""
        ((_, answers),) = self._answers(frame, rng)
        columns = [reports.data.astype(np.int64) for _, reports in answers]
        return np.column_stack(columns), any(reports.simulated for _, reports in answers)

    def _crossed_tables(self, answers: NDArray[Any], copies: NDArray[Any], simulated: bool) -> TableSet:
        """Count rows of randomized answers, each so many times: they are records of the domain like the true ones."""
        privacy, domain, n = self.privacy(), self._asked_domain, int(copies.sum())
        tables = []
        for group in self.groups:
            question = Question.of(domain, group)
            counts = np.bincount(question.answer(domain, answers), weights=copies, minlength=question.answers)
            noise = _crossed_noise([self.mechanism_for(name).noise.design()[0].T for name in group])
            block = Block(question, Tally(noise, counts, n, simulated))
            tables.append(Table(domain.project(group), (block,), privacy.for_group(label(group))))
        return TableSet(self.domain, tables, privacy)

    def _plain(self) -> dict[str, Any]:
        groups = [list(group) for group in self.groups]
        return {"epsilon": self.epsilon, "mechanism": self.mechanism, "sampled": self.sampled, "groups": groups}


@dataclass(frozen=True, slots=True)
class _RandomizedRecord:
    """What travels where answers are crossed: a category of every attribute."""

    shape: tuple[int, ...]

    @property
    def report_format(self) -> ReportFormat:
        """A number per attribute."""
        return ReportFormat(np.min_scalar_type(max(self.shape) - 1), len(self.shape))

    def possible(self, reports: NDArray[Any]) -> BoolArray:
        """Categories that there are."""
        known: BoolArray = np.all(reports < np.array(self.shape), axis=1)
        return known

    def __str__(self) -> str:
        return f"attributes with {', '.join(map(str, self.shape))} categories"


def _refuse_uncrossable(domain: Domain, asked: Sequence[Asked], groups: Sequence[Group]) -> None:
    used = asked[0].mechanism.name
    if used not in _CROSSED:
        raise LdpstatsError(
            f"the mechanism {used!r} for groups of several attributes",
            "'auto', 'grr' or 'rr', whose report is one of the values",
            "With k = 1 any mechanism will do.",
        )
    cells = max(domain.size(group) for group in groups)
    if cells > _LARGEST_CROSSED:
        raise LdpstatsError(
            f"a group with {cells:,} cells", f"at most {_LARGEST_CROSSED:,} cells", "Form tables of fewer attributes."
        )


def _crossed_noise(channels: Sequence[NDArray[Any]]) -> MultinomialNoise:
    """Return the noise of joint counts of answers that were randomized independently of each other."""
    crossed = reduce(np.kron, channels)
    return MultinomialNoise(DenseChannel(tuple(map(tuple, crossed.tolist()))))
