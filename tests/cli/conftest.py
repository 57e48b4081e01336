"""What all tests of the command line may take for granted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ldpstats.report import content


@pytest.fixture(autouse=True, scope="module")
def nothing_is_drawn() -> Iterator[None]:
    """Write pages without pictures, which take most of the time: tests of reports look at these."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(content, "find_spec", lambda _: None)
        yield
