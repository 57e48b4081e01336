"""Association plots: bars have the height and sign of residuals, and the width of what is expected."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from ldpstats.pictures.mosaic import AssociationPlot

RESIDUALS, EXPECTED = ((5.0, -1.0, -2.5), (-5.0, np.nan, 2.5)), ((0.3, 0.1, 0.1), (0.3, 0.1, 0.1))


def plot(**more: object) -> AssociationPlot:
    made = {"rows": ("x", "y"), "columns": ("p", "q", "r"), "residuals": RESIDUALS, "expected": EXPECTED, **more}
    return AssociationPlot("Residuals", ("simulated",), ("a", "b"), **made)  # type: ignore[arg-type]  # of a test


def bars(made: AssociationPlot) -> list[Rectangle]:
    return [one for one in made.draw().patches if isinstance(one, Rectangle)]


def test_heights_are_residuals_and_widths_roots_of_what_is_expected() -> None:
    drawn = bars(plot())
    known = [one for row in RESIDUALS for one in row if not np.isnan(one)]
    # the axis goes down
    heights = np.array([-one.get_height() for one in drawn])
    assert heights[0] > 0
    assert heights / heights[0] == pytest.approx(np.array(known) / 5)
    widths = np.array([one.get_width() for one in drawn])
    assert widths[1] / widths[0] == pytest.approx(np.sqrt(1 / 3))
    assert np.abs(heights).max() < 0.5
    assert widths.max() < 1
    assert [one.get_y() for one in drawn] == [0, 0, 0, 1, 1]
    assert [bool(one.get_hatch()) for one in drawn] == [False, True, False, False, False]


def test_a_cell_without_a_residual_is_marked() -> None:
    assert [one.get_text() for one in plot().draw().texts] == ["–"]


def test_data_and_words() -> None:
    frame = plot().to_frame()
    assert list(frame.columns) == ["row", "column", "residual", "expected"]
    assert len(frame) == 6
    assert plot().described() == (
        "Residuals: adjusted residuals of a by b, 6 cells. 4 beyond ±1.96: x, p +5.0; y, p -5.0; x, r -2.5; y, r +2.5."
    )


@pytest.mark.parametrize(
    ("sides", "known"),
    [*((sides, True) for sides in ((1, 1), (2, 2), (60, 2), (2, 60), (20, 20))), ((1, 1), False), ((2, 2), False)],
)
def test_any_number_of_categories_is_drawn(sides: tuple[int, int], known: bool) -> None:
    rng = np.random.default_rng(1)
    names = [tuple(f"{'a rather long name ' * 3}$_{place}" for place in range(size)) for size in sides]
    values = rng.normal(0, 2, sides) if known else np.full(sides, np.nan)
    tuples = tuple(map(tuple, values.tolist())), tuple(map(tuple, rng.uniform(0, 1, sides).tolist()))
    made = plot(rows=names[0], columns=names[1], residuals=tuples[0], expected=tuples[1])
    assert made.svg("plot").startswith("<svg")
    assert len(bars(made)) == (values.size if known else 0)
