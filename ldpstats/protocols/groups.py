"""Groups: sets of attributes that are asked for together, of whom in turn, and at what share of a level."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TypeAlias, TypeVar

import numpy as np
from pandas.api.types import is_list_like

from ldpstats.answers.columns import listed
from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.mechanisms import Mechanism, joint_ratio
from ldpstats.privacy import strict_epsilon
from ldpstats.views import views

Known = TypeVar("Known")
Group: TypeAlias = tuple[str, ...]
View: TypeAlias = tuple[Group, ...]
Views: TypeAlias = tuple[View, ...]
NamedGroups: TypeAlias = Sequence[Sequence[str]] | None
NamedViews: TypeAlias = Sequence[Sequence[Sequence[str]]] | None
_MANY = 1000
"""Fewer units are worked through in a moment."""
RECORD = "a respondent's whole record"
"""The unit of every protocol's level."""


def label(group: Iterable[str]) -> str:
    """Return the name of a group in reports and statements."""
    return " × ".join(group)


def checked_domain(domain: Domain) -> Domain:
    """Refuse what is not a domain."""
    if not isinstance(domain, Domain):
        raise LdpstatsError(f"a domain of type {type(domain).__name__}", "a Domain", "See Domain.from_frame.")
    return domain


def views_of(domain: Domain, *, k: int, groups: NamedGroups = None, named_views: NamedViews = None) -> Views:
    """Return the fewest views of all groups of k attributes, few views of named groups, or the views as named."""
    names = checked_domain(domain).names
    if named_views is not None:
        if groups is not None or not is_list_like(named_views):
            raise LdpstatsError(
                f"views = {named_views!r} with groups = {groups!r}",
                "a list of views, each a list of groups; or groups alone",
            )
        checked = tuple(named_groups(domain, view) for view in named_views)
        named_groups(domain, [group for view in checked for group in view])
        for view in checked:
            domain.project([name for group in view for name in group])  # refuses an attribute that stands twice
        return checked
    chosen = views(names, k) if groups is None else views(names, groups=named_groups(domain, groups))
    return tuple(tuple(tuple(map(str, group)) for group in view) for view in chosen)


def groups_of(domain: Domain, *, k: int, groups: NamedGroups = None) -> tuple[Group, ...]:
    """Return the named groups, or all groups of k attributes in the order of `views`."""
    if groups is not None:
        return named_groups(checked_domain(domain), groups)
    return tuple(group for view in views_of(domain, k=k) for group in view)


def named_groups(domain: Domain, groups: Sequence[Sequence[str]]) -> tuple[Group, ...]:
    """Return groups as tuples of known names; refuse a group that stands twice."""
    if isinstance(groups, str) or any(isinstance(group, str) for group in listed(groups)):
        raise LdpstatsError(f"groups = {groups!r}", "a list of groups, such as [('age', 'sex')], each a list of names")
    named = tuple(domain.project(group).names for group in listed(groups))
    if not named or len({frozenset(group) for group in named}) < len(named):
        raise LdpstatsError(f"groups {one_line(list(named))}", "at least one group, and no group twice")
    return named


def known_for(group: str | Iterable[str], known: Iterable[tuple[Group, Known]]) -> Known:
    """Look up a group whose attributes may come in any order."""
    wanted, listed_groups = listed(group), list(known)
    for own, value in listed_groups:
        if set(own) == set(wanted):
            return value
    raise LdpstatsError(f"the group {wanted!r}", one_line(list(dict.fromkeys(own for own, _ in listed_groups))))


def refuse_shared_labels(groups: Sequence[Group]) -> None:
    """Refuse groups with the same label, which reports could not tell apart."""
    if len({label(group) for group in groups}) < len(groups):
        raise LdpstatsError(
            f"different groups with one label among {one_line([label(group) for group in groups])}",
            "attribute names that tell groups apart",
            f"Rename attributes with {label(['', ''])!r} in their names.",
        )


def warn_of_few(n: int, units: int, stacklevel: int) -> None:
    """Warn before long work for fewer respondents than units: no table could show a dependence."""
    if n < units and units >= _MANY:
        warnings.warn(
            f"{n:,} respondents for {units:,} groups of questions: {units - n:,} are asked of nobody and the others of "
            "one respondent each, and so no group's table can show a dependence. Ask about fewer attributes, name "
            "groups=[...], or ask for single attributes: k=1.",
            stacklevel=stacklevel + 1,
        )


def scheduled(n: int, units: int, first: int) -> list[range]:
    """Return each unit's places in a random order of n respondents, when the schedule begins at unit `first`."""
    return [range((position - first) % units, n, units) for position in range(units)]


def among(places: range) -> slice:
    """Return places as a slice: given a range, NumPy would take them one by one."""
    return slice(places.start, places.stop, places.step)


def equal_shares(epsilon: float, parts: int) -> float:
    """Return the largest double of which `parts` add up to no more than epsilon."""
    share = epsilon / parts
    return share if share == math.inf or Fraction(share) * parts <= Fraction(epsilon) else float(np.nextafter(share, 0))


def worst_level(sent: Iterable[Iterable[Mechanism]]) -> float:
    """Return the largest strict level among sets of mechanisms, each of one respondent's reports."""
    ratios = [joint_ratio(mechanisms) for mechanisms in dict.fromkeys(map(tuple, sent))]
    known = [ratio for ratio in ratios if ratio is not None]
    return strict_epsilon(max(known) if len(known) == len(ratios) else None)
