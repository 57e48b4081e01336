"""An output format written by following ARCHITECTURE.md: results as Markdown, whatever they are results of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ldpstats as ldp

DOMAIN = ldp.Domain({"sex": ["F", "M"], "car": ["yes", "no"]})
TABLE = ldp.SampledGroups(DOMAIN, epsilon=2.0).simulate(np.array([600, 400, 400, 600]), rng=1)["sex", "car"]
RESULTS = {
    "table": TABLE,
    "test": ldp.independence_test(TABLE),
    "effect": ldp.odds_ratio(TABLE, rows=("F", "M"), columns=("yes", "no")),
    "association": ldp.association(TABLE),
    "published test": ldp.naive_test(TABLE),
    "channel fit": TABLE.channel_fit(),
    "bounds": TABLE.bounds(),
    "poisoning": ldp.poisoning(ldp.GRR(4, 1.0), 0.01),
}


def as_markdown(summary: Any) -> str:
    """Set what a result says as Markdown: a heading, a table, and the sentences below it."""
    (table,) = summary.tables
    head, *rows = [[str(cell) for cell in row] for row in table.data]
    lines = [f"## {table.title}", "", *map(_row, [head, ["---"] * len(head), *rows])]
    return "\n".join([*lines, "", *summary.extra_txt.splitlines()])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_every_result_can_be_set_in_it(result: Any) -> None:
    text = as_markdown(result.summary())
    words = {word for word in str(result.summary()).split() if set(word) - set("=-")}
    assert words <= set(text.replace("|", " ").split())
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert len(widths) == 1
