"""Counting: rows in any chunks, put down and taken up in between, count like all at once; bad rows by their place."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.comparisons import same

import ldpstats as ldp
from ldpstats.protocols.contract import LocalProtocol
from ldpstats.protocols.counting import Counting, Layout, SentRows
from ldpstats.protocols.row_frames import rows_of_frame

DOMAIN = ldp.Domain({"age": ["young", "adult", "old"], "sex": ["F", "M"], "car": ["yes", "no"]})
PEOPLE = DOMAIN.decode(np.random.default_rng(3).integers(0, [3, 2, 2], (300, 3)))
PROTOCOLS: dict[str, LocalProtocol] = {
    "numbers": ldp.SampledGroups(DOMAIN, epsilon=1.0, mechanism="grr"),
    "bits": ldp.SampledGroups(DOMAIN, epsilon=1.0, mechanism="oue"),
    "sets, and numbers": ldp.SampledGroups(DOMAIN, epsilon=0.5, mechanism="ss"),
    "hash functions": ldp.SampledGroups(DOMAIN, epsilon=1.0, mechanism="olh"),
    "several rows": ldp.WholeView(DOMAIN, epsilon=4.0),
    "every attribute": ldp.PerAttribute(DOMAIN, epsilon=4.0, mechanism="sue"),
    "crossed answers": ldp.PerAttribute(DOMAIN, epsilon=4.0, k=2),
    "blocks": ldp.RRBA(DOMAIN, epsilon=2.0, block_size=8),
    "blocks of views": ldp.RRBA(DOMAIN, p=0.5, block_size=7, answer="view"),
}
each_protocol = pytest.mark.parametrize("name", PROTOCOLS)


def all_rows(protocol: LocalProtocol, frame: pd.DataFrame) -> SentRows:
    ((_, rows, _, bad),) = rows_of_frame(frame, protocol.fingerprint(), Layout(protocol.sent_rows))
    assert not bad
    return rows


def counted(protocol: LocalProtocol, *chunks: SentRows) -> Counting:
    counting = protocol.counting()
    for chunk in chunks:
        counting.take(chunk)
    return counting


def without_numbers(rows: SentRows) -> SentRows:
    return SentRows(rows.identity, rows.rows.astype(np.uint16), rows.reports, None, rows.simulated, rows.blocks)


@each_protocol
@pytest.mark.parametrize("numbered", [True, False], ids=["numbered", "in order"])
def test_rows_in_any_chunks_and_counts_that_were_put_down_count_like_all_at_once(name: str, numbered: bool) -> None:
    protocol = PROTOCOLS[name]
    rows = all_rows(protocol, protocol.reports(PEOPLE, rng=5))
    rows = rows if numbered else without_numbers(rows)
    whole = protocol.collect(PEOPLE, rng=5)
    assert same(counted(protocol, rows).tables(), whole)
    thirds = [rows.taken(np.arange(len(rows)) % 3 == rest) for rest in range(3)]
    assert same(counted(protocol, *thirds).tables(), whole)
    elsewhere = counted(protocol, thirds[1])
    elsewhere.add(counted(protocol, thirds[2]))
    together = protocol.counting()
    together.restore(json.loads(json.dumps(counted(protocol, thirds[0]).to_dict())))
    together.add(elsewhere)
    assert together.n == len(rows)
    assert same(together.tables(), whole)


@each_protocol
def test_a_chunk_with_a_bad_row_is_refused_and_leaves_no_trace(name: str) -> None:
    protocol = PROTOCOLS[name]
    rows = all_rows(protocol, protocol.reports(PEOPLE, rng=7))
    counting = counted(protocol, rows.taken(np.arange(50)))
    before = counting.to_dict()
    rest = rows.taken(np.arange(50, len(rows)))
    unknown = rest.rows.copy()
    unknown[17] = len(protocol.sent_rows)
    impossible = rest.reports.copy()
    impossible[17] = 255
    for bad in ({"rows": unknown}, {"reports": impossible}):
        spoilt = SentRows(**{field: getattr(rest, field) for field in SentRows.__dataclass_fields__} | bad)
        assert list(counting.bad_rows(spoilt)) == [17]
        with pytest.raises(ldp.ReportError, match="in row 17"):
            counting.take(spoilt)
        assert counting.to_dict() == before
    counting.take(rest)
    assert same(counting.tables(), protocol.collect(PEOPLE, rng=7))


def test_the_same_rows_twice_are_refused() -> None:
    for protocol in PROTOCOLS.values():
        rows = all_rows(protocol, protocol.reports(PEOPLE, rng=8))
        with pytest.raises(ldp.LdpstatsError, match="twice"):
            counted(protocol, rows, rows).tables()


def test_counts_of_another_protocol_are_not_added() -> None:
    one, other = PROTOCOLS["numbers"].counting(), ldp.SampledGroups(DOMAIN, epsilon=1.0, k=3).counting()
    with pytest.raises(ldp.LdpstatsError, match="another protocol"):
        one.add(other)
    with pytest.raises(ldp.LdpstatsError, match="counts of 1 rows"):
        one.restore(other.to_dict())


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint32, np.uint64, np.int64])
def test_numbers_of_any_type_are_counted(kind: Any) -> None:
    protocol = PROTOCOLS["numbers"]
    rows = all_rows(protocol, protocol.reports(PEOPLE, rng=9))
    plain = SentRows(rows.identity, rows.rows.astype(kind), rows.reports.astype(kind), rows.numbers, rows.simulated)
    assert same(counted(protocol, plain).tables(), protocol.collect(PEOPLE, rng=9))
    largest = plain.reports.copy()
    largest[3] = np.iinfo(kind).max
    with pytest.raises(ldp.ReportError, match="in row 3"):
        counted(protocol, SentRows(rows.identity, plain.rows, largest, rows.numbers, rows.simulated))
