"""Loading: any saved object from its file, whatever it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ldpstats.answers.domain import Domain
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.limits import LARGEST_FILE
from ldpstats.mechanisms import Memo
from ldpstats.protocols import Protocol
from ldpstats.protocols.rrba import Aggregator, Client
from ldpstats.saving.envelope import kind_of
from ldpstats.saving.files import read_file, read_object
from ldpstats.saving.registered import is_named
from ldpstats.tables import TableSet

_READERS: Mapping[str, Callable[[str], Any]] = {
    "RRBA aggregator": Aggregator.from_json,
    "client": Client.from_json,
    "domain": Domain.from_json,
    "memo": Memo.from_json,
    "protocol": Protocol.from_json,
    "table set": TableSet.from_json,
}
"""What reads the formats that are not named after a class."""
_HEAD = 4096
_COUNTED = "`ldpstats tables FILE --protocol PROTOCOL` and ldpstats.tables_of(file, protocol) count them."
_COLLECTED = (
    "Answers, a row per respondent, become tables by SampledGroups(Domain.from_frame(frame), "
    "epsilon=...).collect(frame), and by `ldpstats analyse FILE --epsilon 2`."
)
_OTHERS: Mapping[str, tuple[str, str]] = {
    r"PAR1": ("a file in the format Parquet", f"If it holds reports: {_COUNTED} {_COLLECTED}"),
    r"# ldpstats reports ": ("a file of reports", _COUNTED),
    r"(?!\s*\{)(?=.*\bprotocol\b)(?=.*\bcollection\b)(?=.*\breport\b)": ("reports, a row each", _COUNTED),
    r'\s*\{\s*"format"\s*:\s*"ldpstats answer"': ("what clients sent, a line each", _COUNTED),
    r'\s*\{\s*"format"\s*:\s*"ldpstats RRBA (query|answer)"': (
        "a message between an aggregator and a client",
        "rrba.Query.from_json and rrba.Answer.from_json read them.",
    ),
    r'\["ldpstats rrba journal"': (
        "the journal of an aggregator",
        "protocol.aggregator(journal=path) goes on from it.",
    ),
}
"""How other files begin that stand beside saved objects: what they are, and what reads them."""


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
    # before it is read as text: other files may be of any size, and need not be texts
    try:
        _refuse_others(_head(path))
    except LdpstatsError as error:
        raise type(error)(f"the file {str(path)!r}: {error.came}", error.allowed, error.advice) from error
    return read_file(path, loaded, "a file that `save` wrote", LARGEST_FILE)


def loaded(text: str) -> Any:
    """Read a saved object from what its file holds."""
    _refuse_others(text)
    kind = kind_of(text)
    if kind is None:
        if not text.lstrip().startswith("{"):
            raise LdpstatsError("text that is no saved object", "a file that `save` wrote", _COLLECTED)
        return Domain.from_json(text)
    if kind in _READERS:
        return _READERS[kind](text)
    if not is_named(kind):
        raise LdpstatsError(
            f"the format {shortened(f'ldpstats {kind}')}, which this version does not know",
            f"saved objects of registered classes, and {one_line(list(_READERS))}",
            "It may be that of a newer ldpstats, or of a class that has to be registered first: "
            "ldpstats.saving.registered.register.",
        )
    return read_object(text, kind)


def _refuse_others(text: str) -> None:
    for beginning, (came, advice) in _OTHERS.items():
        if re.match(beginning, text[:_HEAD]):
            raise LdpstatsError(came, "a file that `save` wrote", advice)


def _head(path: Any) -> str:
    """Return how a file begins, whatever it is; nothing where it cannot be read."""
    try:
        if Path(path).is_file():
            with Path(path).open("rb") as file:
                return file.read(_HEAD).decode("utf-8-sig", errors="replace")
    except (TypeError, ValueError, OSError):
        return ""
    return ""
