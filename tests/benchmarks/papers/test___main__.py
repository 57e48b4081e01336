"""`make papers`, as it is called: what it refuses, and what it prints."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from papers import __main__ as command
from papers.catalogue import EXHIBITS

Called = Callable[..., str]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    def run(*arguments: str) -> str:
        monkeypatch.setattr("sys.argv", ["papers", *arguments])
        command.main()
        return capsys.readouterr().out

    return run


def test_names_are_beginnings_and_none_means_all() -> None:
    assert command._chosen([]) == list(EXHIBITS)
    assert command._chosen(["le-zia-2020-table-2", "imran-meo-2024-equation-4"]) == [
        "le-zia-2020-table-2",
        "imran-meo-2024-equation-4",
    ]


def test_a_name_that_no_exhibit_has_is_refused_also_beside_others(called: Called) -> None:
    with pytest.raises(SystemExit, match="no exhibit begins with no-such\\. There are: le-zia"):
        called("--quick", "imran-meo-2024-equation-4", "no-such")


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_measured(
    called: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    monkeypatch.setattr(command, "_done", lambda _: pytest.fail("measured"))
    with pytest.raises(SystemExit, match="cannot be written to"):
        called("imran-meo-2024-equation-4")


def test_an_interrupt_is_told_in_a_line(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_done", interrupted)
    with pytest.raises(SystemExit, match="stopped after 0 of 1 exhibits"):
        called("--quick", "imran-meo-2024-equation-4")


def test_verdicts_are_counted_at_the_end(called: Called) -> None:
    counts = "{'agrees': 1, 'differs': 0, 'not reproducible': 0, 'not tested': 0}"
    assert f"in all: {counts}" in called("--quick", "imran-meo-2024-equation-4")
