"""Every planted bug of a count is caught by its check."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import planted_counts


@pytest.mark.parametrize("check", planted_counts.CHECKS)
def test_an_honest_count_passes(tmp_path: Path, check: str) -> None:
    planted_counts.CHECKS[check](tmp_path)


@pytest.mark.parametrize("name", planted_counts.PLANTED)
def test_its_check_catches_it(tmp_path: Path, name: str) -> None:
    with planted_counts.planted(name) as check, pytest.raises((AssertionError, planted_counts.REFUSED)):
        planted_counts.CHECKS[check](tmp_path)
