"""Progress bars: nothing of short work, and nothing where nobody looks."""

from __future__ import annotations

import pytest

from ldpstats.presentation import progress


def test_short_work_and_work_without_a_terminal_show_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert list(progress(range(3), "counting")) == [0, 1, 2]
    with progress(None, "counting", total=5, unit="row") as bar:
        bar.update(5)
    assert capfd.readouterr() == ("", "")
