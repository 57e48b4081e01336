"""How fast RRBA and views are: seconds of one run, beside what is asked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from math import comb
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from rrba_errors import BLOCK, as_text

from ldpstats.datasets import network
from ldpstats.protocols.rrba import RRBA, Aggregator, Client
from ldpstats.views import views

RESPONDENTS = 1_000_000
VIEWS = ((37, 3), (100, 3), (37, 4))


def seconds(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long an action takes, and what it returns."""
    start = time.perf_counter()
    result = action()
    return time.perf_counter() - start, result


def speed(respondents: int = RESPONDENTS, sizes: Sequence[tuple[int, int]] = VIEWS) -> str:
    """Time the protocol at the level of counts and respondent by respondent, and the construction of views."""
    rows = [*_at_the_level_of_counts(respondents), *_one_by_one(respondents)]
    made = []
    for d, k in sizes:
        taken, found = seconds(lambda d=d, k=k: views(d, k))
        least = math.ceil(comb(d, k) / (d // k))
        made.append({"d": d, "k": k, "seconds": taken, "views": len(found), "least possible": least})
    return "\n".join(
        [
            f"{respondents:,} respondents, seeds 5; the clients draw with secure randomness.",
            "",
            "4a. RRBA, seconds of one run",
            as_text(pd.DataFrame(rows)),
            "",
            "4b. Views in which every group of k out of d attributes stands once",
            as_text(pd.DataFrame(made)),
        ]
    )


def _at_the_level_of_counts(respondents: int) -> Iterator[dict[str, object]]:
    alarm = network("alarm")
    frame = alarm.sample(respondents, rng=5)
    for name, protocol in (
        ("one pair each, ε = 1", RRBA(alarm.domain, epsilon=1.0)),
        ("one pair each, p = 0.5", RRBA(alarm.domain, p=0.5, block_size=BLOCK)),
        ("a view each, p = 0.5", RRBA(alarm.domain, p=0.5, block_size=BLOCK, answer="view")),
    ):
        simulating, tables = seconds(lambda protocol=protocol: protocol.simulate(frame, rng=5))
        estimating, _ = seconds(lambda tables=tables: [table.estimate for table in tables])
        blocks = sum(len(table.blocks) for table in tables)
        task = f"alarm, {len(tables)} tables, {name}, blocks of {protocol.block_size:,} ({blocks:,} in all)"
        yield _row(f"{task}: counts simulated from a frame", 5.0, simulating, respondents)
        yield _row(f"{task}: most likely tables", None, estimating, respondents)


def _one_by_one(respondents: int) -> Iterator[dict[str, object]]:
    survey = network("survey")
    records = survey.sample(respondents, rng=5).to_dict("records")
    protocol, task = RRBA(survey.domain, epsilon=1.0), "survey, one pair each, ε = 1, query -> answer -> take"
    bare, _ = seconds(lambda: collected(protocol.aggregator(), records))
    yield _row(f"{task}: no journal", 60.0, bare, respondents)
    with TemporaryDirectory() as folder:
        aggregator = protocol.aggregator(Path(folder) / "journal")
        written, _ = seconds(lambda: collected(aggregator, records))
        aggregator.close()
    yield _row(f"{task}: journal", 60.0, written, respondents)


def collected(aggregator: Aggregator, records: Sequence[dict[Any, Any]]) -> Aggregator:
    """Ask everyone, one after another, each with a device of her own."""
    for record in records:
        aggregator.take(Client(aggregator.protocol.domain, record, limit=1.0).answer(aggregator.query()))
    return aggregator


def _row(task: str, asked: float | None, taken: float, respondents: int) -> dict[str, object]:
    limit = "" if asked is None else f"below {asked:g}"
    return {"task": task, "aim": limit, "seconds": taken, "µs per respondent": 1e6 * taken / respondents}
