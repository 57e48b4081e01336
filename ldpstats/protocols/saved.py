"""Saved protocols: what client and server must agree on, as JSON and as a short fingerprint."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from ldpstats.domain import Domain
from ldpstats.envelope import opened, sealed
from ldpstats.errors import LdpstatsError, shortened
from ldpstats.presentation import Shown
from ldpstats.protocols.outside import RANDOM, REFUSE
from ldpstats.saving import Saveable

SAVED = ("protocol", 1)
"""Format and version of the files."""


class SavedProtocol(Shown, Saveable, ABC):
    """A protocol over a domain that can be written down and read again."""

    kind: ClassVar[str]
    saved: ClassVar[tuple[str, ...]]
    """The names of the parameters that files hold, beside the domain and what becomes of answers outside it."""
    domain: Domain
    outside: str = REFUSE
    """What becomes of answers outside the questionnaire; whoever keeps to the default says nothing about it."""

    @abstractmethod
    def _agreed(self) -> object:
        """Return what is asked and how it is randomized, in a form that prints all of it."""

    def to_json(self) -> str:
        """Return the protocol as JSON: what a client must know."""
        return sealed(*SAVED, self._body())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a protocol of this class that `to_json` wrote; `Protocol.from_json` reads those of every class.

        Parameters
        ----------
        text : str
            What the file holds.
        """
        kind = opened(text, *SAVED, lambda body: body["kind"])
        if kind != cls.kind:
            raise LdpstatsError(
                f"a saved protocol of the kind {shortened(kind)}",
                f"one of the kind {cls.kind!r}",
                "Protocol.from_json reads protocols of every kind.",
            )
        return opened(text, *SAVED, cls._read)

    @classmethod
    def _read(cls, body: dict[str, Any]) -> Self:
        options = {name: value for name, value in body.items() if name not in ("kind", "domain")}
        read = cls(Domain(body["domain"]), **options)  # type: ignore[call-arg]  # every kind takes a domain
        if json.loads(json.dumps(read._body())) != body:
            raise ValueError("it holds more or less than the protocol, or other values")
        return read

    def _set(self, **values: Any) -> None:
        """Set fields of a frozen protocol, while it is made."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _body(self) -> dict[str, Any]:
        parameters = {name: getattr(self, name) for name in self.saved}
        return {"kind": self.kind, "domain": self.domain.to_dict(), **parameters, **self._policy}

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
