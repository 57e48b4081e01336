"""Origins: under which protocol the reports behind tables were collected, and by which mechanisms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.saving.files import Saveable


@dataclass(frozen=True, slots=True)
class Origin(Saveable):
    """Protocol of the reports, as it was then: fingerprint, mechanisms in words by attributes, and their sources."""

    protocol: str
    mechanisms: Mapping[str, str]
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        texts = [self.protocol, *chain(*self.mechanisms.items(), *self.sources.items())]
        if not self.mechanisms or not all(isinstance(one, str) for one in texts):
            raise LdpstatsError(f"the origin {shortened(texts)}", "a fingerprint, and words for some tables")

    def __hash__(self) -> int:
        return hash((self.protocol, *self.mechanisms.items()))

    @property
    def words(self) -> str:
        """The protocol and what randomized the reports, as a sentence."""
        found = Counter(self.mechanisms.values())
        counted = [f"{words} ({number:,} {'table' if number == 1 else 'tables'})" for words, number in found.items()]
        return f"Collected under the protocol {self.protocol}: {'; '.join(counted if len(found) > 1 else found)}."

    @property
    def cited(self) -> list[str]:
        """The mechanisms, each once, with where it was published."""
        return [
            f"{words} ({self.sources[words]})" if words in self.sources else words
            for words in dict.fromkeys(self.mechanisms.values())
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"protocol": self.protocol, "mechanisms": dict(self.mechanisms), "sources": dict(self.sources)}


def randomized_by(origins: Iterable[Origin], group: str) -> str:
    """Return what randomized the reports behind a table, in words; empty where that is not known.

    Parameters
    ----------
    origins : iterable of Origin
    group : str
        The table's attributes, as origins have them.
    """
    return "; ".join(dict.fromkeys(one.mechanisms[group] for one in origins if group in one.mechanisms))
