"""The envelope of every saved file: its format, its version, and a digest that shows accidental changes of the body."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ldpstats.errors import DomainError, LdpstatsError, one_line, shortened

_NAMES = ("format", "version", "digest against accidents, not attackers", "body")
_WRITER = "ldpstats "
_NOT_ITS_NAME = "Pass what the file holds, not its name: pathlib.Path(name).read_text(encoding='utf-8')."
_FORMAT = re.compile(r'\s*\{\s*"format"\s*:\s*"ldpstats ([^"\\]+)"\s*[,}]')
UNREADABLE = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError, MemoryError)
"""What a body that is not as it was written may raise in whoever reads it."""

Read = TypeVar("Read")


def sealed(kind: str, version: int, body: Any) -> str:
    """Return a saved file as JSON.

    Its digest shows accidents alone: whoever can change the body can change the digest.
    """
    plain = _written(body)
    head = json.dumps(dict(zip(_NAMES, (_WRITER + kind, version, _digest(plain)), strict=False)), ensure_ascii=False)
    return f'{head[:-1]}, "{_NAMES[-1]}": {plain}}}'


def kind_of(text: object) -> str | None:
    """Return the kind of saved file that a text begins as; None if it is none."""
    said = _FORMAT.match(text) if isinstance(text, str) else None
    return said and said[1]


def opened(text: str, kind: str, version: int, read: Callable[[Any], Read]) -> Read:
    """Return what `read` makes of the body of a saved file; any other text is refused."""
    try:
        return read(_opened(read_json(text), kind, version))
    except UNREADABLE as error:
        raise LdpstatsError(
            f"text that is not a saved {kind} ({shortened_reason(error)})",
            f"a whole file of the format '{_WRITER}{kind}', version {version}, as it was written",
            "" if isinstance(text, (str, bytes)) and "{" in str(text) else _NOT_ITS_NAME,
        ) from error


def digest(body: Any) -> str:
    """Return a digest of plain values: the order of names makes a difference, spaces and line breaks make none."""
    return _digest(_written(body))


def _written(body: Any) -> str:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _digest(plain: str) -> str:
    # text cut inside a letter of two halves cannot be encoded, and is still different from all others
    return hashlib.sha256(plain.encode(errors="surrogatepass")).hexdigest()


def differences(known: Mapping[str, Any], plain: Mapping[str, Any]) -> list[str]:
    """Return the names under which two objects of plain values hold different JSON: 1 is not true."""
    texts = [{name: json.dumps(value, sort_keys=True) for name, value in one.items()} for one in (known, plain)]
    return [name for name in dict.fromkeys([*known, *plain]) if texts[0].get(name) != texts[1].get(name)]


def read_json(text: str) -> Any:
    """Parse JSON; refuse a name that stands twice in an object, of which `json.loads` keeps the last."""
    return json.loads(text, object_pairs_hook=_different_names)


def shortened_reason(error: BaseException) -> str:
    """Say in a few words what was wrong with a file."""
    reason = f"no {error}" if isinstance(error, KeyError) else str(error)
    return reason if len(reason) <= 300 else shortened(reason, 300)


def _opened(whole: Any, kind: str, known: int) -> Any:
    if not isinstance(whole, dict) or "format" not in whole:
        raise ValueError(f"{shortened(whole)} without a format")
    if whole["format"] != _WRITER + kind:
        raise ValueError(f"its format is {shortened(whole['format'])}")
    version = whole.get("version")
    if type(version) is not int or version != known:
        newer = type(version) is int and version > known
        raise ValueError(f"its version is {shortened(version)}{', that of a newer ldpstats' if newer else ''}")
    if set(whole) != set(_NAMES):
        raise ValueError(f"it holds {one_line(list(whole))}")
    if whole[_NAMES[2]] != digest(whole["body"]):
        raise ValueError("its digest is that of another body: the file was changed after it was written")
    return whole["body"]


def _different_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        repeated = sorted(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise DomainError(f"the names {one_line(repeated)} stand more than once", "different names")
    return found
