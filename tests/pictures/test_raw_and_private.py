"""Pictures of raw against private figures: a line each, or a cloud of points, and what misses its interval."""

from __future__ import annotations

import numpy as np
import pytest

from ldpstats.pictures.intervals import RawAndPrivate


def drawn(many: int) -> RawAndPrivate:
    raw = np.linspace(0.1, 0.9, many)
    private = raw + 0.02 * (-1.0) ** np.arange(many)
    reach = np.where(np.arange(many) % 5 == 2, 0.01, 0.05)
    labels = tuple(f"_pair ${place}$" for place in range(many))
    return RawAndPrivate(
        "Pairs", ("simulated",), labels, *map(tuple, (raw, private, private - reach, private + reach)), "V"
    )


@pytest.mark.parametrize("many", [1, 2, 40])
def test_few_have_a_line_each(many: int):
    picture = drawn(many)
    axes = picture.draw()
    raw = next(line for line in axes.get_lines() if line.get_marker() == "D" and len(line.get_xdata()))
    assert raw.get_xdata().tolist() == list(picture.raw)
    (points,) = axes.collections
    assert points.get_offsets()[:, 0].tolist() == list(picture.private)
    low, high = axes.get_xlim()
    assert low < min(*picture.raw, 1)
    assert high > max(picture.raw)
    assert axes.get_title(loc="left") == "Pairs\nsimulated"
    assert len(axes.get_legend().get_texts()) == 2


@pytest.mark.parametrize("many", [41, 666])
def test_many_are_points_with_those_that_their_interval_misses_apart(many: int):
    picture = drawn(many)
    axes = picture.draw()
    held, missed = (one.get_offsets() for one in axes.collections if len(one.get_offsets()) > 1)
    assert len(missed) == len(range(2, many, 5))
    assert sorted(np.concatenate([held, missed])[:, 0].tolist()) == list(picture.raw)
    assert f"interval misses it ({len(missed)})" in axes.get_legend().get_texts()[1].get_text()


def test_words_and_frame_hold_what_is_drawn():
    picture = drawn(7)
    assert picture.to_frame().columns.tolist() == ["label", "raw", "private", "lower", "upper"]
    assert "6 of 7 intervals hold the raw figure. Furthest apart are _pair $" in picture.described()
    assert "V in the raw data" in picture.described()


def test_figures_that_are_not_known_are_left_out_without_a_warning():
    nan = float("nan")
    unknown = RawAndPrivate("Pairs", (), ("a", "b"), (0.1, nan), (nan, 0.2), (nan, 0.1), (nan, 0.3), "V")
    unknown.draw().figure.canvas.draw()
    assert "0 of 0 intervals" in unknown.described()
    RawAndPrivate("Pairs", (), ("a",), (nan,), (0.2,), (0.1,), (0.3,), "V").draw().figure.canvas.draw()
    none = RawAndPrivate("Pairs", (), ("a",) * 50, *((nan,) * 50 for _ in range(4)), "V")
    none.draw().figure.canvas.draw()
