"""A slice of the study of directions: colliders are shown, and none is wrong."""

from __future__ import annotations

import network_directions as study
import pytest


@pytest.mark.exhaustive
def test_colliders_of_asia_are_shown_and_none_is_wrong():
    """Fifty runs have none; one is allowed."""
    found = study.directions("asia", 1_000_000, 4.0, range(3000, 3004))
    assert found["colliders"] >= 1
    assert found["wrong"] + found["reversed"] <= 1
