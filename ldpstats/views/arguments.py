"""What can be seated in views: the attributes, the size of groups, and groups that an analyst names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import comb
from typing import Literal, TypeAlias, TypeGuard, get_args

import numpy as np

from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.numbers.arrays import at_least

Attribute: TypeAlias = str | int
Group: TypeAlias = tuple[Attribute, ...]
View: TypeAlias = list[Group]
Cover: TypeAlias = Literal["groups", "pairs"]

_MOST_GROUPS = 2_000_000


def attribute_names(attributes: object) -> list[Attribute]:
    """Return the names of attributes, or numbers from 0 if only how many there are is given."""
    names = (
        [*attributes]
        if isinstance(attributes, Iterable) and not isinstance(attributes, str)
        else [*range(at_least(attributes, 1, "attributes"))]
    )
    if not all(map(is_name, names)) or len(set(names)) < len(names):
        raise LdpstatsError(f"attributes {one_line(names)}", "different names, strings or whole numbers")
    return names


def is_name(name: object) -> TypeGuard[Attribute]:
    """Say whether this can name an attribute: a string or a whole number, but neither True nor False."""
    return isinstance(name, (str, int, np.integer)) and not isinstance(name, bool)


def group_size(k: object, attributes: int, cover: Cover) -> int:
    """Return k, if views of so many attributes can have such groups."""
    size = at_least(k, 1, "k")
    if size > attributes:
        raise LdpstatsError(
            f"groups of {size} out of {attributes} attributes",
            "at least k attributes",
            "A protocol over a single attribute takes k=1.",
        )
    if cover == "pairs" and size == 1:
        raise LdpstatsError("pairs to be covered by groups of k = 1", "k of at least 2")
    if cover == "groups" and comb(attributes, size) > _MOST_GROUPS:
        raise LdpstatsError(
            f"{comb(attributes, size):,} groups of {size} out of {attributes} attributes",
            f"at most {_MOST_GROUPS:,} groups",
            "With cover='pairs' few of them are asked; with `groups` those that matter.",
        )
    return size


def covering(cover: Cover, groups: object) -> Cover:
    """Return what the views are to cover, if that is known and goes with `groups`."""
    if not isinstance(cover, str) or cover not in get_args(Cover):
        raise LdpstatsError(f"cover = {shortened(cover)}", " or ".join(map(repr, get_args(Cover))))
    if groups is not None and cover == "pairs":
        raise LdpstatsError("groups by name and cover = 'pairs'", "one of them")
    return cover


def named_groups(groups: object, attributes: Sequence[Attribute]) -> list[Group]:
    """Return the groups that an analyst names; refuse unknown attributes and a group that stands twice."""
    if not isinstance(groups, Iterable) or isinstance(groups, str):
        raise LdpstatsError(f"groups = {shortened(groups)}", "a list of groups, such as [('age', 'sex')]")
    named = [_named_group(group, attributes) for group in groups]
    met: set[frozenset[Attribute]] = set()
    for group in named:
        if frozenset(group) in met:
            raise LdpstatsError(f"group {group!r} twice in groups, in this order or another", "every group once")
        met.add(frozenset(group))
    if not named:
        raise LdpstatsError("no groups", "at least one group", "Without `groups`, all groups of k are taken.")
    return named


def _named_group(group: object, attributes: Sequence[Attribute]) -> Group:
    members = tuple(group) if isinstance(group, Iterable) and not isinstance(group, str) else ()
    if not members:
        raise LdpstatsError(f"the group {shortened(group)} in groups", "a list of one or more names")
    strange = [name for name in members if not is_name(name) or name not in attributes]
    if strange:
        raise LdpstatsError(
            f"{shortened(strange[0])} in the group {shortened(members)}",
            "attributes",
            f"They are {one_line(attributes)}.",
        )
    if len(set(members)) < len(members):
        raise LdpstatsError(f"an attribute twice in the group {shortened(members)}", "every attribute once in a group")
    return members
