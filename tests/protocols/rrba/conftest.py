"""What all tests of RRBA may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.rrba_collections import PROTOCOL, PROTOCOLS, answered

from ldpstats import RRBA
from ldpstats.protocols.rrba import Aggregator


@pytest.fixture(params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> RRBA:
    return PROTOCOLS[request.param]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a journal of 8 answers: two closed blocks and an open one."""
    path = tmp_path / "journal"
    with PROTOCOL.aggregator(path) as aggregator:
        for _ in range(8):
            aggregator.take(answered(aggregator.query()))
    return path


@pytest.fixture(params=["with a journal", "without"])
def aggregator(request: pytest.FixtureRequest, path: Path) -> Iterator[Aggregator]:
    with PROTOCOL.aggregator(path if request.param == "with a journal" else None) as one:
        yield one
