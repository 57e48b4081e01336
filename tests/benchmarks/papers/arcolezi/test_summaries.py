"""Sums of gains as the tables have them, and verdicts on sentences about them."""

from __future__ import annotations

import numpy as np
import pytest
from papers.arcolezi.mechanisms import ONE_TIME
from papers.arcolezi.summaries import Found, dots, judged, table
from papers.arcolezi.tables import TABLE_2
from papers.comparisons import AGREES, DIFFERS, NOT_REPRODUCIBLE, printed_figures

PLACE = ("a paper, Section 1", "ε", "statement", "the lower, the higher")


def gains_like_the_printed() -> np.ndarray:
    printed = printed_figures("arcolezi-2023-table-2")
    numbers = printed.loc[printed["column"] != "statement", "printed"].astype(float).to_numpy().reshape(7, 8, 2)
    return np.broadcast_to(numbers[:5, :7][:, None, None, None, None, :, :, None], (5, 2, 2, 4, 3, 7, 2, 2))


def test_a_table_averages_over_settings_and_over_mechanisms() -> None:
    figures = table(
        gains_like_the_printed(),
        ONE_TIME,
        {f"{name}, {metric}": 30.0 for name in (*ONE_TIME.columns, "Avg.") for metric in ("MSE", "MAE")},
    )
    assert figures.loc[("Poisson", "BLH, MSE"), "gain"] == 14
    assert figures.loc[("Gaussian", "Avg., MSE"), "gain"] == pytest.approx((1 + 13 + 10 + 3 + 13 + 16 + 11) / 7)
    assert figures.loc[("Avg.", "GRR, MSE"), "gain"] == pytest.approx((1 + 16 + 0 + 39 + 0 + 30) / 6)
    assert (figures["std_err"] == 0).all()


def test_dots_are_named_by_their_settings() -> None:
    gains = np.zeros((5, 2, 2, 4, 3, 7, 2, 2))
    gains[1, 1, :, 2, 0, 3, 0] = 40.0
    figures = dots(gains, ONE_TIME)["gain"]
    assert len(figures) == 5 * 2 * 4 * 3 * 7
    assert figures[figures > 0].to_dict() == {("Exponential", 100_000, 100, 1.0, "SS"): 40.0}


@pytest.mark.parametrize(
    ("word", "published", "verdict"), [(1, 0, AGREES), (0, 1, DIFFERS), (0, 0, NOT_REPRODUCIBLE), (1, 1, AGREES)]
)
def test_a_sentence_is_judged_by_the_text_first(word: int, published: int, verdict: str) -> None:
    found = judged(PLACE, lambda figures: Found("so much", bool(figures)), word, published)
    assert found.verdict == verdict
    assert found.ours == "so much"


def test_a_printed_figure_that_the_code_alone_gives_differs_with_its_cause() -> None:
    gains = gains_like_the_printed()
    real = {f"{name}, {metric}": 30.0 for name in (*ONE_TIME.columns, "Avg.") for metric in ("MSE", "MAE")}
    published, word = table(gains, ONE_TIME, real), table(gains + 2, ONE_TIME, real)
    place = ("Arcolezi et al. 2023, Table 2", "Poisson", "BLH, MSE", "14")
    found = TABLE_2.comparison(place, word, published)
    assert (found.verdict, found.ours, found.reproduced) == (DIFFERS, 16, 14)
    assert "k + 1 bins" in found.because
    assert TABLE_2.comparison(place, published, published).verdict == AGREES
    assert TABLE_2.comparison(place, word, word).verdict == NOT_REPRODUCIBLE
    assert TABLE_2.comparison((*place[:1], "Real", *place[2:]), word, published).verdict == NOT_REPRODUCIBLE
