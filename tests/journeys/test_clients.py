"""Clients in every language: the published vectors, a real browser, and planted mistakes that the vectors find."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate, permutations, product
from math import inf, prod
from pathlib import Path
from queue import Queue
from threading import Thread
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.chromium import CHROMIUM, Chromium, chromium
from support.client_vectors import VECTORS, Recorded, answered, query_of
from support.protocol_files import body_of, sealed_again
from support.random_channels import random_channels

import ldpstats as ldp
from ldpstats import client
from ldpstats.answers.domain import Domain
from ldpstats.mechanisms import Channel, FakeResponse, joint_ratio, plain_mechanism
from ldpstats.numbers.grid import GRID
from ldpstats.privacy import strict_epsilon, worst_ratio
from ldpstats.protocols import (
    PROTOCOLS as REGISTERED,
    RRBA,
    AssignedQuestions,
    HadamardCoefficients,
    PerAttribute,
    ProductDomain,
    SampledGroups,
    WholeView,
)
from ldpstats.protocols.rrba import Answer
from ldpstats.saving.files import sealed

CLIENTS = Path(__file__).parents[2] / "clients"
JAVASCRIPT = CLIENTS / "js" / "ldpstats.mjs"
NODE = shutil.which("node")
PUBLISHED = json.loads(VECTORS.read_text(encoding="utf-8"))
QUERIED = next(case for case in PUBLISHED["messages"] if "query" in case)
with_node = pytest.mark.skipif(NODE is None, reason="no Node on this machine")

PLANTED = {
    "bits in the other order": ("128 >> bit % 8", "1 << bit % 8", "128 >> (place & 7)", "1 << (place & 7)"),
    "hash functions in the other byte order": (
        'factor.to_bytes(8, "little")',
        'factor.to_bytes(8, "big")',
        "littleEndian(factor, 8)",
        "littleEndian(factor, 8).reverse()",
    ),
    "members in the other byte order": (
        'member.to_bytes(width, "little")',
        'member.to_bytes(width, "big")',
        "littleEndian(BigInt(member), width)",
        "littleEndian(BigInt(member), width).reverse()",
    ),
    "members too narrow": ("if self.k <= 1 << 16", "if self.k < 0", "this.k <= 1 << 16 ?", "this.k < 0 ?"),
    "members too wide": ("1 if self.k <= 1 << 8", "1 if self.k < 1 << 8", "this.k <= 1 << 8 ?", "this.k < 1 << 8 ?"),
    "symbols too wide": (
        "1 if self.symbols <= 1 << 8",
        "1 if self.symbols < 0",
        "this.symbols <= 1 << 8 ?",
        "this.symbols < 0 ?",
    ),
    "a fair word rejected": ("GRID // bound * bound", "GRID // bound * bound - 1", "* outcomes;", "* outcomes - 1n;"),
    "an unfair word kept": ("while word >= fair", "while word > fair", "while (word >= fair)", "while (word > fair)"),
    "no word rejected": ("while word >= fair", "while False", "while (word >= fair)", "while (false)"),
    "a coin that equals its numerator": (
        "self.word() < numerator",
        "self.word() <= numerator",
        "this.word() < numerator",
        "this.word() <= numerator",
    ),
    "always the truth": (
        "value if truthful else lie + (lie >= value)",
        "value",
        "truthful ? value : lie + (lie >= value ? 1 : 0)",
        "value",
    ),
    "a lie drawn only for liars": (
        "truthful, lie = words.chance(self.truth), words.below(self.k - 1)",
        "truthful = words.chance(self.truth)\n        lie = 0 if truthful else words.below(self.k - 1)",
        "const lie = words.below(this.k - 1)",
        "const lie = truthful ? 0 : words.below(this.k - 1)",
    ),
    "a lie that may be the truth": ("lie + (lie >= value)", "lie", "lie + (lie >= value ? 1 : 0)", "lie"),
    "a word used twice": (
        "factor, offset = words.word(), words.word()",
        "factor = offset = words.word()",
        "const offset = words.word()",
        "const offset = factor",
    ),
    "a bit flipped as if it were the own": (
        "self.keep if bit == value else self.flip",
        "self.keep",
        "place === value ? this.keep : this.flip",
        "this.keep",
    ),
    "sets drawn by the wrong chance": (
        "words.below(left) < needed",
        "words.below(left) <= needed",
        "words.below(left) < needed",
        "words.below(left) <= needed",
    ),
    "sets drawn with places left over": ("                left -= 1", "                left -= 0", "      left--;", ""),
    "the set without its own value": ("members.append(value)", "pass", "holds ? [value] : []", "[]"),
    "another hash": ("0x7FEB352D", "0x7FEB352B", "0x7feb352dn", "0x7feb352bn"),
    "the other half of the matrix": (
        "column if odd == negative else",
        "column if odd != negative else",
        "odd === negative ?",
        "odd !== negative ?",
    ),
    "an output of the own block": (
        "elsewhere >= start",
        "elsewhere > start",
        "elsewhere >= start",
        "elsewhere > start",
    ),
    "a fake at the border": ("bisect_right(list", "bisect_left(list", "upper <= word ?", "upper < word ?"),
    "the first attribute varies fastest": (
        "zip(self.places, self.sizes, strict=True)",
        "zip(self.places[::-1], self.sizes[::-1], strict=True)",
        "group.places.reduce((sum, place, number)",
        "group.places.reduceRight((sum, place, number)",
    ),
    "answers not looked up": (
        "cell if self.answers is None else self.answers[cell]",
        "cell",
        "group.answers === undefined ? cell : group.answers[cell]",
        "cell",
    ),
    "always the first unit": (
        "unit = words.below(len(asked.units))",
        "unit = 0",
        "words.below(asked.units.length)",
        "0",
    ),
    "substitutes drawn only where they are needed": (
        "words.below(len(attribute.categories)) for attribute in self.domain",
        "0 if p is not None else words.below(len(a.categories)) for a, p in zip(self.domain, codes, strict=True)",
        "({ categories }) => words.below(categories.length)",
        "({ categories }, n) => (found[n] >= 0 ? 0 : words.below(categories.length))",
    ),
    "a simulation that does not say so": (
        'message = {**said, "simulated": words.simulated',
        'message = {**said, "simulated": False',
        "simulated: words.simulated, token",
        "simulated: false, token",
    ),
    "an altered file": ("!= sealed[1]", "== 7", "!== sealed[1]", "=== 7"),
    "a channel that tells more than promised": (
        '_PRECISE.add(level, Decimal("1e-90")) > Decimal(promised)',
        "level == inf",
        "|| (level > 0n && level + MARGIN > fixedPoint(promised))",
        "",
    ),
    "names that nobody knows": (
        "set(self.plain) - known - set(optional)",
        "set()",
        "filter((one) => !known.includes(one) && !optional.includes(one))",
        "filter(() => false)",
    ),
    "crossed numbers in the other byte order": (
        'number.to_bytes(self.width, "little")',
        'number.to_bytes(self.width, "big")',
        "row.groups[place]), row.width)",
        "row.groups[place]), row.width).reverse()",
    ),
    "crossed bits with their padding": (
        ">> -group.mechanism.k % 8",
        ">> 0",
        ">> BigInt(8 * report.length - group.mechanism.k)",
        "",
    ),
    "fakes below the floor": ("if rarest < least:", "if False:", "if (told.rarest < least) {", "if (false) {"),
    "a floor for all fakes together": (
        "asked.floor // told.k",
        "asked.floor // 2**64",
        "asked.floor / BigInt(told.k)",
        "asked.floor / GRID",
    ),
    "more truth than p": ("told.truth > asked.truth:", "False:", "if (told.truth > asked.truth) {", "if (false) {"),
    "the truth as rarely as p, not more": (
        "told.truth > asked.truth:",
        "told.truth >= asked.truth:",
        "if (told.truth > asked.truth) {",
        "if (told.truth >= asked.truth) {",
    ),
    "a p of one": (
        'privacy["truth"], "truth", 1, GRID - 1)',
        'privacy["truth"], "truth", 1, GRID)',
        'privacy.get("truth"), "truth", 1n, GRID - 1n)',
        'privacy.get("truth"), "truth", 1n, GRID)',
    ),
    "fakes that never come where none is named": (
        "rarest == 0 and asked.epsilon < inf",
        "False",
        "told.rarest === 0n && asked.epsilon < Infinity",
        "false",
    ),
    "no level, without a word": ("said != [_CERTAIN] * infinite", "False", "if (infinite ? said[0]", "if (0 ? said[0]"),
    "two answers about one attribute": (
        "_refuse_asked_twice(units)\n        most",
        "most",
        "    refuseAskedTwice(units);\n",
        "",
    ),
    "another query answered anew": (
        "elif self._asked != query:",
        "elif False:",
        "else if (own.#asked !== query) {",
        "else if (false) {",
    ),
    "files nested as deep as they like": (") > _DEEPEST:", ") > 10**9:", "(deepest > DEEPEST)", "(deepest > 1e9)"),
    "numbers without end": ("{101}", "{999}", "{101}", "{999}"),
    "mechanisms that take hours": (
        '"values of the mechanisms of a unit": _MOST_CELLS',
        '"values of the mechanisms of a unit": 1 << 60',
        '"values of the mechanisms of a unit": MOST_CELLS',
        '"values of the mechanisms of a unit": 2 ** 52',
    ),
    "a channel without its own ratio": (
        "if most * worst.denominator > worst.numerator * least:",
        "if False:",
        "if (most * denominator > numerator * least)",
        "if (false)",
    ),
    "a channel that hides nothing taken for one that does": (
        "            if least == 0:\n                return None\n",
        "            if least == 0:\n                continue\n",
        "if (least === 0n) return null;",
        "if (least === 0n) continue;",
    ),
    "the row of another value": (
        "words.pick(self.rows[value])",
        "words.pick(self.rows[-1 - value])",
        "words.pick(this.rows[value])",
        "words.pick(this.rows[this.k - 1 - value])",
    ),
    "rows that do not add up": (
        "len(row) != outputs or sum(row) != GRID",
        "len(row) != outputs",
        "row.length !== outputs || total !== GRID",
        "row.length !== outputs",
    ),
    "outputs that nobody sends": (
        'if not any(column):\n                raise ClientError(f"the output',
        'if False:\n                raise ClientError(f"the output',
        "if (idle >= 0) throw",
        "if (false) throw",
    ),
    "outputs that take hours": (
        'max(_whole_in(mechanism, "k", _MOST_CELLS, 0), _longest_row(mechanism))',
        '_whole_in(mechanism, "k", _MOST_CELLS, 0)',
        ", ...rowsOf(one).map((row) => row.length)]",
        "]",
    ),
    "names of other values": (
        "if what in plain.plain and len(plain.sequence(what)) != number:",
        "if False:",
        "if (plain.has(what) && plain.sequence(what).length !== number) {",
        "if (false) {",
    ),
    "names that stand twice": ("pairs[len(plain) :]", "[]", "namesIn(plain) === ", "0 !== "),
}


@contextmanager
def collector(folder: Path) -> Iterator[tuple[str, Queue[str]]]:
    """Serve a folder; yield the address, and the queue of what is posted."""
    posted: Queue[str] = Queue()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, posted, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", posted
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, posted: Queue[str], *arguments: Any, **options: Any) -> None:
        self._posted = posted
        super().__init__(*arguments, **options)

    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # every browser asks for one
            self._nothing()
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self._posted.put(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self._nothing()

    def log_message(self, *_: Any) -> None:
        """Say nothing of requests."""

    def _nothing(self) -> None:
        self.send_response(204)
        self.end_headers()


def altered(source: Path, found: str, planted: str) -> str:
    """Return a source with one mistake in it."""
    text = source.read_text(encoding="utf-8")
    assert text.count(found) == 1, f"{found!r} stands {text.count(found)} times in {source.name}"
    return text.replace(found, planted)


def python_module(text: str) -> ModuleType:
    """Return the client that such a source makes."""
    module = ModuleType("planted")
    sys.modules["planted"] = module  # dataclasses look it up
    exec(compile(text, "planted", "exec"), vars(module))  # noqa: S102  # our own source, with one mistake
    del sys.modules["planted"]
    return module


def unmet(module: Any) -> Iterator[str]:
    """Yield the titles of vectors that a client in Python does not meet."""
    for case in PUBLISHED["reports"]:
        left = iter(map(int, case["words"]))
        with suppress(StopIteration, OverflowError, ValueError, IndexError):
            report = module.randomizer(case["mechanism"]).report(case["value"], module.Words(left.__next__))
            shown = report if isinstance(report, int) else report.hex()
            if shown == case["report"] and next(left, None) is None:
                continue
        yield case["title"]
    for case in PUBLISHED["messages"]:
        left = iter(map(int, case["words"]))
        with suppress(StopIteration, OverflowError, ValueError, IndexError):
            if answered(module, case, left.__next__) == case["message"] and next(left, None) is None:
                continue
        yield case["title"]
    respondent, case = module.Respondent(QUERIED["protocol"]), QUERIED
    respondent.answer_query(case["query"], case["record"])
    with suppress(module.ClientError):
        respondent.answer_query(case["query"] + " ", case["record"])
        yield "a second query"
    for case in PUBLISHED["refusals"]:
        try:
            answered(module, case, None)
        except module.ClientError as error:
            if case["names"] in str(error):
                continue
        yield case["title"]


def node(*arguments: Any, flags: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    """Run the vectors in Node, for a client and vectors that are named or the published ones."""
    command = [str(NODE), *flags, str(CLIENTS / "js" / "test.mjs"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_client_in_python_meets_all_vectors() -> None:
    assert not list(unmet(client))


@with_node
@pytest.mark.parametrize(
    "flags", [[], ["--import", "data:text/javascript,delete globalThis.crypto"]], ids=["", "as Node 18 has it"]
)
def test_the_client_in_javascript_meets_all_vectors(flags: list[str]) -> None:
    """Node 18 has WebCrypto in a module, and not among its globals."""
    done = node(flags=flags)
    assert done.returncode == 0, done.stderr
    numbers = [f"{len(PUBLISHED[name])} {name}" for name in ("reports", "messages", "refusals")]
    assert done.stdout.startswith(", ".join(numbers))


@pytest.mark.parametrize("title", PLANTED)
def test_planted_mistakes_in_python_are_found(title: str) -> None:
    found, planted, *_ = PLANTED[title]
    text = altered(Path(client.__file__), found, planted).replace(
        "import bisect_right", "import bisect_left, bisect_right"
    )
    assert next(unmet(python_module(text)), None)


Told = tuple[int, tuple[int, ...]]
"""The chance of the truth, and those of the fakes, in GRID-ths."""
PROMISED = {(3,): Domain({"a": ["x", "y", "z"]}), (2, 2): Domain({"a": [False, True], "b": [1, 2]})}


def fakes(k: int, least: int) -> tuple[int, ...]:
    """Return fakes of which the last but one is the rarest."""
    others = (GRID - least) // (k - 1)
    return (*(others,) * (k - 2), least, GRID - least - others * (k - 2))


def asked_within(truth: int, floor: int, k: int) -> list[Told]:
    """Return chances on both sides of what a promise allows."""
    least = floor // k
    rarest = [one for one in sorted({0, 1, least - 1, least, least + 1, GRID // k}) if 0 <= one <= GRID // k]
    return [(told, fakes(k, one)) for told in sorted({1, truth // 2 + 1, truth, truth + 1, GRID}) for one in rarest]


def keeps(told: Sequence[Told], truth: int, floor: int, level: float) -> bool:
    """Say whether the exact channel keeps a promise, for every pair of values and every answer; the oracle."""
    channels = []
    for chance, drawn in told:
        rows = [[Fraction((GRID - chance) * fake, GRID**2) for fake in drawn] for _ in drawn]
        for value, row in enumerate(rows):
            row[value] += Fraction(chance, GRID)
        least = Fraction(floor // len(drawn), GRID)
        for one, other in permutations(rows, 2):
            gaps = [here - there for here, there in zip(one, other, strict=True)]
            # who has another value gives this answer as a fake alone
            faked = other[gaps.index(max(gaps))]
            if max(gaps) > Fraction(truth, GRID) or faked < (1 - max(gaps)) * least:
                return False
        channels.append([dict(enumerate(row)) for row in rows])
    joint = [
        {cells: prod(row[cell] for row, cell in zip(rows, cells, strict=True)) for cells in product(*rows)}
        for rows in product(*channels)
    ]
    return strict_epsilon(worst_ratio(joint)) <= level


def promised_cases() -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield files and queries, and whether a query keeps the promise of its file."""
    for (sizes, domain), truth, share in product(PROMISED.items(), (1, GRID // 3, GRID - 1), (0, 7, GRID // 2, GRID)):
        protocol = RRBA(domain, k=1, p=0.5, answer="view", block_size=9)
        body, record = body_of(protocol), {name: values[0] for name, values in domain.categories.items()}
        tight = strict_epsilon(joint_ratio([FakeResponse(truth, fakes(k, share // k)) for k in sizes]))
        for level in {inf, 1.0, 1e6, min(tight, 1e6), min(math.nextafter(tight, 0), 1e6)}:
            promise = {**body["privacy"], "truth": str(truth), "floor": str(share)}
            if level < inf:
                del promise["certain"]
                promise["epsilon"] = level
            text = sealed_again({**body, "privacy": promise})
            asked = [asked_within(truth, share, k) for k in sizes]
            for place in range(len(asked[0])):
                told = [own[(place * (1 + 4 * number)) % len(own)] for number, own in enumerate(asked)]
                case = {"title": f"{told} of {truth}, {share}, {level}", "protocol": text, "record": record}
                yield case | {"query": query_of(protocol, *told)}, keeps(told, truth, share, level)


@with_node
def test_a_query_is_answered_if_and_only_if_its_exact_channel_keeps_the_promise(tmp_path: Path) -> None:
    """In both languages, which say the same; and nothing is drawn for what is refused."""
    found: dict[str, list[dict[str, Any]]] = {"reports": [], "messages": PUBLISHED["messages"][:1], "refusals": []}
    for case, kept in promised_cases():
        source = Recorded(case["title"])
        try:
            message = answered(client, case, source)
            found["messages"].append({**case, "words": source.texts, "message": message})
        except client.ClientError as error:
            found["refusals"].append({**case, "names": str(error)})
            assert not source.given
        assert kept == bool(source.given), case["title"]
    assert min(len(found["messages"]), len(found["refusals"])) > 300
    (tmp_path / "vectors.json").write_text(json.dumps(found), encoding="utf-8")
    done = node(JAVASCRIPT, tmp_path / "vectors.json")
    assert done.returncode == 0, done.stderr


NEARLY_TRUE = [
    Channel([[0.999, 0.0005, 0.0005], [0.0005, 0.0005, 0.999]], values=["F", "M"]),
    Channel([[0.98, 0.01, 0.01], [0.01, 0.01, 0.98], [0.01, 0.98, 0.01]], values=["klein", "mittel", "groß"]),
    Channel([[0.97, 0.01, 0.01, 0.01], [0.01, 0.97, 0.01, 0.01], [0.01, 0.01, 0.49, 0.49]]),
]
PROTOCOLS = {
    **{name: partial(SampledGroups, mechanism=name) for name in ("auto", "grr", "sue", "oue", "ss", "olh", "hr")},
    **{f"crossed {name}": partial(PerAttribute, k=2, mechanism=name) for name in ("grr", "oue", "hr")},
    "per attribute": partial(PerAttribute, k=1, mechanism="oue"),
    "sampled attributes": partial(PerAttribute, k=1, sampled=True),
    "channels": lambda domain, epsilon: SampledGroups(domain, k=1, epsilon=epsilon, mechanism=NEARLY_TRUE),
    "crossed channels": lambda domain, epsilon: PerAttribute(domain, k=2, epsilon=3 * epsilon, mechanism=NEARLY_TRUE),
    "product domain": ProductDomain,
    "whole view": WholeView,
    "parities": HadamardCoefficients,
}


def test_every_registered_protocol_is_among_them_asks_by_queries_or_is_a_curators() -> None:
    made = {make(PROMISED[2, 2], epsilon=1.0).kind for name, make in PROTOCOLS.items() if "channels" not in name}
    # devices get the protocol of their own level, which is one of these
    assert made | {"rrba", "central laplace", "central gaussian", "personal levels"} == set(REGISTERED)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_what_clients_send_is_counted_where_it_belongs(name: str, tmp_path: Path) -> None:
    """Respondents who are all alike, with little noise: every table has them in their own cell."""
    domain = Domain({"sex": ["F", "M"], "größe": ["klein", "mittel", "groß"], "n": [7, 8, 9]})
    protocol: AssignedQuestions = PROTOCOLS[name](domain, epsilon=24.0)
    text, record, word = protocol.to_json(), {"sex": "M", "größe": "mittel", "n": 9}, Recorded("alike")
    messages = [client.Respondent(text, word).answer(record, f"person-{n}") for n in range(600)]
    (tmp_path / "answers.jsonl").write_text("\n".join(messages) + "\n", encoding="utf-8")
    tables = ldp.tables_of(tmp_path / "answers.jsonl", protocol)
    for table in tables:
        cell = tuple(domain.categories[one].index(record[one]) for one in table.attributes)
        assert np.unravel_index(table.estimate.argmax(), table.estimate.shape) == cell
        assert table.estimate[cell] > 0.7


def test_the_longest_tokens_of_clients_are_counted(tmp_path: Path) -> None:
    protocol = SampledGroups(Domain({"sex": ["F", "M"], "car": ["yes", "no"]}), epsilon=1.0)
    tokens = ["x" * 200, "y" * 200, "~!", "0"]
    sent = [client.Respondent(protocol.to_json()).answer({"sex": "F", "car": "no"}, token) for token in tokens]
    (tmp_path / "answers.jsonl").write_text("\n".join(sent), encoding="utf-8")
    assert ldp.tables_of(tmp_path / "answers.jsonl", protocol).n == len(tokens)
    ldp.write_messages(tmp_path / "reports.csv", protocol, sent)
    assert ldp.tables_of(tmp_path / "reports.csv", protocol).n == len(tokens)
    with pytest.raises(client.ClientError, match="1 to 200"):
        client.Respondent(protocol.to_json()).answer({"sex": "F", "car": "no"}, "x" * 201)


@pytest.mark.parametrize(
    "options",
    [
        {"epsilon": 1.0},
        {"epsilon": 2.0, "k": 1, "answer": "view", "block_size": 3},
        {"epsilon": 1e-3, "update": "client"},
        {"epsilon": 40.0, "floor": 0.01, "block_size": 2},
        {"p": 0.9, "block_size": 5},
        {"p": 1 - 2**-53, "k": 1, "answer": "view", "block_size": 2},
        {"p": 2**-60, "update": "client"},
        {"p": 0.3, "floor": 1e-30, "update": "client"},
        {"p": 0.3, "floor": 1.0, "update": "client"},
        {"p": 0.7, "floor": 1e-10, "block_size": 2},
    ],
    ids=str,
)
def test_answers_to_queries_are_taken(options: dict[str, Any]) -> None:
    """No aggregator makes a query that clients of its protocol's file refuse."""
    domain = Domain({"sex": ["F", "M"], "größe": ["klein", "mittel", "groß"]})
    protocol = RRBA(domain, **options)
    aggregator, text = protocol.aggregator(), protocol.to_json()
    one, same = client.Respondent(text), protocol.client({"sex": "M", "größe": "klein"}, inf)
    assert (one.epsilon, one.p, one.certain) == (same.epsilon, same.p, same.certain)
    for _ in range(12):
        respondent, query = client.Respondent(text), aggregator.query().to_json()
        message = respondent.answer_query(query, {"sex": "M", "größe": "klein"})
        assert respondent.answer_query(query, {"sex": "F", "größe": "klein"}) == message
        answer = Answer.from_json(message)
        assert not answer.simulated
        aggregator.take(answer)
        with pytest.raises(client.ClientError, match="second query"):
            respondent.answer_query(aggregator.query().to_json(), {"sex": "M", "größe": "klein"})
    assert aggregator.n == 12


@with_node
def test_random_channels_are_answered_alike_in_both_languages(tmp_path: Path) -> None:
    """500 of them: every value, at words at which its law changes and at their neighbours."""
    cases = []
    for number, channel in enumerate(random_channels()):
        plain = plain_mechanism(channel)
        for value, row in enumerate(channel.rows):
            edges = {upper + step for upper in accumulate(row) for step in (-1, 0)} - {-1, GRID}
            for word in sorted(edges | {0})[:: 1 + number % 3]:
                report = client.randomizer(plain).report(value, client.Words(iter([word]).__next__))
                case = {"title": f"{number}, {value}", "mechanism": plain, "value": value, "words": [str(word)]}
                cases.append({**case, "report": report})
    vectors = {"reports": cases, "messages": PUBLISHED["messages"][:1], "refusals": []}
    (tmp_path / "vectors.json").write_text(json.dumps(vectors), encoding="utf-8")
    done = node(JAVASCRIPT, tmp_path / "vectors.json")
    assert done.returncode == 0, done.stderr


@with_node
@pytest.mark.parametrize("title", PLANTED)
def test_planted_mistakes_in_javascript_are_found(title: str, tmp_path: Path) -> None:
    *_, found, planted = PLANTED[title]
    copy = tmp_path / "planted.mjs"
    copy.write_text(altered(JAVASCRIPT, found, planted), encoding="utf-8")
    done = node(copy, VECTORS)
    assert done.returncode != 0
    assert "SyntaxError" not in done.stderr


def test_the_javascript_client_needs_nothing_else() -> None:
    text = JAVASCRIPT.read_text(encoding="utf-8")
    assert [line for line in text.splitlines() if line.startswith("import ")] == []
    assert text.count("import(") == 1  # of Node's own WebCrypto, where it is not global
    assert not json.loads((CLIENTS / "js" / "package.json").read_text("utf-8")).get("dependencies")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_page_in_a_browser_answers(tmp_path: Path) -> None:
    """The module stands in the page itself: a page that was opened from a file may not load another."""
    domain = Domain({"sex": ["F", "M"], "größe": ["klein", "groß"]})
    protocol = SampledGroups(domain, epsilon=1.0, mechanism="olh")
    case = PUBLISHED["messages"][3]
    script = f"""{JAVASCRIPT.read_text("utf-8")}
    const record = {{sex: "M", "größe": "groß"}};
    const respondent = await Respondent.of({json.dumps(protocol.to_json())});
    const words = {json.dumps(case["words"])}.map(BigInt);
    const scripted = await Respondent.of({json.dumps(case["protocol"])}, () => words.shift());
    globalThis.answers = [respondent.answer(record), scripted.answer({json.dumps(case["record"])})];
    """
    page = tmp_path / "page.html"
    page.write_text(f'<!doctype html><meta charset="utf-8"><script type="module">{script}</script>', encoding="utf-8")
    with chromium() as browser:
        browser.open(page)
        answers = browser.awaited("globalThis.answers")
        assert not browser.said()
    own = json.loads(answers[0])
    assert (own["protocol"], own["simulated"]) == (protocol.fingerprint(), False)
    assert len(bytes.fromhex(own["reports"][0])) == 17
    assert answers[1] == case["message"]


def hostile_bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield what is changed in the body of a protocol file so that it takes long, with what is said of it."""
    body = json.loads(SampledGroups(Domain({"a": [0, 1], "b": [0, 1]}), epsilon=1.0, mechanism="grr").to_json())["body"]
    (row,), (mechanism,) = body["units"][0], body["mechanisms"]
    bits = {"name": "oue", "k": 4, "epsilon": 1.0, "probabilities": {"keep": str(2**64 - 1), "flip": "1"}}
    binary = [{"name": f"a{number}", "categories": [0, 1]} for number in range(4096)]
    crossing = {"attributes": [one["name"] for one in binary[:22]], "mechanism": 0}
    for rows in (20_000, 27_000):  # 27,000 ratios of bits are beyond the largest exponent of a Decimal
        yield f"{rows} rows in a unit", {"units": [[row] * rows], "mechanisms": [bits]}
    yield "65537 units", {"units": [[row]] * 65_537}
    yield "4097 mechanisms", {"mechanisms": [mechanism] * 4097}
    yield "4097 attributes", {"domain": [*binary, {"name": "one more", "categories": [0, 1]}]}
    yield (
        "4200 crossed answers",
        {"units": [[{"group": "a", "crossed": [{"attributes": ["a"], "mechanism": 0}] * 4200, "bytes": 1}]]},
    )
    yield "8388608000 values", {"units": [[row] * 2000], "mechanisms": [{**bits, "k": 1 << 22}] * 2}
    yield "promised", {"units": [[row] * 4096], "mechanisms": [bits]}  # the most rows that are read
    yield "4096 in all", {"domain": binary, "units": [[{**row, "attributes": [one["name"] for one in binary]}]]}
    yield (
        "no numbers of 8 bytes",
        {
            "domain": binary,
            "mechanisms": [{**bits, "k": 1 << 22}],
            "units": [[{"group": "a", "crossed": [crossing], "bytes": 8}]],
        },
    )
    rows = [[*map(str, range(1, 2_000)), str(2**64 - 1_999_000)], ["2"] * 1_999 + [str(2**64 - 3_998)]]
    channel = {"name": "channel", "k": 2, "epsilon": 1.0, "probabilities": {"rows": rows}}
    asked = {**row, "attributes": ["a"]}
    yield "promised", {"units": [[asked] * 2_000], "mechanisms": [channel]}  # 4,000,000 outputs to draw
    yield "4200000 values", {"units": [[asked] * 2_100], "mechanisms": [channel]}
    yield "100 letters", {"parameters": {"epsilon": 10**100}}
    yield "-1e-05", {"privacy": {"unit": -1e-5}}


def hostile_texts() -> Iterator[tuple[str, str]]:
    """Yield texts that are hard to parse, with what is said of them."""
    yield "8388608 bytes", "é" * 4_200_000
    yield "1048576 commas and brackets", "[" + "," * 2_000_000 + "]"
    yield "32 deep", "[" * 100_000 + "]" * 100_000
    yield "32 deep", '{"a":' * 100_000 + "1" + "}" * 100_000
    yield "no JSON", '"' * 1_000_001
    yield "100 letters", "[1, " + "9" * 1_000_000 + "]"
    yield "half a letter", json.dumps({"format": 1})[:-1] + ', "a": "\ud800"}'


@with_node
def test_what_is_made_to_take_long_is_refused_at_once_and_in_the_same_words(tmp_path: Path) -> None:
    body = json.loads(SampledGroups(Domain({"a": [0, 1], "b": [0, 1]}), epsilon=1.0, mechanism="grr").to_json())["body"]
    texts = [(named, sealed("protocol", 1, {**body, **change})) for named, change in hostile_bodies()]
    refusals, start = [], time.process_time()
    for named, text in (*texts, *hostile_texts()):
        with pytest.raises(client.ClientError) as refused:
            client.Respondent(text)
        assert named in str(refused.value)
        assert len(str(refused.value)) < 1000
        refusals.append({"title": named, "protocol": text, "record": {}, "names": str(refused.value)})
    assert time.process_time() - start < 10  # some 2 s; a single one of the first two took longer
    (tmp_path / "vectors.json").write_text(
        json.dumps({"reports": [], "messages": PUBLISHED["messages"][:1], "refusals": refusals}), encoding="utf-8"
    )
    done = node(JAVASCRIPT, tmp_path / "vectors.json")
    assert done.returncode == 0, done.stderr[:2000]


@pytest.fixture
def page_of_readme(tmp_path: Path) -> Path:
    """The page that the JavaScript README shows, in a folder with the module and a protocol."""
    page = re.search(r"```html\n(.*?)```", (CLIENTS / "js" / "README.md").read_text("utf-8"), flags=re.DOTALL)
    assert page is not None
    (tmp_path / "index.html").write_text(page[1], encoding="utf-8")
    shutil.copy(JAVASCRIPT, tmp_path)
    protocol = SampledGroups(Domain({"sex": ["F", "M"], "smokes": ["yes", "no"]}), k=1, epsilon=1.0, mechanism="oue")
    protocol.save(tmp_path / "protocol.json")
    return tmp_path


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_page_of_the_readme_sends_an_answer(page_of_readme: Path) -> None:
    """It is opened twice, the second time for another respondent, and sends the same message both times."""
    with chromium() as browser:
        for token in ("person-17", ""):
            folder = page_of_readme / f"served to {token}"
            shutil.copytree(page_of_readme, folder, ignore=shutil.ignore_patterns("served*"))
            _sends_an_answer(browser, folder, token)


def _sends_an_answer(browser: Chromium, folder: Path, token: str) -> None:
    messages = []
    with collector(folder) as (address, posted):
        for own in (token, "another"):
            browser.visit("about:blank")
            browser.visit(f"{address}/index.html#{own}")
            browser.awaited("!document.querySelector('button').disabled")
            assert browser.value("document.querySelector('output').textContent") == "epsilon = 1 of your whole record"
            browser.value("document.querySelector('button').click()")
            messages.append(posted.get(timeout=60))
            browser.awaited("document.querySelector('output').textContent.endsWith('was sent.')")
            assert not browser.said()
            assert {one.removeprefix(address) for one in browser.asked_for()} <= {
                f"/index.html#{own}", "/index.html", "/ldpstats.mjs", "/protocol.json", "/answers", "/favicon.ico"
            }  # fmt: skip
    assert messages[0] == messages[1]
    sent = json.loads(messages[0])["token"]
    assert sent == token if token else re.fullmatch("[0-9a-f-]{36}", sent)
    (folder / "answers.jsonl").write_text("\n".join(messages) + "\n", encoding="utf-8")
    protocol = ldp.load(folder / "protocol.json")
    tables = ldp.tables_of(folder / "answers.jsonl", protocol, tokens="once")
    assert sorted(table.n for table in tables) == [0, 1]
    assert not tables.simulated


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_page_of_the_readme_sends_no_raw_answer(page_of_readme: Path) -> None:
    """Whatever submits the form, with the module or without: no request carries what was chosen."""
    with chromium() as browser:
        for missing in (None, "protocol.json", "ldpstats.mjs"):
            folder = page_of_readme / f"served without {missing}"
            shutil.copytree(page_of_readme, folder, ignore=shutil.ignore_patterns("served*"))
            if missing is not None:
                (folder / missing).unlink()
            _sends_no_raw_answer(browser, folder, missing)


def _sends_no_raw_answer(browser: Chromium, folder: Path, missing: str | None) -> None:
    submitted = (
        "document.querySelector('button').click()",
        "document.querySelector('form').requestSubmit()",
        "document.querySelector('form').submit()",
        "Object.assign(document.querySelector('button'), { type: 'submit', disabled: false }).click()",
    )
    with collector(folder) as (address, posted):
        for script in submitted[1:] if missing is None else submitted:
            browser.visit("about:blank")
            browser.visit(f"{address}/index.html")
            shown = "epsilon" if missing is None else "not complete" if missing.endswith("mjs") else "Nothing was sent"
            browser.awaited(f"document.querySelector('output').textContent.includes('{shown}')")
            browser.value("document.querySelector('select').value = 'M'")
            browser.value(script)
            browser.value("new Promise((done) => setTimeout(done, 200))")
            asked = browser.asked_for()
            assert browser.value("location.href") == f"{address}/index.html"
            assert f"{address}/index.html" in asked
            assert not [one for one in asked if "?" in one or "sex" in one]
        assert posted.empty() or missing is None
        while not posted.empty():  # of the button that the last script clicked, with the module
            assert set(json.loads(posted.get())) == {
                "format",
                "version",
                "protocol",
                "unit",
                "reports",
                "simulated",
                "token",
            }
