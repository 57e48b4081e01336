"""A certificate for views: everything is counted anew from the views alone, with nothing from their construction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from math import comb
from typing import TYPE_CHECKING, Any, TypeGuard

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.presentation import Result, Summary, plain_values, summary_of_facts
from ldpstats.saving.registered import Count
from ldpstats.views.arguments import (
    Attribute,
    Cover,
    Group,
    attribute_names,
    covering,
    group_size,
    is_name,
    named_groups,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, repr=False)
class ViewsCertificate(Result):
    """What was counted in views: what they cover how often, whether groups are disjoint, how many views there are.

    Parameters
    ----------
    found : tuple of views
        The views that were looked at, each a tuple of groups.
    attributes : tuple
    k : int
    cover : {"groups", "pairs"}
    groups : tuple of groups, or None
        What the views were asked for: see `views`.
    covered : mapping
        Every group (or pair) asked for that stands somewhere, and how often. Its attributes are in the order of
        `attributes`.
    missing : tuple
        The groups (or pairs) asked for that stand nowhere.
    disjoint : bool
        Whether no attribute stands twice in a view.
    lower_bound : int
        No set of views that covers what was asked for has fewer.
    failures : tuple of str
        What is wrong, a sentence each; empty if nothing is.

    Examples
    --------
    >>> from ldpstats import certify_views
    >>> certificate = certify_views([[("A", "R")], [("A", "E")]], ["A", "R", "E"])
    >>> certificate.holds, certificate.missing
    (False, (('R', 'E'),))
    >>> print(certificate.summary())
    Certificate of views: DOES NOT HOLD
    ====================================
    Views      2 views of 3 attributes
    Covered    2 of 3 groups
    In a view  no attribute stands twice
    Necessary  3 views
    ====================================
    Not covered: 1 group, the first ('R', 'E').
    """

    found: tuple[tuple[Group, ...], ...] = field(repr=False)
    attributes: tuple[Attribute, ...] = field(repr=False)
    k: Count
    cover: Cover
    groups: tuple[Group, ...] | None = field(repr=False)
    covered: Mapping[Group, int] = field(repr=False)
    missing: tuple[Group, ...] = field(repr=False)
    disjoint: bool
    lower_bound: Count
    failures: tuple[str, ...]

    @property
    def views(self) -> int:
        """How many views there are."""
        return len(self.found)

    @property
    def repeated(self) -> dict[Group, int]:
        """What is covered more than once, and how often. Among pairs, with groups larger than two, that is no fault."""
        return {group: times for group, times in self.covered.items() if times > 1}

    @property
    def holds(self) -> bool:
        """Whether the views are what was asked for."""
        return not self.failures

    @property
    def least(self) -> bool:
        """Whether they are so, and provably the fewest: as many as the lower bound."""
        return self.holds and self.views == self.lower_bound

    def recheck(self) -> ViewsCertificate:
        """Return a certificate computed anew from the views in this one."""
        return certify_views(self.found, self.attributes, self.k, cover=self.cover, groups=self.groups)

    @property
    def headline(self) -> str:
        """Whether the views are what was asked for, what they cover, and how many are necessary."""
        least = f"at least {_many(self.lower_bound, 'view')} {'is' if self.lower_bound == 1 else 'are'} necessary"
        return f"{self._verdict}: {self._counted} cover {self._covered}, and {least}"

    @property
    def _verdict(self) -> str:
        return "HOLDS" if self.holds else "DOES NOT HOLD"

    @property
    def _counted(self) -> str:
        return f"{_many(self.views, 'view')} of {_many(len(self.attributes), 'attribute')}"

    @property
    def _covered(self) -> str:
        return f"{len(self.covered):,} of {_many(len(self.covered) + len(self.missing), _thing(self.cover))}"

    def summary(self) -> Summary:
        """Return what was counted, as a table that can be read aloud, and what is wrong."""
        facts = {
            "Views": self._counted,
            "Covered": self._covered,
            "In a view": f"{'no' if self.disjoint else 'some'} attribute stands twice",
            "Necessary": f"{_many(self.lower_bound, 'view')}{', so there are no fewer' if self.least else ''}",
        }
        return summary_of_facts(f"Certificate of views: {self._verdict}", facts, self.failures)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per view and group; views are numbered from 1."""
        import pandas as pd

        rows = [
            (number, place, " × ".join(map(str, group)), len(group))
            for number, view in enumerate(self.found, 1)
            for place, group in enumerate(view, 1)
        ]
        return pd.DataFrame(rows, columns=["view", "place", "group", "size"])

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values."""
        names = "holds least attributes k cover views=found covered missing disjoint lower_bound failures"
        return plain_values(self, names, covered=len(self.covered))


def certify_views(
    found: Sequence[Sequence[Sequence[Attribute]]],
    attributes: int | Iterable[Attribute],
    k: int = 2,
    *,
    cover: Cover = "groups",
    groups: Iterable[Sequence[Attribute]] | None = None,
) -> ViewsCertificate:
    """Count anew what views cover, and say what is wrong with them if anything is.

    Parameters
    ----------
    found : views
        As `views` returns them, or from anywhere else.
    attributes, k, cover, groups
        What the views were asked for: see `views`.

    Returns
    -------
    ViewsCertificate

    Examples
    --------
    >>> from ldpstats import certify_views
    >>> print(certify_views([[(0, 1)], [(0, 2)], [(1, 2)]], 3).headline)
    HOLDS: 3 views of 3 attributes cover 3 of 3 groups, and at least 3 views are necessary
    """
    names, wanted = attribute_names(attributes), covering(cover, groups)
    named = None if groups is None else tuple(named_groups(groups, names))
    size = group_size(k, len(names), wanted) if named is None else k
    held = _as_views(found)
    places = {name: place for place, name in enumerate(names)}
    asked = _asked(places, size, wanted, named)
    times = Counter(_things(held, places, wanted))
    covered = {thing: times[thing] for thing in asked if thing in times}
    missing = tuple(thing for thing in asked if thing not in times)
    twice = list(_standing_twice(held))
    failures = [
        *_strange_views(held, places),
        *twice[:1],
        *list(_strange_groups(held, places, size, wanted, None if named is None else set(asked)))[:1],
        *_miscounted(covered, missing, wanted),
    ]
    least = _lower_bound(len(names), size, wanted, named)
    return ViewsCertificate(
        held, tuple(names), size, wanted, named, covered, missing, not twice, least, tuple(failures)
    )


def _as_views(found: object) -> tuple[tuple[Group, ...], ...]:
    if not _is_list(found):
        raise LdpstatsError(f"views {shortened(found)}", "a list of views, each a list of groups")
    held = []
    for number, view in enumerate(found, 1):
        if not _is_list(view) or not all(_is_list(group) and all(map(is_name, group)) for group in view):
            raise LdpstatsError(f"view {number}: {shortened(view)}", "a list of groups, each a tuple of names")
        held.append(tuple(tuple(group) for group in view))
    return tuple(held)


def _is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    return isinstance(value, (list, tuple))


def _in_order(group: Iterable[Attribute], places: Mapping[Attribute, int]) -> Group:
    return tuple(sorted(group, key=places.__getitem__))


def _asked(places: Mapping[Attribute, int], k: int, cover: Cover, named: tuple[Group, ...] | None) -> list[Group]:
    """Return every group, or pair, that is to be covered, its attributes in order."""
    if named is not None:
        return [_in_order(group, places) for group in named]
    return [*combinations(places, 2 if cover == "pairs" else k)]


def _things(held: Iterable[Iterable[Group]], places: Mapping[Attribute, int], cover: Cover) -> Iterator[Group]:
    """Yield every group in the views, or every pair, with its attributes in order."""
    for group in chain.from_iterable(held):
        known = _in_order((name for name in group if name in places), places)
        if cover == "pairs":
            yield from combinations(known, 2)
        elif len(known) == len(group):
            yield known


def _strange_views(held: Sequence[Sequence[Group]], places: Mapping[Attribute, int]) -> Iterator[str]:
    """Yield failures: no views, the first empty view, the first unknown attribute."""
    if not held:
        yield "There are no views."
    yield from [f"View {number} is empty." for number, view in enumerate(held, 1) if not view][:1]
    foreign = [(number, name) for number, view in enumerate(held, 1) for name in chain(*view) if name not in places]
    yield from [f"View {number} holds {name!r}, which is none of the attributes." for number, name in foreign[:1]]


def _standing_twice(held: Iterable[Iterable[Group]]) -> Iterator[str]:
    for number, view in enumerate(held, 1):
        for name, times in Counter(chain.from_iterable(view)).items():
            if times > 1:
                yield f"View {number} holds {name!r} {times} times."


def _strange_groups(
    held: Iterable[Iterable[Group]], places: Mapping[Attribute, int], k: int, cover: Cover, named: set[Group] | None
) -> Iterator[str]:
    """Yield failures: groups of another size, or not asked for."""
    sizes = range(1 if cover == "pairs" else k, k + 1)
    for number, view in enumerate(held, 1):
        for group in view:
            if named is None and len(group) not in sizes:
                size = f"{len(group)}, not {'at most ' if cover == 'pairs' else ''}{k}"
                yield f"View {number} holds the group {group!r} of {size}."
            if named is not None and places.keys() >= {*group} and _in_order(group, places) not in named:
                yield f"View {number} holds the group {group!r}, which was not asked for."


def _miscounted(covered: Mapping[Group, int], missing: Sequence[Group], cover: Cover) -> Iterator[str]:
    """Yield failures: groups or pairs that are not covered, and groups that are covered more than once."""
    if missing:
        yield f"Not covered: {_many(len(missing), _thing(cover))}, the first {missing[0]!r}."
    repeated = [(group, times) for group, times in covered.items() if times > 1]
    if repeated and cover == "groups":
        group, times = repeated[0]
        yield f"More than once: {_many(len(repeated), 'group')}, the first {group!r}, {times} times."


def _lower_bound(d: int, k: int, cover: Cover, named: tuple[Group, ...] | None) -> int:
    if named is not None:  # groups that share an attribute stand in different views
        return max(Counter(chain.from_iterable(named)).values())
    full, rest = divmod(d, k)
    if cover == "groups":
        return _up(comb(d, k), full)
    # an attribute meets at most k - 1 others in a view, and a view holds only so many pairs
    return max(_up(d - 1, k - 1), _up(comb(d, 2), full * comb(k, 2) + comb(rest, 2)))


def _up(count: int, each: int) -> int:
    return -(-count // each)


def _thing(cover: Cover) -> str:
    return "pair" if cover == "pairs" else "group"


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
