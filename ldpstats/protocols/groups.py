"""Groups: the sets of attributes that are asked for together, named, checked and labelled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

from pandas.api.types import is_list_like

from ldpstats.answers.columns import listed
from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, one_line
from ldpstats.views import views

Known = TypeVar("Known")
Group: TypeAlias = tuple[str, ...]
View: TypeAlias = tuple[Group, ...]
Views: TypeAlias = tuple[View, ...]
NamedGroups: TypeAlias = Sequence[Sequence[str]] | None
NamedViews: TypeAlias = Sequence[Sequence[Sequence[str]]] | None


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
    if groups is not None:
        return _plain(views(names, groups=named_groups(domain, groups)))
    return _plain(views(names, k))


def _plain(found: Iterable[Iterable[Iterable[object]]]) -> Views:
    return tuple(tuple(tuple(map(str, group)) for group in view) for view in found)


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
