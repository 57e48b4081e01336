"""Damaged inputs of clients: a slice of the study."""

from __future__ import annotations

import shutil

import pytest
from fuzz_clients import damaged_cases, differences


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node on this machine")
def test_clients_answer_damaged_inputs_alike_or_refuse_them() -> None:
    vectors = damaged_cases(300, seed=1)
    assert min(len(vectors["messages"]), len(vectors["refusals"])) > 30
    assert differences(vectors) == ""


@pytest.mark.skipif(shutil.which("node") is None, reason="no Node on this machine")
def test_a_difference_is_found() -> None:
    vectors = damaged_cases(20, seed=2)
    vectors["messages"][-1]["message"] = vectors["messages"][-1]["message"].replace("true", "false")
    assert "AssertionError" in differences(vectors)
