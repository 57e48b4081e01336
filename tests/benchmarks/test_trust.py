"""A slice of the study of what results take for granted."""

from __future__ import annotations

import numpy as np
import pytest
import trust

import ldpstats as ldp


def test_forged_reports_are_worth_what_the_poisoning_says() -> None:
    """The worst report that the study finds by trying is the one of the formula."""
    for name in trust.PRINTED:
        one = ldp.mechanism(name, 16, 1.0)
        worth = one.noise.debias(trust.worst_report(one.noise).astype(float))[-1]
        assert worth == pytest.approx(ldp.poisoning(one, 0.05, target=15).highest, rel=1e-9)


@pytest.mark.exhaustive
def test_every_part_of_the_study_runs() -> None:
    assert trust.level(1, ("grr", "hr"))["false alarms"].max() == 0
    power = trust.power(2, ("oue",)).loc["oue"]
    assert power["made at 1, stated 2"] == power["5 % bare"] == 1
    assert power["1 % disguised"] == 0
    assert np.all(trust.shifts(n=2000)["worst shift of any value"] > 0.1)
    assert trust.looks(1, blocks=2, size=50).shape == (1, 2)
    assert len(trust.households(1)) == 8
    found = trust.called_different(1, {"few": ("grr", 3, 3, 3, 50), "blocks": ("rrba", 3, 3, 2, 600)})
    assert found.shape == (2, 2)
    assert trust.named_forger(1).loc["grr", "the forger"] == 1


def test_forgers_who_name_one_cell_make_a_dependence() -> None:
    medians = trust.forged_dependence(2).loc["grr"]
    assert medians["5 %"] < 0.01 < medians["0 %"]
