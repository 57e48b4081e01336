"""Answers attribute by attribute: everyone answers all of them on a split budget, or one of them on a whole one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ldpstats.arrays import positive_epsilon
from ldpstats.domain import Domain
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import joint_ratio
from ldpstats.parts import Parts, new_identity
from ldpstats.privacy import PrivacyStatement, strict_epsilon
from ldpstats.protocols.assigned import Asked, AssignedQuestions, Unit
from ldpstats.protocols.crossed import CrossedAnswers, refuse_uncrossable
from ldpstats.protocols.groups import Group, NamedGroups, checked_domain, groups_of, label, refuse_shared_labels
from ldpstats.protocols.outside import REFUSE
from ldpstats.protocols.population import JointCounts, Population, people_of
from ldpstats.protocols.schedule import equal_shares
from ldpstats.protocols.wire import from_wire, numbered, parts_of, refuse_foreign_rows, simulated_rows, to_wire
from ldpstats.randomness import Rng, generator
from ldpstats.tables import Table, TableSet


@dataclass(frozen=True, init=False)
class PerAttribute(AssignedQuestions):
    """Randomized answers about single attributes: the respondent's budget is split, or spent on one of them.

    Everyone answers every attribute, independently and each at an equal share of ε; with `sampled` every respondent
    answers one attribute, out of a balanced schedule, at full ε.

    What one respondent answers on a split budget tells about several attributes together, too: for groups of
    more than one (`k` or `groups`) a table counts her randomized answers jointly, and its channel is the Kronecker
    product of the attributes' channels. Every table then rests on all respondents. The tables of one collection
    are not independent of each other, since the same randomized answers stand behind all of them: the rows of
    answers are kept, and tell how the errors of tables hang together. The noise grows with every attribute that
    shares the budget. The level of a respondent is the sum over
    all attributes, the level of a group's table the sum over its own.

    The answers may also be bits, as RAPPOR collects them: with "sue" or "oue" what is crossed are patterns of bits,
    2^c of them for c categories, and the method "mle" is the EM of Fanti, Pihur & Erlingsson (2016) for the joint
    distribution. For few categories randomized response tells more. On the survey network (2 or 3 categories, 20,000
    respondents, ε = 4 over 6 attributes, 100 repetitions) the mean squared errors of all pairs were .0005 by "grr",
    .0015 by "sue" and .0016 by "oue" unbiased, and .0005, .0011 and .0011 by "mle"; `SampledGroups` has .0001.

    Parameters
    ----------
    domain : Domain
    epsilon : float
        The level of a respondent.
    mechanism : str
        A name out of `mechanisms()`; "auto" takes the one with the smallest variance for each attribute. For
        groups of several attributes it is "grr" (which "auto" then stands for), "rr", "sue" or "oue".
    sampled : bool
        Whether a respondent answers a single attribute.
    k : int
        The size of the groups whose tables are formed, if `groups` is not given; 1 where `sampled`. With `groups`,
        the size of the largest one takes its place.
    groups : sequence of sequences of str, optional
        The groups whose tables are formed; attributes in none of them are not asked for.
    outside : {"refuse", "random"}
        As in `SampledGroups`.

    Examples
    --------
    >>> domain = Domain({"sex": ["F", "M"], "age": ["young", "old"], "car": ["yes", "no"]})
    >>> protocol = PerAttribute(domain, epsilon=3.0, k=2)
    >>> protocol.mechanism_for("age")
    GRR(k=2, epsilon=1.0)
    >>> [table.n for table in protocol.simulate(np.full(8, 100), rng=1)]
    [800, 800, 800]
    >>> bits = PerAttribute(domain, epsilon=3.0, k=2, mechanism="sue").simulate(np.full(8, 100), rng=1)
    >>> bits["sex", "age"].blocks[0].noise.outputs
    16
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
    outside: str
    _units: tuple[Unit, ...] = field(repr=False, compare=False)

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: float,
        mechanism: str = "auto",
        sampled: bool = False,
        k: int = 1,
        groups: NamedGroups = None,
        outside: str = REFUSE,
    ) -> None:
        formed, level = groups_of(checked_domain(domain), k=k, groups=groups), positive_epsilon(epsilon)
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
            refuse_uncrossable([one.mechanism for one in asked], domain.project(names), formed)
        self._settle(
            [[one] for one in asked] if sampled else [asked],
            outside,
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
        return replace(super().privacy(), per_group=per_group)

    def reports(self, frame: pd.DataFrame, rng: Rng = None, *, counts: str | None = None) -> pd.DataFrame:
        """Return the rows that travel: one per respondent and attribute, or per respondent where answers are crossed.

        A row of crossed answers lists them in the order of the domain, each as a number: bits are read as a binary
        one that begins with the bit of the first category. The respondents come in random order. A seed or Generator as
        `rng` makes a simulation, and the rows say so; without one, the operating system's secure randomness is used.
        `counts` is as in `collect`.
        """
        if not self._crossed:
            return super().reports(frame, rng, counts=counts)
        answers, identity, simulated = self._randomized(frame, rng, counts)
        rows = {
            "protocol": self.fingerprint(),
            **numbered(identity, np.arange(len(answers))),
            "group": label(self._sent.domain.names),
            "report": to_wire(answers),
            "simulated": simulated > 0,
        }
        return pd.DataFrame(rows)

    def tables(self, reports: pd.DataFrame) -> TableSet:
        """Count rows that travelled; a row that this protocol cannot have produced is refused, naming it."""
        if not self._crossed:
            return super().tables(reports)
        refuse_foreign_rows(reports, self.fingerprint(), [label(self._sent.domain.names)])
        answers = from_wire(reports["report"], self._sent)
        copies, simulated = np.ones(len(answers)), int(simulated_rows(reports).sum())
        return self._crossed_tables(answers, copies, simulated, parts_of(reports, 0))

    def collect(self, frame: pd.DataFrame, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Ask every respondent, one by one, and count the reports; as in all protocols."""
        if not self._crossed:
            return super().collect(frame, rng, counts=counts)
        answers, identity, simulated = self._randomized(frame, rng, counts)
        whole = Parts.whole(identity, 0, len(answers))
        return self._crossed_tables(answers, np.ones(len(answers)), simulated, whole)

    def simulate(self, population: Population, rng: Rng = None, *, counts: str | None = None) -> TableSet:
        """Draw tables with the law of `collect`: at the level of counts, but for crossed answers of a data frame.

        `population` is a data frame (`counts` is as in `collect`), or an array of joint counts in domain order (flat
        or in the domain's shape).
        """
        numbers = generator(rng)
        if not self._crossed:
            return super().simulate(population, numbers, counts=counts)
        if isinstance(population, pd.DataFrame):
            return self.collect(population, numbers, counts=counts)
        people = people_of(self.domain, population, numbers, counts)
        assert isinstance(people, JointCounts)  # no data frame
        asked = self._sent.domain
        unasked = [axis for axis, name in enumerate(self.domain.names) if name not in asked.categories]
        truths = people.counts.reshape(self.domain.shape).sum(axis=tuple(unasked))
        answers, copies = self._sent.randomized(np.argwhere(truths), truths[truths > 0], numbers)
        identity = new_identity(numbers, [answers, copies])
        return self._crossed_tables(answers, copies, people.n, Parts.whole(identity, 0, people.n))

    @property
    def _crossed(self) -> bool:
        return self.k > 1

    @property
    def _sent(self) -> CrossedAnswers:
        names = [name for asked in self._asked for name in asked.names]
        return CrossedAnswers(self.domain.project(names), tuple(asked.mechanism for asked in self._asked))

    def _agreed(self) -> object:
        # the randomized answers are the same, whichever tables are formed of them
        return super()._agreed(), "one row" if self._crossed else "a row per attribute"

    def _randomized(self, frame: pd.DataFrame, rng: Rng, counts: str | None) -> tuple[NDArray[np.int64], str, int]:
        """Return a row of answers for every respondent, in random order; their collection; how many are simulated."""
        asked = self._answers(frame, rng, counts)
        ((_, answers),) = asked.units
        rows = self._sent.numbered([reports.data for _, reports in answers])
        return rows, asked.identity, 0 if rng is None else len(rows)

    def _crossed_tables(self, answers: NDArray[Any], copies: NDArray[Any], simulated: int, parts: Parts) -> TableSet:
        """Count rows of randomized answers, each so many times; they are kept, for what they tell together."""
        privacy, rows = self.privacy(), self._sent.rows(answers, copies, parts, simulated)
        tables = [
            Table(
                self.domain.project(group),
                (rows.block(group),),
                privacy.for_group(label(group)),
                parts=parts,
                rows=(rows,),
            )
            for group in self.groups
        ]
        return TableSet(self.domain, tables, privacy)

    def _plain(self) -> dict[str, Any]:
        groups = [list(group) for group in self.groups]
        return {"epsilon": self.epsilon, "mechanism": self.mechanism, "sampled": self.sampled, "groups": groups}
