"""Scope: which attributes of a table were asked about together, and what therefore cannot be tested."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from ldpstats.errors import NotIdentifiedError
from ldpstats.tables import Reconstructed, Table

Attributes = tuple[str, ...]


def asked_together(table: Table) -> list[Attributes]:
    """Return the largest sets of a table's attributes that some reports are about together."""
    provenance, names = table.provenance, table.attributes
    if not isinstance(provenance, Reconstructed):
        return [names]
    # answers of one respondent that were counted together are about all their attributes
    groups = [*provenance.groups, *(block.question.about for block in table.blocks)]
    within = dict.fromkeys(tuple(name for name in names if name in group) for group in groups)
    return [one for one in within if one and not any(set(one) < set(other) for other in within)]


def never_together(table: Table) -> list[Attributes]:
    """Return the smallest sets of a table's attributes that nobody was asked about together."""
    asked, names = asked_together(table), table.attributes
    apart = (
        [chosen for chosen in combinations(names, size) if not any(set(chosen) <= set(group) for group in asked)]
        for size in range(2, len(names) + 1)
    )
    return next((found for found in apart if found), [])


def scope_in_words(table: Table) -> str:
    """Say what a test is about where not all attributes of its table were asked about together; empty if all were."""
    if not never_together(table):
        return ""
    asked = " and ".join(f"({', '.join(group)})" for group in asked_together(table))
    return f"Of these attributes, only {asked} were asked about together: the test is of what they tell, no more."


def refuse_untold(table: Table, df: int) -> None:
    """Refuse a hypothesis without degrees of freedom: what a table shows of it is the work of an assumption."""
    if df > 0:
        return
    apart = never_together(table)
    if not apart:
        raise NotIdentifiedError(
            "reports that tell nothing about the hypothesis",
            "reports that identify more contrasts than the hypothesis leaves free",
            "Ask for the cells themselves, or for functions of them that the hypothesis is about.",
        )
    nobody = ", nor about ".join(f"{listing(names)} together" for names in apart)
    raise NotIdentifiedError(
        f"a hypothesis that the reports tell nothing about: nobody was asked about {nobody}; what the table shows of "
        "that follows from an assumption",
        "a hypothesis about what was asked together",
        f"Ask the group {apart[0]!r}; bounds() of the table says what is known without an assumption.",
    )


def listing(names: Sequence[str]) -> str:
    """Join names by commas and "and"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
