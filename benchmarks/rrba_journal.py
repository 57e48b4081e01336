"""What becomes of answers when the aggregator's process is killed at any moment, forks, and serves threads.

    python benchmarks/rrba_journal.py [kills]

A process opens the journal, serves three threads, and forks while they work; it is killed (SIGKILL) at a random moment,
in the opening or later. What it had sent and not acknowledged is sent to the next one. At the end every answer must
stand in the journal once, in its block and cell; no number may have been given out twice; and no forked process may
have got a number, or had an answer acknowledged.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

from ldpstats import RRBA, Domain, LdpstatsError
from ldpstats.errors import ReportError
from ldpstats.protocols.rrba import Aggregator, Answer

KILLS = 200
PER_JOURNAL = 20
THREADS = 3
LONGEST = 0.08
"""Seconds from the opening to the latest kill."""
DOMAIN = Domain({"sex": ["F", "M"], "car": ["yes", "no"], "age": ["young", "adult", "old"]})
PROTOCOL = RRBA(DOMAIN, k=2, p=0.5, block_size=7)
SEEN = ("answers", "killed while opening", "answers sent again", "answers known already", "forks refused")
FAULTS = ("forks served", "numbers given out twice", "answers acknowledged twice", "lost", "doubled", "other errors")
RECORD = {"sex": "F", "car": "no", "age": "old"}


@dataclass
class Ledger:
    """What the respondents know: what they sent, and what was acknowledged."""

    sent: dict[int, Answer] = field(default_factory=dict)
    acknowledged: set[int] = field(default_factory=set)
    seen: Counter[str] = field(default_factory=Counter)

    @property
    def pending(self) -> list[Answer]:
        """The answers that must be sent again."""
        return [answer for number, answer in self.sent.items() if number not in self.acknowledged]

    def read(self, log: Path) -> None:
        """Take in what one process wrote; a last line that it was killed in says nothing."""
        words = [line.split(" ", 1) for line in log.read_text().split("\n")[:-1]]
        self.seen["killed while opening"] += ["open"] not in words
        for word, *rest in words:
            if word == "sent":
                answer = Answer.from_json(rest[0])
                self.seen["numbers given out twice"] += answer.number in self.sent
                self.sent[answer.number] = answer
            elif word in ("taken", "known"):
                number = int(rest[0])
                self.seen["answers acknowledged twice"] += word == "taken" and number in self.acknowledged
                self.seen["answers known already"] += word == "known"
                self.acknowledged.add(number)
            else:
                self.seen[word.replace("_", " ")] += 1


def study(kills: int = KILLS, seed: int = 1) -> str:
    """Kill so many processes, and say what was lost, doubled or leaked."""
    found = killed(kills, seed)
    lines = [f"{kills} kills of processes with {THREADS} threads that fork; seed {seed}."]
    return "\n".join(lines + [f"{name:28}{found[name]:8,}" for name in (*SEEN, *FAULTS)])


def killed(kills: int, seed: int) -> Counter[str]:
    """Kill so many processes, and count what was seen."""
    chance, total = random.Random(seed), Counter[str]()  # noqa: S311  # moments, not secrets
    with TemporaryDirectory() as folder:
        for start in range(0, kills, PER_JOURNAL):
            total += _one_journal(Path(folder), min(PER_JOURNAL, kills - start), chance)
    return total


def _one_journal(folder: Path, kills: int, chance: random.Random) -> Counter[str]:
    journal, log, ledger = folder / f"journal{chance.random()}", folder / "log", Ledger()
    for _ in range(kills):
        log.write_text("")
        ledger.seen["answers sent again"] += len(ledger.pending)
        process = os.fork()
        if process == 0:
            _serve(journal, log, ledger.pending)
        _kill(process, log, chance)
        ledger.read(log)
    with PROTOCOL.aggregator(journal) as survivor:
        for answer in ledger.pending:
            _take(survivor, answer, lambda _: None)
        found = Counter({place: count for place, count in _counted(survivor).items() if count})
    expected = Counter(
        (survivor._unit(number), answer.block, answer.cells[0])  # noqa: SLF001  # the study looks inside
        for number, answer in ledger.sent.items()
    )
    lost, doubled = (expected - found).total(), (found - expected).total()
    return ledger.seen + Counter({"answers": len(ledger.sent), "lost": lost, "doubled": doubled})


def _counted(aggregator: Aggregator) -> dict[tuple[int, int, int], int]:
    return {
        (unit, position, cell): count
        for unit, series in enumerate(aggregator._series)  # noqa: SLF001  # the study looks inside
        for position, block in enumerate(series.blocks)
        for cell, count in enumerate(block.counts[0])
    }


def _kill(process: int, log: Path, chance: random.Random) -> None:
    """Kill a process: one in four at once or in its opening, the others when they are at work."""
    if chance.random() < 0.25:
        time.sleep(chance.random() * LONGEST / 8)
    else:
        patience = time.monotonic() + 60
        while b"open\n" not in log.read_bytes() and time.monotonic() < patience:
            time.sleep(0.001)
        time.sleep(chance.random() * LONGEST)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    time.sleep(0.005)  # for those that it had forked


def _serve(journal: Path, log: Path, pending: list[Answer]) -> None:
    """Open the journal, take what is pending, and ask on, until killed."""
    file = os.open(log, os.O_WRONLY | os.O_APPEND)

    def say(words: str) -> None:
        os.write(file, f"{words}\n".encode())

    sys.setswitchinterval(1e-5)  # so that threads come between one another's steps
    try:
        aggregator = PROTOCOL.aggregator(journal)
        say("open")
        for place in range(THREADS):
            Thread(target=_ask, args=(aggregator, pending[place::THREADS], say), daemon=True).start()
        while True:
            _fork(aggregator, pending, say)
            time.sleep(0.01)
    except BaseException:
        say("other_errors")
        raise
    finally:
        os._exit(1)


def _ask(aggregator: Aggregator, pending: list[Answer], say: Callable[[str], None]) -> None:
    try:
        for answer in pending:
            _take(aggregator, answer, say)
        while True:
            answer = PROTOCOL.client(RECORD, inf).answer(aggregator.query())
            say(f"sent {answer.to_json()}")
            _take(aggregator, answer, say)
    except BaseException:
        say("other_errors")
        raise


def _take(aggregator: Aggregator, answer: Answer, say: Callable[[str], None]) -> None:
    try:
        aggregator.take(answer)
    except ReportError as error:
        if "second answer" not in str(error):
            raise
        say(f"known {answer.number}")
    else:
        say(f"taken {answer.number}")


def _fork(aggregator: Aggregator, pending: list[Answer], say: Callable[[str], None]) -> None:
    """Try in a forked process to get a query, and to have an answer acknowledged, while threads hold the lock."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that a process with threads forks is what is tried
        child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    tries: list[Callable[[], object]] = [aggregator.query, *[lambda: aggregator.take(pending[0]) for _ in pending[:1]]]
    for one in tries:
        try:
            one()
        except LdpstatsError as error:
            say("forks_refused" if "inherited" in str(error) else "other_errors")
        else:
            say("forks_served")
    os._exit(0)


if __name__ == "__main__":
    print(study(*map(int, sys.argv[1:2])))
