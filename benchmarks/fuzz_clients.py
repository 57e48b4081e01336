"""Fuzz of clients: damaged protocol files, records and queries, which both clients answer alike, or both refuse.

    python benchmarks/fuzz_clients.py [inputs] [seed]

The inputs are the published messages of clients/test_vectors.json, damaged as those of fuzz_readers.py, with digests
made anew. What the client in Python makes of them is written down as test vectors, and the client in JavaScript runs
these in Node. A finding is an exception of Python that is no ClientError, and whatever differs between the two: a word
of a message, or of an error.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from fuzz_readers import damaged

from ldpstats import client
from ldpstats.saving.files import sealed

CLIENTS = Path(__file__).parents[1] / "clients"
PUBLISHED = json.loads((CLIENTS / "test_vectors.json").read_text(encoding="utf-8"))["messages"]
_WORDS = 400
_LARGEST = 6000
"""The letters of a protocol file that is damaged: longer ones would be hit in the same places again and again."""


def damaged_cases(inputs: int, seed: int) -> dict[str, Any]:
    """Return test vectors of damaged messages, as the client in Python has them; the first one is sound.

    Parameters
    ----------
    inputs : int
        How many are damaged.
    seed : int
    """
    rng = random.Random(seed)  # noqa: S311  # nothing secret
    specimens = [case for case in PUBLISHED if len(case["protocol"]) < _LARGEST]
    found: dict[str, Any] = {"reports": [], "messages": [PUBLISHED[0]], "refusals": []}
    for number in range(inputs):
        case = {"title": f"input {number}", **_damaged(rng.choice(specimens), rng)}
        words = [rng.getrandbits(64) for _ in range(_WORDS)]
        left = iter(words)
        try:
            message = _answered(case, left.__next__)
        except client.ClientError as error:
            found["refusals"].append({**case, "names": str(error)})
        except StopIteration:  # a unit of very many values
            continue
        else:
            taken = words[: _WORDS - sum(1 for _ in left)]
            found["messages"].append({**case, "words": [str(word) for word in taken], "message": message})
    return found


def differences(vectors: dict[str, Any]) -> str:
    """Return what Node says where the client in JavaScript does something else; nothing where it does not.

    Parameters
    ----------
    vectors : dict
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vectors.json"
        file.write_text(json.dumps(vectors), encoding="utf-8")
        command = ["node", str(CLIENTS / "js" / "test.mjs"), str(CLIENTS / "js" / "ldpstats.mjs"), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  # our own
    return done.stderr if done.returncode else ""


def _damaged(case: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return a case of which one part was damaged: the protocol's body more often than what else there is."""
    parts = {name: case[name] for name in ("protocol", "record", "query", "token") if name in case}
    part = rng.choice(["protocol", *parts])
    if part == "record":
        record = damaged(json.dumps(case["record"]), json.dumps, rng)
        parts["record"] = _with_doubles(_parsed(record, case["record"]))
    elif part == "protocol" and rng.random() < 0.9:
        body = json.dumps(json.loads(case["protocol"])["body"])
        changed = _parsed(damaged(body, json.dumps, rng), None)
        parts["protocol"] = _sealed(changed)
    else:
        parts[part] = damaged(case[part], json.dumps, rng)
    return parts


def _parsed(text: str, otherwise: Any) -> Any:
    """Return a value that JSON of every language can hold."""
    try:
        json.dumps(json.loads(text), ensure_ascii=False, allow_nan=False).encode()
        return json.loads(text)
    except (ValueError, RecursionError):
        return otherwise


def _with_doubles(record: Any) -> Any:
    """Return a record as languages read it whose numbers are doubles: the words of refusals show them."""
    return json.loads(json.dumps(record), parse_int=lambda text: int(text) if len(text) < 16 else float(text[:300]))


def _sealed(body: Any) -> str:
    return sealed("protocol", 1, body)


def _answered(case: dict[str, Any], word: client.Word) -> str:
    respondent = client.Respondent(case["protocol"], word)
    if "query" in case:
        return respondent.answer_query(case["query"], case["record"])
    return respondent.answer(case["record"], case.get("token"))


def main() -> None:
    """Fuzz, and say what was found."""
    if shutil.which("node") is None:
        sys.exit("no Node on this machine: the client in JavaScript cannot be compared")
    inputs, seed = (int(one) for one in (sys.argv[1:] + ["20000", "1"][len(sys.argv) - 1 :])[:2])
    vectors = damaged_cases(inputs, seed)
    found = differences(vectors)
    answered, refused = len(vectors["messages"]) - 1, len(vectors["refusals"])
    print(f"{answered:,} damaged inputs were answered, {refused:,} refused: {found or 'in JavaScript the same'}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
