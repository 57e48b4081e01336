"""The study of tables nobody collected: a slice of it."""

from __future__ import annotations

import consistency as study
import numpy as np
import pytest

pytestmark = pytest.mark.exhaustive  # a slice of a study takes seconds


def test_every_way_is_measured_and_more_respondents_make_all_better() -> None:
    few, many = (study.errors_of_fours((("survey", n, 4.0), 0)).set_index("way") for n in (2_000, 500_000))
    assert set(few.index) == set(study.ASKED)
    assert (many["l2"] < few["l2"]).all()
    assert many["l2"].loc[["max-entropy", "em", "shrinkage"]].max() < 0.01
    assert "max-entropy" in study.table_of_fours(few.reset_index())


def test_triples_from_pairs_are_nearer_than_triples_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "TRIPLES", 4)
    monkeypatch.setattr(study, "RESPONDENTS", 20_000)
    errors = study.errors_of_triples(("asia", 2.0))
    assert errors["pairs, max-entropy"] < errors["asked for directly"]
    assert errors["views of CALM, max-entropy"] < errors["asked for directly"]


def test_independence_has_the_margins_of_the_network() -> None:
    net = study.network("survey")
    product = study.independent(net, ("age", "sex")).reshape(3, 2)
    assert np.allclose(product.sum(axis=1), net.joint(("age",)))
    assert np.allclose(product.sum(axis=0), net.joint(("sex",)))
