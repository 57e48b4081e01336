"""An output format written by following ARCHITECTURE.md: results in reStructuredText, whatever they are results of."""

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


def as_list_table(summary: Any) -> str:
    """Set what a result says as reStructuredText: a list-table for every panel, and the sentences below it."""
    return "\n\n".join([*(_panel(summary.title, panel) for panel in summary.panels), *summary.sentences])


def _panel(title: str, panel: Any) -> str:
    rows = [*([panel.headers] if panel.headers else []), *panel.rows]
    head = f".. list-table:: {title} {panel.title}".rstrip()
    return "\n".join([head, f"   :header-rows: {int(bool(panel.headers))}", "", *map(_row, rows)])


def _row(cells: Any) -> str:
    first, *others = [f" - {cell}".rstrip() for cell in cells]
    return "\n".join([f"   *{first}", *(f"    {other}" for other in others)])


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
def test_every_result_can_be_set_in_it(result: Any) -> None:
    text = as_list_table(result.summary())
    words = {word for word in str(result.summary()).split() if set(word) - set("=-")}
    assert words <= set(text.split())
    widths = [len(panel.rows[0]) for panel in result.summary().panels]
    # a mark for every cell, and one for every row
    assert text.count("\n     -") == sum(
        (width - 1) * (len(panel.rows) + bool(panel.headers))
        for width, panel in zip(widths, result.summary().panels, strict=True)
    )
