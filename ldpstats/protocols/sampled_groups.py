"""Sampled groups: every respondent answers one group of attributes, and spends the whole budget on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ldpstats.answers.domain import Domain
from ldpstats.mechanisms import Mechanism
from ldpstats.numbers.arrays import positive_epsilon
from ldpstats.protocols.assigned import Asked, AssignedQuestions
from ldpstats.protocols.chosen_mechanisms import checked_choice, for_each
from ldpstats.protocols.groups import Group, NamedGroups, groups_of
from ldpstats.protocols.outside import REFUSE


@dataclass(frozen=True, init=False)
class SampledGroups(AssignedQuestions):
    """A balanced schedule of attribute groups, of which every respondent answers exactly one at full ε.

    Which group was answered is public and does not depend on the record; hence the strict ε of a
    respondent's whole record is that of a single report.

    Parameters
    ----------
    domain : Domain
    epsilon : float
        The level of every report, and so of every respondent.
    k : int
        The size of the groups, if `groups` is not given: all of that size, in the order of `views`. With
        `groups`, the size of the largest one takes its place.
    mechanism : str or sequence of Mechanism
        A name out of `mechanisms()`; "auto" takes the one with the smallest variance for each group's size, where all
        cells are equally frequent. Tests rank otherwise where margins are skewed: `plan` says by their power. Or the
        mechanisms themselves, one for each group. Reports that support sets of values (SUE, OUE, THE, SS) are counted
        whole where there are up to 1,024 different sets; then tests use their likelihood, else their counts by value
        alone.
    groups : sequence of sequences of str, optional
        The groups to ask for.
    outside : {"refuse", "random"}
        What becomes of an answer that is missing or no category of the domain. To refuse it is an error, and a device
        that then stays silent tells that there was one. "random" lets a uniformly random category take its place,
        which does not raise the level; every table says so, since estimates and tests are of that mixture.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> domain = Domain({"sex": ["F", "M"], "age": ["young", "old"], "car": ["yes", "no"]})
    >>> protocol = SampledGroups(domain, epsilon=1.0)
    >>> protocol.groups
    (('sex', 'age'), ('sex', 'car'), ('age', 'car'))
    """

    kind: ClassVar[str] = "sampled groups"
    saved: ClassVar[tuple[str, ...]] = ("epsilon", "mechanism", "groups")

    domain: Domain
    k: int
    epsilon: float
    mechanism: str | tuple[Mechanism, ...]
    groups: tuple[Group, ...]
    outside: str

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: float,
        k: int = 2,
        mechanism: str | Sequence[Mechanism] = "auto",
        groups: NamedGroups = None,
        outside: str = REFUSE,
    ) -> None:
        chosen, level = groups_of(domain, k=k, groups=groups), positive_epsilon(epsilon)
        used, most = checked_choice(mechanism), max(map(len, chosen))
        self._settle(domain=domain, k=most, epsilon=level, mechanism=used, groups=chosen, outside=outside)

    def units(self) -> list[list[Asked]]:
        """Return the groups, each of them a unit."""
        used = for_each(self.mechanism, len(self.groups))
        return [
            [Asked.about(self.domain, group, one, self.epsilon)] for group, one in zip(self.groups, used, strict=True)
        ]
