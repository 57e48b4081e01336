"""Published figures: every printed one has a verdict, which follows from what was measured."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib as mpl
import pandas as pd
import pytest
from papers import exhibits
from papers.catalogue import EXHIBITS
from papers.comparisons import (
    AGREES,
    DIFFERS,
    KEYS,
    NOT_REPRODUCIBLE,
    PRINTED,
    VERDICTS,
    Comparison,
    as_frame,
    compared,
    half_unit,
    printed_figures,
    stated,
    verdict_on,
)
from papers.exhibits import ERRORS, MEASURED, Effort

EXACT = (
    "le-zia-2020-table-1",
    "le-zia-2020-section-2",
    "arcolezi-2023-section-3",
    "arcolezi-2023-listing-1-1",
    *(f"imran-meo-2024-{what}" for what in ("table-1", "table-2", "table-3", "section-4", "figure-1", "figure-2")),
    *(f"imran-meo-2024-{what}" for what in ("equation-4", "equation-6", "theorem-4.1", "figure-4")),
    "kairouz-2016-proposition-1",
    "kairouz-2016-proposition-4",
    "kairouz-2016-proposition-5",
    "kairouz-2016-section-5-1",
)
"""Exhibits that are measured in full within a second."""
PLACE = ("a paper, Table 1", "GRR", "ε = 1", "0.25")


def test_no_printed_figure_is_left_out() -> None:
    """Files of printed figures, exhibits and stored measurements are the same ones, row for row."""
    assert {path.stem for path in PRINTED.glob("*.csv")} == set(EXHIBITS)
    assert {path.stem.removesuffix("-curves") for path in MEASURED.glob("*.csv")} == set(EXHIBITS)
    assert (len(EXHIBITS), sum(len(printed_figures(name)) for name in EXHIBITS)) == (51, 990)


@pytest.mark.parametrize("name", EXHIBITS)
def test_every_printed_figure_has_a_verdict(name: str) -> None:
    comparisons, _ = EXHIBITS[name].stored()
    printed = printed_figures(name)
    assert len(printed)
    assert not printed.duplicated(KEYS).any()
    assert comparisons[KEYS].to_numpy().tolist() == printed[KEYS].to_numpy().tolist()
    assert set(comparisons["verdict"]) <= set(VERDICTS)
    assert comparisons.loc[comparisons["verdict"] != AGREES, "because"].str.len().gt(10).all()


@pytest.mark.parametrize("name", EXHIBITS)
def test_a_stored_verdict_follows_from_the_stored_numbers(name: str) -> None:
    """Both sides are numbers: nobody has set a verdict, or changed a number that it was drawn from."""
    comparisons, _ = EXHIBITS[name].stored()
    numbers = comparisons[["printed", "ours"]].apply(pd.to_numeric, errors="coerce")
    both = comparisons[numbers.notna().all(axis=1)]
    assert both["ours"].tolist() == [f"{float(one):.6g}" for one in both["ours"]], "not as a run writes them"
    follows = [
        verdict_on(
            one["printed"],
            float(one["ours"]),
            one["std_err"],
            reproduced=one["reproduced"],
            printed_std_err=one["printed_std_err"],
            reproduced_std_err=one["reproduced_std_err"],
        )
        for _, one in both.fillna(dict.fromkeys(("std_err", *ERRORS), 0.0)).iterrows()
    ]
    # an accuracy is the mean of the shares beside it, and no better than the worst of them
    worst = both.assign(rank=list(map(VERDICTS.index, follows))).groupby("row")["rank"].max()
    means = both["column"] == "accuracy"
    wanted = both["row"].map(worst).map(VERDICTS.__getitem__).where(means, follows)
    assert both["verdict"].tolist() == wanted.tolist()


@pytest.mark.parametrize("name", EXACT)
def test_what_is_exact_is_stored_as_it_is_measured_now(name: str) -> None:
    found = as_frame(EXHIBITS[name].measure(Effort(full=True)).comparisons)
    stored, _ = EXHIBITS[name].stored()
    assert found[["verdict", "because"]].to_numpy().tolist() == stored[["verdict", "because"]].to_numpy().tolist()
    for ours in ("ours", "reproduced"):
        now, then = (pd.to_numeric(frame[ours], errors="coerce").to_numpy(float) for frame in (found, stored))
        assert now == pytest.approx(then, rel=1e-5, nan_ok=True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", EXHIBITS)
def test_every_exhibit_is_measured_and_drawn(name: str) -> None:
    mpl.use("agg")
    exhibit = EXHIBITS[name]
    comparisons = list(exhibit.measure(Effort(full=False)).comparisons)
    assert [one.printed for one in comparisons] == printed_figures(name)["printed"].tolist()
    if exhibit.draw is not None:
        figure = exhibit.draw(*exhibit.stored())
        assert any(axes.has_data() for axes in figure.axes)


@pytest.mark.parametrize(
    ("ours", "std_err", "reproduced", "verdict"),
    [
        (0.2549, 0.0, math.nan, AGREES),
        (0.2551, 0.0, math.nan, NOT_REPRODUCIBLE),
        (0.28, 0.01, math.nan, AGREES),
        (0.30, 0.01, 0.251, DIFFERS),
        (0.30, 0.01, 0.26, NOT_REPRODUCIBLE),
    ],
)
def test_a_verdict_follows_from_the_figures(ours: float, std_err: float, reproduced: float, verdict: str) -> None:
    assert compared(PLACE, ours, std_err, reproduced=reproduced, because="a reading").verdict == verdict


def test_numbers_are_stored_with_six_digits_beside_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhibits, "MEASURED", tmp_path)
    comparisons = [compared(PLACE, 100 * (1 - 0.94), because="a reason"), stated(PLACE, "yes", holds=True)]
    comparisons.append(compared(PLACE, math.nan, because="no data"))
    one = exhibits.Exhibit("one", "a title", "words", lambda _: exhibits.Measured(comparisons))
    one.store(one.measure(Effort(full=True)))
    assert one.stored()[0]["ours"].tolist() == ["6", "yes", ""]


def test_no_verdict_without_a_reason() -> None:
    with pytest.raises(ValueError, match="no reason"):
        compared(PLACE, 0.9)
    with pytest.raises(ValueError, match="no reason"):
        stated(PLACE, "no", holds=False)
    with pytest.raises(ValueError, match="Allowed: agrees"):
        Comparison(*PLACE, 1.0, "almost")


@pytest.mark.parametrize(("printed", "half"), [("0.25", 0.005), (".5", 0.05), ("14", 0.5), ("2.5e-3", 5e-5)])
def test_the_last_digit_says_how_exact_a_printed_number_is(printed: str, half: float) -> None:
    assert half_unit(printed) == pytest.approx(half, rel=1e-8)
