"""Known tokens: a token is known again, whatever came between, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from support.report_files import PROTOCOLS

from ldpstats.errors import LdpstatsError
from ldpstats.io.columns import Ragged
from ldpstats.io.tokens import LONGEST_TOKEN, KnownTokens, checked_tokens, refuse_other_policies


def ragged(texts: list[str]) -> Ragged:
    raw = [text.encode() for text in texts]
    ends = np.cumsum([len(one) for one in raw], dtype=np.int64)
    return Ragged(np.frombuffer(b"".join(raw), dtype=np.uint8), np.append(0, ends[:-1]).astype(np.int64), ends)


def test_tokens_are_known_again_as_a_set_knows_them() -> None:
    rng = np.random.default_rng(1)
    known, seen = KnownTokens(PROTOCOLS["numbers"].sent_rows), set()
    for _ in range(40):
        texts = [f"{number:x}" * (1 + number % 3) for number in rng.integers(0, 4000, 500).tolist()]
        again = known.again(rng.integers(0, 3, 500), ragged(texts))
        for text, found in zip(texts, again.tolist(), strict=True):
            assert found == (text in seen)
            seen.add(text)


def test_a_token_belongs_to_one_unit_and_comes_once_in_each_of_its_rows() -> None:
    rows = PROTOCOLS["several rows of a unit"].sent_rows
    known = KnownTokens(rows)
    unit = [number for number, row in enumerate(rows) if row.unit == 0]
    assert not known.again(np.array(unit), ragged(["me"] * len(unit))).any()
    assert known.again(np.array(unit), ragged(["me"] * len(unit))).all()
    assert not known.again(np.array(unit), ragged(["you"] * len(unit))).any()
    others = PROTOCOLS["blocks of views"].sent_rows
    assert len({row.unit for row in others}) < len(others) or len({row.unit for row in others}) == 1


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 7, 8, 9, 199, LONGEST_TOKEN])
def test_any_letter_and_the_length_make_a_difference(length: int) -> None:
    known = KnownTokens(PROTOCOLS["numbers"].sent_rows)
    texts = ["a" * length, "a" * (length - 1) + "b", "b" + "a" * (length - 1), "a" * (length - 1), "a" * length]
    different = len(set(texts))
    hashes = known.hashes(ragged(texts))
    assert len({tuple(row) for row in hashes.tolist()}) == different
    assert hashes[0].tolist() == hashes[-1].tolist()


def test_two_processes_hash_by_keys_of_their_own() -> None:
    rows = PROTOCOLS["numbers"].sent_rows
    assert KnownTokens(rows).hashes(ragged(["a"])).tolist() != KnownTokens(rows).hashes(ragged(["a"])).tolist()


def test_tokens_and_policies_are_checked() -> None:
    assert checked_tokens(["a", "é-1"]) == ["a", "é-1"]
    for wrong in ("", "a b", "a,b", 'a"', "\n", None):
        with pytest.raises(LdpstatsError, match="the token"):
            checked_tokens([wrong])
    with pytest.raises(LdpstatsError, match="tokens"):
        refuse_other_policies("never")
