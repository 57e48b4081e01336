"""What is stored of Arcolezi et al.'s tables follows from the gains that are stored beside it."""

from __future__ import annotations

import pytest
from papers.arcolezi.tables import TABLE_2, TABLE_3, Shown
from papers.catalogue import EXHIBITS


@pytest.mark.parametrize("shown", [TABLE_2, TABLE_3], ids=lambda one: one.name)
def test_verdicts_follow_from_the_stored_gains(shown: Shown) -> None:
    comparisons, curves = EXHIBITS[shown.name].stored()
    assert curves is not None
    gains = curves.set_index(["reading", "row", "column"])
    places = comparisons.iloc[:, :4].itertuples(index=False, name=None)
    found = [shown.comparison(place, gains.loc["text"], gains.loc["code"]) for place in places]
    stored = list(zip(comparisons["verdict"], comparisons["because"], strict=True))
    assert [(one.verdict, one.because) for one in found] == stored
    for error in ("printed_std_err", "reproduced_std_err"):
        now = [getattr(one, error) for one in found]
        assert now == pytest.approx(comparisons[error].tolist(), rel=1e-4, nan_ok=True)
