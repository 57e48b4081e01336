"""Saved protocols: what client and server must agree on, as JSON and as a short fingerprint."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from ldpstats.answers.domain import Domain
from ldpstats.client import ClientError, refuse_oversized, refuse_too_many
from ldpstats.errors import LdpstatsError, one_line, shortened
from ldpstats.presentation import Shown
from ldpstats.privacy import PrivacyStatement, plain_level
from ldpstats.protocols.population import RANDOM, REFUSE
from ldpstats.saving.codec import decoded, encoded
from ldpstats.saving.files import Saveable, differences, opened, sealed

_FORMAT, _VERSION = "protocol", 1
_FEWER = "No client would read it: ask about fewer attributes, fewer of them together, or collapse rare categories."


class SavedProtocol(Shown, Saveable, ABC):
    """Protocol over a domain that can be saved and read again."""

    kind: ClassVar[str]
    saved: ClassVar[tuple[str, ...]]
    """The names of the parameters that files hold, beside the domain and what becomes of answers outside it."""
    domain: Domain
    outside: str = REFUSE
    """What becomes of answers outside the questionnaire; whoever keeps to the default says nothing about it."""

    @abstractmethod
    def _agreed(self) -> object:
        """Return what is asked and how it is randomized, in a form that prints all of it, for the fingerprint."""

    @abstractmethod
    def privacy(self) -> PrivacyStatement:
        """Return what every respondent is promised."""

    def to_json(self) -> str:
        """Return the protocol as JSON: all that a client must know, in whatever language it is written.

        Beside the parameters it says what is asked, by which mechanism, and with which probabilities; the page on the
        protocol file explains it word by word.
        """
        body = self._body()
        text = sealed(_FORMAT, _VERSION, body)
        try:
            refuse_oversized(text, "a protocol file")
            refuse_too_many(body)
        except ClientError as error:
            raise LdpstatsError(error.came, error.allowed, _FEWER) from error
        return text

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a protocol of this class that `to_json` wrote; `Protocol.from_json` reads those of every class.

        Parameters
        ----------
        text : str
        """
        kind = kind_of_protocol(text)
        if kind != cls.kind:
            raise LdpstatsError(
                f"a saved protocol of the kind {shortened(kind)}",
                f"one of the kind {cls.kind!r}",
                "Protocol.from_json reads protocols of every kind.",
            )
        return opened(text, _FORMAT, _VERSION, cls._read)

    @classmethod
    def _read(cls, body: dict[str, Any]) -> Self:
        domain, options = Domain.from_list(body["domain"]), {}
        if body["outside"] != REFUSE:
            options["outside"] = body["outside"]
        if unknown := {*body["parameters"]} - {*cls.saved}:
            raise ValueError(f"it has the parameters {one_line(sorted(unknown))}")
        options |= {name: decoded(value) for name, value in body["parameters"].items()}
        read = cls._made(domain, options, body)
        writes = {**body, "parameters": read._as_named(body["parameters"])}  # noqa: SLF001  # of this very class
        other = differences(read._body(), writes)  # noqa: SLF001  # of this very class
        if other:
            raise ValueError(f"its {one_line(other)} and the rest of it are not of one protocol")
        return read

    @classmethod
    def _made(cls, domain: Domain, options: dict[str, Any], body: dict[str, Any]) -> Self:
        """Make the protocol from what its file says."""
        del body
        return cls(domain, **options)  # type: ignore[call-arg]  # every kind takes a domain

    def _as_named(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """Return a file's parameters as this protocol, which was made of them, writes them."""
        return parameters

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _body(self) -> dict[str, Any]:
        promised = self.privacy()
        return {
            "kind": self.kind,
            "fingerprint": self.fingerprint(),
            "domain": self.domain.to_list(),
            "parameters": {name: encoded(value) for name, value in self._parameters().items()},
            "outside": self.outside,
            "privacy": {
                "epsilon": plain_level(promised.epsilon),
                "unit": promised.unit,
                **self._promised_beside(),
            },
            **self._asked_of_respondents(),
        }

    def _parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.saved}

    def _asked_of_respondents(self) -> dict[str, Any]:
        """Return units and mechanisms for the file; a curator has none."""
        return {}

    def _promised_beside(self) -> dict[str, str]:
        """Return, for the file, what else than its level respondents are told; a curator tells nothing."""
        return {}

    @property
    def _substitutes(self) -> bool:
        return self.outside == RANDOM

    def fingerprint(self) -> str:
        """Return a short digest of everything that client and server must agree on."""
        agreed = f"{self.kind} {json.dumps(self.domain.to_dict(), ensure_ascii=False)} {self._agreed()}"
        if self.outside != REFUSE:
            policy = {"outside": self.outside}
            agreed = f"{agreed} {policy}"
        # the letter keeps a file reader from taking digits for a number
        return f"p{hashlib.sha256(agreed.encode()).hexdigest()[:12]}"


def promised_to_all(promised: PrivacyStatement) -> dict[str, str]:
    """Return what the file of a local protocol says where the level is infinite."""
    return {"certain": "an answer may show for certain that it is true"} if promised.epsilon == math.inf else {}


def kind_of_protocol(text: str) -> object:
    """Return the kind that a saved protocol states."""
    try:
        if isinstance(text, str):
            refuse_oversized(text, "a protocol file")
    except ClientError as error:
        raise LdpstatsError(f"text that is not a saved {_FORMAT} ({error.came})", error.allowed) from error
    return opened(text, _FORMAT, _VERSION, _kind_of_body)


def _kind_of_body(body: dict[str, Any]) -> object:
    refuse_too_many(body)
    return body["kind"]
