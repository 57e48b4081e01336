"""What all tests of the command line may take for granted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ldpstats.pictures.drawing import Picture


@pytest.fixture(autouse=True, scope="module")
def nothing_is_drawn() -> Iterator[None]:
    """Leave the pictures of pages empty, which take most of the time: tests of reports look at these."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Picture, "svg", lambda *_: "<svg></svg>")
        yield
