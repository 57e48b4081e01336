"""Sampled groups: every respondent answers one group of attributes, and spends the whole budget on it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ldpstats.arrays import as_array, counts_array, positive_epsilon
from ldpstats.blocks import Block
from ldpstats.columns import listed
from ldpstats.domain import Domain, read_json
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.mechanisms import Mechanism, Reports, best_name, mechanism
from ldpstats.noise import Tally
from ldpstats.privacy import PrivacyStatement
from ldpstats.protocols.wire import any_simulated, from_wire, refuse_foreign_rows, to_wire
from ldpstats.questions import Question
from ldpstats.randomness import Rng, client_draws, generator, permutation
from ldpstats.tables import Table, TableSet
from ldpstats.views import views

_LARGEST_POPULATION = 10**9 - 1
_UNIT = "a respondent's whole record"


@dataclass(frozen=True, init=False)
class SampledGroups:
    """A balanced schedule of attribute groups, of which every respondent answers exactly one at full ε.

    The respondents of one call are assigned at random: the schedule begins at a random group and goes round,
    so that every group is answered equally often (up to one), and a single respondent draws hers uniformly.
    Which group was answered is public and does not depend on the record; hence the strict ε of a
    respondent's whole record is that of a single report.

    Parameters
    ----------
    domain : Domain
    k : int
        The size of the groups, if `groups` is not given: all pairs, in the order of `views`. With `groups`,
        the size of the largest one takes its place.
    epsilon : float
        The level of every report, and so of every respondent.
    mechanism : str
        A name out of `mechanisms()`; "auto" takes the one with the smallest variance for each group's size.
    groups : sequence of sequences of str, optional
        The groups to ask for.

    Examples
    --------
    >>> domain = Domain({"sex": ["F", "M"], "age": ["young", "old"], "car": ["yes", "no"]})
    >>> protocol = SampledGroups(domain, epsilon=1.0)
    >>> protocol.groups
    (('age', 'car'), ('sex', 'car'), ('sex', 'age'))
    >>> protocol.privacy().epsilon
    1.0
    """

    domain: Domain
    k: int
    epsilon: float
    mechanism: str
    groups: tuple[tuple[str, ...], ...]
    _questions: tuple[Question, ...] = field(repr=False, compare=False)
    _mechanisms: tuple[Mechanism, ...] = field(repr=False, compare=False)

    def __init__(
        self,
        domain: Domain,
        k: int = 2,
        epsilon: float = 1.0,
        mechanism: str = "auto",
        groups: Sequence[Sequence[str]] | None = None,
    ) -> None:
        if not isinstance(domain, Domain):
            raise LdpstatsError(f"a domain of type {type(domain).__name__}", "a Domain", "See Domain.from_frame.")
        chosen = _all_groups(domain, k) if groups is None else _named_groups(domain, groups)
        if len({_label(group) for group in chosen}) < len(chosen):
            raise LdpstatsError(
                f"different groups with one label among {one_line([_label(group) for group in chosen])}",
                "attribute names that tell groups apart",
                f"Rename attributes with {_label(['', ''])!r} in their names.",
            )
        questions = tuple(Question.of(domain, group) for group in chosen)
        values: dict[str, Any] = {
            "domain": domain,
            "k": max(map(len, chosen)),
            "epsilon": positive_epsilon(epsilon),
            "mechanism": mechanism,
            "groups": chosen,
            "_questions": questions,
            "_mechanisms": tuple(_mechanism_for(mechanism, question.answers, epsilon) for question in questions),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def mechanism_for(self, group: str | Iterable[str]) -> Mechanism:
        """Return the mechanism that randomizes the answers about a group."""
        return self._mechanisms[self._position(listed(group))]

    def privacy(self) -> PrivacyStatement:
        """Return what every respondent is promised."""
        per_group = {
            _label(group): used.strict_epsilon() for group, used in zip(self.groups, self._mechanisms, strict=True)
        }
        return PrivacyStatement(max(per_group.values()), _UNIT, per_group)

    def reports(self, frame: pd.DataFrame, rng: Rng = None) -> pd.DataFrame:
        """Return the rows that travel: one per respondent, with the group answered and the randomized answer.

        They come in random order, because the order of the frame may tell something about the respondents. A
        seed or Generator as `rng` makes a simulation, and the rows say so; without one, the operating
        system's secure randomness is used.
        """
        parts = []
        for group, (places, reports) in zip(self.groups, self._answers(frame, rng), strict=True):
            rows = {
                "protocol": self.fingerprint(),
                "group": _label(group),
                "report": to_wire(reports.data),
                "simulated": reports.simulated,
            }
            parts.append(pd.DataFrame(rows, index=pd.Index(places)))
        return pd.concat(parts).sort_index().reset_index(drop=True)

    def tables(self, reports: pd.DataFrame) -> TableSet:
        """Count rows that travelled; a row that this protocol cannot have produced is refused, naming it."""
        labels = [_label(group) for group in self.groups]
        refuse_foreign_rows(reports, self.fingerprint(), labels)
        tallies = []
        for label, used in zip(labels, self._mechanisms, strict=True):
            rows = reports[reports["group"] == label]
            data = from_wire(rows["report"], used)
            tallies.append(used.count(Reports(used, data, any_simulated(rows))))
        return self._table_set(tallies)

    def collect(self, frame: pd.DataFrame, rng: Rng = None) -> TableSet:
        """Ask every respondent, one by one, and count the reports."""
        return self._table_set([reports.mechanism.count(reports) for _, reports in self._answers(frame, rng)])

    def simulate(self, population: pd.DataFrame | ArrayLike, rng: Rng = None) -> TableSet:
        """Draw tables with the law of `collect`, at the level of counts.

        `population` is a data frame, or an array of joint counts in domain order (flat or in the domain's shape).
        """
        numbers = generator(rng)
        if isinstance(population, pd.DataFrame):
            true_counts = self._counts_of_frame(population, numbers)
        else:
            true_counts = self._counts_of_joint(self._joint_counts(population), numbers)
        return self._table_set(
            [used.simulate(true, rng=numbers) for used, true in zip(self._mechanisms, true_counts, strict=True)]
        )

    def to_json(self) -> str:
        """Return the protocol as JSON: what a client must know."""
        plain = {
            "protocol": "sampled groups",
            "domain": self.domain.to_dict(),
            "epsilon": self.epsilon,
            "mechanism": self.mechanism,
            "groups": [list(group) for group in self.groups],
        }
        return json.dumps(plain, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> SampledGroups:
        """Read a protocol that `to_json` wrote."""
        try:
            plain = read_json(text)
            if plain["protocol"] != "sampled groups":
                raise ValueError(f"a protocol of kind {plain['protocol']!r}")
            domain, groups = Domain(plain["domain"]), [tuple(group) for group in plain["groups"]]
            return cls(domain, epsilon=plain["epsilon"], mechanism=plain["mechanism"], groups=groups)
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise LdpstatsError(
                f"text that is not a saved protocol ({error})", "a whole file written by to_json"
            ) from error

    def fingerprint(self) -> str:
        """Return a short digest of everything that client and server must agree on."""
        agreed = f"{self.domain.to_json()} {self.groups} {self._mechanisms}"
        # the letter keeps a file reader from taking digits for a number
        return f"p{hashlib.sha256(agreed.encode()).hexdigest()[:12]}"

    def _position(self, group: tuple[str, ...]) -> int:
        for position, known in enumerate(self.groups):
            if set(known) == set(group):
                return position
        raise LdpstatsError(f"the group {group!r}", one_line(self.groups))

    def _places(self, n: int, first: int) -> list[range]:
        """Return each group's places in a random order of n respondents, when the schedule begins at group `first`."""
        groups = len(self.groups)
        return [range((position - first) % groups, n, groups) for position in range(groups)]

    def _answers(self, frame: pd.DataFrame, rng: Rng) -> list[tuple[range, Reports]]:
        codes = self.domain.encode(frame)
        # one Generator for all groups, or a seed would give each of them the same numbers
        source = None if rng is None else generator(rng)
        draws = client_draws(source)
        order = permutation(draws, len(codes))
        all_places = self._places(len(codes), int(draws.uniform(len(self.groups), 1)[0]))
        answers = []
        for places, question, used in zip(all_places, self._questions, self._mechanisms, strict=True):
            truth = question.answer(self.domain, codes[order[places]])
            answers.append((places, used.privatize(truth, source)))
        return answers

    def _counts_of_frame(self, frame: pd.DataFrame, numbers: np.random.Generator) -> list[NDArray[np.int64]]:
        codes = self.domain.encode(frame)
        order = numbers.permutation(len(codes))
        all_places = self._places(len(codes), int(numbers.integers(len(self.groups))))
        return [
            np.bincount(question.answer(self.domain, codes[order[places]]), minlength=question.answers)
            for places, question in zip(all_places, self._questions, strict=True)
        ]

    def _joint_counts(self, population: ArrayLike) -> NDArray[np.int64]:
        joint = as_array(population, "the joint counts of the population")
        allowed = ((self.domain.size(),), self.domain.shape)
        # a Series of counts, such as value_counts makes, is labelled and rarely in domain order
        if isinstance(population, pd.Series) or joint.shape not in allowed:
            raise LdpstatsError(
                f"joint counts as {type(population).__name__} of shape {joint.shape}",
                f"a data frame of respondents, or an array of shape {allowed[0]} or {allowed[1]}",
                "A Series of counts: counts.reindex(domain.index(), fill_value=0).to_numpy().",
            )
        return counts_array(joint.reshape(-1), self.domain.size(), "the joint counts of the population")

    def _counts_of_joint(self, left: NDArray[np.int64], numbers: np.random.Generator) -> list[NDArray[np.int64]]:
        total = sum(left.tolist())
        if total > _LARGEST_POPULATION:
            raise LdpstatsError(
                f"a population of {total:,}",
                f"at most {_LARGEST_POPULATION:,}",
                "Simulate it in parts and add the table sets.",
            )
        positions = np.stack(np.unravel_index(np.arange(left.size), self.domain.shape), axis=1)
        all_places = self._places(total, int(numbers.integers(len(self.groups))))
        true_counts = []
        for places, question in zip(all_places, self._questions, strict=True):
            asked = numbers.multivariate_hypergeometric(left, len(places), method="marginals")
            left = left - asked
            answers = np.bincount(question.answer(self.domain, positions), weights=asked, minlength=question.answers)
            true_counts.append(answers.astype(np.int64))
        return true_counts

    def _table_set(self, tallies: Sequence[Tally]) -> TableSet:
        privacy = self.privacy()
        tables = [
            Table(self.domain.project(group), (Block(question, tally),), privacy.for_group(_label(group)))
            for group, question, tally in zip(self.groups, self._questions, tallies, strict=True)
        ]
        return TableSet(self.domain, tables, privacy)


def _label(group: Iterable[str]) -> str:
    return " × ".join(group)


def _all_groups(domain: Domain, k: int) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(str(name) for name in group) for view in views(domain.names, k) for group in view)


def _named_groups(domain: Domain, groups: Sequence[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    if isinstance(groups, str) or any(isinstance(group, str) for group in listed(groups)):
        raise LdpstatsError(f"groups = {groups!r}", "a list of groups, such as [('age', 'sex')], each a list of names")
    named = tuple(domain.project(group).names for group in listed(groups))
    if not named or len({frozenset(group) for group in named}) < len(named):
        raise LdpstatsError(f"groups {one_line(list(named))}", "at least one group, and no group twice")
    return named


def _mechanism_for(name: str, k: int, epsilon: float) -> Mechanism:
    return mechanism(best_name(k, epsilon) if name == "auto" else name, k=k, epsilon=epsilon)
