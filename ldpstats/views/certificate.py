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

_THING = {"groups": "group", "pairs": "pair"}


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
        counted, covered = self._counted
        return f"{'HOLDS' if self.holds else 'DOES NOT HOLD'}: {counted} cover {covered}, and {least}"

    @property
    def _counted(self) -> tuple[str, str]:
        asked = _many(len(self.covered) + len(self.missing), _THING[self.cover])
        counted = f"{_many(self.views, 'view')} of {_many(len(self.attributes), 'attribute')}"
        return counted, f"{len(self.covered):,} of {asked}"

    def summary(self) -> Summary:
        """Return what was counted, as a table that can be read aloud, and what is wrong."""
        counted, covered = self._counted
        facts = {
            "Views": counted,
            "Covered": covered,
            "In a view": f"{'no' if self.disjoint else 'some'} attribute stands twice",
            "Necessary": f"{_many(self.lower_bound, 'view')}{', so there are no fewer' if self.least else ''}",
        }
        verdict = "HOLDS" if self.holds else "DOES NOT HOLD"
        return summary_of_facts(f"Certificate of views: {verdict}", facts, self.failures)

    def to_frame(self) -> pd.DataFrame:
        """Return a row per view and group; views are numbered from 1."""
        import pandas as pd

        rows = [
            (number, position, " × ".join(map(str, group)), len(group))
            for number, view in enumerate(self.found, 1)
            for position, group in enumerate(view, 1)
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
    places = {name: index for index, name in enumerate(names)}
    in_order = [[_in_order(group, places) for group in view] for view in held]
    if named is None:
        asked = [*combinations(names, 2 if wanted == "pairs" else size)]
    else:
        asked = [tuple(sorted(group, key=places.__getitem__)) for group in named]
    things: Iterable[Group]
    if wanted == "pairs":
        things = (pair for group in chain(*in_order) for pair in combinations(group, 2))
    else:
        whole = zip(chain(*held), chain(*in_order), strict=True)
        things = (known for group, known in whole if len(known) == len(group))
    times = Counter(things)
    covered = {thing: times[thing] for thing in asked if thing in times}
    missing = tuple(thing for thing in asked if thing not in times)
    twice = [
        f"View {number} holds {name!r} {often} times."
        for number, view in enumerate(held, 1)
        for name, often in Counter(chain(*view)).items()
        if often > 1
    ]
    failures = [*_strange_views(held, places), *twice[:1]]
    if named is None:
        failures += _of_other_sizes(held, size, wanted)
    else:
        failures += _not_asked_for(held, in_order, set(asked))
    if missing:
        failures.append(f"Not covered: {_many(len(missing), _THING[wanted])}, the first {missing[0]!r}.")
    repeated = [group for group, often in covered.items() if often > 1 and wanted == "groups"]
    if repeated:
        more = f"{_many(len(repeated), 'group')}, the first {repeated[0]!r}, {covered[repeated[0]]} times."
        failures.append(f"More than once: {more}")
    least = _lower_bound(len(names), size, wanted, named)
    return ViewsCertificate(
        held, tuple(names), size, wanted, named, covered, missing, not twice, least, tuple(failures)
    )


def _as_views(given: object) -> tuple[tuple[Group, ...], ...]:
    if not _is_list(given):
        raise LdpstatsError(f"views {shortened(given)}", "a list of views, each a list of groups")
    for number, view in enumerate(given, 1):
        if not _is_list(view) or not all(_is_list(group) and all(map(is_name, group)) for group in view):
            raise LdpstatsError(f"view {number}: {shortened(view)}", "a list of groups, each a tuple of names")
    return tuple(tuple(map(tuple, view)) for view in given)


def _is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    return isinstance(value, (list, tuple))


def _in_order(group: Iterable[Attribute], places: Mapping[Attribute, int]) -> Group:
    """Return those of a group that are attributes, in their order."""
    return tuple(sorted((name for name in group if name in places), key=places.__getitem__))


def _strange_views(held: Sequence[Sequence[Group]], places: Mapping[Attribute, int]) -> Iterator[str]:
    """Yield failures: no views, the first empty view, the first unknown attribute."""
    if not held:
        yield "There are no views."
    yield from [f"View {number} is empty." for number, view in enumerate(held, 1) if not view][:1]
    foreign = [(number, name) for number, view in enumerate(held, 1) for name in chain(*view) if name not in places]
    yield from [f"View {number} holds {name!r}, which is none of the attributes." for number, name in foreign[:1]]


def _of_other_sizes(held: Sequence[Sequence[Group]], k: int, cover: Cover) -> list[str]:
    """Say which group first has another size than was asked for."""
    least, asked = (1, f"at most {k}") if cover == "pairs" else (k, f"{k}")
    return [
        f"View {number} holds the group {group!r} of {len(group)}, not {asked}."
        for number, view in enumerate(held, 1)
        for group in view
        if not least <= len(group) <= k
    ][:1]


def _not_asked_for(
    held: Sequence[Sequence[Group]], in_order: Sequence[Sequence[Group]], asked: set[Group]
) -> list[str]:
    """Say which group of known attributes was first not asked for by name."""
    return [
        f"View {number} holds the group {group!r}, which was not asked for."
        for number, (view, ordered) in enumerate(zip(held, in_order, strict=True), 1)
        for group, known in zip(view, ordered, strict=True)
        if len(known) == len(group) and known not in asked
    ][:1]


def _lower_bound(d: int, k: int, cover: Cover, named: tuple[Group, ...] | None) -> int:
    if named is not None:  # groups that share an attribute stand in different views
        return max(Counter(chain.from_iterable(named)).values())
    full, rest = divmod(d, k)
    if cover == "groups":
        return -(-comb(d, k) // full)
    # an attribute meets at most k - 1 others in a view, and a view holds only so many pairs
    return max(-(-(d - 1) // (k - 1)), -(-comb(d, 2) // (full * comb(k, 2) + comb(rest, 2))))


def _many(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
