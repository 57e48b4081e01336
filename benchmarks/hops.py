"""How far a stranger walks who follows five stories through the package, call by call.

A hop is a call from one module of the package into another. For each story: how many modules and functions are met, how
many different hops lead from one to the next, and how many calls the deepest of them has above it.

    python benchmarks/hops.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import ldpstats as ldp
from ldpstats.cli import main as command_line

PACKAGE = Path(ldp.__file__).parent


class Walk(NamedTuple):
    """What was met on the way: functions with their modules, calls from one module into another, the deepest call."""

    functions: set[tuple[str, str]]
    hops: set[tuple[tuple[str, str], tuple[str, str]]]
    deepest: int

    @property
    def figures(self) -> dict[str, int]:
        """How many modules, functions and hops there are, and the calls above the deepest one."""
        modules = {module for module, _ in self.functions}
        return {
            "modules": len(modules),
            "functions": len(self.functions),
            "hops": len(self.hops),
            "deepest": self.deepest,
        }


def walk(story: Callable[[], object]) -> Walk:
    """Follow a story; imports, properties and functions without a name of their own are not counted as met."""
    functions: set[tuple[str, str]] = set()
    hops: set[tuple[tuple[str, str], tuple[str, str]]] = set()
    path: list[tuple[str, str]] = []
    deepest = 0

    def follow(frame: FrameType, event: str, _: Any) -> None:
        nonlocal deepest
        if event == "call":
            here = _place(frame.f_code)
            if here:
                functions.add(here)
                if path and path[-1][0] != here[0]:
                    hops.add((path[-1], here))
                path.append(here)
                deepest = max(deepest, len(path))
        elif event == "return" and path and _place(frame.f_code):
            path.pop()

    sys.setprofile(follow)
    try:
        story()
    finally:
        sys.setprofile(None)
    return Walk(functions, hops, deepest)


@cache
def _place(code: CodeType) -> tuple[str, str] | None:
    """Return module and function of code inside the package."""
    file = Path(code.co_filename)
    if code.co_name.startswith("<") or not file.is_relative_to(PACKAGE):
        return None
    return str(file.relative_to(PACKAGE)), code.co_qualname


def respondents(n: int = 2000) -> pd.DataFrame:
    """Return answers to three questions, of which neighbours are dependent."""
    rng = np.random.default_rng(1)
    codes = np.cumsum(rng.random((n, 3)) < 0.4, axis=1) % 2
    return pd.DataFrame(codes, columns=["a", "b", "c"])


def frame_to_pvalue() -> float:
    """A data frame, asked for its pairs; the p-value of one of them."""
    frame = respondents()
    tables = ldp.SampledGroups(ldp.Domain.from_frame(frame), epsilon=1.0).collect(frame, rng=1)
    return float(ldp.independence_test(tables["a", "b"]).pvalue)


def live_rrba_to_table() -> object:
    """An aggregator and its clients, message by message; the table of one pair."""
    frame = respondents(60)
    protocol = ldp.RRBA(ldp.Domain.from_frame(frame), epsilon=4.0, block_size=10)
    aggregator = protocol.aggregator(rng=1)
    for record in frame.to_dict(orient="records"):
        client = protocol.client(record, limit=4.0)
        aggregator.take(client.answer(aggregator.query(), rng=1))
    return aggregator.tables()["a", "b"].summary()


def reconstruction_to_test() -> float:
    """The pairs' tables, put together; independence in the table of all three."""
    frame = respondents()
    tables = ldp.SampledGroups(ldp.Domain.from_frame(frame), epsilon=1.0).collect(frame, rng=1)
    whole = ldp.reconstruct(tables, ["a", "b", "c"])
    return float(ldp.independence_test(whole).pvalue)


def analyse() -> None:
    """A file of answers; a page with what a private survey would have shown."""
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        file = Path(folder) / "answers.csv"
        respondents().to_csv(file, index=False)
        page = str(file.with_suffix(".html"))
        command_line(["analyse", str(file), "--epsilon", "2", "--output", page], standalone_mode=False)


def learn_network_to_joint() -> object:
    """The pairs' tables; a network learned from them, and what it says of two attributes."""
    frame = respondents()
    tables = ldp.SampledGroups(ldp.Domain.from_frame(frame), epsilon=1.0).collect(frame, rng=1)
    return ldp.learn_network(tables, rng=1).network.joint(["a", "c"])


WALKED = {
    "frame -> p-value": frame_to_pvalue,
    "live RRBA -> table": live_rrba_to_table,
    "tables -> reconstruction -> test": reconstruction_to_test,
}
"""ARCHITECTURE.md says them in words."""
STORIES = WALKED | {"analyse": analyse, "learn_network -> joint": learn_network_to_joint}


def main() -> None:
    """Print a row for every story."""
    for story in STORIES.values():
        story()  # imports and caches are made once
    rows = {name: walk(story).figures for name, story in STORIES.items()}
    print(pd.DataFrame(rows).T.to_string())


if __name__ == "__main__":
    main()
