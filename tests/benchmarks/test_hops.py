"""The walks of ARCHITECTURE.md are those that calls take, and a hop is a call into another module."""

from __future__ import annotations

import re
from pathlib import Path

import hops
import pytest

TEXT = (Path(__file__).parents[2] / "ARCHITECTURE.md").read_text("utf-8")


@pytest.mark.parametrize("story", hops.WALKED)
def test_everything_that_a_walk_names_is_met(story: str) -> None:
    (walk,) = re.findall(rf"\*\*{re.escape(story)}\*\*: (.*?)\n\n", TEXT, flags=re.DOTALL)
    named = set(re.findall(r"`([\w.]+)`", walk))
    met = {function for _, function in hops.walk(hops.STORIES[story]).functions}
    assert len(named) > 7
    assert named <= met


def test_a_hop_is_a_call_into_another_module() -> None:
    walk = hops.walk(hops.frame_to_pvalue)
    assert all(one != other for (one, _), (other, _) in walk.hops)
    collect = ("protocols/assigned.py", "AssignedQuestions.collect")
    assert any(caller == ("protocols/assigned.py", "Asked.send") for caller, _ in walk.hops)
    assert collect in walk.functions
