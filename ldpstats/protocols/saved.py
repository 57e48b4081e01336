"""Saved protocols: what client and server must agree on, as JSON and as a short fingerprint."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from ldpstats.domain import Domain
from ldpstats.envelope import opened, sealed
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.protocols.outside import RANDOM, REFUSE
from ldpstats.saving import Saveable

_SAVED = ("protocol", 1)


class SavedProtocol(Saveable, ABC):
    """A protocol over a domain that can be written down and read again."""

    kind: ClassVar[str]
    domain: Domain
    outside: str = REFUSE
    """What becomes of answers outside the questionnaire; whoever keeps to the default says nothing about it."""

    @abstractmethod
    def _plain(self) -> dict[str, Any]:
        """Return the parameters beside the domain as plain values."""

    @abstractmethod
    def _agreed(self) -> object:
        """Return what is asked and how it is randomized, in a form that prints all of it."""

    def to_json(self) -> str:
        """Return the protocol as JSON: what a client must know."""
        return sealed(*_SAVED, self._body())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a protocol that `to_json` wrote."""
        kind = opened(text, *_SAVED, lambda body: body["kind"])
        if kind != cls.kind:
            named = {one.kind: one.__name__ for one in _kinds()}
            known = isinstance(kind, str) and kind in named
            raise LdpstatsError(
                f"a saved protocol of the kind {shortened(kind)}",
                f"one of the kind {cls.kind!r}",
                f"{named[kind]}.from_json reads it." if known else f"Known are {one_line(list(named), len(named))}.",
            )
        return opened(text, *_SAVED, cls._read)

    @classmethod
    def _read(cls, body: dict[str, Any]) -> Self:
        options = {name: value for name, value in body.items() if name not in ("kind", "domain")}
        read = cls(Domain(body["domain"]), **options)  # type: ignore[call-arg]  # every kind takes a domain
        if json.loads(json.dumps(read._body())) != body:
            raise ValueError("it holds more or less than the protocol, or other values")
        return read

    def _body(self) -> dict[str, Any]:
        return {"kind": self.kind, "domain": self.domain.to_dict(), **self._plain(), **self._policy}

    @property
    def _policy(self) -> dict[str, str]:
        return {} if self.outside == REFUSE else {"outside": self.outside}

    @property
    def _substitutes(self) -> bool:
        """Whether random categories take the place of answers outside the questionnaire."""
        return self.outside == RANDOM

    def fingerprint(self) -> str:
        """Return a short digest of everything that client and server must agree on."""
        agreed = f"{self.kind} {self.domain.to_json()} {self._agreed()}"
        if self._policy:
            agreed = f"{agreed} {self._policy}"
        # the letter keeps a file reader from taking digits for a number
        return f"p{hashlib.sha256(agreed.encode()).hexdigest()[:12]}"


def _kinds() -> list[type[SavedProtocol]]:
    """Return all kinds of protocols, however they are derived."""
    found: list[type[SavedProtocol]] = []
    heirs = SavedProtocol.__subclasses__()
    while heirs:
        one = heirs.pop()
        heirs += one.__subclasses__()
        found += [one] if "kind" in vars(one) else []
    return found
