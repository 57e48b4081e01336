"""Origins: under which protocol the reports behind tables were collected, and by which mechanisms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ldpstats.errors import LdpstatsError, shortened
from ldpstats.saving import Saveable


@dataclass(frozen=True, slots=True)
class Origin(Saveable):
    """The protocol that reports were collected under: what it was, whatever it is called today.

    Parameters
    ----------
    protocol : str
        Its fingerprint.
    mechanisms : mapping of str to str
        What randomized the reports behind each table, in words, by the table's attributes.
    sources : mapping of str to str
        Where what these words name was published.

    Examples
    --------
    >>> from ldpstats import Domain, SampledGroups
    >>> tables = SampledGroups(Domain({"sex": ["F", "M"], "car": ["yes", "no"]}), epsilon=1.0).simulate([5] * 4, rng=1)
    >>> print(tables.origins[0].words)
    Collected under the protocol pd8a3a3d23967: GRR at epsilon = 1.
    """

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
        """A sentence: the protocol, and what randomized the reports."""
        found = Counter(self.mechanisms.values())
        counted = [f"{words} ({number:,} {'table' if number == 1 else 'tables'})" for words, number in found.items()]
        return f"Collected under the protocol {self.protocol}: {'; '.join(counted if len(found) > 1 else found)}."

    @property
    def cited(self) -> list[str]:
        """Everything that randomized reports, with where it was published."""
        return [
            f"{words} ({self.sources[words]})" if words in self.sources else words
            for words in dict.fromkeys(self.mechanisms.values())
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"protocol": self.protocol, "mechanisms": dict(self.mechanisms), "sources": dict(self.sources)}


def randomized_by(origins: Iterable[Origin], group: str) -> str:
    """Return what randomized the reports behind a table, in words; nothing where that is not known.

    Parameters
    ----------
    origins : iterable of Origin
    group : str
        The table's attributes, as origins have them.
    """
    return "; ".join(dict.fromkeys(one.mechanisms[group] for one in origins if group in one.mechanisms))
