"""A slice of the study of what results take for granted."""

from __future__ import annotations

import pytest
import trust

import ldpstats as ldp


def test_forged_reports_are_worth_what_the_poisoning_says() -> None:
    """The worst report that the study finds by trying is the one of the formula."""
    for name in trust.PRINTED:
        one = ldp.mechanism(name, 16, 1.0)
        worth = one.noise.debias(trust.worst_report(one.noise).astype(float))[-1]
        assert worth == pytest.approx(ldp.poisoning(one, 0.05, target=15).highest, rel=1e-9)


def test_forgers_who_name_one_cell_make_a_dependence() -> None:
    medians = trust.forged_dependence(2).loc["grr"]
    assert medians["5 %"] < 0.01 < medians["0 %"]
