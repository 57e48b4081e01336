"""Saved protocols: files that any language can act on, that keep their mechanisms, and that nobody alters unseen."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from jsonschema import Draft202012Validator
from support.protocol_files import KINDS, SMALL, body_of, schema, sealed_again

import ldpstats as ldp
from ldpstats import GRR, HR, OUE, RRBA, Domain, LdpstatsError, PerAttribute, ProductDomain, SampledGroups, WholeView
from ldpstats.answers.questions import Question
from ldpstats.client import Respondent
from ldpstats.mechanisms import FakeResponse, Mechanism, local_hashing, mechanism, registry, unary
from ldpstats.protocols import PROTOCOLS, Asked, AssignedQuestions, Protocol, assigned, register_protocol

SCHEMA = Draft202012Validator(schema())
PEOPLE = pd.DataFrame({"a": [0, 1, 1, 0] * 9, "b": ["x", "z", "y", "x"] * 9, "c": [True, False, False, True] * 9})
FOLLOWING: dict[str, Any] = {
    "sampled groups": SampledGroups(SMALL, epsilon=1.0),
    "whole view": WholeView(SMALL, epsilon=4.0, k=1),
    "one whole view": WholeView(SMALL, epsilon=2.0),
    "product domain": ProductDomain(SMALL, epsilon=1.5),
    "per attribute": PerAttribute(SMALL, epsilon=3.0),
    "one attribute": PerAttribute(SMALL, epsilon=1.0, sampled=True),
}
"""Protocols whose mechanisms the ranking decides."""


# -- what a file says


@pytest.mark.parametrize("name", KINDS)
def test_the_published_schema_knows_every_file(name: str) -> None:
    SCHEMA.validate(json.loads(KINDS[name].to_json()))
    assert {one.kind for one in KINDS.values()} == set(PROTOCOLS)


def test_the_schema_itself_is_one_and_names_no_place() -> None:
    Draft202012Validator.check_schema(schema())
    assert "$id" not in schema()


@pytest.mark.parametrize("name", KINDS)
def test_a_file_is_read_as_it_was_written(name: str) -> None:
    protocol = KINDS[name]
    again = Protocol.from_json(protocol.to_json())
    assert (again, again.to_json(), again.fingerprint()) == (protocol, protocol.to_json(), protocol.fingerprint())


@pytest.mark.parametrize("name", KINDS)
def test_the_digest_is_that_of_the_text_itself(name: str) -> None:
    """As readers in other languages find it: the text behind "body", less the spaces between the parts."""
    text = KINDS[name].to_json()
    body = text[text.index('"body": ') + len('"body": ') : -1]
    plain = re.sub(r'("(?:[^"\\]|\\.)*")|\s', lambda found: found[1] or "", body)
    assert hashlib.sha256(plain.encode()).hexdigest() == json.loads(text)["digest against accidents, not attackers"]


@pytest.mark.parametrize("name", KINDS)
def test_no_whole_number_is_one_that_doubles_would_round(name: str) -> None:
    def exact(digits: str) -> int:
        assert abs(int(digits)) < 1 << 53
        return int(digits)

    json.loads(KINDS[name].to_json(), parse_int=exact)


@pytest.mark.parametrize("name", [name for name, one in KINDS.items() if isinstance(one, AssignedQuestions)])
def test_cells_answers_and_mechanisms_follow_from_the_file_alone(name: str) -> None:
    """Worked out as the page on the file says, with nothing of ours but the records."""
    protocol, body = KINDS[name], body_of(KINDS[name])
    places = {one["name"]: column for column, one in enumerate(body["domain"])}
    sizes = {one["name"]: len(one["categories"]) for one in body["domain"]}
    codes = np.argwhere(np.ones(protocol.domain.shape))
    assert len(body["units"]) == len(protocol._units)
    for unit, rows in zip(body["units"], protocol._units, strict=True):
        for row, own in zip(unit, rows, strict=True):
            for said, asked in zip(row.get("crossed", [row]), own.asked, strict=True):
                used = body["mechanisms"][said["mechanism"]]
                assert (used["name"], used["k"], used["epsilon"]) == (
                    asked.mechanism.name,
                    asked.mechanism.k,
                    asked.mechanism.epsilon,
                )
                for record in codes:
                    cell = 0
                    for attribute in said["attributes"]:
                        cell = cell * sizes[attribute] + int(record[places[attribute]])
                    answer = said["answers"][cell] if "answers" in said else cell
                    assert answer == asked.question.answer(protocol.domain, record[None])[0]


def test_the_page_on_the_file_shows_one_and_computes_its_digest() -> None:
    page = (Path(__file__).parents[2] / "docs" / "protocol-file.md").read_text("utf-8")
    (shown,), (code,) = (
        re.findall(rf"```{language}\n(.*?)```", page, flags=re.DOTALL) for language in ("json", "python")
    )
    protocol = SampledGroups(Domain({"sex": ["F", "M"], "travel": ["car", "train", "other"]}), epsilon=1.0)
    assert json.loads(shown) == json.loads(protocol.to_json())
    defined: dict[str, Any] = {}
    exec(code, defined)  # noqa: S102  # what the page says is what is tested
    for text in (shown, protocol.to_json(), json.dumps(json.loads(shown), indent=3, ensure_ascii=False)):
        assert defined["digest"](text) == json.loads(shown)["digest against accidents, not attackers"]
        assert Protocol.from_json(text) == protocol
    for field in schema()["$defs"]["body"]["properties"]:
        assert f"`body.{field}`" in page
    assert all(f"`{name}`" in page for name in ("rr", "grr", "sue", "oue", "ss", "olh", "hr", "truth or fake"))


# -- mechanisms of the file


def other_ranking(monkeypatch: pytest.MonkeyPatch, best: str = "oue") -> None:
    """Let a later version find other mechanisms best."""
    monkeypatch.setattr(assigned, "best_name", lambda *_: best)


@pytest.mark.parametrize("name", FOLLOWING)
def test_a_changed_ranking_orphans_no_reports(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol = FOLLOWING[name]
    text, rows, fingerprint = protocol.to_json(), protocol.reports(PEOPLE, rng=1), protocol.fingerprint()
    tables = protocol.tables(rows)
    other_ranking(monkeypatch)
    assert type(protocol)(SMALL, epsilon=protocol.epsilon, **changed(protocol)).fingerprint() != fingerprint
    read = Protocol.from_json(text)
    assert type(read) is type(protocol)
    assert read.fingerprint() == fingerprint
    assert read.tables(rows).to_json() == tables.to_json()
    again = Protocol.from_json(read.to_json())
    assert (again, again.to_json()) == (read, read.to_json())
    SCHEMA.validate(json.loads(read.to_json()))
    # the file that is written now names no ranking
    assert "mechanism" not in body_of(read)["parameters"]
    assert body_of(read)["mechanisms"] == json.loads(text)["body"]["mechanisms"]


def changed(protocol: Any) -> dict[str, Any]:
    """Return the parameters beside the level and the mechanism."""
    return {name: getattr(protocol, name) for name in protocol.saved if name not in ("epsilon", "mechanism")}


def test_a_name_that_stands_for_other_parameters_keeps_those_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as a threshold of least variance, which a numerical library may find a little elsewhere tomorrow."""
    protocol = SampledGroups(SMALL, epsilon=1.0, mechanism="the")
    text = protocol.to_json()
    monkeypatch.setattr(unary, "best_threshold", lambda _: 0.75)
    assert SampledGroups(SMALL, epsilon=1.0, mechanism="the").fingerprint() != protocol.fingerprint()
    assert Protocol.from_json(text).fingerprint() == protocol.fingerprint()


def test_other_probabilities_than_the_mechanism_has_are_refused_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    body = body_of(SampledGroups(SMALL, epsilon=1.0, mechanism="olh"))
    altered = deepcopy(body)
    altered["mechanisms"][0]["probabilities"]["truth"] = "9000000000000000000"
    with pytest.raises(LdpstatsError, match=r"OLH\(k=6, epsilon=1.0\) with .*9000000000000000000.*version wrote it"):
        Protocol.from_json(sealed_again(altered))
    monkeypatch.setattr(local_hashing, "best_symbols", lambda _: 5)
    with pytest.raises(LdpstatsError, match=r"OLH\(k=6, .*\) with .*'symbols': 4.*has in this version.*'symbols': 5"):
        Protocol.from_json(sealed_again(body))


def test_a_fingerprint_of_something_else_is_refused() -> None:
    body = body_of(KINDS["sampled groups"]) | {"fingerprint": "p0123456789ab"}
    with pytest.raises(LdpstatsError, match="its 'fingerprint' and the rest of it are not of one protocol"):
        Protocol.from_json(sealed_again(body))


def test_mechanisms_may_be_given_one_by_one() -> None:
    protocol = SampledGroups(SMALL, epsilon=1.0, mechanism=[OUE(6, 1.0), HR(4, 1.0, blocks=3), GRR(6, 1.0)])
    assert [one.mechanism for one in protocol._asked] == list(protocol.mechanism)
    tables = protocol.tables(protocol.reports(PEOPLE, rng=1))
    assert sum(table.n for table in tables) == len(PEOPLE)
    same = SampledGroups(SMALL, epsilon=1.0, mechanism=[one.mechanism for one in FOLLOWING["sampled groups"]._asked])
    assert same.fingerprint() == FOLLOWING["sampled groups"].fingerprint()
    crossed = PerAttribute(SMALL, epsilon=3.0, k=2, mechanism=[GRR(2, 1.0), OUE(3, 1.0), GRR(2, 1.0)])
    assert Protocol.from_json(crossed.to_json()) == crossed


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ([], "0 mechanisms. Allowed: one for each of the 3 answers"),
        ([OUE(6, 1.0)] * 4, "4 mechanisms"),
        ([OUE(6, 1.0), OUE(4, 1.0), OUE(5, 1.0)], r"OUE\(k=5, epsilon=1.0\) for 'b × c'. Allowed: .*k = 6"),
        ([OUE(6, 1.0), OUE(4, 2.0), OUE(6, 1.0)], r"OUE\(k=4, epsilon=2.0\) for 'a × c'. Allowed: .*epsilon = 1.0"),
        (["oue"] * 3, "'oue' as a mechanism"),
        (OUE(6, 1.0), "1 mechanisms. Allowed: one for each"),
        (None, "mechanism = None"),
        (["auto"], "'auto' as a mechanism"),
    ],
)
def test_mechanisms_that_do_not_fit_are_refused(given_: Any, said: str) -> None:
    with pytest.raises(LdpstatsError, match=said):
        SampledGroups(SMALL, epsilon=1.0, mechanism=given_)


# -- mechanisms and protocols of one's own


@dataclass(frozen=True, slots=True)
class Loud(GRR):
    """A mechanism from outside."""

    k: int
    epsilon: float
    volume: tuple[int, ...] = (1, 2)

    name: ClassVar[str] = "loud"
    aliases: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class Tellers(AssignedQuestions):
    """A protocol from outside: another randomizer for every attribute, and a question that coarsens."""

    kind: ClassVar[str] = "tellers"
    saved: ClassVar[tuple[str, ...]] = ("shares", "words")

    domain: Domain
    shares: tuple[tuple[int, ...], ...]
    words: str = "é"
    outside: str = "refuse"

    def units(self) -> list[list[Asked]]:
        used: list[Mechanism] = [FakeResponse(1 << 63, tuple(one)) for one in self.shares]
        asked = [
            Asked((name,), Question.of(self.domain, (name,)), one)
            for name, one in zip(self.domain.names, used, strict=False)
        ]
        halves = Question.of(self.domain, ("a", "b")).coarsened([0, 0, 1, 1, 0, 1])
        return [[one] for one in asked] + [[Asked(("a", "b"), halves, Loud(2, 1.0))]]


def tellers() -> Tellers:
    return Tellers(SMALL, ((1 << 63, 1 << 63), (1 << 64, 0, 0)))


def test_mechanisms_and_protocols_of_ones_own_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ldpstats.protocols.kinds.PROTOCOLS", dict(PROTOCOLS))
    register_protocol(Tellers)
    protocol, text = tellers(), tellers().to_json()
    SCHEMA.validate(json.loads(text))
    assert body_of(protocol)["mechanisms"][1] == {
        "name": "truth or fake",
        "k": 3,
        "epsilon": "infinite",
        "probabilities": {"truth": str(1 << 63), "fake": [str(1 << 64), "0", "0"]},
    }
    # the protocol makes its mechanisms itself: they need not be registered
    assert (Protocol.from_json(text), Protocol.from_json(text).to_json()) == (protocol, text)
    body = json.loads(text)["body"]
    body["mechanisms"][0]["probabilities"]["truth"] = "1"
    with pytest.raises(LdpstatsError, match="its 'mechanisms' and the rest of it are not of one protocol"):
        Protocol.from_json(sealed_again(body))


def test_a_registered_mechanism_is_that_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", (Loud,))
    used = [mechanism("loud", k, 1.0, volume=(3, k)) for k in (6, 4, 6)]
    protocol = SampledGroups(SMALL, epsilon=1.0, mechanism=used)
    assert Protocol.from_json(protocol.to_json()) == protocol
    SCHEMA.validate(json.loads(protocol.to_json()))
    monkeypatch.setattr(registry, "_registered", ())
    with pytest.raises(LdpstatsError, match="the mechanism 'loud'"):
        Protocol.from_json(protocol.to_json())


# -- files that somebody altered


def places(plain: Any) -> Iterator[list[Any]]:
    """Return the ways to all values in a body."""
    yield []
    pairs = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, value in pairs:
        yield from ([key, *rest] for rest in places(value))


STRANGERS: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([None, True, False, 0, 1, -1, 2.0, 1e300, "", "auto", "grr", "0", "01", [], {}, [[]], 1 << 60]),
    st.integers(-5, 5),
    st.text(max_size=3),
    st.just({"int": "5"}),
    st.lists(st.integers(0, 3), max_size=3),
)


def alter(data: st.DataObject, body: dict[str, Any]) -> dict[str, Any]:
    """Replace, add or leave out something anywhere in a body."""
    altered = deepcopy(body)
    *way, last = data.draw(st.sampled_from([way for way in places(body) if way]))
    within: Any = altered
    for key in way:
        within = within[key]
    how = data.draw(st.sampled_from(["replace", "leave out", "add", "swap"]))
    if how == "replace":
        within[last] = data.draw(STRANGERS)
    elif how == "leave out":
        del within[last]
    elif how == "add" and isinstance(within, list):
        within.insert(last, data.draw(STRANGERS))
    elif how == "add":
        within[data.draw(st.text(min_size=1, max_size=3))] = data.draw(STRANGERS)
    else:
        other = data.draw(st.sampled_from([way for way in places(body) if way]))
        value: Any = body
        for key in other:
            value = value[key]
        within[last] = deepcopy(value)
    return altered


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("examples", [40, pytest.param(500, marks=pytest.mark.exhaustive)])
def test_what_the_schema_forbids_is_refused(name: str, examples: int) -> None:
    """And what it cannot forbid is refused, or is a file that says the same."""

    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given(data=st.data())
    def refused_or_the_same(data: st.DataObject) -> None:
        text = sealed_again(altered := alter(data, body_of(KINDS[name])))
        try:
            read = Protocol.from_json(text)
        except LdpstatsError:
            return
        assert SCHEMA.is_valid(json.loads(text))
        kept = ["fingerprint", "domain", "outside", "privacy", *(["mechanisms", "units"] if "units" in altered else [])]
        assert {one: body_of(read).get(one) for one in kept} == {one: altered.get(one) for one in kept}
        assert read.fingerprint() == KINDS[name].fingerprint()

    refused_or_the_same()


@pytest.mark.parametrize("version", [0, 2, 1.0, True, "1", None])
def test_other_versions_are_refused(version: Any) -> None:
    whole = json.loads(KINDS["sampled groups"].to_json())
    with pytest.raises(LdpstatsError, match="its version is"):
        ldp.Protocol.from_json(json.dumps({**whole, "version": version}))


def test_numbers_of_numpy_are_written_as_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a mechanism from outside may hold them, which checks nothing."""
    monkeypatch.setattr(Loud, "__post_init__", lambda _: None)
    used = [Loud(k, np.float64(1.0), (np.uint8(3),)) for k in (6, 4, 6)]
    SCHEMA.validate(json.loads(SampledGroups(SMALL, epsilon=1.0, mechanism=used).to_json()))


def test_no_file_is_written_that_no_client_reads() -> None:
    """An aggregator, which would have to be saved with its protocol, is not even begun."""
    many = PerAttribute(Domain({f"a{number}": [0, 1] for number in range(4097)}), epsilon=1.0, k=1, mechanism="grr")
    long = RRBA(Domain({"a": [f"{number:04000}" for number in range(2200)]}), epsilon=1.0, k=1)
    for write, named in ((many.to_json, "4097 attributes"), (long.to_json, "bytes"), (long.aggregator, "bytes")):
        with pytest.raises(LdpstatsError, match=named) as refused:
            write()
        assert "fewer attributes" in refused.value.advice


def test_the_largest_files_that_are_written_are_read() -> None:
    """4,096 attributes, each a row of the one unit: the clients answer them, and the package reads them again."""
    protocol = PerAttribute(Domain({f"a{n}": [0, 1] for n in range(4096)}), epsilon=1.0, k=1, mechanism="grr")
    text = protocol.to_json()
    assert Respondent(text).epsilon == protocol.privacy().epsilon
    assert PerAttribute.from_json(text).fingerprint() == protocol.fingerprint()


@pytest.mark.parametrize("named", ["32 deep", "bytes", "20000 rows in a unit"])
def test_what_no_client_reads_is_not_read_here(named: str) -> None:
    body = body_of(KINDS["sampled groups"])
    body["units"][0] *= 20_000
    texts = {"32 deep": "[" * 100_000, "bytes": "9" * 10_000_000, "20000 rows in a unit": sealed_again(body)}
    start = time.process_time()
    with pytest.raises(LdpstatsError, match=f"not a saved protocol .*{named}"):
        Protocol.from_json(texts[named])
    assert time.process_time() - start < 1


def test_of_one_group_the_mechanism_itself_may_be_named() -> None:
    channel = ldp.Channel([[0.75, 0.25], [0.25, 0.75]])
    domain = ldp.Domain({"x": ["no", "yes"]})
    for named, epsilon in ((channel, 1.1), (mechanism("urr", k=2, epsilon=1.0, sensitive=[0]), float("inf"))):
        alone = ldp.SampledGroups(domain, groups=[("x",)], epsilon=epsilon, mechanism=named)
        assert alone == ldp.SampledGroups(domain, groups=[("x",)], epsilon=epsilon, mechanism=[named])
        assert alone.privacy().epsilon == named.strict_epsilon() <= epsilon
        # devices know channels alone
        assert Respondent(alone.to_json()).answer({"x": "no"})
