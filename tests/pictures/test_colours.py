"""Shading: shades that can be told apart with any kind of colour vision, and words that can be read on them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ldpstats.pictures.colours import BLUE, GREEN, NOT_KNOWN, UNDECIDED, VERMILLION, Shading, ink_on

SHADES = [-5.0, -2.5, 0.0, 2.5, 5.0]
# Machado, Oliveira & Fernandes (2009): how red-blind and green-blind people see
BLIND = {
    "protan": np.array([[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.052]]),
    "deutan": np.array([[0.3673, 0.8606, -0.228], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]]),
}


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours as the Web Content Accessibility Guidelines define it."""
    dark, light = sorted(float(linear(colour) @ np.array([0.2126, 0.7152, 0.0722])) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("residual", [*SHADES, np.nan])
def test_words_on_every_shade_have_contrast(residual: float) -> None:
    """At least 4.5, as the Web Content Accessibility Guidelines ask for."""
    colour = Shading(1.96).colour(residual)
    assert contrast(colour, ink_on(colour)) >= 4.5


@pytest.mark.parametrize("colour", [BLUE, VERMILLION, GREEN, UNDECIDED])
def test_colours_are_seen_on_light_and_on_dark_paper(colour: str) -> None:
    assert contrast(colour, "#ffffff") >= 3
    assert contrast(colour, "#16181d") >= 3


@pytest.mark.parametrize("eyes", [None, *BLIND])
def test_shades_are_told_apart_with_any_colour_vision(eyes: str | None) -> None:
    seen = {}
    for residual in SHADES:
        light = linear(Shading(1.96).colour(residual))
        seen[residual] = np.cbrt(np.clip(BLIND[eyes] @ light if eyes else light, 0, 1))
    assert min(float(np.abs(one - other).max()) for one, other in combinations(seen.values(), 2)) > 0.1


def test_levels_are_divided_at_the_quantile_and_twice_of_it() -> None:
    shading = Shading(2.0)
    assert [shading.level(one) for one in (-4.1, -4.0, -2.1, -2.0, 2.0, 2.1, 4.0, 4.1)] == [0, 1, 1, 2, 2, 3, 3, 4]
    assert shading.level(np.nan) is None
    assert shading.colour(np.nan) == NOT_KNOWN
    legend = shading.legend([5.0, 0.0, np.nan])
    assert [str(one.get_label()).split()[0] for one in legend] == ["far", "hatched:", "no"]
