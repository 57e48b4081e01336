"""Adjustment: what it leaves to one test is by the formulas of its method."""

from __future__ import annotations

import numpy as np
import pytest

import ldpstats as ldp
from ldpstats.inference.hypothesis_tests.adjustment import adjusted_pvalues, controlled_in_words, first_step

LEVELS = {
    "none": 0.05,
    "holm": 0.05 / 20,
    "bonferroni": 0.05 / 20,
    "simes-hochberg": 0.05 / 20,
    "hommel": 0.05 / 20,
    "fdr_bh": 0.05 / 20,
    "fdr_by": 0.05 / (20 * sum(1 / place for place in range(1, 21))),
    "sidak": 1 - 0.95 ** (1 / 20),
    "holm-sidak": 1 - 0.95 ** (1 / 20),
}


@pytest.mark.parametrize("adjust", LEVELS)
def test_the_level_of_the_first_step_is_the_formula_of_the_method(adjust: str) -> None:
    level = first_step(20, 0.05, adjust)
    assert level == pytest.approx(LEVELS[adjust], rel=1e-9)
    for pvalue, rejected in ((level * (1 - 1e-9), True), (level * (1 + 1e-9), False)):
        adjusted = adjusted_pvalues(np.append(pvalue, np.ones(19)), 0.05, adjust)[0]
        assert (adjusted <= 0.05) == rejected


@pytest.mark.parametrize("adjust", [*LEVELS, "fdr_tsbh", "fdr_tsbky", "b"])
def test_every_method_is_named_and_has_a_level(adjust: str) -> None:
    assert 0 < first_step(1, 0.05, adjust) <= first_step(0, 0.05, adjust) <= 0.05
    assert 0 < first_step(666, 0.05, adjust) <= 0.05
    assert controlled_in_words(adjust, 0.05).startswith("The p-values are ")


def test_a_method_that_there_is_not_is_refused() -> None:
    with pytest.raises(ldp.LdpstatsError, match="multipletests"):
        first_step(3, 0.05, "magic")
