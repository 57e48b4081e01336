"""Saved protocols: what client and server must agree on, as JSON and as a short fingerprint."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from ldpstats.domain import Domain
from ldpstats.envelope import read_json
from ldpstats.errors import LdpstatsError


class SavedProtocol(ABC):
    """A protocol over a domain that can be written down and read again."""

    kind: ClassVar[str]
    domain: Domain

    @abstractmethod
    def _plain(self) -> dict[str, Any]:
        """Return the parameters beside the domain as plain values."""

    @abstractmethod
    def _agreed(self) -> object:
        """Return what is asked and how it is randomized, in a form that prints all of it."""

    def to_json(self) -> str:
        """Return the protocol as JSON: what a client must know."""
        return json.dumps({"protocol": self.kind, "domain": self.domain.to_dict(), **self._plain()}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a protocol that `to_json` wrote."""
        try:
            plain = read_json(text)
            options = {name: value for name, value in plain.items() if name not in ("protocol", "domain")}
            read = cls(Domain(plain["domain"]), **options)  # type: ignore[call-arg]  # every kind takes a domain
            whole = json.loads(read.to_json()) == plain
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise _not_a_protocol(str(error)) from error
        if not whole:
            raise _not_a_protocol(f"something else than {cls.kind}, or parts of it")
        return read

    def fingerprint(self) -> str:
        """Return a short digest of everything that client and server must agree on."""
        agreed = f"{self.kind} {self.domain.to_json()} {self._agreed()}"
        # the letter keeps a file reader from taking digits for a number
        return f"p{hashlib.sha256(agreed.encode()).hexdigest()[:12]}"


def _not_a_protocol(why: str) -> LdpstatsError:
    return LdpstatsError(f"text that is not a saved protocol ({why})", "a whole file written by to_json")
