"""What is stored of Le & Zia follows from the errors that are stored beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pandas as pd
import pytest
from papers.catalogue import EXHIBITS
from papers.comparisons import Comparison, printed_figures
from papers.le_zia import real_data, synthetic_data


def verdicts(name: str, judged: Callable[..., Comparison]) -> None:
    """Judge the rows of an exhibit anew, but for those of US Census 1990, whose errors are not stored."""
    comparisons, curves = EXHIBITS[name].stored()
    assert curves is not None
    own = comparisons[~comparisons["row"].str.startswith("USCensus")]
    found = [judged(place, curves) for place in own.iloc[:, :4].itertuples(index=False, name=None)]
    assert [(one.verdict, one.because) for one in found] == list(zip(own["verdict"], own["because"], strict=True))


@pytest.mark.parametrize("number", real_data.LEVELS)
def test_verdicts_on_tables_follow_from_the_stored_errors(number: int) -> None:
    verdicts(f"le-zia-2020-table-{number}", partial(_of_table, level=real_data.LEVELS[number]))


def _of_table(place: real_data.Place, curves: pd.DataFrame, level: float) -> Comparison:
    return real_data._judged(place, level, curves, curves.head(0))


@pytest.mark.parametrize("number", synthetic_data.PANELS)
def test_verdicts_on_figures_follow_from_the_stored_errors(number: int) -> None:
    large = synthetic_data.PANELS[number][1] is synthetic_data.LARGE
    verdicts(f"le-zia-2020-figure-{number}", partial(synthetic_data._judged, large=large))


@pytest.mark.parametrize("number", real_data.LEVELS)
def test_printed_numbers_have_the_three_decimals_that_the_tables_round_to(number: int) -> None:
    """The tables drop zeros at the end: 0.01 there is as exact as the 0.011 beside it."""
    printed = printed_figures(f"le-zia-2020-table-{number}")
    assert printed.loc[printed["column"] != "statement", "printed"].str.fullmatch(r"0\.\d{3}").all()
