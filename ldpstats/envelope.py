"""The envelope of every saved file: its format, its version, and a digest that shows accidental changes of the body."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from ldpstats.errors import DomainError, LdpstatsError, one_line, shortened

_NAMES = ("format", "version", "digest against accidents, not attackers", "body")
_WRITER = "ldpstats "
_NOT_ITS_NAME = "Pass what the file holds, not its name: pathlib.Path(name).read_text(encoding='utf-8')."
UNREADABLE = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError)
"""What a body that is not as it was written may raise in whoever reads it."""

Read = TypeVar("Read")


def sealed(kind: str, version: int, body: Any) -> str:
    """Return a saved file as JSON.

    The digest shows a file that was cut short, edited or damaged. It keeps nobody from writing another one on
    purpose: whoever can change the body can change the digest.

    Examples
    --------
    >>> print(sealed("shopping list", 1, ["bread"]))  # doctest: +ELLIPSIS
    {"format": "ldpstats shopping list", "version": 1, "digest against accidents, not attackers": "...", "body": ...}
    """
    whole = dict(zip(_NAMES, (_WRITER + kind, version, digest(body), body), strict=True))
    return json.dumps(whole, ensure_ascii=False, allow_nan=False)


def opened(text: str, kind: str, version: int, read: Callable[[Any], Read]) -> Read:
    """Return what `read` makes of the body of a saved file; any other text is refused.

    Examples
    --------
    >>> opened(sealed("shopping list", 1, ["bread"]), "shopping list", 1, tuple)
    ('bread',)
    """
    try:
        return read(_body(read_json(text), kind, version))
    except UNREADABLE as error:
        raise LdpstatsError(
            f"text that is not a saved {kind} ({shortened_reason(error)})",
            f"a whole file of the format '{_WRITER}{kind}', version {version}, as it was written",
            "" if isinstance(text, (str, bytes)) and "{" in str(text) else _NOT_ITS_NAME,
        ) from error


def digest(body: Any) -> str:
    """Return a digest of plain values: the order of names makes a difference, spaces and line breaks make none."""
    plain = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # text cut inside a letter of two halves cannot be encoded, and is still different from all others
    return hashlib.sha256(plain.encode(errors="surrogatepass")).hexdigest()


def read_json(text: str) -> Any:
    """Parse JSON; refuse a name that stands twice in an object, of which a plain reader keeps the last."""
    return json.loads(text, object_pairs_hook=_different_names)


def shortened_reason(error: BaseException) -> str:
    """Say in a few words what was wrong with a file."""
    reason = f"no {error}" if isinstance(error, KeyError) else str(error)
    return reason if len(reason) <= 300 else shortened(reason, 300)


def _body(whole: Any, kind: str, version: int) -> Any:
    if not isinstance(whole, dict) or "format" not in whole:
        raise ValueError(f"{shortened(whole)} without a format")
    if whole["format"] != _WRITER + kind:
        raise ValueError(f"its format is {shortened(whole['format'])}")
    if type(whole.get("version")) is not int or whole["version"] != version:
        raise ValueError(f"its version is {shortened(whole.get('version'))}")
    if set(whole) != set(_NAMES):
        raise ValueError(f"it holds {one_line(list(whole))}")
    if whole[_NAMES[2]] != digest(whole["body"]):
        raise ValueError("its digest is that of another body: the file was changed after it was written")
    return whole["body"]


def _different_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = Counter(name for name, _ in pairs)
    repeated = sorted(name for name, count in names.items() if count > 1)
    if repeated:
        raise DomainError(f"the names {one_line(repeated)} stand more than once", "different names")
    return dict(pairs)
