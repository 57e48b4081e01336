"""Summaries of protocols: what is asked of whom, how it is randomized, which tables follow, the level."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ldpstats.presentation import Summary, summary_of_facts
from ldpstats.protocols.groups import Group, label

if TYPE_CHECKING:
    from ldpstats.protocols.contract import Protocol

_NAMED = 6
"""So many groups are named at most."""
_SENT = "everything one person sends"
_REFUSED = "An answer that is missing or no category of the questionnaire is refused with an error."


def summary_of(protocol: Protocol, groups: Sequence[Group], *said: str, covered: str = _SENT) -> Summary:
    """Return a protocol's summary; `said` are questions and noise, `covered` is what the level is a guarantee for."""
    domain, statement = protocol.domain, protocol.privacy()
    records = f"{counted(len(domain), 'attribute')} with {domain.size():,} possible records"
    sizes = between([domain.size(group) for group in groups], ",")
    facts = {
        "Tables": [f"{counted(len(groups), 'table')} of {sizes} cells", *_shortened(map(label, groups))],
        "Privacy": statement.lines(),
    }
    sentences = [*said, statement.guarantee(covered), *([] if statement.substitutes else [_REFUSED])]
    return summary_of_facts(f"{type(protocol).__name__} over {records}", facts, sentences)


def counted(number: int, what: str) -> str:
    """Say how many things of a kind there are."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def between(numbers: Sequence[float], form: str = ".4g") -> str:
    """Format the smallest and the largest number as a range, or as one if they print alike."""
    return " to ".join(dict.fromkeys(format(number, form) for number in (min(numbers), max(numbers))))


def named(names: Iterable[str]) -> str:
    """Join names, of which only some are shown where there are many."""
    return "; ".join(_shortened(names))


def _shortened(names: Iterable[str]) -> list[str]:
    listed = list(dict.fromkeys(names))
    more = [f"and {len(listed) - _NAMED:,} more"] if len(listed) > _NAMED else []
    return [*listed[:_NAMED], *more]
