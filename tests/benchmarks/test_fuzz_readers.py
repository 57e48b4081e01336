"""Readers under fuzz: a slice of benchmarks/fuzz_readers.py, always the same damaged files."""

from __future__ import annotations

import fuzz_readers

from ldpstats.errors import LdpstatsError


def test_damaged_files_are_read_as_they_are_or_refused() -> None:
    fed, found = fuzz_readers.fuzz(900, seed=12)
    assert found == {}
    assert fed.total() == 900
    assert len(fed) >= 30, "every reader had some"


def test_the_fuzz_sees_what_is_wrong() -> None:
    def careless(text: str) -> object:
        if text == "refused":
            raise LdpstatsError("this", "that")
        if text == "slow":
            while True:
                pass
        return {"known": 1}[text]

    reader = fuzz_readers.Reader(["known"], careless)
    assert fuzz_readers.finding(reader, "known") == fuzz_readers.finding(reader, "refused") == ""
    assert fuzz_readers.finding(reader, "unknown").startswith("KeyError")
    unstable = fuzz_readers._twice(lambda text: text + "!", str)
    assert "something else" in fuzz_readers.finding(fuzz_readers.Reader([], unstable), "text")
