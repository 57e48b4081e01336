"""Kinds: any saved protocol is read by its kind, files of earlier versions too, and kinds are taken once."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from ldpstats import Domain, LdpstatsError
from ldpstats.protocols import (
    PROTOCOLS,
    RRBA,
    Asked,
    AssignedQuestions,
    CentralGaussian,
    CentralLaplace,
    HadamardCoefficients,
    LocalProtocol,
    PerAttribute,
    PersonalLevels,
    ProductDomain,
    Protocol,
    SampledGroups,
    WholeView,
    register_protocol,
)
from ldpstats.protocols.contract import missing
from ldpstats.saving.files import sealed

SMALL = Domain({"a": [0, 1], "b": ["x", "y", "z"], "c": [True, False]})
NAMED: Any = [("b", "a"), ("c",)]
WRITTEN: dict[str, tuple[Any, str]] = {
    "sampled groups": (SampledGroups(SMALL, epsilon=1.0), "p703ceebbfd9f"),
    "sampled groups, random": (
        SampledGroups(SMALL, epsilon=0.5, mechanism="oue", groups=NAMED, outside="random"),
        "p7f7bf33c3f68",
    ),
    "whole view": (WholeView(SMALL, epsilon=2.0, mechanism="ss"), "pc1ea85b0a5ff"),
    "product domain": (ProductDomain(SMALL, epsilon=1.5), "pb912983f36aa"),
    "per attribute": (PerAttribute(SMALL, epsilon=3.0), "p116ba8f408f0"),
    "one attribute": (PerAttribute(SMALL, epsilon=1.0, mechanism="sue", sampled=True), "pc64f29540c96"),
    "crossed": (PerAttribute(SMALL, epsilon=3.0, groups=[("c", "a"), ("b",)]), "pdd6b0caf27f5"),
    "crossed bits": (PerAttribute(SMALL, epsilon=3.0, k=2, mechanism="oue", outside="random"), "pc6be61ed1926"),
    "hadamard coefficients": (HadamardCoefficients(SMALL, epsilon=1.0), "p122486eaf96c"),
    "personal levels": (
        PersonalLevels(SMALL, levels={"low": 0.5, "open": 2.0}, protocol=ProductDomain),
        "pab99982df2a9",
    ),
    "rrba": (RRBA(SMALL, p=0.5, block_size=250), "pab9b8c3423ef"),
    "rrba, views": (RRBA(SMALL, epsilon=1.0, answer="view", k=1, outside="random"), "pbbcb1aa2f77f"),
    "central laplace": (CentralLaplace(SMALL, epsilon=1.0, scale="paper"), "p1548698c7267"),
    "central gaussian": (CentralGaussian(SMALL, epsilon=1.0), "pd28d4a992428"),
}
"""Protocols with their fingerprints."""


@pytest.mark.parametrize("name", WRITTEN)
def test_files_and_fingerprints_are_those_that_were_written_before(name: str) -> None:
    protocol, fingerprint = WRITTEN[name]
    assert protocol.fingerprint() == fingerprint
    again = Protocol.from_json(protocol.to_json())
    assert (again, type(again), again.to_json()) == (protocol, type(protocol), protocol.to_json())


def test_another_process_reads_them_and_finds_the_same_fingerprints() -> None:
    code = "import sys, ldpstats.protocols as p; print(*(p.Protocol.from_json(one).fingerprint() for one in sys.stdin))"
    text = "\n".join(protocol.to_json() for protocol, _ in WRITTEN.values())
    found = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True).stdout
    assert found.split() == [fingerprint for _, fingerprint in WRITTEN.values()]


def test_the_contract_says_who_is_local() -> None:
    of_local_ones = ["adaptive", "counting", "sent", "mechanism_for", "reports", "tables"]
    for protocol, _ in WRITTEN.values():
        local = not protocol.kind.startswith("central")
        assert missing(protocol, Protocol) == []
        assert missing(protocol, LocalProtocol) == ([] if local else of_local_ones)
        assert PROTOCOLS[protocol.kind] is type(protocol)
    assert {protocol.kind for protocol, _ in WRITTEN.values()} == set(PROTOCOLS)
    assert missing(SMALL, Protocol)[:2] == ["kind", "privacy"]


@dataclass(frozen=True)
class OneByOne(AssignedQuestions):
    """One attribute each, written outside the package."""

    kind: ClassVar[str] = "one by one"
    saved: ClassVar[tuple[str, ...]] = ("epsilon",)

    domain: Domain
    epsilon: float
    outside: str = "refuse"

    def units(self) -> list[list[Asked]]:
        return [[Asked.about(self.domain, (name,), "grr", self.epsilon)] for name in self.domain.names]


def test_a_protocol_from_outside_is_read_after_it_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.protocols.kinds.PROTOCOLS", kinds := dict(PROTOCOLS))
    protocol = OneByOne(SMALL, 2.0, outside="random")
    with pytest.raises(LdpstatsError, match=r"the kind 'one by one'.*'sampled groups'.*register_protocol"):
        Protocol.from_json(protocol.to_json())
    assert register_protocol(OneByOne) is register_protocol(OneByOne) is kinds["one by one"]
    assert Protocol.from_json(protocol.to_json()) == protocol
    again = type("OneByOne", (OneByOne,), {"__doc__": "The same class, defined again.", "__module__": __name__})
    assert register_protocol(again) is kinds["one by one"] is again


class Incomplete:
    """Something with a kind, and no more."""

    kind = "incomplete"


class Half(OneByOne):
    """A protocol whose rows cannot be counted."""

    kind = "half"
    tables = None


Taken = type("Taken", (OneByOne,), {"kind": "rrba"})
Nameless = type("Nameless", (OneByOne,), {"kind": ""})
Unfinished = type("Unfinished", (AssignedQuestions,), {"kind": "unfinished"})
Wordless = type("Wordless", (OneByOne,), {"kind": 7})


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (Taken, "the kind 'rrba' of Taken"),
        (Incomplete, "without 'privacy', 'summary'"),
        (Half, "without 'tables'"),
        (Wordless, "a kind in words"),
        (Nameless, "a kind in words"),
        (Unfinished, "a class with all methods"),
        (WRITTEN["rrba"][0], "a class"),
    ],
)
def test_what_is_no_protocol_or_takes_a_kind_is_not_registered(cls: Any, said: str) -> None:
    with pytest.raises(LdpstatsError, match=said):
        register_protocol(cls)
    assert cls not in PROTOCOLS.values()


@pytest.mark.parametrize("body", [{"kind": "x"}, {"kind": ["rrba"]}, {}, [], None, {"kind": "rrba"}])
def test_other_texts_are_refused(body: Any) -> None:
    with pytest.raises(LdpstatsError, match="saved protocol"):
        Protocol.from_json(sealed("protocol", 1, body))
