"""What readers make of damaged journals, saved states, queries and answers: our own refusal, or what was written.

    python benchmarks/rrba_readers.py [inputs]

Half of the inputs have bytes changed; of the other half the contents are changed, and all digests made anew. Whatever
is not refused must keep the invariants: counts that add up, full blocks, levels that the protocol allows, a spent
level that the answers cost, one hash function for one respondent.
"""

from __future__ import annotations

import json
import random
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ldpstats import RRBA, Domain, LdpstatsError
from ldpstats.mechanisms.longitudinal_rounds import LOLH
from ldpstats.mechanisms.memo import Memo
from ldpstats.protocols.rrba import Aggregator, Answer, Client, Query
from ldpstats.protocols.rrba.journal import _line
from ldpstats.saving.files import sealed

INPUTS = 120_000
DOMAIN = Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
PROTOCOL = RRBA(DOMAIN, k=2, p=0.5, floor=0.2, block_size=3)
MECHANISM = LOLH(20, 2.0)
ODD = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 0.5, -0.0, 1e308, 2**64, 2**64 - 1, 2**70, -(2**70), 3_000_000_000),
    *("", "0", "é", "\ud800", "F", "00" * 16, "ff", "inf", [], [0], [[]], {}, {"a": 1}, [0, 0], "A" * 300),
]
VERDICTS = ("refused", "as written", "another", "violated", "foreign")
Contents = Any


@dataclass(frozen=True)
class Reader:
    """Something that reads what may be damaged."""

    text: bytes
    read: Callable[[bytes], str]
    rewritten: Callable[[random.Random], bytes]
    may_be_another: Callable[[bytes], bool]
    """Whether bytes that were changed, but no digest, may be read as something else than was written."""


def study(inputs: int = INPUTS, seed: int = 1) -> str:
    """Damage so many inputs, and say how many were refused, read, or met with an error that is not ours."""
    lines = [f"{inputs:,} damaged inputs, seed {seed}.", f"{'':12}" + "".join(f"{verdict:>12}" for verdict in VERDICTS)]
    for name, seen in verdicts(inputs, seed).items():
        lines.append(f"{name:12}" + "".join(f"{seen[verdict]:12,}" for verdict in VERDICTS))
    return "\n".join(lines)


def verdicts(inputs: int, seed: int) -> dict[str, Counter[str]]:
    """Damage so many inputs, and count what every reader made of its share."""
    chance = random.Random(seed)  # noqa: S311  # damages, not secrets
    with TemporaryDirectory() as folder:
        readers = _readers(Path(folder))
        each = inputs // len(readers)
        return {name: Counter(_verdict(one, chance) for _ in range(each)) for name, one in readers.items()}


def _verdict(reader: Reader, chance: random.Random) -> str:
    scratched = chance.random() < 0.5
    damaged = _scratched(reader.text, chance) if scratched else reader.rewritten(chance)
    try:
        found = reader.read(damaged)
        another = found != reader.read(reader.text)
        assert not (another and scratched) or reader.may_be_another(damaged), "changed bytes that no digest noticed"
    except LdpstatsError:
        return "refused"
    except AssertionError:
        traceback.print_exc()
        return "violated"
    except Exception:  # what is looked for
        traceback.print_exc()
        return "foreign"
    return "another" if another else "as written"


def _scratched(data: bytes, chance: random.Random) -> bytes:
    """Change some bytes, or drop, double or move a piece."""
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        start, stop = sorted(chance.randrange(len(data) + 1) for _ in range(2))
        stop = min(stop, start + chance.choice([1, 2, 8, 64, len(data)]))
        piece = data[start:stop]
        flipped = bytes(byte ^ (1 << chance.randrange(8)) for byte in piece[:2]) + piece[2:]
        middle = chance.choice(
            [flipped, b"", piece * 2, chance.randbytes(3), b"9", b"[" * 2000, b"\n", b'"', piece[::-1]]
        )
        data = data[:start] + middle + (b"" if chance.random() < 0.1 else data[stop:])
    return data


def _altered(contents: Contents, chance: random.Random) -> Contents:
    """Change one place of nested lists and objects, or a few."""
    contents = json.loads(json.dumps(contents))
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        places = list(_places(contents))
        if places:
            holder, key = chance.choice(places)
            _alter(holder, key, chance)
    return contents


def _places(contents: Contents) -> list[tuple[Any, Any]]:
    keys = contents if isinstance(contents, dict) else range(len(contents)) if isinstance(contents, list) else ()
    return [place for key in keys for place in ((contents, key), *_places(contents[key]))]


def _alter(holder: Any, key: Any, chance: random.Random) -> None:
    value, way = holder[key], chance.randrange(6)
    if way == 0:
        del holder[key]
    elif way == 1 and isinstance(holder, list):
        holder.insert(chance.randrange(len(holder) + 1), json.loads(json.dumps(value)))
    elif way == 2 and type(value) in (int, float):
        holder[key] = value + chance.choice([-1, 1, 1 << 20, 0.5])
    elif way == 3 and isinstance(value, str) and value:
        place = chance.randrange(len(value))
        holder[key] = value[:place] + chance.choice("0a1f=A") + value[place + 1 :]
    elif way == 4:
        others = list(holder.values()) if isinstance(holder, dict) else holder
        holder[key] = json.loads(json.dumps(chance.choice(others)))
    else:
        holder[key] = json.loads(json.dumps(chance.choice(ODD)))


def _readers(folder: Path) -> dict[str, Reader]:
    journal = folder / "journal"
    with PROTOCOL.aggregator(journal) as aggregator:
        late = aggregator.query()
        for number in range(7):
            aggregator.take(_client().answer(aggregator.query(), number))
        aggregator.take(_client().answer(late, 9))
        query, state, lines = aggregator.query(), aggregator.to_json(), journal.read_bytes().splitlines()
    client, memo = _client(), Memo(MECHANISM)
    for number in range(3):
        client.answer(RRBA(DOMAIN, k=1, epsilon=1.0, block_size=2).aggregator().query(), number)
    for value in range(6):
        memo.reports(range(3), [value] * 3, rng=value)
    entries = [json.loads(line)[:-1] for line in lines]
    return {
        "journal": _chained(journal, entries),
        "aggregator": _enveloped(state, "RRBA aggregator", lambda text: _whole(Aggregator.from_json(text))),
        "client": _enveloped(client.to_json(), "client", _whole_client),
        "memo": _enveloped(memo.to_json(), "memo", _whole_memo),
        "query": _plain(query.to_json(), lambda text: Query.from_json(text).to_json()),
        "answer": _plain(_client().answer(query).to_json(), lambda text: Answer.from_json(text).to_json()),
    }


def _client() -> Client:
    return Client(DOMAIN, {"sex": "F", "car": "no"}, inf)


def _chained(path: Path, entries: list[Any]) -> Reader:
    def written(changed: list[Any]) -> bytes:
        lines, digest = [], ""
        for entry in json.loads(json.dumps(changed).replace("\\ud800", "")):  # which no line can hold
            line, digest = _line(digest, entry if isinstance(entry, list) and entry else [entry])
            lines.append(line)
        return b"".join(lines)

    def read(data: bytes) -> str:
        path.unlink()  # a file that is shortened and written anew waits for the disk
        path.write_bytes(data)
        try:
            aggregator = PROTOCOL.aggregator(path)
        except LdpstatsError:
            assert path.read_bytes() == data, "a refused file was changed"
            raise
        with aggregator:
            whole = data[: data.rfind(b"\n") + 1] or data
            assert path.read_bytes().startswith(whole), "whole lines were changed"
            return _whole(aggregator)

    def rewritten(chance: random.Random) -> bytes:
        return written([entries[0], *_altered(entries[1:], chance)])

    text = written(entries)
    # a journal may always have ended sooner
    return Reader(text, read, rewritten, lambda data: text.startswith(data[: data.rfind(b"\n") + 1]))


def _enveloped(text: str, kind: str, read: Callable[[str], str]) -> Reader:
    body = json.loads(text)["body"]
    return Reader(
        text.encode(),
        lambda data: read(data.decode(errors="surrogateescape")),
        lambda chance: json.dumps(json.loads(sealed(kind, 2, _altered(body, chance)))).encode(),
        lambda _: False,
    )


def _plain(text: str, read: Callable[[str], str]) -> Reader:
    contents = json.loads(text)
    return Reader(
        text.encode(),
        lambda data: read(data.decode(errors="surrogateescape")),
        lambda chance: json.dumps(_altered(contents, chance)).encode(),
        lambda _: True,  # messages have no digest
    )


def _whole(aggregator: Aggregator) -> str:
    """Check what holds for every aggregator, and return all that it knows but its newest key."""
    query, body = aggregator.query(), json.loads(aggregator.to_json())["body"]
    assert query.strict_epsilon() <= aggregator.protocol.privacy().epsilon, "a query above the protocol's level"
    for blocks in body["series"]:
        for block in blocks:
            assert all(sum(counts) == block["n"] for counts in block["counts"]), "counts that do not add up"
        closed = [block["n"] - (sum(block["late"][0]) if block["late"] else 0) for block in blocks[:-1]]
        assert all(n >= aggregator.protocol.block_size for n in closed), "a block closed before its time"
    assert aggregator.n == sum(block["n"] for blocks in body["series"] for block in blocks) <= body["made"]
    aggregator.tables()
    return json.dumps({**body, "keys": body["keys"][:1]})


def _whole_client(text: str) -> str:
    client = Client.from_json(text)
    body = json.loads(client.to_json())["body"]
    assert client.spent <= client.limit, "more spent than the limit"
    assert bool(body["answers"]) == (client.spent > 0), "answers for nothing"
    return client.to_json()


def _whole_memo(text: str) -> str:
    memo = Memo.from_json(text, MECHANISM)
    users = memo._users  # noqa: SLF001  # the study looks inside
    rounds = [memo.reports(users, np.full(len(users), value), rng=1).data for value in range(4)]
    first = MECHANISM.kept(rounds[0])
    assert all(np.array_equal(MECHANISM.kept(one), first) for one in rounds), "two hash functions for one respondent"
    return memo.to_json()


if __name__ == "__main__":
    print(study(*map(int, sys.argv[1:2])))
