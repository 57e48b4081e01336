"""Views: sets of disjoint attribute groups, few of them, that cover every group or every pair of attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ldpstats.views.arguments import Attribute, Cover, View, attribute_names, covering, group_size, named_groups
from ldpstats.views.certificate import ViewsCertificate, certify_views
from ldpstats.views.exact import every_group, packed
from ldpstats.views.pairs import every_pair

__all__ = ["Attribute", "View", "ViewsCertificate", "certify_views", "views"]


def views(
    attributes: int | Iterable[Attribute],
    k: int = 2,
    *,
    cover: Cover = "groups",
    groups: Iterable[Sequence[Attribute]] | None = None,
) -> list[View]:
    """Return few views, each of disjoint groups, in which every group or every pair of attributes stands.

    No attribute stands twice in a view, so that a respondent may answer a whole view without telling anything
    twice. `certify_views` counts anew what came out.

    Parameters
    ----------
    attributes : int or sequence of str
        The attributes, or how many there are (then they are numbered from 0).
    k : int
        The size of the groups.
    cover : {"groups", "pairs"}
        "groups": every group of k attributes stands in exactly one view. Of d attributes that takes
        ⌈C(d, k) / ⌊d/k⌋⌉ views, which is the least possible (Baranyai 1975).
        "pairs": every pair of attributes stands together in at least one group. These views are far fewer, near the
        least number but not always at it. Some groups are smaller than k, where d or a construction leaves no full
        ones; groups that add no pair are left out, and their attributes rest in that view. For k = 2 both covers are
        the same.
    groups : sequence of groups, optional
        The groups to ask for, of any sizes; `k` is ignored then. Every one of them stands in exactly one view. The
        views are few, but not proven to be the fewest (unless they are all the groups of one size).

    Returns
    -------
    list of views
        Each view is a list of tuples. The groups keep the order of the attributes (or the one in which they are
        named), and the views are ordered by their first groups.

    Examples
    --------
    >>> from ldpstats import views
    >>> views(["A", "R", "E", "O"])
    [[('A', 'R'), ('E', 'O')], [('A', 'E'), ('R', 'O')], [('A', 'O'), ('R', 'E')]]
    >>> [len(views(37, k)) for k in (2, 3)]
    [37, 648]
    >>> len(views(37, 3, cover="pairs"))
    19
    >>> views(["A", "R", "E", "O"], groups=[("A", "R"), ("A", "E"), ("E", "O")])
    [[('A', 'R'), ('E', 'O')], [('A', 'E')]]
    """
    names, wanted = attribute_names(attributes), covering(cover, groups)
    if groups is not None:
        return packed(named_groups(groups, names))
    size = group_size(k, len(names), wanted)
    made = every_pair(len(names), size) if wanted == "pairs" else every_group(len(names), size)
    ordered = sorted(sorted(tuple(sorted(group)) for group in view) for view in made)
    return [[tuple(names[number] for number in group) for group in view] for view in ordered]
