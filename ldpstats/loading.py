"""Loading: any saved object from its file, whatever it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ldpstats.domain import Domain
from ldpstats.envelope import kind_of
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.limits import LARGEST_FILE
from ldpstats.mechanisms import Memo
from ldpstats.protocols import Protocol
from ldpstats.protocols.rrba import Aggregator, Client
from ldpstats.registered import is_named
from ldpstats.saving import read_file, read_object
from ldpstats.tables import TableSet

_JOURNAL = '["ldpstats rrba journal"'
_READERS: Mapping[str, Callable[[str], Any]] = {
    "RRBA aggregator": Aggregator.from_json,
    "client": Client.from_json,
    "memo": Memo.from_json,
    "protocol": Protocol.from_json,
    "table set": TableSet.from_json,
}
"""What reads the formats that are not named after a class."""


def load(path: str | Path) -> Any:
    """Read a saved object: a domain, a protocol, tables, a mechanism, a result, or what keeps answers.

    Nothing in a file is run: it names classes that are known, whose objects are made by their constructors.

    Parameters
    ----------
    path : str or Path
        A file that `save` wrote, or that holds what `to_json` returned.

    Returns
    -------
    object
        Of the class that was saved.

    Examples
    --------
    >>> import tempfile
    >>> from ldpstats import GRR, load
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     GRR(3, epsilon=1.0).save(f"{directory}/mechanism.json")
    ...     load(f"{directory}/mechanism.json")
    GRR(k=3, epsilon=1.0)
    """
    return read_file(path, loaded, "a file that `save` wrote", LARGEST_FILE)


def loaded(text: str) -> Any:
    """Read a saved object from what its file holds.

    Parameters
    ----------
    text : str
    """
    kind = kind_of(text)
    if kind is None:
        if text.startswith(_JOURNAL):
            raise LdpstatsError(
                "the journal of an aggregator", "a saved object", "protocol.aggregator(journal=path) goes on from it."
            )
        if not text.lstrip().startswith("{"):
            raise LdpstatsError(
                "text that is no saved object",
                "a file that `save` wrote",
                "Answers, a row per respondent, become tables by SampledGroups(Domain.from_frame(frame), "
                "epsilon=...).collect(frame).",
            )
        return Domain.from_json(text)
    if kind in _READERS:
        return _READERS[kind](text)
    if not is_named(kind):
        raise LdpstatsError(
            f"the format {shortened(f'ldpstats {kind}')}, which this version does not know",
            f"saved objects of registered classes, and {one_line(list(_READERS))}",
            "It may be that of a newer ldpstats, or of a class that has to be registered first: "
            "ldpstats.registered.register.",
        )
    return read_object(text, kind)
