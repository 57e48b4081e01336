"""Test vectors of clients: random words and what they make of them; `python tests/test_client.py` writes them anew."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

from support.protocol_files import body_of, sealed_again

from ldpstats import client
from ldpstats.answers.domain import Domain
from ldpstats.answers.ordered import ordered
from ldpstats.mechanisms import GRR, HR, OLH, OUE, RR, SS, SUE, Channel, FakeResponse, Mechanism, plain_mechanism
from ldpstats.numbers.grid import GRID
from ldpstats.protocols import RRBA, CentralLaplace, HadamardCoefficients, PerAttribute, SampledGroups
from ldpstats.protocols.rrba.query import GroupQuery, Query
from ldpstats.saving.files import sealed

VECTORS = Path(__file__).parents[2] / "clients" / "test_vectors.json"
LARGEST = GRID - 1
HALF_AND_QUARTERS = FakeResponse(GRID // 3, (GRID // 2, GRID // 4, GRID // 4))
SURELY_TRUE = FakeResponse(GRID, (0, 1, GRID - 1, 0))
ONE_SIDED = Channel([(GRID // 3, GRID - GRID // 3), (0, GRID)], values=["no", "yes"], outputs=["no", "yes"])
EDGES = Channel(
    [(1 << 48, 1, GRID - (1 << 48) - 1, 0), (0, 0, GRID, 0), (1, GRID - 2, 0, 1), (0, 0, 0, GRID), (1, 1, 1, GRID - 3)]
)
SIZES = Channel([[0.6, 0.2, 0.1, 0.1], [0.1, 0.6, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]], values=["klein", "mittel", "groß"])
KINDS = Channel([[1], [1], [1], [1]], values=[2, 2.5, True, "2"], outputs=[None])
SEXES = Channel([[0.5, 0.5], [0, 1]], outputs=["maybe", ("surely", 1 << 60)])
DOMAIN = Domain({"sex": ["F", "M"], "größe": ["klein", "mittel", "groß"], "1": [2, 2.5, True, "2"]})
FREE = RRBA(DOMAIN, p=0.3, block_size=50)
FLOORED = RRBA(DOMAIN, p=0.5, floor=0.5, views=[[["sex"], ["größe"]]], answer="view", block_size=50)


Change = Callable[[dict[str, Any]], Any]
"""What alters the body of a file."""


class Recorded:
    """A source of words: first some that were written down, then pseudorandom ones; it keeps what it gave.

    Parameters
    ----------
    title : str
        What the pseudorandom words follow from.
    first : int
        The words that were written down.
    """

    def __init__(self, title: str, *first: int) -> None:
        self.given: list[int] = []
        self._left = chain(first, _pseudorandom(title))

    def __call__(self) -> int:
        self.given.append(next(self._left))
        return self.given[-1]

    @property
    def texts(self) -> list[str]:
        """What was given, as texts: many a language would round the numbers."""
        return [str(word) for word in self.given]


def _pseudorandom(title: str) -> Iterator[int]:
    number = 0
    while True:
        yield int.from_bytes(hashlib.sha256(f"{title} {number}".encode()).digest()[:8], "little")
        number += 1


def vectors() -> dict[str, Any]:
    """Return all test vectors, as the client in Python has them."""
    return {
        "format": "ldpstats client test vectors",
        "version": 1,
        "reports": [_report(*case) for case in _report_cases()],
        "messages": [*(_message(*case) for case in _message_cases()), *_answers_to_queries()],
        "refusals": list(_refusals()),
    }


def text_of(plain: dict[str, Any]) -> str:
    """Return the file: a case in each line."""
    parts = []
    for name, value in plain.items():
        shown = json.dumps(value, ensure_ascii=False)
        if isinstance(value, list):
            shown = "[\n" + ",\n".join(json.dumps(one, ensure_ascii=False) for one in value) + "\n]"
        parts.append(f'"{name}": {shown}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def fair(bound: int) -> int:
    """Return the first word that is rejected where a number below the bound is drawn."""
    return GRID // bound * bound


def _report(title: str, mechanism: dict[str, Any], value: int, first: Sequence[int]) -> dict[str, Any]:
    source = Recorded(f"{title} {value}", *first)
    report = client.randomizer(mechanism).report(value, client.Words(source))
    shown = report if isinstance(report, int) else report.hex()
    return {"title": title, "mechanism": mechanism, "value": value, "words": source.texts, "report": shown}


def _report_cases() -> Iterator[tuple[str, dict[str, Any], int, Sequence[int]]]:
    for mechanism, numerator, bound in _mechanisms():
        plain, k = plain_mechanism(mechanism), mechanism.k
        for value in dict.fromkeys((0, 1, k // 2, k - 1)):
            yield str(mechanism), plain, value, []
        for title, value, first in _edges(mechanism, numerator, bound):
            yield f"{mechanism}, {title}", plain, value, first
    for told, title in ((HALF_AND_QUARTERS, "truth or fake"), (SURELY_TRUE, "the truth for sure")):
        plain = plain_mechanism(told)
        for first in ((0, 0), (LARGEST, LARGEST), (GRID // 3, GRID // 2), (GRID // 3, GRID // 2 - 1), (LARGEST, 0)):
            yield title, plain, 2, first
        yield title, plain, 0, ()
    yield from _channel_cases()


def _channel_cases() -> Iterator[tuple[str, dict[str, Any], int, Sequence[int]]]:
    """Yield every value of channels, with the words on both sides of what begins where in its row."""
    for channel in (ONE_SIDED, EDGES, SIZES, KINDS):
        for value, row in enumerate(channel.rows):
            borders = {upper + step for upper in accumulate(row) for step in (-1, 0, 1)}
            for word in sorted(border for border in {0, LARGEST, *borders} if 0 <= border < GRID):
                yield f"the row {value} of a channel", plain_mechanism(channel), value, (word,)


def _edges(mechanism: Mechanism, numerator: int, bound: int) -> Iterator[tuple[str, int, list[int]]]:
    """Yield words at which something else happens than at their neighbours."""
    hashed = [LARGEST, LARGEST] if isinstance(mechanism, OLH) else []
    last = mechanism.k - 1
    for place, coin in {"just below": numerator - 1, "equal to": numerator, "far above": LARGEST}.items():
        yield f"a coin {place} the numerator", last, [*hashed, coin]
    if fair(bound) < GRID:
        between = [0] if isinstance(mechanism, HR) else []
        rejected = [*between, LARGEST, fair(bound), fair(bound) - 1]
        yield "words that are rejected", 0, [*hashed, numerator, *rejected]
        yield "words that are rejected after a truth", last, [*hashed, 0, *rejected]
    if isinstance(mechanism, (SUE, OUE)):
        for coin in (mechanism.bit_numerators[0] - 1, mechanism.bit_numerators[0]):
            yield "the own bit at its numerator", 0, [coin]
    if isinstance(mechanism, HR):
        size = plain_mechanism(mechanism)["size"]
        start = last // (size - 1) * size
        for elsewhere in sorted({0, start - 1, start} & set(range(bound - size // 2))):
            yield "an output beside the own block", last, [LARGEST, 0, size // 2 + elsewhere]
    yield "the smallest words", last, [0] * (last + 4)


def _mechanisms() -> Iterator[tuple[Mechanism, int, int]]:
    """Yield mechanisms with the numerator of their first coin, and the bound of a number that follows it."""
    rr = RR(2, 1.0)
    yield rr, int(plain_mechanism(rr)["probabilities"]["truth"]), 1
    for grr in (GRR(2, 0.5), GRR(7, 1.0), GRR(300, 4.0), GRR(65537, 12.0)):
        yield grr, grr.truth, grr.k - 1
    for unary in (SUE(2, 1.0), SUE(9, 2.0), OUE(8, 1.0), OUE(9, 1.0), OUE(17, 3.0)):
        yield unary, unary.bit_numerators[1], 1
    for ss in (SS(4, 1.0, omega=1), SS(2, 1.0), SS(9, 1.0, omega=8), SS(256, 4.0), SS(300, 4.0)):
        yield ss, int(plain_mechanism(ss)["probabilities"]["holds"]), ss.k - 1
    for olh in (OLH(2, 0.2), OLH(100, 1.0), OLH(1000, 3.0), OLH(5000, 5.7)):
        yield olh, olh.truth, olh.hash_symbols - 1
    for hr in (HR(2, 1.0), HR(3, 1.0), HR(10, 1.0, blocks=3), HR(100, 4.0, blocks=7), HR(1000, 3.0)):
        yield (
            hr,
            int(plain_mechanism(hr)["probabilities"]["inside"]),
            hr.blocks * plain_mechanism(hr)["size"] - plain_mechanism(hr)["size"] // 2,
        )


def _message(title: str, text: str, record: dict[str, Any], first: Sequence[int] = (), **more: str) -> dict[str, Any]:
    source = Recorded(f"{title} {record}", *first)
    message = answered(client, {"protocol": text, "record": record, **more}, source)
    return {"title": title, "protocol": text, "record": record, **more, "words": source.texts, "message": message}


def answered(module: Any, case: dict[str, Any], word: client.Word | None) -> str:
    """Return what a client in Python answers in a case."""
    respondent = module.Respondent(case["protocol"], word)
    if "query" in case:
        return str(respondent.answer_query(case["query"], case["record"]))
    return str(respondent.answer(case["record"], case.get("token")))


def _message_cases() -> Iterator[tuple[Any, ...]]:
    record = {"sex": "M", "größe": "groß", "1": True, "of no matter": None}
    for name in ("grr", "oue", "ss", "olh", "hr"):
        yield f"pairs by {name}", SampledGroups(DOMAIN, epsilon=1.5, mechanism=name).to_json(), record
    pairs = SampledGroups(DOMAIN, epsilon=1.0).to_json()
    for own in (2, 2.5, True, "2"):
        yield "categories of all kinds", pairs, {**record, "1": own}
    yield "a number with a point is the same number", pairs, {**record, "1": 2.0}
    yield "a rejected word for the unit", pairs, record, [LARGEST, LARGEST - 1]
    yield "one unit still takes a word", SampledGroups(DOMAIN, k=3, epsilon=2.0).to_json(), record
    every = PerAttribute(DOMAIN, k=1, epsilon=3.0, mechanism="sue").to_json()
    yield "a unit of several rows", every, record
    for name in ("grr", "sue", "oue", "hr"):
        crossed = PerAttribute(DOMAIN, k=2, epsilon=3.0, mechanism=name).to_json()
        yield "answers that travel together", crossed, record
    channels = [SEXES, SIZES, KINDS]
    for own in record, {**record, "sex": "F", "größe": "klein"}:
        own_level = SampledGroups(DOMAIN, k=1, epsilon=math.inf, mechanism=channels)
        yield "channels, one of which shows something for certain", own_level.to_json(), own
    bounded = SampledGroups(DOMAIN, groups=[["größe"], ["1"]], epsilon=2.0, mechanism=channels[1:])
    yield "channels at their own level", bounded.to_json(), record
    crossed = PerAttribute(DOMAIN, k=2, sampled=False, epsilon=math.inf, mechanism=channels)
    yield "outputs of channels that travel together", crossed.to_json(), record
    many = Domain({"yes": [False, True], "number": range(300)})
    numbers = PerAttribute(many, k=2, epsilon=9.0, mechanism="grr").to_json()
    yield "numbers of two bytes", numbers, {"yes": True, "number": 299}
    huge = Domain({"id": [1 << 60, -(10**30), (1 << 53) - 1, "1152921504606846976"]})
    numbered = SampledGroups(huge, k=1, epsilon=2.0, mechanism="grr").to_json()
    for category in huge.categories["id"]:
        whole = isinstance(category, int) and abs(category) >= 1 << 53
        yield "numbers that languages round", numbered, {"id": {"int": str(category)} if whole else category}
    in_order = Domain({"age": ordered(["young", "old"], scores=[20, 50.5]), "car": ordered(["none", "one"])})
    yield "categories in order", SampledGroups(in_order, epsilon=1.0).to_json(), {"age": "old", "car": "none"}
    odd = Domain({'"𐀀" : ': ["𐐀\\", '\\"', " , "]})
    for own in odd.categories['"𐀀" : ']:
        yield (
            "letters of two halves, and what quotes them",
            SampledGroups(odd, k=1, epsilon=2.0).to_json(),
            {'"𐀀" : ': own},
        )
    parities = HadamardCoefficients(DOMAIN, epsilon=1.0).to_json()
    for unit in range(16):
        yield "parities", parities, record, [unit]
    mixed = SampledGroups(DOMAIN, epsilon=0.5, outside="random").to_json()
    for missing in ({}, {"sex": None, "größe": "GROSS", "1": "2.5"}, {"sex": "F", "1": 2.5}, record):
        yield "substitutes, which are drawn for every question", mixed, missing
    spaced = json.dumps(json.loads(pairs), ensure_ascii=False, indent=2).replace("\n", "\r\n") + "\r\n"
    yield "spaces and line breaks make no difference", spaced, record


def _queries() -> Iterator[tuple[str, str]]:
    """Yield protocols that send queries, with a query each."""
    protocols = (
        RRBA(DOMAIN, epsilon=1.0),
        RRBA(DOMAIN, p=0.5, block_size=50),
        RRBA(DOMAIN, p=0.3, floor=0.5, k=1, answer="view", outside="random"),
    )
    for protocol in protocols:
        for unit, series in enumerate(protocol.series()):
            asked = zip(series.questions, series.blocks[0].randomizers, strict=True)
            groups = tuple(GroupQuery.about(DOMAIN.project(one.attributes), used) for one, used in asked)
            yield protocol.to_json(), Query(protocol.fingerprint(), unit, 0, f"{unit:032x}", groups).to_json()
    zeros, least = (0,) * 5, GRID // 4
    yield FREE.to_json(), query_of(FREE, (int(FREE.largest_p * GRID), (GRID, *zeros)))
    yield FREE.to_json(), query_of(FREE, (1, (*zeros, GRID)))
    told = (GRID // 2, (least, GRID - least)), (1, (GRID // 6 + 1, GRID // 6, GRID - 2 * (GRID // 6) - 1))
    yield FLOORED.to_json(), query_of(FLOORED, *told)


def query_of(protocol: RRBA, *told: tuple[int, Sequence[int]]) -> str:
    """Return a query about the groups of the first unit, with these chances of the truth and of fakes."""
    asked = zip(protocol.series()[0].questions, told, strict=True)
    groups = tuple(
        GroupQuery.about(protocol.domain.project(one.attributes), FakeResponse(truth, tuple(fake)))
        for one, (truth, fake) in asked
    )
    return Query(protocol.fingerprint(), 0, 0, "0" * 32, groups).to_json()


def _answers_to_queries() -> Iterator[dict[str, Any]]:
    record = {"sex": "M", "größe": "groß", "1": True}
    for text, query in _queries():
        yield _message("an answer to a query", text, record, query=query)
    text = SampledGroups(DOMAIN, epsilon=1.0).to_json()
    given = {"token": 'a"b\\c~!'}
    yield _message("a token", text, record, **given)


def _refusals() -> Iterator[dict[str, Any]]:
    """Yield what clients refuse; the error of every client holds what `names` says."""
    protocol = SampledGroups(DOMAIN, epsilon=1.0, mechanism="grr")
    body, record = body_of(protocol), {"sex": "M", "größe": "groß", "1": True}
    text = sealed_again(body)
    for own, named in (({"1": "true"}, "true"), ({"1": 3}, "3"), ({"1": 1}, "1"), ({"sex": None}, "null")):
        yield {"title": "an answer that is not listed", "protocol": text, "record": record | own, "names": named}
    without = {"sex": "M", "1": True}
    yield {"title": "a record without an answer", "protocol": text, "record": without, "names": "größe"}
    for token in ("", "two words", "ä", "x" * 201, "a\nb"):
        yield {"title": "a token", "protocol": text, "record": record, "token": token, "names": "token"}
    for title, altered, named in _altered_texts(body, text):
        yield {"title": title, "protocol": altered, "record": record, "names": named}
    for title, change, named in _altered_bodies():
        changed = json.loads(json.dumps(body))
        change(changed)
        yield {"title": title, "protocol": sealed_again(changed), "record": record, "names": named}
    yield {"title": "a query where none is asked", "protocol": text, "record": record, "query": "{}", "names": "query"}
    yield from _other_refusals(record)


def _other_refusals(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    curators = CentralLaplace(DOMAIN, epsilon=1.0).to_json()
    yield {"title": "a curator's protocol", "protocol": curators, "record": record, "names": "central laplace"}
    for mechanism in ("grr", "oue", "ss", "olh", "hr"):
        body = body_of(PerAttribute(DOMAIN, k=1, epsilon=3.0, mechanism=mechanism))
        body["privacy"]["epsilon"] = math.nextafter(body["privacy"]["epsilon"], 0)
        yield {"title": "the next smaller level", "protocol": sealed_again(body), "record": record, "names": "promised"}
    body = body_of(SampledGroups(DOMAIN, groups=[["sex"]], epsilon=math.inf, mechanism=[SEXES]))
    for title, change, named in _altered_channels():
        changed = json.loads(json.dumps(body))
        change(changed)
        yield {"title": title, "protocol": sealed_again(changed), "record": record, "names": named}
    tight = body_of(SampledGroups(DOMAIN, groups=[["größe"]], epsilon=2.0, mechanism=[SIZES]))
    tight["privacy"]["epsilon"] = math.nextafter(tight["privacy"]["epsilon"], 0)
    yield {"title": "the next smaller level", "protocol": sealed_again(tight), "record": record, "names": "promised"}
    body = body_of(PerAttribute(DOMAIN, k=2, epsilon=3.0, mechanism="sue"))
    for title, change, named in _altered_crossings():
        changed = json.loads(json.dumps(body))
        change(changed)
        yield {"title": title, "protocol": sealed_again(changed), "record": record, "names": named}
    (text, query), *_ = _queries()
    body = json.loads(text)["body"]
    _setting("units", 0, 0, "answers", [0, 1, 2, 3, 4, 10**18])(body)
    yield {
        "title": "answers in a protocol of queries",
        "protocol": sealed_again(body),
        "record": record,
        "names": "answers",
    }
    yield {"title": "no query", "protocol": text, "record": record, "names": "queries"}
    for title, change, named in _altered_queries():
        changed = json.loads(query)
        change(changed)
        asked = json.dumps(changed, ensure_ascii=False)
        yield {"title": title, "protocol": text, "query": asked, "record": record, "names": named}
    for title, text, asked, named in _broken_promises():
        yield {"title": title, "protocol": text, "query": asked, "record": record, "names": named}


def _broken_promises() -> Iterator[tuple[str, str, str, str]]:
    """Yield files whose promises are none, and queries that tell more than a file promises."""
    infinite, bounded = body_of(FREE), body_of(FLOORED)
    assert (infinite["privacy"]["epsilon"], infinite["privacy"]["floor"]) == ("infinite", "0")
    most, even, zeros = int(infinite["privacy"]["truth"]), (GRID // 2, GRID // 2), (0,) * 5
    query = query_of(FREE, (most, (GRID, *zeros)))
    for name, wrong in (("truth", str(GRID)), ("truth", "0"), ("truth", 0.3), ("floor", str(GRID + 1)), ("floor", "")):
        body = json.loads(json.dumps(infinite))
        body["privacy"][name] = wrong
        yield "a promise that is none", sealed_again(body), query, f"{name} = "
    for name in ("truth", "floor"):
        body = json.loads(json.dumps(infinite))
        del body["privacy"][name]
        yield "a promise that is missing", sealed_again(body), query, f"privacy without {name}"
    for level, certain in (("infinite", None), ("infinite", "no"), ("infinite", True), (1.5, infinite), (1.5, None)):
        body = json.loads(json.dumps(infinite))
        words = infinite["privacy"]["certain"] if certain is infinite else certain
        body["privacy"] |= {"epsilon": level, "certain": words}
        yield "certain answers that are not named", sealed_again(body), query, "with certain = "
    del (body := json.loads(json.dumps(infinite)))["privacy"]["certain"]
    yield "certain answers that are not named", sealed_again(body), query, 'the level "infinite" with certain = nothing'
    body = json.loads(json.dumps(infinite))
    body["units"][0] *= 2
    yield "twice about an attribute", sealed_again(body), query, "a unit that asks twice about an attribute"
    for truth in (most + 1, GRID - 1, GRID):
        query = query_of(FREE, (truth, (GRID, *zeros)))
        named = f"the truth with probability {truth} / 2^64. Allowed: at most the promised {most} / 2^64"
        yield "more truth than promised", sealed_again(infinite), query, named
    for truth in (GRID // 2 + 1, GRID):
        query = query_of(FLOORED, (1, even), (truth, (GRID // 3 + 1, GRID // 3, GRID // 3)))
        yield "more truth than promised", sealed_again(bounded), query, f"the truth with probability {truth} / 2^64"
    query = query_of(FLOORED, (1, even), (1, (GRID // 6 - 1, GRID // 3, GRID - GRID // 6 - GRID // 3 + 1)))
    yield "a fake below the floor", sealed_again(bounded), query, f"at least {GRID // 6} / 2^64, by the promised floor"
    for floor in ("0", "2", bounded["privacy"]["floor"]):
        body = json.loads(json.dumps(bounded))
        body["privacy"]["floor"] = floor
        query = query_of(FLOORED, (1, (GRID, 0)), (1, (GRID // 3 + 1, GRID // 3, GRID // 3)))
        yield "a fake that never comes", sealed_again(body), query, "an answer that would be the truth for certain"


def _altered_channels() -> Iterator[tuple[str, Change, str]]:
    """Yield what is wrong in a file that asks for sex by a channel, first."""
    first, rows = ("mechanisms", 0), ("mechanisms", 0, "probabilities", "rows")
    half, whole = str(GRID // 2), str(GRID)
    for wrong in (None, "1", [half, half], [[half, half], 7], [{}, {}], [[half, None], [half, half]]):
        yield "rows that are none", _setting(*rows, wrong), "Allowed: "
    for wrong in ("-1", str(GRID + 1), "01", " 1", 1, 0.5, ["1"]):
        yield "an entry that is none", _setting(*rows, 1, 1, wrong), "rows = "
    yield "too few rows", _setting(*rows, [[half, half]]), "1 rows for 2 values"
    yield "too many rows", _setting(*rows, [[half, half]] * 3), "3 rows for 2 values"
    yield "no rows", _setting(*rows, []), "0 rows"
    yield "rows of other values than are asked for", _setting(*first, "k", 3), "2 rows for 3 values"
    for wrong in ([], [half], [half] * 3, [half, str(GRID // 2 - 1)], [whole], [half, half, "0"], [whole, whole]):
        yield "a row that does not add up, or is of other outputs", _setting(*rows, 1, wrong), "outputs that add up to"
    yield "rows without outputs", _setting(*rows, [[], []]), "a row of 0 outputs that add up to 0"
    yield "an output that nobody sends", _setting(*rows, [[half, "0", half]] * 2), "the output 1 that no value sends"
    yield (
        "no rows at all",
        lambda body: body["mechanisms"][0]["probabilities"].pop("rows"),
        "probabilities without rows",
    )
    yield "rows and more", _setting(*rows[:-1], "truth", "1"), "probabilities with"
    yield "another option", _setting(*first, "omega", 1), "omega"
    for what, number in (("values", 2), ("outputs", 2)):
        for wrong in ([], ["x"], ["x"] * 3):
            named = f"the names of {len(wrong)} {what}. Allowed: a name for each of the {number}"
            yield "names of others", _setting(*first, what, wrong), named
        for wrong in (None, "xy", {"x": 1, "y": 2}, 2):
            yield "names that are none", _setting(*first, what, wrong), f"{what} of a mechanism that is"
    for level in (0, 1, 999_999):
        promise = {"epsilon": level, "unit": "a respondent's whole record"}
        yield "a level where there is none", _setting("privacy", promise), "the level infinity"
    yield "no level, and no word of it", lambda body: body["privacy"].pop("certain"), "with certain = nothing"
    yield "no level, in other words", _setting("privacy", "certain", "perhaps"), 'with certain = "perhaps"'
    yield "certain answers at a level", _setting("privacy", "epsilon", 1), "the level 1 with certain"
    long = [["1"] * 4_000 + [str(GRID - 4_000)], ["0"] * 4_000 + [whole]]
    yield "outputs that take too long together", _asked_often(long, 1_049), f"{1_049 * 4_001} values"


def _asked_often(rows: list[list[str]], times: int) -> Change:
    """Return what asks a question by a channel of these rows so many times."""

    def change(body: Any) -> None:
        body["mechanisms"][0]["probabilities"]["rows"] = rows
        body["units"][0] *= times

    return change


def _altered_crossings() -> Iterator[tuple[str, Change, str]]:
    row, ss = ("units", 0, 0), plain_mechanism(SS(4, 1.0))
    yield "numbers that are too short", _setting(*row, "bytes", 0), "bytes"
    yield "crossed answers of nothing", _setting(*row, "crossed", []), "crossed"
    yield "a crossed answer with an unknown name", _setting(*row, "crossed", 0, "bits", 2), "bits"
    yield "a row that is both", _setting(*row, "mechanism", 0), "mechanism"
    yield "a crossed set", _setting("mechanisms", 2, ss), "crossed"


def _altered_queries() -> Iterator[tuple[str, Change, str]]:
    group = ("groups", 0)
    yield "another protocol", _setting("protocol", "p0123456789ab"), "p0123456789ab"
    yield "an older query", lambda query: query.pop("format"), "format"
    yield "a newer query", _setting("version", 2), "version 2"
    yield "more truth than the level allows", _setting(*group, "truth", str(GRID // 2)), "promised"
    yield "the truth for sure", _setting(*group, "truth", str(GRID)), f"probability {GRID} / 2^64"
    rare = [str(GRID // 12 - 1), *[str(GRID // 12)] * (4)]
    rare.append(str(GRID - sum(map(int, rare))))
    yield "a fake below the floor", _setting(*group, "fake", rare), "floor"
    rare[0], rare[-1] = str(GRID // 12), str(GRID - 5 * (GRID // 12))
    yield "fakes too rare for so much truth", _setting(*group, "fake", rare), "Allowed: at most the promised 1."
    yield "fakes that do not add up", _setting(*group, "fake", [str(GRID // 6)] * 6), "add up"
    yield "too few fakes", _setting(*group, "fake", [str(GRID // 2)] * 2), "cells"
    yield "probabilities as numbers", _setting(*group, "truth", 1), "truth"
    yield "another attribute", _setting(*group, "domain", 0, "name", "age"), "age"
    yield "other categories", _setting(*group, "domain", 0, "categories", ["M", "F"]), "own attributes"
    yield (
        "a truth value as a number",
        _setting(*group, "domain", [{"name": "1", "categories": [2, 2.5, 1, "2"]}]),
        "own",
    )
    yield "a group twice", lambda query: query["groups"].append(query["groups"][0]), "groups"
    yield "no groups", _setting("groups", []), "groups"
    yield "more groups than a unit may have", _setting("groups", [0] * 4097), "4097 groups"
    yield "a number that languages round", _setting("number", 2**53), "number"
    yield "a token that is none", _setting("token", "ä"), "token"
    yield "an unknown name", _setting("hurry", 1), "hurry"


def _altered_texts(body: dict[str, Any], text: str) -> Iterator[tuple[str, str, str]]:
    yield "another word in the body", text.replace("klein", "Klein"), "digest"
    yield "a space in a category", text.replace("klein", "kl ein"), "digest"
    yield "a file cut short", text[:-40], "a protocol file"
    yield "nothing", "", "a protocol file"
    yield "a number", "7", "format"
    yield "a name that stands twice", text.replace('"version": 1', '"version": 1, "version": 1'), "twice"
    yield "a name that stands twice in the body", _twice(body), "twice"
    yield "another format", sealed("table", 2, body), "ldpstats table"
    yield "an older version", sealed("protocol", 0, body), "version 0"
    yield "a newer version", sealed("protocol", 2, body), "version 2"
    yield "something behind the body", text[:-1] + ', "more": 1}', "more"
    for wrong in ("[" * 33, '{"a":' * 33 + "1" + "}" * 33):
        yield "nested too deep", wrong, "32 deep"
    deepest = json.dumps(json.loads("[" * 28 + "]" * 28))  # the body's parameters stand two levels deep
    yield "a level too many", text.replace('"parameters":{', f'"parameters": {{"more": [[{deepest}]], '), "32 deep"
    yield "a number without end", text.replace('"epsilon":1.0', f'"epsilon": 1.{"0" * 99}'), "100 letters"
    yield "no number", text.replace('"epsilon":1.0', '"epsilon": NaN'), "a protocol file"


def _twice(body: dict[str, Any]) -> str:
    """Return a file that says two different things of the same name, with the digest of what stands there."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    twice = text.replace('"outside":"refuse"', '"outside":"random","outside":"refuse"')
    assert twice != text
    digest = hashlib.sha256(twice.encode()).hexdigest()
    whole = json.loads(sealed_again(body))
    (name,) = (name for name in whole if name.startswith("digest"))
    return f'{{"format":"ldpstats protocol","version":1,"{name}":"{digest}","body":{twice}}}'


def _setting(*path: Any) -> Change:
    """Return what puts the last of a path where the others lead."""
    *places, last, value = path

    def change(body: Any) -> None:
        for place in places:
            body = body[place]
        body[last] = value

    return change


def _twice_the_largest(mechanism: dict[str, Any]) -> Change:
    """Return what asks two questions of the largest mechanism, whose values come to twice what a unit may have."""

    def change(body: Any) -> None:
        body["mechanisms"][0] = mechanism
        body["units"][0] *= 2

    return change


def _altered_levels() -> Iterator[tuple[str, Change, str]]:
    yield "a level that is none", _setting("privacy", "epsilon", -1), "-1"
    for level in (10**99, 1e7, 1_000_000.5):
        yield "a level that is none in any language", _setting("privacy", "epsilon", level), "the level"
    yield "a level that is left open", _setting("privacy", "epsilon", "infinite"), "infinite"
    yield "a level in other words", _setting("privacy", "epsilon", "Infinity"), "or infinite"
    yield "a level as text", _setting("privacy", "epsilon", "1"), "level"
    yield "a level of something else", _setting("privacy", "unit", "a report"), "a report"
    surely = plain_mechanism(FakeResponse(GRID, (GRID // 6 + 4, *(GRID // 6,) * 5))) | {"epsilon": 1.0}
    yield "a mechanism that tells the truth for sure", _setting("mechanisms", 0, surely), "the level infinity"
    certain = body_of(FREE)["privacy"]["certain"]
    yield "certain answers at a level", _setting("privacy", "certain", certain), "the level 1 with certain"


def _altered_bodies() -> Iterator[tuple[str, Change, str]]:
    first, truth = ("mechanisms", 0), ("mechanisms", 0, "probabilities")
    row = ("units", 0, 0)
    yield "an unknown mechanism", _setting(*first, "name", "blh"), "blh"
    yield "a mechanism of many answers", _setting(*first, "name", "rappor"), "rappor"
    yield "rr with more than two values", _setting(*first, "name", "rr"), "rr"
    hr = plain_mechanism(HR(6, 1.0))
    for wrong in ({"size": 6}, {"size": 4, "blocks": 1}, {"size": 0}):
        yield (
            "hr with blocks that do not fit",
            _setting("mechanisms", 0, hr | wrong),
            "size" if wrong["size"] < 2 else "hr",
        )
    fakes = plain_mechanism(HALF_AND_QUARTERS)
    yield "fakes for fewer values", _setting("mechanisms", 0, {**fakes, "k": 6}), "fakes"
    yield "a mechanism that is no object", _setting(*first, "grr"), "a mechanism"
    yield "probabilities that are no object", _setting(*first, "probabilities", ["1"]), "probabilities"
    yield "an unknown option", _setting(*first, "symbols", 4), "symbols"
    yield "an unknown probability", _setting(*truth, "lie", "4"), "lie"
    yield "a missing probability", lambda body: body["mechanisms"][0].update(probabilities={}), "truth"
    yield "a channel that tells more than promised", _setting(*truth, "truth", str(LARGEST)), "promised"
    yield "a channel that hides the truth too rarely", _setting(*truth, "truth", "1"), "promised"
    yield "a level below that of the channel", _setting("privacy", "epsilon", 0.9999999999999999), "promised"
    yield "a level of zero", _setting("privacy", "epsilon", 0), "promised"
    for wrong in (str(GRID), "0", "-1", "1e3", "12.0", " 7", "07", "７", 7, None, ""):
        yield "a probability that is none", _setting(*truth, "truth", wrong), "truth"
    yield from _altered_levels()
    yield "a fingerprint that is none", _setting("fingerprint", "0123456789ab"), "0123456789ab"
    yield "an unknown policy", _setting("outside", "ignore"), "ignore"
    yield "an unknown name", _setting("later", 1), "later"
    yield "an unknown name in a row", _setting(*row, "weight", 1), "weight"
    yield "no units, as a curator's protocol has", lambda body: body.pop("units"), "units"
    yield "an empty list of units", _setting("units", []), "units"
    yield "a unit without rows", _setting("units", 0, []), "units"
    yield "a unit that is none", _setting("units", 0, "row"), "unit"
    yield "an attribute nobody knows", _setting(*row, "attributes", ["sex", "age"]), "age"
    yield "an attribute that stands twice", _setting(*row, "attributes", ["sex", "sex"]), "sex"
    yield "a mechanism of other values", _setting(*row, "mechanism", 1), "cells"
    yield "a mechanism that is not there", _setting(*row, "mechanism", 99), "99"
    yield "a mechanism as a truth value", _setting(*row, "mechanism", True), "true"
    yield "too few answers", _setting(*row, "answers", [0, 1]), "cells"
    yield "an answer beyond the mechanism", _setting(*row, "answers", [0, 1, 2, 3, 4, 6]), "cells"
    yield "an answer that no cell has", _setting(*row, "answers", [0, 1, 2, 3, 4, 4]), "cells"
    yield "categories that are alike", _setting("domain", 0, "categories", ["F", "F"]), "categories"
    yield "numbers that are alike", _setting("domain", 2, "categories", [2, 2.0, "2", True]), "categories"
    for wrong in (2**53, -(2**53), {"int": "7"}, {"int": str(2**53 - 1)}, {"int": 2**60}, {"int": "9" * 16, "b": 1}):
        yield "a number that languages round", _setting("domain", 2, "categories", [2, wrong, "2"]), "categories"
    yield "no categories", _setting("domain", 0, "categories", []), "categories"
    yield "attributes that are alike", _setting("domain", 0, "name", "größe"), "attributes"
    for wrong in ([1], [1, 1], [2, 1], [1, None], [1, True], [1, "2"]):
        in_order = {"name": "sex", "categories": ["F", "M"], "ordered": True, "scores": wrong}
        yield "scores that do not ascend, one for each", _setting("domain", 0, in_order), "scores that ascend"
    yield "an order that is not true", _setting("domain", 0, "ordered", 1), "ordered = 1 "
    yield "scores without an order", _setting("domain", 0, "scores", [1, 2]), "scores that ascend"
    yield "a domain that keeps no order", _setting("domain", {"sex": ["F", "M"]}), "domain"
    largest = {**plain_mechanism(GRR(6, 1.0)), "k": 2**22}
    yield "mechanisms that take too long together", _twice_the_largest(largest), "8388608 values"
    yield "values that are too many", _setting(*first, "k", 2**22 + 1), "4194305"
    yield "one value", _setting(*first, "k", 1), "k = 1"
