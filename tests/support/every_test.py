"""Every test by name, with the shape of a table that it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from support.noisy_tables import table_of

import ldpstats as ldp


@dataclass(frozen=True)
class Setting:
    """A test of a table of this shape, by options; of wider tables the attributes are a, b and c."""

    shape: tuple[int, ...]
    test: Callable[..., ldp.HypothesisResult]


def others(table: ldp.Table) -> ldp.Table:
    """Return the table of other respondents who say the same."""
    return table_of(table.shape, [block.tally for block in table.blocks])


def model(formula: str, table: ldp.Table, *zeros: dict[str, int], **options: Any) -> ldp.HypothesisResult:
    return ldp.log_linear_model(table, formula, zeros).test(**options)


def nested(table: ldp.Table, **options: Any) -> ldp.HypothesisResult:
    small, large = (ldp.log_linear_model(table, formula) for formula in ("a*b + c", "a*b + b*c"))
    return small.compared_with(large, **options)


def first_pair(table: ldp.Table, **options: Any) -> ldp.HypothesisResult:
    """Return the test of one pair, whose figures must be those of the row of many."""
    alone = ldp.independence_test(table, **options)
    row = ldp.independence_tests(ldp.TableSet(table.domain, (table,), table.privacy), **options).to_frame().iloc[0]
    if options.get("pvalue", "auto") != "auto":
        assert (row["statistic"], row["pvalue"]) == tuple(alone)
    return alone


EVERY = {
    "goodness of fit": Setting((2, 2), ldp.goodness_of_fit_test),
    "independence": Setting((2, 3), ldp.independence_test),
    "symmetry": Setting((3, 3), ldp.symmetry_test),
    "marginal homogeneity": Setting((3, 3), ldp.marginal_homogeneity_test),
    "trend": Setting((2, 3), ldp.trend_test),
    "quasi-independence": Setting((3, 3), lambda t, **o: model("a + b", t, {"a": 2, "b": 0}, **o)),
    "homogeneity": Setting((2, 2), lambda t, **o: ldp.homogeneity_test([t, others(t)], **o)),
    "all pairs": Setting((2, 2), first_pair),
    "mutual independence": Setting((2, 2, 2), ldp.independence_test),
    "joint": Setting((2, 2, 2), partial(ldp.joint_independence_test, x="a", y=["b", "c"])),
    "conditional": Setting((2, 2, 2), partial(ldp.conditional_independence_test, x="a", y="b", given="c")),
    "no three-way": Setting((2, 2, 2), ldp.no_three_way_interaction_test),
    "log-linear": Setting((2, 2, 2), partial(model, "a*b + c")),
    "nested": Setting((2, 2, 2), nested),
}
