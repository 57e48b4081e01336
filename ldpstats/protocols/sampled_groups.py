"""Groups of attributes, each one answer: one group of many at full ε, all of a view at shares, or the whole record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError
from ldpstats.mechanisms import Mechanism
from ldpstats.protocols.assigned import Asked, AssignedQuestions, checked_choice, checked_level, for_each
from ldpstats.protocols.groups import (
    Group,
    NamedGroups,
    NamedViews,
    Views,
    checked_domain,
    equal_shares,
    groups_of,
    views_of,
)
from ldpstats.protocols.population import REFUSE

_LARGEST_PRODUCT = 1 << 20


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
    mechanism : str, Mechanism or sequence of Mechanism
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
        mechanism: str | Mechanism | Sequence[Mechanism] = "auto",
        groups: NamedGroups = None,
        outside: str = REFUSE,
    ) -> None:
        chosen, level = groups_of(domain, k=k, groups=groups), checked_level(epsilon, mechanism)
        used, most = checked_choice(mechanism), max(map(len, chosen))
        self._settle(domain=domain, k=most, epsilon=level, mechanism=used, groups=chosen, outside=outside)

    def units(self) -> list[list[Asked]]:
        """Return the groups, each of them a unit."""
        used = for_each(self.mechanism, len(self.groups))
        return [
            [Asked.about(self.domain, group, own, self.epsilon)] for group, own in zip(self.groups, used, strict=True)
        ]


@dataclass(frozen=True, init=False)
class WholeView(AssignedQuestions):
    """A balanced schedule of views: every respondent answers all the disjoint groups of one, each at a share of ε.

    At equal ε of a respondent this is far less exact than `SampledGroups`, which gives every answer the whole
    budget: for pairs of the networks survey, child and alarm, ε from 1 to 4 and "auto", the exact mean squared errors
    are 2.6 to 33 times larger (benchmarks/rrba.py).

    Parameters
    ----------
    domain : Domain
    epsilon : float
        The level of a respondent; the groups of her view share it equally.
    k : int
        The size of the groups, if `groups` is not given.
    mechanism : str, Mechanism or sequence of Mechanism
        A name out of `mechanisms()`; "auto" takes the one with the smallest variance for each group's size. Or the
        mechanisms themselves, one for each group of all views, at its share of the level.
    groups : sequence of sequences of str, optional
        The groups to ask for; they are packed into few views.
    views : sequence of sequences of groups, optional
        The views, if they are decided already.
    outside : {"refuse", "random"}
        As in `SampledGroups`.

    Examples
    --------
    >>> from ldpstats import Domain, WholeView
    >>> domain = Domain({name: ["yes", "no"] for name in "abcd"})
    >>> protocol = WholeView(domain, epsilon=2.0)
    >>> protocol.views[0]
    (('a', 'b'), ('c', 'd'))
    """

    kind: ClassVar[str] = "whole view"
    saved: ClassVar[tuple[str, ...]] = ("epsilon", "mechanism", "views")

    domain: Domain
    k: int
    epsilon: float
    mechanism: str | tuple[Mechanism, ...]
    views: Views
    outside: str

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: float,
        k: int = 2,
        mechanism: str | Mechanism | Sequence[Mechanism] = "auto",
        groups: NamedGroups = None,
        views: NamedViews = None,
        outside: str = REFUSE,
    ) -> None:
        chosen = views_of(domain, k=k, groups=groups, named_views=views)
        self._settle(
            domain=domain,
            k=max(len(group) for view in chosen for group in view),
            epsilon=checked_level(epsilon, mechanism),
            mechanism=checked_choice(mechanism),
            views=chosen,
            outside=outside,
        )

    def units(self) -> list[list[Asked]]:
        """Return the views, each group of which has an equal share of the level."""
        used = iter(for_each(self.mechanism, len(self.groups)))
        return [
            [Asked.about(self.domain, group, next(used), equal_shares(self.epsilon, len(view))) for group in view]
            for view in self.views
        ]

    @property
    def groups(self) -> tuple[Group, ...]:
        """The groups of all views."""
        return tuple(group for view in self.views for group in view)


@dataclass(frozen=True, init=False)
class ProductDomain(AssignedQuestions):
    """The whole record as one answer: a single table over all attributes, which has every smaller one as a marginal.

    Its cells are many, and so is the noise in sums of them.

    Parameters
    ----------
    domain : Domain
    epsilon : float
        The level of every respondent.
    mechanism : str, Mechanism or sequence of Mechanism
        A name out of `mechanisms()`; "auto" takes the one with the smallest variance. Or the mechanism.
    outside : {"refuse", "random"}
        As in `SampledGroups`.

    Examples
    --------
    >>> from ldpstats import Domain, ProductDomain
    >>> domain = Domain({"sex": ["F", "M"], "travel": ["car", "train", "other"]})
    >>> ProductDomain(domain, epsilon=1.0).groups
    (('sex', 'travel'),)
    """

    kind: ClassVar[str] = "product domain"
    saved: ClassVar[tuple[str, ...]] = ("epsilon", "mechanism")

    domain: Domain
    epsilon: float
    mechanism: str | tuple[Mechanism, ...]
    outside: str

    def __init__(
        self,
        domain: Domain,
        *,
        epsilon: float,
        mechanism: str | Mechanism | Sequence[Mechanism] = "auto",
        outside: str = REFUSE,
    ) -> None:
        cells = checked_domain(domain).size()
        if cells > _LARGEST_PRODUCT:
            raise LdpstatsError(
                f"a product of {len(domain)} attributes with {cells:,} cells",
                f"at most {_LARGEST_PRODUCT:,} cells",
                "Project the domain to fewer attributes, or ask for groups: SampledGroups.",
            )
        used = checked_choice(mechanism)
        self._settle(domain=domain, epsilon=checked_level(epsilon, mechanism), mechanism=used, outside=outside)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The one group: all attributes."""
        return (self.domain.names,)

    def units(self) -> list[list[Asked]]:
        """Return the one unit: all attributes together."""
        (used,) = for_each(self.mechanism, 1)
        return [[Asked.about(self.domain, self.domain.names, used, self.epsilon)]]
